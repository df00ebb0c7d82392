//! Decides the next step of a staged connector: compares the record with the spec, and sends at most one call.
//!
//! Pure: no cluster, no network, no clock. Everything that is sent can be read back, and each change names the version
//! that was read (contract section 10), so the service accepts at most one of two calls from one version, however late
//! they arrive. Therefore a call may be repeated as long as the record shows the version from which it was sent; a
//! higher version shows what came of it. `docs/rules.md` has the rules.

use std::time::Duration;

use clock::{between, later};
use jiff::Timestamp;

use super::observed::{Observed, Permission, Phase};
use super::state::{
    CallKind, CallOutcome, DeletionPolicy, Deployable, PreviewAnswer, RequestedPreview, SentContent, StagedCall, State,
};
pub use crate::controllers::context::staged_memory::DecisionMemory as Memory;

/// L: the time limit of a request. A call leaves within this time after it was persisted, or not at all.
pub const LIMIT: Duration = Duration::from_secs(30);
/// How long a read after a write may still return the state before it.
const LAG: Duration = Duration::from_mins(1);
/// After this time, no read is older than a call that was about to be sent: L + [`LAG`].
const STALE: Duration = Duration::from_secs(90);
/// After this time no call can still arrive or be hidden: 2 L + [`LAG`].
const QUIET_PERIOD: Duration = Duration::from_mins(2);
/// Minimum time between the two 404s that prove absence (rule 5).
const ABSENCE: Duration = Duration::from_secs(30);
/// What takes longer is reported as `TakesTooLong` (rule 18).
const TOO_LONG: Duration = Duration::from_mins(30);
/// Shortest pause before a call is sent again whose response was lost: at most 6 calls in any 10 s.
const CALL_AGAIN: Duration = Duration::from_secs(10);

/// What a user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a field of the spec")]
pub struct Intent {
    /// Generation of the resource.
    pub generation: i64,
    /// Digest of the desired connector.
    pub digest: String,
    /// The desired Git tag.
    pub tag: String,
    /// Id of the staged connector in the annotation, which survives a restored backup (rule 3).
    pub remote_id: Option<String>,
    /// Value of the annotation that requests a retry of what failed (rule 11).
    pub request: Option<String>,
    /// What to do with the staged connector, and since when; `Some` while the resource is being deleted.
    pub deletion: Option<(DeletionPolicy, Timestamp)>,
    /// `adoptionPolicy: Adopt`.
    pub adopt: bool,
    /// `suspend: true`.
    pub suspended: bool,
    /// `previewable: true`.
    pub previewable: bool,
    /// Whether to publish it; `true`: with certification.
    pub publish: Option<bool>,
    /// Digest of what should be published, and how; `None`: nothing should be.
    pub publication: Option<String>,
    /// Whether everything that publishing waits for is proven.
    pub proven: bool,
}

/// Everything that a decision is made from.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// What the operator remembers.
    pub state: &'a State,
    /// What a user asks for.
    pub intent: &'a Intent,
    /// The record; `None`: the project answers, and has none.
    pub record: Option<&'a Observed>,
    /// What this process has observed before. Losing it costs time, never a call.
    pub memory: &'a Memory,
    /// When the read of the record began.
    pub now: Timestamp,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What is known by now: to be persisted with the report, or before the call.
    pub state: State,
    /// What to remember.
    pub memory: Memory,
    /// The step.
    pub step: Step,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Reports this, and looks again after a pause. `None`: at the interval of the spec.
    Report(Outcome, Option<Duration>),
    /// Sends this call.
    Send(Call),
    /// Removes the finalizer.
    Release,
}

/// A call that changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// What it does.
    pub kind: CallKind,
    /// Whether it publishes with certification.
    pub certification: bool,
}

/// What a decision reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A call of this resource has not ended.
    Running(CallKind),
    /// It has not ended for longer than [`TOO_LONG`].
    TakesTooLong,
    /// Another client keeps the connector busy.
    Busy,
    /// It waits for certification, or is being certified.
    Certifying,
    /// It is published after everything that `publishAfter` requires is proven.
    AwaitingProof,
    /// The connector is as far as the spec asks for.
    Settled(ReachedStep),
    /// A difference cannot be changed.
    CannotChange,
    /// The permission for a preview was refused.
    PreviewRefused,
    /// Publishing failed.
    PublishingFailed,
    /// A staged connector with this key exists, and this resource did not create it.
    KeyTaken,
    /// The connector was not found, which does not prove yet that it is gone.
    Missing,
    /// Another client deleted the connector.
    Disappeared,
    /// The call was refused.
    Refused,
    /// Something would be sent if the resource were not suspended.
    HeldBySuspend,
}

/// The step that a connector has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReachedStep {
    /// It is staged.
    Staged,
    /// It may be deployed while staged.
    Previewable,
    /// It is published.
    Published,
}

/// What the response to a call means for the change that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// Accepted; the record in the response.
    Accepted(Observed),
    /// Nothing happened, and the input has to change; of an update with several actions some may have been taken
    /// (contract section 6).
    Refused,
    /// Nothing happened, and the same call may work soon: busy, throttled, not sent.
    NotTaken,
    /// The record does not exist.
    Gone,
    /// The change may have happened.
    Unknown,
}

/// Decides what to do next.
#[must_use]
pub fn decide(input: &Input<'_>) -> Decision {
    let (state, mut memory) = (input.state.clone(), input.memory.clone());
    if input.record.is_some() {
        memory.absent_since = None;
    }
    let mut table = Table { input, state, memory };
    if let Some(call) = &mut table.state.call {
        // The clock was set back: its age counts from now on. While that of another leader was ahead, this one waits
        // longer.
        if call.at > later(input.now, QUIET_PERIOD) {
            call.at = input.now;
        }
    }
    let step = match (input.intent.deletion, table.step()) {
        (None, Step::Send(_)) if input.intent.suspended => Step::Report(Outcome::HeldBySuspend, None),
        (_, step) => step,
    };
    Decision { state: table.state, memory: table.memory, step }
}

/// Returns the state to persist before a call.
#[must_use]
pub fn begin(decision: &Decision, call: Call, input: &Input<'_>, now: Timestamp) -> State {
    let (kind, intent) = (call.kind, input.intent);
    let mut state = decision.state.clone();
    match kind {
        // Which tag the record shows, and since which version, is known with the response.
        CallKind::Preview => (state.preview, state.deployable) = (None, None),
        CallKind::Publish => state.publication = None,
        CallKind::Create | CallKind::Update | CallKind::Delete => {}
    }
    if kind != CallKind::Delete && intent.request.is_some() {
        state.handled_request.clone_from(&intent.request);
    }
    let record = input.record.filter(|_| kind != CallKind::Delete);
    state.call = Some(StagedCall {
        kind,
        at: now,
        from: record.map(|record| record.version),
        from_status: record.map(|record| record.status.clone()),
        digest: digest(kind, intent),
        outcome: CallOutcome::Unknown,
    });
    state
}

/// Returns the state after the response to a call. `before`: the state without it; `begun`: the one that was persisted.
#[must_use]
pub fn after(before: &State, begun: &State, tag: &str, response: &Response) -> State {
    let mut state = begun.clone();
    let Some(call) = &mut state.call else { return state };
    match (response, call.kind) {
        (Response::Unknown, _) => return state,
        (Response::Refused | Response::NotTaken, _) => return unsent(before, begun),
        (Response::Gone, kind) if kind != CallKind::Delete => return unsent(before, begun),
        (Response::Gone | Response::Accepted(_), _) => call.outcome = CallOutcome::Accepted,
    }
    let Response::Accepted(record) = response else { return state };
    match call.kind {
        CallKind::Create | CallKind::Update => {
            state.sent = Some(SentContent { digest: call.digest.clone(), shown: record.digest.clone() });
            state.id = Some(record.id.clone());
            // Whatever was published, by this resource or meanwhile by another client, has other content.
            state.publication = None;
        }
        CallKind::Preview => {
            let is_pending = record.permission == Permission::Pending;
            let answer = if is_pending { PreviewAnswer::Pending } else { PreviewAnswer::Requested };
            state.preview = Some(RequestedPreview { tag: tag.to_owned(), answer });
        }
        CallKind::Publish => state.publication = Some(call.digest.clone()),
        CallKind::Delete => {}
    }
    state
}

/// Returns the state after a call with which nothing happened. What is known of the call before it stays: that one may
/// still arrive.
fn unsent(before: &State, begun: &State) -> State {
    State { handled_request: begun.handled_request.clone(), ..before.clone() }
}

/// Returns what a call is sent for: one that was refused is not repeated in a loop for the same cause. Another version
/// of the record may accept it.
#[must_use]
pub fn cause(kind: CallKind, intent: &Intent, record: Option<&Observed>) -> String {
    let version = record.map(|record| record.version);
    format!("{kind:?} {} {} {version:?} {:?}", digest(kind, intent), intent.generation, intent.request)
}

fn digest(kind: CallKind, intent: &Intent) -> String {
    match kind {
        CallKind::Create | CallKind::Update | CallKind::Preview => intent.digest.clone(),
        CallKind::Publish => intent.publication.clone().unwrap_or_default(),
        CallKind::Delete => String::new(),
    }
}

/// Returns the pause before the next look at something that has been going on for `age`: 3 s at first, later a fifth of
/// it, up to 30 s.
fn pace(age: Duration) -> Duration {
    (age / 5).clamp(Duration::from_secs(3), Duration::from_secs(30))
}

/// A decision that is being made.
struct Table<'a> {
    input: &'a Input<'a>,
    state: State,
    memory: Memory,
}

impl Table<'_> {
    fn step(&mut self) -> Step {
        match (self.input.intent.deletion, self.input.record) {
            (Some((policy, since)), _) => self.delete(policy, since),
            (None, record) if self.state.id.is_none() => self.unowned(record),
            (None, None) => self.absent(),
            (None, Some(record)) => self.present(record),
        }
    }

    /// No connector is known to be that of this resource: rules 1, 2, 3 and 13.
    fn unowned(&mut self, record: Option<&Observed>) -> Step {
        let may_arrive = self.state.call.is_some() && self.since_call() < QUIET_PERIOD;
        let record = match record {
            Some(record) if self.has_created(record) => {
                self.own(record);
                return self.present(record);
            }
            _ if may_arrive => return self.wait(CallKind::Create),
            None => return self.send(CallKind::Create),
            Some(record) => record,
        };
        self.state.call = None;
        let intent = self.input.intent;
        if !intent.adopt && intent.remote_id.as_ref() != Some(&record.id) {
            return Step::Report(Outcome::KeyTaken, None);
        }
        // Everything can be read from the record, except for which tag a preview was granted.
        let (id, handled_request) = (Some(record.id.clone()), intent.request.clone());
        self.state = State { id, handled_request, ..State::default() };
        self.present(record)
    }

    /// Whether a create was begun that sent what the record shows.
    fn has_created(&self, record: &Observed) -> bool {
        self.state.call.as_ref().is_some_and(|call| call.digest == record.digest)
    }

    /// Takes the record as what this resource created.
    fn own(&mut self, record: &Observed) {
        self.state.id = Some(record.id.clone());
        if let Some(call) = &mut self.state.call {
            call.outcome = CallOutcome::Accepted;
        }
    }

    /// Rule 5, counted from the end of the quiet period.
    fn absent(&mut self) -> Step {
        if let Some(call) = self.state.call.as_ref().filter(|_| self.since_call() < QUIET_PERIOD) {
            return self.wait(call.kind);
        }
        if let Some(call) = self.state.call.as_mut().filter(|call| call.outcome == CallOutcome::Unknown) {
            call.outcome = CallOutcome::Lost;
        }
        let since = *self.memory.absent_since.get_or_insert(self.input.now);
        match ABSENCE.saturating_sub(between(since, self.input.now)) {
            Duration::ZERO => Step::Report(Outcome::Disappeared, None),
            left => Step::Report(Outcome::Missing, Some(left)),
        }
    }

    fn present(&mut self, record: &Observed) -> Step {
        let from =
            |call: &StagedCall| call.from.filter(|from| record.version <= *from).map(|from| (call.clone(), from));
        let unseen = self.state.call.as_ref().and_then(from).filter(|_| self.since_call() < STALE);
        if let Some((call, from)) = unseen {
            return self.unseen(record, &call, from);
        }
        self.conclude(record);
        if record.is_busy() {
            return self.busy(record);
        }
        self.memory.busy_since = None;
        self.next(record)
    }

    /// The record does not show the last call, or the read is older than it. Nothing is concluded from that; but a call
    /// of which no more is known may be sent again, or another one in its place.
    fn unseen(&mut self, record: &Observed, call: &StagedCall, from: i64) -> Step {
        if call.outcome == CallOutcome::Accepted || record.version < from || record.is_busy() {
            return self.wait(call.kind);
        }
        let state = self.state.clone();
        let next = self.next(record);
        self.state = state;
        match next {
            Step::Send(_) if self.since_call() >= CALL_AGAIN => next,
            Step::Report(Outcome::AwaitingProof | Outcome::Refused, _) => next,
            Step::Send(_) | Step::Report(..) | Step::Release => self.wait(call.kind),
        }
    }

    /// Takes note of what the record shows of the last call and of the requested permission.
    fn conclude(&mut self, record: &Observed) {
        let has_tag = record.repository_met || self.is_all_there_will_be(record);
        let tag = &self.input.intent.tag;
        // Whoever set another tag, the permission is requested again when the desired one returns.
        self.state.preview.take_if(|preview| (preview.tag == *tag) != has_tag);
        if let Some(preview) = &mut self.state.preview
            && (preview.answer, record.permission) == (PreviewAnswer::Requested, Permission::Pending)
        {
            preview.answer = PreviewAnswer::Pending;
        }
        let Some(call) = self.state.call.as_mut().filter(|call| call.outcome == CallOutcome::Unknown) else { return };
        let has_moved = call.from.is_none_or(|from| record.version > from);
        call.outcome = CallOutcome::Lost;
        match call.kind {
            // Either this update, or another client's, in which case the service has refused this one.
            CallKind::Update if has_moved => (self.state.publication, self.state.sent) = (None, None),
            CallKind::Publish if has_moved => {
                let is_running = record.phase == Phase::Processing;
                if is_running {
                    call.outcome = CallOutcome::Accepted;
                }
                // With the same status as before, nothing shows whether it has arrived, so it is sent once more.
                let is_published = record.listed && !record.changed;
                if is_running || is_published || call.from_status.as_ref() != Some(&record.status) {
                    self.state.publication = Some(call.digest.clone());
                }
            }
            // A permission counts only with the response to its request.
            CallKind::Create | CallKind::Update | CallKind::Preview | CallKind::Publish | CallKind::Delete => {}
        }
    }

    /// Waits until the connector is idle.
    fn busy(&mut self, record: &Observed) -> Step {
        let call = self.state.call.as_ref().filter(|call| call.outcome == CallOutcome::Accepted);
        let ours = call.filter(|call| match call.kind {
            CallKind::Preview => record.permission == Permission::Pending,
            CallKind::Publish => record.phase == Phase::Processing,
            CallKind::Create | CallKind::Update | CallKind::Delete => false,
        });
        let (outcome, since) = match ours {
            Some(call) => (Outcome::Running(call.kind), call.at),
            None => (Outcome::Busy, *self.memory.busy_since.get_or_insert(self.input.now)),
        };
        self.going_on(outcome, since)
    }

    /// Reports what has been going on since then.
    fn going_on(&self, outcome: Outcome, since: Timestamp) -> Step {
        let age = between(since, self.input.now);
        Step::Report(if age < TOO_LONG { outcome } else { Outcome::TakesTooLong }, Some(pace(age)))
    }

    /// The connector is idle: the steps of a tag, each after the one before has ended.
    fn next(&mut self, record: &Observed) -> Step {
        let intent = self.input.intent;
        if record.impossible {
            return Step::Report(Outcome::CannotChange, None);
        }
        if !record.met && !self.is_all_there_will_be(record) {
            return self.send(CallKind::Update);
        }
        if let Some(step) = self.preview(record) {
            return step;
        }
        let is_known = self.state.deployable.as_ref().is_some_and(|deployable| deployable.source == record.source);
        if record.repository_met && record.permission == Permission::Granted && !is_known {
            self.state.deployable = Some(Deployable { source: record.source.clone(), version: record.version });
        }
        if let Some(step) = intent.publish.and_then(|certification| self.publish(record, certification)) {
            return step;
        }
        if self.is_retry_requested() {
            // There is nothing to retry.
            self.state.handled_request.clone_from(&intent.request);
        }
        let reached = match (intent.publish, intent.previewable) {
            (Some(_), _) => ReachedStep::Published,
            (None, true) => ReachedStep::Previewable,
            (None, false) => ReachedStep::Staged,
        };
        Step::Report(Outcome::Settled(reached), None)
    }

    /// The permission for a preview. `None`: it is granted for this tag, or not desired.
    fn preview(&mut self, record: &Observed) -> Option<Step> {
        use PreviewAnswer as Answer;
        let intent = self.input.intent;
        if !intent.previewable {
            return None;
        }
        let requested = self.state.preview.as_ref().filter(|preview| preview.tag == intent.tag);
        let is_recent = self.since_call() < LAG && self.last_kind() == Some(CallKind::Preview);
        let answer = match (requested.map(|preview| preview.answer), record.permission) {
            (None, _) => return Some(self.send(CallKind::Preview)),
            (Some(Answer::Requested), _) if is_recent => return Some(self.wait(CallKind::Preview)),
            // Another client removed it, such as by another tag and back.
            (Some(Answer::Pending | Answer::Granted | Answer::Refused), Permission::NeverAsked) => {
                return Some(self.send(CallKind::Preview));
            }
            (_, Permission::Granted) => Answer::Granted,
            (_, Permission::Refused) => Answer::Refused,
            (_, Permission::NeverAsked | Permission::Pending | Permission::Other) => Answer::Unanswered,
        };
        self.state.preview = Some(RequestedPreview { tag: intent.tag.clone(), answer });
        match answer {
            Answer::Granted => None,
            _ if self.is_retry_requested() => Some(self.send(CallKind::Preview)),
            _ => Some(Step::Report(Outcome::PreviewRefused, None)),
        }
    }

    /// The publication. `None`: the connector is published as it is.
    fn publish(&mut self, record: &Observed, certification: bool) -> Option<Step> {
        if record.phase == Phase::Certifying {
            return Some(Step::Report(Outcome::Certifying, None));
        }
        // Another client may have published it without certification, while it was being certified.
        let uncertified = certification && record.private;
        if record.listed && !record.changed && !uncertified {
            return None;
        }
        if self.state.publication == self.input.intent.publication {
            let has_failed = matches!(record.phase, Phase::Failed | Phase::Draft);
            if !has_failed && !uncertified {
                // The service may report a change where there is none: it is published once.
                return None;
            }
            if !self.is_retry_requested() {
                return Some(Step::Report(Outcome::PublishingFailed, None));
            }
        }
        if !self.input.intent.proven {
            return Some(Step::Report(Outcome::AwaitingProof, None));
        }
        Some(self.send(CallKind::Publish))
    }

    /// The resource is being deleted: rules 22 and 23.
    fn delete(&mut self, policy: DeletionPolicy, since: Timestamp) -> Step {
        if policy == DeletionPolicy::Orphan {
            return Step::Release;
        }
        if self.state.id.is_none() {
            match self.input.record {
                Some(record)
                    if self.has_created(record) || self.input.intent.remote_id.as_ref() == Some(&record.id) =>
                {
                    self.own(record);
                }
                _ if self.state.call.is_some() && self.since_call() < QUIET_PERIOD => {
                    return self.going_on(Outcome::Running(CallKind::Delete), since);
                }
                _ => return Step::Release,
            }
        }
        let call = self.state.call.as_ref();
        let is_deleted = call.is_some_and(|it| (it.kind, it.outcome) == (CallKind::Delete, CallOutcome::Accepted));
        match self.input.record {
            // One 404 is enough after the response to a DELETE.
            None if is_deleted => Step::Release,
            Some(record) if record.is_locked() || (is_deleted && self.since_call() < LAG) => {
                self.going_on(Outcome::Running(CallKind::Delete), since)
            }
            _ => self.send(CallKind::Delete),
        }
    }

    /// Sends a call, unless it was refused for the same cause.
    fn send(&self, kind: CallKind) -> Step {
        let Input { intent, record, now, .. } = *self.input;
        let refused = self.memory.refused.as_ref();
        if let Some((_, until)) = refused.filter(|(of, until)| now < *until && *of == cause(kind, intent, record)) {
            return Step::Report(Outcome::Refused, Some(between(now, *until)));
        }
        Step::Send(Call { kind, certification: intent.publish.unwrap_or_default() })
    }

    /// Reports a call that has not ended.
    fn wait(&self, kind: CallKind) -> Step {
        Step::Report(Outcome::Running(kind), Some(pace(self.since_call())))
    }

    /// Returns the time since the last call was about to be sent.
    fn since_call(&self) -> Duration {
        self.state.call.as_ref().map_or(Duration::MAX, |call| between(call.at, self.input.now))
    }

    fn last_kind(&self) -> Option<CallKind> {
        self.state.call.as_ref().map(|call| call.kind)
    }

    /// Whether the desired connector was sent, and the record still shows what it showed afterwards: the service
    /// normalizes it.
    fn is_all_there_will_be(&self, record: &Observed) -> bool {
        let sent = self.state.sent.as_ref();
        sent.is_some_and(|sent| sent.digest == self.input.intent.digest && sent.shown == record.digest)
    }

    fn is_retry_requested(&self) -> bool {
        let request = &self.input.intent.request;
        request.is_some() && *request != self.state.handled_request
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
