//! Plans a staged connector: the operator's own decision for the record that is there. Pure; time is an argument.

use std::collections::BTreeMap;

use clock::later;
use connect_api::model::ConnectorStaged as Record;
use connect_api::scopes::{self, Right};
use jiff::Timestamp;
use serde_json::Value;

use super::difference::{Change, Difference, Kind};
use super::simulation::{Action, Projection};
use crate::crd::{ConnectorStaged, ConnectorStagedSpec};
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::problem;
use crate::operator::reporting::reason::{ConditionState, Reason};
use crate::operator::staged::decide::{self, Decision, Input, Memory, Step};
use crate::operator::staged::desired;
use crate::operator::staged::intent::{self, Intent};
use crate::operator::staged::observed::Observed;
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
    let record = inputs.record.map(|record| Observed::of(record, spec));
    if state.call.as_ref().is_some_and(|call| call.open) || record.as_ref().is_some_and(Observed::is_busy) {
        return Projection::in_progress();
    }
    let waits = proof::missing(inputs.name, spec, &state, inputs.proofs);
    intent.proven = waits.is_empty();
    // What is held is what would happen otherwise.
    let is_suspended = std::mem::take(&mut intent.suspended);
    let is_known = state.id.is_some();
    let decision = decide(state, &intent, record.as_ref(), inputs.now);
    let mut outcome = Projection::default();
    match decision.step {
        Step::Send(call) => {
            let missing = scopes::missing(&[Right::ManageConnectors], inputs.granted, inputs.project);
            if !missing.is_empty() {
                return Projection::problem(problem::unpermitted(&missing, inputs.project));
            }
            outcome.action = action(call);
        }
        Step::Report(Outcome::AwaitingProof, _) => {
            let tag = &spec.repository.tag;
            let proven = |wait| format!("tag {tag} is published only after this is proven: {wait}");
            outcome.notes.extend(waits.into_iter().map(proven));
        }
        Step::Report(verdict, _) => match rest(inputs, verdict) {
            Ok(note) => outcome.notes.extend(note),
            Err(condition) => return Projection::problem(condition),
        },
        Step::Release => {}
    }
    if let (Action::Update, Some(record)) = (outcome.action, inputs.record) {
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

fn action(call: CallKind) -> Action {
    match call {
        CallKind::Create => Action::Create,
        CallKind::Update => Action::Update,
        CallKind::Preview => Action::Preview,
        CallKind::Publish => Action::Publish,
        CallKind::Delete => Action::None,
    }
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

/// Returns the note about an outcome after which nothing is sent, if any.
///
/// # Errors
/// The condition that the operator would report because a user has to act.
fn rest(inputs: &Inputs<'_>, verdict: Outcome) -> Result<Option<String>, ConditionUpdate> {
    let spec = &inputs.object.spec;
    let impossible = inputs.record.map(|record| desired::changes(spec, record).impossible).unwrap_or_default();
    let condition = reported::ready_condition(verdict, &spec.key, inputs.record, &impossible);
    match condition.reason.state() {
        ConditionState::Progressing if verdict == Outcome::Certifying => Ok(Some(condition.message)),
        ConditionState::Ready | ConditionState::Progressing | ConditionState::Paused => Ok(None),
        ConditionState::Waiting | ConditionState::Stalled | ConditionState::Failing => Err(condition),
    }
}

/// Lists that an update empties. What else the spec leaves out stays as it is.
const LISTS: [&str; 3] = ["integrationTypes", "supportedRegions", "privateProjects"];

/// Returns the fields that an update changes.
fn differences(spec: &ConnectorStagedSpec, record: &Record) -> Vec<Difference> {
    let fields = |draft| {
        let mut fields = BTreeMap::new();
        collect("", &serde_json::to_value(desired::normalized(draft)).unwrap_or_default(), &mut fields);
        fields
    };
    let (mut wanted, seen) = (fields(desired::draft(spec)), fields(desired::shown(record)));
    for list in LISTS {
        wanted.entry(list.to_owned()).or_default();
    }
    let difference = |(field, after): (String, String)| {
        let before = seen.get(&field).cloned().unwrap_or_default();
        let change = if before.is_empty() { Change::Added } else { Change::Changed };
        let [before, after] = [before, after].map(|text| Some(text).filter(|text| !text.is_empty()));
        let is_one = before != after && field != "key";
        is_one.then_some(Difference { application: None, kind: Kind::Field, key: Some(field), change, before, after })
    };
    wanted.into_iter().filter_map(difference).collect()
}

/// Collects the texts of a draft by their paths.
fn collect(path: &str, value: &Value, fields: &mut BTreeMap<String, String>) {
    let text = match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(&path, member, fields);
            }
            return;
        }
        Value::Null => return,
        Value::String(text) => text.clone(),
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    fields.insert(path.to_owned(), text);
}

#[cfg(test)]
#[path = "staged_tests.rs"]
mod tests;
