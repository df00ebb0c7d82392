//! What a world becomes if nothing more happens: no faults, no edits, no other clients, and one operator that leads.

use super::super::super::retained;
use super::Explorer;
use super::pool::Quick;
use super::settings::Second;
use super::world::{ConditionUpdate, Operator, Resource, Stage, Status, World};

/// Maximum number of steps until a world has recovered: some minutes of ticks with everything that an operator does in
/// each.
const STEPS: usize = 300;

impl Explorer {
    /// Whether the world recovers in the end. What follows from a world is always the same, so it is remembered.
    pub(super) fn recovers(&mut self, world: &World) -> bool {
        if world.broken.is_some() {
            return true;
        }
        let mut world = quiet(world, self.settings.contested);
        let mut way = Vec::new();
        let well = loop {
            let hash = Quick::hash(&world);
            if self.recovering.contains(&hash) || self.good(&world) {
                break true;
            }
            way.push(hash);
            match self.next_quiet(&world) {
                Some(next) if way.len() < STEPS => world = quiet(&next, self.settings.contested),
                _ => break false,
            }
        };
        if well {
            self.recovering.extend(way);
        }
        well
    }

    /// One step: of an operator, otherwise of the remote, otherwise of time.
    fn next_quiet(&mut self, world: &World) -> Option<World> {
        let before = std::mem::take(&mut self.out);
        let contested = self.settings.contested;
        let next = (0..self.settings.operators)
            // Leader election: in the end one operator leads; the other finishes its reconcile and then stops.
            .filter(|who| *who == 0 || contested || world.operators[*who].run.stage != Stage::Idle)
            .find_map(|who| self.first_fair(world, |explorer| explorer.operator_steps(world, who)))
            .or_else(|| self.first_fair(world, |explorer| explorer.remote_moves(world)))
            .or_else(|| self.first_fair(world, |explorer| explorer.time_passes(world)));
        self.out = before;
        next
    }

    fn first_fair(&mut self, world: &World, steps: impl FnOnce(&mut Self)) -> Option<World> {
        self.out.clear();
        steps(self);
        let contested = self.settings.contested;
        self.out.iter().find(|step| step.fair && quiet(&step.next, contested) != *world).map(|step| step.next)
    }

    /// Whether nothing is left to do and the conditions are correct.
    fn good(&self, world: &World) -> bool {
        world.calm() && (0..self.settings.operators).all(|who| self.good_for(world, who))
    }

    fn good_for(&self, world: &World, who: usize) -> bool {
        let (resource, remote) = (world.of(who), &world.remote);
        if !resource.exists {
            return true;
        }
        let persisted = self.persisted_states.get(resource.persisted);
        let is_current = resource.reported_generation == resource.generation;
        let still = remote.id != 0 && !remote.busy();
        match resource.condition {
            ConditionUpdate::Suspended => resource.suspended && is_current,
            _ if resource.deleting => false,
            ConditionUpdate::Observed => resource.observed && is_current && still,
            ConditionUpdate::NothingToObserve => resource.observed && is_current && remote.id == 0,
            ConditionUpdate::KeyConflict => is_current && self.is_second(world, who),
            ConditionUpdate::KeyTaken if resource.observed => is_current && still && remote.owner != resource.uid,
            _ if resource.observed || persisted.operation.is_some() => false,
            ConditionUpdate::KeyTaken => remote.id != 0 && remote.owner != resource.uid,
            ConditionUpdate::Disappeared => remote.id == 0,
            ConditionUpdate::UndeployFailed => remote.status == Status::UndeployFailed,
            ConditionUpdate::Failed => is_current && remote.status == Status::Failed && !world.owed,
            condition => {
                let so = self.is_so(condition, resource, world) && self.is_retained_reported(resource, world);
                is_current && still && !world.owed && so
            }
        }
    }

    /// Whether the condition reports exactly the values that the deployment has and that are no longer desired.
    fn is_retained_reported(&self, resource: &Resource, world: &World) -> bool {
        let applied = self.persisted_states.get(resource.persisted).applied.as_ref();
        let wanted = self.wanted((resource.value, resource.second), world.secret, 0).payload.names;
        let seen = self.observed(&world.remote);
        let condition = applied.is_some_and(|applied| retained(applied, &wanted, &seen).has(&self.second()));
        self.settings.second == Second::None || condition == (world.remote.second && !resource.second)
    }

    /// Whether a condition with `Ready=True` is correct about the values.
    fn is_so(&self, condition: ConditionUpdate, resource: &Resource, world: &World) -> bool {
        let remote = &world.remote;
        remote.status == Status::Deployed
            && match condition {
                ConditionUpdate::Ready => world.has_what_is_wanted(resource),
                ConditionUpdate::ReadyUnverified => remote.visible == resource.value,
                ConditionUpdate::ReadyDrifted => remote.secret == world.secret,
                ConditionUpdate::NotApplied => {
                    let otherwise = self.settings.normalises || remote.visible != resource.value;
                    otherwise && remote.secret == world.secret
                }
                _ => false,
            }
    }
}

/// Returns the same world without further faults, and without counters.
fn quiet(world: &World, contested: bool) -> World {
    let mut world = World { budget: super::settings::Budget::default(), redeploys: 0, allowed: 100, ..*world };
    let [_, second] = &mut world.operators;
    if second.run.stage == Stage::Idle && !contested {
        *second = Operator::default();
    }
    world.broken = None;
    world
}
