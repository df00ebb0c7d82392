//! A collector of traces: decodes what an operator exports over OTLP.

use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use http::HeaderMap;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode as SpanStatus;
use opentelemetry_proto::tonic::trace::v1::{self, span::SpanKind};
use prost::Message as _;

use crate::prelude::*;

/// The variable with the header that each request must have.
pub(crate) const HEADERS: (&str, &str) = ("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=canary%20of%20the%20collector");

#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) name: String,
    /// 32 hexadecimal digits.
    pub(crate) trace_id: String,
    pub(crate) id: Vec<u8>,
    /// Empty for a span without parent.
    pub(crate) parent: Vec<u8>,
    pub(crate) is_client: bool,
    pub(crate) is_error: bool,
    pub(crate) attributes: BTreeMap<String, String>,
    /// Attributes of what made the span.
    pub(crate) resource: BTreeMap<String, String>,
}

/// A running collector; it ends with the runtime of the test.
pub(crate) struct Collector {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Bytes>>>,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let received = Arc::<Mutex<Vec<Bytes>>>::default();
        let router = Router::new().route("/v1/traces", post(receive)).with_state(Arc::clone(&received));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, received }
    }

    /// Returns the bodies of all requests.
    pub(crate) fn bytes(&self) -> Vec<Bytes> {
        self.received.lock().unwrap().clone()
    }

    /// Returns all spans that arrived.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        for request in self.bytes() {
            let request = ExportTraceServiceRequest::decode(request).expect("the protocol");
            for of_resource in request.resource_spans {
                let resource = texts(of_resource.resource.expect("a resource").attributes);
                let all = of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
                spans.extend(all.map(|span| read(span, resource.clone())));
            }
        }
        spans
    }
}

async fn receive(State(received): State<Arc<Mutex<Vec<Bytes>>>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|there| there == value);
    if !is("content-type", "application/x-protobuf") || !is("x-api-key", "canary of the collector") {
        return StatusCode::BAD_REQUEST;
    }
    received.lock().unwrap().push(body);
    StatusCode::OK
}

fn read(span: v1::Span, resource: BTreeMap<String, String>) -> Span {
    assert!(span.events.is_empty() && span.links.is_empty(), "{}: lines of the log stay in the log", span.name);
    let status = span.status.unwrap_or_default();
    assert_eq!(status.message, "", "{}: texts stay in the log", span.name);
    assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "{}", span.name);
    Span {
        name: span.name,
        trace_id: span.trace_id.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat(),
        id: span.span_id,
        parent: span.parent_span_id,
        is_client: span.kind == SpanKind::Client as i32,
        is_error: status.code == SpanStatus::Error as i32,
        attributes: texts(span.attributes),
        resource,
    }
}

fn texts(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    let text = |value: Option<AnyValue>| match value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("{other:?}"),
    };
    attributes.into_iter().map(|KeyValue { key, value, .. }| (key, text(value))).collect()
}
