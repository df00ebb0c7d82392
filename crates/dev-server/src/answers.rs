//! HTTP answers: regular ones, refusals, and those of faults.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt as _, stream};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};

use super::faults::FaultAnswer;
use super::path::NoOperation;
use super::refusal::{Refusal, status_of};
use super::tokens::TokenRefusal;
use connect_api::ErrorCode;

/// Size of one chunk of a long body, in bytes.
const PIECE: usize = 16 * 1024;

const JSON: &str = "application/json; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// Answers with a JSON body.
pub(super) fn json_answer(status: StatusCode, body: &impl Serialize) -> Response {
    let text = serde_json::to_vec(body).expect("types of the contract are JSON");
    let mut response = with_type(Response::new(Body::from(text)), JSON);
    *response.status_mut() = status;
    response
}

/// Adds the members that the service was observed to send as null if they have no value (contract section 15.1).
pub(super) fn add_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            // Types are recognized by their members: connector, deployment, creator, report entry.
            let absent: &[&str] = if members.contains_key("repository") {
                &["key", "documentationUrl"]
            } else if members.contains_key("deployedRegion") {
                &["key"]
            } else if members.contains_key("email") {
                &["supportUrl", "logoUrl"]
            } else if members.contains_key("title") && members.contains_key("createdAt") {
                &["message"]
            } else {
                &[]
            };
            for name in absent {
                members.entry(*name).or_insert(Value::Null);
            }
            members.values_mut().for_each(add_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(add_nulls),
        _ => {}
    }
}

fn with_type(mut response: Response, content_type: &'static str) -> Response {
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

impl IntoResponse for Refusal {
    /// Answers with an `ErrorResponse` (contract section 8.1).
    fn into_response(self) -> Response {
        json_answer(status(self.status), &self.body())
    }
}

/// Answers 401 with the published body (contract section 8.3).
pub(super) fn invalid_token() -> Response {
    let text = "invalid_token";
    let body = json!({"statusCode": 401, "message": text, "errors": [{"code": text, "message": text}], "error": text});
    let mut response = json_answer(StatusCode::UNAUTHORIZED, &body);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer error=\"invalid_token\""));
    response
}

/// Builds the answer of the token endpoint (RFC 6749 section 5).
pub(super) fn token(granted: Result<Value, TokenRefusal>) -> Response {
    let mut response = match granted {
        Ok(body) => json_answer(StatusCode::OK, &body),
        Err(refusal) => {
            let body = json!({"error": refusal.error, "error_description": refusal.description});
            json_answer(status(refusal.status), &body)
        }
    };
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"dev-server\""));
    }
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Answers a request whose path or method belongs to no operation.
pub(super) fn no_operation(reason: NoOperation) -> Response {
    match reason {
        NoOperation::Unknown => {
            Refusal::new(ErrorCode::ResourceNotFound, "Nothing is found at this path.").into_response()
        }
        NoOperation::WrongMethod { allowed } => {
            let mut refusal =
                Refusal::new(ErrorCode::ResourceNotFound, format!("The method is not allowed; use {allowed}."));
            refusal.status = 405;
            let mut response = refusal.into_response();
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
            response
        }
        NoOperation::Invalid(refusal) => refusal.into_response(),
    }
}

/// Builds the answer of a fault, which replaces the regular one.
pub(super) fn faulty(answer: &FaultAnswer) -> Response {
    let code = answer.code.as_deref().map(ErrorCode::from);
    let number = answer.status.unwrap_or_else(|| code.as_ref().map_or(500, status_of));
    let mut response = match (&answer.body, code) {
        _ if answer.endless => with_type(Response::new(endless()), JSON),
        _ if answer.body_bytes.is_some() => with_type(Response::new(long(answer.body_bytes.unwrap_or_default())), JSON),
        (Some(Value::String(text)), _) => with_type(Response::new(Body::from(text.clone())), HTML),
        (Some(body), _) => json_answer(StatusCode::OK, body),
        (None, code) => {
            let code = code.unwrap_or(if number == 502 { ErrorCode::BadGateway } else { ErrorCode::General });
            let mut refusal = Refusal::new(code, answer.message.as_deref().unwrap_or("Injected fault."));
            refusal.status = number;
            refusal.into_response()
        }
    };
    *response.status_mut() = status(number);
    response
}

/// Applies the status and headers of a fault to an answer, and cuts or stalls its body where the fault says so.
pub(super) fn spoiled(mut response: Response, answer: &FaultAnswer) -> Response {
    if let Some(number) = answer.status {
        *response.status_mut() = status(number);
    }
    for (name, value) in &answer.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    match (answer.cut_at, answer.stall_at) {
        (Some(bytes), _) => response.map(|body| broken_off(body, bytes, stream::once(broken()))),
        (None, Some(bytes)) => response.map(|body| broken_off(body, bytes, stream::pending())),
        (None, None) => response,
    }
}

/// The error that ends a body that is cut.
#[derive(Debug, thiserror::Error)]
#[error("a fault cut the body")]
struct Broken;

/// Returns the error that closes the connection. It yields first, so that the bytes before it are written.
async fn broken() -> Result<Bytes, Broken> {
    tokio::task::yield_now().await;
    Err(Broken)
}

/// Returns the first `bytes` bytes of a body, followed by `end`. A stream has no `Content-Length`, so the body ends
/// where it is cut.
fn broken_off(body: Body, bytes: u64, end: impl Stream<Item = Result<Bytes, Broken>> + Send + 'static) -> Body {
    let pieces = body.into_data_stream().scan(bytes, |left, piece| {
        let kept = piece.ok().filter(|_| *left > 0).map(|piece| {
            let length = usize::try_from(*left).unwrap_or(usize::MAX).min(piece.len());
            *left -= length as u64;
            Ok(piece.slice(..length))
        });
        std::future::ready(kept)
    });
    Body::from_stream(pieces.chain(end))
}

/// Converts a status; 500 if the number is not one.
fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// A body that never ends: spaces, which are valid JSON whitespace, four bytes every 20 ms.
fn endless() -> Body {
    let pieces = stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        Some((Ok::<_, std::convert::Infallible>(Bytes::from_static(b"    ")), ()))
    });
    Body::from_stream(pieces)
}

/// A body of that many spaces, sent as fast as the caller reads.
fn long(bytes: u64) -> Body {
    let piece = Bytes::from(vec![b' '; PIECE]);
    let whole = bytes / PIECE as u64;
    let rest = usize::try_from(bytes % PIECE as u64).unwrap_or_default();
    let last = piece.slice(..rest);
    let count = usize::try_from(whole).unwrap_or(usize::MAX);
    let pieces = stream::repeat(piece).take(count).chain(stream::once(async { last }));
    Body::from_stream(pieces.map(Ok::<_, std::convert::Infallible>))
}
