//! The poller, the task of a remote that reads deployments: executes what [`super::records`] plans, round by round.

use std::sync::Arc;

use clock::later;
use connect_api::api::{PageRequest, Selector};
use connect_api::routes::LARGEST_PAGE;
use connect_api::{ApiError, ConnectApi, paging};
use futures::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use tracing::Instrument as _;

use super::guarded_client::GuardedClient;
use super::records::{COUNT_AGE, Plan};
use super::{PollRate, PolledRecord, Remote};
use crate::operator::object_ref::ObjectRef;
use crate::operator::spans;

/// Reads by id in flight at once.
const READS_AT_ONCE: usize = 4;

impl Remote {
    /// Takes an observation of `id` by a request that left at `newer_than` or later. If there is none, registers a
    /// pending read (for `newer_than`, if that is in the future), and `object_ref` is enqueued once the read is done.
    pub fn polled_record(&self, object_ref: &ObjectRef, id: &str, newer_than: Timestamp) -> Option<PolledRecord> {
        let now = self.clock.now();
        self.change(|state| state.records.take(object_ref, id, newer_than, now))
    }

    /// Returns why the reads that `object_ref` waits for fail, if several in a row did. An error that may be over with the next
    /// read is none.
    pub fn read_error(&self, object_ref: &ObjectRef) -> Option<ApiError> {
        self.look(|state| state.records.error(object_ref))
    }

    /// Polls `id` at this rate from now on, until [`Remote::forget`]. Only an observation that differs from the one
    /// before enqueues `object_ref`. Each object has one id: another one replaces it.
    pub fn poll(&self, object_ref: &ObjectRef, id: &str, rate: PollRate) {
        let now = self.clock.now();
        self.change(|state| state.records.poll(object_ref, id, rate, now, &mut state.jitter));
    }

    /// Whether the project was listed, or refused to be, since this request of a user was first passed here. Otherwise it is listed
    /// next, and then the project is enqueued.
    pub fn has_listed_for(&self, request: &str) -> bool {
        let known = self.look(|state| state.request.clone());
        if let Some((_, done)) = known.filter(|(known, _)| known == request) {
            return done;
        }
        let now = self.clock.now();
        self.change(|state| {
            state.request = Some((request.to_owned(), false));
            state.circuit_breaker.try_again(now);
        });
        false
    }

    /// Decides what to read next. After an outage, and for a request of a user, that is a list.
    fn plan(&self) -> Plan {
        let now = self.clock.now();
        self.look(|state| match (state.circuit_breaker.outage(), state.counted) {
            (Some(outage), _) if outage.until > now => Plan::Rest(outage.until),
            (None, Some((total, at))) if later(at, COUNT_AGE) > now && !state.is_requested() => {
                match state.records.plan(now, total) {
                    Plan::Rest(until) => Plan::Rest(until.min(later(at, COUNT_AGE))),
                    plan => plan,
                }
            }
            _ => Plan::Count,
        })
    }

    /// Executes one plan; returns until when there is nothing to do, if so.
    pub(super) async fn round(self: &Arc<Self>) -> Option<Timestamp> {
        let (plan, client) = (self.plan(), GuardedClient(Arc::clone(self)));
        if let Plan::Rest(until) = plan {
            return Some(until);
        }
        let round = async {
            match plan {
                Plan::Rest(_) => {}
                Plan::Count => self.count(&client).await,
                Plan::Read(ids) => self.read(&client, ids).await,
                Plan::List(due) => self.list(&client, due).await,
            }
        };
        round.instrument(spans::round("poll", &self.settings().project_key)).await;
        None
    }

    /// Reads how many deployments the project has, which also proves that the credentials work.
    async fn count(&self, client: &GuardedClient) {
        let (at, request) = (self.clock.now(), self.look(|state| state.request.clone()));
        let page = client.deployments(PageRequest { limit: 1, offset: 0 }).await;
        self.change(|state| {
            if let Ok(page) = page {
                state.counted = Some((u64::try_from(page.total).unwrap_or(0), at));
            }
            if state.is_requested() && state.request == request {
                state.request = request.map(|(request, _)| (request, true));
                state.enqueue.push(self.project.clone());
            }
        });
    }

    async fn read(&self, client: &GuardedClient, ids: Vec<Box<str>>) {
        stream::iter(ids).for_each_concurrent(READS_AT_ONCE, |id| self.read_one(client, id)).await;
    }

    async fn read_one(&self, client: &GuardedClient, id: Box<str>) {
        let at = self.clock.now();
        let answer = client.deployment(&Selector::Id(id.to_string())).await;
        let now = self.clock.now();
        self.change(|state| {
            let enqueued = match answer {
                Ok(found) => {
                    let polled_record = PolledRecord { at, found: found.map(Arc::new) };
                    state.records.observe(&id, &polled_record, now, &mut state.jitter)
                }
                Err(error) => state.records.read_failed(&[id], &error, now, &mut state.jitter),
            };
            state.enqueue.extend(enqueued);
        });
    }

    /// Reads all pages, then reads by id what was due and is on no page.
    async fn list(&self, client: &GuardedClient, mut due: Vec<Box<str>>) {
        let (started, mut total) = (self.clock.now(), 0);
        // What arrives together was requested after the part before was asked for, if not later: a part need not be a page.
        let (mut at, mut asked) = (started, started);
        let mut pages = std::pin::pin!(paging::deployments(client).try_ready_chunks(LARGEST_PAGE.into()));
        while let Some(page) = pages.next().await {
            let now = self.clock.now();
            let failed = self.change(|state| {
                let (enqueued, failed) = match page {
                    Ok(page) => {
                        total += page.len() as u64;
                        (state.records.observe_page(&page, at, now, &mut state.jitter), false)
                    }
                    Err(error) => {
                        state.records.retain_due(&mut due, started);
                        (state.records.read_failed(&due, &error.1, now, &mut state.jitter), true)
                    }
                };
                state.enqueue.extend(enqueued);
                failed
            });
            if failed {
                return;
            }
            (at, asked) = (asked, self.clock.now());
        }
        self.change(|state| {
            state.counted = Some((total, started));
            // An observed record is due later than the start of the list.
            state.records.retain_due(&mut due, started);
        });
        self.read(client, due).await;
    }
}

#[cfg(test)]
#[path = "poller_tests.rs"]
mod tests;
