//! Simulates the operator: runs its own decision table forward while the remote stays as it is. Pure; time is an
//! argument.
//!
//! An operation in progress is assumed to succeed, because everything else follows it. This file decides nothing that
//! the operator decides: `decide`, `registered`, `intent` and `status::ready_condition` are the operator's own code.

mod stage;

use connect_api::model::Deployment;
use connect_api::scopes;
use jiff::Timestamp;

use self::stage::Stage;
use super::difference::{Change, Difference, Sides, differences};
use crate::controllers::connector_deployment::decide::{CallKind, Decision, Outcome, Step};
use crate::controllers::connector_deployment::desired::Desired;
use crate::controllers::connector_deployment::intent::{self, Target};
use crate::controllers::connector_deployment::observe::{self, RecordRead};
use crate::controllers::connector_deployment::persisted::{PersistedState, Phase};
use crate::controllers::connector_deployment::registered::{self, Registered, not_sent};
use crate::controllers::connector_deployment::status::{self, DesiredIdentity};
use crate::controllers::connector_deployment::value_from;
use crate::controllers::reconcile;
use crate::controllers::remote::RegistryAnswer;
use crate::controllers::reporting::conditions::{self, ConditionUpdate};
use crate::controllers::reporting::problem;
use crate::controllers::reporting::reason::{ConditionState, Reason};
use crate::controllers::values::digest::DigestKey;
use crate::crd::ConnectorDeployment;
use crate::names;

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
    /// The operator's digest key, if it could be read.
    pub(super) key: Option<&'a DigestKey>,
    /// A random key of this process.
    pub(super) spare: &'a DigestKey,
    /// Scopes of the token, if its response listed them.
    pub(super) granted: &'a [String],
    /// The current time.
    pub(super) now: Timestamp,
}

/// What would happen at the remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Action {
    /// Nothing happens.
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
    /// Not known, because the remote was not asked.
    NotAsked,
}

/// The result of the simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Projection {
    /// What would happen at the remote.
    pub(super) action: Action,
    /// What would happen once `suspend` is false; `None`: nothing is held.
    pub(super) held: Option<Action>,
    /// The condition that the operator would report because a user has to act; then nothing would happen.
    pub(super) problem: Option<ConditionUpdate>,
    /// Version of the connector before and after, if it would change.
    pub(super) connector: Option<(i64, i64)>,
    /// Values that would change.
    pub(super) differences: Vec<Difference>,
    /// Keys of whole objects that are not sent, because the connector does not declare them.
    pub(super) undeclared: Vec<String>,
    /// Further information for the user.
    pub(super) notes: Vec<String>,
}

impl Projection {
    /// Returns a result without an action, because a user has to act.
    pub(super) fn problem(condition: ConditionUpdate) -> Self {
        Self { problem: Some(condition), ..Self::nothing() }
    }

    /// Returns whether values are sent, now or once nothing holds them.
    pub(super) fn is_sent(&self) -> bool {
        let sends = |action| !matches!(action, Action::None | Action::Adopt | Action::NotAsked);
        sends(self.action) || self.held.is_some_and(sends)
    }

    pub(super) fn nothing() -> Self {
        Self {
            action: Action::None,
            held: None,
            problem: None,
            connector: None,
            differences: Vec::new(),
            undeclared: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// Simulates what the operator would do.
pub(super) fn simulate(inputs: &Inputs<'_>) -> Projection {
    let ignored = intent::ignored(inputs.after);
    let key = inputs.key.unwrap_or(inputs.spare);
    let wanted = inputs.desired.as_ref().ok().map(|desired| desired.wanted(key, ignored.clone()));
    let intent = intent::intent(inputs.after, inputs.wanted, Some(inputs.target), inputs.registered.latest());
    if intent.deletion.is_some() {
        let note = "it is being deleted, and applying changes nothing about that".to_owned();
        return Projection { notes: vec![note], ..Projection::nothing() };
    }
    let mut stage = Stage::of(inputs, wanted.as_ref(), observe::observation(inputs.read, &ignored));
    let mut outcome = Projection { notes: std::mem::take(&mut stage.notes), ..Projection::nothing() };
    if stage.is_being_created(wanted.as_ref()) {
        return outcome;
    }
    let decision = stage.play(&intent, wanted.as_ref(), key, inputs.now);
    if let Ok(desired) = inputs.desired {
        outcome.undeclared.clone_from(&desired.undeclared);
        outcome.notes.extend(value_from::invisible_note(&desired.invisible));
    }
    match &decision.step {
        Step::Send(call) => foresee(inputs, &call.kind, &stage, &mut outcome),
        Step::NoOp | Step::RemoveFinalizer => rest(inputs, &decision, &stage, &mut outcome),
    }
    if decision.outcome == Outcome::HeldBySuspend {
        hold(inputs, &mut outcome);
    } else if let (Ok(desired), None) = (inputs.desired, &outcome.problem) {
        outcome.notes.extend(known_later(desired));
    }
    outcome
}

/// Adds what would happen once the resource is not suspended any more.
fn hold(inputs: &Inputs<'_>, outcome: &mut Projection) {
    let mut after = inputs.after.clone();
    after.spec.suspend = false;
    let resumed = simulate(&Inputs { after: &after, ..*inputs });
    if let Some(condition) = &resumed.problem {
        outcome.notes.push(format!("once it is false: {}: {}", condition.reason, condition.message));
    } else {
        outcome.held = Some(resumed.action);
    }
    let Projection { action: _, held: _, problem: _, connector, differences, undeclared, notes } = resumed;
    (outcome.connector, outcome.differences, outcome.undeclared) = (connector, differences, undeclared);
    let new: Vec<_> = notes.into_iter().filter(|note| !outcome.notes.contains(note)).collect();
    outcome.notes.extend(new);
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

/// Evaluates a call that the table would send: reports the problem that prevents it, or the action and its differences.
fn foresee(inputs: &Inputs<'_>, call: &CallKind, stage: &Stage, outcome: &mut Projection) {
    let Ok(desired) = inputs.desired else { return };
    if let (Some(Err(why)), CallKind::Create { .. }) = (&inputs.target.staged, call) {
        outcome.problem = Some(intent::not_deployable(inputs.after, why));
        return;
    }
    let project = &inputs.wanted.remote.project_key;
    let missing = scopes::missing(&inputs.registered.rights(call), inputs.granted, project);
    if !missing.is_empty() {
        outcome.problem = Some(problem::unpermitted(&missing, project));
        return;
    }
    let record = inputs.read.record.as_deref();
    let (problems, _) = inputs.registered.problems(inputs.after, desired, &inputs.wanted.region, record, call);
    if !problems.is_empty() {
        outcome.problem = Some(ConditionUpdate::new(Reason::ConfigurationInvalid, not_sent(&problems)));
        return;
    }
    let found = inputs.registered.registry_entry.as_ref().map(|registry_entry| &registry_entry.found);
    let declared = inputs.registered.offering().is_some_and(|offering| offering.applications.is_some());
    if let Some(found) = found.filter(|_| registered::needs_declarations(call) && !declared) {
        outcome.problem =
            Some(registered::undeclared(&inputs.target.name.selector, *found == RegistryAnswer::Absent, project));
        return;
    }
    let running = match call {
        CallKind::Create { .. } => {
            outcome.action = Action::Create;
            None
        }
        CallKind::Redeploy { update_connector, .. } => {
            let adopts = stage.persisted.id.is_none();
            outcome.action = if adopts { Action::AdoptAndRedeploy } else { Action::Redeploy };
            let running = record.map(|record| record.connector.version);
            outcome.connector = running.zip(inputs.registered.latest()).filter(|_| *update_connector);
            let asked = reconcile::request(inputs.after, names::REDEPLOY_REQUESTED_AT);
            if asked.is_some() && asked != stage.persisted.handled_redeploy && !adopts {
                outcome.notes.push(format!("the annotation {} requests a redeploy", names::REDEPLOY_REQUESTED_AT));
            }
            record
        }
        CallKind::Recreate { .. } => {
            outcome.action = Action::Recreate;
            outcome.notes.push("it is deleted and recreated without the removed values: its URLs change".to_owned());
            None
        }
        CallKind::Undeploy { .. } => return,
    };
    if found == Some(&RegistryAnswer::Unreadable) {
        outcome.notes.push("the registry cannot be read, so names and required values were not checked".to_owned());
    }
    outcome.differences = compare(inputs, running, stage, desired);
    let reset = outcome.differences.iter().map(Difference::item).filter(|item| desired.reset.contains(item));
    let reset: Vec<String> = reset.map(|item| item.to_string()).collect();
    let silent = outcome.differences.is_empty() && outcome.connector.is_none() && outcome.notes.is_empty();
    if running.is_some() && silent {
        outcome.notes.push("the values that were applied last are not known, so all values are sent again".to_owned());
    }
    if !reset.is_empty() {
        let names = reset.join(", ");
        outcome.notes.push(format!("no longer named, and set to the default of the connector: {names}"));
    }
}

fn compare(inputs: &Inputs<'_>, record: Option<&Deployment>, stage: &Stage, desired: &Desired) -> Vec<Difference> {
    let offering = inputs.registered.offering();
    let connector = record.map(|record| &record.connector);
    let applications = connector
        .and_then(|connector| connector.configurations.as_deref())
        .or_else(|| offering.and_then(|offering| offering.applications.as_deref()));
    let global = connector
        .and_then(|connector| connector.global_configuration.as_ref())
        .or_else(|| offering.and_then(|offering| offering.global.as_ref()));
    let applied = stage.applied.as_ref();
    differences(&Sides { record, applied, desired: &desired.values, applications, global, key: inputs.spare })
}

/// Evaluates an outcome without a call: reports the problem or the adoption, if any.
fn rest(inputs: &Inputs<'_>, decision: &Decision, stage: &Stage, outcome: &mut Projection) {
    let record = inputs.read.record.as_deref();
    let condition = match (&decision.outcome, inputs.desired) {
        (Outcome::ValuesUnknown, Err(condition)) => condition.clone(),
        (Outcome::Settled { phase, .. } | Outcome::Observed(phase), _) => {
            settled(inputs, &decision.persisted, *phase, decision.outcome)
        }
        (Outcome::NotApplied { .. }, _) => settled(inputs, &decision.persisted, Phase::Deployed, decision.outcome),
        (verdict, _) => status::ready_condition(verdict, &inputs.wanted.key, record, &[]),
    };
    match condition.reason.state() {
        ConditionState::Ready | ConditionState::Progressing => {}
        ConditionState::Paused => outcome.notes.push(condition.message),
        ConditionState::Waiting | ConditionState::Stalled | ConditionState::Failing => {
            outcome.problem = Some(condition);
            return;
        }
    }
    match decision.outcome {
        Outcome::Settled { .. } if stage.persisted.id.is_none() => {
            outcome.action = Action::Adopt;
            if decision.persisted.unverified {
                outcome.notes.push(UNVERIFIED.to_owned());
            }
        }
        Outcome::Settled { drifted, .. } => {
            outcome.differences = newly_retained(inputs, stage);
            if drifted {
                outcome.notes.push("visible values drifted at the remote; see spec.drift.policy".to_owned());
            }
            if stage.uncertain
                && let Ok(desired) = inputs.desired
            {
                outcome.action = Action::Unknown;
                outcome.differences = compare(inputs, record, stage, desired);
            }
        }
        _ => {}
    }
}

/// Returns values that are no longer named and stay at the remote, for which the operator sends nothing.
fn newly_retained(inputs: &Inputs<'_>, stage: &Stage) -> Vec<Difference> {
    let (Ok(desired), Some(record)) = (inputs.desired, inputs.read.record.as_deref()) else { return Vec::new() };
    let before = stage.persisted.applied.as_ref();
    let known = |it: &Difference| before.is_some_and(|applied| applied.retained.has(&it.item()));
    let mut differences = compare(inputs, Some(record), stage, desired);
    differences.retain(|it| it.change == Change::Retained && !known(it));
    differences
}

/// Returns the condition of an operation that has ended. The report of the remote may quote values, so this takes the
/// message from the status, which the operator has masked, or a message without details.
fn settled(inputs: &Inputs<'_>, persisted: &PersistedState, phase: Phase, verdict: Outcome) -> ConditionUpdate {
    let condition = status::ready_condition(&verdict, &inputs.wanted.key, inputs.read.record.as_deref(), &[]);
    let condition = status::of_redeploy(condition, persisted);
    let reported = inputs.after.status.as_ref().filter(|status| {
        status.conditions.iter().any(|it| it.type_ == names::READY && it.reason == condition.reason.as_str())
    });
    match (phase, reported.and_then(|status| conditions::ready_message(&status.conditions)).map(str::to_owned)) {
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
