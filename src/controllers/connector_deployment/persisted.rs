//! What is remembered of a deployment over restarts, and what is seen of it: the values that `decide` works on.
//!
//! Pure, and without types of Kubernetes or of the Connect API. `status.rs` keeps a [`PersistedState`] in the status of the
//! resource, `observe.rs` makes the rest. Next: `decide/`.

use std::collections::BTreeSet;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::desired::Declared;
use crate::controllers::digest::{Digest, hex};
use crate::controllers::tags::{GLOBAL, Item, Kind, NOTHING, Tags};
use crate::controllers::values::VisibleValues;

/// Objects that [`Sources`] names. The rest is in its digest only, so that a status stays small.
const FIRST_SOURCES: usize = 4;

/// What must survive a restart. Secured values cannot be read back from the remote, so the digests of what was sent
/// are all there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersistedState {
    /// Id of the remote deployment. Once it is known every call goes by it (rule 3).
    pub id: Option<String>,
    /// What the last operation that ended has applied.
    pub applied: Option<Applied>,
    /// The operation that was begun and not yet seen to end.
    pub operation: Option<Operation>,
    /// The last redeploy request that was served (rule 11).
    pub handled_redeploy: Option<String>,
    /// Whether the secured values at the remote may be others than those we hold (condition `SecretsUnverified`).
    pub unverified: bool,
}

/// What an operation that ended has applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Generation of the resource that was applied.
    pub generation: i64,
    /// Digest of what was sent; `None`: unknown, one redeploy will tell.
    pub digest: Option<Digest>,
    /// The status it ended with.
    pub outcome: Phase,
    /// Whether code serves that was deployed by this operation or by one before it: a redeploy that fails takes nothing down
    /// (contract section 7).
    pub serves: bool,
    /// Version of the deployment before our last redeploy.
    pub from_version: Option<i64>,
    /// Version of the connector that it ended with; `None`: not known.
    pub connector_version: Option<i64>,
    /// The revision that the record named then as the one that somebody rolled back to.
    pub rollback: Option<String>,
    /// Tags of what was sent; `None`: not known, so nothing is compared with it.
    pub sent: Option<Tags>,
    /// What the remote showed in place of visible values that were sent, at the end, or when the operation after it began.
    pub shown: Tags,
    /// What it shows in their place also after they were sent once more: sending them again would not help (rule 16).
    pub accepted: Tags,
    /// What the deployment still has although it is not wanted any more: a redeploy takes nothing away (contract section
    /// 6.1). With the tag [`FOREIGN`](crate::controllers::tags::FOREIGN) what was not sent from here.
    pub retained: Tags,
    /// Secrets and ConfigMaps that the values came from.
    pub sources: Sources,
    /// When the end was seen; later than the start of our last write.
    pub at: Timestamp,
}

impl Applied {
    /// Whether the deployment still has secured values that are not wanted any more.
    #[must_use]
    pub fn retains_secured(&self) -> bool {
        self.retained.iter().any(|(item, _)| item.kind == Kind::Secured)
    }
}

/// An operation: written before its call, ended after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub kind: OperationKind,
    /// Whether its call is known to have been accepted.
    pub state: OperationState,
    /// How often its call was about to be sent, from 1.
    pub attempt: u32,
    /// Generation of the resource that it serves.
    pub generation: i64,
    /// What it sends; `None` if it takes down.
    pub payload: Option<Payload>,
    /// Version of the deployment that it starts from.
    pub from_version: Option<i64>,
    /// Build id that it starts from.
    pub from_build: Option<String>,
    /// Whether it changes visible values, as far as they were seen when it began.
    pub changes_visible: bool,
    /// Whether the deployment was seen busy since.
    pub seen_busy: bool,
    /// The redeploy request that it serves.
    pub redeploy_request: Option<String>,
    /// When its call was about to be sent last.
    pub started_at: Timestamp,
}

/// What an operation sends, as far as it can be remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Digest of all values.
    pub digest: Digest,
    /// A tag for each of them.
    pub tags: Tags,
    /// Secrets and ConfigMaps that they came from.
    pub sources: Sources,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Creates the deployment.
    Create,
    /// Deploys it again with new values.
    Redeploy,
    /// Takes it down.
    Undeploy,
    /// Takes it down, so that it can be created without what was removed.
    Recreate,
}

/// What is known of the call of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationState {
    /// It may have been sent.
    Planned,
    /// It was accepted.
    Accepted,
}

/// The objects that values came from: a digest of all of them, and the first few for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// How many there were.
    pub count: u32,
    /// Digest of all of them. Equal digests stand for the same objects in the same versions.
    pub digest: String,
    /// The first of them, by kind and name.
    pub first: Vec<Source>,
}

impl Sources {
    /// These objects, in whatever order.
    #[must_use]
    pub fn of(all: &[Source]) -> Self {
        if all.is_empty() {
            return Self::default();
        }
        let mut sorted: Vec<_> = all.iter().collect();
        sorted.sort();
        let mut hasher = Sha256::new();
        for Source { kind, name, uid, resource_version } in &sorted {
            for part in [kind, name, uid, resource_version] {
                hasher.update(part.len().to_be_bytes());
                hasher.update(part);
            }
        }
        Self {
            count: u32::try_from(all.len()).unwrap_or(u32::MAX),
            digest: hex(&hasher.finalize()[..16]),
            first: sorted.into_iter().take(FIRST_SOURCES).cloned().collect(),
        }
    }

    /// Whether there were none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// An object that values came from, as it was then.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// `Secret` or `ConfigMap`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its resource version.
    pub resource_version: String,
}

/// Where the remote deployment is in its life (contract section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Idle and not live.
    Draft,
    /// Waits for its turn.
    Queued,
    /// Is being deployed.
    Deploying,
    /// Live.
    Deployed,
    /// Deploying did not work.
    Failed,
    /// Is being taken down.
    Undeploying,
    /// Taking it down did not work.
    UndeployFailed,
    /// A status that the contract does not list: nothing is concluded from it.
    Other,
}

impl Phase {
    /// Whether something moves by itself; a status that is not known counts as that.
    #[must_use]
    pub fn is_busy(self) -> bool {
        match self {
            Self::Queued | Self::Deploying | Self::Undeploying | Self::Other => true,
            Self::Draft | Self::Deployed | Self::Failed | Self::UndeployFailed => false,
        }
    }
}

/// A look at the remote that began after our last write for this resource.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "one at a time, and nearly always the large one")]
pub enum Observation {
    /// There is none. `key_held_by`: id of another deployment that has the key, if it was looked up.
    Absent {
        /// Id of another deployment under the key.
        key_held_by: Option<String>,
    },
    /// There is one.
    Present(ObservedDeployment),
}

/// A deployment as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedDeployment {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: i64,
    /// Where it is in its life.
    pub phase: Phase,
    /// Id of its build, if it has one.
    pub build: Option<String>,
    /// Id of its connector.
    pub connector_id: String,
    /// Key of its connector, if it has one.
    pub connector_key: Option<String>,
    /// Version of its connector.
    pub connector_version: i64,
    /// The revision that somebody rolled it back to.
    pub rollback: Option<String>,
    /// Its region.
    pub region: String,
    /// Its type.
    pub kind: String,
    /// Its visible values, and which of them are to be ignored.
    pub values: VisibleValues,
    /// Application and key of each secured value that it lists.
    pub secured: BTreeSet<(String, String)>,
    /// What its connector declares; `None`: not known.
    pub declared: Option<Declared>,
}

impl ObservedDeployment {
    /// Whether it shows a value by this name.
    #[must_use]
    pub fn shows(&self, item: &Item) -> bool {
        match item.kind {
            Kind::Secured => self.secured.contains(&(item.application.clone(), item.key.clone())),
            Kind::Standard | Kind::Schedule | Kind::RetryPolicy => self.tag(item) != NOTHING,
        }
    }

    /// The tag of the visible value that it shows by this name.
    #[must_use]
    pub fn tag(&self, item: &Item) -> String {
        Tags::of(&self.values, item)
    }

    /// Whether this is what somebody would see who sent these and nothing else: plain values that were not sent are defaults
    /// of the connector.
    #[must_use]
    pub fn is_what_was_sent(&self, sent: &Tags) -> bool {
        let unsent = |application: &str, key: &str, value: &str| {
            !sent.has(&Item::standard(application, key)) && !self.is_default(application, key, value)
        };
        let applications = self.values.applications.iter();
        let of_applications = applications.flat_map(|(name, values)| values.standard.iter().map(move |it| (name, it)));
        let strange = of_applications.into_iter().any(|(name, (key, value))| unsent(name, key, value))
            || self.values.global.iter().any(|(key, value)| unsent(GLOBAL, key, value));
        sent.fits(&self.values) && !strange
    }

    /// Whether a plain value is the one that the connector declares for it.
    #[must_use]
    pub fn is_default(&self, application: &str, key: &str, value: &str) -> bool {
        let declared = self.declared.as_ref().and_then(|declared| declared.of(application));
        declared.and_then(|declared| declared.defaults.get(key)).is_some_and(|default| default == value)
    }
}

/// What never changes of a deployment: if it differs, it is not ours (rule 2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The connector, as people named it.
    pub connector: ConnectorName,
    /// The region.
    pub region: String,
    /// The type.
    pub kind: String,
}

/// How people named the connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectorName {
    /// By key.
    Key(String),
    /// By id.
    Id(String),
    /// By a `ConnectorStaged` that is gone.
    Unknown,
}

impl Identity {
    /// Whether what was seen is of this identity. A record without the connector's key cannot
    /// contradict one, and nothing contradicts a connector that is not known.
    #[must_use]
    pub fn fits(&self, seen: &ObservedDeployment) -> bool {
        let connector = match &self.connector {
            ConnectorName::Key(key) => seen.connector_key.as_ref().is_none_or(|seen| seen == key),
            ConnectorName::Id(id) => seen.connector_id == *id,
            ConnectorName::Unknown => true,
        };
        connector && seen.region == self.region && seen.kind == self.kind
    }
}
