//! Every family of metrics, defined once: tests compare `docs/metrics.md`, the alerts and the dashboard with this
//! table.
//!
//! Label values come from closed sets ([`super::labels`]), except the namespaces that the command line names.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Metric, Registry, Unit};

/// A family of metrics.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// The name in queries; samples of a histogram append `_bucket`, `_count` or `_sum`.
    pub name: &'static str,
    /// Its type.
    pub metric: MetricType,
    /// `seconds`, `bytes`, or nothing.
    pub unit: &'static str,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// Help text, without a full stop.
    pub help: &'static str,
}

/// Labels with known values.
type Labels<const N: usize> = [(&'static str, &'static str); N];
type Histograms = Family<Labels<1>, Histogram, fn() -> Histogram>;

macro_rules! families {
    ($($field:ident: $type:ty = $new:expr, $name:literal, $unit:literal, $labels:expr, $help:literal;)*) => {
        /// All families, in the order of the page.
        pub const ALL: &[Description] = &[$(Description {
            name: $name, metric: <$type as TypedMetric>::TYPE, unit: $unit, labels: &$labels, help: $help,
        }),*];

        /// The metrics of all families.
        #[derive(Debug)]
        pub(super) struct Families { $(pub(super) $field: $type),* }

        impl Families {
            /// Registers all families, with nothing counted yet.
            pub(super) fn register(registry: &mut Registry) -> Self {
                $(let $field: $type = $new;
                register(registry, $name, $unit, $help, $field.clone());)*
                Self { $($field),* }
            }
        }
    };
}

/// Registers a metric under the name of its family, without the unit and `_total`, which the library appends.
fn register(registry: &mut Registry, name: &str, unit: &str, help: &str, metric: impl Metric) {
    let name = name.strip_suffix("_total").unwrap_or(name);
    let short = name.strip_suffix(&format!("_{unit}")).unwrap_or(name);
    match unit {
        "seconds" => registry.register_with_unit(short, help, Unit::Seconds, metric),
        "bytes" => registry.register_with_unit(short, help, Unit::Bytes, metric),
        _ => registry.register(name, help, metric),
    }
}

fn new<M: Default>() -> M {
    M::default()
}

/// For short durations, in seconds.
fn moments() -> Histogram {
    Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0])
}

/// For one request, which takes 30 s at most.
fn request() -> Histogram {
    Histogram::new([0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0])
}

families! {
    build_info: Family<Labels<1>, Gauge> = new(), "connect_operator_build_info", "", ["version"],
        "Always 1; the version is in the label";
    leader: Gauge = new(), "connect_operator_leader", "", [],
        "1 on the process that runs the controllers, 0 on a standby process or one that is starting";
    reconciles: Family<Labels<2>, Counter> = new(), "connect_operator_reconciles_total", "", ["kind", "reason"],
        "Completed reconciles, by the Ready reason of the resource afterwards";
    reconcile_duration: Histograms = Family::new_with_constructor(moments),
        "connect_operator_reconcile_duration_seconds", "seconds", ["kind"], "Duration of a reconcile";
    remote_requests: Family<[(&'static str, String); 2], Counter> = new(),
        "connect_operator_remote_requests_total", "", ["operation", "code"],
        "Requests to the Connect API and to frontends, by operation and result";
    remote_request_duration: Histograms = Family::new_with_constructor(request),
        "connect_operator_remote_request_duration_seconds", "seconds", ["operation"], "Time from the start of a request to the end of its response";
    rate_limit_wait: Histogram = moments(), "connect_operator_rate_limit_wait_seconds", "seconds", [],
        "Time that requests waited because of spec.requestsPerSecond";
    throttled: Counter = new(), "connect_operator_throttled_total", "", [],
        "Responses that asked for a pause: status 429, or a failure with Retry-After";
    token_requests: Family<Labels<1>, Counter> = new(), "connect_operator_token_requests_total", "", ["result"],
        "Requests for access tokens, by result: issued, refused, failed";
    cluster_errors: Family<Labels<1>, Counter> = new(), "connect_operator_cluster_errors_total", "", ["kind"],
        "Watches of the cluster that were interrupted; the operator restarts them";
    panics: Family<Labels<1>, Counter> = new(), "connect_operator_panics_total", "", ["kind"],
        "Reconciles that ended in a panic, which is a bug, by kind; `remote`: polls of a remote project";
    lists_refused: Family<Vec<(&'static str, String)>, Gauge> = new(),
        "connect_operator_lists_refused", "", ["kind", "namespace"],
        "1 for each kind that the API server refuses to list in a watched namespace: its resources are not reconciled, and changes of Secrets and ConfigMaps are not noticed; an empty namespace stands for all";
    process_cpu: Counter<f64, AtomicU64> = new(), "process_cpu_seconds_total", "", [],
        "Processor time of the process, in seconds";
    process_memory: Gauge = new(), "process_resident_memory_bytes", "bytes", [],
        "Resident memory of the process";
    process_start: Gauge<f64, AtomicU64> = new(), "process_start_time_seconds", "seconds", [],
        "When the process started, in seconds since 1970";
}
