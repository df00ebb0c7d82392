//! Traces over OTLP: the layer of `tracing-opentelemetry`, with the SDK that reads the standard environment variables of
//! OpenTelemetry. Without a collector in the environment, nothing is exported.
//!
//! Only spans with the target [`trace::EXPORTED`] leave the process, and no log lines. A thread of the SDK collects
//! them in a bounded queue and sends batches; whoever ends a span never waits.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use connect_api::http::{Authorities, collector_client};
use connect_api::trace;
use opentelemetry::KeyValue;
use opentelemetry::trace::{SpanId, TraceId, TracerProvider as _};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::{EnvResourceDetector, TelemetryResourceDetector};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SdkTracerProvider};
use tokio::runtime::Handle;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::filter_fn;

use super::TraceLayer;

/// Name of the service and of the tracer.
const SERVICE: &str = "connect-operator";
/// Time for the last spans at the end of the process. It follows the end of the controllers, so it has to fit into what
/// they leave of the termination grace period.
const FLUSH: Duration = Duration::from_secs(3);
/// The SDK's own message would show the value, which may have credentials.
const UNUSABLE: &str = "the endpoint in OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not an HTTP URL, \
                        or OTEL_EXPORTER_OTLP_COMPRESSION names an unsupported compression";

/// The export of traces.
#[derive(Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
    collector: Collector,
}

impl Traces {
    /// Starts the export if the environment names a collector. Needs a Tokio runtime, on which requests run; sends
    /// nothing yet.
    ///
    /// # Errors
    /// Why traces are not exported although a collector is named: the certificates cannot be read, or the environment has a
    /// value that cannot be used.
    pub fn start(authorities: &Authorities) -> Result<Option<Self>, String> {
        if !is_wanted(|name| std::env::var(name).ok()) {
            return Ok(None);
        }
        let collector = Collector {
            client: collector_client(authorities).map_err(|error| error.to_string())?,
            runtime: Handle::current(),
            fails: Arc::default(),
        };
        let exporter = SpanExporter::builder().with_http().with_http_client(collector.clone());
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter.build().map_err(|_| UNUSABLE)?)
            .with_id_generator(LogIds::default())
            .with_resource(resource())
            .build();
        Ok(Some(Self { provider, collector }))
    }

    /// Returns the layer that receives the spans.
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
        let Self { provider, collector } = self;
        let ended = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(FLUSH)).await;
        if !matches!(ended, Ok(Ok(()))) {
            collector.failed("the last spans were not accepted in time");
        }
    }
}

/// Returns whether the environment asks for traces. The SDK does not read the two switches, and would export to this
/// machine if no collector is named.
fn is_wanted(variable: impl Fn(&str) -> Option<String>) -> bool {
    // An empty variable counts as not set (OpenTelemetry specification, "Environment Variable Specification").
    let is_set = |name: &&str| variable(name).is_some_and(|value| !value.is_empty());
    let is = |name, value: &str| variable(name).is_some_and(|set| set.eq_ignore_ascii_case(value));
    let endpoints = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
    endpoints.iter().any(is_set) && !is("OTEL_SDK_DISABLED", "true") && !is("OTEL_TRACES_EXPORTER", "none")
}

/// Returns what produces the spans: this program, unless the environment says otherwise.
fn resource() -> Resource {
    let own = [KeyValue::new("service.name", SERVICE), KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))];
    let resource = Resource::builder_empty().with_attributes(own);
    let resource =
        resource.with_detectors(&[Box::new(TelemetryResourceDetector), Box::new(EnvResourceDetector::new())]);
    match std::env::var("OTEL_SERVICE_NAME") {
        Ok(name) if !name.is_empty() => resource.with_service_name(name).build(),
        _ => resource.build(),
    }
}

/// The connections to the collector. Requests run on the runtime of the process, because the thread of the SDK has none.
#[derive(Clone, Debug)]
struct Collector {
    client: reqwest::Client,
    runtime: Handle,
    /// Whether the last request failed.
    fails: Arc<AtomicBool>,
}

impl Collector {
    /// Logs a failure, unless the request before failed, too.
    fn failed(&self, error: &str) {
        if !self.fails.swap(true, Ordering::Relaxed) {
            tracing::warn!(error, "traces cannot be exported; spans are dropped");
        }
    }
}

impl HttpClient for Collector {
    fn send_bytes<'a, 'f>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'f>>
    where
        'a: 'f,
        Self: 'f,
    {
        let client = self.client.clone();
        let answer = self.runtime.spawn(async move { client.send_bytes(request).await });
        Box::pin(async move {
            let answer = answer.await?;
            match &answer {
                Ok(response) if response.status().is_success() => self.fails.store(false, Ordering::Relaxed),
                Ok(response) => self.failed(&format!("status {}", response.status().as_u16())),
                Err(error) => self.failed(&innermost(&**error)),
            }
            answer
        })
    }
}

/// Returns the message of the innermost cause; the outer ones only repeat that a request failed, with its URL.
fn innermost(error: &(dyn Error + 'static)) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
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

    #[test]
    fn traces_are_exported_if_a_collector_is_named_and_nothing_turns_them_off() {
        const BASE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
        for (case, variables, expected) in [
            ("nothing", &[][..], false),
            ("a collector", &[BASE], true),
            ("one for traces", &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://collector/otlp")], true),
            ("an empty variable", &[(BASE.0, "")], false),
            ("one for metrics", &[("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://collector:4318")], false),
            ("disabled", &[BASE, ("OTEL_SDK_DISABLED", "TRUE")], false),
            ("not disabled", &[BASE, ("OTEL_SDK_DISABLED", "1")], true),
            ("no exporter", &[BASE, ("OTEL_TRACES_EXPORTER", "none")], false),
            ("the exporter", &[BASE, ("OTEL_TRACES_EXPORTER", "otlp")], true),
        ] {
            let value =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
            assert_eq!(is_wanted(value), expected, "{case}");
        }
    }
}
