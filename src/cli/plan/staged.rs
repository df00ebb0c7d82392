//! What the operator would do to a staged connector: its own table, played forward. Pure; time is an argument.
//!
//! Unlike a deployment a tag goes its way in several steps, so each call is taken to work and what follows it is decided
//! from what the service shows then: a new tag takes the permission for a preview away, and a request for one is granted.
//! Nothing is decided here that the operator decides.

use clock::later;
use connect_api::model::ConnectorStaged as Record;
use connect_api::scopes::{self, Right};
use jiff::Timestamp;
use serde::Serialize;

use crate::controllers::conditions::Told;
use crate::controllers::connector_staged::decide::{
    self, Answer, Call, CallKind, Case, Decision, Intent, Memory, Step, Verdict,
};
use crate::controllers::connector_staged::desired::{self, Fields};
use crate::controllers::connector_staged::ledger::{Ledger, Look, OperationKind, Phase, Preview, Seen};
use crate::controllers::connector_staged::proof::{self, Objects, Subject};
use crate::controllers::connector_staged::{intent, observe, status, stored};
use crate::controllers::problem;
use crate::controllers::reason::Stance;
use crate::crd::ConnectorStaged;

/// Most steps of the table that are played: proving that something is gone, the longest of them, takes about twenty.
const ROUNDS: usize = 64;

/// Everything that a forecast is made from.
pub(super) struct Premises<'a> {
    /// The resource as it would be.
    pub(super) object: &'a ConnectorStaged,
    /// Its name.
    pub(super) name: &'a str,
    /// What the remote shows.
    pub(super) record: Option<&'a Record>,
    /// What `publishAfter` names, as it would be.
    pub(super) proofs: &'a Objects,
    /// Scopes of the token, if it names them.
    pub(super) granted: &'a [String],
    /// Key of the remote project.
    pub(super) project: &'a str,
    /// Now.
    pub(super) now: Timestamp,
}

/// A step of a staged connector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Action {
    /// It is created.
    Create,
    /// One that exists is taken over.
    Adopt,
    /// What differs is changed.
    Update,
    /// Permission for a preview is asked for.
    Preview,
    /// It is published.
    Publish,
}

/// A field that would be another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Difference {
    /// Its path in the spec.
    pub(super) field: &'static str,
    /// What the remote shows.
    pub(super) before: String,
    /// What it would be.
    pub(super) after: String,
}

/// What is expected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// What would happen, in order.
    pub(super) actions: Vec<Action>,
    /// What the operator would say that a person has to put right; then nothing more would happen.
    pub(super) problem: Option<Told>,
    /// Fields that would change.
    pub(super) differences: Vec<Difference>,
    /// What publishing waits for.
    pub(super) waits: Vec<String>,
    /// What else to know.
    pub(super) notes: Vec<String>,
    /// Whether another tag comes of it, or permission for it.
    pub(super) moves: bool,
    /// Why it could not be deployed in the end; `None`: it could be.
    pub(super) not_deployable: Option<String>,
}

impl Outcome {
    /// Only a person can go on.
    pub(super) fn problem(told: Told) -> Self {
        Self { not_deployable: Some(told.message.clone()), problem: Some(told), ..Self::default() }
    }
}

/// What the operator would do.
pub(super) fn forecast(premises: &Premises<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let mut intent = intent::intent(premises.object);
    if intent.deletion.is_some() {
        let note = "it is being deleted, and what is applied now does not change that";
        return Outcome { notes: vec![note.to_owned()], not_deployable: Some(note.to_owned()), ..outcome };
    }
    let mut stage = Stage::of(premises, &mut outcome);
    let known = stage.ledger.id.is_some();
    let missing = scopes::missing(&[Right::ManageConnectors], premises.granted, premises.project);
    for _ in 0..ROUNDS {
        let decision = stage.decide(&intent);
        if !known && outcome.actions.is_empty() && decision.ledger.id.is_some() {
            outcome.actions.push(Action::Adopt);
        }
        match (&decision.step, decision.again) {
            (Step::Send(_), _) if !missing.is_empty() => {
                outcome.problem = Some(problem::unpermitted(&missing, premises.project));
                break;
            }
            (Step::Send(call), _) => {
                foresee(premises, call, &stage, &mut outcome);
                stage.done(premises, &intent, call, &decision);
            }
            (Step::Rest, _) if decision.verdict == Verdict::AwaitingProof && outcome.waits.is_empty() => {
                outcome.waits = unproven(premises, &decision.ledger);
                intent.proven = outcome.waits.is_empty();
            }
            (Step::Rest, Some(pause)) => stage.pass(decision, pause),
            (Step::Rest | Step::Release, _) => {
                stage.ledger = decision.ledger;
                rest(premises, decision.verdict, &mut outcome);
                break;
            }
        }
    }
    outcome.not_deployable = status::deployable(&stage.ledger, stage.seen(), &premises.object.spec).err();
    outcome
}

/// What publishing would wait for, once everything before it is done.
fn unproven(premises: &Premises<'_>, ledger: &Ledger) -> Vec<String> {
    let Some(after) = &premises.object.spec.publish_after else { return Vec::new() };
    let subject = Subject {
        name: premises.name,
        id: ledger.id.as_deref().unwrap_or_default(),
        tag: &premises.object.spec.repository.tag,
        deployable: ledger.deployable.as_ref().map(|deployable| deployable.version),
    };
    proof::missing(after, &subject, premises.proofs)
}

/// A call would be sent.
fn foresee(premises: &Premises<'_>, call: &Call, stage: &Stage, outcome: &mut Outcome) {
    let action = match &call.kind {
        CallKind::Create => Action::Create,
        CallKind::Update { .. } => Action::Update,
        CallKind::Preview { .. } => Action::Preview,
        CallKind::Publish { certification, .. } => {
            if *certification {
                outcome.notes.push("it goes to certification, and is public after it".to_owned());
            }
            Action::Publish
        }
        CallKind::Delete { .. } => return,
    };
    if let (Action::Update, Some(record)) = (action, premises.record) {
        outcome.differences = desired::differences(&premises.object.spec, record)
            .into_iter()
            .map(|(field, before, after)| Difference { field, before, after })
            .collect();
    }
    let retags = stage.seen().is_some_and(|seen| action == Action::Update && !seen.repository_met);
    outcome.moves |= retags || matches!(action, Action::Create | Action::Preview);
    outcome.actions.push(action);
}

/// Nothing more would be sent.
fn rest(premises: &Premises<'_>, verdict: Verdict, outcome: &mut Outcome) {
    if verdict == Verdict::AwaitingProof {
        return;
    }
    let spec = &premises.object.spec;
    let impossible = premises.record.map(|record| desired::changes(spec, record).impossible).unwrap_or_default();
    let told = status::tell(verdict, &spec.key, premises.record, &impossible);
    match (told.reason.stance(), verdict) {
        (Stance::Running, Verdict::Certifying) if !outcome.actions.contains(&Action::Publish) => {
            outcome.notes.push(format!("what differs is published after the certification: {}", told.message));
        }
        (Stance::Ready | Stance::Running, _) => {}
        (Stance::Paused, _) => outcome.notes.push(told.message),
        (Stance::Waiting | Stance::Stalled | Stance::Failing, _) => outcome.problem = Some(told),
    }
}

/// What the table is played with.
struct Stage {
    ledger: Ledger,
    look: Look,
    memory: Memory,
    now: Timestamp,
}

impl Stage {
    /// What runs already is taken to end well.
    fn of(premises: &Premises<'_>, outcome: &mut Outcome) -> Self {
        let mut ledger = stored::ledger(&premises.object.status.clone().unwrap_or_default());
        let mut look = observe::seen(&premises.object.spec, premises.record);
        let mut busy = false;
        if let Look::Present(seen) = &mut look {
            if seen.preview == Preview::Pending {
                busy = true;
                seen.preview = Preview::Granted;
            }
            if seen.phase == Phase::Processing {
                busy = true;
                (seen.phase, seen.listed, seen.changed) = (Phase::Published, true, !seen.met);
            }
        }
        if let Some(operation) = ledger.operation.take() {
            busy = true;
            ledger.handled_request = operation.request.or(ledger.handled_request.take());
            match (operation.kind, &look) {
                (OperationKind::Create, Look::Present(seen)) => ledger.id = Some(seen.id.clone()),
                (OperationKind::Preview, _) if operation.accepted => ledger.previewed = operation.tag,
                _ => {}
            }
        }
        if busy {
            outcome.notes.push("something runs at the remote already; what is said here comes after it".to_owned());
        }
        Self { ledger, look, memory: Memory::default(), now: premises.now }
    }

    fn seen(&self) -> Option<&Seen> {
        match &self.look {
            Look::Present(seen) => Some(seen),
            Look::Absent => None,
        }
    }

    fn decide(&self, intent: &Intent) -> Decision {
        let Self { ledger, look, memory, now } = self;
        decide::decide(&Case { ledger, intent, look, memory, now: *now })
    }

    fn pass(&mut self, decision: Decision, pause: std::time::Duration) {
        self.now = later(self.now, pause);
        (self.ledger, self.memory) = (decision.ledger, decision.memory);
    }

    /// The call works, and what it began ends well.
    fn done(&mut self, premises: &Premises<'_>, intent: &Intent, call: &Call, decision: &Decision) {
        let before = self.seen().cloned().unwrap_or_else(|| unmade(&intent.digest));
        let (answer, after) = effect(premises, intent, &call.kind, before);
        let taken =
            decide::answered(&decision.ledger, &decision.memory, call, None, &Answer::Accepted(answer), self.now);
        (self.ledger, self.memory) = (taken.ledger, taken.memory);
        self.look = Look::Present(after);
    }
}

/// A connector that is not there yet.
fn unmade(digest: &str) -> Seen {
    Seen {
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

/// What a call does: the connector as its answer shows it, and as it is once that has ended.
fn effect(premises: &Premises<'_>, intent: &Intent, call: &CallKind, mut seen: Seen) -> (Seen, Seen) {
    seen.version = seen.version.saturating_add(1);
    let mut after = Seen { version: seen.version.saturating_add(1), ..seen.clone() };
    match call {
        CallKind::Create | CallKind::Update { .. } => {
            let preview = if seen.repository_met { seen.preview } else { Preview::NeverAsked };
            seen = Seen {
                preview,
                changed: seen.listed,
                digest: intent.digest.clone(),
                met: true,
                repository_met: true,
                source: Fields::from(&premises.object.spec).source(),
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
