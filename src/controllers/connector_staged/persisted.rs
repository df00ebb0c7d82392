//! The persisted state of a staged connector, and an observation of it: the values that `decide` works on.
//!
//! Pure, and without types of Kubernetes or of the Connect API; of the CRD only those that mean the same here.
//! `status_conversion.rs` keeps a [`PersistedState`] in the status of the resource, `observe.rs` produces observations.
//! Next: `decide/`.

use jiff::Timestamp;

pub use crate::crd::{DeletionPolicy, StagedDeployable as Deployable, StagedOperationType as OperationType};

/// What must survive a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersistedState {
    /// Id of the staged connector. Once it is known, every call uses it (rule 3).
    pub id: Option<String>,
    /// What was sent last.
    pub applied: Option<Applied>,
    /// The operation that was begun and whose end has not been observed yet.
    pub operation: Option<Operation>,
    /// The tag for which permission for a preview was requested.
    pub previewed: Option<String>,
    /// Whether that permission was observed as refused.
    pub refused: bool,
    /// The tag that was published last.
    pub published: Option<String>,
    /// How the last attempt to publish ended.
    pub publication: Option<Publication>,
    /// The repository that can be deployed while it is staged, and since which version. Later versions of the same tag,
    /// such as that of its publication, do not cause another deployment.
    pub deployable: Option<Deployable>,
    /// The last retry request that was served (rule 11).
    pub handled_request: Option<String>,
}

impl PersistedState {
    /// Returns when this resource last wrote at the remote, as far as it is known.
    pub(super) fn last_write(&self) -> Option<Timestamp> {
        let started = self.operation.as_ref().map(|operation| operation.started_at);
        started.or(self.applied.as_ref().map(|applied| applied.at))
    }
}

/// What was sent last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Generation of the resource for which it was sent.
    pub generation: i64,
    /// Digest of what was desired; `None`: the service is not known to have accepted it.
    pub digest: Option<String>,
    /// Digest of what the remote showed afterwards: a service that normalizes values shows something else than was
    /// sent.
    pub remote: Option<String>,
    /// Version before the last write of this resource.
    pub from_version: Option<i64>,
    /// When its end was observed; later than the start of the last write.
    pub at: Timestamp,
}

/// How an attempt to publish ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// Digest of what was published, and how.
    pub digest: String,
    /// The status in which the connector was left.
    pub outcome: Phase,
    /// When that was observed.
    pub at: Timestamp,
}

/// An operation: persisted before its call, removed after its end was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub kind: OperationType,
    /// Whether the service is known to have accepted its call.
    pub accepted: bool,
    /// Number of times its call was about to be sent, from 1.
    pub attempt: u32,
    /// Generation of the resource that it serves.
    pub generation: i64,
    /// Digest of what it sends; `None` for a delete.
    pub digest: Option<String>,
    /// The tag that it sends.
    pub tag: Option<String>,
    /// Version of the connector before the operation.
    pub from_version: Option<i64>,
    /// Status of the connector before the operation.
    pub from_phase: Option<Phase>,
    /// Whether the connector was observed busy since.
    pub seen_busy: bool,
    /// The retry request that it serves.
    pub request: Option<String>,
    /// When its call was last about to be sent.
    pub started_at: Timestamp,
}

/// The status of a staged connector (contract section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No publication was requested.
    Draft,
    /// It is being published; nothing can be changed.
    Processing,
    /// Waits for certification, or is being certified.
    Certifying,
    /// Is published.
    Published,
    /// Publishing failed.
    Failed,
    /// A status that the contract does not list. Nothing is concluded from it.
    Other,
}

/// The permission to deploy a connector while it is staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preview {
    /// It was never requested.
    NeverAsked,
    /// It was requested and is not decided yet.
    Pending,
    /// It was granted.
    Granted,
    /// It was refused.
    Refused,
    /// A value that the contract does not list. Nothing is concluded from it.
    Other,
}

/// An observation of the remote that began after the last write for this resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// The staged connector does not exist.
    Absent,
    /// The staged connector exists.
    Present(ObservedConnector),
}

/// A staged connector as it was observed, compared with what is desired.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct ObservedConnector {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: i64,
    /// Its status.
    pub phase: Phase,
    /// The permission to deploy it while it is staged.
    pub preview: Preview,
    /// Whether only listed projects may use it.
    pub private: bool,
    /// Whether it is published and can be used.
    pub listed: bool,
    /// Whether it differs from what is published.
    pub changed: bool,
    /// Digest of everything that a user can choose.
    pub digest: String,
    /// Whether it is as desired.
    pub met: bool,
    /// Whether its repository and tag are as desired.
    pub repository_met: bool,
    /// Digest of its repository and tag.
    pub source: String,
    /// Whether a difference cannot be changed.
    pub impossible: bool,
}

impl ObservedConnector {
    /// Whether the status changes without another call; an unknown status counts as busy.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::Processing | Phase::Other)
            || matches!(self.preview, Preview::Pending | Preview::Other)
    }
}
