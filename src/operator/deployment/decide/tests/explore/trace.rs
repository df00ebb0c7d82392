//! Prints the steps that lead to a world, for developers.

use clock::between;

use super::world::{Deployment, Operator, Request, Resource, Verb, World};
use super::{Explorer, NOW, Step};
use crate::operator::deployment::persisted::{Operation, PersistedState};

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
        let mut facts: Vec<_> = world.resources.iter().flat_map(|resource| self.facts_of(resource)).collect();
        facts.extend([
            format!("the Secret contains {}, the digest key is key-{}", world.secret, world.key),
            format!("remote: {}", remote(&world.remote)),
            format!("a lagging read shows: {}", if world.lag > 0 { remote(&world.before) } else { "the same".into() }),
            format!("redeploys: {} of {}", world.redeploys, world.allowed),
        ]);
        facts.extend(world.flying.iter().map(|call| format!("under way: {}", request(*call))));
        for (number, Operator { run, stalled, .. }) in world.operators.iter().enumerate() {
            let version = if run.read.fresh { "the newest" } else { "no or an old" };
            let observed = if stalled.is_some() { ", its view is stale" } else { "" };
            let call = request(run.call);
            facts.push(format!("operator {}: {:?} on {version} version, {call}{observed}", number + 1, run.stage));
        }
        facts.push(world.broken.map_or_else(String::new, |broken| format!("BROKEN: {broken:?}")));
        facts
    }

    fn facts_of(&self, resource: &Resource) -> [String; 3] {
        let Resource { uid, generation, request, annotation, value, condition, reported_generation, .. } = resource;
        let flags: String = [
            (resource.deleting, " deleting"),
            (resource.orphan, " orphan"),
            (resource.suspended, " suspended"),
            (resource.observed, " observed"),
            (!resource.exists, " gone"),
        ]
        .into_iter()
        .filter_map(|(flag, name)| flag.then_some(name))
        .collect();
        [
            format!(
                "resource {uid}:{flags} generation {generation}, request {request}, annotation {annotation}, wants A={value}"
            ),
            format!("persisted for {uid}: {}", stored(self.persisted_states.get(resource.persisted))),
            format!("reported for {uid}: {condition:?} of generation {reported_generation}"),
        ]
    }
}

fn stored(persisted: &PersistedState) -> String {
    let applied = persisted.applied.as_ref().map_or_else(
        || "nothing applied".to_owned(),
        |applied| {
            let digest = applied.digest.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
            let age = between(applied.at, NOW).as_secs();
            format!("applied {digest} {:?} from version {:?} {age} s ago", applied.outcome, applied.from_version)
        },
    );
    let operation = persisted.operation.as_ref().map_or_else(|| "no operation".to_owned(), running);
    format!(
        "{}, {operation}, {applied}, handled {:?}",
        persisted.id.as_deref().unwrap_or("no id"),
        persisted.handled_redeploy
    )
}

fn running(operation: &Operation) -> String {
    let Operation { kind, state, attempt, payload, from_version, from_build, seen_busy, started_at, .. } = operation;
    let digest = payload.as_ref().map_or_else(String::new, |payload| payload.digest.to_string());
    let age = between(*started_at, NOW).as_secs();
    format!(
        "{kind:?} {state:?} {digest} attempt {attempt} from version {from_version:?} {from_build:?} seen busy {seen_busy} {age} s ago"
    )
}

fn remote(deployment: &Deployment) -> String {
    let Deployment { id, owner, version, build, status, pending, visible, secret, .. } = deployment;
    if *id == 0 {
        return "nothing".into();
    }
    let old = if *pending > 0 { ", accepted, still shows the old status" } else { "" };
    format!("id-{id} of {owner} version {version} build {build} {status:?}{old}, A={visible} secret={secret}")
}

fn request(call: Request) -> String {
    let Request { verb, owner, id, version, visible, secret, .. } = call;
    if verb == Verb::None {
        return "no call".into();
    }
    format!("{verb:?} for {owner} of id-{id} at version {version} with A={visible} secret={secret}")
}
