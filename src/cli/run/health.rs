//! Whether the process is alive and ready, for the kubelet: what stands in `/livez` and `/readyz`.
//!
//! Alive means that nothing hangs; a remote or an API server that is away or slow changes nothing about that, since a
//! restart would not help. Ready means that it does its part: the leader knows every resource, a standby takes part in the
//! election. What is the case is told from outside: [`Health::set_stage`], [`Health::took_part`].

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::Clock;
use crate::controllers::work::Work;

/// Time without a round of the election after which a standby is not ready; rounds come every 2 s.
const ELECTION_AGE: Duration = Duration::from_mins(1);

/// How far the process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It waits for the CRDs of its version.
    AwaitsCrds,
    /// Another process runs the controllers.
    StandsBy,
    /// It runs the controllers.
    Leads,
}

/// How the process is.
pub struct Health {
    clock: Clock,
    work: Arc<Work>,
    state: Mutex<State>,
}

struct State {
    stage: Stage,
    /// When a round of the election was last done, on [`Clock::elapsed`].
    election: Option<Duration>,
}

/// The answer to a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Whether every check is passed.
    pub passed: bool,
    /// Each check in a line, as the API server writes them with `?verbose`.
    pub text: String,
}

type Check = (&'static str, Result<(), String>);

impl Health {
    /// Of a process that has just started.
    #[must_use]
    pub fn new(clock: Clock, work: Arc<Work>) -> Arc<Self> {
        Arc::new(Self { clock, work, state: Mutex::new(State { stage: Stage::AwaitsCrds, election: None }) })
    }

    /// The process is so far now.
    pub fn set_stage(&self, stage: Stage) {
        self.lock().stage = stage;
        self.work.metrics().leads(stage == Stage::Leads);
    }

    /// A round of the election was done: the Lease was read or written.
    pub fn took_part(&self) {
        let now = self.clock.elapsed();
        self.lock().election = Some(now);
    }

    /// Whether nothing hangs.
    #[must_use]
    pub fn livez(&self) -> Report {
        let checks = [
            ("ping", Ok(())),
            ("main-loop", self.work.loop_alive()),
            ("runs", self.work.runs_go_on()),
            ("events", self.work.events_are_followed()),
        ];
        report("livez", &checks)
    }

    /// Whether it does its part.
    #[must_use]
    pub fn readyz(&self) -> Report {
        let State { stage, election } = *self.lock();
        let served = match stage {
            Stage::AwaitsCrds => Err("the CRDs of this version are not served yet".to_owned()),
            Stage::StandsBy | Stage::Leads => Ok(()),
        };
        let part: Option<Check> = match stage {
            Stage::AwaitsCrds => None,
            Stage::Leads => Some(("first-lists", self.work.lists())),
            Stage::StandsBy => Some(("election", self.takes_part(election))),
        };
        report(
            "readyz",
            &[Some(("ping", Ok(()))), Some(("crds", served)), part].into_iter().flatten().collect::<Vec<_>>(),
        )
    }

    fn takes_part(&self, election: Option<Duration>) -> Result<(), String> {
        let Some(last) = election else { return Err("it has not taken part in the election yet".to_owned()) };
        let age = self.clock.elapsed().saturating_sub(last);
        if age > ELECTION_AGE {
            return Err(format!("the Lease was not reached for {} s", age.as_secs()));
        }
        Ok(())
    }

    /// A panic elsewhere leaves what was told last.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn report(name: &str, checks: &[Check]) -> Report {
    let passed = checks.iter().all(|(_, result)| result.is_ok());
    let mut text = String::new();
    for (check, result) in checks {
        // Writing into a string cannot fail.
        let _ = match result {
            Ok(()) => writeln!(text, "[+]{check} ok"),
            Err(why) => writeln!(text, "[-]{check} failed: {why}"),
        };
    }
    let _ = writeln!(text, "{name} check {}", if passed { "passed" } else { "failed" });
    Report { passed, text }
}
