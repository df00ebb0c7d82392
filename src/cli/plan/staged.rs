//! Simulates the operator for a staged connector: runs its own decision table forward. Pure; time is an argument.
//!
//! Unlike a deployment, a tag takes several steps, so each call is assumed to succeed, and the next decision starts
//! from the record that the service would then return: a new tag revokes the permission for a preview, and a request
//! for one is granted. This file decides nothing that the operator decides.

mod difference;

use clock::later;
use connect_api::model::ConnectorStaged as Record;
use connect_api::scopes::{self, Right};
use jiff::Timestamp;
use serde::Serialize;

use crate::controllers::connector_staged::decide::{
    self, Call, CallKind, Decision, Input, Intent, Outcome, Response, Step, TransientState,
};
use crate::controllers::connector_staged::desired::{self, Fields};
use crate::controllers::connector_staged::persisted::{
    Observation, ObservedConnector, OperationType, PersistedState, Phase, Preview,
};
use crate::controllers::connector_staged::proof::{self, Objects, ProofTarget};
use crate::controllers::connector_staged::{intent, observe, status, status_conversion};
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::problem;
use crate::controllers::reporting::reason::ConditionState;
use crate::crd::ConnectorStaged;

pub(super) use self::difference::Difference;

/// Maximum number of simulated steps: the longest sequence, proving that a record is gone, takes about twenty.
const ROUNDS: usize = 64;

/// The inputs of the simulation.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    /// The resource after applying.
    pub(super) object: &'a ConnectorStaged,
    /// Its name.
    pub(super) name: &'a str,
    /// The record of the remote.
    pub(super) record: Option<&'a Record>,
    /// The objects that `publishAfter` names, after applying.
    pub(super) proofs: &'a Objects,
    /// Scopes of the token, if its response listed them.
    pub(super) granted: &'a [String],
    /// Key of the remote project.
    pub(super) project: &'a str,
    /// The current time.
    pub(super) now: Timestamp,
}

/// A step of a staged connector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Action {
    /// It is created.
    Create,
    /// An existing one is adopted.
    Adopt,
    /// Fields that differ are updated.
    Update,
    /// Permission for a preview is requested.
    Preview,
    /// It is published.
    Publish,
    /// Not known, because the remote was not asked.
    NotAsked,
}

/// The result of the simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Projection {
    /// The actions, in order.
    pub(super) actions: Vec<Action>,
    /// The actions that follow once `suspend` is false, in order.
    pub(super) held: Vec<Action>,
    /// The condition that the operator would report because a user has to act; then no further action would happen.
    pub(super) problem: Option<ConditionUpdate>,
    /// Fields that would change.
    pub(super) differences: Vec<Difference>,
    /// What publishing would wait for.
    pub(super) waits: Vec<String>,
    /// Further information for the user.
    pub(super) notes: Vec<String>,
    /// Whether the tag changes, or becomes deployable.
    pub(super) moves: bool,
    /// Why it is not deployable in the end; `None` if it is.
    pub(super) not_deployable: Option<String>,
}

impl Projection {
    /// Returns a result without an action, because a user has to act.
    pub(super) fn problem(condition: ConditionUpdate) -> Self {
        Self { not_deployable: Some(condition.message.clone()), problem: Some(condition), ..Self::default() }
    }
}

/// Simulates what the operator would do.
pub(super) fn simulate(inputs: &Inputs<'_>) -> Projection {
    let mut outcome = Projection::default();
    let mut intent = intent::intent(inputs.object);
    if intent.deletion.is_some() {
        let note = "it is being deleted, and applying changes nothing about that";
        return Projection { notes: vec![note.to_owned()], not_deployable: Some(note.to_owned()), ..outcome };
    }
    let mut stage = Stage::of(inputs, &mut outcome);
    let known = stage.persisted.id.is_some();
    let missing = scopes::missing(&[Right::ManageConnectors], inputs.granted, inputs.project);
    for _ in 0..ROUNDS {
        let decision = stage.decide(&intent);
        if !known && outcome.actions.is_empty() && decision.persisted.id.is_some() {
            outcome.actions.push(Action::Adopt);
        }
        match (&decision.step, decision.again) {
            (Step::Send(_), _) if !missing.is_empty() => {
                outcome.problem = Some(problem::unpermitted(&missing, inputs.project));
                break;
            }
            (Step::Send(call), _) => {
                foresee(inputs, call, &stage, &mut outcome);
                stage.done(inputs, &intent, call, &decision);
            }
            (Step::NoOp, _) if decision.outcome == Outcome::AwaitingProof && outcome.waits.is_empty() => {
                outcome.waits = unproven(inputs, &decision.persisted);
                intent.proven = outcome.waits.is_empty();
            }
            (Step::NoOp, Some(pause)) => stage.pass(decision, pause),
            (Step::NoOp | Step::RemoveFinalizer, _) => {
                stage.persisted = decision.persisted;
                rest(inputs, decision.outcome, &mut outcome);
                if decision.outcome == Outcome::HeldBySuspend {
                    hold(inputs, &mut outcome);
                }
                break;
            }
        }
    }
    outcome.not_deployable = status::deployable(&stage.persisted, stage.seen(), &inputs.object.spec).err();
    outcome
}

/// Adds what would happen once the resource is not suspended any more.
fn hold(inputs: &Inputs<'_>, outcome: &mut Projection) {
    let mut object = inputs.object.clone();
    object.spec.suspend = false;
    let resumed = simulate(&Inputs { object: &object, ..*inputs });
    if let Some(condition) = &resumed.problem {
        outcome.notes.push(format!("once it is false: {}: {}", condition.reason, condition.message));
    }
    outcome.held = resumed.actions.into_iter().filter(|action| !outcome.actions.contains(action)).collect();
    (outcome.differences, outcome.waits) = (resumed.differences, resumed.waits);
    let new: Vec<_> = resumed.notes.into_iter().filter(|note| !outcome.notes.contains(note)).collect();
    outcome.notes.extend(new);
}

/// Returns what publishing would wait for after all earlier steps.
fn unproven(inputs: &Inputs<'_>, persisted: &PersistedState) -> Vec<String> {
    let Some(after) = &inputs.object.spec.publish_after else { return Vec::new() };
    let object_ref = ProofTarget {
        name: inputs.name,
        id: persisted.id.as_deref().unwrap_or_default(),
        tag: &inputs.object.spec.repository.tag,
        deployable: persisted.deployable.as_ref().map(|deployable| deployable.version),
    };
    proof::missing(after, &object_ref, inputs.proofs)
}

/// Records a call that the table would send.
fn foresee(inputs: &Inputs<'_>, call: &Call, stage: &Stage, outcome: &mut Projection) {
    let action = match &call.kind {
        CallKind::Create => Action::Create,
        CallKind::Update { .. } => Action::Update,
        CallKind::Preview { .. } => Action::Preview,
        CallKind::Publish { certification, .. } => {
            if *certification {
                outcome.notes.push("it goes to certification, and becomes public afterwards".to_owned());
            }
            Action::Publish
        }
        CallKind::Delete { .. } => return,
    };
    if let (Action::Update, Some(record)) = (action, inputs.record) {
        outcome.differences = difference::differences(&inputs.object.spec, record);
    }
    let retags = stage.seen().is_some_and(|seen| action == Action::Update && !seen.repository_met);
    outcome.moves |= retags || matches!(action, Action::Create | Action::Preview);
    outcome.actions.push(action);
}

/// Evaluates the final outcome, after which nothing more is sent.
fn rest(inputs: &Inputs<'_>, verdict: Outcome, outcome: &mut Projection) {
    if verdict == Outcome::AwaitingProof {
        return;
    }
    let spec = &inputs.object.spec;
    let impossible = inputs.record.map(|record| desired::changes(spec, record).impossible).unwrap_or_default();
    let condition = status::ready_condition(verdict, &spec.key, inputs.record, &impossible);
    match (condition.reason.state(), verdict) {
        (ConditionState::Progressing, Outcome::Certifying) if !outcome.actions.contains(&Action::Publish) => {
            outcome.notes.push(format!("the differences are published after the certification: {}", condition.message));
        }
        (ConditionState::Ready | ConditionState::Progressing, _) => {}
        (ConditionState::Paused, _) => outcome.notes.push(condition.message),
        (ConditionState::Waiting | ConditionState::Stalled | ConditionState::Failing, _) => {
            outcome.problem = Some(condition);
        }
    }
}

/// The state on which the table is run.
struct Stage {
    persisted: PersistedState,
    observation: Observation,
    transient: TransientState,
    now: Timestamp,
}

impl Stage {
    /// Returns the state; assumes that an operation in progress succeeds.
    fn of(inputs: &Inputs<'_>, outcome: &mut Projection) -> Self {
        let mut persisted = status_conversion::persisted(&inputs.object.status.clone().unwrap_or_default());
        let mut observation = observe::observation(&inputs.object.spec, inputs.record);
        let mut busy = false;
        if let Observation::Present(seen) = &mut observation {
            if seen.preview == Preview::Pending {
                busy = true;
                seen.preview = Preview::Granted;
            }
            if seen.phase == Phase::Processing {
                busy = true;
                (seen.phase, seen.listed, seen.changed) = (Phase::Published, true, !seen.met);
            }
        }
        if let Some(operation) = persisted.operation.take() {
            busy = true;
            persisted.handled_request = operation.request.or(persisted.handled_request.take());
            match (operation.kind, &observation) {
                (OperationType::Create, Observation::Present(seen)) => persisted.id = Some(seen.id.clone()),
                (OperationType::Preview, _) if operation.accepted => persisted.previewed = operation.tag,
                _ => {}
            }
        }
        if busy {
            outcome.notes.push("an operation is in progress at the remote; this plan starts after it".to_owned());
        }
        Self { persisted, observation, transient: TransientState::default(), now: inputs.now }
    }

    fn seen(&self) -> Option<&ObservedConnector> {
        match &self.observation {
            Observation::Present(seen) => Some(seen),
            Observation::Absent => None,
        }
    }

    fn decide(&self, intent: &Intent) -> Decision {
        let Self { persisted, observation, transient, now } = self;
        decide::decide(&Input { persisted, intent, observation, transient, now: *now })
    }

    fn pass(&mut self, decision: Decision, pause: std::time::Duration) {
        self.now = later(self.now, pause);
        (self.persisted, self.transient) = (decision.persisted, decision.transient);
    }

    /// Applies a call that succeeds, and whose operation succeeds.
    fn done(&mut self, inputs: &Inputs<'_>, intent: &Intent, call: &Call, decision: &Decision) {
        let before = self.seen().cloned().unwrap_or_else(|| unmade(&intent.digest));
        let (answer, after) = effect(inputs, intent, &call.kind, before);
        let taken = decide::apply_response(
            &decision.persisted,
            &decision.transient,
            call,
            None,
            &Response::Accepted(answer),
            self.now,
        );
        (self.persisted, self.transient) = (taken.persisted, taken.transient);
        self.observation = Observation::Present(after);
    }
}

/// Returns the observation of a connector that does not exist yet.
fn unmade(digest: &str) -> ObservedConnector {
    ObservedConnector {
        id: "new".to_owned(),
        version: 0,
        phase: Phase::Draft,
        preview: Preview::NeverAsked,
        private: true,
        listed: false,
        changed: false,
        digest: digest.to_owned(),
        met: true,
        repository_met: true,
        source: String::new(),
        impossible: false,
    }
}

/// Returns the effect of a call: the connector in its response, and the connector once the operation has ended.
fn effect(
    inputs: &Inputs<'_>,
    intent: &Intent,
    call: &CallKind,
    mut seen: ObservedConnector,
) -> (ObservedConnector, ObservedConnector) {
    seen.version = seen.version.saturating_add(1);
    let mut after = ObservedConnector { version: seen.version.saturating_add(1), ..seen.clone() };
    match call {
        CallKind::Create | CallKind::Update { .. } => {
            let preview = if seen.repository_met { seen.preview } else { Preview::NeverAsked };
            seen = ObservedConnector {
                preview,
                changed: seen.listed,
                digest: intent.digest.clone(),
                met: true,
                repository_met: true,
                source: Fields::from(&inputs.object.spec).source(),
                ..seen
            };
            after = seen.clone();
        }
        CallKind::Preview { .. } => {
            seen.preview = Preview::Pending;
            after.preview = Preview::Granted;
        }
        CallKind::Publish { certification: true, .. } => {
            (seen.phase, after.phase) = (Phase::Processing, Phase::Certifying);
        }
        CallKind::Publish { certification: false, .. } => {
            seen.phase = Phase::Processing;
            (after.phase, after.listed, after.changed) = (Phase::Published, true, false);
        }
        CallKind::Delete { .. } => {}
    }
    (seen, after)
}

#[cfg(test)]
#[path = "staged_tests.rs"]
mod tests;
