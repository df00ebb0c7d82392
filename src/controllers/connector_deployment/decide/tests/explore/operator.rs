//! The operator in this world: it looks, decides with the real `decide`, writes, calls, takes the answer in with the
//! real `answered`, and may die between any two of these.

use super::ask::{Question, name, number, phase, wanted};
use super::remote::{Effect, arrive};
use super::world::{Deployment, Request, Resource, Run, Stage, Told, Verb, World};
use super::{Broken, Explorer, NOW};
use crate::clock::between;
use crate::controllers::connector_deployment::decide::{Answer, Call, CallKind, Cause, LIMIT, answered};
use crate::controllers::connector_deployment::ledger::{OperationKind, OperationState};

impl Explorer {
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
        let after = Resource { ledger: decided.ledger, told: decided.told, told_generation, ..world.resource };
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
                serves: served.map_or(0, |request| request.parse().expect("requests here are numbers")),
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
                    next.resource = Resource { orphan: world.resource.orphan, ..Default::default() };
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
        let started = self.ledgers.get(world.run.ledger).operation.as_ref().expect("it is written first").started_at;
        if between(started, NOW) >= LIMIT {
            next.run = Run::default();
            self.emit("operator is too late to send", true, next);
            return;
        }
        for (effect, mut next) in arrive(&self.settings, world, world.run.call) {
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
