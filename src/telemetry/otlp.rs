//! Traces over OTLP: HTTP with protobuf, to the collector that `--otlp-endpoint` or the standard environment variables of
//! OpenTelemetry name. Without any of these, nothing is exported.
//!
//! Only spans with the target [`trace::EXPORTED`] leave the process, and no log lines. A thread of the library collects
//! them in a bounded queue and sends batches; whoever ends a span never waits. If the collector does not answer, spans
//! are dropped, and the log says so now and then (`collector`).

mod collector;

use std::sync::Arc;
use std::time::Duration;

use connect_api::hosts::{AllowedHosts, Endpoint, UrlRefused, pattern_of};
use connect_api::http::Authorities;
use connect_api::http::BuildError;
use connect_api::trace;
use opentelemetry::trace::{SpanId, TraceId, TracerProvider as _};
use opentelemetry::{Key, KeyValue};
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::{EnvResourceDetector, TelemetryResourceDetector};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SdkTracerProvider};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::filter_fn;
use url::Url;

use self::collector::{Collector, Failures};
use super::TraceLayer;

/// Name of the service and of the tracer.
const SERVICE: &str = "connect-operator";
/// Path that is appended to a base URL (OTLP specification, "OTLP/HTTP Request").
const TRACES_PATH: &str = "/v1/traces";
/// The only supported protocol.
const PROTOCOL: &str = "http/protobuf";
/// Time limit of one request, if no variable sets another: the default of the OTLP specification.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Time for the last spans at the end of the process. It follows the end of the controllers, so it has to fit into what
/// they leave of the termination grace period.
const FLUSH: Duration = Duration::from_secs(3);

/// Where traces are sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Settings {
    /// The URL that accepts them.
    pub endpoint: Endpoint,
    /// Time limit of one request.
    pub timeout: Duration,
}

/// Why traces are not exported although a collector is named.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// A variable has no usable URL.
    #[error("{variable}: {source}")]
    Url {
        /// The variable.
        variable: &'static str,
        /// What is wrong.
        source: UrlRefused,
    },
    /// A variable asks for another protocol.
    #[error(
        "{0} names an unsupported protocol: set it to {PROTOCOL}, and use the collector's port for HTTP, usually 4318"
    )]
    Protocol(&'static str),
    /// The client cannot be created.
    #[error(transparent)]
    Client(#[from] BuildError),
    /// The exporter cannot be created.
    #[error(transparent)]
    Exporter(#[from] ExporterBuildError),
}

/// Checks the value of `--otlp-endpoint`, a base URL.
///
/// # Errors
/// If it is not an HTTP or HTTPS URL, or has credentials, a query or a fragment.
pub fn base_url(text: &str) -> Result<String, UrlRefused> {
    endpoint(text).map(|_| text.to_owned())
}

/// Returns where traces are sent: to `flag`, or else to what the environment names; `None`: they are not exported.
/// `variable` returns the value of an environment variable.
///
/// # Errors
/// If the environment has a value that cannot be used.
pub fn settings(flag: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Settings>, Unusable> {
    // An empty variable counts as not set (OpenTelemetry specification, "Environment Variable Specification").
    let variable = |name| variable(name).filter(|value| !value.is_empty());
    let is = |name, value: &str| variable(name).is_some_and(|set| set.eq_ignore_ascii_case(value));
    if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
        return Ok(None);
    }
    let below = |base: &str| format!("{}{TRACES_PATH}", base.trim_end_matches('/'));
    let candidates = [
        ("--otlp-endpoint", flag.map(below)),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", variable("OTEL_EXPORTER_OTLP_ENDPOINT").map(|base| below(&base))),
    ];
    let Some((name, url)) = candidates.into_iter().find_map(|(name, url)| Some((name, url?))) else {
        return Ok(None);
    };
    let endpoint = endpoint(&url).map_err(|source| Unusable::Url { variable: name, source })?;
    // Of two variables, the one for traces counts.
    let of_traces = |names: [&'static str; 2]| names.into_iter().find_map(|name| Some((name, variable(name)?)));
    match of_traces(["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"]) {
        Some((name, protocol)) if protocol != PROTOCOL => return Err(Unusable::Protocol(name)),
        _ => {}
    }
    let timeout = of_traces(["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"]);
    let timeout = timeout.and_then(|(_, milliseconds)| milliseconds.parse().ok());
    Ok(Some(Settings { endpoint, timeout: timeout.map_or(TIMEOUT, Duration::from_millis) }))
}

/// The address is an administrator's, so any host may be called; only the form of the URL is checked.
fn endpoint(url: &str) -> Result<Endpoint, UrlRefused> {
    let pattern = Url::parse(url).ok().and_then(|url| pattern_of(&url)).ok_or(UrlRefused::NotAUrl)?;
    AllowedHosts::parse([&*pattern]).map_err(|_| UrlRefused::NotAUrl)?.endpoint(url)
}

/// The export of traces.
#[derive(Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
    failures: Arc<Failures>,
}

impl Traces {
    /// Starts the export. Needs a Tokio runtime, on which requests run; sends nothing yet. Queue, batches, sampling,
    /// headers and resource attributes are set by the environment.
    ///
    /// # Errors
    /// If the certificates cannot be read, or a header is invalid.
    pub fn start(settings: &Settings, authorities: &Authorities) -> Result<Self, Unusable> {
        let collector = Collector::new(settings, authorities)?;
        let failures = collector.failures();
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(collector)
            .with_endpoint(settings.endpoint.url().as_str())
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(settings.timeout)
            .build()?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_id_generator(LogIds::default())
            .with_resource(resource())
            .build();
        Ok(Self { provider, failures })
    }

    /// Returns the layer that receives the spans.
    #[must_use]
    pub fn layer(&self) -> TraceLayer {
        let exported = filter_fn(|span| span.is_span() && span.target() == trace::EXPORTED);
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer(SERVICE))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_level(false)
            .with_target(false)
            .with_filter(exported.with_max_level_hint(LevelFilter::INFO))
            .boxed()
    }

    /// Sends the spans that are still queued, for [`FLUSH`] at most, and ends the export.
    pub async fn flush(self) {
        let Self { provider, failures } = self;
        let ended = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(FLUSH)).await;
        if !matches!(ended, Ok(Ok(()))) {
            // A request in flight ends with the runtime, which may be too late for its own line.
            failures.report(Some("the last spans were not accepted in time".to_owned()));
        }
    }
}

/// Returns what produces the spans: this program, unless the environment says otherwise.
fn resource() -> Resource {
    let resource = Resource::builder_empty()
        .with_service_name(SERVICE)
        .with_attribute(KeyValue::new(Key::from_static_str("service.version"), env!("CARGO_PKG_VERSION")))
        .with_detectors(&[Box::new(TelemetryResourceDetector), Box::new(EnvResourceDetector::new())]);
    match std::env::var("OTEL_SERVICE_NAME") {
        Ok(name) if !name.is_empty() => resource.with_service_name(name).build(),
        _ => resource.build(),
    }
}

/// Gives a trace the id that its log lines and correlation ids have.
#[derive(Debug, Default)]
struct LogIds(RandomIdGenerator);

impl IdGenerator for LogIds {
    fn new_trace_id(&self) -> TraceId {
        trace::current().map_or_else(|| self.0.new_trace_id(), |id| TraceId::from_bytes(id.to_bytes()))
    }

    fn new_span_id(&self) -> SpanId {
        self.0.new_span_id()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the URL and the time limit in milliseconds, `off`, or the error.
    fn chosen(flag: Option<&str>, variables: &[(&str, &str)]) -> String {
        let value =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        match settings(flag, value) {
            Ok(Some(Settings { endpoint, timeout })) => format!("{} {}", endpoint.url(), timeout.as_millis()),
            Ok(None) => "off".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    const BASE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://base:4318");
    const TRACES: (&str, &str) = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces/otlp");

    #[test]
    fn the_flag_comes_before_the_variable_for_traces_and_that_before_the_common_one() {
        for (case, flag, variables, expected) in [
            ("nothing", None, &[][..], "off"),
            ("the flag", Some("http://flag:4318"), &[], "http://flag:4318/v1/traces 10000"),
            ("a slash", Some("http://flag:4318/"), &[], "http://flag:4318/v1/traces 10000"),
            ("a path", Some("https://flag/otlp"), &[], "https://flag/otlp/v1/traces 10000"),
            ("all", Some("http://flag"), &[BASE, TRACES], "http://flag/v1/traces 10000"),
            ("both variables", None, &[BASE, TRACES], "https://traces/otlp 10000"),
            ("the common variable", None, &[BASE], "http://base:4318/v1/traces 10000"),
            ("empty variables", None, &[(TRACES.0, ""), (BASE.0, "")], "off"),
            ("disabled", Some("http://flag"), &[BASE, ("OTEL_SDK_DISABLED", "TRUE")], "off"),
            ("not disabled", None, &[BASE, ("OTEL_SDK_DISABLED", "1")], "http://base:4318/v1/traces 10000"),
            ("no exporter", None, &[BASE, ("OTEL_TRACES_EXPORTER", "none")], "off"),
            ("a time", None, &[BASE, ("OTEL_EXPORTER_OTLP_TIMEOUT", "500")], "http://base:4318/v1/traces 500"),
            (
                "two times",
                None,
                &[BASE, ("OTEL_EXPORTER_OTLP_TIMEOUT", "500"), ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "70")],
                "http://base:4318/v1/traces 70",
            ),
            ("no time", None, &[BASE, ("OTEL_EXPORTER_OTLP_TIMEOUT", "1s")], "http://base:4318/v1/traces 10000"),
            (
                "the protocol",
                None,
                &[BASE, ("OTEL_EXPORTER_OTLP_PROTOCOL", PROTOCOL)],
                "http://base:4318/v1/traces 10000",
            ),
            (
                "the protocol of traces",
                None,
                &[BASE, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", PROTOCOL)],
                "http://base:4318/v1/traces 10000",
            ),
            ("a protocol alone", None, &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], "off"),
        ] {
            assert_eq!(chosen(flag, variables), expected, "{case}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_named_without_its_value() {
        for (case, variables, words) in [
            ("another protocol", &[BASE, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")][..], ["OTLP_PROTOCOL", "4318"]),
            ("no scheme", &[(BASE.0, "collector:4318")], ["OTLP_ENDPOINT", "https"]),
            ("no URL", &[(TRACES.0, "collector")], ["OTLP_TRACES_ENDPOINT", "not a URL"]),
            ("credentials", &[(BASE.0, "https://me:hidden@collector")], ["OTLP_ENDPOINT", "user info"]),
            ("a query", &[(BASE.0, "https://collector?key=hidden")], ["OTLP_ENDPOINT", "a query"]),
        ] {
            let error = chosen(None, variables);
            assert!(words.iter().all(|word| error.contains(word)) && !error.contains("hidden"), "{case}: {error}");
        }
    }
}
