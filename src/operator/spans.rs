//! The spans of traces: a reconcile, a round of a poller, a request to the API server. Their attributes are listed in
//! `docs/operations/tracing.md`. The spans of calls of the Connect API are made by its client (`connect-api/http/span`).

use connect_api::trace;
use http::{Method, StatusCode};
use tracing::Span;
use tracing::field::Empty;

use crate::operator::object_ref::{ObjectName, ObjectRef};
use crate::operator::reporting::reconcile_outcome::ReconcileOutcome;

/// Creates the span of a reconcile.
pub fn reconcile(object_ref: &ObjectRef) -> Span {
    let ObjectName { namespace, name, kind } = &**object_ref;
    let kind = kind.as_str();
    tracing::info_span!(
        target: trace::EXPORTED,
        "reconcile",
        otel.name = %format_args!("reconcile {kind}"),
        otel.status_code = Empty,
        "connect_operator.kind" = kind,
        "connect_operator.namespace" = namespace,
        "connect_operator.name" = name,
        "connect_operator.reason" = Empty,
        "error.type" = Empty,
    )
}

/// Records how a reconcile ended. Only a failure of the operator or of the API server is an error of the span.
pub fn reconciled(span: &Span, ended: ReconcileOutcome) {
    let label = ended.label();
    span.record("connect_operator.reason", label);
    if matches!(ended, ReconcileOutcome::ClusterError | ReconcileOutcome::Panicked | ReconcileOutcome::TimedOut) {
        failed(span, label);
    }
}

/// Creates the span of a round of reads of a remote project; `name`: what is read.
pub fn round(name: &'static str, project: &str) -> Span {
    tracing::info_span!(
        target: trace::EXPORTED,
        "round",
        otel.name = name,
        "connect_operator.project" = project,
    )
}

/// Creates the span of a request to the API server. Requests outside of a reconcile, such as those for the Lease, have
/// none.
pub fn cluster_request(method: &Method) -> Span {
    if trace::current().is_none() {
        return Span::none();
    }
    let method = method.as_str();
    tracing::info_span!(
        target: trace::EXPORTED,
        "request",
        otel.name = method,
        otel.kind = "client",
        otel.status_code = Empty,
        "http.request.method" = method,
        "http.response.status_code" = Empty,
        "error.type" = Empty,
    )
}

/// Records the status of the answer of the API server; `None` if it gave none.
pub fn cluster_answered(span: &Span, status: Option<StatusCode>) {
    if let Some(status) = status {
        span.record("http.response.status_code", i64::from(status.as_u16()));
    }
    match status {
        Some(status) if status.as_u16() >= 400 => failed(span, status.as_str()),
        Some(_) => {}
        None => failed(span, "no_answer"),
    }
}

fn failed(span: &Span, why: &str) {
    span.record("error.type", why);
    span.record("otel.status_code", "ERROR");
}
