//! A request that is under way: its client span for traces, a line of the log, and what metrics count of it.
//!
//! The span has attributes of the OpenTelemetry conventions for HTTP, and operation and correlation id. It has the template
//! of the path in place of the path. Neither span nor log has a query, a header or a body.

use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use reqwest::Request;
use tracing::Span;
use tracing::field::Empty;

use crate::client_context::ClientContext;
use crate::observer::{Observer, RequestEnd};
use crate::{routes, trace};

/// The operation of requests for tokens, which metrics count by their outcome only.
pub(super) const TOKEN: &str = "token";

/// A request that was started. Dropping it reports how it ended: as canceled, if nobody waited for that.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) operation: &'static str,
    observer: Arc<dyn Observer>,
    clock: Clock,
    span: Span,
    start: Duration,
    /// How it ended, and after what time.
    ended: Option<(RequestEnd, Duration)>,
    /// Contains no secret.
    correlation_id: Option<String>,
}

impl Running {
    /// Starts now, with a request that is about to be sent.
    pub(super) fn start(operation: &'static str, request: &Request, around: &ClientContext) -> Self {
        let (method, url, template) = (request.method().as_str(), request.url(), routes::template(operation));
        let span = tracing::info_span!(
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
        );
        let ClientContext { clock, observer, .. } = around.clone();
        let start = clock.elapsed();
        Self { operation, observer, clock, span, start, ended: None, correlation_id: None }
    }

    pub(super) fn span(&self) -> &Span {
        &self.span
    }

    /// Returns the time from the start to the end, or until now.
    pub(super) fn duration(&self) -> Duration {
        self.ended.map_or_else(|| self.clock.elapsed().saturating_sub(self.start), |(_, duration)| duration)
    }

    /// Sets how the request ended. A second end is about the content of the response: it counts, but the span, which is that
    /// of HTTP, and the time remain.
    pub(super) fn ends(&mut self, end: RequestEnd) {
        if self.ended.is_none() {
            match end {
                RequestEnd::Status(status) => {
                    self.span.record("http.response.status_code", i64::from(status));
                    if status >= 400 {
                        self.failed(&status.to_string());
                    }
                }
                failure => self.failed(failure.word()),
            }
        }
        self.ended = Some((end, self.duration()));
    }

    /// Sets the correlation id, which must contain no secret.
    pub(super) fn correlated(&mut self, correlation_id: &str) {
        self.correlation_id = Some(correlation_id.to_owned());
    }

    fn failed(&self, why: &str) {
        self.span.record("error.type", why);
        self.span.record("otel.status_code", "ERROR");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let (operation, correlation_id) = (self.operation, self.correlation_id.as_deref());
        let (end, duration) = (self.ended.map_or(RequestEnd::Canceled, |(end, _)| end), self.duration());
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let status = if let RequestEnd::Status(status) = end { Some(status) } else { None };
        let failure = status.is_none().then(|| end.word());
        tracing::debug!(operation, status, failure, duration_ms, correlation_id, "a request ended");
        self.span.record("connect_operator.correlation_id", correlation_id);
        if operation != TOKEN {
            self.observer.request(operation, end, duration);
        }
    }
}
