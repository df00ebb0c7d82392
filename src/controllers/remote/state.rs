//! One remote project: the lock around its state, and what follows each change of it.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clock::{Clock, between, later};
use connect_api::error::Failure;
use connect_api::scopes::Right;
use connect_api::{ApiError, Rate};
use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, oneshot};

use super::circuit_breaker::{BreakerState, CallScope, Caller, CircuitBreaker, Permit};
use super::concurrency_limiter::ConcurrencyLimiter;
use super::jitter::Jitter;
use super::permissions::Permissions;
use super::plan::COUNT_AGE;
use super::registry_cache::RegistryCache;
use super::view::View;
use super::{Connection, Health, NotAdmitted, Outage, OutageKind, Settings};
use crate::controllers::object_ref::ObjectRef;
use crate::metrics::Metrics;
use crate::mutex::Mutex;

/// Number of remotes that this process has opened; tells them apart, also after they closed.
static OPENED: AtomicU64 = AtomicU64::new(0);

/// Identifies the credentials that a remote is called with: another value means other credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Login {
    remote: u64,
    client: u64,
}

/// What a waiting reconcile is told.
pub(super) type Admission = Result<ConcurrencyPermit, NotAdmitted>;

/// The right of one reconcile to use the remote; dropping it admits the next one.
#[must_use]
pub struct ConcurrencyPermit {
    remote: Arc<Remote>,
}

impl Drop for ConcurrencyPermit {
    fn drop(&mut self) {
        self.remote.change(|state| state.concurrency_limiter.leave());
    }
}

/// A reconcile that waits.
pub(super) struct Waiter {
    remote: Arc<Remote>,
    answer: oneshot::Sender<Admission>,
}

impl Waiter {
    fn waits(&self) -> bool {
        !self.answer.is_closed()
    }

    /// Ends the wait. Not while the state of the remote is locked: a permit that nobody takes is returned to it.
    fn answer(self, refused: Option<NotAdmitted>) {
        let admission = refused.map_or_else(|| Ok(ConcurrencyPermit { remote: self.remote }), Err);
        drop(self.answer.send(admission));
    }
}

/// One remote project.
pub struct Remote {
    serial: u64,
    pub(super) clock: Clock,
    /// Notified when the poller must plan again.
    pub(super) notify: Notify,
    enqueue: UnboundedSender<ObjectRef>,
    pub(super) metrics: Arc<Metrics>,
    // A panic of a holder leaves nothing half-done that matters: missing observations are read again.
    state: Mutex<RemoteState>,
}

/// The state of a remote.
pub(super) struct RemoteState {
    pub(super) circuit_breaker: CircuitBreaker,
    pub(super) concurrency_limiter: ConcurrencyLimiter<Waiter>,
    pub(super) view: View,
    pub(super) registry_cache: RegistryCache,
    pub(super) permissions: Permissions,
    pub(super) jitter: Jitter,
    /// Number of deployments in the project, and when it was read.
    pub(super) counted: Option<(u64, Timestamp)>,
    /// Objects to enqueue at the end of the change, while its lock is still held.
    pub(super) enqueue: Vec<ObjectRef>,
    /// Waiting reconciles to answer after the change: with a permit, or why there is none.
    answers: Vec<(Waiter, Option<NotAdmitted>)>,
    /// Objects that were refused a permit because of an outage; they are enqueued when it is over.
    refused: BTreeSet<ObjectRef>,
    pub(super) client: Arc<dyn Connection>,
    /// The settings of the client.
    pub(super) settings: Settings,
    /// The settings of each claiming project.
    pub(super) claims: BTreeMap<ObjectRef, Settings>,
    /// No project claims it any more.
    pub(super) closed: bool,
    /// Until when the poller rests; `None` once it is notified.
    pub(super) resting_until: Option<Timestamp>,
}

/// The part of the state whose changes enqueue the claiming projects.
#[derive(PartialEq, Eq)]
struct ReportedHealth {
    health: mem::Discriminant<Health>,
    outage: Option<OutageKind>,
}

impl RemoteState {
    fn reported_health(&self) -> ReportedHealth {
        let health = self.circuit_breaker.health();
        let outage = if let Health::Failing(outage) = &health { Some(outage.kind) } else { None };
        ReportedHealth { health: mem::discriminant(&health), outage }
    }

    /// Refuses a permit to the chosen objects that wait for one.
    fn refuse(&mut self, chosen: impl Fn(&ObjectRef) -> bool, why: &NotAdmitted) -> Vec<ObjectRef> {
        let refused = self.concurrency_limiter.dismiss(chosen);
        let (object_refs, waiters): (Vec<_>, Vec<_>) = refused.into_iter().unzip();
        self.answers.extend(waiters.into_iter().map(|waiter| (waiter, Some(why.clone()))));
        object_refs
    }

    /// Whether the remote is reported as not usable.
    pub(super) fn is_failing(&self) -> bool {
        matches!(self.circuit_breaker.health(), Health::Failing(_))
    }

    /// Logs the health. Error texts are masked before they get here, and project names are not secret.
    fn log_health(&self) {
        let project = &self.settings.project_key;
        match self.circuit_breaker.health() {
            Health::Unknown => tracing::info!(%project, "trying the remote project with new credentials"),
            Health::Good { .. } => tracing::info!(%project, "the remote project answers"),
            Health::Failing(Outage { kind, error, until, .. }) => {
                tracing::warn!(%project, ?kind, %error, %until, "the remote project is not usable");
            }
        }
    }

    /// Logs a pause that no condition reports, because it is short.
    fn log_pause(&self) {
        if let Some(Outage { kind, error, until, .. }) = self.circuit_breaker.outage().filter(|_| !self.is_failing()) {
            let project = &self.settings.project_key;
            tracing::debug!(%project, outage = ?kind, %error, %until, "the calls of the remote project pause");
        }
    }

    /// Records the scopes of the token in use: an answered call may have fetched another token.
    pub(super) fn note_token(&mut self) {
        let enqueued = self.permissions.note(self.client.granted());
        self.enqueue.extend(enqueued);
    }

    /// Returns when the poller must act because of the circuit breaker or the age of the count.
    pub(super) fn next_due(&self) -> Timestamp {
        if let Some(outage) = self.circuit_breaker.outage() {
            return outage.until;
        }
        self.counted.map_or(Timestamp::MIN, |(_, at)| later(at, COUNT_AGE))
    }
}

impl Remote {
    pub(super) fn new(
        clock: Clock,
        enqueue: UnboundedSender<ObjectRef>,
        concurrency: usize,
        seed: u64,
        client: Arc<dyn Connection>,
        settings: Settings,
        metrics: Arc<Metrics>,
    ) -> Self {
        let state = RemoteState {
            circuit_breaker: CircuitBreaker::default(),
            concurrency_limiter: ConcurrencyLimiter::new(concurrency, settings.requests_per_second),
            view: View::default(),
            registry_cache: RegistryCache::default(),
            permissions: Permissions::default(),
            jitter: Jitter::new(seed),
            counted: None,
            enqueue: Vec::new(),
            answers: Vec::new(),
            refused: BTreeSet::new(),
            client,
            settings,
            claims: BTreeMap::new(),
            closed: false,
            resting_until: None,
        };
        let serial = OPENED.fetch_add(1, Ordering::Relaxed);
        Self { serial, clock, notify: Notify::new(), enqueue, metrics, state: Mutex::new(state) }
    }

    /// Waits for a permit: until the project has answered for the first time, and during a pause that only the log reports.
    /// An object that an outage refuses one is enqueued when the outage is over.
    ///
    /// # Errors
    /// Why there is no permit.
    pub async fn enter(self: &Arc<Self>, object_ref: &ObjectRef) -> Admission {
        let waiting = self.change(|state| {
            if state.closed {
                return Err(NotAdmitted::Moved);
            }
            if let Health::Failing(outage) = state.circuit_breaker.health() {
                state.refused.insert(object_ref.clone());
                return Err(NotAdmitted::CircuitOpen(outage));
            }
            let (answer, waiting) = oneshot::channel();
            state.concurrency_limiter.wait(object_ref, Waiter { remote: Arc::clone(self), answer });
            Ok(waiting)
        })?;
        // Each one is answered, as long as the remote exists.
        waiting.await.unwrap_or(Err(NotAdmitted::Moved))
    }

    /// Identifies the credentials that the remote is called with now.
    #[must_use]
    pub fn login(&self) -> Login {
        Login { remote: self.serial, client: self.state.lock().circuit_breaker.client() }
    }

    /// Returns the client, and its number at the remote.
    pub(super) fn client(&self) -> (Arc<dyn Connection>, u64) {
        let state = self.state.lock();
        (Arc::clone(&state.client), state.circuit_breaker.client())
    }

    /// Returns the key of the project.
    pub(super) fn project_key(&self) -> String {
        self.state.lock().settings.project_key.clone()
    }

    /// Returns the rate of its requests.
    pub(super) fn rate(&self) -> Rate {
        self.state.lock().settings.requests_per_second
    }

    /// Returns the health. Each change of its kind enqueues the projects that claim the remote.
    #[must_use]
    pub fn health(&self) -> Health {
        self.state.lock().circuit_breaker.health()
    }

    /// Returns why no call passes now, even if only the log reports it.
    #[must_use]
    pub fn outage(&self) -> Option<Outage> {
        self.state.lock().circuit_breaker.outage().cloned()
    }

    /// Returns which of `rights` the newest token lacks, in the order of `rights`; nothing if the token response did
    /// not name its scopes. `object_ref` is enqueued when a token names other scopes.
    #[must_use]
    pub fn lacking(&self, object_ref: &ObjectRef, rights: &[Right]) -> Vec<Right> {
        self.change(|state| {
            state.note_token();
            state.permissions.lacking(object_ref, rights, &state.settings.project_key)
        })
    }

    /// Removes all that is kept for `object_ref`, such as polls and pending reads.
    pub fn forget(&self, object_ref: &ObjectRef) {
        self.change(|state| {
            state.view.forget(object_ref);
            state.registry_cache.forget(object_ref);
            state.permissions.forget(object_ref);
            state.refused.remove(object_ref);
        });
    }

    /// Returns every object that something is kept for, such as polls and pending reads.
    pub(super) fn object_refs(&self) -> Vec<ObjectRef> {
        let state = self.state.lock();
        let watched = state.view.entries().map(|(object_ref, _)| object_ref);
        watched
            .chain(state.registry_cache.object_refs())
            .chain(state.permissions.object_refs())
            .chain(&state.refused)
            .cloned()
            .collect()
    }

    /// Whether the deployments of the project were listed with the credentials of a claiming project. A successful
    /// login proves less: a token of another project can read the registry.
    #[must_use]
    pub fn has_answered(&self) -> bool {
        self.state.lock().counted.is_some()
    }

    /// Returns the scopes of the newest token; `None` before the first one.
    #[must_use]
    pub fn scopes(&self) -> Option<Vec<String>> {
        self.state.lock().client.scopes()
    }

    pub(super) fn admit(
        &self,
        operation: &'static str,
        caller: Caller,
        scope: CallScope,
        client: u64,
    ) -> Result<Permit, ApiError> {
        let now = self.clock.now();
        self.state.lock().circuit_breaker.admit(now, caller, scope, client).map_err(|outage| ApiError {
            operation,
            failure: Failure::HeldBack,
            // A status contains this message, and each attempt has another correlation id (rule 21).
            message: if outage.error.is_held_back() {
                outage.error.message.clone()
            } else {
                outage.error.without_ids()
            },
            correlation_id: None,
            retry_after: Some(between(now, outage.until)),
        })
    }

    pub(super) fn report(&self, permit: Permit, error: Option<&ApiError>) {
        let now = self.clock.now();
        self.change(|state| {
            state.note_token();
            match error {
                None => state.circuit_breaker.succeeded(permit),
                Some(error) => {
                    state.circuit_breaker.failed(permit, error, now, &mut state.jitter);
                    state.log_pause();
                }
            }
        });
    }

    /// Removes the chosen objects and enqueues them, because they have to use another remote.
    pub(super) fn dismiss(&self, chosen: impl Fn(&ObjectRef) -> bool) {
        self.change(|state| {
            let mut dismissed = state.view.dismiss(&chosen);
            dismissed.extend(state.registry_cache.dismiss(&chosen));
            dismissed.extend(state.permissions.dismiss(&chosen));
            dismissed.extend(state.refused.extract_if(.., |object_ref| chosen(object_ref)));
            // Their reconciles begin again.
            state.refuse(&chosen, &NotAdmitted::Moved);
            dismissed.sort();
            dismissed.dedup();
            state.enqueue.extend(dismissed);
        });
    }

    /// Changes the state, then enqueues the affected objects, and notifies the poller if it must act earlier than planned.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut RemoteState) -> T) -> T {
        self.change_for(None, change)
    }

    /// The same; `object_ref` is the object whose polls it changes, if any.
    pub(super) fn change_for<T>(
        &self,
        object_ref: Option<&ObjectRef>,
        change: impl FnOnce(&mut RemoteState) -> T,
    ) -> T {
        let mut state = self.state.lock();
        let before = state.reported_health();
        let result = change(&mut state);
        let now = self.clock.now();
        if state.circuit_breaker.position(now) == BreakerState::Closed {
            let RemoteState { enqueue, refused, .. } = &mut *state;
            enqueue.extend(mem::take(refused));
        }
        // Nobody looks up a key before the project has proven its credentials (rule 4).
        if state.circuit_breaker.position(now) == BreakerState::Closed && state.counted.is_some() {
            let RemoteState { answers, concurrency_limiter, .. } = &mut *state;
            answers.extend(concurrency_limiter.admit_next(Waiter::waits).into_iter().map(|waiter| (waiter, None)));
        }
        let after = state.reported_health();
        if after != before {
            state.log_health();
            if let Health::Failing(outage) = state.circuit_breaker.health() {
                // No permits from now on.
                let refused = state.refuse(|_| true, &NotAdmitted::CircuitOpen(outage));
                state.refused.extend(refused);
            }
            let RemoteState { claims, enqueue, view, .. } = &mut *state;
            enqueue.extend(claims.keys().cloned());
            if after.outage.is_some() {
                // No reads from now on: the objects that wait for one have to report why.
                enqueue.extend(view.take_unreported());
            }
        }
        let due = object_ref.and_then(|object_ref| state.view.due(object_ref));
        let first = due.map_or(state.next_due(), |due| due.min(state.next_due()));
        if state.resting_until.take_if(|until| first < *until).is_some() {
            self.notify.notify_one();
        }
        for object_ref in mem::take(&mut state.enqueue) {
            // The receiver is gone only when the operator shuts down.
            let _ = self.enqueue.send(object_ref);
        }
        let answers = mem::take(&mut state.answers);
        drop(state);
        for (waiter, refused) in answers {
            waiter.answer(refused);
        }
        result
    }
}
