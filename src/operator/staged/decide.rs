//! Decides the next step of a staged connector: compares the record with the spec, and sends at most one call.
//!
//! Pure: no cluster, no network, no clock. Everything that is sent can be read back, and each change names the version
//! that was read (contract section 10), so the service accepts at most one of two calls from one version, however late
//! they arrive. Therefore a call may be repeated as long as the record shows the version from which it was sent; a
//! higher version shows what came of it. `docs/rules.md` has the rules.

use std::time::Duration;

use clock::{between, later};
use jiff::Timestamp;

use super::call::cause;
use super::intent::Intent;
use super::observed::{Observed, Permission, Phase};
use super::outcome::Outcome;
use super::state::{CallKind, DeletionPolicy, Deployable, StagedCall, State};
pub use crate::operator::context::staged_memory::DecisionMemory as Memory;
use crate::operator::deployment::decide::{ABSENCE, LAG, QUIET_PERIOD, TOO_LONG};

/// After this time, no read is older than a call that was about to be sent: L + [`LAG`].
const STALE: Duration = Duration::from_secs(90);
/// Shortest pause before a call is sent again whose response was lost: at most 6 calls in any 10 s.
const CALL_AGAIN: Duration = Duration::from_secs(10);

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
    Send(CallKind),
    /// Removes the finalizer.
    Release,
}

/// Decides what to do next.
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
    let step = match table.step() {
        Step::Send(_) if input.intent.suspended => Step::Report(Outcome::HeldBySuspend, None),
        step => step,
    };
    Decision { state: table.state, memory: table.memory, step }
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
            call.open = false;
        }
    }

    /// Rule 5, counted from the end of the quiet period.
    fn absent(&mut self) -> Step {
        if let Some(call) = self.state.call.as_ref().filter(|_| self.since_call() < QUIET_PERIOD) {
            return self.wait(call.kind);
        }
        if let Some(call) = &mut self.state.call {
            call.open = false;
        }
        let since = *self.memory.absent_since.get_or_insert(self.input.now);
        match ABSENCE.saturating_sub(between(since, self.input.now)) {
            Duration::ZERO => Step::Report(Outcome::Disappeared, None),
            left => Step::Report(Outcome::Missing, Some(left)),
        }
    }

    fn present(&mut self, record: &Observed) -> Step {
        let last = self.state.call.clone().filter(|_| self.since_call() < STALE);
        if let Some(call) = last.filter(|call| call.from.is_some_and(|from| record.version <= from)) {
            return self.unseen(record, &call);
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
    fn unseen(&mut self, record: &Observed, call: &StagedCall) -> Step {
        if !call.open || call.from != Some(record.version) || record.is_busy() {
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
        let tag = &self.input.intent.repository.tag;
        // Whoever set another tag, the permission is requested again when the desired one returns.
        self.state.preview.take_if(|preview| (preview.tag == *tag) != has_tag);
        if let Some(preview) = &mut self.state.preview {
            preview.shown |= record.permission == Permission::Pending;
        }
        let Some(call) = self.state.call.as_mut().filter(|call| call.open) else { return };
        call.open = false;
        let has_moved = call.from.is_none_or(|from| record.version > from);
        match call.kind {
            // Either this update, or another client's, in which case the service has refused this one.
            CallKind::Update if has_moved => (self.state.publication, self.state.sent) = (None, None),
            // If nothing shows whether it has arrived, it is sent once more.
            CallKind::Publish if has_moved => {
                let is_running = record.phase == Phase::Processing || record.is_certifying();
                if is_running || record.phase == Phase::Failed || record.is_published() {
                    self.state.publication = Some(call.digest.clone());
                }
            }
            // A permission counts only with the response to its request.
            CallKind::Create | CallKind::Update | CallKind::Preview | CallKind::Publish | CallKind::Delete => {}
        }
    }

    /// Waits until the connector is idle.
    fn busy(&mut self, record: &Observed) -> Step {
        let ours = self.state.call.as_ref().filter(|call| match call.kind {
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
        let known = self.state.deployable.as_ref();
        let is_known = known.is_some_and(|deployable| deployable.repository == intent.repository);
        if record.repository_met && record.permission == Permission::Yes && !is_known {
            self.state.deployable = Some(Deployable { repository: intent.repository.clone(), version: record.version });
        }
        if let Some(step) = self.publish(record) {
            return step;
        }
        if self.is_retry_requested() {
            // There is nothing to retry.
            self.state.handled_request.clone_from(&intent.request);
        }
        let reached = match (&intent.publication, intent.previewable) {
            (Some(_), _) => Outcome::Published,
            (None, true) => Outcome::Previewable,
            (None, false) => Outcome::Staged,
        };
        Step::Report(reached, None)
    }

    /// The permission for a preview. `None`: it is granted for this tag, or not desired.
    fn preview(&mut self, record: &Observed) -> Option<Step> {
        let intent = self.input.intent;
        if !intent.previewable {
            return None;
        }
        let is_last = self.state.call.as_ref().is_some_and(|call| call.kind == CallKind::Preview);
        let is_recent = is_last && self.since_call() < LAG;
        let requested = self.state.preview.as_mut().filter(|preview| preview.tag == intent.repository.tag);
        let Some(requested) = requested else { return Some(self.send(CallKind::Preview)) };
        let is_there = record.permission != Permission::NeverAsked;
        match requested.shown {
            false if is_recent => return Some(self.wait(CallKind::Preview)),
            // Another client removed it, such as by another tag and back.
            true if !is_there => return Some(self.send(CallKind::Preview)),
            _ => requested.shown = is_there,
        }
        match record.permission {
            Permission::Yes => None,
            _ if self.is_retry_requested() => Some(self.send(CallKind::Preview)),
            _ => Some(Step::Report(Outcome::PreviewRefused, None)),
        }
    }

    /// The publication. `None`: the connector is published as it is.
    fn publish(&self, record: &Observed) -> Option<Step> {
        let intent = self.input.intent;
        intent.publication.as_ref()?;
        if record.is_certifying() {
            return Some(Step::Report(Outcome::Certifying, None));
        }
        // Another client may have published it without certification, while it was being certified.
        let uncertified = intent.certified && record.private;
        if record.is_published() && !uncertified {
            return None;
        }
        if self.state.publication == intent.publication {
            let has_failed = matches!(record.phase, Phase::Failed | Phase::Draft);
            if !has_failed && !uncertified {
                // The service may report a change where there is none: it is published once.
                return None;
            }
            if !self.is_retry_requested() {
                return Some(Step::Report(Outcome::PublishingFailed, None));
            }
        }
        if !intent.proven {
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
        let is_deleted = self.state.call.as_ref().is_some_and(|call| call.kind == CallKind::Delete && !call.open);
        match self.input.record {
            // One 404 is enough after the response to a DELETE.
            None if is_deleted => Step::Release,
            None if self.input.intent.suspended => match self.absent() {
                Step::Report(Outcome::Disappeared, _) => Step::Release,
                step => step,
            },
            Some(record) if record.is_locked() || (is_deleted && self.since_call() < LAG) => {
                self.going_on(Outcome::Running(CallKind::Delete), since)
            }
            _ => self.send(CallKind::Delete),
        }
    }

    /// Sends a call, unless it was refused for the same cause.
    fn send(&self, kind: CallKind) -> Step {
        let Input { intent, record, now, .. } = *self.input;
        match &self.memory.refused {
            Some(refused) if now < refused.until && refused.cause == cause(kind, intent, record) => {
                Step::Report(Outcome::Refused, Some(between(now, refused.until)))
            }
            _ => Step::Send(kind),
        }
    }

    /// Reports a call that has not ended.
    fn wait(&self, kind: CallKind) -> Step {
        Step::Report(Outcome::Running(kind), Some(pace(self.since_call())))
    }

    /// Returns the time since the last call was about to be sent.
    fn since_call(&self) -> Duration {
        self.state.call.as_ref().map_or(Duration::MAX, |call| between(call.at, self.input.now))
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
