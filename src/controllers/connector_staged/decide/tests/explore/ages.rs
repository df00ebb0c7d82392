//! Time passes: what is persisted and kept in memory grows older, up to [`CAP`].

use std::time::Duration;

use jiff::Timestamp;

use super::world::{Kept, Stage, World};
use super::{CAP, Explorer, NOW, Step, TICK};
use crate::controllers::connector_staged::decide::TransientState;
use crate::controllers::connector_staged::persisted::PersistedState;

/// Longer than the pause before a change is sent again, and shorter than a tick.
const MOMENT: Duration = Duration::from_secs(20);

impl Explorer {
    /// A tick or a moment passes. Reconciles are short compared with both, so none is under way.
    pub(super) fn time_passes(world: &World, steps: &mut Vec<Step>) {
        if world.stage != Stage::Idle {
            return;
        }
        let mut next = world.clone();
        each(&mut next, |time| *time -= TICK);
        next.lag = next.lag.saturating_sub(1);
        if next.lag == 0 {
            next.before = None;
        }
        // A call that has not arrived by now never does.
        next.flying = None;
        steps.push(Step { label: "time: half a minute passes".to_owned(), fair: true, next });
        let mut next = world.clone();
        each(&mut next, |time| *time = (*time).min(NOW.max(*time - MOMENT)));
        if let Some(resource) = &mut next.resource
            && let Some(operation) = &mut resource.persisted.0.operation
        {
            operation.started_at = operation.started_at.min(NOW - MOMENT);
        }
        if next != *world {
            steps.push(Step { label: "time: a moment passes".to_owned(), fair: false, next });
        }
    }
}

/// Changes every time on which something depends, at most to the age [`CAP`].
fn each(world: &mut World, change: impl Fn(&mut Timestamp)) {
    if let Some(resource) = &mut world.resource {
        each_of(&mut resource.persisted, &change);
    }
    let Kept(TransientState { absent_since, refused, pause, busy_since, ahead, deleted }) = &mut world.transient;
    assert!(ahead.is_none(), "no clock jumps here");
    let times = absent_since.iter_mut().chain(busy_since);
    let times = times.chain(refused.iter_mut().map(|refused| &mut refused.until));
    for time in times.chain(pause.iter_mut().map(|pause| &mut pause.until)) {
        change(time);
        *time = (*time).max(NOW - CAP);
    }
    if let Some(pause) = pause {
        pause.times = pause.times.min(2);
    }
    *deleted = deleted.map(|attempt| attempt.min(3));
    if let Some(refused) = refused {
        refused.times = refused.times.min(2);
    }
}

fn each_of(Kept(persisted): &mut Kept<PersistedState>, change: &impl Fn(&mut Timestamp)) {
    let operation = persisted.operation.iter_mut();
    let applied = persisted.applied.iter_mut().map(|applied| &mut applied.at);
    for time in operation.map(|operation| &mut operation.started_at).chain(applied) {
        change(time);
        *time = (*time).max(NOW - CAP);
    }
    if let Some(operation) = &mut persisted.operation {
        operation.attempt = operation.attempt.min(3);
    }
    if let Some(publication) = &mut persisted.publication {
        // No row depends on it.
        publication.at = NOW - CAP;
    }
}
