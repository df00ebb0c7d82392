//! No operation runs: creating, taking over, and the steps of a tag: update, preview, publish, each after the one
//! before has ended.

use std::time::Duration;

use super::super::persisted::{
    Applied, Deployable, Observation, ObservedConnector, OperationType, PersistedState, Phase, Preview,
};
use super::{CallKind, Decision, Input, Outcome, ReachedStep, is_failure};
use crate::controllers::driver::operations::{Gone, LAG, QUIET_PERIOD};

/// Pause after an observation that may be older than the last write.
const OLD_AGAIN: Duration = Duration::from_secs(3);

pub(super) fn decide(input: &Input<'_>) -> Decision {
    match (&input.persisted.id, input.observation) {
        (None, Observation::Absent) => create(input),
        (None, Observation::Present(observed)) => found(input, observed),
        (Some(_), Observation::Absent) if input.since_write() < LAG => {
            input.no_op(Outcome::Running(OperationType::Update), Some(OLD_AGAIN))
        }
        (Some(_), Observation::Absent) => match input.gone(QUIET_PERIOD) {
            Gone::Proven => input.no_op(Outcome::Disappeared, None),
            Gone::NotYet { since } => input.missing(since),
        },
        (Some(_), Observation::Present(observed)) => present(input, observed),
    }
}

/// Rule 1. The key was looked up and is free; `act` looks it up once more before the POST.
fn create(input: &Input<'_>) -> Decision {
    if let Some(held) = input.held(OperationType::Create) {
        return held;
    }
    let mut persisted = input.persisted.clone();
    // The create also serves a retry request that already exists (rule 11).
    persisted.handled_request.clone_from(&input.intent.request);
    input.send(persisted, input.operation(OperationType::Create, None), CallKind::Create, true)
}

/// Rules 2, 3 and 13: the key exists, and the persisted state does not say that this resource created the connector.
fn found(input: &Input<'_>, observed: &ObservedConnector) -> Decision {
    if !(input.intent.adopt || input.intent.remote_id.as_ref() == Some(&observed.id)) {
        return input.no_op(Outcome::KeyTaken, None);
    }
    input.re_evaluate(take_over(input, observed))
}

/// Takes a connector over. Everything can be read from the record, so nothing has to be waited for, except for which
/// tag a permission for a preview was granted.
pub(super) fn take_over(input: &Input<'_>, observed: &ObservedConnector) -> PersistedState {
    let published = observed.repository_met && observed.listed && !observed.changed;
    PersistedState {
        id: Some(observed.id.clone()),
        applied: Some(Applied { generation: input.intent.generation, at: input.now, ..Applied::default() }),
        operation: None,
        previewed: None,
        refused: false,
        published: published.then(|| input.intent.tag.clone()),
        publication: None,
        deployable: None,
        handled_request: input.intent.request.clone(),
    }
}

fn present(input: &Input<'_>, observed: &ObservedConnector) -> Decision {
    if has_other_tag(input, observed) {
        return input.re_evaluate(PersistedState { previewed: None, refused: false, ..input.persisted.clone() });
    }
    if observed.is_busy() {
        return input.busy();
    }
    let mut decision = at_rest(input, observed);
    decision.transient.busy_since = None;
    decision
}

fn at_rest(input: &Input<'_>, observed: &ObservedConnector) -> Decision {
    if input.is_old(observed) {
        return input.no_op(Outcome::Running(OperationType::Update), Some(OLD_AGAIN));
    }
    if observed.impossible {
        return input.no_op(Outcome::CannotChange, None);
    }
    if !observed.met && !input.is_all_there_will_be(observed) {
        return update(input, observed);
    }
    let deployable = input.persisted.deployable.as_ref().filter(|deployable| deployable.source == observed.source);
    if deployable.is_none() && may_be_deployed(input, observed) {
        let deployable = Deployable { source: observed.source.clone(), version: observed.version };
        return input.re_evaluate(PersistedState { deployable: Some(deployable), ..input.persisted.clone() });
    }
    if let Some(decision) = preview(input, observed) {
        return decision;
    }
    if input.intent.publish.is_some()
        && let Some(decision) = publish(input, observed)
    {
        return decision;
    }
    if asked(input) {
        // There is nothing to retry.
        return input
            .re_evaluate(PersistedState { handled_request: input.intent.request.clone(), ..input.persisted.clone() });
    }
    let milestone = if input.intent.publish.is_some() {
        ReachedStep::Published
    } else if input.intent.previewable {
        ReachedStep::Previewable
    } else {
        ReachedStep::Staged
    };
    input.no_op(Outcome::Settled(milestone), None)
}

/// Whether the connector has another tag than the one for which permission was requested. Whoever set it, the
/// permission is requested again when the desired tag returns.
fn has_other_tag(input: &Input<'_>, observed: &ObservedConnector) -> bool {
    let is_it = input.persisted.previewed.as_ref().map(|previewed| *previewed == input.intent.tag);
    !input.is_old(observed) && is_it.is_some_and(|is_it| is_it != input.has_repository(observed))
}

/// Whether the tag can be deployed. Permission is for one tag: one that was requested for an earlier tag may still
/// show.
fn may_be_deployed(input: &Input<'_>, observed: &ObservedConnector) -> bool {
    observed.repository_met && observed.preview == Preview::Granted && input.is_previewed(observed)
}

impl Input<'_> {
    /// Whether the step *preview* is done, or not desired.
    pub(super) fn is_previewed(&self, observed: &ObservedConnector) -> bool {
        let tried = self.persisted.previewed.as_ref() == Some(&self.intent.tag);
        !self.intent.previewable || (tried && observed.preview == Preview::Granted)
    }
}

/// Whether there is a new retry request.
fn asked(input: &Input<'_>) -> bool {
    input.intent.request.is_some() && input.intent.request != input.persisted.handled_request
}

fn update(input: &Input<'_>, observed: &ObservedConnector) -> Decision {
    let call = CallKind::Update { id: observed.id.clone(), version: observed.version };
    begin(input, input.persisted.clone(), OperationType::Update, observed, call)
}

/// The step *preview*. `None`: permission is granted, or not desired.
fn preview(input: &Input<'_>, observed: &ObservedConnector) -> Option<Decision> {
    if input.is_previewed(observed) {
        return None;
    }
    let tried = input.persisted.previewed.as_ref() == Some(&input.intent.tag);
    // Permission was granted or refused, and another client removed that, such as by another tag and back.
    let granted = input.persisted.deployable.as_ref().is_some_and(|deployable| deployable.source == observed.source);
    let lost = observed.preview == Preview::NeverAsked && (granted || input.persisted.refused);
    if tried && !lost && !asked(input) {
        let mut decision = input.no_op(Outcome::PreviewRefused, None);
        decision.persisted.refused |= observed.preview == Preview::Refused;
        return Some(decision);
    }
    let call = CallKind::Preview { id: observed.id.clone(), version: observed.version };
    // Requested once more, but not again and again: the next response tells since which version it can be deployed.
    let persisted = PersistedState { deployable: None, previewed: None, refused: false, ..input.persisted.clone() };
    Some(begin(input, persisted, OperationType::Preview, observed, call))
}

/// The step *publish*. `None`: the connector is published as it is.
fn publish(input: &Input<'_>, observed: &ObservedConnector) -> Option<Decision> {
    if observed.phase == Phase::Certifying {
        return Some(input.no_op(Outcome::Certifying, None));
    }
    let certification = input.intent.publish?;
    // Another client may have published it without certification, while it was being certified.
    let uncertified = certification && observed.private;
    if observed.listed && !observed.changed && !uncertified {
        return None;
    }
    let tried =
        input.persisted.publication.as_ref().filter(|tried| Some(&tried.digest) == input.intent.publication.as_ref());
    match tried {
        // The service may report a change where there is none: it is published once.
        Some(_) if !is_failure(observed.phase) && !uncertified => return None,
        Some(_) if !asked(input) => return Some(input.no_op(Outcome::PublishingFailed, None)),
        _ => {}
    }
    if !input.intent.proven {
        return Some(input.no_op(Outcome::AwaitingProof, None));
    }
    let call = CallKind::Publish { id: observed.id.clone(), version: observed.version, certification };
    Some(begin(input, input.persisted.clone(), OperationType::Publish, observed, call))
}

fn begin(
    input: &Input<'_>,
    persisted: PersistedState,
    kind: OperationType,
    observed: &ObservedConnector,
    call: CallKind,
) -> Decision {
    input.held(kind).unwrap_or_else(|| input.send(persisted, input.operation(kind, Some(observed)), call, true))
}
