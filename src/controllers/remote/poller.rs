//! The poller, the task of a remote that reads deployments: executes what [`super::plan`] returns, round by round.

use std::sync::Arc;
use std::time::Duration;

use connect_api::api::{PageRequest, Selector};
use connect_api::routes::LARGEST_OFFSET;
use connect_api::{ApiError, ConnectApi};
use futures::{StreamExt, stream};
use jiff::Timestamp;
use tracing::Instrument as _;

use super::circuit_breaker::Caller;
use super::guarded_client::GuardedClient;
use super::plan::{PAGE, Plan, PlanInputs, Read, pages, plan};
use super::{PollRate, PolledRecord, Remote};
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::spans;

/// Minimum and maximum number of reads by id in flight at once.
const READS_AT_ONCE: (usize, usize) = (4, 16);
/// Within these bounds, one for so many requests per second: reads that wait for the rate limiter delay the calls of
/// reconciles.
const REQUESTS_PER_READ: usize = 10;

/// Whether a page arrived, and where the next one begins.
enum Paged {
    Failed(ApiError),
    Last,
    Next(u32),
}

impl Remote {
    /// Takes an observation of `id` by a request that left at `newer_than` or later. If there is none, registers a
    /// pending read (for `newer_than`, if that is in the future), and `object_ref` is enqueued once the read is done.
    #[must_use]
    pub fn polled_record(&self, object_ref: &ObjectRef, id: &str, newer_than: Timestamp) -> Option<PolledRecord> {
        let now = self.clock.now();
        self.change_for(Some(object_ref), |state| {
            state.enqueue_if_closed(object_ref);
            state.view.take(object_ref, id, newer_than, now)
        })
    }

    /// Returns why the read that `object_ref` waits for fails again and again, if it does. An error that may be over with the
    /// next read is none, and neither is one that [`Remote::enter`] reports for the whole remote.
    #[must_use]
    pub fn read_error(&self, object_ref: &ObjectRef) -> Option<ApiError> {
        self.change(|state| state.view.error(object_ref))
    }

    /// Polls `id` at this rate from now on, until [`Remote::forget`]. Only an observation that differs from the one
    /// before enqueues `object_ref`. Each object has one id: another one replaces it.
    pub fn poll(&self, object_ref: &ObjectRef, id: &str, pace: PollRate) {
        let now = self.clock.now();
        self.change_for(Some(object_ref), |state| state.view.poll(object_ref, id, pace, now, &mut state.jitter));
    }

    /// Polls what is polled for `object_ref` only once in each interval, until the next [`Remote::poll`].
    pub fn poll_at_interval(&self, object_ref: &ObjectRef, interval: Duration) {
        let now = self.clock.now();
        self.change_for(Some(object_ref), |state| {
            state.view.poll_at_interval(object_ref, interval, now, &mut state.jitter);
        });
    }

    /// Decides what to read next. If there is nothing, the poller counts as resting from here on.
    fn plan(&self) -> Plan {
        let now = self.clock.now();
        self.change(|state| {
            let mut plan = plan(
                &state.view,
                PlanInputs {
                    now,
                    circuit_breaker: state.circuit_breaker.position(now),
                    counted: state.counted,
                    rate: state.settings.requests_per_second,
                },
            );
            if let Plan::Rest(until) = &mut plan {
                *until = state.next_due().min(*until);
                state.resting_until = Some(*until);
            }
            plan
        })
    }

    fn poller_client(self: &Arc<Self>) -> GuardedClient {
        self.guarded_client(Caller::Poller)
    }

    /// Executes one plan; returns until when there is nothing to do, if so.
    pub(super) async fn round(self: &Arc<Self>) -> Option<Timestamp> {
        let plan = self.plan();
        if let Plan::Rest(until) = plan {
            return Some(until);
        }
        self.execute(plan).instrument(spans::round("poll", &self.project_key())).await;
        None
    }

    async fn execute(self: &Arc<Self>, plan: Plan) {
        match plan {
            Plan::Rest(_) => {}
            Plan::Count => {
                self.read_page(0, 1).await;
            }
            Plan::Read(reads) => self.read(reads).await,
            Plan::List(due) => self.list(due).await,
        }
    }

    async fn read(self: &Arc<Self>, reads: Vec<Read>) {
        let guarded_client = self.poller_client();
        let (least, most) = READS_AT_ONCE;
        let at_once = (self.rate().whole() / REQUESTS_PER_READ).clamp(least, most);
        stream::iter(reads).for_each_concurrent(at_once, |read| self.read_one(&guarded_client, read)).await;
    }

    async fn read_one(&self, guarded_client: &impl ConnectApi, Read { id, object_refs }: Read) {
        let at = self.clock.now();
        let answer = guarded_client.deployment(&Selector::Id(id.to_string())).await;
        let now = self.clock.now();
        self.change(|state| {
            let enqueued = match answer {
                Ok(found) => {
                    let polled_record = PolledRecord { at, found: found.map(Arc::new) };
                    state.view.observe(&object_refs, &id, &polled_record, now, &mut state.jitter)
                }
                Err(error) => {
                    let outage = state.is_failing();
                    state.view.read_failed(&object_refs, &id, &error, outage, now, &mut state.jitter)
                }
            };
            state.enqueue.extend(enqueued);
        });
    }

    /// Reads all pages, then reads by id what was due and is on no page.
    async fn list(self: &Arc<Self>, mut due: Vec<Read>) {
        let started = self.clock.now();
        let mut offset = 0;
        let failed = loop {
            match self.read_page(offset, PAGE).await {
                Paged::Failed(error) => break Some(error),
                Paged::Last => break None,
                Paged::Next(next) => offset = next,
            }
        };
        let now = self.clock.now();
        self.change(|state| {
            // An observed entry is due later than the start of the list, though perhaps due again by now.
            due.retain(|read| {
                read.object_refs.iter().any(|object_ref| state.view.due(object_ref).is_some_and(|due| due <= started))
            });
            if let Some(error) = &failed {
                let outage = state.is_failing();
                for Read { id, object_refs } in &due {
                    let waiting = state.view.read_failed(object_refs, id, error, outage, now, &mut state.jitter);
                    state.enqueue.extend(waiting);
                }
            }
        });
        if failed.is_none() {
            self.read(due).await;
        }
    }

    async fn read_page(self: &Arc<Self>, offset: u32, limit: u16) -> Paged {
        let (guarded_client, at) = (self.poller_client(), self.clock.now());
        let page = match guarded_client.deployments(PageRequest { limit, offset }).await {
            Ok(page) => page,
            Err(error) => return Paged::Failed(error),
        };
        let now = self.clock.now();
        let total = u64::try_from(page.total).unwrap_or(0);
        self.change(|state| {
            // It also proves that the credentials work: those with which it was read.
            if offset == 0 && state.circuit_breaker.client() == guarded_client.number {
                state.counted = Some((total, at));
            }
            let pages = u32::try_from(pages(total)).unwrap_or(u32::MAX);
            let enqueued = state.view.observe_page(&page.results, pages, at, now, &mut state.jitter);
            state.enqueue.extend(enqueued);
        });
        // The service may return fewer records than requested, and the results omit records that cannot be decoded.
        let step = u32::try_from(page.limit).ok().filter(|given| (1..u32::from(limit)).contains(given));
        let step = step.unwrap_or(u32::from(limit));
        let next = offset + step;
        // Without a total, the first page that is not full is the last one.
        let last = if total > 0 { u64::from(next) >= total } else { page.count < i64::from(step) };
        if last || next > LARGEST_OFFSET { Paged::Last } else { Paged::Next(next) }
    }
}

#[cfg(test)]
#[path = "poller_tests.rs"]
mod tests;
