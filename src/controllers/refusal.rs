//! What it means for a resource that the API server refused a request: people learn of it from the condition.
//!
//! Pure. Knows nothing of refused writes of a status, which nobody could read there: those are logged and counted.

use std::time::Duration;

use super::conditions::{ConditionUpdate, LONGEST_MESSAGE, cut};
use super::problem;
use super::reason::Reason;

/// A request that the caller does not know.
pub const ANY: &str = "serve a request of the operator about this resource";
/// Sets or removes a finalizer.
pub const FINALIZERS: &str = "patch the finalizers of this resource";
/// Keeps the id of what is at the remote.
pub const ANNOTATIONS: &str = "patch the annotations of this resource";

/// Whether a request reads or writes: only writes are asked of webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Get or list.
    Read,
    /// Create, patch or delete.
    Write,
}

/// What to tell of a refused request. `request`: its verb and object, such as `get Secret tax`.
///
/// # Errors
/// The same error, if it is none to tell of: no answer, a conflict, or an API server that is busy. It passes by itself.
pub fn condition(access: Access, request: &str, error: kube::Error) -> Result<ConditionUpdate, kube::Error> {
    let kube::Error::Api(status) = &error else { return Err(error) };
    let refused = match status.code {
        // Gone meanwhile, changed meanwhile, or not now.
        404 | 408 | 409 | 410 | 429 => false,
        400..=499 => true,
        // A webhook that cannot be asked.
        500 => access == Access::Write,
        _ => false,
    };
    if !refused {
        return Err(error);
    }
    tracing::warn!(request, reason = status.message, "the cluster refused");
    let why = if status.message.is_empty() { &status.reason } else { &status.message };
    let message = format!("The Kubernetes API server refused to {request}: {why}");
    Ok(ConditionUpdate::new(Reason::KubernetesError, cut(&message, LONGEST_MESSAGE)))
}

/// Whether it will not be granted by waiting: no right to see it, or there is no such namespace or kind. It is no answer that the
/// API server is away, or does not know what to answer.
#[must_use]
pub fn cannot_be_seen(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 403 | 404))
}

/// Runs of one resource in a row that the API server refused something.
#[derive(Clone, Copy, Debug, Default)]
pub struct KubernetesErrorBackoff(u32);

impl KubernetesErrorBackoff {
    /// When to run again after a run that ended with `reason`, and else would after `again`: nobody tells when a right is
    /// granted or a policy changes.
    pub fn again(&mut self, reason: Reason, again: Option<Duration>) -> Option<Duration> {
        if reason != Reason::KubernetesError {
            self.0 = 0;
            return again;
        }
        self.0 = self.0.saturating_add(1);
        Some(problem::pause(self.0).min(again.unwrap_or(Duration::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn answered(code: u16) -> kube::Error {
        kube::Error::Api(Box::new(Status::failure("no", "Forbidden").with_code(code)))
    }

    #[test]
    fn what_a_person_has_to_change_is_told_and_what_passes_is_not() {
        for (case, access, code, is_told) in [
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
            assert_eq!(condition.is_ok(), is_told, "{case}");
            if let Ok(condition) = condition {
                let expected = "The Kubernetes API server refused to patch ConfigMap tax: no";
                assert_eq!(
                    (condition.reason, condition.message.as_str()),
                    (Reason::KubernetesError, expected),
                    "{case}"
                );
            }
        }
    }

    #[test]
    fn pauses_grow_until_nothing_is_refused() {
        let mut kubernetes_error_backoff = KubernetesErrorBackoff::default();
        let again = |kubernetes_error_backoff: &mut KubernetesErrorBackoff| {
            kubernetes_error_backoff.again(Reason::KubernetesError, None)
        };
        assert_eq!(again(&mut kubernetes_error_backoff), Some(Duration::from_secs(8)));
        assert_eq!(again(&mut kubernetes_error_backoff), Some(Duration::from_secs(16)));
        assert_eq!(
            kubernetes_error_backoff.again(Reason::KubernetesError, Some(Duration::from_secs(5))),
            Some(Duration::from_secs(5))
        );
        assert_eq!(kubernetes_error_backoff.again(Reason::Deployed, None), None);
        assert_eq!(again(&mut kubernetes_error_backoff), Some(Duration::from_secs(8)));
    }
}
