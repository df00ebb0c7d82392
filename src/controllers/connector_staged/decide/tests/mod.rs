//! The rows of the table, by name; `tests/histories` runs the whole controller.

mod explore;
mod lost;
mod way;

use std::time::Duration;

use clock::later;
use jiff::Timestamp;

use super::super::persisted::{
    Applied, Deployable, Observation, ObservedConnector, Operation, OperationType, PersistedState, Phase, Preview,
    Publication,
};
use super::*;
use crate::controllers::driver::operations::{LAG, LIMIT, QUIET_PERIOD, TOO_LONG};

const ID: &str = "one";

/// Returns when an operation was begun, or something was applied.
fn begun() -> Timestamp {
    Timestamp::from_second(1_000_000).expect("a time in range")
}

/// Returns a time so long after that.
fn after(duration: Duration) -> Timestamp {
    later(begun(), duration)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Asks for tag `2`, and only for staging it.
fn desired() -> Intent {
    Intent {
        generation: 2,
        digest: "second".into(),
        tag: "2".into(),
        remote_id: None,
        request: None,
        deletion: None,
        adopt: false,
        suspended: false,
        previewable: false,
        publish: None,
        publication: None,
        proven: true,
    }
}

/// A connector as desired, and idle.
fn met() -> ObservedConnector {
    ObservedConnector {
        id: ID.into(),
        version: 7,
        phase: Phase::Draft,
        preview: Preview::NeverAsked,
        private: true,
        listed: false,
        changed: false,
        digest: "second".into(),
        met: true,
        repository_met: true,
        source: "two".into(),
        impossible: false,
    }
}

/// A connector with another tag than the desired one.
fn of_the_first_tag() -> ObservedConnector {
    ObservedConnector { digest: "first".into(), met: false, repository_met: false, source: "one".into(), ..met() }
}

/// The persisted state of a connector that was created long ago.
fn ours() -> PersistedState {
    PersistedState {
        id: Some(ID.into()),
        applied: Some(Applied { generation: 1, at: begun(), ..Applied::default() }),
        ..PersistedState::default()
    }
}

fn doing(kind: OperationType) -> Operation {
    Operation {
        kind,
        accepted: false,
        attempt: 1,
        generation: 2,
        digest: Some(if kind == OperationType::Publish { "private:second" } else { "second" }.into()),
        tag: Some("2".into()),
        from_version: Some(6),
        from_phase: Some(Phase::Draft),
        seen_busy: false,
        request: None,
        started_at: begun(),
    }
}

fn with(operation: Operation) -> PersistedState {
    PersistedState { operation: Some(operation), ..ours() }
}

fn previewable() -> Intent {
    Intent { previewable: true, ..desired() }
}

fn published() -> Intent {
    Intent { publish: Some(false), publication: Some("private:second".into()), ..desired() }
}

/// Everything that a row depends on; the time is long after the last write.
struct Row {
    persisted: PersistedState,
    intent: Intent,
    observation: Observation,
    transient: TransientState,
    now: Timestamp,
}

impl Row {
    fn of(persisted: PersistedState, intent: Intent, observation: impl Into<Option<ObservedConnector>>) -> Self {
        let observation = observation.into().map_or(Observation::Absent, Observation::Present);
        Self {
            persisted,
            intent,
            observation,
            transient: TransientState::default(),
            now: after(Duration::from_hours(1)),
        }
    }

    fn at(self, age: Duration) -> Self {
        Self { now: after(age), ..self }
    }

    fn decide(&self) -> Decision {
        decide(&Input {
            persisted: &self.persisted,
            intent: &self.intent,
            observation: &self.observation,
            transient: &self.transient,
            now: self.now,
        })
    }
}

/// Returns the result of a row as a short text.
fn outcome(decision: &Decision) -> String {
    match (&decision.step, decision.outcome) {
        (Step::RemoveFinalizer, _) => "released".to_owned(),
        (Step::Send(call), _) => {
            let what = match &call.kind {
                CallKind::Create => "create".to_owned(),
                CallKind::Update { version, .. } => format!("update from {version}"),
                CallKind::Preview { version, .. } => format!("preview from {version}"),
                CallKind::Publish { version, certification, .. } => {
                    format!("publish from {version}{}", if *certification { " certified" } else { "" })
                }
                CallKind::Delete { .. } => "delete".to_owned(),
            };
            if call.first { what } else { format!("{what} again") }
        }
        (Step::NoOp, outcome) => format!("{outcome:?}"),
    }
}

fn check(rows: Vec<(&str, Row, &str)>) {
    for (name, row, expected) in rows {
        let decision = row.decide();
        assert_eq!(outcome(&decision), expected, "{name}: {decision:#?}");
        if let Step::Send(call) = &decision.step {
            let operation = decision.persisted.operation.as_ref().expect("the operation is persisted before its call");
            assert_eq!(operation.started_at, row.now, "{name}: each attempt has a start of its own");
            assert_eq!(operation.attempt == 1, call.first, "{name}");
        }
    }
}
