//! Explores everything that can happen to one resource and the real `decide` and `answered`, breadth first: calls that
//! are lost or late, reads that lag, an old status after a redeploy, edits, deletions, strangers, and a death of the
//! operator between any two steps.
//!
//! Time moves in ticks of one request limit (30 s). A lost call arrives within one tick or never; a read may show what
//! was before the last write, and a redeploy the old status, for two. `EXPLORE=full cargo test --lib explore` explores
//! with larger bounds, which takes minutes.

mod ages;
mod ask;
mod operator;
mod remote;
mod scenarios;
mod world;

use std::collections::hash_map::Entry;
use std::time::Duration;

use self::ask::{Decided, Question};
use self::world::{Broken, Deployment, Map, Pool, Settings, Stage, Status, Told, Verb, World};
use super::build::{NOW, visible};
use crate::controllers::connector_deployment::decide::Memory;
use crate::controllers::connector_deployment::ledger::{Applied, Ledger, Phase};
use crate::controllers::digest::{Digest, VisibleDigest};

const TICK: Duration = Duration::from_secs(30);
const LAG_TICKS: u8 = 2;
/// Older than that is as old as that: the longest time that a row waits for.
const CAP: Duration = Duration::from_mins(3);

struct Explorer {
    settings: Settings,
    ledgers: Pool<Ledger>,
    memories: Pool<Memory>,
    decisions: Map<Question, Decided>,
    older: Map<(bool, u32), u32>,
    out: Vec<(&'static str, bool, World)>,
}

impl Explorer {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            ledgers: Pool::new(&Ledger::default()),
            memories: Pool::new(&Memory::default()),
            decisions: Map::default(),
            older: Map::default(),
            out: Vec::new(),
        }
    }

    fn first(&mut self) -> World {
        let mut world = World { next_id: 1, budget: self.settings.budget, ..World::default() };
        world.resource.exists = true;
        let live = Deployment { id: 1, version: 1, build: 1, status: Status::Deployed, ..Deployment::default() };
        if self.settings.live {
            let applied = Applied {
                generation: 0,
                digest: Some(Digest::parse("key:0-0")),
                outcome: Phase::Deployed,
                from_version: None,
                sent: Some(VisibleDigest::of(&visible(&[("A", "0")]))),
                remote: Some(VisibleDigest::of(&visible(&[("A", "0")]))),
                differs_again: false,
                sources: Vec::new(),
                at: NOW - CAP,
            };
            let ledger = Ledger { id: Some(ask::name(1)), applied: Some(applied), ..Ledger::default() };
            world.resource.ledger = self.ledgers.number(&ledger);
            world.resource.annotation = 1;
            world.resource.told = Told::Ready;
            (world.remote, world.next_id) = (live, 2);
        }
        if self.settings.adopt {
            let (visible, secret) = (remote::STRANGE, remote::STRANGE);
            world.remote = Deployment { stranger: true, visible, secret, visible_before: visible, ..live };
            (world.next_id, world.allowed) = (2, 1);
        }
        world
    }

    fn emit(&mut self, label: &'static str, fair: bool, mut next: World) {
        let remote = next.remote;
        let kept = next.resource.exists || next.resource.orphan;
        if next.broken.is_none() && !kept && remote.id != 0 && !remote.stranger {
            next.broken = Some(Broken::Orphan);
        }
        if self.settings.adopt && remote.stranger {
            let id = self.ledgers.get(next.resource.ledger).id.as_deref();
            next.adopted |= id.is_some_and(|id| ask::number(id) == remote.id);
        }
        self.out.push((label, fair, next));
    }

    fn successors(&mut self, world: &World) -> Vec<(&'static str, bool, World)> {
        self.operator_steps(world);
        self.remote_moves(world);
        self.time_passes(world);
        self.others_act(world);
        std::mem::take(&mut self.out)
    }

    /// Nothing is left to do, and what people are told is so.
    fn good(&self, world: &World) -> bool {
        let World { resource, remote, .. } = world;
        let quiet = world.flying.iter().all(|call| call.verb == Verb::None);
        if !resource.exists {
            return world.flying.iter().all(|call| call.verb != Verb::Create);
        }
        let ledger = self.ledgers.get(resource.ledger);
        if resource.deleting || ledger.operation.is_some() || !quiet || world.run.stage != Stage::Idle {
            return false;
        }
        let told_now = resource.told_generation == resource.generation;
        let live =
            told_now && !world.owed && remote.id != 0 && remote.status == Status::Deployed && remote.pending == 0;
        match resource.told {
            Told::Unknown => false,
            Told::Ready => remote.has(resource.generation, world.secret) && live,
            Told::ReadyUnverified => live && remote.visible == resource.generation,
            Told::ReadyDrifted => live && remote.secret == world.secret,
            Told::Failed => told_now && remote.status == Status::Failed && !world.owed,
            Told::KeyTaken => remote.id != 0 && remote.stranger,
            Told::Disappeared => remote.id == 0,
            Told::UndeployFailed => remote.status == Status::UndeployFailed,
        }
    }
}

/// Every world that can be reached, and how.
struct Found {
    worlds: Vec<World>,
    from: Vec<(usize, &'static str)>,
    /// Steps that need no new event and no bad luck, as (to, from).
    fair: Vec<(usize, usize)>,
}

impl Found {
    fn trace(&self, explorer: &Explorer, mut number: usize) -> String {
        let mut lines = Vec::new();
        while number != 0 {
            let (before, label) = self.from[number];
            let world = &self.worlds[number];
            lines.push(format!(
                "{label}\n    {:?}\n    {:?}\n    {:?}",
                explorer.ledgers.get(world.resource.ledger),
                world.resource,
                world.remote
            ));
            number = before;
        }
        lines.reverse();
        lines.join("\n")
    }

    /// The first world from which no good one can be reached.
    fn stuck(&self, explorer: &Explorer) -> Option<usize> {
        let mut before = vec![Vec::new(); self.worlds.len()];
        for (to, from) in &self.fair {
            before[*to].push(*from);
        }
        let mut fine: Vec<bool> = self.worlds.iter().map(|world| explorer.good(world)).collect();
        let mut open: Vec<usize> = (0..fine.len()).filter(|number| fine[*number]).collect();
        while let Some(number) = open.pop() {
            for from in &before[number] {
                if !std::mem::replace(&mut fine[*from], true) {
                    open.push(*from);
                }
            }
        }
        fine.iter().position(|fine| !fine)
    }
}

/// How many worlds there are, or how a property breaks.
fn explore(settings: Settings) -> Result<usize, (Broken, String)> {
    let mut explorer = Explorer::new(settings);
    let first = explorer.first();
    let mut numbers = Map::from_iter([(first, 0)]);
    let mut found = Found { worlds: vec![first], from: vec![(0, "")], fair: Vec::new() };
    let mut number = 0;
    while number < found.worlds.len() {
        let world = found.worlds[number];
        for (label, fair, next) in explorer.successors(&world) {
            let to = match numbers.entry(next) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    let to = *new.insert(found.worlds.len());
                    found.worlds.push(next);
                    found.from.push((number, label));
                    to
                }
            };
            if let Some(broken) = next.broken {
                return Err((broken, found.trace(&explorer, to)));
            }
            if fair {
                found.fair.push((to, number));
            }
        }
        number += 1;
    }
    match found.stuck(&explorer) {
        Some(number) => Err((Broken::Stuck, found.trace(&explorer, number))),
        None => Ok(found.worlds.len()),
    }
}
