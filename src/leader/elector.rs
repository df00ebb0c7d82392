//! The loop of the election: reads the Lease, takes it when it is free, renews it, and releases it. `election.rs`
//! decides what to write.
//!
//! The leader computes its deadline before the renewing call, on a clock that counts suspension: whatever happens to
//! the call or to this process, nobody else leads before the deadline. The loop runs in its own task, so that no other
//! work delays a renewal. It never waits for that work to end either: the caller of [`Election::give_up`] does.

use std::time::Duration;

use clock::Clock;
use connect_api::Fence;
use futures::FutureExt as _;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::election::{self, Candidate, Step};
use super::scope::Labels;
use super::{LeaseName, Timing};
use crate::error_text::with_causes;
use crate::names;

/// Why this process stopped leading. The process must end, since another may lead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Lease {0}: this process ends")]
pub struct Lost(String);

/// A running election. Dropping it ends the loop without releasing the Lease.
#[derive(Debug)]
pub struct Election {
    lease: LeaseName,
    won: watch::Receiver<bool>,
    end: watch::Sender<bool>,
    task: JoinSet<Result<(), Lost>>,
}

impl Election {
    /// Starts to campaign for the Lease of an install, which gets these labels. `fence` permits calls while this process
    /// leads; `identity` is unique to this process. Needs a tokio runtime.
    #[must_use]
    pub fn start(
        client: Client,
        lease: &LeaseName,
        labels: Labels,
        identity: String,
        timing: Timing,
        clock: &Clock,
        fence: &Fence,
    ) -> Self {
        let (leads, won) = watch::channel(false);
        let (end, ended) = watch::channel(false);
        let elector = Elector {
            api: Api::namespaced(client, &lease.namespace),
            labels,
            lease: lease.clone(),
            candidate: Candidate::new(identity, timing.lease),
            timing,
            clock: clock.clone(),
            fence: fence.clone(),
            leads,
            follows: None,
            trouble: "the deadline passed before the first attempt".to_owned(),
        };
        let mut task = JoinSet::new();
        task.spawn(elector.run(ended));
        Self { lease: lease.clone(), won, end, task }
    }

    /// Returns an election without other candidates: this process leads until it gives up. Needs a tokio runtime.
    #[must_use]
    pub fn alone(lease: &LeaseName) -> Self {
        let (_, won) = watch::channel(true);
        let (end, mut ended) = watch::channel(false);
        let mut task = JoinSet::new();
        task.spawn(async move {
            // A dropped sender ends it too.
            let _ = ended.wait_for(|end| *end).await;
            Ok(())
        });
        Self { lease: lease.clone(), won, end, task }
    }

    /// Returns once this process leads. Cancel safe.
    ///
    /// # Errors
    /// If this process stopped leading before the caller noticed that it led.
    pub async fn won(&mut self) -> Result<(), Lost> {
        tokio::select! {
            ended = self.task.join_next() => Err(lost(ended, &self.lease)),
            Ok(_) = self.won.wait_for(|won| *won) => Ok(()),
        }
    }

    /// Returns as soon as this process stops leading, with the reason.
    pub async fn lost(&mut self) -> Lost {
        let ended = self.task.join_next().await;
        lost(ended, &self.lease)
    }

    /// Releases the Lease, if this process holds it, so that another may take it at once. Call it only once the process
    /// sends nothing any more.
    pub async fn give_up(mut self) {
        self.end.send_replace(true);
        if let Some(Ok(Err(lost))) = self.task.join_next().await {
            tracing::warn!(%lost, "this process did not hold the Lease any more, so there was nothing to release");
        }
    }
}

fn lost(ended: Option<Result<Result<(), Lost>, tokio::task::JoinError>>, lease: &LeaseName) -> Lost {
    match ended {
        Some(Ok(Err(lost))) => lost,
        _ => Lost(format!("{lease}: the election broke off")),
    }
}

struct Elector {
    api: Api<Lease>,
    labels: Labels,
    lease: LeaseName,
    candidate: Candidate,
    timing: Timing,
    clock: Clock,
    fence: Fence,
    /// Whether this process leads.
    leads: watch::Sender<bool>,
    /// The holder that was logged last.
    follows: Option<String>,
    /// Why the last failed attempt failed.
    trouble: String,
}

/// The holder of the Lease, if it is another candidate, and how long that one holds it at least.
type Another = Option<(String, Duration)>;

impl Elector {
    async fn run(mut self, mut end: watch::Receiver<bool>) -> Result<(), Lost> {
        loop {
            if self.leads() && !self.fence.holds() {
                return Err(self.not_renewed());
            }
            let pause = self.turn().await?;
            let asked = tokio::select! {
                () = self.clock.sleep(pause) => false,
                // A dropped sender ends the loop too.
                () = end.wait_for(|end| *end).map(|_| ()) => true,
            };
            if asked {
                self.give_up().await;
                return Ok(());
            }
        }
    }

    /// Makes one attempt; returns the pause before the next.
    async fn turn(&mut self) -> Result<Duration, Lost> {
        // The leader has to notice its deadline in time, also while a call hangs.
        let limit = self.timing.renew_deadline / 2;
        let clock = self.clock.clone();
        let attempt = tokio::select! {
            biased;
            attempt = self.attempt() => attempt.map_err(|error| with_causes(&error)),
            () = clock.sleep(limit) => Err(format!("no answer within {limit:?}")),
        };
        match attempt {
            // The deadline may have passed already, if this process was suspended during the call.
            Ok(None) if self.fence.holds() => {
                self.lead();
                Ok(self.timing.retry)
            }
            Ok(None) if self.leads() => Err(self.not_renewed()),
            Ok(None) => Ok(Duration::ZERO),
            Ok(Some((holder, _))) if self.leads() => Err(self.taken(&holder)),
            Ok(Some((holder, left))) => {
                self.follow(holder);
                Ok(left.min(self.timing.retry))
            }
            Err(error) => {
                tracing::warn!(lease = %self.lease, error, leads = self.leads(), "the Lease cannot be read or written");
                self.trouble = error;
                Ok(self.timing.retry)
            }
        }
    }

    async fn attempt(&mut self) -> Result<Another, kube::Error> {
        let found = self.read().await?;
        let (at, now) = (self.clock.elapsed(), self.clock.now());
        let step = self.candidate.step(found.as_ref().and_then(|lease| lease.spec.as_ref()), at, now);
        // Taken before the call: others read the written record only after it, so they count from a later time.
        let deadline = self.clock.elapsed() + self.timing.renew_deadline;
        match step {
            Step::Wait { holder, left } => return Ok(Some((holder, left))),
            Step::Write(spec) => self.write(found, spec).await?,
        }
        self.fence.hold_until(deadline);
        Ok(None)
    }

    fn leads(&self) -> bool {
        *self.leads.borrow()
    }

    fn lead(&self) {
        if !self.leads.send_replace(true) {
            tracing::info!(lease = %self.lease, identity = self.candidate.identity(), "this process leads");
        }
    }

    fn follow(&mut self, holder: String) {
        if self.follows.as_ref() != Some(&holder) {
            tracing::info!(lease = %self.lease, %holder, "another process leads; this one waits");
            self.follows = Some(holder);
        }
    }

    fn taken(&self, holder: &str) -> Lost {
        self.stop();
        Lost(format!("{} is held by {holder} now", self.lease))
    }

    fn not_renewed(&self) -> Lost {
        self.stop();
        let (lease, deadline, why) = (&self.lease, self.timing.renew_deadline, &self.trouble);
        Lost(format!("{lease} was not renewed within {deadline:?} ({why}), so that another replica takes over"))
    }

    fn stop(&self) {
        self.fence.close();
        self.leads.send_replace(false);
    }

    /// Releases the Lease. If that fails, others wait until it expires.
    async fn give_up(&self) {
        self.stop();
        let limit = self.timing.renew_deadline / 2;
        let clock = self.clock.clone();
        let now = clock.now();
        let outcome = tokio::select! {
            outcome = self.release(now) => outcome.map_err(|error| with_causes(&error)),
            () = clock.sleep(limit) => Err(format!("no answer within {limit:?}")),
        };
        match outcome {
            Ok(true) => tracing::info!(lease = %self.lease, "the Lease is given up"),
            Ok(false) => {}
            Err(error) => tracing::warn!(lease = %self.lease, error, "the Lease could not be given up; it runs out"),
        }
    }

    /// Releases the Lease; returns whether this process held it. The Lease is read first, because the last write may
    /// have succeeded although its response was lost.
    async fn release(&self, now: Timestamp) -> Result<bool, kube::Error> {
        let Some(lease) = self.read().await? else { return Ok(false) };
        let Some(spec) = lease.spec.as_ref().filter(|spec| election::holder(spec) == Some(self.candidate.identity()))
        else {
            return Ok(false);
        };
        let released = election::given_up(spec, now);
        self.write(Some(lease), released).await.map(|()| true)
    }

    /// Reads the Lease; `None` if it does not exist.
    async fn read(&self) -> Result<Option<Lease>, kube::Error> {
        self.api.get_opt(&self.lease.name).await
    }

    /// Writes the record if the Lease is as it was `found`; 409 if it is not. Keeps other fields, labels and annotations.
    async fn write(&self, found: Option<Lease>, spec: LeaseSpec) -> Result<(), kube::Error> {
        let parameters = PostParams { field_manager: Some(names::FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let is_new = found.is_none();
        let mut lease = Lease { spec: Some(spec), ..found.unwrap_or_default() };
        lease.metadata.labels.get_or_insert_default().extend(self.labels.clone());
        if is_new {
            lease.metadata.name = Some(self.lease.name.clone());
            self.api.create(&parameters, &lease).await?;
        } else {
            self.api.replace(&self.lease.name, &parameters, &lease).await?;
        }
        Ok(())
    }
}
