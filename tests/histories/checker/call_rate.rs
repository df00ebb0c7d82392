//! Rate of calls of an operator: whatever happens, it reads and writes no faster than users and other clients do.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;

use super::Checker;
use crate::interceptor::{Place, What};

const WINDOW: Duration = Duration::from_mins(1);

/// The class that is counted: operator, whether it calls the cluster, whether the call may change something.
type Class = (usize, bool, bool);

/// The calls of the last minute.
#[derive(Default)]
pub(super) struct CallRate(BTreeMap<Class, VecDeque<Timestamp>>);

/// Returns the limit of calls within a minute: twice the maximum of random histories.
fn at_most(cluster: bool, changes: bool) -> usize {
    match (cluster, changes) {
        (false, true) => MOST_CHANGES,
        (false, false) => MOST_POLLS,
        (true, true) => MOST_WRITES,
        (true, false) => MOST_READS,
    }
}

const MOST_CHANGES: usize = 12;
const MOST_POLLS: usize = 60;
const MOST_WRITES: usize = 60;
const MOST_READS: usize = 100;

impl Checker {
    /// Records a call of an operator.
    pub(crate) fn called(&mut self, what: &What, operator: usize, now: Timestamp) {
        // How often a frontend is called depends on the check, see `checks.rs`.
        if what.place == Place::Frontend {
            return;
        }
        let (cluster, changes) = (what.place == Place::Cluster, what.changes);
        let calls = self.call_rate.0.entry((operator, cluster, changes)).or_default();
        calls.push_back(now);
        let since = now.saturating_sub(WINDOW).unwrap_or(Timestamp::MIN);
        while calls.front().is_some_and(|first| *first < since) {
            calls.pop_front();
        }
        let count = calls.len();
        if count > at_most(cluster, changes) {
            self.wrong(format!("operator {operator} made {count} calls like {:?} within a minute", what.name));
        }
    }
}
