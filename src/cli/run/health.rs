//! Whether the process is alive and ready, for the kubelet: what stands in `/livez` and `/readyz`.
//!
//! Alive means that nothing hangs; a remote or an API server that is away or slow changes nothing about that, since a
//! restart would not help. Ready means that it does its part: the leader knows every resource, a standby takes part in the
//! election. What the API server refuses to list is told, and keeps nobody from being ready. What is the case is told from outside: [`Health::set_stage`], [`Health::set_election`].

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::controllers::work::Work;
use crate::leader;

/// Time without a turn of the election after which it hangs; turns come every few seconds, also while nobody answers.
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
    work: Arc<Work>,
    state: Mutex<State>,
}

struct State {
    stage: Stage,
    /// How the election stands.
    election: Option<leader::State>,
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
    pub fn new(work: Arc<Work>) -> Arc<Self> {
        Arc::new(Self { work, state: Mutex::new(State { stage: Stage::AwaitsCrds, election: None }) })
    }

    /// The process is so far now.
    pub fn set_stage(&self, stage: Stage) {
        self.lock().stage = stage;
        self.work.metrics().leads(stage == Stage::Leads);
    }

    /// The process takes part in this election from now on.
    pub fn set_election(&self, election: leader::State) {
        self.lock().election = Some(election);
    }

    /// Whether nothing hangs.
    #[must_use]
    pub fn livez(&self) -> Report {
        let checks = [
            ("ping", Ok(())),
            ("main-loop", self.work.loop_alive()),
            ("runs", self.work.runs_go_on()),
            ("events", self.work.events_are_followed()),
            ("election", self.election_goes_on()),
        ];
        report("livez", &checks, [])
    }

    /// Whether it does its part.
    #[must_use]
    pub fn readyz(&self) -> Report {
        let stage = self.lock().stage;
        let served = match stage {
            Stage::AwaitsCrds => Err("the CRDs of this version are not served yet".to_owned()),
            Stage::StandsBy | Stage::Leads => Ok(()),
        };
        let part: Option<Check> = match stage {
            Stage::AwaitsCrds => None,
            Stage::Leads => Some(("first-lists", self.work.lists())),
            Stage::StandsBy => Some(("election", self.election_goes_on())),
        };
        let checks: Vec<_> = [Some(("ping", Ok(()))), Some(("crds", served)), part].into_iter().flatten().collect();
        let refused = if stage == Stage::Leads { self.work.refused_lists() } else { Vec::new() };
        // No reason to fail: a namespace that is missing must keep no new version from being rolled out for the others.
        let notes = refused.iter().map(|list| format!("first-lists: the API server refuses to list {list}"));
        report("readyz", &checks, notes)
    }

    /// Without an election there is nothing that could hang.
    fn election_goes_on(&self) -> Result<(), String> {
        let age = self.lock().election.as_ref().map(leader::State::since_last_turn).unwrap_or_default();
        if age > ELECTION_AGE {
            return Err(format!("the election stands still for {} s", age.as_secs()));
        }
        Ok(())
    }

    /// A panic elsewhere leaves what was told last.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn report(name: &str, checks: &[Check], notes: impl IntoIterator<Item = String>) -> Report {
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
    let _ = writeln!(text, "{name} check {}", if passed { "passed" } else { "failed" });
    Report { passed, text }
}
