//! The metrics of a process: one registry, passed down like the clock; nothing else registers metrics.
//!
//! Records values, and knows neither resources nor remotes: `controllers/tracking/` and HTTP clients report values, these
//! through [`Observer`]. Next: [`families`] for the table of all families, [`labels`]
//! for the values of their labels; `cli/run/listen.rs` serves them.

pub mod families;
pub mod labels;
mod process;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};

use clock::between;
use connect_api::observer::{Observer, RequestEnd, TokenEnd};

use crate::mutex::Mutex;

type Labels<const N: usize> = [(&'static str, &'static str); N];
type Seconds = Gauge<f64, AtomicU64>;
type Histograms<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;

/// A source of values that change with time, such as ages; called before each scrape.
pub trait AtScrape: Send + Sync {
    /// Sets the values.
    fn refresh(&self, metrics: &Metrics);
}

/// The metrics of a process.
pub struct Metrics {
    registry: Registry,
    /// Locked during a scrape, so that a concurrent scrape does not read values that are half set.
    ages: Mutex<Vec<Weak<dyn AtScrape>>>,
    leader: Gauge,
    workqueue_depth: Family<Labels<1>, Gauge>,
    workqueue_wait: Histograms<1>,
    reconciles: Family<Labels<2>, Counter>,
    reconcile_duration: Histograms<1>,
    remote_requests: Family<Labels<2>, Counter>,
    remote_request_duration: Histograms<1>,
    change_to_sent: Histogram,
    sent_to_live: Histogram,
    resources: Family<Labels<3>, Gauge>,
    oldest_operation: Family<Labels<1>, Seconds>,
    since_response: Family<Vec<(&'static str, String)>, Seconds>,
    rate_limit_wait: Histogram,
    throttled: Counter,
    token_requests: Family<Labels<1>, Counter>,
    cluster_errors: Family<Labels<1>, Counter>,
    panics: Family<Labels<1>, Counter>,
    lists_refused: Family<Vec<(&'static str, String)>, Gauge>,
    process_cpu: Counter<f64, AtomicU64>,
    process_memory: Gauge,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Metrics")
    }
}

impl Metrics {
    /// Registers all families, with nothing counted yet. `started`: when the process started.
    #[must_use]
    pub fn new(started: Timestamp) -> Arc<Self> {
        let mut registry = Registry::default();
        let build_info = Family::<Labels<1>, Gauge>::default();
        build_info.get_or_create(&[("version", env!("CARGO_PKG_VERSION"))]).set(1);
        add(&mut registry, families::BUILD_INFO, &build_info);
        let process_start = Seconds::default();
        process_start.set(between(Timestamp::UNIX_EPOCH, started).as_secs_f64());
        add(&mut registry, families::PROCESS_START, &process_start);
        let histogram = |family: families::Family| Histogram::new(family.bounds.iter().copied());
        let metrics = Self {
            ages: Mutex::default(),
            leader: Gauge::default(),
            workqueue_depth: Family::default(),
            workqueue_wait: Family::new_with_constructor(|| {
                Histogram::new(families::WORKQUEUE_WAIT.bounds.iter().copied())
            }),
            reconciles: Family::default(),
            reconcile_duration: Family::new_with_constructor(|| {
                Histogram::new(families::RECONCILE_DURATION.bounds.iter().copied())
            }),
            remote_requests: Family::default(),
            remote_request_duration: Family::new_with_constructor(|| {
                Histogram::new(families::REMOTE_REQUEST_DURATION.bounds.iter().copied())
            }),
            change_to_sent: histogram(families::CHANGE_TO_SENT),
            sent_to_live: histogram(families::SENT_TO_LIVE),
            resources: Family::default(),
            oldest_operation: Family::default(),
            since_response: Family::default(),
            rate_limit_wait: histogram(families::RATE_LIMIT_WAIT),
            throttled: Counter::default(),
            token_requests: Family::default(),
            cluster_errors: Family::default(),
            panics: Family::default(),
            lists_refused: Family::default(),
            process_cpu: Counter::default(),
            process_memory: Gauge::default(),
            registry: Registry::default(),
        };
        metrics.register(&mut registry);
        Arc::new(Self { registry, ..metrics })
    }

    fn register(&self, registry: &mut Registry) {
        add(registry, families::LEADER, &self.leader);
        add(registry, families::WORKQUEUE_DEPTH, &self.workqueue_depth);
        add(registry, families::WORKQUEUE_WAIT, &self.workqueue_wait);
        add(registry, families::RECONCILES, &self.reconciles);
        add(registry, families::RECONCILE_DURATION, &self.reconcile_duration);
        add(registry, families::REMOTE_REQUESTS, &self.remote_requests);
        add(registry, families::REMOTE_REQUEST_DURATION, &self.remote_request_duration);
        add(registry, families::CHANGE_TO_SENT, &self.change_to_sent);
        add(registry, families::SENT_TO_LIVE, &self.sent_to_live);
        add(registry, families::RESOURCES, &self.resources);
        add(registry, families::OLDEST_OPERATION, &self.oldest_operation);
        add(registry, families::SINCE_RESPONSE, &self.since_response);
        add(registry, families::RATE_LIMIT_WAIT, &self.rate_limit_wait);
        add(registry, families::THROTTLED, &self.throttled);
        add(registry, families::TOKEN_REQUESTS, &self.token_requests);
        add(registry, families::CLUSTER_ERRORS, &self.cluster_errors);
        add(registry, families::PANICS, &self.panics);
        add(registry, families::LISTS_REFUSED, &self.lists_refused);
        add(registry, families::PROCESS_CPU, &self.process_cpu);
        add(registry, families::PROCESS_MEMORY, &self.process_memory);
    }

    /// Calls `who` before each scrape, until it is dropped.
    pub fn at_scrape(&self, who: Weak<dyn AtScrape>) {
        self.ages.lock().push(who);
    }

    /// Encodes all families as `OpenMetrics` 1.0. The result is also valid in the Prometheus text format 0.0.4, since
    /// it uses only types and suffixes that both have.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut ages = self.ages.lock();
        ages.retain(|who| who.upgrade().map(|who| who.refresh(self)).is_some());
        if let Some(seconds) = process::cpu_seconds() {
            self.process_cpu.inner().store(seconds.to_bits(), Ordering::Relaxed);
        }
        if let Some(bytes) = process::memory_bytes() {
            self.process_memory.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        }
        let mut page = String::with_capacity(64 << 10);
        // Writing into a string cannot fail.
        let _ = text::encode(&mut page, &self.registry);
        page
    }

    /// Sets whether this process runs the controllers.
    pub fn leads(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }

    /// Sets how many resources of a kind wait for their reconcile.
    pub fn waiting(&self, kind: &'static str, number: usize) {
        self.workqueue_depth.get_or_create(&[("kind", kind)]).set(i64::try_from(number).unwrap_or(i64::MAX));
    }

    /// Records the start of a reconcile whose resource waited for `waited`.
    pub fn begun(&self, kind: &'static str, waited: Duration) {
        self.workqueue_wait.get_or_create(&[("kind", kind)]).observe(waited.as_secs_f64());
    }

    /// Records the end of a reconcile.
    pub fn ended(&self, kind: &'static str, reason: &'static str, duration: Duration) {
        self.reconciles.get_or_create(&[("kind", kind), ("reason", reason)]).inc();
        self.reconcile_duration.get_or_create(&[("kind", kind)]).observe(duration.as_secs_f64());
    }

    /// Records that a change was sent, `after` its event.
    pub fn change_sent(&self, after: Duration) {
        self.change_to_sent.observe(after.as_secs_f64());
    }

    /// Records that a deployment is live, `after` the call that deployed it.
    pub fn live(&self, after: Duration) {
        self.sent_to_live.observe(after.as_secs_f64());
    }

    /// Sets how many resources have this state and reason; removes the series if there are none.
    pub fn resources(&self, kind: &'static str, state: &'static str, reason: &'static str, number: usize) {
        let labels = [("kind", kind), ("state", state), ("reason", reason)];
        if number == 0 {
            self.resources.remove(&labels);
        } else {
            self.resources.get_or_create(&labels).set(i64::try_from(number).unwrap_or(i64::MAX));
        }
    }

    /// Sets the age of the oldest operation in progress of a kind.
    pub fn oldest_operation(&self, kind: &'static str, age: Duration) {
        self.oldest_operation.get_or_create(&[("kind", kind)]).set(age.as_secs_f64());
    }

    /// Replaces the times since the last successful read of each project, by namespace and name.
    pub fn since_response<'p>(&self, projects: impl Iterator<Item = (&'p str, &'p str, Duration)>) {
        self.since_response.clear();
        for (namespace, project, since) in projects {
            let labels = vec![("namespace", namespace.to_owned()), ("project", project.to_owned())];
            self.since_response.get_or_create(&labels).set(since.as_secs_f64());
        }
    }

    /// Counts a panic.
    pub fn panicked(&self, kind: &'static str) {
        self.panics.get_or_create(&[("kind", kind)]).inc();
    }

    /// Sets whether the API server refuses to list a kind in a namespace, or in all.
    pub fn list_refused(&self, kind: &'static str, namespace: Option<&str>, refused: bool) {
        let labels = vec![("kind", kind.to_owned()), ("namespace", namespace.unwrap_or_default().to_owned())];
        if refused {
            self.lists_refused.get_or_create(&labels).set(1);
        } else {
            self.lists_refused.remove(&labels);
        }
    }

    /// Counts an interrupted watch.
    pub fn watch_interrupted(&self, kind: &'static str) {
        self.cluster_errors.get_or_create(&[("kind", kind)]).inc();
    }
}

impl Observer for Metrics {
    fn request(&self, operation: &'static str, end: RequestEnd, duration: Duration) {
        let operation = labels::operation(operation);
        self.remote_requests.get_or_create(&[("operation", operation), ("code", labels::code(end))]).inc();
        self.remote_request_duration.get_or_create(&[("operation", operation)]).observe(duration.as_secs_f64());
    }

    fn waited(&self, duration: Duration) {
        self.rate_limit_wait.observe(duration.as_secs_f64());
    }

    fn throttled(&self) {
        self.throttled.inc();
    }

    fn token(&self, end: TokenEnd) {
        self.token_requests.get_or_create(&[("result", labels::token(end))]).inc();
    }
}

/// Registers a family under its name in the table, without the unit and `_total`, which the library appends.
fn add(registry: &mut Registry, family: families::Family, metric: &(impl Metric + Clone)) {
    let name = family.name.strip_suffix("_total").unwrap_or(family.name);
    let unit = match family.unit {
        "seconds" => Unit::Seconds,
        "bytes" => Unit::Bytes,
        _ => return registry.register(name, family.help, metric.clone()),
    };
    let name = name.strip_suffix(&format!("_{}", family.unit)).unwrap_or(name);
    registry.register_with_unit(name, family.help, unit, metric.clone());
}

#[cfg(test)]
mod tests;
