//! Queue and reconcile tracking, for metrics and liveness.
//!
//! It does not influence reconciles. A reconcile counts as hung when its future was not polled for [`LONGEST_SILENCE`]:
//! everything that it waits for, an answer or a time limit, ends long before that. The total duration of a reconcile is
//! no criterion, because a slow remote or API server may delay each of its calls. Next: `manager/`, which reports
//! events, and `cli/run/health.rs`, which serves the probes.

mod lists;
mod probes;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clock::{Clock, between};
use connect_api::trace;
use jiff::Timestamp;
use tracing::Instrument as _;

use crate::controllers::object_ref::{Kind, ObjectName, ObjectRef};
use crate::controllers::reporting::reason::{ConditionState, Reason};
use crate::controllers::reporting::reconcile_outcome::ReconcileOutcome;
use crate::controllers::tracking::initial_lists::{List, Lists, SourceList};
use crate::controllers::tracking::inventory::Inventory;
use crate::controllers::tracking::spans;
use crate::metrics::{AtScrape, Metrics};
use crate::mutex::Mutex;

/// Time after which a reconcile that was not polled, or events of a kind of which nothing reconciles, count as hung.
/// The longest single wait of a reconcile is for the API server (5 minutes, see `cli/run`); requests to a remote have
/// 30 s, and waits for a rate limiter take a second at usual rates.
pub const LONGEST_SILENCE: Duration = Duration::from_mins(15);
/// Interval of the heartbeat of the main loop.
const BEAT: Duration = Duration::from_secs(5);
/// Time without a heartbeat after which the main loop counts as hung.
pub const LONGEST_PAUSE: Duration = Duration::from_mins(2);

/// Returns whether the timing of a change that was not sent ends with this reason: the change needs no call, or waits
/// for a user.
fn settles(reason: Reason) -> bool {
    match reason.state() {
        ConditionState::Ready | ConditionState::Stalled | ConditionState::Paused | ConditionState::Failing => true,
        ConditionState::Progressing => false,
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

/// The queued and running reconciles, and the resources that exist.
pub struct ReconcileTracker {
    clock: Clock,
    metrics: Arc<Metrics>,
    /// The resources that exist.
    pub inventory: Arc<Inventory>,
    // A panic of a holder leaves at worst a wrong number.
    state: Mutex<TrackerState>,
    /// Time of the last heartbeat on [`Clock::elapsed`], in milliseconds.
    beat: AtomicU64,
}

impl fmt::Debug for ReconcileTracker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Work")
    }
}

/// The tracked state. All times are on [`Clock::elapsed`].
#[derive(Default)]
struct TrackerState {
    /// Queued resources, with the time of the first event since their last reconcile began.
    waiting: HashMap<ObjectRef, Duration>,
    running: HashMap<u64, Running>,
    begun: u64,
    /// By kind: the numbers of queued and running reconciles, and when one of them last began or ended.
    kinds: HashMap<Kind, OfKind>,
    /// Start of each reconcile in progress.
    began: HashMap<ObjectRef, Duration>,
    /// Time of the first user change that was not sent yet.
    changed: HashMap<ObjectRef, Duration>,
    lists: Lists,
    /// Lists of Secrets and ConfigMaps that the API server refuses.
    refused_sources: BTreeSet<SourceList>,
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

impl ReconcileTracker {
    /// Creates a state without queued or running reconciles, which reports to `metrics`.
    #[must_use]
    pub fn new(clock: Clock, metrics: Arc<Metrics>) -> Arc<Self> {
        let inventory = Arc::new(Inventory::new(clock.clone(), Arc::clone(&metrics)));
        let asked: Arc<dyn AtScrape> = inventory.clone();
        metrics.at_scrape(Arc::downgrade(&asked));
        Arc::new(Self { clock, metrics, inventory, state: Mutex::default(), beat: AtomicU64::default() })
    }

    /// Returns the metrics of this process.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Records that the controllers start, and that these initial lists are pending.
    pub fn start(&self, lists: impl IntoIterator<Item = List>) {
        let now = self.clock.elapsed();
        let mut state = self.state.lock();
        (state.started, state.lists) = (true, Lists::awaiting(lists));
        for kind in Kind::ALL {
            state.kinds.entry(kind).or_default().moved = now;
            self.metrics.waiting(kind.as_str(), 0);
        }
        self.beat.store(millis(now), Ordering::Relaxed);
    }

    /// Writes the heartbeat of the loop that polls this future. Never returns.
    pub async fn beat(&self) {
        loop {
            self.beat.store(millis(self.clock.elapsed()), Ordering::Relaxed);
            self.clock.sleep(BEAT).await;
        }
    }

    /// Records that a resource is queued. Does nothing if its list is refused, because it cannot reconcile until the
    /// list enqueues it.
    pub fn event(&self, object_ref: &ObjectRef) {
        let now = self.clock.elapsed();
        let mut state = self.state.lock();
        if !state.lists.is_unlisted(object_ref) && !state.waiting.contains_key(object_ref) {
            state.waiting.insert(object_ref.clone(), now);
            let of_kind = state.kinds.entry(object_ref.kind).or_default();
            of_kind.waiting += 1;
            self.metrics.waiting(object_ref.kind.as_str(), of_kind.waiting);
        }
    }

    /// Records that a user changed a resource, or an object that its values come from.
    pub fn changed(&self, object_ref: &ObjectRef) {
        if object_ref.kind == Kind::Deployment {
            let now = self.clock.elapsed();
            self.state.lock().changed.entry(object_ref.clone()).or_insert(now);
        }
    }

    /// Records that the reconcile of `object_ref` in progress observed everything, sent nothing, and reports `reason`.
    pub fn settled(&self, object_ref: &ObjectRef, reason: Reason) {
        let mut state = self.state.lock();
        // A change during the reconcile belongs to the next one.
        let began = state.began.get(object_ref).copied();
        let old = state.changed.get(object_ref).zip(began).is_some_and(|(changed, began)| *changed <= began);
        if old && settles(reason) {
            state.changed.remove(object_ref);
        }
    }

    /// Records that a call that changes the remote deployment of `object_ref` was accepted.
    pub fn sent(&self, object_ref: &ObjectRef) {
        let changed = self.state.lock().changed.remove(object_ref);
        if let Some(changed) = changed {
            self.metrics.change_sent(self.clock.elapsed().saturating_sub(changed));
        }
    }

    /// Records that a change sent at `sent` was observed live at `seen`.
    pub fn live(&self, sent: Timestamp, seen: Timestamp) {
        self.metrics.live(between(sent, seen));
    }

    /// Removes a resource that no longer exists.
    pub fn gone(&self, object_ref: &ObjectRef) {
        self.inventory.gone(object_ref);
        let mut state = self.state.lock();
        state.changed.remove(object_ref);
        self.take(&mut state, object_ref);
    }

    /// Counts a panic of a reconcile of this kind, or of a task that reads for many resources (`remote`).
    pub fn panicked(&self, kind: &'static str) {
        self.metrics.panicked(kind);
    }

    /// Counts an interruption of a watch.
    pub fn watch_interrupted(&self, kind: &'static str) {
        self.metrics.watch_interrupted(kind);
    }

    /// Returns every resource that has an entry here.
    #[must_use]
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        let state = self.state.lock();
        let kept: Vec<_> = state.waiting.keys().chain(state.changed.keys()).cloned().collect();
        drop(state);
        kept.into_iter().chain(self.inventory.object_refs()).collect()
    }

    /// Records that a reconcile of `object_ref` begins. Events from here on lead to the next one.
    #[must_use]
    pub fn begin(self: &Arc<Self>, object_ref: &ObjectRef) -> Began {
        let at = self.clock.elapsed();
        let kind = object_ref.kind;
        let mut state = self.state.lock();
        if let Some(since) = self.take(&mut state, object_ref) {
            self.metrics.begun(kind.as_str(), at.saturating_sub(since));
        }
        state.kinds.entry(kind).or_default().running += 1;
        state.began.insert(object_ref.clone(), at);
        Began { tracker: Arc::clone(self), object_ref: object_ref.clone(), at }
    }

    /// Returns the resources among `object_refs` that are not queued.
    #[must_use]
    pub fn not_waiting(&self, object_refs: &[ObjectRef]) -> Vec<ObjectRef> {
        let state = self.state.lock();
        object_refs.iter().filter(|object_ref| !state.waiting.contains_key(object_ref)).cloned().collect()
    }

    /// Runs a future that must not hang, and records each time that it is polled.
    pub async fn watched<T>(self: &Arc<Self>, what: impl FnOnce() -> String, tracker: impl Future<Output = T>) -> T {
        let enqueued = Arc::new(AtomicU64::new(millis(self.clock.elapsed())));
        let number = {
            let mut state = self.state.lock();
            state.begun += 1;
            let number = state.begun;
            state.running.insert(number, Running { what: what(), enqueued: Arc::clone(&enqueued) });
            number
        };
        let _forgotten = Forgotten { tracker: self, number };
        let mut tracker = pin!(tracker);
        poll_fn(|context| {
            enqueued.store(millis(self.clock.elapsed()), Ordering::Relaxed);
            tracker.as_mut().poll(context)
        })
        .await
    }

    fn take(&self, state: &mut TrackerState, object_ref: &ObjectRef) -> Option<Duration> {
        let since = state.waiting.remove(object_ref)?;
        let of_kind = state.kinds.entry(object_ref.kind).or_default();
        of_kind.waiting = of_kind.waiting.saturating_sub(1);
        of_kind.moved = self.clock.elapsed();
        self.metrics.waiting(object_ref.kind.as_str(), of_kind.waiting);
        Some(since)
    }
}

/// A reconcile in progress. It ends when this value is dropped, so also when its future is dropped.
pub struct Began {
    tracker: Arc<ReconcileTracker>,
    object_ref: ObjectRef,
    /// Start on [`Clock::elapsed`].
    at: Duration,
}

impl Began {
    /// Runs the reconcile, with a new trace id.
    pub async fn run<T>(self, run: impl Future<Output = (T, ReconcileOutcome)>) -> T {
        let (tracker, kind, began) = (Arc::clone(&self.tracker), self.object_ref.kind, self.at);
        let ObjectName { namespace, name, .. } = &*self.object_ref;
        let trace_id = trace::Id::random();
        let span = tracing::info_span!("reconcile", kind = kind.as_str(), namespace, name, %trace_id);
        let exported = spans::reconcile(&self.object_ref);
        let run = async {
            let (value, ended) = run.await;
            spans::reconciled(&exported, ended);
            let duration = tracker.clock.elapsed().saturating_sub(began);
            tracing::debug!(reason = ended.label(), duration_ms = millis(duration), "the reconcile ended");
            (value, ended)
        };
        // The exported span begins within the trace, whose id it takes.
        let run = trace::within(trace_id, run.instrument(exported.clone())).instrument(span);
        let (value, ended) =
            tracker.watched(|| format!("the reconcile of {} {}", kind.as_str(), self.object_ref), run).await;
        drop(self);
        tracker.metrics.ended(kind.as_str(), ended.label(), tracker.clock.elapsed().saturating_sub(began));
        value
    }
}

impl Drop for Began {
    fn drop(&mut self) {
        let now = self.tracker.clock.elapsed();
        let mut state = self.tracker.state.lock();
        state.began.remove(&self.object_ref);
        let of_kind = state.kinds.entry(self.object_ref.kind).or_default();
        of_kind.running = of_kind.running.saturating_sub(1);
        of_kind.moved = now;
    }
}

/// Removes a future from the running ones when it is dropped, whether it completed or not.
struct Forgotten<'w> {
    tracker: &'w ReconcileTracker,
    number: u64,
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        self.tracker.state.lock().running.remove(&self.number);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
