//! The metrics of a process: one registry, passed down like the clock; nothing else registers metrics.
//!
//! Records values, and knows neither resources nor remotes: `operator/` and HTTP clients report values, these through
//! [`Observer`]. Next: [`families`] for the table of all families, [`labels`]
//! for the values of their labels; `cli/run/listen.rs` serves them.

pub mod families;
pub mod labels;
mod process;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

use clock::between;
use connect_api::observer::{Observer, RequestEnd, TokenEnd};

use self::families::Families;

/// The metrics of a process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    families: Families,
}

impl Metrics {
    /// Registers all families, with nothing counted yet. `started`: when the process started.
    pub fn new(started: Timestamp) -> Arc<Self> {
        let mut registry = Registry::default();
        let families = Families::register(&mut registry);
        families.build_info.get_or_create(&[("version", env!("CARGO_PKG_VERSION"))]).set(1);
        families.process_start.set(between(Timestamp::UNIX_EPOCH, started).as_secs_f64());
        Arc::new(Self { registry, families })
    }

    /// Encodes all families as `OpenMetrics` 1.0. The result is also valid in the Prometheus text format 0.0.4, since
    /// it uses only types and suffixes that both have.
    pub fn encode(&self) -> String {
        if let Some(seconds) = process::cpu_seconds() {
            self.families.process_cpu.inner().store(seconds.to_bits(), Ordering::Relaxed);
        }
        if let Some(bytes) = process::memory_bytes() {
            self.families.process_memory.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        }
        let mut page = String::with_capacity(64 << 10);
        // Writing into a string cannot fail.
        let _ = text::encode(&mut page, &self.registry);
        page
    }

    /// Sets whether this process runs the controllers.
    pub fn leads(&self, leads: bool) {
        self.families.leader.set(i64::from(leads));
    }

    /// Records the end of a reconcile.
    pub fn reconciled(&self, kind: &'static str, reason: &'static str, duration: Duration) {
        self.families.reconciles.get_or_create(&[("kind", kind), ("reason", reason)]).inc();
        self.families.reconcile_duration.get_or_create(&[("kind", kind)]).observe(duration.as_secs_f64());
    }

    /// Counts a panic.
    pub fn panicked(&self, kind: &'static str) {
        self.families.panics.get_or_create(&[("kind", kind)]).inc();
    }

    /// Sets whether the API server refuses to list a kind in a namespace, or in all.
    pub fn list_refused(&self, kind: &'static str, namespace: Option<&str>, refused: bool) {
        let labels = vec![("kind", kind.to_owned()), ("namespace", namespace.unwrap_or_default().to_owned())];
        if refused {
            self.families.lists_refused.get_or_create(&labels).set(1);
        } else {
            self.families.lists_refused.remove(&labels);
        }
    }

    /// Counts an interrupted watch.
    pub fn watch_interrupted(&self, kind: &'static str) {
        self.families.cluster_errors.get_or_create(&[("kind", kind)]).inc();
    }
}

impl Observer for Metrics {
    fn request(&self, operation: &'static str, end: RequestEnd, duration: Duration) {
        let labels = [("operation", operation.to_owned()), ("code", labels::code(end))];
        self.families.remote_requests.get_or_create(&labels).inc();
        self.families
            .remote_request_duration
            .get_or_create(&[("operation", operation)])
            .observe(duration.as_secs_f64());
    }

    fn waited(&self, duration: Duration) {
        self.families.rate_limit_wait.observe(duration.as_secs_f64());
    }

    fn throttled(&self) {
        self.families.throttled.inc();
    }

    fn token(&self, end: TokenEnd) {
        self.families.token_requests.get_or_create(&[("result", labels::token(end))]).inc();
    }
}

#[cfg(test)]
mod tests;
