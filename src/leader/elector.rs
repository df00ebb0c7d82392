//! The loop of the election: looks at the Lease, takes it when it is free, renews it, and gives it up. What is written is
//! decided by `election.rs`.
//!
//! The deadline of a leader is taken from a clock that counts suspension, before the renewing call: whatever happens to
//! the call or to this process, nobody else leads before it is over. The loop runs in a task of its own, so that no work
//! holds up a renewal. It never waits for work to end either: that is for who calls [`Election::give_up`].

use std::time::Duration;

use clock::Clock;
use connect_api::Fence;
use futures::FutureExt as _;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::election::{self, Candidate, Step};
use super::lock::Lock;
use super::{LeaseName, Scope, State, Timing};

/// Why a leader is none any more. Its process must end: another may lead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// It was not renewed in time.
    #[error(
        "Lease {lease} was not renewed within {deadline:?} ({why}): another replica takes over, and this process ends"
    )]
    NotRenewed {
        /// Which.
        lease: LeaseName,
        /// The time that it had.
        deadline: Duration,
        /// What came of the last attempt.
        why: String,
    },
    /// Somebody else has it.
    #[error("Lease {lease} is held by {holder} now: this process ends")]
    Taken {
        /// Which.
        lease: LeaseName,
        /// By whom.
        holder: String,
    },
    /// The loop ended, which it never does by itself.
    #[error("the election of Lease {0} broke off: this process ends")]
    Broken(LeaseName),
}

/// A running election. Dropping it ends it without giving anything up.
#[derive(Debug)]
pub struct Election {
    lease: LeaseName,
    state: State,
    end: watch::Sender<bool>,
    task: JoinSet<Result<(), Lost>>,
}

impl Election {
    /// Starts to campaign for the Lease of an install that works on `scope`. `fence` holds while this process leads;
    /// `identity` is of this process alone. Needs a runtime.
    #[must_use]
    pub fn start(
        client: Client,
        lease: &LeaseName,
        scope: &Scope,
        identity: String,
        timing: Timing,
        clock: &Clock,
        fence: &Fence,
    ) -> Self {
        let state = State::candidate(clock.clone(), fence.clone());
        let (end, ended) = watch::channel(false);
        let elector = Elector {
            lock: Lock::new(client, lease, scope.annotations()),
            lease: lease.clone(),
            candidate: Candidate::new(identity, timing.lease),
            timing,
            clock: clock.clone(),
            fence: fence.clone(),
            state: state.clone(),
            stored: None,
            leads: false,
            follows: None,
            trouble: "the time was over before it was tried".to_owned(),
        };
        let mut task = JoinSet::new();
        task.spawn(elector.run(ended));
        Self { lease: lease.clone(), state, end, task }
    }

    /// How it stands.
    #[must_use]
    pub fn state(&self) -> State {
        self.state.clone()
    }

    /// Returns once this process leads. Nothing is lost if nobody waits for it to the end.
    ///
    /// # Errors
    /// When it was lost again before anybody noticed.
    pub async fn won(&mut self) -> Result<(), Lost> {
        tokio::select! {
            ended = self.task.join_next() => Err(lost(ended, &self.lease)),
            () = self.state.won() => Ok(()),
        }
    }

    /// Returns when it is lost, at once.
    pub async fn lost(&mut self) -> Lost {
        let ended = self.task.join_next().await;
        lost(ended, &self.lease)
    }

    /// Gives the Lease up, if it is held, so that another may take it at once. Only once nothing is sent any more.
    pub async fn give_up(mut self) {
        self.end.send_replace(true);
        if let Some(Ok(Err(lost))) = self.task.join_next().await {
            tracing::warn!(%lost, "there was nothing to give up");
        }
    }
}

fn lost(ended: Option<Result<Result<(), Lost>, tokio::task::JoinError>>, lease: &LeaseName) -> Lost {
    match ended {
        Some(Ok(Err(lost))) => lost,
        _ => Lost::Broken(lease.clone()),
    }
}

struct Elector {
    lock: Lock,
    lease: LeaseName,
    candidate: Candidate,
    timing: Timing,
    clock: Clock,
    fence: Fence,
    state: State,
    /// The Lease as we wrote it last, to be renewed without reading it. `None`: it has to be read.
    stored: Option<Lease>,
    leads: bool,
    /// Who was said to lead.
    follows: Option<String>,
    /// What came of the last attempt that failed.
    trouble: String,
}

/// What an attempt came to.
enum Attempt {
    /// It is ours.
    Held,
    /// It is another's, for so long at least.
    Anothers { holder: String, left: Duration },
}

impl Elector {
    async fn run(mut self, mut end: watch::Receiver<bool>) -> Result<(), Lost> {
        loop {
            self.state.turn();
            if self.leads && !self.fence.holds() {
                return Err(self.not_renewed());
            }
            let pause = self.turn().await?;
            let asked = tokio::select! {
                () = self.clock.sleep(pause) => false,
                // An end that nobody can ask for any more is one too.
                () = end.wait_for(|end| *end).map(|_| ()) => true,
            };
            if asked {
                self.give_up().await;
                return Ok(());
            }
        }
    }

    /// One attempt; returns when to make the next.
    async fn turn(&mut self) -> Result<Duration, Lost> {
        // A leader has to notice its deadline in time, also while a call hangs.
        let limit = self.timing.renew_deadline / 2;
        let clock = self.clock.clone();
        let attempt = tokio::select! {
            biased;
            attempt = self.attempt() => attempt.map_err(|error| error.to_string()),
            () = clock.sleep(limit) => Err(format!("no answer within {limit:?}")),
        };
        match attempt {
            // Its time may be over already, if this process was suspended meanwhile.
            Ok(Attempt::Held) if self.fence.holds() => {
                self.leads();
                Ok(self.timing.retry)
            }
            Ok(Attempt::Held) if self.leads => Err(self.not_renewed()),
            Ok(Attempt::Held) => Ok(Duration::ZERO),
            Ok(Attempt::Anothers { holder, .. }) if self.leads => Err(self.taken(holder)),
            Ok(Attempt::Anothers { holder, left }) => {
                self.follow(holder);
                Ok(left.min(self.timing.retry))
            }
            Err(error) => {
                self.stored = None;
                tracing::warn!(lease = %self.lease, error, leads = self.leads, "the Lease cannot be read or written");
                self.trouble = error;
                Ok(self.timing.retry)
            }
        }
    }

    async fn attempt(&mut self) -> Result<Attempt, kube::Error> {
        let found = match self.stored.take() {
            Some(lease) => Some(lease),
            None => self.lock.read().await?,
        };
        let (at, now) = (self.clock.elapsed(), self.clock.now());
        let step = self.candidate.step(found.as_ref().and_then(|lease| lease.spec.as_ref()), at, now);
        // Before the call: whoever sees what it wrote sees it later.
        let deadline = self.clock.elapsed() + self.timing.renew_deadline;
        let stored = match (step, &found) {
            (Step::Wait { holder, left }, _) => return Ok(Attempt::Anothers { holder, left }),
            (Step::Create(spec) | Step::Write(spec), Some(lease)) => self.lock.replace(lease, spec).await?,
            (Step::Create(spec) | Step::Write(spec), None) => self.lock.create(spec).await?,
        };
        self.stored = Some(stored);
        self.fence.hold_until(deadline);
        Ok(Attempt::Held)
    }

    fn leads(&mut self) {
        if !std::mem::replace(&mut self.leads, true) {
            tracing::info!(lease = %self.lease, identity = self.candidate.identity(), "this process leads");
            self.state.leads_now(true);
        }
    }

    fn follow(&mut self, holder: String) {
        if self.follows.as_ref() != Some(&holder) {
            tracing::info!(lease = %self.lease, %holder, "another process leads; this one waits");
            self.follows = Some(holder);
        }
    }

    fn taken(&mut self, holder: String) -> Lost {
        self.stop();
        Lost::Taken { lease: self.lease.clone(), holder }
    }

    fn not_renewed(&mut self) -> Lost {
        self.stop();
        Lost::NotRenewed { lease: self.lease.clone(), deadline: self.timing.renew_deadline, why: self.trouble.clone() }
    }

    fn stop(&mut self) {
        self.fence.close();
        self.state.leads_now(false);
        self.leads = false;
    }

    /// Lets others take it at once. If that does not work, they wait for its end.
    async fn give_up(&mut self) {
        self.stop();
        let limit = self.timing.renew_deadline / 2;
        let clock = self.clock.clone();
        let now = clock.now();
        let outcome = tokio::select! {
            outcome = self.release(now) => outcome.map_err(|error| error.to_string()),
            () = clock.sleep(limit) => Err(format!("no answer within {limit:?}")),
        };
        match outcome {
            Ok(true) => tracing::info!(lease = %self.lease, "the Lease is given up"),
            Ok(false) => {}
            Err(error) => tracing::warn!(lease = %self.lease, error, "the Lease could not be given up; it runs out"),
        }
    }

    /// Whether it was ours. What was asked for last may have been done without our knowing, so it is read.
    async fn release(&self, now: Timestamp) -> Result<bool, kube::Error> {
        let Some(lease) = self.lock.read().await? else { return Ok(false) };
        let Some(spec) = lease.spec.as_ref().filter(|spec| election::holder(spec) == Some(self.candidate.identity()))
        else {
            return Ok(false);
        };
        self.lock.replace(&lease, election::given_up(spec, now)).await.map(|_| true)
    }
}
