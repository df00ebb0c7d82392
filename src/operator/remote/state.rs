//! One remote project: the lock around its state, and what follows each change of it.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use clock::{Clock, between};
use connect_api::ApiError;
use connect_api::error::Failure;
use connect_api::scopes::{self, Right};
use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::circuit_breaker::{CallScope, CircuitBreaker, Permit};
use super::concurrency_limiter::ConcurrencyLimiter;
use super::jitter::Jitter;
use super::records::Records;
use super::registry::RegistryCache;
use super::{Connection, Health, NotAdmitted, Outage, OutageKind, Settings};
use crate::metrics::Metrics;
use crate::mutex::Mutex;
use crate::operator::object_ref::ObjectRef;

/// Identifies the credentials that a remote is called with: another value means other credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Login(u64);

/// What all remotes have in common.
pub(super) struct Common {
    pub(super) clock: Clock,
    /// Receives the objects to reconcile again.
    pub(super) enqueue: UnboundedSender<ObjectRef>,
    /// Permits that no rate exceeds.
    pub(super) concurrency: usize,
    pub(super) metrics: Arc<Metrics>,
}

/// The remote project of one `ConnectProject` or `ClusterConnectProject`, called with its credentials.
pub struct Remote {
    login: Login,
    pub(super) project: ObjectRef,
    settings: Settings,
    pub(super) clock: Clock,
    pub(super) client: Arc<dyn Connection>,
    /// Notifies the poller, and those that wait for the end of a pause, after each change of the state.
    pub(super) changes: watch::Sender<()>,
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
    /// The last request of a user to list the project, and whether that is done.
    pub(super) request: Option<(String, bool)>,
    /// Objects to enqueue at the end of the change, while its lock is still held.
    pub(super) enqueue: Vec<ObjectRef>,
    /// Objects that were refused a permit because of an outage; they are enqueued when it is over.
    refused: BTreeSet<ObjectRef>,
    /// Its project has another remote, or none.
    closed: bool,
}

/// The part of the health whose changes enqueue the project.
type ReportedHealth = (mem::Discriminant<Health>, Option<OutageKind>);

impl RemoteState {
    fn reported_health(&self) -> ReportedHealth {
        let health = self.circuit_breaker.health();
        let outage = if let Health::Failing(outage) = &health { Some(outage.kind) } else { None };
        (mem::discriminant(&health), outage)
    }

    /// Whether a user waits for a list of the project.
    pub(super) fn is_requested(&self) -> bool {
        self.request.as_ref().is_some_and(|(_, done)| !done)
    }

    fn forget(&mut self, object_ref: &ObjectRef) {
        self.records.forget(object_ref);
        self.registry_cache.forget(object_ref);
        self.refused.remove(object_ref);
    }

    fn object_refs(&self) -> impl Iterator<Item = &ObjectRef> {
        self.records.object_refs().chain(self.registry_cache.object_refs()).chain(&self.refused)
    }
}

impl Remote {
    /// Creates a remote. `number` tells it apart from others, and is the seed of its jitter.
    pub(super) fn new(
        common: &Common,
        number: u64,
        project: ObjectRef,
        client: Arc<dyn Connection>,
        settings: Settings,
    ) -> Self {
        let state = RemoteState {
            circuit_breaker: CircuitBreaker::default(),
            concurrency_limiter: ConcurrencyLimiter::new(common.concurrency, settings.requests_per_second),
            records: Records::default(),
            registry_cache: RegistryCache::default(),
            jitter: Jitter::new(number),
            counted: None,
            request: None,
            enqueue: Vec::new(),
            refused: BTreeSet::new(),
            closed: false,
        };
        Self {
            login: Login(number),
            project,
            settings,
            clock: common.clock.clone(),
            client,
            changes: watch::Sender::new(()),
            enqueue: common.enqueue.clone(),
            metrics: Arc::clone(&common.metrics),
            state: Mutex::new(state),
        }
    }

    /// Is the same login as `before`, and paused for as long: only the rate of its calls is another one.
    pub(super) fn continue_from(&mut self, before: &Self) {
        self.login = before.login;
        self.state.lock().circuit_breaker = before.look(|state| state.circuit_breaker.clone());
    }

    /// Closes the remote: nothing is polled any more. The resources of the project are enqueued by its reconcile, which knows
    /// why, and use another remote.
    pub(super) fn close(&self) {
        self.change(|state| state.closed = true);
    }

    /// Waits for a permit: until the project has answered for the first time, and during a pause that only the log reports.
    /// An object that an outage refuses one is enqueued when the outage is over.
    ///
    /// # Errors
    /// Why there is no permit.
    pub async fn enter(&self, object_ref: &ObjectRef) -> Result<OwnedSemaphorePermit, NotAdmitted> {
        let waiting = self.look(|state| state.concurrency_limiter.wait(&object_ref.namespace));
        let permit = waiting.await.map_err(|_| NotAdmitted::Moved)?;
        let mut changes = self.changes.subscribe();
        while !self.admits(object_ref)? {
            changes.changed().await.map_err(|_| NotAdmitted::Moved)?;
        }
        Ok(permit)
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

    /// Identifies the credentials that the remote is called with.
    pub fn login(&self) -> Login {
        self.login
    }

    /// Returns the settings of its client.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the health. Each change of its kind enqueues the project.
    pub fn health(&self) -> Health {
        self.state.lock().circuit_breaker.health()
    }

    /// Returns why no call passes now, even if only the log reports it.
    pub fn outage(&self) -> Option<Outage> {
        self.state.lock().circuit_breaker.outage().cloned()
    }

    /// Returns which of `rights` the newest token lacks, in the order of `rights`; nothing if its scopes are not known.
    pub fn lacking(&self, rights: &[Right]) -> Vec<Right> {
        scopes::missing(rights, &self.client.scopes().unwrap_or_default(), &self.settings.project_key)
    }

    /// Removes all that is kept for `object_ref`, such as polls and pending reads.
    pub fn forget(&self, object_ref: &ObjectRef) {
        self.change(|state| state.forget(object_ref));
    }

    /// Returns every object that something is kept for, such as polls and pending reads.
    pub(super) fn object_refs(&self) -> Vec<ObjectRef> {
        self.look(|state| state.object_refs().cloned().collect())
    }

    /// Whether the deployments of the project were listed with these credentials. A successful
    /// login proves less: a token of another project can read the registry.
    pub fn has_answered(&self) -> bool {
        self.state.lock().counted.is_some()
    }

    /// Returns the scopes of the newest token; `None` before the first one.
    pub fn scopes(&self) -> Option<Vec<String>> {
        self.client.scopes()
    }

    pub(super) fn admit(&self, operation: &'static str, scope: CallScope) -> Result<Permit, ApiError> {
        let now = self.clock.now();
        self.state.lock().circuit_breaker.admit(now, scope).map_err(|outage| ApiError {
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
                self.log_pause(state);
            }
        });
    }

    /// Enqueues the objects that a change concerns: those that were refused a permit, once calls pass again, and the project, if
    /// what it reports has changed.
    fn enqueue_affected(&self, state: &mut RemoteState, before: &ReportedHealth) {
        if state.circuit_breaker.outage().is_none() {
            state.enqueue.extend(mem::take(&mut state.refused));
        }
        let after = state.reported_health();
        if after == *before {
            return;
        }
        state.enqueue.push(self.project.clone());
        self.log_health(state);
        if after.1.is_some() {
            // No reads from now on: the objects that wait for one have to report why.
            state.enqueue.extend(state.records.waiting().cloned());
        }
    }

    /// Logs the health. Error texts are masked before they get here, and project names are not secret.
    fn log_health(&self, state: &RemoteState) {
        let project = &self.settings.project_key;
        match state.circuit_breaker.health() {
            Health::Unknown => {}
            Health::Good { .. } => tracing::info!(%project, "the remote project answers"),
            Health::Failing(Outage { kind, error, until }) => {
                tracing::warn!(%project, ?kind, %error, %until, "the remote project is not usable");
            }
        }
    }

    /// Logs a pause that no condition reports, because it is short.
    fn log_pause(&self, state: &RemoteState) {
        let breaker = &state.circuit_breaker;
        if let (Some(outage), Health::Good { .. }) = (breaker.outage(), breaker.health()) {
            let Outage { kind, error, until } = outage;
            let project = &self.settings.project_key;
            tracing::debug!(%project, outage = ?kind, %error, %until, "the calls of the remote project pause");
        }
    }

    /// Uses the state, without a change that concerns anybody else.
    pub(super) fn look<T>(&self, look: impl FnOnce(&mut RemoteState) -> T) -> T {
        look(&mut self.state.lock())
    }

    /// Changes the state, then enqueues the affected objects, and notifies whoever waits for a change.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut RemoteState) -> T) -> T {
        let mut state = self.state.lock();
        let before = state.reported_health();
        let result = change(&mut state);
        self.enqueue_affected(&mut state, &before);
        for object_ref in mem::take(&mut state.enqueue) {
            // The receiver is gone only when the operator shuts down.
            let _ = self.enqueue.send(object_ref);
        }
        drop(state);
        self.changes.send_replace(());
        result
    }
}
