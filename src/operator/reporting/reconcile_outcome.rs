//! How a reconcile ended, for metrics, logs and traces. Pure.

use super::reason::Reason;

/// The result of a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconcileOutcome {
    /// The resource exists, and its Ready condition has this reason, if it has one.
    Reported(Option<Reason>),
    /// The resource no longer exists, or its deletion can proceed.
    Gone,
    /// The resource changed meanwhile; it is reconciled again.
    Conflict,
    /// The API server refused a request or did not answer; the resource is reconciled again.
    ClusterError,
    /// The reconcile panicked, which is a bug; the resource is reconciled again.
    Panicked,
    /// The reconcile did not end, which is a bug; it was given up, and the resource is reconciled again.
    TimedOut,
}

impl ReconcileOutcome {
    /// Returns the result of a reconcile that failed with this error of the API server.
    pub fn refused(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 409 => Self::Conflict,
            _ => Self::ClusterError,
        }
    }

    /// Returns the name of the result in metrics, logs and traces: the reason, if there is one.
    pub fn label(self) -> &'static str {
        match self {
            Self::Reported(reason) => reason.map_or("None", Reason::as_str),
            Self::Gone => "Gone",
            Self::Conflict => "Conflict",
            Self::ClusterError => "ClusterError",
            Self::Panicked => "Panic",
            Self::TimedOut => "Timeout",
        }
    }
}
