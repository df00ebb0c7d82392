//! The protocol with one rule broken, by changing what `decide` observes or what it decides. Each property must detect
//! the loss of the rules that it depends on.

use super::settings::Rule;
use super::{CAP, NOW};
use crate::operator::deployment::decide::{ABSENCE, Decision, DesiredPayload, Intent, Step, TransientState};
use crate::operator::deployment::persisted::{Observation, OperationState, OperationType, PersistedState};
use crate::operator::values::digest::{Comparison, Digest, DigestKey};
use crate::operator::values::names::Names;

/// Changes what `decide` observes.
pub(super) fn before(
    rule: Rule,
    persisted: &mut PersistedState,
    intent: &mut Intent,
    transient: &mut TransientState,
    observation: &Observation,
    wanted: Option<&DesiredPayload>,
    digests: &DigestKey,
) {
    let old = NOW - CAP;
    match (rule, &mut persisted.operation, &mut persisted.applied, observation) {
        (Rule::Calm, Some(operation), _, _) => operation.started_at = old,
        (Rule::Identity, _, _, Observation::Present(observed)) => intent.remote_id = Some(observed.id.clone()),
        (Rule::Fit, Some(operation), _, Observation::Present(observed)) => {
            if let Some(payload) = &mut operation.payload {
                payload.visible = digests.of_visible(&payload.names, &observed.values);
            }
        }
        (Rule::SeenBusy, Some(operation), _, _) => operation.seen_busy = true,
        (Rule::TwoAbsences, operation, applied, Observation::Absent { .. }) => {
            transient.absent_since = Some(NOW - ABSENCE);
            if let Some(operation) = operation {
                operation.started_at = old;
            }
            if let Some(applied) = applied {
                applied.at = old;
            }
        }
        (Rule::OldReads, _, Some(applied), _) => applied.from_version = None,
        (Rule::UnknownDigest, _, Some(applied), _) => {
            let today = wanted.map(|wanted| &wanted.payload.digest);
            if applied.digest.as_ref().zip(today).is_some_and(|(old, new)| old.compare(new) == Comparison::Unknown) {
                let key = today.map(|digest| digest.to_string().split(':').next().unwrap_or_default().to_owned());
                applied.digest = key.map(|key| Digest::parse(&format!("{key}:different")));
            }
        }
        _ => {}
    }
}

/// Changes what it decides.
pub(super) fn after(
    rule: Rule,
    persisted: &PersistedState,
    intent: &Intent,
    observation: &Observation,
    decision: &mut Decision,
) {
    let creating = persisted
        .operation
        .as_ref()
        .is_some_and(|operation| (operation.kind, operation.state) == (OperationType::Create, OperationState::Planned));
    let rests = decision.step == Step::NoOp;
    match rule {
        Rule::ForgottenDigest => {
            if let (Some(before), Some(after)) = (&persisted.applied, &mut decision.persisted.applied)
                && after.digest.is_none()
            {
                after.digest.clone_from(&before.digest);
            }
        }
        Rule::OutstandingCreate if intent.deletion.is_some() && creating && rests => {
            decision.step = Step::RemoveFinalizer;
        }
        Rule::AnsweredUndeploy if intent.deletion.is_some() && matches!(observation, Observation::Absent { .. }) => {
            decision.step = Step::RemoveFinalizer;
        }
        Rule::Retained => {
            if let Some(applied) = &mut decision.persisted.applied {
                applied.retained = Names::default();
            }
        }
        Rule::HandledRequest => decision.persisted.handled_redeploy = None,
        _ => {}
    }
}
