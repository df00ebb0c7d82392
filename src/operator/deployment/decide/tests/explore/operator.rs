//! An operator in this world: it observes, decides with the real `decide`, writes, calls, applies the response with the
//! real `apply_response`, and may crash between any two of these.

use clock::between;

use super::ask::{Question, name, number, phase};
use super::remote::{Effect, arrive};
use super::settings::{Conflict, Rule};
use super::world::{
    Broken, ConditionUpdate, Deployment, InProgress, Operator, Reading, Request, Resource, Stage, Verb, World,
};
use super::{Explorer, NOW, OPERATORS};
use crate::operator::deployment::decide::{Accepted, Call, CallKind, Cause, LIMIT, Outcome, Response, apply_response};
use crate::operator::deployment::persisted::{OperationState, OperationType};

impl Operator {
    /// Returns what a reconcile begins with: its view of the cluster, unless it has written since.
    fn reads(&self, resource: Resource) -> Reading {
        self.stalled.filter(|_| !self.wrote).unwrap_or(Reading { resource, fresh: true })
    }

    /// Returns the operator without anything that only the process knew. Its view of the cluster may be as stale as
    /// before.
    pub(super) fn restarted(&self, key: u8) -> Self {
        Self { on: self.on, stalled: self.stalled, key, ..Self::default() }
    }
}

impl Explorer {
    /// One step of this operator.
    pub(super) fn operator_steps(&mut self, world: &World, who: usize) {
        let operator = world.operators[who];
        let mut next = *world;
        match operator.run.stage {
            Stage::Idle => self.idle(world, who),
            Stage::WriteOperation => {
                let stored = self.settings.without == Some(Rule::OperationFirst) || self.write(&mut next, who);
                if stored {
                    let operator = &mut next.operators[who];
                    operator.transient = operator.run.transient;
                    next.allowed += u8::from(operator.run.extra);
                    operator.run.extra = false;
                    let creates = operator.run.call.verb == Verb::Create;
                    operator.run.stage = if creates { Stage::LookAgain } else { Stage::Call };
                }
                let labels = ["writes the operation", "cannot write the operation: somebody has changed the resource"];
                self.emit(OPERATORS[who], labels[usize::from(!stored)], true, next);
            }
            Stage::LookAgain => self.look_again(world, who),
            Stage::Call => self.call(world, who),
            Stage::WriteAnswer => {
                let written = self.write_answer(&mut next, who);
                let labels = ["writes the response", "cannot write the response: somebody has changed the resource"];
                self.emit(OPERATORS[who], labels[usize::from(!written)], true, next);
            }
            Stage::WriteStatus => {
                if self.write(&mut next, who) {
                    next.operators[who].transient = operator.run.transient;
                    self.annotate(&mut next, who);
                }
                next.operators[who].run = InProgress::default();
                self.emit(OPERATORS[who], "writes the status", true, next);
            }
            Stage::Release => {
                if operator.run.read.fresh {
                    let Resource { orphan, observed, .. } = *world.of(who);
                    next.vanish(usize::from(operator.on), orphan || observed);
                }
                next.operators[who].run = InProgress::default();
                self.emit(OPERATORS[who], "removes the finalizer", true, next);
            }
        }
        self.accidents(world, who);
    }

    fn accidents(&mut self, world: &World, who: usize) {
        let operator = world.operators[who];
        if world.budget.crashes > 0 && operator != operator.restarted(operator.key) {
            let mut next = *world;
            next.budget.crashes -= 1;
            next.operators[who] = operator.restarted(world.key);
            self.emit(OPERATORS[who], "crashes and starts again", false, next);
        }
        if world.budget.stalls > 0 && operator.stalled.is_none() && world.of(who).exists {
            let mut next = *world;
            next.budget.stalls -= 1;
            next.operators[who].stalled = Some(Reading { resource: *world.of(who), fresh: true });
            self.emit(OPERATORS[who], "stops seeing changes of the cluster", false, next);
        }
    }

    fn idle(&mut self, world: &World, who: usize) {
        let operator = world.operators[who];
        if operator.stalled.is_some() {
            let mut next = *world;
            next.operators[who].stalled = None;
            next.operators[who].wrote = false;
            self.emit(OPERATORS[who], "sees the current cluster again", true, next);
        }
        let read = operator.reads(*world.of(who));
        if read.resource.exists && self.is_second(world, who) {
            self.step_aside(world, who, read);
        } else if read.resource.exists {
            self.observation(world, who, read, false);
            if world.lag > 0 {
                self.observation(world, who, read, true);
            }
        }
    }

    fn observation(&mut self, world: &World, who: usize, read: Reading, lagging: bool) {
        let Operator { transient, key, .. } = world.operators[who];
        let resource = read.resource;
        let source = if lagging { world.before } else { world.remote };
        let persisted = self.persisted_states.get(resource.persisted);
        let creating = persisted.operation.as_ref().is_some_and(|operation| {
            (operation.kind, operation.state) == (OperationType::Create, OperationState::Planned)
        });
        let by_key = persisted.id.is_none() || creating;
        let mine = by_key || persisted.id.as_ref().is_some_and(|id| number(id) == source.id);
        let (found, other) = if mine { (source, 0) } else { (Deployment::default(), source.id) };
        let decided = self.ask(Question { resource, transient, secret: world.secret, key, found, other });
        let announced = self.announces(resource.persisted, decided.persisted, decided.step == Verb::Create);
        let reported_generation = if decided.condition == ConditionUpdate::Unknown {
            resource.reported_generation
        } else {
            resource.generation
        };
        let after =
            Resource { persisted: decided.persisted, condition: decided.condition, reported_generation, ..resource };
        let stage = match decided.step {
            _ if decided.remove_finalizer => Stage::Release,
            Verb::None if after == resource => Stage::Idle,
            Verb::None => Stage::WriteStatus,
            _ => Stage::WriteOperation,
        };
        let mut next = *world;
        if stage == Stage::Idle {
            next.operators[who].transient = decided.transient;
        } else {
            let persisted = self.persisted_states.get(decided.persisted);
            let served = persisted.operation.as_ref().and_then(|operation| operation.redeploy_request.as_ref());
            let call = Request {
                verb: decided.step,
                owner: resource.uid,
                id: persisted.id.as_deref().map_or(0, number),
                version: decided.version,
                visible: resource.value,
                secret: world.secret,
                second: resource.second,
                serves: served.map_or(0, |request| request.parse().expect("requests here are numbers")),
            };
            next.operators[who].run = InProgress {
                stage,
                read,
                persisted: decided.persisted,
                transient: decided.transient,
                condition: decided.condition,
                truth: world.has_what_is_wanted(&resource) || world.foreign_recent > 0,
                extra: decided.extra,
                call: if decided.step == Verb::None { Request::default() } else { call },
                gone: decided.gone,
                announced,
            };
        }
        if next != *world {
            let label = if lagging { "reads the remote, the read lags" } else { "reads the remote" };
            self.emit(OPERATORS[who], label, !lagging, next);
        }
    }

    /// Rule 1: the key is looked up once more before a create.
    fn look_again(&mut self, world: &World, who: usize) {
        for lagging in [false, true] {
            let source = if lagging { world.before } else { world.remote };
            let mut next = *world;
            let run = &mut next.operators[who].run;
            if source.id == 0 || source.id == run.gone {
                run.stage = Stage::Call;
            } else {
                self.take_in(&mut next, who, &Response::Duplicate);
            }
            if !lagging || world.lag > 0 {
                self.emit(OPERATORS[who], "looks the key up again", !lagging, next);
            }
        }
    }

    fn call(&mut self, world: &World, who: usize) {
        let run = world.operators[who].run;
        let mut next = *world;
        let operation = &self.persisted_states.get(run.persisted).operation;
        let started = operation.as_ref().expect("the operation is persisted first").started_at;
        if between(started, NOW) >= LIMIT && self.settings.without != Some(Rule::Deadline) {
            next.operators[who].run = InProgress::default();
            self.emit(OPERATORS[who], "is too late to send", true, next);
            return;
        }
        for (effect, mut next) in arrive(&self.settings, world, run.call) {
            let answer = match effect {
                Effect::Done => {
                    Response::Accepted(Accepted { id: name(next.remote.id), phase: phase(next.remote.status) })
                }
                // A gateway may have sent the request twice.
                Effect::Duplicate | Effect::Conflict => Response::Unknown,
                Effect::Busy => Response::Retryable,
                Effect::NotFound => Response::NotFound,
            };
            self.take_in(&mut next, who, &answer);
            self.emit(OPERATORS[who], "calls", true, next);
        }
        if world.budget.lost > 0 && world.flying[0].verb == Verb::None {
            next.budget.lost -= 1;
            next.flying[0] = run.call;
            next.flying.sort_unstable();
            next.operators[who].run = InProgress::default();
            self.emit(OPERATORS[who], "calls, and gives up waiting for the response", false, next);
        }
    }

    fn take_in(&mut self, world: &mut World, who: usize, answer: &Response) {
        let Operator { run, key, transient, .. } = world.operators[who];
        let resource = run.read.resource;
        let sent = || self.wanted((run.call.visible, run.call.second), run.call.secret, key).payload.digest;
        let cause = Cause {
            digest: (!resource.deleting).then(sent),
            generation: resource.generation.into(),
            request: (resource.request != 0 && !resource.deleting).then(|| resource.request.to_string()),
            latest: None,
        };
        let call = Call { kind: CallKind::Undeploy, cause };
        let (persisted, transient) = (self.persisted_states.get(run.persisted), self.local_caches.get(transient));
        let outcome = apply_response(persisted, transient, &call, answer, NOW);
        let operator = &mut world.operators[who];
        operator.transient = self.number_memory(outcome.transient);
        operator.run.persisted = self.number_persisted(outcome.persisted);
        operator.run.transient = 0;
        let operation = &self.persisted_states.get(run.persisted).operation;
        let undeploys = operation.as_ref().is_some_and(|it| it.kind == OperationType::Undeploy);
        if undeploys && matches!(answer, Response::Accepted(_)) {
            operator.run = InProgress::default();
            return;
        }
        operator.run.stage = if outcome.remove_finalizer { Stage::Release } else { Stage::WriteAnswer };
        if outcome.outcome == Outcome::KeyTaken {
            operator.run.condition = ConditionUpdate::KeyTaken;
        }
    }

    /// Writes the result of a call; if the resource was changed meanwhile, as the scenario defines.
    fn write_answer(&self, world: &mut World, who: usize) -> bool {
        let run = world.operators[who].run;
        let operation = |resource: &Resource| &self.persisted_states.get(resource.persisted).operation;
        let stored = world.of(who);
        let same = operation(stored) == operation(&run.read.resource);
        let again = stored.exists
            && match self.settings.conflict {
                Conflict::Lost => false,
                Conflict::Compared => same && stored.uid == run.read.resource.uid,
                Conflict::ComparedWithoutUid => same,
                Conflict::Forced => true,
            };
        let written = if again && !run.read.fresh {
            store(world, who);
            true
        } else {
            self.write(world, who)
        };
        if written {
            self.annotate(world, who);
        }
        world.operators[who].run = InProgress::default();
        written
    }

    fn annotate(&self, world: &mut World, who: usize) {
        let which = usize::from(world.operators[who].on);
        let Resource { condition, uid, persisted, annotation, .. } = world.resources[which];
        let persisted = self.persisted_states.get(persisted);
        let id = persisted.id.as_deref().map_or(0, number);
        if id != 0 && annotation != id {
            world.resources[which].annotation = id;
            world.changed(which, Some(who));
        }
        let ours = world.remote.id != 0 && world.remote.owner == uid;
        if self.settings.contested && !ours && id != 0 && id == world.remote.id {
            world.broken = Some(Broken::Stranger);
        }
        let taken =
            condition == ConditionUpdate::KeyTaken && id == 0 && persisted.operation.is_none() && world.lag == 0;
        if ours
            && (taken
                || condition == ConditionUpdate::KeyConflict
                || (condition == ConditionUpdate::Disappeared && id == world.remote.id))
        {
            world.broken = Some(Broken::Forgotten);
        }
    }

    /// Writes what the reconcile has decided, if the resource was not changed since it was read.
    fn write(&self, world: &mut World, who: usize) -> bool {
        let heedless = self.settings.without == Some(Rule::ResourceVersions) && world.of(who).exists;
        if !world.operators[who].run.read.fresh && !heedless {
            world.operators[who].run = InProgress::default();
            return false;
        }
        store(world, who);
        true
    }
}

/// Writes what the reconcile has decided, whatever was read.
fn store(world: &mut World, who: usize) {
    let run = world.operators[who].run;
    let which = usize::from(world.operators[who].on);
    let before = world.resources[which];
    let mut after = Resource { persisted: run.persisted, condition: run.condition, ..before };
    if run.condition != ConditionUpdate::Unknown {
        after.reported_generation = run.read.resource.generation;
    }
    world.resources[which] = after;
    // The operation that is persisted before a call always differs, at least in its start.
    if after != before || run.stage == Stage::WriteOperation {
        world.changed(which, Some(who));
        world.operators[who].wrote = world.operators[who].stalled.is_some();
    }
    if after != before && run.condition == ConditionUpdate::Ready && !run.truth {
        world.broken = Some(Broken::ReadyWrong);
    }
    world.operators[who].run.read = Reading { resource: after, fresh: true };
}
