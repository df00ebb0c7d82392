//! Rule 4 in this world: two resources claim one key, and the real code selects one of their claims.

use jiff::Timestamp;

use super::settings::Rule;
use super::world::{ConditionUpdate, InProgress, Reading, Stage, World};
use super::{Explorer, OPERATORS, ask};
use crate::operator::cluster::keys::{Claim, owner_before};
use crate::operator::object_ref::ObjectRef;

impl Explorer {
    fn claim(&self, world: &World, which: usize) -> Option<Claim> {
        let resource = &world.resources[which];
        let persisted = self.persisted_states.get(resource.persisted);
        let announced =
            world.operators.iter().any(|operator| usize::from(operator.on) == which && operator.run.announced);
        (resource.exists && !resource.observed).then(|| Claim {
            object_ref: ObjectRef::deployment("namespace", &format!("resource-{}", resource.uid)),
            id: persisted.id.clone(),
            operation: persisted.operation.is_some(),
            begins: announced,
            created: Timestamp::from_second(resource.uid.into()).expect("the uids here are small"),
        })
    }

    /// Whether another resource has the key that this operator's resource claims.
    pub(super) fn is_second(&self, world: &World, who: usize) -> bool {
        if !self.settings.contested || self.settings.without == Some(Rule::OneWinner) {
            return false;
        }
        let all: Vec<_> = (0..world.resources.len()).filter_map(|which| self.claim(world, which)).collect();
        let mine = self.claim(world, usize::from(world.operators[who].on));
        mine.is_some_and(|mine| owner_before(&mine, &all).is_some())
    }

    /// Changes nothing, reports the conflict, and removes the finalizer if the resource is being deleted.
    pub(super) fn step_aside(&mut self, world: &World, who: usize, read: Reading) {
        let mut next = *world;
        next.operators[who].transient = 0;
        let resource = read.resource;
        let reported =
            resource.condition == ConditionUpdate::KeyConflict && resource.reported_generation == resource.generation;
        if resource.deleting || !reported {
            let stage = if resource.deleting { Stage::Release } else { Stage::WriteStatus };
            let persisted = resource.persisted;
            next.operators[who].run =
                InProgress { stage, read, persisted, condition: ConditionUpdate::KeyConflict, ..InProgress::default() };
        }
        if next != *world {
            self.emit(OPERATORS[who], "leaves the key to the other resource", true, next);
        }
    }

    /// Whether a decision has to be announced first: to create a deployment, or to take one over.
    pub(super) fn announces(&self, before: u32, after: u32, creates: bool) -> bool {
        let id = |persisted| self.persisted_states.get(persisted).id.as_deref().map_or(0, ask::number);
        let begins = creates || id(before) != id(after);
        self.settings.contested && self.settings.without != Some(Rule::Announcement) && begins
    }
}
