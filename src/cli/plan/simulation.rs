//! Simulates the operator: runs its own decision table forward while the remote stays as it is. Pure; time is an
//! argument.
//!
//! An operation in progress is assumed to succeed, because everything else follows it. This file decides nothing that
//! the operator decides: `decide`, `registered`, `intent` and `status::ready_condition` are the operator's own code.

mod table;

use connect_api::scopes;
use jiff::Timestamp;
use serde::Serialize;

use super::difference::{Change, Difference, differences};
use crate::crd::ConnectorDeployment;
use crate::names;
use crate::operator::deployment::decide::{CallKind, Decision, Outcome, Step};
use crate::operator::deployment::desired::Desired;
use crate::operator::deployment::intent::{self, Target};
use crate::operator::deployment::observe::{self, RecordRead, of_record};
use crate::operator::deployment::persisted::{Observation, PersistedState};
use crate::operator::deployment::registered::{self, Registered, not_sent};
use crate::operator::deployment::status::{self, DesiredIdentity};
use crate::operator::reconcile;
use crate::operator::remote::{RegistryAnswer, RegistryEntry};
use crate::operator::reporting::conditions::{self, ConditionUpdate};
use crate::operator::reporting::problem;
use crate::operator::reporting::reason::{ConditionState, Reason};
use crate::operator::reporting::service_report;
use crate::operator::values::Values;
use crate::operator::values::digest::DigestKey;
use crate::operator::values::names::{Item, listed};

/// Note about the secured values of a deployment that is adopted without a change.
pub(super) const UNVERIFIED: &str = "its secured values cannot be read, and stay unchanged";

/// The inputs of the simulation.
pub(super) struct Inputs<'a> {
    /// The resource after applying.
    pub(super) after: &'a ConnectorDeployment,
    /// Key, type and region.
    pub(super) wanted: DesiredIdentity,
    /// The target connector.
    pub(super) target: Target,
    /// What the registry knows of the connector.
    pub(super) registered: Registered,
    /// The record that the remote returned.
    pub(super) read: RecordRead,
    /// The values to send, or the condition if they are incomplete.
    pub(super) desired: Result<Desired, ConditionUpdate>,
    /// What the operator remembers.
    pub(super) persisted: PersistedState,
    /// The values that were applied last, if they are known.
    pub(super) applied: Option<Values>,
    /// A random key, to compare values without exposing them.
    pub(super) key: &'a DigestKey,
    /// Scopes of the token, if its response listed them.
    pub(super) granted: Vec<String>,
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

/// What a user has to correct first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Problem {
    /// The reason of the condition that the operator would report.
    pub(super) reason: &'static str,
    /// Its message.
    pub(super) message: String,
}

impl From<ConditionUpdate> for Problem {
    fn from(condition: ConditionUpdate) -> Self {
        Self { reason: condition.reason.as_str(), message: condition.message }
    }
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

impl Inputs<'_> {
    /// Simulates what the operator would do.
    pub(super) fn simulate(&self) -> Projection {
        let wanted = self.desired.as_ref().ok().map(|desired| desired.wanted(self.key));
        let mut intent = intent::intent(self.after, &self.wanted, Some(&self.target), self.registered.latest());
        if intent.deletion.is_some() {
            return Projection::deleted();
        }
        let observation = observe::observation(&self.read);
        let is_busy = matches!(&observation, Observation::Present(seen) if seen.phase.is_busy());
        if is_busy || self.persisted.operation.is_some() {
            return Projection::in_progress();
        }
        let mut outcome = Projection::default();
        // What is held is what would happen otherwise.
        let is_suspended = std::mem::take(&mut intent.suspended);
        let decision = self.play(&intent, wanted.as_ref(), &observation);
        if let Ok(desired) = &self.desired {
            outcome.notes.extend(desired.not_sent_note());
            outcome.notes.extend(desired.invisible_note());
        }
        let problem = match &decision.step {
            Step::Send(call) => self.foresee(call.kind, &mut outcome),
            Step::NoOp | Step::RemoveFinalizer => self.rest(&decision, &mut outcome),
        };
        outcome.problem = problem.err().map(Into::into);
        if is_suspended && outcome.problem.is_none() && outcome.is_sent() {
            let held = status::ready_condition(&Outcome::HeldBySuspend, &self.wanted.key, None, &[]);
            outcome.notes.push(held.message);
            outcome.held = Some(std::mem::take(&mut outcome.action));
        }
        let later = self.desired.as_ref().map(|desired| listed(desired.awaited().map(|value| &value.item)));
        if let (Ok(names), None) = (later, &outcome.problem)
            && !names.is_empty()
        {
            outcome.notes.push(format!(
                "known after the deployment, and sent by one more redeploy: {names}; until then the placeholder is sent"
            ));
        }
        outcome
    }

    /// Checks a call that the table would send, as the operator does before it sends one.
    ///
    /// # Errors
    /// The condition of a call that would not be sent.
    fn check(&self, call: CallKind, desired: &Desired) -> Result<(), ConditionUpdate> {
        if let (Some(Err(why)), CallKind::Create) = (&self.target.staged, call) {
            return Err(intent::not_deployable(self.after, why));
        }
        let project = &self.wanted.remote.project_key;
        let missing = scopes::missing(&self.registered.rights(call), &self.granted, project);
        if !missing.is_empty() {
            return Err(problem::unpermitted(&missing, project));
        }
        let record = self.read.record.as_deref();
        let (problems, _) = self.registered.problems(self.after, desired, &self.wanted.region, record, call);
        if !problems.is_empty() {
            return Err(ConditionUpdate::new(Reason::ConfigurationInvalid, not_sent(&problems)));
        }
        let declares = self.registered.registry_entry.as_ref().is_none_or(RegistryEntry::declares);
        if call.deploys_latest() && !declares {
            return Err(registered::undeclared(&self.target.name.selector, self.registered.is_absent(), project));
        }
        Ok(())
    }

    /// Evaluates a call that the table would send: the action and its differences.
    ///
    /// # Errors
    /// The condition of a call that would not be sent.
    fn foresee(&self, call: CallKind, outcome: &mut Projection) -> Result<(), ConditionUpdate> {
        let Ok(desired) = &self.desired else { return Ok(()) };
        self.check(call, desired)?;
        let is_running = matches!(call, CallKind::Redeploy | CallKind::Move);
        let adopts = is_running && self.persisted.id.is_none();
        outcome.action = match call {
            CallKind::Create => Action::Create,
            CallKind::Redeploy | CallKind::Move if adopts => Action::AdoptAndRedeploy,
            CallKind::Redeploy | CallKind::Move => Action::Redeploy,
            CallKind::Recreate => Action::Recreate,
            // Only a deletion undeploys.
            CallKind::Undeploy => return Ok(()),
        };
        if call == CallKind::Move {
            let running = self.read.record.as_ref().map(|record| record.connector.version);
            let versions = running.zip(self.registered.latest());
            outcome.connector = versions.map(|(before, after)| Versions { before, after });
        }
        let asked = reconcile::request(self.after, names::REDEPLOY_REQUESTED_AT);
        if is_running && !adopts && asked.is_some() && asked != self.persisted.handled_redeploy {
            outcome.notes.push(format!("the annotation {} requests a redeploy", names::REDEPLOY_REQUESTED_AT));
        }
        if call == CallKind::Recreate {
            outcome.notes.push("it is deleted and recreated without the removed values: its URLs change".to_owned());
        }
        if self.registered.registry_entry.as_ref().is_some_and(|it| it.found == RegistryAnswer::Unreadable) {
            outcome.notes.push("the registry cannot be read, so names and required values were not checked".to_owned());
        }
        outcome.differences = self.compare(is_running, desired);
        if is_running && outcome.differences.is_empty() && outcome.connector.is_none() && outcome.notes.is_empty() {
            outcome
                .notes
                .push("the values that were applied last are not known, so all values are sent again".to_owned());
        }
        let is_shown = |item: &&Item| outcome.differences.iter().any(|it| it.is_of(item));
        let reset = listed(desired.reset.iter().filter(is_shown));
        if !reset.is_empty() {
            outcome.notes.push(format!("no longer named, and set to the default of the connector: {reset}"));
        }
        Ok(())
    }

    /// Compares the values. `is_running`: with those of the deployment, which a redeploy changes.
    fn compare(&self, is_running: bool, desired: &Desired) -> Vec<Difference> {
        let record = self.read.record.as_deref();
        let seen = record.filter(|_| is_running).map(of_record);
        let declared = self.registered.declarations(self.after, record);
        differences(seen.as_ref(), self.applied.as_ref(), &desired.values, declared.as_ref(), self.key)
    }

    /// Evaluates an outcome without a call: the adoption, if any.
    ///
    /// # Errors
    /// The condition that the operator would report because a user has to act.
    fn rest(&self, decision: &Decision, outcome: &mut Projection) -> Result<(), ConditionUpdate> {
        let condition = match (&decision.outcome, &self.desired) {
            (Outcome::ValuesUnknown, Err(condition)) => condition.clone(),
            _ => self.reported(decision),
        };
        match condition.reason.state() {
            ConditionState::Ready | ConditionState::Progressing => {}
            ConditionState::Paused => outcome.notes.push(condition.message),
            ConditionState::Waiting | ConditionState::Stalled | ConditionState::Failing => return Err(condition),
        }
        let Outcome::Settled { drifted, .. } = decision.outcome else { return Ok(()) };
        if self.persisted.id.is_none() {
            outcome.action = Action::Adopt;
            outcome.notes.extend(decision.persisted.unverified.then(|| UNVERIFIED.to_owned()));
            return Ok(());
        }
        if drifted {
            outcome.notes.push("visible values drifted at the remote; see spec.driftPolicy".to_owned());
        }
        if let Ok(desired) = &self.desired {
            outcome.differences = self.compare(true, desired);
            let has_sent = self.persisted.applied.as_ref().is_some_and(|applied| applied.digest.is_some());
            if has_sent && self.applied.is_none() && !desired.values.secured.is_empty() {
                outcome.action = Action::Unknown;
            } else {
                // The operator sends nothing for a value that is no longer named.
                let before = self.persisted.applied.as_ref();
                let known = |it: &Difference| before.is_some_and(|all| all.retained.iter().any(|item| it.is_of(item)));
                outcome.differences.retain(|it| it.change == Change::Retained && !known(it));
            }
        }
        Ok(())
    }

    /// Returns the condition of an outcome without a call. The report of the remote may quote values, so its texts are left out,
    /// except for those in the status, which the operator has masked.
    fn reported(&self, decision: &Decision) -> ConditionUpdate {
        let record = self.read.record.as_deref();
        let report = record.map(|record| service_report::newest(record.report(), None)).unwrap_or_default();
        let condition = status::ready_condition(&decision.outcome, &self.wanted.key, record, &report);
        let condition = status::of_redeploy(condition, &decision.persisted);
        let describes =
            matches!(decision.outcome, Outcome::Settled { .. } | Outcome::Observed(_) | Outcome::NotApplied { .. });
        let shown = self.after.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let is_same = describes && conditions::ready_reason(shown) == Some(condition.reason.as_str());
        match conditions::ready_message(shown).filter(|_| is_same) {
            Some(message) => ConditionUpdate::new(condition.reason, message),
            None => condition,
        }
    }
}

#[cfg(test)]
#[path = "simulation_tests.rs"]
mod tests;
