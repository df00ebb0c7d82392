//! Simulates the operator: runs its own decision table forward while the remote stays as it is. Pure; time is an
//! argument.
//!
//! An operation in progress is assumed to succeed, because everything else follows it. This file decides nothing that
//! the operator decides: `decide`, `registered`, `intent` and `status::ready_condition` are the operator's own code.

mod stage;

use connect_api::scopes;
use jiff::Timestamp;
use serde::Serialize;

use self::stage::Stage;
use super::difference::{Change, Difference, Sides, differences};
use super::stop::Problem;
use crate::crd::ConnectorDeployment;
use crate::names;
use crate::operator::deployment::decide::{CallKind, Decision, Outcome, Step};
use crate::operator::deployment::desired::Desired;
use crate::operator::deployment::intent::{self, Target};
use crate::operator::deployment::observe::{self, RecordRead};
use crate::operator::deployment::persisted::{Observation, Phase};
use crate::operator::deployment::registered::{self, Registered, not_sent};
use crate::operator::deployment::status::{self, DesiredIdentity};
use crate::operator::deployment::value_from;
use crate::operator::reconcile;
use crate::operator::remote::RegistryAnswer;
use crate::operator::reporting::conditions::{self, ConditionUpdate};
use crate::operator::reporting::problem;
use crate::operator::reporting::reason::{ConditionState, Reason};
use crate::operator::values::digest::DigestKey;

/// Note about the secured values of a deployment that is adopted without a change.
pub(super) const UNVERIFIED: &str = "its secured values cannot be read, and stay unchanged";

/// The inputs of the simulation.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    /// The resource before applying.
    pub(super) before: Option<&'a ConnectorDeployment>,
    /// The resource after applying.
    pub(super) after: &'a ConnectorDeployment,
    /// Key, type and region.
    pub(super) wanted: &'a DesiredIdentity,
    /// The target connector.
    pub(super) target: &'a Target,
    /// What the registry knows of the connector.
    pub(super) registered: &'a Registered,
    /// The record that the remote returned.
    pub(super) read: &'a RecordRead,
    /// The values to send, or the condition if they are incomplete.
    pub(super) desired: &'a Result<Desired, ConditionUpdate>,
    /// The values of the resource and the objects that it names before applying; `None` if they cannot be determined.
    pub(super) earlier: Option<&'a Desired>,
    /// A random key, to compare values without exposing them.
    pub(super) key: &'a DigestKey,
    /// Scopes of the token, if its response listed them.
    pub(super) granted: &'a [String],
    /// The current time.
    pub(super) now: Timestamp,
}

/// What would happen at the remote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Action {
    /// Nothing happens.
    #[default]
    None,
    /// The deployment is created.
    Create,
    /// The deployment is redeployed.
    Redeploy,
    /// The deployment is deleted and recreated.
    Recreate,
    /// An existing deployment is adopted without changes.
    Adopt,
    /// An existing deployment is adopted and redeployed.
    AdoptAndRedeploy,
    /// The deployment is redeployed if a value changed that could not be compared.
    Unknown,
    /// The staged connector is updated.
    Update,
    /// Permission for a preview of the staged connector is requested.
    Preview,
    /// The staged connector is published.
    Publish,
    /// Not known; a note has the reason.
    NotKnown,
}

/// Version of the connector before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Versions {
    pub(super) before: i64,
    pub(super) after: i64,
}

/// The result of the simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Projection {
    /// What would happen at the remote.
    pub(super) action: Action,
    /// What would happen once `suspend` is false; `None`: nothing is held.
    pub(super) held: Option<Action>,
    /// The condition that the operator would report because a user has to act; then nothing would happen.
    pub(super) problem: Option<Problem>,
    /// Version of the connector, if it would change.
    pub(super) connector: Option<Versions>,
    /// Values that would change.
    pub(super) differences: Vec<Difference>,
    /// Further information for the user.
    pub(super) notes: Vec<String>,
}

impl Projection {
    /// Returns a result without an action, because a user has to act.
    pub(super) fn problem(condition: ConditionUpdate) -> Self {
        Self { problem: Some(condition.into()), ..Self::default() }
    }

    /// Returns a result without an action, because the resource is being deleted.
    pub(super) fn deleted() -> Self {
        let note = "it is being deleted, and applying changes nothing about that".to_owned();
        Self { notes: vec![note], ..Self::default() }
    }

    /// Returns the plan for a resource of which it is not known what would happen. `why`: the reason.
    pub(super) fn not_known(why: impl Into<String>) -> Self {
        Self { action: Action::NotKnown, notes: vec![why.into()], ..Self::default() }
    }

    /// Returns the plan while an operation is in progress, whose end decides what follows.
    pub(super) fn in_progress() -> Self {
        Self::not_known("an operation is in progress at the remote: plan again after it")
    }

    /// Returns whether what a deployment of this staged connector deploys would change.
    pub(super) fn moves(&self) -> bool {
        matches!(self.action, Action::Create | Action::Update | Action::Preview)
    }

    /// Returns whether values are sent, now or once nothing holds them.
    pub(super) fn is_sent(&self) -> bool {
        !matches!(self.held.unwrap_or(self.action), Action::None | Action::Adopt | Action::NotKnown)
    }
}

/// Simulates what the operator would do.
pub(super) fn simulate(inputs: &Inputs<'_>) -> Projection {
    let ignored = intent::ignored(inputs.after);
    let wanted = inputs.desired.as_ref().ok().map(|desired| desired.wanted(inputs.key, &ignored));
    let mut intent = intent::intent(inputs.after, inputs.wanted, Some(inputs.target), inputs.registered.latest());
    if intent.deletion.is_some() {
        return Projection::deleted();
    }
    let stage = Stage::of(inputs, wanted.as_ref(), observe::observation(inputs.read, &ignored));
    if stage.is_busy() {
        return Projection::in_progress();
    }
    let mut outcome = Projection::default();
    // What is held is what would happen otherwise.
    let is_suspended = std::mem::take(&mut intent.suspended);
    let decision = stage.play(&intent, wanted.as_ref(), inputs.key, inputs.now);
    if let Ok(desired) = inputs.desired {
        outcome.notes.extend(desired.not_sent_note());
        outcome.notes.extend(value_from::invisible_note(&desired.invisible()));
    }
    let problem = match &decision.step {
        Step::Send(call) => foresee(inputs, call.kind, &stage, &mut outcome),
        Step::NoOp | Step::RemoveFinalizer => rest(inputs, &decision, &stage, &mut outcome),
    };
    outcome.problem = problem.err().map(Into::into);
    if is_suspended && outcome.problem.is_none() && outcome.is_sent() {
        let held = status::ready_condition(&Outcome::HeldBySuspend, &inputs.wanted.key, None, &[]);
        outcome.notes.push(held.message);
        outcome.held = Some(std::mem::take(&mut outcome.action));
    }
    if let (Ok(desired), None) = (inputs.desired, &outcome.problem) {
        outcome.notes.extend(known_later(desired));
    }
    outcome
}

/// Notes values that depend on the URL of the deployment itself.
fn known_later(desired: &Desired) -> Option<String> {
    let names: Vec<String> = desired.awaited().map(|value| value.item.to_string()).collect();
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!(
            "known after the deployment, and sent by one more redeploy: {names}; until then the placeholder is sent"
        )
    })
}

/// Checks a call that the table would send, as the operator does before it sends one.
///
/// # Errors
/// The condition of a call that would not be sent.
fn check(inputs: &Inputs<'_>, call: CallKind, desired: &Desired) -> Result<(), ConditionUpdate> {
    if let (Some(Err(why)), CallKind::Create) = (&inputs.target.staged, call) {
        return Err(intent::not_deployable(inputs.after, why));
    }
    let project = &inputs.wanted.remote.project_key;
    let missing = scopes::missing(&inputs.registered.rights(call), inputs.granted, project);
    if !missing.is_empty() {
        return Err(problem::unpermitted(&missing, project));
    }
    let record = inputs.read.record.as_deref();
    let (problems, _) = inputs.registered.problems(inputs.after, desired, &inputs.wanted.region, record, call);
    if !problems.is_empty() {
        return Err(ConditionUpdate::new(Reason::ConfigurationInvalid, not_sent(&problems)));
    }
    match &inputs.registered.registry_entry {
        Some(entry) if call.deploys_latest() && !entry.declares() => {
            let is_absent = entry.found == RegistryAnswer::Absent;
            Err(registered::undeclared(&inputs.target.name.selector, is_absent, project))
        }
        _ => Ok(()),
    }
}

/// Evaluates a call that the table would send: the action and its differences.
///
/// # Errors
/// The condition of a call that would not be sent.
fn foresee(
    inputs: &Inputs<'_>,
    call: CallKind,
    stage: &Stage,
    outcome: &mut Projection,
) -> Result<(), ConditionUpdate> {
    let Ok(desired) = inputs.desired else { return Ok(()) };
    check(inputs, call, desired)?;
    let mut is_running = false;
    match call {
        CallKind::Create => outcome.action = Action::Create,
        CallKind::Redeploy | CallKind::Move => {
            is_running = true;
            let adopts = stage.persisted.id.is_none();
            outcome.action = if adopts { Action::AdoptAndRedeploy } else { Action::Redeploy };
            let running = inputs.read.record.as_ref().map(|record| record.connector.version);
            let versions = running.zip(inputs.registered.latest()).filter(|_| call == CallKind::Move);
            outcome.connector = versions.map(|(before, after)| Versions { before, after });
            let asked = reconcile::request(inputs.after, names::REDEPLOY_REQUESTED_AT);
            if asked.is_some() && asked != stage.persisted.handled_redeploy && !adopts {
                outcome.notes.push(format!("the annotation {} requests a redeploy", names::REDEPLOY_REQUESTED_AT));
            }
        }
        CallKind::Recreate => {
            outcome.action = Action::Recreate;
            outcome.notes.push("it is deleted and recreated without the removed values: its URLs change".to_owned());
        }
        CallKind::Undeploy => return Ok(()),
    }
    if inputs.registered.registry_entry.as_ref().is_some_and(|it| it.found == RegistryAnswer::Unreadable) {
        outcome.notes.push("the registry cannot be read, so names and required values were not checked".to_owned());
    }
    outcome.differences = compare(inputs, is_running, stage, desired);
    if is_running && outcome.differences.is_empty() && outcome.connector.is_none() && outcome.notes.is_empty() {
        outcome.notes.push("the values that were applied last are not known, so all values are sent again".to_owned());
    }
    let reset = outcome.differences.iter().map(Difference::item).filter(|item| desired.reset.contains(item));
    let reset: Vec<String> = reset.map(|item| item.to_string()).collect();
    if !reset.is_empty() {
        let names = reset.join(", ");
        outcome.notes.push(format!("no longer named, and set to the default of the connector: {names}"));
    }
    Ok(())
}

/// Compares the values. `is_running`: with those of the deployment, which a redeploy changes.
fn compare(inputs: &Inputs<'_>, is_running: bool, stage: &Stage, desired: &Desired) -> Vec<Difference> {
    let seen = match &stage.observation {
        Observation::Present(seen) if is_running => Some(seen),
        _ => None,
    };
    let declared = inputs.registered.declarations(inputs.after, inputs.read.record.as_deref());
    let (applied, declared) = (stage.applied.as_ref(), declared.as_ref());
    differences(&Sides { seen, applied, desired: &desired.values, declared, key: inputs.key })
}

/// Evaluates an outcome without a call: the adoption, if any.
///
/// # Errors
/// The condition that the operator would report because a user has to act.
fn rest(
    inputs: &Inputs<'_>,
    decision: &Decision,
    stage: &Stage,
    outcome: &mut Projection,
) -> Result<(), ConditionUpdate> {
    let condition = match (&decision.outcome, inputs.desired) {
        (Outcome::ValuesUnknown, Err(condition)) => condition.clone(),
        _ => reported(inputs, decision),
    };
    match condition.reason.state() {
        ConditionState::Ready | ConditionState::Progressing => {}
        ConditionState::Paused => outcome.notes.push(condition.message),
        ConditionState::Waiting | ConditionState::Stalled | ConditionState::Failing => return Err(condition),
    }
    let Outcome::Settled { drifted, .. } = decision.outcome else { return Ok(()) };
    if stage.persisted.id.is_none() {
        outcome.action = Action::Adopt;
        outcome.notes.extend(decision.persisted.unverified.then(|| UNVERIFIED.to_owned()));
        return Ok(());
    }
    if drifted {
        outcome.notes.push("visible values drifted at the remote; see spec.driftPolicy".to_owned());
    }
    if let Ok(desired) = inputs.desired {
        outcome.differences = compare(inputs, true, stage, desired);
        if stage.uncertain {
            outcome.action = Action::Unknown;
        } else {
            // The operator sends nothing for a value that is no longer named.
            let before = stage.persisted.applied.as_ref();
            let known = |it: &Difference| before.is_some_and(|applied| applied.retained.has(&it.item()));
            outcome.differences.retain(|it| it.change == Change::Retained && !known(it));
        }
    }
    Ok(())
}

/// Returns the condition of an outcome without a call. The report of the remote about an operation that has ended may quote
/// values, so this takes the message from the status, which the operator has masked, or a message without details.
fn reported(inputs: &Inputs<'_>, decision: &Decision) -> ConditionUpdate {
    let record = inputs.read.record.as_deref();
    let condition = status::ready_condition(&decision.outcome, &inputs.wanted.key, record, &[]);
    let phase = match decision.outcome {
        Outcome::Settled { phase, .. } | Outcome::Observed(phase) => phase,
        Outcome::NotApplied { .. } => Phase::Deployed,
        _ => return condition,
    };
    let condition = status::of_redeploy(condition, &decision.persisted);
    let before = inputs.after.status.as_ref().filter(|status| {
        status.conditions.iter().any(|it| it.type_ == names::READY && it.reason == condition.reason.as_str())
    });
    match (phase, before.and_then(|status| conditions::ready_message(&status.conditions))) {
        (_, Some(message)) => ConditionUpdate::new(condition.reason, message),
        (Phase::Failed | Phase::UndeployFailed, None) => ConditionUpdate::new(
            condition.reason,
            "It is already in this state at the remote, and stays so until a value changes or a redeploy is requested",
        ),
        _ => condition,
    }
}

#[cfg(test)]
#[path = "simulation_tests.rs"]
mod tests;
