//! Which process does the work: of the replicas of one install, the holder of its Lease leads; of several installs,
//! each works on the objects within its namespaces and its selector.
//!
//! Knows nothing of the work itself, and no kind but the Lease. [`election`] is pure: whether to write the Lease, from
//! what was observed of it and when. [`elector`] is the loop around it. [`scope`] and [`selector`] define
//! what an install works on. [`fenced`] keeps a former leader from writing to the cluster, as `fence.rs` of
//! `crates/connect-api` keeps it from writing to the remote.

pub mod election;
pub mod elector;
pub mod fenced;
pub mod scope;
pub mod selector;

use std::fmt;
use std::time::Duration;

pub use elector::{Election, Lost};
pub use scope::Scope;

/// Identifies the Lease of an install, and so the install.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseName {
    /// Namespace of the operator.
    pub namespace: String,
    /// Name of its Lease.
    pub name: String,
}

impl fmt::Display for LeaseName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// The durations of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long other candidates wait after the last change that they observed before they take the Lease: whole
    /// seconds.
    pub lease: Duration,
    /// How long the leader may act after the start of a successful renewal. Shorter than `lease` by the time that a
    /// call needs to connect after it has passed the check of the fence.
    pub renew_deadline: Duration,
    /// Pause between two reads or renewals.
    pub retry: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self { lease: Duration::from_secs(15), renew_deadline: Duration::from_secs(10), retry: Duration::from_secs(2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_passed_its_check_is_connected_before_another_leads() {
        let Timing { lease, renew_deadline, retry } = Timing::default();
        assert!(renew_deadline + connect_api::http::Limits::default().connect <= lease);
        assert!(retry * 4 <= renew_deadline, "a few renewals may fail");
    }
}
