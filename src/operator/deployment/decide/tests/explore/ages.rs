//! Persisted and transient states, by number and growing older: times are ages before `NOW`, capped, so that there are
//! finitely many.

use std::time::Duration;

use jiff::Timestamp;

use super::world::{Operator, World};
use super::{CAP, Explorer, NOW, TICK};
use crate::operator::deployment::decide::{GATHER, TransientState};
use crate::operator::deployment::persisted::PersistedState;

impl Explorer {
    pub(super) fn number_persisted(&mut self, mut persisted: PersistedState) -> u32 {
        if let Some(operation) = &mut persisted.operation {
            operation.attempt = operation.attempt.min(3);
            operation.started_at = operation.started_at.max(NOW - CAP);
        }
        if let Some(applied) = &mut persisted.applied {
            applied.at = applied.at.max(NOW - CAP);
        }
        self.persisted_states.number(&persisted)
    }

    pub(super) fn number_memory(&mut self, mut transient: TransientState) -> u32 {
        each_time(&mut transient, |time| *time = (*time).max(NOW - CAP));
        if let Some(pause) = &mut transient.pause {
            pause.times = pause.times.min(2);
        }
        if let Some(refused) = &mut transient.refused {
            refused.times = refused.times.min(2);
        }
        self.local_caches.number(&transient)
    }

    /// Makes everything a tick older.
    pub(super) fn older(&mut self, world: &mut World) {
        self.each_number(world, &mut Self::older_persisted, &mut Self::older_memory);
    }

    /// Lets a time pass that is short compared with a tick: collected changes are sent, short pauses end, and a call
    /// may be repeated while the first one may still be under way.
    pub(super) fn a_moment_older(&mut self, world: &mut World) {
        self.each_number(world, &mut Self::repeatable, &mut |explorer, number| {
            let transient = a_moment_later(explorer.local_caches.get(number).clone());
            explorer.number_memory(transient)
        });
    }

    fn each_number(
        &mut self,
        world: &mut World,
        persisted: &mut dyn FnMut(&mut Self, u32) -> u32,
        transient: &mut dyn FnMut(&mut Self, u32) -> u32,
    ) {
        for resource in &mut world.resources {
            resource.persisted = persisted(self, resource.persisted);
        }
        for Operator { transient: cache, stalled, run, .. } in &mut world.operators {
            *cache = transient(self, *cache);
            run.transient = transient(self, run.transient);
            run.persisted = persisted(self, run.persisted);
            run.read.resource.persisted = persisted(self, run.read.resource.persisted);
            if let Some(stalled) = stalled {
                stalled.resource.persisted = persisted(self, stalled.resource.persisted);
            }
        }
    }

    fn repeatable(&mut self, number: u32) -> u32 {
        const PAUSE: Duration = Duration::from_secs(20);
        if number == 0 {
            return number;
        }
        let persisted = self.persisted_states.get(number);
        if persisted.operation.as_ref().is_none_or(|operation| operation.started_at <= NOW - PAUSE) {
            return number;
        }
        let mut persisted = persisted.clone();
        if let Some(operation) = &mut persisted.operation {
            operation.started_at = NOW - PAUSE;
        }
        self.number_persisted(persisted)
    }

    fn older_persisted(&mut self, number: u32) -> u32 {
        if number == 0 {
            return number;
        }
        if let Some(older) = self.older.get(&(true, number)) {
            return *older;
        }
        let mut persisted = self.persisted_states.get(number).clone();
        if let Some(operation) = &mut persisted.operation {
            operation.started_at -= TICK;
        }
        if let Some(applied) = &mut persisted.applied {
            applied.at -= TICK;
        }
        let older = self.number_persisted(persisted);
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
        let mut transient = self.local_caches.get(number).clone();
        each_time(&mut transient, |time| *time -= TICK);
        let older = self.number_memory(transient);
        self.older.insert((false, number), older);
        older
    }
}

fn a_moment_later(mut transient: TransientState) -> TransientState {
    if let Some(change) = &mut transient.change {
        change.last = change.last.min(NOW - GATHER);
        change.first = change.first.min(change.last);
    }
    if let Some(pause) = &mut transient.pause {
        pause.until = pause.until.min(NOW);
    }
    transient
}

fn each_time(transient: &mut TransientState, change: impl Fn(&mut Timestamp)) {
    let TransientState { absent_since, resting, change: changes, refused, pause, busy_since } = transient;
    let changes = changes.iter_mut().flat_map(|changes| [&mut changes.first, &mut changes.last]);
    absent_since
        .iter_mut()
        .chain(busy_since)
        .chain(resting.iter_mut().map(|resting| &mut resting.since))
        .chain(changes)
        .chain(refused.iter_mut().map(|refused| &mut refused.until))
        .chain(pause.iter_mut().map(|pause| &mut pause.until))
        .for_each(change);
}
