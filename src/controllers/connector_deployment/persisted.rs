//! The persisted state of a deployment, and an observation of it: the values that `decide` works on.
//!
//! Pure, and without types of Kubernetes or of the Connect API; of the CRD only those that mean the same here.
//! `status_conversion.rs` keeps a [`PersistedState`] in the status of the resource, `observe.rs` produces observations.
//! Next: `decide/`.

use std::collections::BTreeSet;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::declared::Declared;
use crate::controllers::values::VisibleValues;
use crate::controllers::values::digest::{Digest, hex};
use crate::controllers::values::tags::{GLOBAL, Item, Kind, NOTHING, Tags};

pub use crate::crd::{DeletionPolicy, Inputs as Sources, OperationState, OperationType, Source};

/// Number of objects that [`Sources`] names. The others are only in its digest, so that a status stays small.
const FIRST_SOURCES: usize = 4;

/// What must survive a restart. Secured values cannot be read back from the remote, so digests of what was sent take
/// their place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersistedState {
    /// Id of the remote deployment. Once it is known, every call uses it (rule 3).
    pub id: Option<String>,
    /// What the last completed operation has applied.
    pub applied: Option<Applied>,
    /// The operation that was begun and whose end has not been observed yet.
    pub operation: Option<Operation>,
    /// The last redeploy request that was served (rule 11).
    pub handled_redeploy: Option<String>,
    /// Whether the secured values at the remote may differ from the desired ones (condition `SecretsUnverified`).
    pub unverified: bool,
}

impl PersistedState {
    /// Returns when this resource last wrote at the remote, as far as it is known.
    pub(super) fn last_write(&self) -> Option<Timestamp> {
        let started = self.operation.as_ref().map(|operation| operation.started_at);
        started.or(self.applied.as_ref().map(|applied| applied.at))
    }
}

/// What a completed operation has applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Generation of the resource that was applied.
    pub generation: i64,
    /// Digest of what was sent; `None`: it is not known, so that one redeploy is due.
    pub digest: Option<Digest>,
    /// The status in which it ended.
    pub outcome: Phase,
    /// Whether code is serving that was deployed by this operation or by an earlier one: a redeploy that fails does not
    /// stop what runs (contract section 7).
    pub serves: bool,
    /// Version of the deployment before the last redeploy of this resource.
    pub from_version: Option<i64>,
    /// Version of the connector at the end; `None`: not known.
    pub connector_version: Option<i64>,
    /// The rollback revision that the record showed at the end.
    pub rollback: Option<String>,
    /// Tags of what was sent; `None`: not known, so nothing is compared with them.
    pub sent: Option<Tags>,
    /// What the remote showed in place of visible values that were sent, when the operation ended or when the next one
    /// began.
    pub shown: Tags,
    /// What the remote still shows in their place after they were sent again: sending them once more would not help
    /// (rule 16).
    pub accepted: Tags,
    /// Values that the deployment still has although they are no longer desired: a redeploy does not remove values
    /// (contract section 6.1). The tag [`FOREIGN`](crate::controllers::values::tags::FOREIGN) marks those that this resource
    /// did not send.
    pub retained: Tags,
    /// Secrets and ConfigMaps that the values came from.
    pub sources: Sources,
    /// When the end was observed; later than the start of the last write.
    pub at: Timestamp,
}

impl Applied {
    /// Whether the deployment still has secured values that are no longer desired.
    #[must_use]
    pub fn retains_secured(&self) -> bool {
        self.retained.iter().any(|(item, _)| item.kind == Kind::Secured)
    }
}

/// An operation: persisted before its call, removed after its end was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub kind: OperationType,
    /// Whether the service is known to have accepted its call.
    pub state: OperationState,
    /// Number of times its call was about to be sent, from 1.
    pub attempt: u32,
    /// Generation of the resource that it serves.
    pub generation: i64,
    /// What it sends; `None` if it deletes the deployment.
    pub payload: Option<Payload>,
    /// Version of the deployment before the operation.
    pub from_version: Option<i64>,
    /// Build id before the operation.
    pub from_build: Option<String>,
    /// Whether it changes visible values, as far as they were observed when it began.
    pub changes_visible: bool,
    /// Whether the deployment was observed busy since.
    pub seen_busy: bool,
    /// The redeploy request that it serves.
    pub redeploy_request: Option<String>,
    /// When its call was last about to be sent.
    pub started_at: Timestamp,
}

/// What an operation sends, without the values themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Digest of all values.
    pub digest: Digest,
    /// A tag for each of them.
    pub tags: Tags,
    /// Secrets and ConfigMaps that they came from.
    pub sources: Sources,
}

impl Sources {
    /// Returns the sources for these objects, in any order.
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

/// The status of the remote deployment (contract section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Idle, and not deployed.
    Draft,
    /// Waits to be deployed.
    Queued,
    /// Is being deployed.
    Deploying,
    /// Live.
    Deployed,
    /// The deployment failed.
    Failed,
    /// Is being undeployed.
    Undeploying,
    /// Undeploying failed.
    UndeployFailed,
    /// A status that the contract does not list. Nothing is concluded from it.
    Other,
}

impl Phase {
    /// Whether the status changes without another call; an unknown status counts as busy.
    #[must_use]
    pub fn is_busy(self) -> bool {
        match self {
            Self::Queued | Self::Deploying | Self::Undeploying | Self::Other => true,
            Self::Draft | Self::Deployed | Self::Failed | Self::UndeployFailed => false,
        }
    }
}

/// An observation of the remote that began after the last write for this resource.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "one at a time, and nearly always the large one")]
pub enum Observation {
    /// The deployment does not exist. `key_held_by`: id of another deployment that has the key, if the key was looked
    /// up.
    Absent {
        /// Id of another deployment under the key.
        key_held_by: Option<String>,
    },
    /// The deployment exists.
    Present(ObservedDeployment),
}

/// A deployment as it was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedDeployment {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: i64,
    /// Its status.
    pub phase: Phase,
    /// Id of its build, if it has one.
    pub build: Option<String>,
    /// Id of its connector.
    pub connector_id: String,
    /// Key of its connector, if it has one.
    pub connector_key: Option<String>,
    /// Version of its connector.
    pub connector_version: i64,
    /// The revision to which somebody rolled it back.
    pub rollback: Option<String>,
    /// Its region.
    pub region: String,
    /// Its type.
    pub kind: String,
    /// Its visible values, and which of them to ignore.
    pub values: VisibleValues,
    /// Application and key of each secured value that it lists.
    pub secured: BTreeSet<(String, String)>,
    /// What its connector declares; `None`: not known.
    pub declared: Option<Declared>,
}

impl ObservedDeployment {
    /// Whether the deployment shows this value.
    #[must_use]
    pub fn shows(&self, item: &Item) -> bool {
        match item.kind {
            Kind::Secured => self.secured.contains(&(item.application.clone(), item.key.clone())),
            Kind::Standard | Kind::Schedule | Kind::RetryPolicy => self.tag(item) != NOTHING,
        }
    }

    /// Returns the tag of this visible value as the deployment shows it.
    #[must_use]
    pub fn tag(&self, item: &Item) -> String {
        Tags::of(&self.values, item)
    }

    /// Whether the deployment looks as if exactly these values had been sent: they fit, and all other plain values are
    /// defaults of the connector.
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

    /// Whether a plain value equals the default that the connector declares for it.
    #[must_use]
    pub fn is_default(&self, application: &str, key: &str, value: &str) -> bool {
        let declared = self.declared.as_ref().and_then(|declared| declared.of(application));
        declared.and_then(|declared| declared.defaults.get(key)).is_some_and(|default| default == value)
    }
}

/// What never changes about a deployment. If it differs, this resource did not create the deployment (rule 2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The connector as the spec names it.
    pub connector: ConnectorName,
    /// The region.
    pub region: String,
    /// The type.
    pub kind: String,
}

/// How the spec names the connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectorName {
    /// By key.
    Key(String),
    /// By id.
    Id(String),
    /// By a `ConnectorStaged` that does not exist any more.
    Unknown,
}

impl Identity {
    /// Whether the observed deployment has this identity. A record without the key of its connector, and a connector
    /// that is not known, count as a match.
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
