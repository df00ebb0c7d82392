//! What a refused request to the API server means for a resource: a condition that users can read.
//!
//! A refused write of the status itself is an Event (`manager/reconciled.rs`), because no user could read it in the status.

use kube::core::Status;

use super::conditions::{ConditionUpdate, LONGEST_MESSAGE, cut};
use super::reason::Reason;

/// A request that the caller does not know.
pub const ANY: &str = "serve a request of the operator about this resource";
/// Writes what a reconcile found, which is nearly always the status.
pub const FINDINGS: &str = "patch this resource or its status";
/// Adds or removes a finalizer.
pub const FINALIZERS: &str = "patch the finalizers of this resource";
/// Stores the id of the remote record.
pub const ANNOTATIONS: &str = "patch the annotations of this resource";

/// What helps if a policy refuses to create an object because of its labels.
pub const LABELS: &str =
    "If a policy asks for labels, have them given to the operator with --common-labels (commonLabels of the chart)";

/// Whether a request reads or writes: the API server calls webhooks only for writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Get or list.
    Read,
    /// Create, patch or delete.
    Write,
}

/// Returns the condition for a refused request. `request`: its verb and object, such as `get Secret tax`.
///
/// # Errors
/// The same error, if it is transient: no response, a conflict, or a busy API server. It passes by itself.
pub fn condition(access: Access, request: &str, error: kube::Error) -> Result<ConditionUpdate, kube::Error> {
    definite(access, &error).map(|status| refused(request, status)).ok_or(error)
}

/// Returns the answer to a request that would be refused again, until a user changes something.
pub fn definite(access: Access, error: &kube::Error) -> Option<&Status> {
    let kube::Error::Api(status) = error else { return None };
    (status.code != 404 && is_definite(access, status)).then_some(&**status)
}

/// Whether the same request would be refused again, until a user changes something.
pub fn is_definite(access: Access, status: &Status) -> bool {
    match status.code {
        // Changed meanwhile, or the API server is busy.
        408 | 409 | 410 | 429 => false,
        400..=499 => true,
        // A webhook that cannot be reached.
        500 => access == Access::Write,
        _ => false,
    }
}

/// Returns the condition for a request that was refused with this status.
fn refused(request: &str, status: &Status) -> ConditionUpdate {
    tracing::warn!(request, reason = status.message, "the cluster refused");
    ConditionUpdate::new(Reason::KubernetesError, cut(&message(request, status), LONGEST_MESSAGE))
}

/// Returns the sentence about a request that was refused with this status.
pub fn message(request: &str, status: &Status) -> String {
    let why = if status.message.is_empty() { &status.reason } else { &status.message };
    format!("The Kubernetes API server refused to {request}: {why}")
}

/// Whether waiting does not help: the right to read is missing, or the namespace or kind does not exist. An API server
/// that is unavailable or fails is no such answer.
pub fn cannot_be_seen(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 403 | 404))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(code: u16) -> kube::Error {
        kube::Error::Api(Box::new(Status::failure("no", "Forbidden").with_code(code)))
    }

    #[test]
    fn what_users_have_to_change_becomes_a_condition_and_transient_errors_do_not() {
        for (case, access, code, is_reported) in [
            ("no right", Access::Read, 403, true),
            ("a policy, or a quota", Access::Write, 403, true),
            ("not valid", Access::Write, 422, true),
            ("a webhook says no", Access::Write, 400, true),
            ("a webhook that cannot be asked", Access::Write, 500, true),
            ("gone meanwhile", Access::Write, 404, false),
            ("trouble of the API server itself", Access::Read, 500, false),
            ("changed meanwhile", Access::Write, 409, false),
            ("too many requests", Access::Write, 429, false),
            ("overloaded", Access::Write, 503, false),
            ("too slow", Access::Write, 504, false),
        ] {
            let condition = condition(access, "patch ConfigMap tax", answered(code));
            assert_eq!(condition.is_ok(), is_reported, "{case}");
            if let Ok(condition) = condition {
                assert_eq!(condition.reason, Reason::KubernetesError, "{case}");
                assert_eq!(condition.message, "The Kubernetes API server refused to patch ConfigMap tax: no", "{case}");
            }
        }
    }

    #[test]
    fn only_a_missing_right_or_object_cannot_be_seen() {
        for (error, hidden) in [
            (answered(403), true),
            (answered(404), true),
            (answered(401), false),
            (answered(503), false),
            (kube::Error::Service("connection reset".into()), false),
        ] {
            assert_eq!(cannot_be_seen(&error), hidden, "{error:?}");
        }
    }
}
