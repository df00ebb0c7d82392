//! What to read next. Pure: a table of tests says what it does.
//!
//! Few are read by id, many by LIST, and what is due soon comes along, so that looks fall together: a settled project
//! costs one call for each 100 deployments and interval.

use std::collections::HashMap;
use std::time::Duration;

use clock::{between, later};
use connect_api::routes::LARGEST_OFFSET;
use jiff::Timestamp;

use super::circuit_breaker::BreakerState;
use super::registry_cache::{RegistryCache, RegistryKey};
use super::view::View;
use crate::controllers::object_ref::ObjectRef;

/// Size of a page: each record carries its whole connector, so the largest possible one would be heavy.
pub(super) const PAGE: u16 = 100;
/// Reads by id that are fewer than a LIST while it is not known how many deployments there are.
const FEW: u64 = 3;
/// Connectors that are read in one round.
const OFFERS_AT_ONCE: usize = 8;
/// How old the number of deployments may become; reading it also shows that the credentials still work.
pub(super) const COUNT_AGE: Duration = Duration::from_mins(10);

/// What is known when planning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// The time now.
    pub(super) now: Timestamp,
    /// Where the gate stands.
    pub(super) circuit_breaker: BreakerState,
    /// Deployments in the project, and when that was read.
    pub(super) counted: Option<(u64, Timestamp)>,
    /// Whether connectors were read last.
    pub(super) offers_read: bool,
}

/// One GET by id, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Read {
    /// Id of the deployment.
    pub(super) id: Box<str>,
    /// Who watches it.
    pub(super) object_refs: Vec<ObjectRef>,
}

/// What to read next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// Nothing before that time.
    Rest(Timestamp),
    /// A page of one record: tells how many there are, and whether the remote works.
    Count,
    /// These, by id.
    Read(Vec<Read>),
    /// These connectors, which runs wait for or whose interval is over.
    RegistryCache(Vec<RegistryKey>),
    /// All pages; these are due, and are read by id if they are on none: only that proves absence.
    List(Vec<Read>),
}

/// Decides what to read next.
pub(super) fn plan(view: &View, registry_cache: &RegistryCache, facts: Facts) -> Plan {
    let failures = match facts.circuit_breaker {
        BreakerState::Open(until) => return Plan::Rest(until),
        BreakerState::HalfOpenForList => return Plan::Count,
        BreakerState::HalfOpen(failures) => failures,
        BreakerState::Closed => 0,
    };
    let Wanted { mut due, mut soon, next, watched } = wanted(view, facts.now);
    if failures > 0 {
        // One call only, and not always the same one: neither a single bad record nor a failing LIST keeps it closed.
        due.truncate(usize::from(failures % 2 == 1));
        return if due.is_empty() { Plan::Count } else { Plan::Read(due) };
    }
    // First, because a run asks for them before it looks; but a few at a time, and not twice in a row while deployments
    // are due: a registry that is slow must hold up no look.
    let mut connectors = registry_cache.due(facts.now);
    if !connectors.is_empty() && (due.is_empty() || !facts.offers_read) {
        connectors.truncate(OFFERS_AT_ONCE);
        return Plan::RegistryCache(connectors);
    }
    let count_due = facts.counted.map_or(facts.now, |(_, at)| later(at, COUNT_AGE));
    let reads = due.len() + soon.len();
    let few = facts.counted.map_or(FEW, |(total, _)| pages(total.max(watched)));
    if !due.is_empty() && u64::try_from(reads).unwrap_or(u64::MAX) > few {
        return Plan::List(due);
    }
    if count_due <= facts.now {
        return Plan::Count;
    }
    if due.is_empty() {
        return Plan::Rest(next.min(count_due).min(registry_cache.next()));
    }
    due.append(&mut soon);
    Plan::Read(due)
}

/// Pages of a LIST of so many deployments, as far as they can be reached (contract section 3).
fn pages(total: u64) -> u64 {
    total.div_ceil(u64::from(PAGE)).clamp(1, u64::from(LARGEST_OFFSET) / u64::from(PAGE) + 1)
}

struct Wanted {
    /// Due now, the longest waiting first.
    due: Vec<Read>,
    /// Due before another fifth of its period is over.
    soon: Vec<Read>,
    /// When the first of the others is due.
    next: Timestamp,
    /// Number of watched ids.
    watched: u64,
}

fn wanted(view: &View, now: Timestamp) -> Wanted {
    /// All who watch one id.
    struct Watched<'a> {
        due: Timestamp,
        soon: bool,
        object_refs: Vec<&'a ObjectRef>,
    }
    let mut by_id: HashMap<&str, Watched> = HashMap::new();
    for (object_ref, entry) in view.entries() {
        let soon = entry.pace.is_some_and(|pace| between(now, entry.due) <= pace.period(now) / 5);
        let watched =
            by_id.entry(&*entry.id).or_insert_with(|| Watched { due: entry.due, soon, object_refs: Vec::new() });
        watched.due = watched.due.min(entry.due);
        watched.soon |= soon;
        watched.object_refs.push(object_ref);
    }
    let next = by_id.values().map(|watched| watched.due).min().unwrap_or(Timestamp::MAX);
    let watched = by_id.len() as u64;
    let mut chosen: Vec<(&str, Watched)> =
        by_id.into_iter().filter(|(_, watched)| watched.due <= now || watched.soon).collect();
    chosen.sort_by(|(id, one), (other_id, other)| (one.due, id).cmp(&(other.due, other_id)));
    let read = |(id, watched): &(&str, Watched)| {
        let mut object_refs: Vec<ObjectRef> = watched.object_refs.iter().copied().cloned().collect();
        object_refs.sort();
        Read { id: (*id).into(), object_refs }
    };
    let split = chosen.partition_point(|(_, watched)| watched.due <= now);
    let (due, soon) = chosen.split_at(split);
    Wanted { due: due.iter().map(read).collect(), soon: soon.iter().map(read).collect(), next, watched }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
