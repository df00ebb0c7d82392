//! Reads what stands around a body and in the body of an error. Pure, and it believes nothing: bodies may be HTML,
//! empty, not UTF-8, or JSON of another shape (contract section 8.1).

use std::time::{Duration, SystemTime};

use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use jiff::Timestamp;
use serde_json::Value;

use crate::connect::ErrorCode;
use crate::connect::mask::Masker;

/// The service's number of an answer; requests carry ours under the same name.
pub(super) const CORRELATION_ID: &str = "x-correlation-id";
/// Longest pause that is believed: a wrong date would stop everything for ever.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// Longest correlation id and unknown code that is kept, in bytes.
const LONGEST_WORD: usize = 128;
/// Errors of one answer that are read.
const MOST_ERRORS: usize = 20;

/// What an answer with an error status says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Listed ones first, else in the order of the answer.
    pub(super) codes: Vec<ErrorCode>,
    /// For people, masked.
    pub(super) message: String,
    /// The service itself says that there is no such resource; a gateway's 404 does not count.
    pub(super) absent: bool,
}

/// Reads the body of an error.
pub(super) fn refusal(status: StatusCode, body: &[u8], masker: &Masker) -> Refusal {
    let Ok(Value::Object(body)) = serde_json::from_slice::<Value>(body) else {
        return Refusal { codes: Vec::new(), message: no_contract(status, body), absent: false };
    };
    let errors: Vec<_> = body.get("errors").and_then(Value::as_array).into_iter().flatten().take(MOST_ERRORS).collect();
    let mut codes: Vec<_> =
        errors.iter().filter_map(|error| error.get("code")?.as_str()).map(ErrorCode::from).collect();
    let absent = status == StatusCode::NOT_FOUND
        && (codes.contains(&ErrorCode::ResourceNotFound)
            || (codes.is_empty() && body.get("statusCode").and_then(Value::as_u64) == Some(404)));
    // A code that is not listed is a text of the service like any other.
    codes.retain(|code| match code {
        ErrorCode::Other(word) => word.len() <= LONGEST_WORD && masker.is_clean(word),
        _ => true,
    });
    codes.sort_by_key(|code| matches!(code, ErrorCode::Other(_)));
    Refusal { codes, message: masker.mask(&texts(&body, &errors).join("; ")), absent }
}

/// The texts of an error, each once: of all its errors, else its own.
fn texts<'a>(body: &'a serde_json::Map<String, Value>, errors: &[&'a Value]) -> Vec<&'a str> {
    let mut texts = Vec::new();
    let of_errors = errors.iter().flat_map(|error| [error.get("message"), error.get("detailedErrorMessage")]);
    let own = [body.get("message"), body.get("error_description"), body.get("error")];
    for text in of_errors.flatten().filter_map(Value::as_str).filter(|text| !text.trim().is_empty()) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    if texts.is_empty() {
        texts.extend(own.into_iter().flatten().filter_map(Value::as_str).find(|text| !text.trim().is_empty()));
    }
    texts
}

fn no_contract(status: StatusCode, body: &[u8]) -> String {
    if status.is_redirection() {
        "redirects are not followed: correct the URL".to_owned()
    } else {
        format!("the body ({} bytes) is not an error of the API; perhaps a gateway answered", body.len())
    }
}

/// The correlation id of an answer, else the one that was sent.
pub(super) fn correlation_id(headers: &HeaderMap, sent: &str, masker: impl FnOnce() -> Masker) -> String {
    let came = headers.get(CORRELATION_ID).and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty());
    match came {
        Some(id) if id != sent => {
            let id: String = id.chars().filter(char::is_ascii_graphic).take(LONGEST_WORD).collect();
            if !id.is_empty() && masker().is_clean(&id) { id } else { sent.to_owned() }
        }
        _ => sent.to_owned(),
    }
}

/// `Retry-After` (RFC 9110 section 10.2.3), an hour at most. A date is measured from the date of the same answer, if it
/// has one, so that it does not matter how this machine's clock goes.
pub(super) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let pause = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else {
        let until = httpdate::parse_http_date(text).ok()?;
        let from = headers.get(DATE).and_then(date).unwrap_or_else(|| now.into());
        until.duration_since(from).unwrap_or(Duration::ZERO)
    };
    Some(pause.min(LONGEST_PAUSE))
}

fn date(header: &HeaderValue) -> Option<SystemTime> {
    httpdate::parse_http_date(header.to_str().ok()?).ok()
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
