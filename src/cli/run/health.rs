//! Liveness and readiness of the process, for the kubelet: the content of `/livez` and `/readyz`.
//!
//! The process is alive if it answers. It is ready if it stands by, or leads and has listed every resource. A list that the
//! API server refuses is reported, but does not make the process unready. The process reports its own progress through
//! [`Health::set_stage`].

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

impl Health {
    /// Returns the health of a process that has just started.
    pub fn new(metrics: Arc<Metrics>, lists: Arc<InitialLists>) -> Arc<Self> {
        Arc::new(Self { metrics, lists, stage: Mutex::new(Stage::AwaitsCrds) })
    }

    /// Sets the stage of the process.
    pub fn set_stage(&self, stage: Stage) {
        *self.stage.lock() = stage;
        self.metrics.leads(stage == Stage::Leads);
    }

    /// Checks that the process does its part.
    pub fn readyz(&self) -> Report {
        let stage = *self.stage.lock();
        let served = match stage {
            Stage::AwaitsCrds => Err("the CRDs of this version are not served yet".to_owned()),
            _ => Ok(()),
        };
        let mut checks = vec![("ping", Ok(())), ("crds", served)];
        let mut refused = Vec::new();
        if stage == Stage::AwaitsDigestKey {
            checks.push(("digest-key", Err("its Secret cannot be read or created yet: the log says why".to_owned())));
        } else if stage == Stage::Leads {
            checks.push(("first-lists", self.lists.are_complete()));
            refused = self.lists.refused_lists();
        }
        let passed = checks.iter().all(|(_, result)| result.is_ok());
        let lines = checks.into_iter().map(|(check, result)| match result {
            Ok(()) => format!("[+]{check} ok\n"),
            Err(why) => format!("[-]{check} failed: {why}\n"),
        });
        // Not a failure: one missing namespace must not block the rollout of a new version for the others.
        let notes = refused.iter().map(|list| format!("[!]first-lists: the API server refuses to list {list}\n"));
        let result = format!("readyz check {}\n", if passed { "passed" } else { "failed" });
        Report { passed, text: lines.chain(notes).chain([result]).collect() }
    }
}
