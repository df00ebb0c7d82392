//! How it came to that, in lines for people.

use super::world::{Deployment, Request, Verb, World};
use super::{Explorer, NOW, Step};
use crate::clock::between;
use crate::controllers::connector_deployment::ledger::{Ledger, Operation};

impl Explorer {
    /// One line for each step: who did what, and what has changed by it.
    pub(super) fn trace(&self, steps: &[(World, Step)]) -> String {
        let line = |(number, (before, step)): (usize, &(World, Step))| {
            let (old, new) = (self.facts(before), self.facts(&step.next));
            let changed: Vec<_> = old.iter().zip(&new).filter(|(old, new)| old != new).map(|(_, new)| new.as_str()).collect();
            format!("{:3}. {} {}\n       {}\n", number + 1, step.who, step.label, changed.join("\n       "))
        };
        steps.iter().enumerate().map(line).collect()
    }

    fn facts(&self, world: &World) -> Vec<String> {
        let resource = world.resource;
        let mut flags = String::new();
        for (flag, name) in [
            (resource.deleting, " deleting"),
            (resource.orphan, " orphan"),
            (resource.suspended, " suspended"),
            (resource.observed, " observed"),
            (!resource.exists, " gone"),
        ] {
            flags.push_str(if flag { name } else { "" });
        }
        let mut facts = vec![
            format!(
                "resource {}:{flags} generation {}, request {}, annotation {}, wants A={} secret={} key={}",
                resource.uid, resource.generation, resource.request, resource.annotation, resource.value, world.secret, world.key
            ),
            format!("stored: {}", stored(self.ledgers.get(resource.ledger))),
            format!("told: {:?} of generation {}", resource.told, resource.told_generation),
            format!("remote: {}", remote(&world.remote)),
            format!("a lagging read: {}", if world.lag > 0 { remote(&world.before) } else { "nothing".into() }),
            format!("redeploys: {} of {}", world.redeploys, world.allowed),
        ];
        facts.extend(world.flying.iter().filter(|call| call.verb != Verb::None).map(|call| format!("on its way: {}", request(call))));
        for (number, operator) in world.operators.iter().enumerate() {
            let run = &operator.run;
            facts.push(format!(
                "operator {}: {:?}, {}, {}",
                number + 1,
                run.stage,
                if run.read.fresh { "on the newest version" } else { "on no or an old version" },
                request(&run.call),
            ));
        }
        if let Some(broken) = world.broken {
            facts.push(format!("BROKEN: {broken:?}"));
        }
        facts
    }
}

fn stored(ledger: &Ledger) -> String {
    let applied = ledger.applied.as_ref().map_or_else(
        || "nothing applied".to_owned(),
        |applied| {
            let digest = applied.digest.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
            format!("applied {digest} {:?} from version {:?} {} ago", applied.outcome, applied.from_version, between(applied.at, NOW).as_secs())
        },
    );
    let operation = ledger.operation.as_ref().map_or_else(|| "no operation".to_owned(), running);
    format!("{}, {operation}, {applied}, handled {:?}", ledger.id.as_deref().unwrap_or("no id"), ledger.handled_redeploy)
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

fn request(call: &Request) -> String {
    let Request { verb, owner, id, version, visible, secret, .. } = call;
    format!("{verb:?} for {owner} of id-{id} at version {version} with A={visible} secret={secret}")
}
