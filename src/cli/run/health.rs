//! Liveness and readiness of the process, for the kubelet: the content of `/livez` and `/readyz`.
//!
//! The process is alive if it answers. It is ready if it stands by, or leads and has listed every resource. A list that the
//! API server refuses is reported, but does not make the process unready. The process reports its own progress through
//! [`Health::set_stage`].

use std::fmt::Write as _;
use std::sync::Arc;

use crate::metrics::Metrics;
use crate::mutex::Mutex;
use crate::operator::cluster::initial_lists::InitialLists;

/// The stage of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It waits until the CRDs of its version are served.
    AwaitsCrds,
    /// Another process runs the controllers.
    StandsBy,
    /// No other process runs the controllers; it waits until it has the digest key.
    AwaitsDigestKey,
    /// It runs the controllers.
    Leads,
}

/// The health of the process.
pub struct Health {
    metrics: Arc<Metrics>,
    lists: Arc<InitialLists>,
    stage: Mutex<Stage>,
}

/// The response to a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Whether every check passed.
    pub passed: bool,
    /// One line per check, in the format of the API server with `?verbose`.
    pub text: String,
}

type Check = (&'static str, Result<(), String>);

impl Health {
    /// Returns the health of a process that has just started.
    #[must_use]
    pub fn new(metrics: Arc<Metrics>, lists: Arc<InitialLists>) -> Arc<Self> {
        Arc::new(Self { metrics, lists, stage: Mutex::new(Stage::AwaitsCrds) })
    }

    /// Sets the stage of the process.
    pub fn set_stage(&self, stage: Stage) {
        *self.stage.lock() = stage;
        self.metrics.leads(stage == Stage::Leads);
    }

    /// Checks that the process does its part.
    #[must_use]
    pub fn readyz(&self) -> Report {
        let stage = *self.stage.lock();
        let served = match stage {
            Stage::AwaitsCrds => Err("the CRDs of this version are not served yet".to_owned()),
            Stage::StandsBy | Stage::AwaitsDigestKey | Stage::Leads => Ok(()),
        };
        let part: Option<Check> = match stage {
            Stage::AwaitsCrds | Stage::StandsBy => None,
            Stage::AwaitsDigestKey => {
                Some(("digest-key", Err("its Secret cannot be read or created yet: the log says why".to_owned())))
            }
            Stage::Leads => Some(("first-lists", self.lists.are_complete())),
        };
        let checks: Vec<_> = [Some(("ping", Ok(()))), Some(("crds", served)), part].into_iter().flatten().collect();
        let refused = if stage == Stage::Leads { self.lists.refused_lists() } else { Vec::new() };
        // Not a failure: one missing namespace must not block the rollout of a new version for the others.
        let notes = refused.iter().map(|list| format!("first-lists: the API server refuses to list {list}"));
        report(&checks, notes)
    }
}

fn report(checks: &[Check], notes: impl IntoIterator<Item = String>) -> Report {
    let passed = checks.iter().all(|(_, result)| result.is_ok());
    let mut text = String::new();
    for (check, result) in checks {
        // Writing into a string cannot fail.
        let _ = match result {
            Ok(()) => writeln!(text, "[+]{check} ok"),
            Err(why) => writeln!(text, "[-]{check} failed: {why}"),
        };
    }
    for note in notes {
        let _ = writeln!(text, "[!]{note}");
    }
    let _ = writeln!(text, "readyz check {}", if passed { "passed" } else { "failed" });
    Report { passed, text }
}
