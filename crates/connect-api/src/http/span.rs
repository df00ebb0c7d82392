//! The client span of one request, for traces: attributes of the OpenTelemetry conventions for HTTP, and operation and
//! correlation id. It has the template of the path in place of the path, and no query, header or body.

use reqwest::Request;
use tracing::Span;
use tracing::field::Empty;

use crate::observer::RequestEnd;
use crate::{routes, trace};

/// Creates the span of a request that is about to be sent.
pub(super) fn of(operation: &'static str, request: &Request) -> Span {
    let (method, url, template) = (request.method().as_str(), request.url(), routes::template(operation));
    tracing::info_span!(
        target: trace::EXPORTED,
        "request",
        otel.name = %format_args!("{method} {template}"),
        otel.kind = "client",
        otel.status_code = Empty,
        "http.request.method" = method,
        "http.response.status_code" = Empty,
        "server.address" = url.host_str(),
        "server.port" = url.port_or_known_default().map(i64::from),
        "url.template" = template,
        "error.type" = Empty,
        "connect_operator.operation" = operation,
        "connect_operator.correlation_id" = Empty,
    )
}

/// Records how the request ended.
pub(super) fn ended(span: &Span, end: RequestEnd) {
    if let RequestEnd::Status(status) = end {
        span.record("http.response.status_code", i64::from(status));
        if status >= 400 {
            failed(span, &status.to_string());
        }
    }
    if let Some(why) = end.failure() {
        failed(span, why);
    }
}

/// Records the correlation id, which must contain no secret.
pub(super) fn correlated(span: &Span, correlation_id: &str) {
    span.record("connect_operator.correlation_id", correlation_id);
}

fn failed(span: &Span, why: &str) {
    span.record("error.type", why);
    span.record("otel.status_code", "ERROR");
}
