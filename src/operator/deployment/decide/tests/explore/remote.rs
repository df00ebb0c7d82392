//! The remote of the contract: the effect of a call, the progress of a deployment, and time.

use super::settings::{Build, Settings};
use super::world::{Broken, Deployment, Request, Stage, Status, Verb, World};
use super::{Explorer, LAG_TICKS, REMOTE, TIME};

/// The effect of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Done,
    Duplicate,
    Conflict,
    Busy,
    NotFound,
}

/// Lets reads show the state before this write for a while.
pub(super) fn remember(settings: &Settings, world: &mut World) {
    if settings.lag {
        world.before = world.remote;
        world.lag = LAG_TICKS;
    }
}

/// Returns everything that can result from a call which arrives now.
pub(super) fn arrive(settings: &Settings, world: &World, call: Request) -> Vec<(Effect, World)> {
    let mut next = *world;
    let strange = is_strange(settings, world, call);
    match call.verb {
        Verb::None => Vec::new(),
        Verb::Create if world.remote.id != 0 => vec![(Effect::Duplicate, next)],
        Verb::Create => vec![(Effect::Done, created(settings, world, call))],
        _ if world.remote.id != call.id => vec![(Effect::NotFound, next)],
        Verb::Redeploy if world.remote.version != call.version => vec![(Effect::Conflict, next)],
        Verb::Redeploy if world.remote.busy() => vec![(Effect::Busy, next)],
        Verb::Redeploy => redeployed(settings, world, call),
        Verb::Undeploy if strange => {
            next.broken = Some(Broken::Stranger);
            vec![(Effect::Done, next)]
        }
        Verb::Undeploy => {
            let mut outcomes = Vec::new();
            if world.remote.busy() {
                outcomes.push((Effect::Busy, next));
            }
            if world.remote.status != Status::Undeploying {
                remember(settings, &mut next);
                next.remote.status = Status::Undeploying;
                next.remote.pending = 0;
                next.remote.version += u8::from(settings.version_counts_statuses);
                outcomes.push((Effect::Done, next));
            }
            outcomes
        }
    }
}

/// Whether this call must not touch the deployment.
fn is_strange(settings: &Settings, world: &World, call: Request) -> bool {
    let of_the_other = settings.contested && world.remote.owner != call.owner;
    !world.adopted && (world.remote.owner == 0 || of_the_other)
}

fn created(settings: &Settings, world: &World, call: Request) -> World {
    let mut next = *world;
    remember(settings, &mut next);
    let Request { owner, visible, secret, second, .. } = call;
    let id = world.next_id;
    let visible_before = visible;
    let first = Deployment { id, owner, version: 1, build: 1, ..Deployment::default() };
    next.remote = Deployment { visible, secret, visible_before, second, ..first };
    next.next_id += 1;
    next.owed &= call.serves != world.resources[0].request;
    if world.created & (1 << owner) != 0 {
        next.broken = Some(Broken::CreatedTwice);
    }
    next.created |= 1 << owner;
    next
}

fn redeployed(settings: &Settings, world: &World, call: Request) -> Vec<(Effect, World)> {
    let mut next = *world;
    if is_strange(settings, world, call) {
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
    next.remote.second = call.second || (world.remote.second && !settings.replaces);
    next.remote.version += 1;
    next.remote.build += u8::from(settings.build == Build::AtOnce);
    next.owed &= call.serves != world.resources[0].request;
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
    /// The remote makes progress.
    pub(super) fn remote_moves(&mut self, world: &World) {
        let settings = self.settings;
        let step = u8::from(settings.version_counts_statuses);
        let mut next = *world;
        if world.remote.id == 0 {
        } else if world.remote.pending > 0 {
            shows_busy(&settings, &mut next.remote);
            next.remote.version += step;
            self.emit(REMOTE, "shows Deploying", true, next);
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
            self.emit(REMOTE, if deploying { "has deployed" } else { "has undeployed it" }, true, next);
            if failed.budget.failures > 0 {
                failed.budget.failures -= 1;
                self.emit(REMOTE, "fails", false, failed);
            }
        }
        for (number, call) in world.flying.into_iter().enumerate() {
            for (_, mut next) in arrive(&settings, world, call) {
                next.flying[number] = Request::default();
                next.flying.sort_unstable();
                self.emit(REMOTE, "gets a late call", true, next);
            }
        }
    }

    /// A tick passes, which is one request limit; or a moment, which is short compared with it.
    pub(super) fn time_passes(&mut self, world: &World) {
        let settings = self.settings;
        if world.operators[..settings.operators].iter().any(|operator| operator.run.stage == Stage::Idle) {
            let mut next = *world;
            self.a_moment_older(&mut next);
            if next != *world {
                self.emit(TIME, "a moment passes", true, next);
            }
        }
        let mut next = *world;
        self.older(&mut next);
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
            self.emit(TIME, "30 s pass", true, next);
        }
    }
}
