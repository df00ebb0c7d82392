//! Simulates the operator for a staged connector: runs its own decisions forward. Pure; time is an argument.
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

use crate::controllers::connector_staged::call::{self, Response};
use crate::controllers::connector_staged::decide::{self, Decision, Input, Memory, Step};
use crate::controllers::connector_staged::desired;
use crate::controllers::connector_staged::intent::{self, Intent};
use crate::controllers::connector_staged::observed::{Observed, Permission, Phase};
use crate::controllers::connector_staged::outcome::{self as reported, Outcome};
use crate::controllers::connector_staged::proof::{self, Objects};
use crate::controllers::connector_staged::state::{CallKind, State};
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::problem;
use crate::controllers::reporting::reason::{ConditionState, Reason};
use crate::crd::connector_staged_state::NOT_REQUESTED;
use crate::crd::{ConnectorStaged, Publish};

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
    let mut stage = match Stage::of(inputs, &mut outcome) {
        Ok(stage) => stage,
        Err(why) => return Projection::problem(ConditionUpdate::new(Reason::InternalError, why)),
    };
    let known = stage.state.id.is_some();
    let missing = scopes::missing(&[Right::ManageConnectors], inputs.granted, inputs.project);
    for _ in 0..ROUNDS {
        let decision = decide::decide(&stage.input(&intent));
        if !known && outcome.actions.is_empty() && decision.state.id.is_some() {
            outcome.actions.push(Action::Adopt);
        }
        match decision.step {
            Step::Send(_) if !missing.is_empty() => {
                outcome.problem = Some(problem::unpermitted(&missing, inputs.project));
                break;
            }
            Step::Send(kind) => {
                foresee(inputs, kind, &stage, &mut outcome);
                stage.done(&intent, kind, &decision);
            }
            Step::Report(Outcome::AwaitingProof, _) if outcome.waits.is_empty() => {
                outcome.waits = unproven(inputs, &decision.state);
                intent.proven = outcome.waits.is_empty();
            }
            Step::Report(_, Some(pause)) => {
                stage.now = later(stage.now, pause);
                (stage.state, stage.memory) = (decision.state, decision.memory);
            }
            Step::Report(verdict, None) => {
                stage.state = decision.state;
                rest(inputs, verdict, &mut outcome);
                if verdict == Outcome::HeldBySuspend {
                    hold(inputs, &mut outcome);
                }
                break;
            }
            Step::Release => break,
        }
    }
    let spec = &inputs.object.spec;
    let is_there = stage.record.is_some_and(|it| it.repository_met && it.permission == Permission::Yes);
    let known = stage.state.deployable.filter(|known| is_there && known.repository == spec.repository);
    outcome.not_deployable = match known {
        Some(_) => None,
        None if !spec.previewable => Some(NOT_REQUESTED.to_owned()),
        None => Some(format!("tag {} may not be deployed as a preview", spec.repository.tag)),
    };
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
fn unproven(inputs: &Inputs<'_>, state: &State) -> Vec<String> {
    proof::missing(inputs.name, &inputs.object.spec, state, inputs.proofs)
}

/// Records a call that would be sent.
fn foresee(inputs: &Inputs<'_>, kind: CallKind, stage: &Stage, outcome: &mut Projection) {
    let action = match kind {
        CallKind::Create => Action::Create,
        CallKind::Update => Action::Update,
        CallKind::Preview => Action::Preview,
        CallKind::Publish => {
            if inputs.object.spec.publish == Publish::Certified {
                outcome.notes.push("it goes to certification, and becomes public afterwards".to_owned());
            }
            Action::Publish
        }
        CallKind::Delete => return,
    };
    if let (Action::Update, Some(record)) = (action, inputs.record) {
        outcome.differences = difference::differences(&inputs.object.spec, record);
    }
    let retags = stage.record.as_ref().is_some_and(|seen| action == Action::Update && !seen.repository_met);
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
    let condition = reported::ready_condition(verdict, &spec.key, inputs.record, &impossible);
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

/// What the decisions are made from.
struct Stage {
    state: State,
    record: Option<Observed>,
    memory: Memory,
    now: Timestamp,
}

impl Stage {
    /// Returns what is there; assumes that what is in progress succeeds.
    ///
    /// # Errors
    /// A sentence about a status that this version does not understand.
    fn of(inputs: &Inputs<'_>, outcome: &mut Projection) -> Result<Self, String> {
        let mut state = inputs.object.remembered()?;
        let mut record = inputs.record.map(|record| Observed::of(record, &inputs.object.spec));
        let mut busy = false;
        if let Some(record) = &mut record {
            if record.permission == Permission::Pending {
                busy = true;
                record.permission = Permission::Yes;
            }
            if record.phase == Phase::Processing {
                busy = true;
                (record.phase, record.listed, record.changed) = (Phase::Published, true, !record.met);
            }
        }
        if state.is_call_open() {
            busy = true;
            let creates = state.call.as_ref().is_some_and(|call| call.kind == CallKind::Create);
            state.id = state.id.take().or_else(|| record.as_ref().filter(|_| creates).map(|record| record.id.clone()));
            state.call = None;
        }
        if busy {
            outcome.notes.push("an operation is in progress at the remote; this plan starts after it".to_owned());
        }
        Ok(Self { state, record, memory: Memory::default(), now: inputs.now })
    }

    fn input<'a>(&'a self, intent: &'a Intent) -> Input<'a> {
        let Self { state, record, memory, now } = self;
        Input { state, intent, record: record.as_ref(), memory, now: *now }
    }

    /// Applies a call that succeeds, and whose operation succeeds.
    fn done(&mut self, intent: &Intent, kind: CallKind, decision: &Decision) {
        let before = self.record.clone().unwrap_or_else(|| unmade(&intent.digest));
        let (answer, record) = effect(intent, kind, before);
        let begun = call::begin(&decision.state, kind, intent, self.record.as_ref(), self.now);
        self.state = call::after(&decision.state, &begun, &intent.repository.tag, &Response::Accepted(answer));
        self.record = Some(record);
    }
}

/// Returns the observation of a connector that does not exist yet.
fn unmade(digest: &str) -> Observed {
    Observed {
        id: "new".to_owned(),
        version: 0,
        phase: Phase::Draft,
        permission: Permission::NeverAsked,
        private: true,
        listed: false,
        changed: false,
        digest: digest.to_owned(),
        met: true,
        repository_met: true,
        impossible: false,
    }
}

/// Returns the effect of a call: the connector in its response, and the connector once the operation has ended.
fn effect(intent: &Intent, kind: CallKind, mut seen: Observed) -> (Observed, Observed) {
    seen.version = seen.version.saturating_add(1);
    let mut after = Observed { version: seen.version.saturating_add(1), ..seen.clone() };
    match kind {
        CallKind::Create | CallKind::Update => {
            let permission = if seen.repository_met { seen.permission.clone() } else { Permission::NeverAsked };
            seen = Observed {
                permission,
                changed: seen.listed,
                digest: intent.digest.clone(),
                met: true,
                repository_met: true,
                ..seen
            };
            after = seen.clone();
        }
        CallKind::Preview => {
            seen.permission = Permission::Pending;
            after.permission = Permission::Yes;
        }
        CallKind::Publish if intent.certified => {
            (seen.phase, after.phase) = (Phase::Processing, Phase::InCertification);
        }
        CallKind::Publish => {
            seen.phase = Phase::Processing;
            (after.phase, after.listed, after.changed) = (Phase::Published, true, false);
        }
        CallKind::Delete => {}
    }
    (seen, after)
}

#[cfg(test)]
#[path = "staged_tests.rs"]
mod tests;
