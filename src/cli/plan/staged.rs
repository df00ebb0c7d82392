//! Plans a staged connector: the operator's own decision for the record that is there. Pure; time is an argument.

use std::collections::BTreeMap;
use std::time::Duration;

use clock::later;
use connect_api::model::{ConnectorStaged as Record, ConnectorStagedDraft};
use connect_api::scopes::{self, Right};
use jiff::Timestamp;
use kube::ResourceExt as _;
use serde_json::Value;

use super::difference::{Change, Difference, FIELD};
use super::simulation::{Action, Projection};
use crate::crd::{ConnectorStaged, ConnectorStagedSpec};
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::problem;
use crate::operator::reporting::reason::{ConditionState, Reason};
use crate::operator::staged::decide::{Input, Memory, Step, decide};
use crate::operator::staged::observed::Observed;
use crate::operator::staged::outcome::{self as reported, Outcome};
use crate::operator::staged::proof::{self, Objects};
use crate::operator::staged::state::CallKind;
use crate::operator::staged::{desired, intent};

/// A time after which the operator waits no longer for what its last call did, or whether a record is gone.
const SETTLED: Duration = Duration::from_hours(1);

/// The inputs of the plan.
pub(super) struct Inputs<'a> {
    /// The resource after applying.
    pub(super) object: &'a ConnectorStaged,
    /// The record of the remote.
    pub(super) record: Option<Record>,
    /// The objects that `publishAfter` names, after applying.
    pub(super) proofs: Objects,
    /// Scopes of the token, if its response listed them.
    pub(super) granted: Vec<String>,
    /// Key of the remote project.
    pub(super) project: &'a str,
    /// The current time.
    pub(super) now: Timestamp,
}

/// Plans what the operator would do next.
pub(super) fn plan(inputs: &Inputs<'_>) -> Projection {
    let spec = &inputs.object.spec;
    let state = match inputs.object.remembered() {
        Ok(state) => state,
        Err(why) => return Projection::problem(ConditionUpdate::new(Reason::InternalError, why)),
    };
    let mut intent = intent::intent(inputs.object);
    if intent.deletion.is_some() {
        return Projection::deleted();
    }
    let record = inputs.record.as_ref();
    let seen = record.map(|record| Observed::of(record, spec));
    if state.call.as_ref().is_some_and(|call| call.open) || seen.as_ref().is_some_and(Observed::is_busy) {
        return Projection::in_progress();
    }
    let waits = proof::missing(&inputs.object.name_any(), spec, &state, &inputs.proofs);
    intent.proven = waits.is_empty();
    // What is held is what would happen otherwise.
    let is_suspended = std::mem::take(&mut intent.suspended);
    let is_known = state.id.is_some();
    // What is not in progress stays as it is, so the decision is that of a later time.
    let memory = Memory { absent_since: Some(inputs.now), ..Memory::default() };
    let now = later(inputs.now, SETTLED);
    let decision = decide(&Input { state: &state, intent: &intent, record: seen.as_ref(), memory: &memory, now });
    let mut outcome = Projection::default();
    if let Err(condition) = next(inputs, &decision.step, waits, &mut outcome) {
        return Projection::problem(condition);
    }
    if let (Action::Update, Some(record)) = (outcome.action, record) {
        outcome.differences = differences(spec, record);
    }
    if is_suspended && outcome.action != Action::None {
        let held = reported::ready_condition(Outcome::HeldBySuspend, &spec.key, None, &[]);
        outcome.notes.push(held.message);
        outcome.held = Some(std::mem::take(&mut outcome.action));
    }
    if !is_known && decision.state.id.is_some() {
        if outcome.action == Action::None {
            outcome.action = Action::Adopt;
        } else {
            outcome.notes.push("it is adopted first".to_owned());
        }
    }
    outcome
}

/// Evaluates a step. `waits`: what publishing waits for.
///
/// # Errors
/// The condition that the operator would report because a user has to act.
fn next(inputs: &Inputs<'_>, step: &Step, waits: Vec<String>, outcome: &mut Projection) -> Result<(), ConditionUpdate> {
    let (spec, record) = (&inputs.object.spec, inputs.record.as_ref());
    match *step {
        Step::Send(call) => {
            let missing = scopes::missing(&[Right::ManageConnectors], &inputs.granted, inputs.project);
            if !missing.is_empty() {
                return Err(problem::unpermitted(&missing, inputs.project));
            }
            outcome.action = match call {
                CallKind::Create => Action::Create,
                CallKind::Update => Action::Update,
                CallKind::Preview => Action::Preview,
                CallKind::Publish => Action::Publish,
                CallKind::Delete => Action::None,
            };
        }
        Step::Report(verdict, _) => {
            let impossible = record.map(|record| desired::changes(spec, record).impossible).unwrap_or_default();
            let is_awaited = verdict == Outcome::AwaitingProof;
            let details = if is_awaited { waits } else { impossible };
            let condition = reported::ready_condition(verdict, &spec.key, record, &details);
            match condition.reason.state() {
                ConditionState::Ready | ConditionState::Paused => {}
                ConditionState::Waiting | ConditionState::Stalled | ConditionState::Failing if !is_awaited => {
                    return Err(condition);
                }
                _ => outcome.notes.push(condition.message),
            }
        }
        Step::Release => {}
    }
    Ok(())
}

/// Lists that an update empties. What else the spec leaves out stays as it is.
const LISTS: [&str; 3] = ["integrationTypes", "supportedRegions", "privateProjects"];

/// Returns the fields that an update changes.
fn differences(spec: &ConnectorStagedSpec, record: &Record) -> Vec<Difference> {
    let (mut wanted, seen) = (fields(desired::draft(spec)), fields(desired::shown(record)));
    for list in LISTS {
        wanted.entry(list.to_owned()).or_default();
    }
    let difference = |(field, after): (String, String)| {
        let before = seen.get(&field).cloned().unwrap_or_default();
        let change = if before.is_empty() { Change::Added } else { Change::Changed };
        let [before, after] = [before, after].map(|text| Some(text).filter(|text| !text.is_empty()));
        let key = Some(field).filter(|_| before != after)?;
        Some(Difference { application: None, kind: FIELD, key: Some(key), change, before, after })
    };
    wanted.into_iter().filter_map(difference).collect()
}

/// Returns the texts of a draft by their paths, which have two parts at most.
fn fields(draft: ConnectorStagedDraft) -> BTreeMap<String, String> {
    let draft = serde_json::to_value(desired::normalized(draft)).unwrap_or_default();
    let mut fields = BTreeMap::new();
    for (name, value) in draft.as_object().into_iter().flatten() {
        match value.as_object() {
            Some(members) => fields.extend(members.iter().map(|(it, value)| (format!("{name}.{it}"), text(value)))),
            None => drop(fields.insert(name.clone(), text(value))),
        }
    }
    fields
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(words) => words.iter().map(text).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
#[path = "staged_tests.rs"]
mod tests;
