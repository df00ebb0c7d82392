//! The operator in this world: it looks, decides with the real `decide`, writes, calls, takes the answer in with the
//! real `answered`, and may die between any two of these.

use jiff::Timestamp;

use super::remote::{Effect, arrive};
use super::world::{Deployment, Request, Run, Stage, Status, Told, Verb, World};
use super::{Broken, CAP, Explorer, NOW, TICK};
use crate::clock::between;
use crate::controllers::connector_deployment::decide::tests::build::{identity, intent, visible};
use crate::controllers::connector_deployment::decide::{
    Answer, Call, CallKind, Case, Cause, Deletion, GATHER, Intent, LIMIT, Memory, Step, Verdict, Wanted, answered,
    decide,
};
use crate::controllers::connector_deployment::ledger::{
    Ledger, Look, OperationKind, OperationState, Payload, Phase, Seen,
};
use crate::controllers::digest::{Digest, VisibleDigest};

/// What one look leads to; the same question always has the same answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decided {
    ledger: u32,
    memory: u32,
    told: Told,
    step: Verb,
    release: bool,
    first: bool,
    extra: bool,
    version: u8,
    gone: u8,
}

/// Everything that a decision depends on here.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Question {
    resource: super::world::Resource,
    memory: u32,
    secret: u8,
    /// What the look finds by id or key, and another id under the key.
    found: Deployment,
    other: u8,
}

pub(super) fn name(id: u8) -> String {
    format!("id-{id}")
}

pub(super) fn number(id: &str) -> u8 {
    id.strip_prefix("id-").and_then(|digits| digits.parse().ok()).unwrap()
}

fn wanted(visible_value: u8, secret: u8) -> Wanted {
    let visible = VisibleDigest::of(&visible(&[("A", &visible_value.to_string())]));
    let digest = Digest::parse(&format!("key:{visible_value}-{secret}"));
    Wanted { payload: Payload { digest, visible, sources: Vec::new() }, secured: true }
}

fn phase(status: Status) -> Phase {
    match status {
        Status::Busy => Phase::Deploying,
        Status::Deployed => Phase::Deployed,
        Status::Failed => Phase::Failed,
        Status::Undeploying => Phase::Undeploying,
        Status::UndeployFailed => Phase::UndeployFailed,
    }
}

impl Explorer {
    fn seen(&self, found: &Deployment) -> Seen {
        let old = self.settings.late_values && (found.pending > 0 || found.status == Status::Busy);
        let value = if old { found.visible_before } else { found.visible };
        let mut seen = super::super::build::seen(phase(found.status));
        seen.id = name(found.id);
        seen.version = found.version.into();
        seen.build = Some(format!("build-{}", found.build));
        seen.values = visible(&[("A", &value.to_string())]);
        seen
    }

    fn intent(&self, question: &Question) -> Intent {
        let resource = question.resource;
        Intent {
            generation: resource.generation.into(),
            identity: identity(),
            remote_id: (resource.annotation != 0).then(|| name(resource.annotation)),
            redeploy_request: (resource.request != 0).then(|| resource.request.to_string()),
            deletion: resource.deleting.then_some(match resource.orphan {
                true => Deletion::LetGo,
                false => Deletion::Undeploy,
            }),
            adopt: self.settings.adopt,
            ..intent()
        }
    }

    fn ask(&mut self, question: Question) -> Decided {
        if let Some(decided) = self.decisions.get(&question) {
            return *decided;
        }
        let ledger = self.ledgers.get(question.resource.ledger).clone();
        let look = if question.found.id == 0 {
            Look::Absent { key_held_by: (question.other != 0).then(|| name(question.other)) }
        } else {
            Look::Present(self.seen(&question.found))
        };
        let intent = self.intent(&question);
        let wanted = wanted(question.resource.generation, question.secret);
        let memory = self.memories.get(question.memory).clone();
        let decision = decide(&Case {
            ledger: &ledger,
            intent: &intent,
            wanted: Some(&wanted),
            look: &look,
            memory: &memory,
            now: NOW,
        });
        let (step, first, version, gone) = match &decision.step {
            Step::Send(Call { kind: CallKind::Create { gone }, first }) => (Verb::Create, *first, 0, gone.clone()),
            Step::Send(Call { kind: CallKind::Redeploy { version, .. }, first }) => {
                (Verb::Redeploy, *first, u8::try_from(*version).unwrap(), None)
            }
            Step::Send(Call { kind: CallKind::Undeploy { .. }, first }) => (Verb::Undeploy, *first, 0, None),
            Step::Rest | Step::Release => (Verb::None, true, 0, None),
        };
        let from = |ledger: &Ledger| ledger.operation.as_ref().and_then(|operation| operation.from_version);
        let decided = Decided {
            told: told(decision.verdict, decision.ledger.unverified),
            ledger: self.number_ledger(decision.ledger.clone()),
            memory: self.number_memory(decision.memory.clone()),
            step,
            release: decision.step == Step::Release,
            first,
            extra: step == Verb::Redeploy && !first && from(&ledger) != from(&decision.ledger),
            version,
            gone: gone.as_deref().map_or(0, number),
        };
        self.decisions.insert(question, decided);
        decided
    }

    fn look(&mut self, world: &World, lagging: bool) {
        let source = if lagging { world.before } else { world.remote };
        let ledger = self.ledgers.get(world.resource.ledger);
        let creating = ledger.operation.as_ref().is_some_and(|operation| {
            (operation.kind, operation.state) == (OperationKind::Create, OperationState::Planned)
        });
        let by_key = ledger.id.is_none() || creating;
        let mine = by_key || ledger.id.as_ref().is_some_and(|id| number(id) == source.id);
        let (found, other) = if mine { (source, 0) } else { (Deployment::default(), source.id) };
        let decided =
            self.ask(Question { resource: world.resource, memory: world.memory, secret: world.secret, found, other });
        let mut next = *world;
        next.memory = decided.memory;
        let generation = world.resource.generation;
        let told_generation = if decided.told == Told::Unknown { world.resource.told_generation } else { generation };
        let after =
            super::world::Resource { ledger: decided.ledger, told: decided.told, told_generation, ..world.resource };
        let stage = match decided.step {
            _ if decided.release => Stage::Release,
            Verb::None if after == world.resource => Stage::Idle,
            Verb::None => Stage::WriteStatus,
            _ => Stage::WriteOperation,
        };
        if stage != Stage::Idle {
            let ledger = self.ledgers.get(decided.ledger);
            let served = ledger.operation.as_ref().and_then(|operation| operation.redeploy_request.as_ref());
            let call = Request {
                verb: decided.step,
                id: ledger.id.as_deref().map_or(0, number),
                version: decided.version,
                visible: generation,
                secret: world.secret,
                request: served.map_or(0, |request| request.parse().unwrap()),
            };
            next.run = Run {
                stage,
                ledger: decided.ledger,
                told: decided.told,
                fresh: true,
                truth: world.remote.has(generation, world.secret) || world.foreign_recent > 0,
                first: decided.first,
                extra: decided.extra,
                call: if decided.step == Verb::None { Request::default() } else { call },
                gone: decided.gone,
            };
        }
        if next != *world {
            self.emit(if lagging { "operator looks, the read lags" } else { "operator looks" }, !lagging, next);
        }
    }

    /// One step of the operator.
    pub(super) fn operator_steps(&mut self, world: &World) {
        let run = world.run;
        match run.stage {
            Stage::Idle if !world.resource.exists => {}
            Stage::Idle => {
                self.look(world, false);
                if world.lag > 0 {
                    self.look(world, true);
                }
            }
            Stage::WriteOperation => {
                let mut next = *world;
                if write(&mut next) {
                    next.allowed += u8::from(run.extra);
                    next.run.extra = false;
                    next.run.stage = if run.call.verb == Verb::Create { Stage::LookAgain } else { Stage::Call };
                }
                self.emit("operator writes the operation", true, next);
            }
            Stage::LookAgain => {
                for lagging in [false, true] {
                    let source = if lagging { world.before } else { world.remote };
                    let mut next = *world;
                    if source.id == 0 || source.id == run.gone {
                        next.run.stage = Stage::Call;
                    } else {
                        self.take_in(&mut next, &Answer::Duplicate);
                    }
                    if !lagging || world.lag > 0 {
                        self.emit("operator looks the key up again", !lagging, next);
                    }
                }
            }
            Stage::Call => self.call(world),
            Stage::WriteStatus => {
                let mut next = *world;
                write(&mut next);
                self.annotate(&mut next);
                next.run = Run::default();
                self.emit("operator writes the status", true, next);
            }
            Stage::Release => {
                let mut next = *world;
                if run.fresh {
                    next.resource = super::world::Resource { orphan: world.resource.orphan, ..Default::default() };
                }
                next.run = Run::default();
                self.emit("operator removes the finalizer", true, next);
            }
        }
        if world.budget.crashes > 0 && (run.stage != Stage::Idle || world.memory != 0) {
            let mut next = *world;
            next.budget.crashes -= 1;
            next.run = Run::default();
            next.memory = 0;
            self.emit("operator dies", false, next);
        }
    }

    fn call(&mut self, world: &World) {
        let mut next = *world;
        let started = self.ledgers.get(world.run.ledger).operation.as_ref().unwrap().started_at;
        if between(started, NOW) >= LIMIT {
            next.run = Run::default();
            self.emit("operator is too late to send", true, next);
            return;
        }
        for (effect, mut next) in arrive(&self.settings, world, &world.run.call) {
            let answer = match effect {
                Effect::Done => Answer::Accepted { id: name(next.remote.id), phase: phase(next.remote.status) },
                Effect::Duplicate => Answer::Duplicate,
                Effect::Busy => Answer::NotNow,
                Effect::NotFound => Answer::NotFound,
            };
            self.take_in(&mut next, &answer);
            self.emit("operator calls", true, next);
        }
        if world.budget.lost > 0 && world.flying[0].verb == Verb::None {
            next.budget.lost -= 1;
            next.flying[0] = world.run.call;
            next.flying.sort_unstable();
            next.run = Run::default();
            self.emit("operator calls, and gives up on an answer", false, next);
        }
    }

    fn take_in(&mut self, world: &mut World, answer: &Answer) {
        let run = world.run;
        let cause = (run.call.verb != Verb::Undeploy).then(|| Cause {
            digest: wanted(run.call.visible, run.call.secret).payload.digest,
            generation: run.call.visible.into(),
            request: (world.resource.request != 0).then(|| world.resource.request.to_string()),
        });
        let call = Call { kind: CallKind::Undeploy { id: String::new() }, first: run.first };
        let outcome =
            answered(self.ledgers.get(run.ledger), self.memories.get(world.memory), &call, cause, answer, NOW);
        world.memory = self.number_memory(outcome.memory);
        world.run.ledger = self.number_ledger(outcome.ledger);
        world.run.stage = if outcome.release { Stage::Release } else { Stage::WriteStatus };
        if outcome.key_taken {
            world.run.told = Told::KeyTaken;
        }
    }

    fn annotate(&self, world: &mut World) {
        if let Some(id) = &self.ledgers.get(world.resource.ledger).id {
            world.resource.annotation = number(id);
        }
        let ledger = self.ledgers.get(world.resource.ledger);
        let forgotten = world.resource.told == Told::KeyTaken && ledger.id.is_none() && ledger.operation.is_none();
        if forgotten && world.remote.id != 0 && !world.remote.stranger && world.lag == 0 {
            world.broken = Some(Broken::Forgotten);
        }
    }

    fn number_ledger(&mut self, mut ledger: Ledger) -> u32 {
        if let Some(operation) = &mut ledger.operation {
            operation.attempt = operation.attempt.min(3);
            operation.started_at = operation.started_at.max(NOW - CAP);
        }
        if let Some(applied) = &mut ledger.applied {
            applied.at = applied.at.max(NOW - CAP);
        }
        self.ledgers.number(&ledger)
    }

    pub(super) fn number_memory(&mut self, mut memory: Memory) -> u32 {
        each_time(&mut memory, |time| *time = (*time).max(NOW - CAP));
        if let Some(pause) = &mut memory.pause {
            pause.times = pause.times.min(2);
        }
        self.memories.number(&memory)
    }

    pub(super) fn older_ledger(&mut self, number: u32) -> u32 {
        if let Some(older) = self.older.get(&(true, number)) {
            return *older;
        }
        let mut ledger = self.ledgers.get(number).clone();
        if let Some(operation) = &mut ledger.operation {
            operation.started_at -= TICK;
        }
        if let Some(applied) = &mut ledger.applied {
            applied.at -= TICK;
        }
        let older = self.number_ledger(ledger);
        self.older.insert((true, number), older);
        older
    }

    pub(super) fn older_memory(&mut self, number: u32) -> u32 {
        if let Some(older) = self.older.get(&(false, number)) {
            return *older;
        }
        let mut memory = self.memories.get(number).clone();
        each_time(&mut memory, |time| *time -= TICK);
        let older = self.number_memory(memory);
        self.older.insert((false, number), older);
        older
    }
}

/// What is gathered is sent, and short pauses end, without the rest growing older.
pub(super) fn a_moment_later(mut memory: Memory) -> Memory {
    if let Some(change) = &mut memory.change {
        change.last = change.last.min(NOW - GATHER);
        change.first = change.first.min(change.last);
    }
    if let Some(pause) = &mut memory.pause {
        pause.until = pause.until.min(NOW);
    }
    memory
}

fn each_time(memory: &mut Memory, change: impl Fn(&mut Timestamp)) {
    let Memory { absent_since, resting, change: changes, refused, pause, followed: _, busy_since, ahead } = memory;
    absent_since.iter_mut().chain(busy_since).for_each(&change);
    resting.iter_mut().for_each(|resting| change(&mut resting.since));
    if let Some(changes) = changes {
        change(&mut changes.first);
        change(&mut changes.last);
    }
    refused.iter_mut().for_each(|refused| change(&mut refused.until));
    pause.iter_mut().for_each(|pause| change(&mut pause.until));
    assert!(ahead.is_none(), "no clock jumps here");
}

/// Writes what the run has decided, if nobody has changed the resource since it was read.
fn write(world: &mut World) -> bool {
    let run = world.run;
    if !run.fresh {
        world.run = Run::default();
        return false;
    }
    let before = world.resource;
    world.resource.ledger = run.ledger;
    world.resource.told = run.told;
    if run.told != Told::Unknown {
        world.resource.told_generation = world.resource.generation;
    }
    if world.resource != before && run.told == Told::Ready && !run.truth {
        world.broken = Some(Broken::ReadyWrong);
    }
    true
}

fn told(verdict: Verdict, unverified: bool) -> Told {
    match verdict {
        Verdict::Settled { phase: Phase::Deployed, drifted: true } => Told::ReadyDrifted,
        Verdict::Settled { phase: Phase::Deployed, .. } if unverified => Told::ReadyUnverified,
        Verdict::Settled { phase: Phase::Deployed, .. } => Told::Ready,
        Verdict::Settled { phase: Phase::UndeployFailed, .. } => Told::UndeployFailed,
        Verdict::Settled { .. } => Told::Failed,
        Verdict::KeyTaken => Told::KeyTaken,
        Verdict::Disappeared => Told::Disappeared,
        _ => Told::Unknown,
    }
}
