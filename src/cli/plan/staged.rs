//! Plans a staged connector: the operator's own decision for the record that is there, and the steps of a tag that follow
//! it. Pure; time is an argument.
//!
//! What is in progress is assumed to succeed. A new tag resets the permission for a preview, which is then requested and
//! granted, and what differs from the published version is published.

mod difference;

use clock::later;
use connect_api::model::ConnectorStaged as Record;
use connect_api::scopes::{self, Right};
use jiff::Timestamp;
use serde::Serialize;

pub(super) use self::difference::Difference;
use super::stop::Problem;
use crate::crd::connector_staged_state::NOT_REQUESTED;
use crate::crd::{ConnectorStaged, Publish};
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::problem;
use crate::operator::reporting::reason::{ConditionState, Reason};
use crate::operator::staged::decide::{self, Decision, Input, Memory, Step};
use crate::operator::staged::desired;
use crate::operator::staged::intent::{self, Intent};
use crate::operator::staged::observed::{Observed, Permission, Phase};
use crate::operator::staged::outcome::{self as reported, Outcome};
use crate::operator::staged::proof::{self, Objects};
use crate::operator::staged::state::{CallKind, State};

/// Maximum number of decisions: only a record that is gone takes a second look.
const ROUNDS: usize = 64;

/// The inputs of the plan.
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

/// The plan for one staged connector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Projection {
    /// The actions, in order.
    pub(super) actions: Vec<Action>,
    /// The actions that follow once `suspend` is false, in order.
    pub(super) held: Vec<Action>,
    /// The condition that the operator would report because a user has to act; then no further action would happen.
    pub(super) problem: Option<Problem>,
    /// Fields that would change.
    pub(super) differences: Vec<Difference>,
    /// What publishing would wait for.
    pub(super) waits: Vec<String>,
    /// Further information for the user.
    pub(super) notes: Vec<String>,
    /// Whether the tag changes, or becomes deployable.
    #[serde(skip)]
    pub(super) moves: bool,
    /// Why it is not deployable in the end; `None` if it is.
    #[serde(skip)]
    pub(super) not_deployable: Option<String>,
}

impl Projection {
    /// Returns a result without an action, because a user has to act.
    pub(super) fn problem(condition: ConditionUpdate) -> Self {
        Self { not_deployable: Some(condition.message.clone()), problem: Some(condition.into()), ..Self::default() }
    }
}

/// Plans what the operator would do.
pub(super) fn plan(inputs: &Inputs<'_>) -> Projection {
    let spec = &inputs.object.spec;
    let mut state = match inputs.object.remembered() {
        Ok(state) => state,
        Err(why) => return Projection::problem(ConditionUpdate::new(Reason::InternalError, why)),
    };
    let mut intent = intent::intent(inputs.object);
    if intent.deletion.is_some() {
        let note = "it is being deleted, and applying changes nothing about that".to_owned();
        return Projection { not_deployable: Some(note.clone()), notes: vec![note], ..Projection::default() };
    }
    let mut outcome = Projection::default();
    let mut record = inputs.record.map(|record| Observed::of(record, spec));
    if settle(&mut state, record.as_mut()) {
        outcome.notes.push("an operation is in progress at the remote; this plan starts after it".to_owned());
    }
    outcome.waits = proof::missing(inputs.name, spec, &state, inputs.proofs);
    intent.proven = outcome.waits.is_empty();
    // What is held is what would happen otherwise.
    let is_suspended = std::mem::take(&mut intent.suspended);
    let is_known = state.id.is_some();
    let decision = decide(state, &intent, record.as_ref(), inputs.now);
    let mut steps = Vec::new();
    match decision.step {
        Step::Send(first) => match scopes::missing(&[Right::ManageConnectors], inputs.granted, inputs.project) {
            missing if !missing.is_empty() => {
                return Projection::problem(problem::unpermitted(&missing, inputs.project));
            }
            _ => steps = following(first, &intent, record.as_ref()),
        },
        Step::Report(verdict, _) => match rest(inputs, verdict) {
            Ok(note) => outcome.notes.extend(note),
            Err(condition) => return Projection::problem(condition),
        },
        Step::Release => {}
    }
    if !steps.contains(&Action::Publish) && !matches!(decision.step, Step::Report(Outcome::AwaitingProof, _)) {
        outcome.waits.clear();
    } else if !intent.proven {
        steps.retain(|step| *step != Action::Publish);
    } else if spec.publish == Publish::Certified {
        outcome.notes.push("it goes to certification, and becomes public afterwards".to_owned());
    }
    if let (Some(Action::Update), Some(record)) = (steps.first(), inputs.record) {
        outcome.differences = difference::differences(spec, record);
    }
    if is_suspended && !steps.is_empty() {
        let held = reported::ready_condition(Outcome::HeldBySuspend, &spec.key, None, &[]);
        outcome.notes.push(held.message);
        outcome.held = std::mem::take(&mut steps);
    }
    let has_tag = record.as_ref().is_some_and(|record| record.repository_met);
    outcome.moves = steps.contains(&Action::Preview) || (!steps.is_empty() && !has_tag);
    outcome.not_deployable = match spec.previewable {
        _ if steps.contains(&Action::Preview) || has_permission(record.as_ref()) => None,
        false => Some(NOT_REQUESTED.to_owned()),
        true => Some(format!("tag {} may not be deployed as a preview", spec.repository.tag)),
    };
    let adopts = !is_known && decision.state.id.is_some();
    outcome.actions = adopts.then_some(Action::Adopt).into_iter().chain(steps).collect();
    outcome
}

/// Assumes that what is in progress succeeds. Returns whether something is.
fn settle(state: &mut State, record: Option<&mut Observed>) -> bool {
    let call = state.call.take_if(|call| call.open);
    let mut busy = call.is_some();
    if let Some(record) = record {
        if call.is_some_and(|call| call.kind == CallKind::Create) {
            state.id.get_or_insert_with(|| record.id.clone());
        }
        if record.permission == Permission::Pending {
            (busy, record.permission) = (true, Permission::Yes);
        }
        if record.phase == Phase::Processing {
            busy = true;
            (record.phase, record.listed, record.changed) = (Phase::Published, true, !record.met);
        }
    }
    busy
}

/// Decides until there is something to send, or nothing more to do.
fn decide(mut state: State, intent: &Intent, record: Option<&Observed>, mut now: Timestamp) -> Decision {
    let mut memory = Memory::default();
    let mut rounds = 0;
    loop {
        let decision = decide::decide(&Input { state: &state, intent, record, memory: &memory, now });
        rounds += 1;
        match decision.step {
            Step::Report(_, Some(pause)) if rounds < ROUNDS => {
                now = later(now, pause);
                (state, memory) = (decision.state, decision.memory);
            }
            _ => return decision,
        }
    }
}

/// Whether this tag may be deployed as a preview.
fn has_permission(record: Option<&Observed>) -> bool {
    record.is_some_and(|it| it.repository_met && it.permission == Permission::Yes)
}

/// Returns the steps of a tag from this call on.
fn following(first: CallKind, intent: &Intent, record: Option<&Observed>) -> Vec<Action> {
    let publishes = intent.publication.is_some();
    let (first, previews, publishes) = match first {
        CallKind::Create => (Action::Create, intent.previewable, publishes),
        CallKind::Update => (Action::Update, intent.previewable && !has_permission(record), publishes),
        CallKind::Preview => (Action::Preview, false, publishes && !record.is_some_and(Observed::is_published)),
        CallKind::Publish => (Action::Publish, false, false),
        CallKind::Delete => return Vec::new(),
    };
    let previews = previews.then_some(Action::Preview);
    std::iter::once(first).chain(previews).chain(publishes.then_some(Action::Publish)).collect()
}

/// Returns the note about an outcome after which nothing is sent, if any.
///
/// # Errors
/// The condition that the operator would report because a user has to act.
fn rest(inputs: &Inputs<'_>, verdict: Outcome) -> Result<Option<String>, ConditionUpdate> {
    if verdict == Outcome::AwaitingProof {
        return Ok(None);
    }
    let spec = &inputs.object.spec;
    let impossible = inputs.record.map(|record| desired::changes(spec, record).impossible).unwrap_or_default();
    let condition = reported::ready_condition(verdict, &spec.key, inputs.record, &impossible);
    match condition.reason.state() {
        ConditionState::Progressing if verdict == Outcome::Certifying => Ok(Some(condition.message)),
        ConditionState::Ready | ConditionState::Progressing | ConditionState::Paused => Ok(None),
        ConditionState::Waiting | ConditionState::Stalled | ConditionState::Failing => Err(condition),
    }
}

#[cfg(test)]
#[path = "staged_tests.rs"]
mod tests;
