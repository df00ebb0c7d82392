//! Every family of metrics, defined once: tests compare `docs/metrics.md`, the alerts and the dashboard with this
//! table.
//!
//! Label values come from closed sets ([`super::labels`]), except namespace and project, which are those of existing
//! projects, and the namespaces that the command line names.

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
/// Bounds for deploying, which takes minutes.
const MINUTES: &[f64] = &[1.0, 5.0, 10.0, 30.0, 60.0, 120.0, 180.0, 300.0, 600.0, 900.0, 1800.0, 3600.0];
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
    WORKQUEUE_DEPTH: Gauge, "connect_operator_workqueue_depth", "", ["kind"], NONE,
        "Resources that are enqueued and not yet reconciled";
    WORKQUEUE_WAIT: Histogram, "connect_operator_workqueue_wait_seconds", "seconds", ["kind"], MOMENTS,
        "Time from the first event of a resource to the start of its reconcile";
    RECONCILES: Counter, "connect_operator_reconciles_total", "", ["kind", "reason"], NONE,
        "Completed reconciles, by the Ready reason of the resource afterwards, or Conflict, ClusterError, Gone, Panic, or None without a Ready condition";
    RECONCILE_DURATION: Histogram, "connect_operator_reconcile_duration_seconds", "seconds", ["kind"], MOMENTS,
        "Duration of a reconcile";
    REMOTE_REQUESTS: Counter, "connect_operator_remote_requests_total", "", ["operation", "code"], NONE,
        "Requests to the Connect API and to frontends, by operation and HTTP status, or timeout, connection, broken, undecodable, canceled";
    REMOTE_REQUEST_DURATION: Histogram, "connect_operator_remote_request_duration_seconds", "seconds", ["operation"],
        REQUEST, "Time from the start of a request to the end of its response";
    CHANGE_TO_SENT: Histogram, "connect_operator_change_to_sent_seconds", "seconds", [], MOMENTS,
        "Time from the event of a change to the call that sends it, for ConnectorDeployments; excludes time spent waiting for users";
    SENT_TO_LIVE: Histogram, "connect_operator_sent_to_live_seconds", "seconds", [], MINUTES,
        "Time from the call that deploys to the poll that observed the deployment live, for ConnectorDeployments";
    RESOURCES: Gauge, "connect_operator_resources", "", ["kind", "state", "reason"], NONE,
        "Existing resources, by their Ready condition";
    OLDEST_OPERATION: Gauge, "connect_operator_oldest_operation_seconds", "seconds", ["kind"], NONE,
        "Age of the oldest operation in progress, 0 without one";
    SINCE_RESPONSE: Gauge, "connect_operator_project_seconds_since_response", "", ["namespace", "project"], NONE,
        "Seconds since the last successful response of the Connect API for a ConnectProject; before the first one, since the process knows the project";
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
        "1 for each kind that the API server refuses to list in a watched namespace since the process started: its resources are not reconciled, and changes of Secrets and ConfigMaps are not noticed; an empty namespace stands for all";
    PROCESS_CPU: Counter, "process_cpu_seconds_total", "", [], NONE,
        "Processor time of the process, in seconds";
    PROCESS_MEMORY: Gauge, "process_resident_memory_bytes", "bytes", [], NONE,
        "Resident memory of the process";
    PROCESS_START: Gauge, "process_start_time_seconds", "seconds", [], NONE,
        "When the process started, in seconds since 1970";
}
