//! The metrics of a process: one registry, passed down like the clock; nothing else registers metrics.
//!
//! Records values, and knows neither resources nor remotes: `controllers/` and HTTP clients report values, these through
//! [`Observer`]. Next: [`families`] for the table of all families, [`labels`]
//! for the values of their labels; `cli/run/listen.rs` serves them.

pub mod families;
pub mod labels;
mod process;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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

type Labels<const N: usize> = [(&'static str, &'static str); N];
type Seconds = Gauge<f64, AtomicU64>;
type Histograms<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;

/// The metrics of a process.
pub struct Metrics {
    registry: Registry,
    leader: Gauge,
    reconciles: Family<Labels<2>, Counter>,
    reconcile_duration: Histograms<1>,
    remote_requests: Family<Labels<2>, Counter>,
    remote_request_duration: Histograms<1>,
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
            leader: Gauge::default(),
            reconciles: Family::default(),
            reconcile_duration: Family::new_with_constructor(|| {
                Histogram::new(families::RECONCILE_DURATION.bounds.iter().copied())
            }),
            remote_requests: Family::default(),
            remote_request_duration: Family::new_with_constructor(|| {
                Histogram::new(families::REMOTE_REQUEST_DURATION.bounds.iter().copied())
            }),
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
        add(registry, families::RECONCILES, &self.reconciles);
        add(registry, families::RECONCILE_DURATION, &self.reconcile_duration);
        add(registry, families::REMOTE_REQUESTS, &self.remote_requests);
        add(registry, families::REMOTE_REQUEST_DURATION, &self.remote_request_duration);
        add(registry, families::RATE_LIMIT_WAIT, &self.rate_limit_wait);
        add(registry, families::THROTTLED, &self.throttled);
        add(registry, families::TOKEN_REQUESTS, &self.token_requests);
        add(registry, families::CLUSTER_ERRORS, &self.cluster_errors);
        add(registry, families::PANICS, &self.panics);
        add(registry, families::LISTS_REFUSED, &self.lists_refused);
        add(registry, families::PROCESS_CPU, &self.process_cpu);
        add(registry, families::PROCESS_MEMORY, &self.process_memory);
    }

    /// Encodes all families as `OpenMetrics` 1.0. The result is also valid in the Prometheus text format 0.0.4, since
    /// it uses only types and suffixes that both have.
    #[must_use]
    pub fn encode(&self) -> String {
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

    /// Records the end of a reconcile.
    pub fn reconciled(&self, kind: &'static str, reason: &'static str, duration: Duration) {
        self.reconciles.get_or_create(&[("kind", kind), ("reason", reason)]).inc();
        self.reconcile_duration.get_or_create(&[("kind", kind)]).observe(duration.as_secs_f64());
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
