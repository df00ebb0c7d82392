//! The remote and everybody else: what can happen while the operator does nothing.

use super::ages::a_moment_later;
use super::world::{Build, Deployment, Request, Resource, Settings, Stage, Status, Verb, World};
use super::{Broken, Explorer, LAG_TICKS};

/// What a call comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Done,
    Duplicate,
    Busy,
    NotFound,
}

fn remember(settings: &Settings, world: &mut World) {
    if settings.lag {
        world.before = world.remote;
        world.lag = LAG_TICKS;
    }
}

/// All that can come of a call which arrives now.
pub(super) fn arrive(settings: &Settings, world: &World, call: Request) -> Vec<(Effect, World)> {
    let mut next = *world;
    match call.verb {
        Verb::None => Vec::new(),
        Verb::Create if world.remote.id != 0 => vec![(Effect::Duplicate, next)],
        Verb::Create => {
            remember(settings, &mut next);
            let (visible, secret) = (call.visible, call.secret);
            let id = world.next_id;
            next.remote = Deployment {
                id,
                version: 1,
                build: 1,
                visible,
                secret,
                visible_before: visible,
                ..Deployment::default()
            };
            next.next_id += 1;
            next.owed &= call.serves != world.resource.request;
            vec![(Effect::Done, next)]
        }
        _ if world.remote.id != call.id => vec![(Effect::NotFound, next)],
        Verb::Redeploy if world.remote.busy() || world.remote.version != call.version => vec![(Effect::Busy, next)],
        Verb::Redeploy => redeployed(settings, world, call),
        Verb::Undeploy => {
            if world.remote.stranger && !world.adopted {
                next.broken = Some(Broken::Stranger);
                return vec![(Effect::Done, next)];
            }
            let mut outcomes = Vec::new();
            if world.remote.busy() {
                outcomes.push((Effect::Busy, next));
            }
            if world.remote.status != Status::Undeploying {
                remember(settings, &mut next);
                next.remote.status = Status::Undeploying;
                next.remote.pending = 0;
                outcomes.push((Effect::Done, next));
            }
            outcomes
        }
    }
}

fn redeployed(settings: &Settings, world: &World, call: Request) -> Vec<(Effect, World)> {
    let mut next = *world;
    if world.remote.stranger && !world.adopted {
        next.broken = Some(Broken::Stranger);
    }
    remember(settings, &mut next);
    next.redeploys += 1;
    if next.redeploys > next.allowed {
        next.broken = Some(Broken::TooMany);
    }
    next.remote.visible_before = world.remote.visible;
    next.remote.visible = call.visible;
    next.remote.secret = call.secret;
    next.remote.version += 1;
    next.remote.build += u8::from(settings.build == Build::AtOnce);
    next.owed &= call.serves != world.resource.request;
    let mut late = next;
    late.remote.pending = LAG_TICKS;
    shows_busy(settings, &mut next.remote);
    vec![(Effect::Done, next), (Effect::Done, late)]
}

fn shows_busy(settings: &Settings, remote: &mut Deployment) {
    remote.pending = 0;
    remote.status = Status::Busy;
    remote.build += u8::from(settings.build == Build::WhenBusy);
}

impl Explorer {
    /// The remote goes on.
    pub(super) fn remote_moves(&mut self, world: &World) {
        let settings = self.settings;
        let step = u8::from(settings.version_counts_statuses);
        let mut next = *world;
        if world.remote.id == 0 {
        } else if world.remote.pending > 0 {
            shows_busy(&settings, &mut next.remote);
            next.remote.version += step;
            self.emit("remote: shows Deploying", true, next);
        } else if matches!(world.remote.status, Status::Busy | Status::Undeploying) {
            let deploying = world.remote.status == Status::Busy;
            let mut failed = next;
            if deploying {
                next.remote.status = Status::Deployed;
                next.remote.version += step;
                failed.remote.status = Status::Failed;
            } else {
                remember(&settings, &mut next);
                next.remote = Deployment::default();
                failed.remote.status = Status::UndeployFailed;
            }
            failed.remote.version += step;
            self.emit("remote: ends", true, next);
            if failed.budget.failures > 0 {
                failed.budget.failures -= 1;
                self.emit("remote: fails", false, failed);
            }
        }
        for (number, call) in world.flying.into_iter().enumerate() {
            for (_, mut next) in arrive(&settings, world, call) {
                next.flying[number] = Request::default();
                next.flying.sort_unstable();
                self.emit("a late call arrives", true, next);
            }
        }
    }

    /// A tick passes: one time limit of a request.
    pub(super) fn time_passes(&mut self, world: &World) {
        let settings = self.settings;
        let mut next = *world;
        next.resource.ledger = self.older_ledger(world.resource.ledger);
        next.run.ledger = self.older_ledger(world.run.ledger);
        next.memory = self.older_memory(world.memory);
        next.lag = world.lag.saturating_sub(1);
        if next.lag == 0 {
            next.before = Deployment::default();
        }
        next.foreign_recent = world.foreign_recent.saturating_sub(1);
        next.flying = <[Request; 2]>::default();
        if world.remote.pending == 1 {
            shows_busy(&settings, &mut next.remote);
            next.remote.version += u8::from(settings.version_counts_statuses);
        }
        next.remote.pending = next.remote.pending.saturating_sub(1);
        if next != *world {
            self.emit("30 s pass", true, next);
        }
        let mut next = *world;
        let memory = a_moment_later(self.memories.get(world.memory).clone());
        next.memory = self.number_memory(memory);
        if world.run.stage == Stage::Idle {
            next.resource.ledger = self.repeatable(world.resource.ledger);
        }
        if next != *world {
            self.emit("a moment passes", true, next);
        }
    }

    /// People and other programs.
    pub(super) fn others_act(&mut self, world: &World) {
        let live = world.resource.exists && !world.resource.deleting;
        let mut edit = |label, allowed: bool, change: &dyn Fn(&mut World)| {
            if allowed {
                let mut next = *world;
                change(&mut next);
                next.run.fresh &= next.resource == world.resource;
                self.emit(label, false, next);
            }
        };
        let budget = world.budget;
        edit("somebody edits the spec", live && budget.specs > 0, &|next| {
            next.budget.specs -= 1;
            next.resource.generation += 1;
            next.allowed += 1;
        });
        edit("somebody edits the Secret", live && budget.secrets > 0, &|next| {
            next.budget.secrets -= 1;
            next.secret += 1;
            next.allowed += 1;
        });
        edit("somebody asks for a redeploy", live && budget.requests > 0, &|next| {
            next.budget.requests -= 1;
            next.resource.request += 1;
            next.allowed += 1;
            next.owed = true;
        });
        edit("somebody deletes the resource", live && budget.deletions > 0, &|next| {
            next.budget.deletions -= 1;
            next.resource.deleting = true;
        });
        edit("somebody sets deletionPolicy Orphan", world.resource.exists && budget.orphans > 0, &|next| {
            next.budget.orphans -= 1;
            next.resource.orphan = true;
        });
        let quiet = world.run.stage == Stage::Idle && world.flying.iter().all(|call| call.verb == Verb::None);
        let restorable = live && quiet && world.resource.annotation != 0;
        edit("the status is lost", restorable && budget.restores > 0, &|next| {
            next.budget.restores -= 1;
            next.allowed += 1;
            let Resource { exists, orphan, generation, request, annotation, .. } = world.resource;
            next.resource = Resource { exists, orphan, generation, request, annotation, ..Resource::default() };
        });
        edit("the version grows by itself", world.remote.id != 0 && budget.versions > 0, &|next| {
            next.budget.versions -= 1;
            next.remote.version += 1;
        });
        if budget.foreign > 0 {
            self.foreigners_act(world);
        }
    }

    fn foreigners_act(&mut self, world: &World) {
        let settings = self.settings;
        let foreign = settings.foreign;
        let idle = world.remote.id != 0 && !world.remote.busy();
        let mut act = |label, allowed: bool, change: &dyn Fn(&mut World)| {
            if allowed {
                let mut next = *world;
                remember(&settings, &mut next);
                change(&mut next);
                next.budget.foreign -= 1;
                next.foreign_recent = if settings.lag { LAG_TICKS } else { 0 };
                next.allowed += 1;
                next.run.truth |= next.run.stage != Stage::Idle;
                self.emit(label, false, next);
            }
        };
        let redeploy = |next: &mut World, visible: u8| {
            next.remote.visible_before = next.remote.visible;
            next.remote.visible = visible;
            next.remote.version += 1;
            next.remote.build += u8::from(settings.build != Build::Never);
            next.remote.status = Status::Busy;
        };
        let create = |next: &mut World| {
            let status = Status::Deployed;
            let (id, values) = (next.next_id, STRANGE);
            next.remote = Deployment {
                id,
                stranger: true,
                version: 1,
                build: 1,
                status,
                visible: values,
                visible_before: values,
                secret: STRANGE,
                pending: 0,
            };
            next.next_id += 1;
        };
        act("a stranger redeploys other values", idle && foreign.redeploys, &|next| redeploy(next, STRANGE));
        act("a stranger deletes it", idle && foreign.deletes, &|next| next.remote.status = Status::Undeploying);
        act("a stranger replaces it", idle && foreign.recreates, &create);
        act("a stranger creates the key", world.remote.id == 0 && foreign.creates, &create);
    }
}

/// A value that nobody but a stranger sends.
pub(super) const STRANGE: u8 = 8;
