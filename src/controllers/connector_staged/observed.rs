//! A staged connector as it was observed, compared with what is desired. Pure.

use connect_api::model::{ConnectorStaged as Record, ConnectorStatus, IsPreviewable};

use super::desired::{self, Fields};
use crate::crd::ConnectorStagedSpec;

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
pub enum Permission {
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

/// A staged connector as it was observed, compared with what is desired.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Observed {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: i64,
    /// Its status.
    pub phase: Phase,
    /// The same, as the API reports it.
    pub status: String,
    /// The permission to deploy it while it is staged.
    pub permission: Permission,
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

impl Observed {
    /// Compares a record with what is desired.
    #[must_use]
    pub fn of(record: &Record, spec: &ConnectorStagedSpec) -> Self {
        let fields = Fields::from(record);
        let changes = desired::changes(spec, record);
        Self {
            id: record.id.clone(),
            version: record.version,
            phase: match record.status {
                ConnectorStatus::Draft => Phase::Draft,
                ConnectorStatus::Processing => Phase::Processing,
                ConnectorStatus::ReadyForCertification | ConnectorStatus::InCertification => Phase::Certifying,
                ConnectorStatus::Published => Phase::Published,
                ConnectorStatus::Failed => Phase::Failed,
                ConnectorStatus::Other(_) => Phase::Other,
            },
            status: record.status.to_string(),
            permission: match record.is_previewable {
                IsPreviewable::NeverAsked => Permission::NeverAsked,
                IsPreviewable::Pending => Permission::Pending,
                IsPreviewable::Yes => Permission::Granted,
                IsPreviewable::No => Permission::Refused,
                IsPreviewable::Other(_) => Permission::Other,
            },
            private: record.private,
            listed: record.already_listed,
            changed: record.has_changes,
            digest: fields.digest(),
            met: changes.actions.is_empty() && changes.impossible.is_empty(),
            repository_met: fields.has_repository_of(&Fields::from(spec)),
            source: fields.source(),
            impossible: !changes.impossible.is_empty(),
        }
    }

    /// Whether the service accepts no change now; an unknown status counts as that.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        matches!(self.phase, Phase::Processing | Phase::Other)
    }

    /// Whether it changes without another call; an unknown value counts as that.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.is_locked() || matches!(self.permission, Permission::Pending | Permission::Other)
    }
}
