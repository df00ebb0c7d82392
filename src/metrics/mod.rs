//! The metrics of a process: one registry, passed down like the clock; nothing else registers metrics.
//!
//! Records values, and knows neither resources nor remotes: `operator/` and HTTP clients report values, these through
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
        let into = &mut registry;
        let build_info = added(into, families::BUILD_INFO, Family::<Labels<1>, Gauge>::default());
        build_info.get_or_create(&[("version", env!("CARGO_PKG_VERSION"))]).set(1);
        let process_start = added(into, families::PROCESS_START, Seconds::default());
        process_start.set(between(Timestamp::UNIX_EPOCH, started).as_secs_f64());
        let reconcile_duration: fn() -> Histogram = || histogram(families::RECONCILE_DURATION);
        let remote_request_duration: fn() -> Histogram = || histogram(families::REMOTE_REQUEST_DURATION);
        Arc::new(Self {
            leader: added(into, families::LEADER, Gauge::default()),
            reconciles: added(into, families::RECONCILES, Family::default()),
            reconcile_duration: added(
                into,
                families::RECONCILE_DURATION,
                Family::new_with_constructor(reconcile_duration),
            ),
            remote_requests: added(into, families::REMOTE_REQUESTS, Family::default()),
            remote_request_duration: added(
                into,
                families::REMOTE_REQUEST_DURATION,
                Family::new_with_constructor(remote_request_duration),
            ),
            rate_limit_wait: added(into, families::RATE_LIMIT_WAIT, histogram(families::RATE_LIMIT_WAIT)),
            throttled: added(into, families::THROTTLED, Counter::default()),
            token_requests: added(into, families::TOKEN_REQUESTS, Family::default()),
            cluster_errors: added(into, families::CLUSTER_ERRORS, Family::default()),
            panics: added(into, families::PANICS, Family::default()),
            lists_refused: added(into, families::LISTS_REFUSED, Family::default()),
            process_cpu: added(into, families::PROCESS_CPU, Counter::default()),
            process_memory: added(into, families::PROCESS_MEMORY, Gauge::default()),
            registry,
        })
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

fn histogram(family: families::Family) -> Histogram {
    Histogram::new(family.bounds.iter().copied())
}

/// Registers a metric under the name of its family, without the unit and `_total`, which the library appends.
fn added<M: Metric + Clone>(registry: &mut Registry, family: families::Family, metric: M) -> M {
    let name = family.name.strip_suffix("_total").unwrap_or(family.name);
    let short = name.strip_suffix(&format!("_{}", family.unit)).unwrap_or(name);
    match family.unit {
        "seconds" => registry.register_with_unit(short, family.help, Unit::Seconds, metric.clone()),
        "bytes" => registry.register_with_unit(short, family.help, Unit::Bytes, metric.clone()),
        _ => registry.register(name, family.help, metric.clone()),
    }
    metric
}

#[cfg(test)]
mod tests;
