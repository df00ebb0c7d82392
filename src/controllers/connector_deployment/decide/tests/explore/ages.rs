//! What is stored and remembered, by number and growing older: times are ages before `NOW`, capped, so that there are
//! finitely many.

use std::time::Duration;

use jiff::Timestamp;

use super::world::{Operator, World};
use super::{CAP, Explorer, NOW, TICK};
use crate::controllers::connector_deployment::decide::{GATHER, Memory};
use crate::controllers::connector_deployment::ledger::Ledger;

impl Explorer {
    pub(super) fn number_ledger(&mut self, mut ledger: Ledger) -> u32 {
        if let Some(operation) = &mut ledger.operation {
            operation.attempt = operation.attempt.min(3);
            operation.started_at = operation.started_at.max(NOW - CAP);
        }
        if let Some(applied) = &mut ledger.applied {
            applied.at = applied.at.max(NOW - CAP);
        }
        self.ledgers.number(&ledger)
    }

    pub(super) fn number_memory(&mut self, mut memory: Memory) -> u32 {
        each_time(&mut memory, |time| *time = (*time).max(NOW - CAP));
        if let Some(pause) = &mut memory.pause {
            pause.times = pause.times.min(2);
        }
        if let Some(refused) = &mut memory.refused {
            refused.times = refused.times.min(2);
        }
        self.memories.number(&memory)
    }

    /// Everything is a tick older.
    pub(super) fn older(&mut self, world: &mut World) {
        self.each_number(world, &mut Self::older_ledger, &mut Self::older_memory);
    }

    /// Time passes that is short beside a tick: what is gathered is sent, short pauses end, and a call may be
    /// repeated, while the first one may still be on its way.
    pub(super) fn a_moment_older(&mut self, world: &mut World) {
        self.each_number(world, &mut Self::repeatable, &mut |explorer, number| {
            let memory = a_moment_later(explorer.memories.get(number).clone());
            explorer.number_memory(memory)
        });
    }

    fn each_number(
        &mut self,
        world: &mut World,
        ledger: &mut dyn FnMut(&mut Self, u32) -> u32,
        memory: &mut dyn FnMut(&mut Self, u32) -> u32,
    ) {
        for resource in &mut world.resources {
            resource.ledger = ledger(self, resource.ledger);
        }
        for Operator { memory: remembered, stalled, run, .. } in &mut world.operators {
            *remembered = memory(self, *remembered);
            run.memory = memory(self, run.memory);
            run.ledger = ledger(self, run.ledger);
            run.read.resource.ledger = ledger(self, run.read.resource.ledger);
            if let Some(stalled) = stalled {
                stalled.resource.ledger = ledger(self, stalled.resource.ledger);
            }
        }
    }

    fn repeatable(&mut self, number: u32) -> u32 {
        const PAUSE: Duration = Duration::from_secs(20);
        if number == 0 {
            return number;
        }
        let ledger = self.ledgers.get(number);
        if ledger.operation.as_ref().is_none_or(|operation| operation.started_at <= NOW - PAUSE) {
            return number;
        }
        let mut ledger = ledger.clone();
        if let Some(operation) = &mut ledger.operation {
            operation.started_at = NOW - PAUSE;
        }
        self.number_ledger(ledger)
    }

    fn older_ledger(&mut self, number: u32) -> u32 {
        if number == 0 {
            return number;
        }
        if let Some(older) = self.older.get(&(true, number)) {
            return *older;
        }
        let mut ledger = self.ledgers.get(number).clone();
        if let Some(operation) = &mut ledger.operation {
            operation.started_at -= TICK;
        }
        if let Some(applied) = &mut ledger.applied {
            applied.at -= TICK;
        }
        let older = self.number_ledger(ledger);
        self.older.insert((true, number), older);
        older
    }

    fn older_memory(&mut self, number: u32) -> u32 {
        if number == 0 {
            return number;
        }
        if let Some(older) = self.older.get(&(false, number)) {
            return *older;
        }
        let mut memory = self.memories.get(number).clone();
        each_time(&mut memory, |time| *time -= TICK);
        let older = self.number_memory(memory);
        self.older.insert((false, number), older);
        older
    }
}

fn a_moment_later(mut memory: Memory) -> Memory {
    if let Some(change) = &mut memory.change {
        change.last = change.last.min(NOW - GATHER);
        change.first = change.first.min(change.last);
    }
    if let Some(pause) = &mut memory.pause {
        pause.until = pause.until.min(NOW);
    }
    memory
}

fn each_time(memory: &mut Memory, change: impl Fn(&mut Timestamp)) {
    let Memory { absent_since, resting, change: changes, refused, pause, followed: _, busy_since, ahead } = memory;
    let changes = changes.iter_mut().flat_map(|changes| [&mut changes.first, &mut changes.last]);
    absent_since
        .iter_mut()
        .chain(busy_since)
        .chain(resting.iter_mut().map(|resting| &mut resting.since))
        .chain(changes)
        .chain(refused.iter_mut().map(|refused| &mut refused.until))
        .chain(pause.iter_mut().map(|pause| &mut pause.until))
        .for_each(change);
    assert!(ahead.is_none(), "no clock jumps here");
}
