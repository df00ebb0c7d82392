//! One remote project: the lock around its state, and what follows each change of it.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clock::{Clock, between, later};
use connect_api::ApiError;
use connect_api::error::Failure;
use connect_api::scopes::{self, Right};
use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, OwnedSemaphorePermit};

use super::circuit_breaker::{CallScope, Caller, CircuitBreaker, Permit};
use super::concurrency_limiter::ConcurrencyLimiter;
use super::jitter::Jitter;
use super::records::{COUNT_AGE, Records};
use super::registry::RegistryCache;
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

/// One remote project.
pub struct Remote {
    serial: u64,
    pub(super) clock: Clock,
    /// Notified when the poller must plan again.
    pub(super) notify: Notify,
    /// Notified after each change, for those that wait for the end of a pause.
    changed: Notify,
    enqueue: UnboundedSender<ObjectRef>,
    pub(super) metrics: Arc<Metrics>,
    // A panic of a holder leaves nothing half-done that matters: missing observations are read again.
    state: Mutex<RemoteState>,
}

/// The state of a remote.
pub(super) struct RemoteState {
    pub(super) circuit_breaker: CircuitBreaker,
    pub(super) concurrency_limiter: ConcurrencyLimiter,
    pub(super) records: Records,
    pub(super) registry_cache: RegistryCache,
    pub(super) jitter: Jitter,
    /// Number of deployments in the project, and when it was read.
    pub(super) counted: Option<(u64, Timestamp)>,
    /// Objects to enqueue at the end of the change, while its lock is still held.
    pub(super) enqueue: Vec<ObjectRef>,
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

    /// Enqueues the objects that a change concerns: those that were refused a permit, once calls pass again, and the claiming
    /// projects, if what they report has changed.
    fn enqueue_affected(&mut self, before: &ReportedHealth) {
        if self.circuit_breaker.outage().is_none() {
            self.enqueue.extend(mem::take(&mut self.refused));
        }
        let after = self.reported_health();
        if after == *before {
            return;
        }
        self.enqueue.extend(self.claims.keys().cloned());
        self.log_health();
        if after.outage.is_some() {
            // No reads from now on: the objects that wait for one have to report why.
            self.enqueue.extend(self.records.waiting().cloned());
        }
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
        let breaker = &self.circuit_breaker;
        if let (Some(outage), Health::Good { .. }) = (breaker.outage(), breaker.health()) {
            let Outage { kind, error, until, .. } = outage;
            let project = &self.settings.project_key;
            tracing::debug!(%project, outage = ?kind, %error, %until, "the calls of the remote project pause");
        }
    }

    fn forget(&mut self, object_ref: &ObjectRef) {
        self.records.forget(object_ref);
        self.registry_cache.forget(object_ref);
        self.refused.remove(object_ref);
    }

    fn object_refs(&self) -> impl Iterator<Item = &ObjectRef> {
        self.records.object_refs().chain(self.registry_cache.object_refs()).chain(&self.refused)
    }

    /// Returns when the poller must act.
    pub(super) fn next_due(&self) -> Timestamp {
        if let Some(outage) = self.circuit_breaker.outage() {
            return outage.until;
        }
        self.counted.map_or(Timestamp::MIN, |(_, at)| later(at, COUNT_AGE)).min(self.records.next())
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
            records: Records::default(),
            registry_cache: RegistryCache::default(),
            jitter: Jitter::new(seed),
            counted: None,
            enqueue: Vec::new(),
            refused: BTreeSet::new(),
            client,
            settings,
            claims: BTreeMap::new(),
            closed: false,
            resting_until: None,
        };
        let serial = OPENED.fetch_add(1, Ordering::Relaxed);
        Self {
            serial,
            clock,
            notify: Notify::new(),
            changed: Notify::new(),
            enqueue,
            metrics,
            state: Mutex::new(state),
        }
    }

    /// Waits for a permit: until the project has answered for the first time, and during a pause that only the log reports.
    /// An object that an outage refuses one is enqueued when the outage is over.
    ///
    /// # Errors
    /// Why there is no permit.
    pub async fn enter(&self, object_ref: &ObjectRef) -> Result<OwnedSemaphorePermit, NotAdmitted> {
        let waiting = self.change(|state| state.concurrency_limiter.wait(&object_ref.namespace));
        let permit = waiting.await.map_err(|_| NotAdmitted::Moved)?;
        loop {
            let changed = self.changed.notified();
            if self.admits(object_ref)? {
                return Ok(permit);
            }
            changed.await;
        }
    }

    /// Whether an object with a permit may call the remote now, or has to wait for the end of a pause.
    fn admits(&self, object_ref: &ObjectRef) -> Result<bool, NotAdmitted> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(NotAdmitted::Moved);
        }
        if let Health::Failing(outage) = state.circuit_breaker.health() {
            state.refused.insert(object_ref.clone());
            return Err(NotAdmitted::CircuitOpen(outage));
        }
        // Nobody looks up a key before the project has proven its credentials (rule 4).
        Ok(state.circuit_breaker.outage().is_none() && state.counted.is_some())
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

    /// Returns the settings of its client.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.state.lock().settings.clone()
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
    /// not name its scopes.
    #[must_use]
    pub fn lacking(&self, rights: &[Right]) -> Vec<Right> {
        let state = self.state.lock();
        scopes::missing(rights, &state.client.granted().unwrap_or_default(), &state.settings.project_key)
    }

    /// Removes all that is kept for `object_ref`, such as polls and pending reads.
    pub fn forget(&self, object_ref: &ObjectRef) {
        self.change(|state| state.forget(object_ref));
    }

    /// Returns every object that something is kept for, such as polls and pending reads.
    pub(super) fn object_refs(&self) -> Vec<ObjectRef> {
        self.state.lock().object_refs().cloned().collect()
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
        self.change(|state| match error {
            None => state.circuit_breaker.succeeded(permit),
            Some(error) => {
                state.circuit_breaker.failed(permit, error, now, &mut state.jitter);
                state.log_pause();
            }
        });
    }

    /// Removes the chosen objects and enqueues them, because they have to use another remote.
    pub(super) fn dismiss(&self, chosen: impl Fn(&ObjectRef) -> bool) {
        self.change(|state| {
            let dismissed: BTreeSet<ObjectRef> =
                state.object_refs().filter(|object_ref| chosen(object_ref)).cloned().collect();
            for object_ref in &dismissed {
                state.forget(object_ref);
            }
            state.enqueue.extend(dismissed);
        });
    }

    /// Changes the state, then enqueues the affected objects, and notifies the poller if it must act earlier than planned.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut RemoteState) -> T) -> T {
        let mut state = self.state.lock();
        let before = state.reported_health();
        let result = change(&mut state);
        state.enqueue_affected(&before);
        let first = state.next_due();
        if state.resting_until.take_if(|until| first < *until).is_some() {
            self.notify.notify_one();
        }
        for object_ref in mem::take(&mut state.enqueue) {
            // The receiver is gone only when the operator shuts down.
            let _ = self.enqueue.send(object_ref);
        }
        drop(state);
        self.changed.notify_waiters();
        result
    }
}
