//! A staged connector as it was observed, compared with what is desired. Pure.

use connect_api::model::ConnectorStaged as Record;
/// The status of a staged connector, and the permission to deploy it while it is staged (contract section 4.1). Nothing is
/// concluded from a word that the contract does not list.
pub use connect_api::model::{ConnectorStatus as Phase, IsPreviewable as Permission};

use super::desired;
use crate::crd::ConnectorStagedSpec;

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
    /// Whether a difference cannot be changed.
    pub impossible: bool,
}

impl Observed {
    /// Compares a record with what is desired.
    pub fn of(record: &Record, spec: &ConnectorStagedSpec) -> Self {
        let changes = desired::changes(spec, record);
        Self {
            id: record.id.clone(),
            version: record.version,
            phase: record.status.clone(),
            permission: record.is_previewable.clone(),
            private: record.private,
            listed: record.already_listed,
            changed: record.has_changes,
            digest: desired::digest(desired::shown(record)),
            met: changes.actions.is_empty() && changes.impossible.is_empty(),
            repository_met: record.repository == desired::draft(spec).repository,
            impossible: !changes.impossible.is_empty(),
        }
    }

    /// Whether the service accepts no change now; an unknown status counts as that.
    pub fn is_locked(&self) -> bool {
        matches!(self.phase, Phase::Processing | Phase::Other(_))
    }

    /// Whether it changes without another call; an unknown value counts as that.
    pub fn is_busy(&self) -> bool {
        self.is_locked() || matches!(self.permission, Permission::Pending | Permission::Other(_))
    }

    /// Whether it waits for certification, or is being certified.
    pub fn is_certifying(&self) -> bool {
        matches!(self.phase, Phase::ReadyForCertification | Phase::InCertification)
    }

    /// Whether what is published is what it shows.
    pub fn is_published(&self) -> bool {
        self.listed && !self.changed
    }
}
