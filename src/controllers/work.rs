//! What waits and what runs: for the metrics, and to tell a process that hangs from one that waits.
//!
//! Decides nothing about runs. A run is taken to hang when nothing has woken it for [`LONGEST_SILENCE`]: whatever an honest
//! run waits for ends long before that, be it an answer or the end of its time. How long a run takes as a whole says
//! nothing, since a remote or an API server that is slow may hold up each of its calls. Next: `manager.rs`, which tells of
//! events, and `cli/run/health.rs`, which asks.

mod probes;

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clock::{Clock, between};
use connect_api::trace;
use jiff::Timestamp;
use tracing::Instrument as _;

use super::inventory::Inventory;
use super::lists::{List, Lists};
use super::object_ref::{Kind, ObjectRef};
use super::reason::{ConditionState, Reason};
use crate::metrics::{AtScrape, Metrics};

/// Time after which a run that nothing has woken, or events of a kind of which nothing runs, are taken to hang. The longest
/// single wait of a run is for the API server (5 minutes, see `cli/run`); requests to a remote have 30 s, and turns of a
/// rate limit come each second.
pub const LONGEST_SILENCE: Duration = Duration::from_mins(15);
/// Pause between two beats of the main loop.
const BEAT: Duration = Duration::from_secs(5);
/// Time without a beat after which the main loop is taken to hang.
pub const LONGEST_PAUSE: Duration = Duration::from_mins(2);

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconcileOutcome {
    /// The resource stays, with this reason of its Ready condition, if it has one.
    Said(Option<Reason>),
    /// The resource is gone, or may go.
    Gone,
    /// Somebody changed the resource meanwhile; it runs again.
    Conflict,
    /// The cluster refused or did not answer; it runs again.
    ClusterError,
    /// It panicked, which is a bug; it runs again.
    Panicked,
}

impl ReconcileOutcome {
    /// How a run ended that the cluster refused.
    #[must_use]
    pub fn refused(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 409 => Self::Conflict,
            _ => Self::ClusterError,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Said(reason) => reason.map_or("None", Reason::as_str),
            Self::Gone => "Gone",
            Self::Conflict => "Conflict",
            Self::ClusterError => "ClusterError",
            Self::Panicked => "Panic",
        }
    }
}

/// Whether a change that was not sent with this outcome is not to be sent, or waits for people.
fn settles(reason: Reason) -> bool {
    match reason.state() {
        ConditionState::Ready | ConditionState::Stalled | ConditionState::Paused | ConditionState::Failing => true,
        ConditionState::Running => false,
        ConditionState::Waiting => matches!(
            reason,
            Reason::SecretMissing
                | Reason::ConfigMapMissing
                | Reason::ProjectMissing
                | Reason::StagedNotReady
                | Reason::KubernetesError
        ),
    }
}

/// What waits and what runs.
pub struct Work {
    clock: Clock,
    metrics: Arc<Metrics>,
    /// What exists.
    pub inventory: Arc<Inventory>,
    state: Mutex<State>,
    /// On [`Clock::elapsed`], in milliseconds.
    beat: AtomicU64,
}

impl fmt::Debug for Work {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Work")
    }
}

/// All times on [`Clock::elapsed`].
#[derive(Default)]
struct State {
    /// Since the first event that no run has begun for.
    waiting: HashMap<ObjectRef, Duration>,
    running: HashMap<u64, Running>,
    begun: u64,
    /// By kind: how many wait, how many run, and when one of them began or ended last.
    kinds: HashMap<Kind, OfKind>,
    /// Start of each run that is under way.
    began: HashMap<ObjectRef, Duration>,
    /// Since when a change that people made is not sent.
    changed: HashMap<ObjectRef, Duration>,
    lists: Lists,
    /// Whether the controllers have started.
    started: bool,
}

#[derive(Default)]
struct OfKind {
    waiting: usize,
    running: usize,
    moved: Duration,
}

struct Running {
    what: String,
    enqueued: Arc<AtomicU64>,
}

impl Work {
    /// Nothing waits and nothing runs. What is known is told to `metrics`.
    #[must_use]
    pub fn new(clock: Clock, metrics: Arc<Metrics>) -> Arc<Self> {
        let inventory = Arc::new(Inventory::new(clock.clone(), Arc::clone(&metrics)));
        let asked: Arc<dyn AtScrape> = inventory.clone();
        metrics.at_scrape(Arc::downgrade(&asked));
        Arc::new(Self { clock, metrics, inventory, state: Mutex::default(), beat: AtomicU64::default() })
    }

    /// The metrics of this process.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The controllers start, and these lists are to be there before they know everything.
    pub fn start(&self, lists: impl IntoIterator<Item = List>) {
        let now = self.clock.elapsed();
        let mut state = self.lock();
        (state.started, state.lists) = (true, Lists::awaiting(lists));
        for kind in Kind::ALL {
            state.kinds.entry(kind).or_default().moved = now;
            self.metrics.waiting(kind.as_str(), 0);
        }
        self.beat.store(millis(now), Ordering::Relaxed);
    }

    /// A first list is there, or one more of the kind. Returns whether it is the first one.
    pub fn listed(&self, list: &List) -> bool {
        let now = self.clock.elapsed();
        let mut state = self.lock();
        if !state.lists.there(list) {
            return false;
        }
        self.metrics.list_refused(list.kind.as_str(), list.namespace.as_deref(), false);
        for of_kind in state.kinds.values_mut() {
            of_kind.moved = now;
        }
        true
    }

    /// The API server refuses a first list. Returns whether that is news.
    pub fn list_refused(&self, list: &List) -> bool {
        let news = self.lock().lists.refused(list);
        if news {
            self.metrics.list_refused(list.kind.as_str(), list.namespace.as_deref(), true);
        }
        news
    }

    /// Whether the first list is there that this resource stands in, so that its controller reconciles it.
    #[must_use]
    pub fn is_listed(&self, object_ref: &ObjectRef) -> bool {
        self.lock().lists.is_listed(object_ref)
    }

    /// The first lists that the API server refuses, for people.
    #[must_use]
    pub fn refused_lists(&self) -> Vec<String> {
        self.lock().lists.kubernetes_error_backoff().map(ToString::to_string).collect()
    }

    /// Shows for ever that the loop which drives this is alive.
    pub async fn beat(&self) {
        loop {
            self.beat.store(millis(self.clock.elapsed()), Ordering::Relaxed);
            self.clock.sleep(BEAT).await;
        }
    }

    /// Something happened for which a resource is to run. What cannot be listed cannot run; its list enqueues it.
    pub fn event(&self, object_ref: &ObjectRef) {
        let now = self.clock.elapsed();
        let mut state = self.lock();
        if !state.lists.is_unlisted(object_ref) && !state.waiting.contains_key(object_ref) {
            state.waiting.insert(object_ref.clone(), now);
            let of_kind = state.kinds.entry(object_ref.kind).or_default();
            of_kind.waiting += 1;
            self.metrics.waiting(object_ref.kind.as_str(), of_kind.waiting);
        }
    }

    /// People changed a resource, or what its values come from.
    pub fn changed(&self, object_ref: &ObjectRef) {
        if object_ref.kind == Kind::Deployment {
            let now = self.clock.elapsed();
            self.lock().changed.entry(object_ref.clone()).or_insert(now);
        }
    }

    /// The run of `object_ref` that is under way has seen everything, sent nothing, and says this.
    pub fn settled(&self, object_ref: &ObjectRef, reason: Reason) {
        let mut state = self.lock();
        // What changes during the run is for the next one.
        let began = state.began.get(object_ref).copied();
        let old = state.changed.get(object_ref).zip(began).is_some_and(|(changed, began)| *changed <= began);
        if old && settles(reason) {
            state.changed.remove(object_ref);
        }
    }

    /// A call that changes the remote deployment of `object_ref` was accepted.
    pub fn sent(&self, object_ref: &ObjectRef) {
        let changed = self.lock().changed.remove(object_ref);
        if let Some(changed) = changed {
            self.metrics.change_sent(self.clock.elapsed().saturating_sub(changed));
        }
    }

    /// What was sent at `sent` was seen live at `seen`.
    pub fn live(&self, sent: Timestamp, seen: Timestamp) {
        self.metrics.live(between(sent, seen));
    }

    /// Nothing waits any more for a resource that is gone.
    pub fn gone(&self, object_ref: &ObjectRef) {
        self.inventory.gone(object_ref);
        let mut state = self.lock();
        state.changed.remove(object_ref);
        self.take(&mut state, object_ref);
    }

    /// A reconcile of this kind panicked, or a task that reads for many (`remote`).
    pub fn panicked(&self, kind: &'static str) {
        self.metrics.panicked(kind);
    }

    /// A watch was interrupted.
    pub fn watch_interrupted(&self, kind: &'static str) {
        self.metrics.watch_interrupted(kind);
    }

    /// Every subject that something is kept for.
    #[must_use]
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        let state = self.lock();
        let kept: Vec<_> = state.waiting.keys().chain(state.changed.keys()).cloned().collect();
        drop(state);
        kept.into_iter().chain(self.inventory.object_refs()).collect()
    }

    /// A run begins for `object_ref`: what happens from here on is for the next one.
    #[must_use]
    pub fn begin(self: &Arc<Self>, object_ref: &ObjectRef) -> Began {
        let at = self.clock.elapsed();
        let kind = object_ref.kind;
        let mut state = self.lock();
        if let Some(since) = self.take(&mut state, object_ref) {
            self.metrics.begun(kind.as_str(), at.saturating_sub(since));
        }
        state.kinds.entry(kind).or_default().running += 1;
        state.began.insert(object_ref.clone(), at);
        Began { work: Arc::clone(self), object_ref: object_ref.clone(), at }
    }

    /// Those of `object_refs` that no event waits for.
    #[must_use]
    pub fn not_waiting(&self, object_refs: &[ObjectRef]) -> Vec<ObjectRef> {
        let state = self.lock();
        object_refs.iter().filter(|object_ref| !state.waiting.contains_key(object_ref)).cloned().collect()
    }

    /// Does something that must not hang.
    pub async fn watched<T>(self: &Arc<Self>, what: impl FnOnce() -> String, work: impl Future<Output = T>) -> T {
        let enqueued = Arc::new(AtomicU64::new(millis(self.clock.elapsed())));
        let number = {
            let mut state = self.lock();
            state.begun += 1;
            let number = state.begun;
            state.running.insert(number, Running { what: what(), enqueued: Arc::clone(&enqueued) });
            number
        };
        let _forgotten = Forgotten { work: self, number };
        let mut work = pin!(work);
        poll_fn(|context| {
            enqueued.store(millis(self.clock.elapsed()), Ordering::Relaxed);
            work.as_mut().poll(context)
        })
        .await
    }

    fn take(&self, state: &mut State, object_ref: &ObjectRef) -> Option<Duration> {
        let since = state.waiting.remove(object_ref)?;
        let of_kind = state.kinds.entry(object_ref.kind).or_default();
        of_kind.waiting = of_kind.waiting.saturating_sub(1);
        of_kind.moved = self.clock.elapsed();
        self.metrics.waiting(object_ref.kind.as_str(), of_kind.waiting);
        Some(since)
    }

    /// A panic elsewhere leaves at worst a number that is wrong.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that has begun, and ends with this, in whatever way.
pub struct Began {
    work: Arc<Work>,
    object_ref: ObjectRef,
    /// On [`Clock::elapsed`].
    at: Duration,
}

impl Began {
    /// Does the run, under a trace id of its own.
    pub async fn run<T>(self, run: impl Future<Output = (T, ReconcileOutcome)>) -> T {
        let (work, kind, began) = (Arc::clone(&self.work), self.object_ref.kind, self.at);
        let ObjectRef { namespace, name, .. } = &self.object_ref;
        let trace_id = trace::Id::random();
        let span = tracing::info_span!("run", kind = kind.as_str(), namespace, name, %trace_id);
        let run = async {
            let (value, ended) = run.await;
            let duration = work.clock.elapsed().saturating_sub(began);
            tracing::debug!(reason = ended.label(), duration_ms = millis(duration), "the run ended");
            (value, ended)
        };
        let run = trace::within(trace_id, run).instrument(span);
        let (value, ended) = work.watched(|| format!("the run of {} {}", kind.as_str(), self.object_ref), run).await;
        drop(self);
        work.metrics.ended(kind.as_str(), ended.label(), work.clock.elapsed().saturating_sub(began));
        value
    }
}

impl Drop for Began {
    fn drop(&mut self) {
        let now = self.work.clock.elapsed();
        let mut state = self.work.lock();
        state.began.remove(&self.object_ref);
        let of_kind = state.kinds.entry(self.object_ref.kind).or_default();
        of_kind.running = of_kind.running.saturating_sub(1);
        of_kind.moved = now;
    }
}

/// Something that is not watched any more, in whatever way it ended.
struct Forgotten<'w> {
    work: &'w Work,
    number: u64,
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        self.work.lock().running.remove(&self.number);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
