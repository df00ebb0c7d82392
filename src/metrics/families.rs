//! Every family of metrics, defined once: tests compare `docs/metrics.md`, the alerts and the dashboard with this
//! table.
//!
//! Label values come from closed sets ([`super::labels`]), except the namespaces that the command line names.

/// Type of a metric (`OpenMetrics` 1.0, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Only increases, until the process ends.
    Counter,
    /// Increases and decreases.
    Gauge,
    /// Counts of values up to each bound, and their sum.
    Histogram,
}

impl Type {
    /// The word in `docs/metrics.md` and in `# TYPE`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A family of metrics.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The name in queries; samples of a histogram append `_bucket`, `_count` or `_sum`.
    pub name: &'static str,
    /// Its type.
    pub metric: Type,
    /// `seconds`, `bytes`, or nothing.
    pub unit: &'static str,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// Upper bounds of a histogram, in its unit; `+Inf` is added implicitly.
    pub bounds: &'static [f64],
    /// Help text, without a full stop.
    pub help: &'static str,
}

/// Bounds for short durations.
const MOMENTS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];
/// Bounds for one request, which takes 30 s at most.
const REQUEST: &[f64] = &[0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
/// For metrics without bounds.
const NONE: &[f64] = &[];

macro_rules! families {
    ($($id:ident: $metric:ident, $name:literal, $unit:literal, $labels:expr, $bounds:expr, $help:literal;)*) => {
        $(
            #[allow(clippy::doc_markdown, reason = "the sentences are also printed")]
            #[doc = $help]
            pub const $id: Family = Family {
                name: $name, metric: Type::$metric, unit: $unit, labels: &$labels, bounds: $bounds, help: $help,
            };
        )*

        /// All families, in the order of the page.
        pub const ALL: &[Family] = &[$($id),*];
    };
}

families! {
    BUILD_INFO: Gauge, "connect_operator_build_info", "", ["version"], NONE,
        "Always 1; the version is in the label";
    LEADER: Gauge, "connect_operator_leader", "", [], NONE,
        "1 on the process that runs the controllers, 0 on a standby process or one that is starting";
    RECONCILES: Counter, "connect_operator_reconciles_total", "", ["kind", "reason"], NONE,
        "Completed reconciles, by the Ready reason of the resource afterwards, or Conflict, ClusterError, Gone, Panic, Timeout, or None without a Ready condition";
    RECONCILE_DURATION: Histogram, "connect_operator_reconcile_duration_seconds", "seconds", ["kind"], MOMENTS,
        "Duration of a reconcile";
    REMOTE_REQUESTS: Counter, "connect_operator_remote_requests_total", "", ["operation", "code"], NONE,
        "Requests to the Connect API and to frontends, by operation and HTTP status, or timeout, connection, broken, undecodable, canceled";
    REMOTE_REQUEST_DURATION: Histogram, "connect_operator_remote_request_duration_seconds", "seconds", ["operation"],
        REQUEST, "Time from the start of a request to the end of its response";
    RATE_LIMIT_WAIT: Histogram, "connect_operator_rate_limit_wait_seconds", "seconds", [], MOMENTS,
        "Time that requests waited because of spec.requestsPerSecond";
    THROTTLED: Counter, "connect_operator_throttled_total", "", [], NONE,
        "Responses that asked for a pause: status 429, or a failure with Retry-After";
    TOKEN_REQUESTS: Counter, "connect_operator_token_requests_total", "", ["result"], NONE,
        "Requests for access tokens, by result: issued, refused, failed";
    CLUSTER_ERRORS: Counter, "connect_operator_cluster_errors_total", "", ["kind"], NONE,
        "Watches of the cluster that were interrupted; the operator restarts them";
    PANICS: Counter, "connect_operator_panics_total", "", ["kind"], NONE,
        "Reconciles that ended in a panic, which is a bug, by kind; `remote`: polls of a remote project";
    LISTS_REFUSED: Gauge, "connect_operator_lists_refused", "", ["kind", "namespace"], NONE,
        "1 for each kind that the API server refuses to list in a watched namespace: its resources are not reconciled, and changes of Secrets and ConfigMaps are not noticed; an empty namespace stands for all";
    PROCESS_CPU: Counter, "process_cpu_seconds_total", "", [], NONE,
        "Processor time of the process, in seconds";
    PROCESS_MEMORY: Gauge, "process_resident_memory_bytes", "bytes", [], NONE,
        "Resident memory of the process";
    PROCESS_START: Gauge, "process_start_time_seconds", "seconds", [], NONE,
        "When the process started, in seconds since 1970";
}
