//! What a world becomes if nothing more happens: no faults, no edits, no other clients.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::world::{OURS, Phases, Previews, Stage, World};
use super::{Budget, Explorer};
use crate::controllers::connector_staged::decide::{Outcome, Step};

/// Maximum number of steps until a world has recovered: some minutes of ticks with everything that an operator does in
/// each.
const STEPS: usize = 200;

impl Explorer {
    /// Whether the world recovers in the end. What follows from a world is always the same, so it is remembered.
    pub(super) fn recovers(&self, world: &World) -> bool {
        if world.broken.is_some() {
            return true;
        }
        let mut world = quiet(world);
        let mut way = Vec::new();
        let well = loop {
            // Another property detects what breaks on the way.
            let hash = hash(&world);
            if world.broken.is_some() || self.is_good(&world) || self.recovering.lock().contains(&hash) {
                break true;
            }
            let Some(next) = self.next_quiet(&world).filter(|_| way.len() < STEPS) else { break false };
            way.push(hash);
            world = next;
        };
        if well {
            self.recovering.lock().extend(way);
        }
        well
    }

    /// One step: of the operator, otherwise of the remote, otherwise of time.
    fn next_quiet(&self, world: &World) -> Option<World> {
        let mut steps = Vec::new();
        self.operator_steps(world, &mut steps);
        self.remote_moves(world, &mut steps);
        Self::time_passes(world, &mut steps);
        steps.into_iter().filter(|step| step.fair).map(|step| quiet(&step.next)).find(|next| next != world)
    }

    /// Whether nothing is left to do and the conditions are correct.
    fn is_good(&self, world: &World) -> bool {
        let Some(resource) = &world.resource else { return world.flying.is_none() };
        if world.stage != Stage::Idle || world.flying.is_some() || resource.deleting {
            return false;
        }
        let decision = self.decided(world, resource, world.record.as_ref());
        let record = world.record.as_ref();
        let is_there = |is: &dyn Fn(&super::world::Record) -> bool| record.is_some_and(is);
        let so = match decision.outcome {
            Outcome::Settled(no_op) => self.is_so(world, resource, no_op),
            Outcome::KeyTaken => is_there(&|record| record.owner != OURS || record.disguised),
            Outcome::Disappeared => record.is_none(),
            Outcome::PreviewRefused => is_there(&|record| record.preview == Previews::Refused),
            Outcome::PublishingFailed => is_there(&|record| record.phase == Phases::Failed),
            _ => false,
        };
        so && decision.step == Step::NoOp && decision.persisted == resource.persisted.0
    }
}

pub(super) fn hash(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}

/// Returns the same world without further faults.
fn quiet(world: &World) -> World {
    World { budget: Budget::default(), ..world.clone() }
}
