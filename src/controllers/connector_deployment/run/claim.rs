//! Rule 4: of several resources with one key, one has it, and the others touch nothing.

use std::time::Duration;

use super::super::decide::{CallKind, Decision, Memory, Step};
use super::super::ledger::Ledger;
use super::super::status::WantedIdentity;
use super::super::{Next, intent};
use crate::controllers::keys::{Place, Standing};

use super::Run;

/// Pause before a run whose resource is not among those that the watch shows. It may have gone during the run; only another
/// run notices that, and forgets what this one remembered.
const UNKNOWN_AGAIN: Duration = Duration::from_secs(5);

impl Run<'_> {
    /// Whether what was decided may be done: a create, and taking over what exists, are announced to the others first.
    pub(super) fn begin(&self, wanted: &WantedIdentity, ledger: &Ledger, decision: &Decision) -> Standing {
        let creates = matches!(&decision.step, Step::Send(call) if matches!(call.kind, CallKind::Create { .. }));
        if !creates && decision.ledger.id == ledger.id {
            return Standing::First;
        }
        let place = Place { remote: wanted.remote.clone(), key: wanted.key.clone() };
        self.context.keys.begin(&self.object, &place)
    }

    /// Leaves the key to who is before us. Whatever changes about that wakes us, so nothing is looked at meanwhile.
    pub(super) async fn step_aside(&mut self, standing: Standing) -> Result<Next, kube::Error> {
        let Standing::After(winner) = standing else { return Ok(Next::Again(Some(UNKNOWN_AGAIN))) };
        self.context.remotes.forget(self.subject);
        // What was seen until now says nothing about the time after.
        self.remembered.seen = Memory::default();
        if intent::deletion(&self.object).is_some() {
            return self.release(None).await;
        }
        self.halt(None, intent::key_conflict(&self.object, &winner), None).await
    }
}
