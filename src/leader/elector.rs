//! The loop of the election: reads the Lease, takes it when it is free, renews it, and releases it. `election.rs`
//! decides what to write.
//!
//! The leader computes its deadline before the renewing call, on a clock that counts suspension: whatever happens to
//! the call or to this process, nobody else leads before the deadline. The loop runs in its own task, so that no other
//! work delays a renewal. It never waits for that work to end either: the caller of [`Election::give_up`] does.

use std::time::Duration;

use clock::Clock;
use connect_api::Fence;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};

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
    won: watch::Receiver<bool>,
    end: watch::Sender<bool>,
    task: JoinSet<Result<(), Lost>>,
}

impl Election {
    /// Starts to campaign for the Lease of an install, which gets these labels. `fence` permits calls while this process
    /// leads; `identity` is unique to this process. Needs a tokio runtime.
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
        Self::running(won, |ended| elector.run(ended))
    }

    /// Returns an election without other candidates: this process leads until it gives up. Needs a tokio runtime.
    pub fn alone() -> Self {
        Self::running(watch::channel(true).1, |mut ended| async move {
            // A dropped sender ends it too.
            let _ = ended.wait_for(|end| *end).await;
            Ok(())
        })
    }

    fn running<F>(won: watch::Receiver<bool>, run: impl FnOnce(watch::Receiver<bool>) -> F) -> Self
    where
        F: Future<Output = Result<(), Lost>> + Send + 'static,
    {
        let (end, ended) = watch::channel(false);
        let mut task = JoinSet::new();
        task.spawn(run(ended));
        Self { won, end, task }
    }

    /// Returns once this process leads. Cancel safe.
    ///
    /// # Errors
    /// If this process stopped leading before the caller noticed that it led.
    pub async fn won(&mut self) -> Result<(), Lost> {
        tokio::select! {
            biased;
            lost = async { ended(self.task.join_next().await) } => Err(lost),
            Ok(_) = self.won.wait_for(|won| *won) => Ok(()),
        }
    }

    /// Returns as soon as this process stops leading, with the reason.
    pub async fn lost(&mut self) -> Lost {
        ended(self.task.join_next().await)
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

fn ended(ended: Option<Result<Result<(), Lost>, JoinError>>) -> Lost {
    match ended {
        Some(Ok(Err(lost))) => lost,
        _ => Lost("the election broke off".to_owned()),
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

impl Elector {
    async fn run(mut self, mut end: watch::Receiver<bool>) -> Result<(), Lost> {
        loop {
            // A process that was suspended may not take up the lead again, however it finds the Lease.
            if *self.leads.borrow() && !self.fence.holds() {
                return Err(self.not_renewed());
            }
            let pause = self.turn().await?;
            let is_over = tokio::select! {
                () = self.clock.sleep(pause) => false,
                // A dropped sender ends the loop too.
                () = async { drop(end.wait_for(|end| *end).await) } => true,
            };
            if is_over {
                self.give_up().await;
                return Ok(());
            }
        }
    }

    /// Makes one attempt; returns the pause before the next.
    async fn turn(&mut self) -> Result<Duration, Lost> {
        let (clock, limit) = (self.clock.clone(), self.timing.renew_deadline / 2);
        let attempt = within(&clock, limit, self.attempt()).await;
        let leads = *self.leads.borrow();
        if let Err(error) = &attempt {
            tracing::warn!(lease = %self.lease, error, leads, "the Lease cannot be read or written");
            self.trouble.clone_from(error);
        }
        let retry = self.timing.retry;
        match attempt {
            Ok(Step::Wait { holder, .. }) if leads => Err(self.lost(&format!("is held by {holder} now"))),
            Ok(Step::Wait { holder, left }) => {
                if self.follows.as_ref() != Some(&holder) {
                    tracing::info!(lease = %self.lease, %holder, "another process leads; this one waits");
                    self.follows = Some(holder);
                }
                Ok(left.min(retry))
            }
            // The deadline may have passed, also during a call that succeeded, if this process was suspended.
            _ if leads && !self.fence.holds() => Err(self.not_renewed()),
            Ok(Step::Write(_)) if !self.fence.holds() => Ok(Duration::ZERO),
            Ok(Step::Write(_)) => {
                if !self.leads.send_replace(true) {
                    tracing::info!(lease = %self.lease, identity = self.candidate.identity(), "this process leads");
                }
                Ok(retry)
            }
            Err(_) => Ok(retry),
        }
    }

    /// Reads the Lease, and writes it if this process may.
    async fn attempt(&mut self) -> Result<Step, kube::Error> {
        let found = self.api.get_opt(&self.lease.name).await?;
        let (at, now) = (self.clock.elapsed(), self.clock.now());
        let step = self.candidate.step(found.as_ref().and_then(|lease| lease.spec.as_ref()), at, now);
        // Taken before the call: others read the written record only after it, so they count from a later time.
        let deadline = self.clock.elapsed() + self.timing.renew_deadline;
        if let Step::Write(spec) = &step {
            self.write(found, spec.clone()).await?;
            self.fence.hold_until(deadline);
        }
        Ok(step)
    }

    fn not_renewed(&self) -> Lost {
        let (deadline, why) = (self.timing.renew_deadline, &self.trouble);
        self.lost(&format!("was not renewed within {deadline:?} ({why}), so that another replica takes over"))
    }

    fn lost(&self, why: &str) -> Lost {
        self.fence.close();
        Lost(format!("{} {why}", self.lease))
    }

    /// Releases the Lease. If that fails, others wait until it expires.
    async fn give_up(&self) {
        self.fence.close();
        match within(&self.clock, self.timing.renew_deadline / 2, self.release()).await {
            Ok(true) => tracing::info!(lease = %self.lease, "the Lease is given up"),
            Ok(false) => {}
            Err(error) => tracing::warn!(lease = %self.lease, error, "the Lease could not be given up; it runs out"),
        }
    }

    /// Releases the Lease; returns whether this process held it. The Lease is read first, because the last write may
    /// have succeeded although its response was lost.
    async fn release(&self) -> Result<bool, kube::Error> {
        let Some(lease) = self.api.get_opt(&self.lease.name).await? else { return Ok(false) };
        let held = lease.spec.as_ref().filter(|spec| election::holder(spec) == Some(self.candidate.identity()));
        let Some(released) = held.map(|spec| election::given_up(spec, self.clock.now())) else { return Ok(false) };
        self.write(Some(lease), released).await.map(|()| true)
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

/// The leader has to notice its deadline in time, also while a call hangs.
async fn within<T>(
    clock: &Clock,
    limit: Duration,
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, String> {
    tokio::select! {
        biased;
        answer = call => answer.map_err(|error| with_causes(&error)),
        () = clock.sleep(limit) => Err(format!("no answer within {limit:?}")),
    }
}
