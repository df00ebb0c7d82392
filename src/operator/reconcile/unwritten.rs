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
