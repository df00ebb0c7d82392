//! What the rules allow beyond one redeploy for each ask, and exactly when.

use std::collections::BTreeMap;

use clock::between;
use connect_operator::controllers::connector_deployment::decide::QUIET_PERIOD;
use connect_operator::crd::connector_deployment_status::{
    Applied, ConnectorDeploymentStatus, Operation, OperationState, OperationType,
};
use jiff::Timestamp;

use super::life::Life;
use super::{Judge, State};
use crate::remote::Values;

/// Why one redeploy more than the asks is allowed. Each is used up by the next redeploy of the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Allowance {
    /// An operation was given up that may have been sent: what is there is unknown, one redeploy (rules, *Operations*).
    GivenUp,
    /// The key of the digests was lost, and since then nobody knows whether what was sent is what is asked for, because the
    /// spec or an object that it names was written meanwhile (rule 7).
    LostKey,
    /// The connector has a later version, and `updatePolicy` is `Latest` (rule 15).
    Followed,
    /// Taken over with other visible values (rule 13).
    TakenOver,
    /// Visible values differ from what was sent, because somebody else changed them, or because our own redeploy left
    /// others than it sent: `Correct` redeploys once for each distinct difference (rule 16).
    Drift,
    /// Two objects changed while a run read one after the other: it sent a state that never was, and serves one ask of
    /// the two with it.
    Torn,
}

impl Judge {
    /// Takes note of a status that says something else than before.
    pub(super) fn judge_operations(
        &mut self,
        uid: &str,
        before: &ConnectorDeploymentStatus,
        after: &ConnectorDeploymentStatus,
        now: Timestamp,
    ) {
        let given_up = self.is_given_up(uid, before, after, now);
        let Some(life) = self.lives.get_mut(uid) else { return };
        if given_up {
            life.allowed.insert(Allowance::GivenUp);
        }
        if let (Some(applied), Some(operation)) = (&before.applied, &after.operation)
            && before.operation.is_none()
            && key_was_lost(applied, operation)
        {
            life.allowed.insert(Allowance::LostKey);
        }
    }

    /// Whether a redeploy was given up as the table says: only when nothing of it can arrive any more, and only if what was
    /// seen does not show that it did. That shows if it makes visible values others and they are, or if it makes none others
    /// and the deployment was busy meanwhile.
    fn is_given_up(
        &self,
        uid: &str,
        before: &ConnectorDeploymentStatus,
        after: &ConnectorDeploymentStatus,
        now: Timestamp,
    ) -> bool {
        let Some(old) = before
            .operation
            .as_ref()
            .filter(|old| old.operation_type == OperationType::Redeploy && old.state == OperationState::Planned)
        else {
            return false;
        };
        let forgotten = after.applied.as_ref().is_some_and(|applied| applied.digest.is_none());
        let another = after
            .operation
            .as_ref()
            .is_none_or(|new| new.operation_type == OperationType::Redeploy && new.from_version != old.from_version);
        // Refused at its first call: nothing was sent, nothing is unknown that was not before.
        let calm = between(old.started_at.0, now) + self.skew >= QUIET_PERIOD;
        if !(forgotten && another && calm) {
            return false;
        }
        let silent = !old.changes_visible;
        (silent && !old.seen_busy) || self.shows_other_values(uid, before, now)
    }

    /// Whether what is taken over shows other visible values than are asked for (rule 13), or may have: what is missing is not
    /// known to be the same.
    pub(super) fn shows_other_than_asked(&self, life: &Life, id: &str, now: Timestamp) -> bool {
        let began = self.began.get(&life.object_ref).copied().unwrap_or(now);
        let asked: Vec<_> = life.asked_of(i64::MAX, began).map(|ask| ask.values.as_ref()).collect();
        let same = |state: &State, values: &Values| state.of(&values.plain) == values.plain;
        self.truth
            .since(id, self.since(&life.object_ref, now))
            .any(|state| asked.iter().any(|values| values.is_none_or(|values| !same(state, values))))
    }

    /// Whether a look that a run may use now shows other visible values than those that were to be sent.
    fn shows_other_values(&self, uid: &str, before: &ConnectorDeploymentStatus, now: Timestamp) -> bool {
        let (Some(life), Some(id)) = (self.lives.get(uid), &before.id) else { return false };
        let Some(sent) = life.asks.get(life.planned).and_then(|ask| ask.values.as_ref()) else { return true };
        let other =
            |plain: &BTreeMap<String, String>| sent.plain.iter().any(|(key, value)| plain.get(key) != Some(value));
        self.truth
            .since(id, self.since(&life.object_ref, now))
            .any(|state| state.status == "gone" || other(&state.plain))
    }
}

/// Rule 7: a digest under another key says nothing; the same objects in the same versions hold the same values.
fn key_was_lost(applied: &Applied, operation: &Operation) -> bool {
    let key = |digest: &Option<String>| digest.as_ref().and_then(|text| text.split(':').next().map(str::to_owned));
    let written = applied.inputs != operation.inputs || applied.generation != operation.generation;
    let known = applied.digest.is_some() && operation.digest.is_some();
    known && key(&applied.digest) != key(&operation.digest) && (written || applied.inputs.is_none())
}
