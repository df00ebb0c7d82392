//! The redeploys that the rules allow beyond one for each request, and exactly when.

use clock::between;
use connect_operator::crd::connector_deployment_status::ConnectorDeploymentStatus;
use connect_operator::operator::deployment::decide::QUIET_PERIOD;
use connect_operator::operator::deployment::persisted::{Applied, Operation, OperationState, OperationType};
use connect_operator::operator::deployment::state::shown;
use connect_operator::operator::values::digest::Comparison;

use super::State;
use super::life::Life;
use crate::prelude::*;
use crate::remote::Values;

/// Why one redeploy beyond the requested ones is allowed. The next redeploy of the resource uses it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Allowance {
    /// An operation was given up that may have been sent: the state of the remote is unknown, so one redeploy is
    /// allowed (rules, *Operations*).
    GivenUp,
    /// The digest key was lost, and it is unknown whether what was sent is still what is asked for, because the spec or
    /// an object that it references was written since (rule 7).
    LostKey,
    /// The connector has a later version, and `updatePolicy` is `Latest` (rule 15).
    Followed,
    /// Adopted with other visible values, or an earlier version of the connector (rule 13).
    TakenOver,
    /// Visible values differ from what was sent, because another client changed them, or because the operator's own
    /// redeploy left other values than it sent: `Correct` redeploys once for each distinct difference (rule 16).
    Drift,
    /// Two objects changed while a reconcile read one after the other: it sent a state that never existed, and serves
    /// one of the two requests with it.
    Torn,
}

impl Checker {
    /// Takes note of a status that changed.
    pub(super) fn check_operations(
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
        let (before, after) = (shown(before), shown(after));
        let digest = |operation: &Operation| operation.payload.as_ref().map(|payload| payload.digest.clone());
        if let (Some(applied), Some(operation)) = (&before.applied, &after.operation)
            && before.operation.as_ref().is_none_or(|earlier| digest(earlier) != digest(operation))
            && key_was_lost(applied, operation)
        {
            life.allowed.insert(Allowance::LostKey);
        }
    }

    /// Whether a redeploy was given up as the table allows it: only when it can no longer arrive, and only if the
    /// observations do not prove that it arrived. The proof is that visible values changed as it would change them, or,
    /// if it changes no visible value, that the deployment was busy meanwhile.
    fn is_given_up(
        &self,
        uid: &str,
        before: &ConnectorDeploymentStatus,
        after: &ConnectorDeploymentStatus,
        now: Timestamp,
    ) -> bool {
        let Some(old) = shown(before)
            .operation
            .filter(|old| old.kind == OperationType::Redeploy && old.state == OperationState::Planned)
        else {
            return false;
        };
        let after = shown(after);
        let forgotten = after.applied.as_ref().is_some_and(|applied| applied.digest.is_none());
        let another = after
            .operation
            .as_ref()
            .is_none_or(|new| new.kind == OperationType::Redeploy && new.from_version != old.from_version);
        // Refused at its first call: nothing was sent, and everything is as known as before.
        let calm = between(old.started_at, now) + self.skew >= QUIET_PERIOD;
        if !(forgotten && another && calm) {
            return false;
        }
        let silent = !old.changes_visible;
        (silent && !old.seen_busy) || self.shows_other_values(uid, before, now)
    }

    /// Whether the adopted deployment shows other visible values than are asked for (rule 13), or may show them: if a
    /// referenced object is missing, the values are not known to be equal.
    pub(super) fn shows_other_than_asked(&self, life: &Life, id: &str, now: Timestamp) -> bool {
        let began = self.began.get(&life.object_ref).copied().unwrap_or(now);
        let asked: Vec<_> = life.asked_of(i64::MAX, began).map(|ask| ask.values.as_ref()).collect();
        let same = |state: &State, values: &Values| state.of(&values.plain) == values.plain;
        self.truth
            .since(id, self.since(&life.object_ref, now))
            .any(|state| asked.iter().any(|values| values.is_none_or(|values| !same(state, values))))
    }

    /// Whether an observation that a reconcile may use now shows other visible values than those that it was about to
    /// send.
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

/// Rule 7: digests under different keys cannot be compared; the same objects in the same versions hold the same values.
fn key_was_lost(applied: &Applied, operation: &Operation) -> bool {
    let (Some(digest), Some(payload)) = (&applied.digest, &operation.payload) else { return false };
    let written = applied.sources != payload.sources || applied.generation != operation.generation;
    digest.compare(&payload.digest) == Comparison::Unknown && (written || applied.sources.is_empty())
}
