//! What is stored and remembered, by number and growing older: times are ages before `NOW`, capped, so that there are
//! finitely many.

use std::time::Duration;

use jiff::Timestamp;

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
        self.memories.number(&memory)
    }

    /// A call may be repeated, while the first one may still be on its way.
    pub(super) fn repeatable(&mut self, number: u32) -> u32 {
        const PAUSE: Duration = Duration::from_secs(20);
        let mut ledger = self.ledgers.get(number).clone();
        let Some(operation) = &mut ledger.operation else { return number };
        if operation.started_at <= NOW - PAUSE {
            return number;
        }
        operation.started_at = NOW - PAUSE;
        self.number_ledger(ledger)
    }

    pub(super) fn older_ledger(&mut self, number: u32) -> u32 {
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

    pub(super) fn older_memory(&mut self, number: u32) -> u32 {
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

/// What is gathered is sent, and short pauses end, without the rest growing older.
pub(super) fn a_moment_later(mut memory: Memory) -> Memory {
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
