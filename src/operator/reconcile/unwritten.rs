//! A condition that the API server refuses to store. No user can read it in the status, so an Event reports it.

use std::sync::OnceLock;

use kube::runtime::events::EventType;

use crate::operator::context::Context;
use crate::operator::kinds::managed_kind::Object;
use crate::operator::reporting::conditions::{ConditionUpdate, LONGEST_MESSAGE, cut};
use crate::operator::reporting::reason::Reason;
use crate::operator::reporting::refusal::{self, Access};

/// The first refused write of a status in one reconcile.
#[derive(Debug, Default)]
pub struct Unwritten(OnceLock<String>);

impl Unwritten {
    /// Records a condition that was not written, if the API server refused `request` and would refuse it again. The first
    /// one of a reconcile counts: later ones report no more than that refusal.
    pub fn note(&self, request: &str, condition: &ConditionUpdate, error: &kube::Error) {
        let Some(status) = refusal::definite(Access::Write, error) else { return };
        // So that there is room for what the status lacks.
        let refused = cut(&refusal::message(request, status), LONGEST_MESSAGE / 2);
        let ConditionUpdate { reason, message, .. } = condition;
        let _ = self.0.set(format!("{refused}. The status would report {reason}: {message}"));
    }

    /// Publishes an Event about it once the reconcile has failed with `error`: otherwise the status reports the refusal.
    pub fn report<K: Object>(&self, context: &Context, action: &'static str, object: &K, error: &kube::Error) {
        if let Some(note) = self.noted(error) {
            context.report(object, EventType::Warning, Reason::KubernetesError.into(), action, note);
        }
    }

    /// Returns the note, unless the status may be stored after all: after a conflict, or if the API server is busy.
    fn noted(&self, error: &kube::Error) -> Option<&str> {
        self.0.get().map(String::as_str).filter(|_| refusal::definite(Access::Write, error).is_some())
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;
    use crate::operator::reporting::refusal::STATUS;

    #[test]
    fn the_first_refused_condition_of_a_reconcile_is_reported_with_the_refusal() {
        let answered = |code, why: &str| kube::Error::Api(Box::new(Status::failure(why, "").with_code(code)));
        let missing = ConditionUpdate::new(Reason::SecretMissing, "Secret tax is missing");
        let later = ConditionUpdate::new(Reason::KubernetesError, "refused");
        let expected = |why: &str| {
            format!(
                "The Kubernetes API server refused to patch the status of this resource: {why}. The status would \
                 report SecretMissing: Secret tax is missing"
            )
        };
        for (case, error, expected) in [
            ("a webhook", answered(403, "no status today"), Some(expected("no status today"))),
            ("a webhook that does not respond", answered(500, "no response"), Some(expected("no response"))),
            ("changed meanwhile", answered(409, "changed"), None),
            ("deleted meanwhile", answered(404, "not found"), None),
            ("no response", kube::Error::Service("connection reset".into()), None),
        ] {
            let unwritten = Unwritten::default();
            unwritten.note(STATUS, &missing, &error);
            unwritten.note(STATUS, &later, &error);
            assert_eq!(unwritten.noted(&error), expected.as_deref(), "{case}");
            for (case, error) in [("stored although it failed", answered(409, "changed")), ("busy", answered(429, ""))]
            {
                assert_eq!(unwritten.noted(&error), None, "{case}");
            }
        }
        let unwritten = Unwritten::default();
        unwritten.note(STATUS, &missing, &answered(422, &"x".repeat(LONGEST_MESSAGE)));
        let note = unwritten.0.into_inner().unwrap_or_default();
        assert!(note.len() <= LONGEST_MESSAGE && note.ends_with("Secret tax is missing"), "{note}");
    }
}
