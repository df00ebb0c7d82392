//! What is remembered of a staged connector over restarts, and what is seen of it: the values that `decide` works on.
//!
//! Pure, and without types of Kubernetes or of the Connect API. `status_conversion.rs` keeps a [`PersistedState`] in the status of the
//! resource, `observe.rs` makes the rest. Next: `decide/`.

use jiff::Timestamp;

/// What must survive a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersistedState {
    /// Id of the staged connector. Once it is known every call goes by it (rule 3).
    pub id: Option<String>,
    /// What was sent last.
    pub applied: Option<Applied>,
    /// What was begun and not yet seen to end.
    pub operation: Option<Operation>,
    /// The tag that permission for a preview was asked for.
    pub previewed: Option<String>,
    /// The tag that was published last.
    pub published: Option<String>,
    /// How the last attempt to publish ended.
    pub publication: Option<Publication>,
    /// From which version on which repository can be deployed.
    pub deployable: Option<Deployable>,
    /// The last request to try again that was served (rule 11).
    pub handled_request: Option<String>,
}

/// What was sent last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Generation of the resource that it was sent for.
    pub generation: i64,
    /// Digest of what was wanted; `None`: not known to have been taken.
    pub digest: Option<String>,
    /// Digest of what showed afterwards: a service that normalises shows something else than what was sent.
    pub remote: Option<String>,
    /// Version before our last write.
    pub from_version: Option<i64>,
    /// When its end was seen; later than the start of our last write.
    pub at: Timestamp,
}

/// From which version on a tag can be deployed while it is staged. Later versions of the same tag, such as that of its
/// publication, are no reason to deploy it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployable {
    /// Digest of repository and tag.
    pub source: String,
    /// The first version of the connector in which the permission was seen.
    pub version: i64,
}

/// How an attempt to publish ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// Digest of what was to be published, and how.
    pub digest: String,
    /// Where it was left.
    pub outcome: Phase,
    /// When that was seen.
    pub at: Timestamp,
}

/// Something that was begun: written before its call, ended after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub kind: OperationKind,
    /// Whether its call is known to have been accepted.
    pub accepted: bool,
    /// How often its call was about to be sent, from 1.
    pub attempt: u32,
    /// Generation of the resource that it serves.
    pub generation: i64,
    /// Digest of what it is about; `None` for a delete.
    pub digest: Option<String>,
    /// The tag that it is about.
    pub tag: Option<String>,
    /// Version that it starts from.
    pub from_version: Option<i64>,
    /// Where the connector was then.
    pub from_phase: Option<Phase>,
    /// Whether the connector was seen busy since.
    pub seen_busy: bool,
    /// The request to try again that it serves.
    pub request: Option<String>,
    /// When its call was about to be sent last.
    pub started_at: Timestamp,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Creates the staged connector.
    Create,
    /// Changes it.
    Update,
    /// Asks for permission to deploy it while staged.
    Preview,
    /// Publishes it.
    Publish,
    /// Deletes it.
    Delete,
}

/// Where a staged connector is on its way (contract section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing was asked for.
    Draft,
    /// Publishing runs; nothing can be changed.
    Processing,
    /// Waits for certification, or is being certified.
    Certifying,
    /// Is published.
    Published,
    /// Was not published.
    Failed,
    /// A status that the contract does not list: nothing is concluded from it.
    Other,
}

/// Whether it may be deployed while it is staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preview {
    /// Nobody asked.
    NeverAsked,
    /// It is being looked at.
    Pending,
    /// It may.
    Granted,
    /// It may not.
    Refused,
    /// A word that the contract does not list: nothing is concluded from it.
    Other,
}

/// A look at the remote that began after our last write for this resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// There is none.
    Absent,
    /// There is one.
    Present(ObservedConnector),
}

/// A staged connector as it was seen, held against what is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct ObservedConnector {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: i64,
    /// Where it is.
    pub phase: Phase,
    /// Whether it may be deployed.
    pub preview: Preview,
    /// Whether only listed projects may use it.
    pub private: bool,
    /// Whether it is published and can be used.
    pub listed: bool,
    /// Whether it differs from what is published.
    pub changed: bool,
    /// Digest of all that people can choose.
    pub digest: String,
    /// Whether it is as wanted.
    pub met: bool,
    /// Whether its repository and tag are.
    pub repository_met: bool,
    /// Digest of its repository and tag.
    pub source: String,
    /// Whether something that differs cannot be changed.
    pub impossible: bool,
}

impl ObservedConnector {
    /// Whether something moves by itself; what is not known counts as that.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::Processing | Phase::Other)
            || matches!(self.preview, Preview::Pending | Preview::Other)
    }
}
