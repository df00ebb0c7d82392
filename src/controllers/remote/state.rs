//! One remote project: the lock around what is known of it, and what its users call.

use std::collections::BTreeMap;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clock::{Clock, between, later};
use connect_api::error::Failure;
use connect_api::registry::{RegistryApi, StagedApi};
use connect_api::{ApiError, ConnectApi};
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use super::door::Door;
use super::gate::{Caller, Concern, Gate, Permit, Position};
use super::jitter::Jitter;
use super::lookups::Lookups;
use super::offers::Offers;
use super::permissions::Permissions;
use super::plan::{COUNT_AGE, Facts, Plan, plan};
use super::turns::Turns;
use super::view::View;
use super::{Connection, Health, NotNow, Offer, OfferName, Pace, Settings, Sighting, Trouble, TroubleKind};
use crate::controllers::subject::Subject;
use crate::controllers::work::Work;

/// Tells remotes apart that came and went in this process.
static OPENED: AtomicU64 = AtomicU64::new(0);

/// The credentials that a remote is called with: another value, other credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Login {
    remote: u64,
    client: u64,
}

/// One remote project.
pub struct Remote {
    serial: u64,
    pub(super) clock: Clock,
    /// Rung when the looker is to plan anew.
    pub(super) bell: Notify,
    /// Rung when a lookup is wanted.
    pub(super) lookup_bell: Notify,
    wake: UnboundedSender<Subject>,
    pub(super) work: Arc<Work>,
    state: Mutex<State>,
}

/// What is known of a remote.
pub(super) struct State {
    pub(super) gate: Gate,
    pub(super) turns: Turns,
    pub(super) view: View,
    pub(super) offers: Offers,
    pub(super) lookups: Lookups,
    pub(super) permissions: Permissions,
    pub(super) jitter: Jitter,
    /// Deployments in the project, and when that was read.
    pub(super) counted: Option<(u64, Timestamp)>,
    /// Those to wake once the lock is free.
    pub(super) wake: Vec<Subject>,
    pub(super) client: Arc<dyn Connection>,
    /// What the client was made of.
    pub(super) settings: Settings,
    /// What each project asks for.
    pub(super) claims: BTreeMap<Subject, Settings>,
    /// Nobody claims it any more.
    pub(super) closed: bool,
    /// Until when the looker rests; `None` while it works.
    resting_until: Option<Timestamp>,
    /// Whether the looker read connectors last.
    offers_read: bool,
}

/// What is told to the projects when it changes.
#[derive(PartialEq, Eq)]
struct Face {
    health: mem::Discriminant<Health>,
    trouble: Option<TroubleKind>,
    total: Option<u64>,
}

impl State {
    fn face(&self) -> Face {
        let health = self.gate.health();
        let trouble = if let Health::Failing(trouble) = &health { Some(trouble.kind) } else { None };
        Face { health: mem::discriminant(&health), trouble, total: self.counted.map(|(total, _)| total) }
    }

    /// Texts of errors are masked before they get here, and names of projects are no secrets.
    fn log_health(&self) {
        let project = &self.settings.project_key;
        match self.gate.health() {
            Health::Unknown => tracing::info!(%project, "asks the remote project with new credentials"),
            Health::Good { .. } => tracing::info!(%project, "the remote project answers"),
            Health::Failing(Trouble { kind, error, until, .. }) => {
                tracing::warn!(%project, ?kind, %error, %until, "the remote project cannot be worked with");
            }
        }
    }

    /// When the looker has to act because of the gate, the queue, a connector or the age of the count.
    fn next_duty(&self) -> Timestamp {
        if let Some(trouble) = self.gate.trouble() {
            return trouble.until;
        }
        let count = self.counted.map_or(Timestamp::MIN, |(_, at)| later(at, COUNT_AGE));
        let lapse = self.turns.next_lapse().unwrap_or(Timestamp::MAX);
        count.min(lapse).min(self.offers.next())
    }
}

impl Remote {
    pub(super) fn new(
        clock: Clock,
        wake: UnboundedSender<Subject>,
        concurrency: usize,
        seed: u64,
        client: Arc<dyn Connection>,
        settings: Settings,
        work: Arc<Work>,
    ) -> Self {
        let state = State {
            gate: Gate::default(),
            turns: Turns::new(concurrency),
            view: View::default(),
            offers: Offers::default(),
            lookups: Lookups::default(),
            permissions: Permissions::default(),
            jitter: Jitter::new(seed),
            counted: None,
            wake: Vec::new(),
            client,
            settings,
            claims: BTreeMap::new(),
            closed: false,
            resting_until: None,
            offers_read: false,
        };
        let serial = OPENED.fetch_add(1, Ordering::Relaxed);
        Self { serial, clock, bell: Notify::new(), lookup_bell: Notify::new(), wake, work, state: Mutex::new(state) }
    }

    /// The client. Each call asks the gate first ([`Failure::HeldBack`] if it is closed, with the time left in
    /// `retry_after`) and reports to it after, so nobody has to. Not to be kept for longer than a run.
    #[must_use]
    pub fn api(self: &Arc<Self>) -> Arc<dyn ConnectApi> {
        Arc::new(self.door(Caller::Run))
    }

    /// The same client for the registry of connectors.
    #[must_use]
    pub fn registry(self: &Arc<Self>) -> Arc<dyn RegistryApi> {
        Arc::new(self.door(Caller::Run))
    }

    /// The same client for staged connectors.
    #[must_use]
    pub fn staged(self: &Arc<Self>) -> Arc<dyn StagedApi> {
        Arc::new(self.door(Caller::Run))
    }

    /// Asks for a turn. Whoever is refused stands in the queue, once, and is woken when it may try again.
    ///
    /// # Errors
    /// Why not now.
    pub fn enter(self: &Arc<Self>, subject: &Subject) -> Result<Turn, NotNow> {
        let now = self.clock.now();
        self.change(|state| {
            if state.closed {
                state.wake.push(subject.clone());
                return Err(NotNow::Queued);
            }
            if let Some(trouble) = state.gate.trouble() {
                let trouble = trouble.clone();
                state.turns.wait(subject);
                return Err(NotNow::Closed(trouble));
            }
            if state.turns.enter(subject, now) { Ok(Turn { remote: Arc::clone(self) }) } else { Err(NotNow::Queued) }
        })
    }

    /// The credentials that it is called with now.
    #[must_use]
    pub fn login(&self) -> Login {
        Login { remote: self.serial, client: self.lock().gate.client() }
    }

    /// Key of the project.
    pub(super) fn project_key(&self) -> String {
        self.lock().settings.project_key.clone()
    }

    /// How the remote is. Each change of its kind wakes the projects that claim it.
    #[must_use]
    pub fn health(&self) -> Health {
        self.lock().gate.health()
    }

    /// Takes what was seen of `id` by a request that left at `newer_than` or later. If there is no such sighting, one
    /// is wanted from now on (or from `newer_than`, if that is still to come), and `subject` is woken once it is there.
    #[must_use]
    pub fn sighting(&self, subject: &Subject, id: &str, newer_than: Timestamp) -> Option<Sighting> {
        let now = self.clock.now();
        self.schedule(subject, |state| {
            if state.closed {
                state.wake.push(subject.clone());
            }
            state.view.take(subject, id, newer_than, now)
        })
    }

    /// Takes what the registry says of a connector, if it was asked at `newer_than` or later; from now on it is read at
    /// this interval, or more often, and a change wakes `subject`. If there is no such answer, one is wanted, and
    /// `subject` is woken once it is there. One connector for each subject: another one takes its place.
    #[must_use]
    pub fn offer(
        &self,
        subject: &Subject,
        name: &OfferName,
        interval: Duration,
        newer_than: Timestamp,
    ) -> Option<Offer> {
        let now = self.clock.now();
        self.change(|state| {
            if state.closed {
                state.wake.push(subject.clone());
            }
            state.offers.take(subject, name, interval, newer_than, now)
        })
    }

    /// The subject does not depend on a connector any more.
    pub fn forget_offer(&self, subject: &Subject) {
        self.change(|state| state.offers.forget(subject));
    }

    /// Looks at `id` at this pace from now on, until [`Remote::forget`]. `subject` is woken when what is seen differs
    /// from what was seen before, and only then. One id for each subject: another one takes its place.
    pub fn watch(&self, subject: &Subject, id: &str, pace: Pace) {
        let now = self.clock.now();
        self.schedule(subject, |state| state.view.watch(subject, id, pace, now, &mut state.jitter));
    }

    /// Ends all that is kept for `subject`: watch, wishes and place in the queue.
    pub fn forget(&self, subject: &Subject) {
        self.change(|state| {
            state.view.forget(subject);
            state.offers.forget(subject);
            state.lookups.forget(subject);
            state.permissions.forget(subject);
            state.turns.forget(subject);
        });
    }

    /// Every subject that something is kept for: watch, wishes or place in the queue.
    pub(super) fn subjects(&self) -> Vec<Subject> {
        let state = self.lock();
        let watched = state.view.entries().map(|(subject, _)| subject);
        watched
            .chain(state.offers.subjects())
            .chain(state.lookups.subjects())
            .chain(state.permissions.subjects())
            .chain(state.turns.subjects())
            .cloned()
            .collect()
    }

    /// Whether the deployments of the project were listed with credentials of whoever claims it. That the login succeeded
    /// says less: a token of another project can read the registry. The first list wakes the projects that claim it.
    #[must_use]
    pub fn has_answered(&self) -> bool {
        self.lock().counted.is_some()
    }

    /// Scopes of the newest token; `None` before the first one.
    #[must_use]
    pub fn scopes(&self) -> Option<Vec<String>> {
        self.lock().client.scopes()
    }

    /// What to read next. The looker rests from here on, if there is nothing.
    pub(super) fn plan(&self) -> Plan {
        let now = self.clock.now();
        self.change(|state| {
            let mut plan = plan(
                &state.view,
                &state.offers,
                Facts { now, gate: state.gate.position(now), counted: state.counted, offers_read: state.offers_read },
            );
            state.offers_read = matches!(plan, Plan::Offers(_));
            if let Plan::Rest(until) = &mut plan {
                *until = state.next_duty().min(*until);
                state.resting_until = Some(*until);
            }
            plan
        })
    }

    pub(super) fn looker_door(self: &Arc<Self>) -> Door {
        self.door(Caller::Looker)
    }

    fn door(self: &Arc<Self>, caller: Caller) -> Door {
        let state = self.lock();
        Door { remote: Arc::clone(self), client: Arc::clone(&state.client), number: state.gate.client(), caller }
    }

    pub(super) fn admit(
        &self,
        operation: &'static str,
        caller: Caller,
        concern: Concern,
        client: u64,
    ) -> Result<Permit, ApiError> {
        let now = self.clock.now();
        self.lock().gate.admit(now, caller, concern, client).map_err(|trouble| ApiError {
            operation,
            failure: Failure::HeldBack,
            message: trouble.error.to_string(),
            correlation_id: None,
            retry_after: Some(between(now, trouble.until)),
        })
    }

    pub(super) fn report(&self, permit: Permit, error: Option<&ApiError>) {
        let now = self.clock.now();
        self.change(|state| {
            state.note_token();
            match error {
                None => {
                    state.gate.succeeded(permit);
                    for project in state.claims.keys() {
                        self.work.inventory.looked(project, now);
                    }
                }
                Some(error) => state.gate.failed(permit, error, now, &mut state.jitter),
            }
        });
    }

    /// Forgets the chosen subjects and wakes them, because they have to turn to another remote.
    pub(super) fn dismiss(&self, chosen: impl Fn(&Subject) -> bool) {
        self.change(|state| {
            let mut dismissed = state.view.dismiss(&chosen);
            dismissed.extend(state.offers.dismiss(&chosen));
            dismissed.extend(state.lookups.dismiss(&chosen));
            dismissed.extend(state.permissions.dismiss(&chosen));
            dismissed.extend(state.turns.dismiss(&chosen));
            dismissed.sort();
            dismissed.dedup();
            state.wake.extend(dismissed);
        });
    }

    /// Changes when `subject` is looked at.
    fn schedule<T>(&self, subject: &Subject, change: impl FnOnce(&mut State) -> T) -> T {
        self.change_for(Some(subject), change)
    }

    /// Changes the state; then wakes whoever has to know, and the looker if it has to act earlier than it thinks.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        self.change_for(None, change)
    }

    fn change_for<T>(&self, subject: Option<&Subject>, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let before = state.face();
        let result = change(&mut state);
        let now = self.clock.now();
        if state.gate.position(now) == Position::Open {
            let invited = state.turns.invite(now);
            state.wake.extend(invited);
        }
        let after = state.face();
        if after != before {
            let turned = (after.health, after.trouble) != (before.health, before.trouble);
            if turned {
                state.log_health();
            }
            let State { claims, wake, turns, view, offers, .. } = &mut *state;
            wake.extend(claims.keys().cloned());
            if turned && after.trouble.is_some() {
                // Nobody is invited and nothing is looked at any more: who waits for that has to say why.
                wake.extend(turns.take_unaware());
                wake.extend(view.take_unaware());
                wake.extend(offers.waiting().cloned());
            }
        }
        let due = subject.and_then(|subject| state.view.due(subject));
        let first = due.map_or(state.next_duty(), |due| due.min(state.next_duty()));
        if state.resting_until.is_some_and(|until| first < until) {
            state.resting_until = None;
            self.bell.notify_one();
        }
        for subject in mem::take(&mut state.wake) {
            // Nobody listens any more when the operator ends.
            let _ = self.wake.send(subject);
        }
        result
    }

    /// A panic elsewhere leaves nothing half-done that would matter: what is missing is looked at again.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run's right to work with the remote; dropping it lets the next one in.
#[must_use]
pub struct Turn {
    remote: Arc<Remote>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.remote.change(|state| state.turns.leave());
    }
}
