//! The persisted state of a deployment, and an observation of it: the values that `decide` works on.
//!
//! Pure, and without types of Kubernetes or of the Connect API; of the CRD only those that mean the same here.
//! `state.rs` keeps a [`PersistedState`] in the status of the resource, `observe.rs` produces observations. Next: `decide/`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::declared::Declared;
use crate::operator::cluster::references::Source;
use crate::operator::values::digest::{Digest, DigestKey, feed, hex};
use crate::operator::values::names::{GLOBAL, Item, Kind, Names, VisibleValues};

pub use crate::crd::{DeletionPolicy, OperationType};

/// What must survive a restart. Secured values cannot be read back from the remote, so a digest of what was sent takes their
/// place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PersistedState {
    /// Id of the remote deployment. Once it is known, every call uses it (rule 3). The status has it for users, too.
    #[serde(skip)]
    pub id: Option<String>,
    /// What the last completed operation has applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<Applied>,
    /// The operation that was begun and whose end has not been observed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
    /// The last redeploy request that was served (rule 11). The status has it for users, too.
    #[serde(skip)]
    pub handled_redeploy: Option<String>,
    /// The version of the connector to which a redeploy was last to move the deployment (rule 15).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub followed: Option<i64>,
    /// Whether the secured values at the remote may differ from the desired ones (condition `SecretsUnverified`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unverified: bool,
    /// URLs of the applications that values of the spec name, as the record showed them last: it need not show them during a
    /// redeploy.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub urls: BTreeMap<String, String>,
}

impl PersistedState {
    /// Returns when this resource last wrote at the remote, as far as it is known.
    pub(super) fn last_write(&self) -> Option<Timestamp> {
        let started = self.operation.as_ref().map(|operation| operation.started_at);
        started.or(self.applied.as_ref().map(|applied| applied.at))
    }

    /// Returns the state without times in the future, which a clock that was ahead has left: these writes count from now on.
    /// That is later than they were, so nothing is concluded too early, and nothing waits for ever.
    pub(super) fn until(&self, now: Timestamp) -> Self {
        let mut state = self.clone();
        let started = state.operation.as_mut().map(|operation| &mut operation.started_at);
        let ended = state.applied.as_mut().map(|applied| &mut applied.at);
        for time in started.into_iter().chain(ended) {
            *time = now.min(*time);
        }
        state
    }
}

/// What a completed operation has applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// Generation of the resource that was applied.
    pub generation: i64,
    /// Digest of what was sent; `None`: it is not known, so that one redeploy is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The status in which it ended.
    pub outcome: Phase,
    /// Whether code is serving that was deployed by this operation or by an earlier one: a redeploy that fails does not
    /// stop what runs (contract section 7).
    pub serves: bool,
    /// Version of the deployment before the last redeploy of this resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_version: Option<i64>,
    /// Version of the connector at the end; `None`: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connector_version: Option<i64>,
    /// The rollback revision that the record showed at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback: Option<String>,
    /// Names of what was sent; `None`: not known, so nothing is compared with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<Names>,
    /// How the visible values that were sent differ from what the remote showed when the operation ended, or when the next one
    /// began; `None`: they did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<Digest>,
    /// Whether the end was observed while the values that had been sent were not known, so that nothing was compared yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncompared: bool,
    /// A difference that stayed after the values were sent again: sending them once more would not help (rule 16).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Digest>,
    /// Names of what was sent earlier and is no longer desired: the deployment may have it still, because a redeploy does
    /// not remove values (contract section 6.1).
    #[serde(default, skip_serializing_if = "Names::is_empty")]
    pub retained: Names,
    /// Secrets and ConfigMaps that the values came from.
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub sources: Sources,
    /// When the end was observed; later than the start of the last write.
    pub at: Timestamp,
}

/// An operation: persisted before its call, removed after its end was observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// What it does.
    #[serde(rename = "type")]
    pub kind: OperationType,
    /// Whether the service is known to have accepted its call.
    pub state: OperationState,
    /// Number of times its call was about to be sent, from 1.
    pub attempt: u32,
    /// Generation of the resource that it serves.
    pub generation: i64,
    /// What it sends; `None` if it deletes the deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
    /// Version of the deployment before the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_version: Option<i64>,
    /// Build id before the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_build: Option<String>,
    /// Whether it changes visible values, as far as they were observed when it began.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changes_visible: bool,
    /// Whether the deployment was observed busy since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub seen_busy: bool,
    /// The redeploy request that it serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redeploy_request: Option<String>,
    /// When its call was last about to be sent.
    pub started_at: Timestamp,
}

impl Operation {
    /// Whether its call was about to be sent once: only then does a refusal prove that nothing happened.
    pub fn is_first(&self) -> bool {
        self.attempt == 1
    }
}

/// What an operation sends, without the values themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Payload {
    /// Digest of all values.
    pub digest: Digest,
    /// Digest of the visible ones, as the remote shows them if it takes them as they are.
    pub visible: Digest,
    /// The name of each of them.
    pub names: Names,
    /// Secrets and ConfigMaps that they came from.
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub sources: Sources,
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperationState {
    /// Its call may have been sent.
    Planned,
    /// The service accepted its call.
    Accepted,
}

/// The Secrets and ConfigMaps that values came from: a digest of their names and versions, which is empty without any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sources(String);

impl Sources {
    /// Returns the sources for these objects, in any order.
    pub fn of(all: &[Source]) -> Self {
        if all.is_empty() {
            return Self::default();
        }
        let mut sorted: Vec<_> = all.iter().collect();
        sorted.sort();
        let mut hasher = Sha256::new();
        for Source { kind, name, uid, resource_version } in &sorted {
            feed(&mut hasher, &[kind, name, uid, resource_version]);
        }
        Self(hex(&hasher.finalize()[..16]))
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The status of the remote deployment (contract section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The names of its applications.
    pub applications: BTreeSet<String>,
    /// Its visible values.
    pub values: VisibleValues,
    /// The secured values that it lists.
    pub secured: Names,
    /// What its connector declares; `None`: not known.
    pub declared: Option<Declared>,
}

impl ObservedDeployment {
    /// Whether the deployment shows this value.
    pub fn shows(&self, item: &Item) -> bool {
        self.values.contains_key(item) || self.secured.has(item)
    }

    /// Whether the deployment shows the visible values of this payload as they were sent.
    pub fn shows_as_sent(&self, sent: &Payload, digests: &DigestKey) -> bool {
        digests.of_visible(&sent.names, &self.values) == sent.visible
    }

    /// Whether the deployment looks as if exactly these values had been sent: they fit, and all other plain values are
    /// defaults of the connector.
    pub fn is_what_was_sent(&self, sent: &Payload, digests: &DigestKey) -> bool {
        let mut plain = self.values.keys().filter(|item| item.kind == Kind::Standard);
        self.shows_as_sent(sent, digests) && plain.all(|item| sent.names.has(item) || self.shows_default(item))
    }

    /// Whether its connector may read this value. Records need not list what is declared for all applications.
    pub fn may_read(&self, item: &Item) -> bool {
        let declares = |declared: &Declared| declared.keys.contains_key(item);
        let is_listed = matches!(item.kind, Kind::Secured | Kind::Standard) && item.application != GLOBAL;
        !is_listed || self.declared.as_ref().is_none_or(declares)
    }

    /// Whether it shows the default that the connector declares for a plain value.
    pub fn shows_default(&self, item: &Item) -> bool {
        let default = self.declared.as_ref().and_then(|declared| declared.default_of(item));
        default.is_some() && self.values.get(item) == default
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
    pub fn fits(&self, seen: &ObservedDeployment) -> bool {
        let connector = match &self.connector {
            ConnectorName::Key(key) => seen.connector_key.as_ref().is_none_or(|seen| seen == key),
            ConnectorName::Id(id) => seen.connector_id == *id,
            ConnectorName::Unknown => true,
        };
        connector && seen.region == self.region && seen.kind == self.kind
    }
}
