//! Prints the steps that lead to a world, for developers.

use super::world::World;
use super::{Explorer, Step};

impl Explorer {
    /// Returns one line for each step: who did what, and what it changed.
    pub(super) fn trace(&self, steps: &[(World, Step)]) -> String {
        let line = |(number, (before, step)): (usize, &(World, Step))| {
            let (old, new) = (self.facts(before), self.facts(&step.next));
            let changed = old.iter().zip(&new).filter(|(old, new)| old != new);
            let changed: Vec<_> = changed.map(|(_, new)| new.as_str()).collect();
            format!("{:3}. {} {}\n       {}\n", number + 1, step.who, step.label, changed.join("\n       "))
        };
        steps.iter().enumerate().map(line).collect()
    }

    fn facts(&self, world: &World) -> Vec<String> {
        let World { resources, operators, remote, before, lag, flying, secret, key, .. } = world;
        let mut facts = vec![
            format!("the Secret contains {secret}, the digest key is key-{key}"),
            format!("remote: {remote:?}"),
            format!("a lagging read shows: {:?}", if *lag > 0 { before } else { remote }),
            format!("redeploys: {} of {}, broken: {:?}", world.redeploys, world.allowed, world.broken),
        ];
        for resource in resources {
            facts.push(format!("{resource:?}"));
            facts.push(format!("persisted for {}: {:?}", resource.uid, self.persisted_states.get(resource.persisted)));
        }
        facts.extend(flying.iter().map(|call| format!("under way: {call:?}")));
        for (number, operator) in operators.iter().enumerate() {
            let (run, stale) = (&operator.run, operator.stalled.is_some());
            let seen = format!("has the newest version: {}, its view is stale: {stale}", run.read.fresh);
            facts.push(format!("operator {}: {:?}, {seen}, {:?}", number + 1, run.stage, run.call));
        }
        facts
    }
}
