//! What to read next. Pure; a table of tests specifies it.
//!
//! Few deployments are read by id, many by LIST. What is due soon is read together with what is due, so that reads
//! coincide: a settled project costs one call per interval for each 100 deployments. A LIST of several pages contains much
//! more than what changes now, though, such as some of a thousand deployments that are deleted: those are read by id as
//! long as the rate of the project allows it.

use std::collections::HashMap;
use std::time::Duration;

use clock::{between, later};
use connect_api::Rate;
use connect_api::routes::LARGEST_OFFSET;
use jiff::Timestamp;

use super::circuit_breaker::BreakerState;
use super::view::View;
use crate::controllers::object_ref::ObjectRef;

/// Size of a page: each record contains its whole connector, so the largest possible page would be heavy.
pub(super) const PAGE: u16 = 100;
/// Reads by id that are preferred over a LIST while the number of deployments is unknown.
const FEW: usize = 3;
/// Reads by id of what changes now that are preferred over a LIST of several pages, for each page.
const READS_PER_PAGE: usize = 10;
/// At most as many of these as the rate allows in this part of a second.
const PART_OF_A_SECOND: usize = 4;
/// How old the number of deployments may become; reading it also checks that the credentials still work.
pub(super) const COUNT_AGE: Duration = Duration::from_mins(10);

/// The inputs of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlanInputs {
    /// The time now.
    pub(super) now: Timestamp,
    /// State of the circuit breaker.
    pub(super) circuit_breaker: BreakerState,
    /// Number of deployments in the project, and when it was read.
    pub(super) counted: Option<(u64, Timestamp)>,
    /// Rate of the requests.
    pub(super) rate: Rate,
}

/// One GET by id, and the objects that need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Read {
    /// Id of the deployment.
    pub(super) id: Box<str>,
    /// The objects that poll it, in their order.
    pub(super) object_refs: Vec<ObjectRef>,
}

/// What to read next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// Nothing before this time.
    Rest(Timestamp),
    /// A page of one record: shows how many deployments exist, and whether the remote works.
    Count,
    /// These deployments, by id.
    Read(Vec<Read>),
    /// All pages. These reads are due, and happen by id for what is on no page: only a GET proves absence.
    List(Vec<Read>),
}

/// Decides what to read next.
pub(super) fn plan(view: &View, facts: PlanInputs) -> Plan {
    let failures = match facts.circuit_breaker {
        BreakerState::Open(until) => return Plan::Rest(until),
        BreakerState::HalfOpenForList => return Plan::Count,
        BreakerState::HalfOpen(failures) => failures,
        BreakerState::Closed => 0,
    };
    let PendingRead { mut due, mut soon, changing, next, watched } = wanted(view, facts.now);
    if failures > 0 {
        // Half open: one call only, alternating between a read and a count, so that neither a single bad record nor a
        // failing LIST keeps the circuit breaker open.
        due.truncate(usize::from(failures % 2 == 1));
        return if due.is_empty() { Plan::Count } else { Plan::Read(due) };
    }
    let count_due = facts.counted.map_or(facts.now, |(_, at)| later(at, COUNT_AGE));
    let few = facts.counted.map_or(FEW, |(total, _)| pages(total.max(watched)));
    let settled = due.len() + soon.len() - changing;
    let many = if few > 1 { (few * READS_PER_PAGE).min(facts.rate.whole() / PART_OF_A_SECOND) } else { 0 };
    let may_read = settled + changing <= few || (settled <= few && changing <= many);
    if !due.is_empty() && !may_read {
        return Plan::List(due);
    }
    if count_due <= facts.now {
        return Plan::Count;
    }
    if due.is_empty() {
        return Plan::Rest(next.min(count_due));
    }
    due.append(&mut soon);
    Plan::Read(due)
}

/// Returns the number of pages of a LIST of so many deployments, as far as offsets can reach (contract section 3).
pub(super) fn pages(total: u64) -> usize {
    let pages = total.div_ceil(u64::from(PAGE)).clamp(1, u64::from(LARGEST_OFFSET) / u64::from(PAGE) + 1);
    usize::try_from(pages).unwrap_or(usize::MAX)
}

struct PendingRead {
    /// Due now, the longest overdue first.
    due: Vec<Read>,
    /// Due within a fifth of its period.
    soon: Vec<Read>,
    /// How many of both are of deployments that were observed before and change now.
    changing: usize,
    /// When the first read is due.
    next: Timestamp,
    /// Number of polled ids.
    watched: u64,
}

fn wanted(view: &View, now: Timestamp) -> PendingRead {
    /// All objects that poll one id.
    struct Watched<'a> {
        due: Timestamp,
        soon: bool,
        changing: bool,
        object_refs: Vec<&'a ObjectRef>,
    }
    let mut by_id: HashMap<&str, Watched> = HashMap::new();
    for (object_ref, entry) in view.entries() {
        let soon = entry.pace.is_some_and(|pace| between(now, entry.due) <= pace.period(now) / 5);
        let new = || Watched { due: entry.due, soon, changing: false, object_refs: Vec::new() };
        let watched = by_id.entry(&*entry.id).or_insert_with(new);
        watched.due = watched.due.min(entry.due);
        watched.soon |= soon;
        watched.changing |= entry.is_changing();
        watched.object_refs.push(object_ref);
    }
    let next = by_id.values().map(|watched| watched.due).min().unwrap_or(Timestamp::MAX);
    let watched = by_id.len() as u64;
    let mut chosen: Vec<(&str, Watched)> =
        by_id.into_iter().filter(|(_, watched)| watched.due <= now || watched.soon).collect();
    chosen.sort_by(|(id, one), (other_id, other)| (one.due, id).cmp(&(other.due, other_id)));
    let changing = chosen.iter().filter(|(_, watched)| watched.changing).count();
    let read = |(id, watched): &(&str, Watched)| Read {
        id: (*id).into(),
        object_refs: watched.object_refs.iter().copied().cloned().collect(),
    };
    let split = chosen.partition_point(|(_, watched)| watched.due <= now);
    let (due, soon) = chosen.split_at(split);
    PendingRead { due: due.iter().map(read).collect(), soon: soon.iter().map(read).collect(), changing, next, watched }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
