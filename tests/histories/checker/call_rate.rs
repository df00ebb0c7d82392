//! Rate of calls of an operator: whatever happens, it reads and writes no faster than users and other clients do.

use std::collections::VecDeque;

use crate::interceptor::What;
use crate::prelude::*;

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

/// The class that is counted: operator, whether it calls the cluster, whether the call may change something.
type Class = (usize, bool, bool);

/// The calls of the last hour.
#[derive(Default)]
pub(super) struct CallRate(BTreeMap<Class, VecDeque<Timestamp>>);

/// Limits of calls: about twice the maxima of random histories within a minute, and three times and more those within an
/// hour.
struct Limits {
    minute: usize,
    hour: usize,
}

/// Returns the limits of a class. What has settled is read every 5 minutes.
fn at_most(cluster: bool, changes: bool) -> Limits {
    match (cluster, changes) {
        (false, true) => Limits { minute: 12, hour: 60 },
        (false, false) | (true, true) => Limits { minute: 60, hour: 240 },
        (true, false) => Limits { minute: 100, hour: 320 },
    }
}

impl Checker {
    /// Records a call of an operator.
    pub(crate) fn called(&mut self, what: &What, operator: usize, now: Timestamp) {
        // How often a frontend is called depends on the check, see `checks.rs`.
        if what.place == Callee::Frontend {
            return;
        }
        let (cluster, changes) = (what.place == Callee::Cluster, what.changes);
        let calls = self.call_rate.0.entry((operator, cluster, changes)).or_default();
        calls.push_back(now);
        let since = |span| now.saturating_sub(span).unwrap_or(Timestamp::MIN);
        let kept = calls.partition_point(|at| *at < since(HOUR));
        calls.drain(..kept);
        let within_hour = calls.len();
        let within_minute = within_hour - calls.partition_point(|at| *at < since(MINUTE));
        let most = at_most(cluster, changes);
        for (made, most, span) in [(within_minute, most.minute, "a minute"), (within_hour, most.hour, "an hour")] {
            if made > most {
                self.wrong(format!("operator {operator} made {made} calls like {:?} within {span}", what.name));
            }
        }
    }
}
