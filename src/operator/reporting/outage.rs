//! Why a remote project is not usable, and until when. Pure.

use std::sync::Arc;

use connect_api::ApiError;
use jiff::Timestamp;

/// Why a remote is not usable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Who has to act.
    pub kind: OutageKind,
    /// The error that began the outage, or the one that extended it last.
    pub error: Arc<ApiError>,
    /// No request is sent before this time.
    pub until: Timestamp,
}

/// Who has to act for a remote to work again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutageKind {
    /// Nobody: it does not answer, or reports an internal failure.
    Unavailable,
    /// Nobody: it asked for a pause.
    Throttled,
    /// A user: client id or secret are wrong.
    CredentialsRejected,
    /// A user: the API client may not read deployments.
    PermissionMissing,
    /// A user: the service has no such project, or the project has no Connect.
    ProjectNotFound,
}
