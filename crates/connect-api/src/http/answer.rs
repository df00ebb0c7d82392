//! Reads what a remote answers: what stands around a body, errors, tokens and pages. Pure, and it believes nothing:
//! bodies may be HTML, empty, not UTF-8, or JSON of another shape (contract section 8.1). `tests/fuzz/` tries it with
//! anything at all.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use jiff::Timestamp;
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ErrorCode;
use crate::mask::Masker;
use crate::model::{Deployment, LogEntry, LogPage, Paged};

/// The service's number of an answer; requests carry ours under the same name.
pub const CORRELATION_ID: &str = "x-correlation-id";
/// Longest pause that is believed: a wrong date would stop everything for ever.
pub const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// Longest correlation id and unknown code that is kept, in bytes.
pub const LONGEST_WORD: usize = 128;
/// Errors of one answer that are read.
const MOST_ERRORS: usize = 20;

/// Life of a token whose answer has no `expires_in`; the standard leaves it open, and a 401 corrects it.
pub const ASSUMED_LIFE: Duration = Duration::from_hours(1);
/// Shorter lives are taken for this one, so that a server's `0` does not mean a token for each call.
pub const SHORTEST_LIFE: Duration = Duration::from_secs(10);
/// Longer lives are taken for this one.
pub const LONGEST_LIFE: Duration = Duration::from_hours(30 * 24);

/// What an answer with an error status says.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Listed ones first, else in the order of the answer; at most 20, each at most [`LONGEST_WORD`] bytes.
    pub codes: Vec<ErrorCode>,
    /// For people, masked.
    pub message: String,
    /// The service itself says that there is no such resource; a gateway's 404 does not count.
    pub absent: bool,
}

/// What a token endpoint grants (RFC 6749 section 5.1).
#[derive(Debug)]
pub struct Grant {
    /// `Bearer` and the token, marked as sensitive.
    pub authorization: HeaderValue,
    /// The token itself, to be hidden in texts.
    pub value: SecretString,
    /// Scopes that it has: as the answer names them, else as they were asked for.
    pub scopes: Vec<String>,
    /// Whether the answer names its scopes.
    pub named: bool,
    /// How long it lives from the arrival of the answer, [`SHORTEST_LIFE`] to [`LONGEST_LIFE`].
    pub life: Duration,
}

/// Reads the body of an error.
#[must_use]
pub fn refusal(status: StatusCode, body: &[u8], masker: &Masker) -> Refusal {
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

/// Whether this is the answer of a token endpoint to wrong credentials or scopes: 401, or a 400 that names an `error`
/// (RFC 6749 section 5.2). Any other 400 is one of something in between, which may pass.
#[must_use]
pub fn refuses_a_grant(status: StatusCode, body: &[u8]) -> bool {
    let names_an_error =
        || serde_json::from_slice::<Value>(body).is_ok_and(|body| body.get("error").is_some_and(Value::is_string));
    status == StatusCode::UNAUTHORIZED || (status == StatusCode::BAD_REQUEST && names_an_error())
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
pub fn correlation_id(headers: &HeaderMap, sent: &str, masker: impl FnOnce() -> Masker) -> String {
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
#[must_use]
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
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

/// Reads the answer of a token endpoint; `None` if it holds no bearer token. `asked`: the scopes that were asked for,
/// which the token has if the answer names none (RFC 6749 section 5.1).
#[must_use]
pub fn grant(body: &[u8], asked: Option<&str>) -> Option<Grant> {
    let body = serde_json::from_slice::<Value>(body).ok()?;
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let value = text("access_token").filter(|value| !value.is_empty())?;
    if text("token_type").is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return None;
    }
    let mut authorization = HeaderValue::from_str(&format!("Bearer {value}")).ok()?;
    authorization.set_sensitive(true);
    let named = text("scope").filter(|scopes| !scopes.trim().is_empty());
    let scopes = named.or(asked).unwrap_or_default();
    Some(Grant {
        authorization,
        value: SecretString::from(value),
        named: named.is_some(),
        scopes: scopes.split_whitespace().map(str::to_owned).collect(),
        life: life(body.get("expires_in")),
    })
}

/// Life of a token by `expires_in` (RFC 6749 section 5.1), from the arrival of the answer. Some servers write the number
/// as a text.
fn life(expires_in: Option<&Value>) -> Duration {
    let seconds = match expires_in {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    seconds
        .and_then(|seconds: f64| Duration::try_from_secs_f64(seconds.max(0.0)).ok())
        .map_or(ASSUMED_LIFE, |life| life.clamp(SHORTEST_LIFE, LONGEST_LIFE))
}

/// Reads a page of the list of deployments, and counts the records that cannot be read and are left out.
///
/// # Errors
/// When it is no page at all.
pub fn deployments(body: &[u8]) -> Result<(Paged<Arc<Deployment>>, usize), serde_json::Error> {
    let (Paged { limit, offset, count, total, results }, left_out) = paged::<Deployment>(body)?;
    Ok((Paged { limit, offset, count, total, results: results.into_iter().map(Arc::new).collect() }, left_out))
}

/// Reads a page of a list, and counts the records that cannot be read and are left out.
///
/// # Errors
/// When it is no page at all.
pub fn paged<T: DeserializeOwned>(body: &[u8]) -> Result<(Paged<T>, usize), serde_json::Error> {
    let Paged { limit, offset, total, results, .. } = serde_json::from_slice::<Paged<&RawValue>>(body)?;
    let count = i64::try_from(results.len()).unwrap_or(i64::MAX);
    let (results, left_out) = readable(&results);
    Ok((Paged { limit, offset, count, total, results }, left_out))
}

/// Reads a page of a log, and counts the entries that cannot be read and are left out.
///
/// # Errors
/// When it is no page at all.
pub fn log_page(body: &[u8]) -> Result<(LogPage, usize), serde_json::Error> {
    let RawLogPage { data, next } = serde_json::from_slice(body)?;
    let (data, left_out) = readable::<LogEntry>(&data.unwrap_or_default());
    Ok((LogPage { data, next }, left_out))
}

/// [`LogPage`] before its entries are read.
#[derive(Deserialize)]
struct RawLogPage<'a> {
    #[serde(borrow, default)]
    data: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    next: Option<String>,
}

/// Those records of a page that can be read, and how many cannot.
fn readable<T: DeserializeOwned>(records: &[&RawValue]) -> (Vec<T>, usize) {
    let read: Vec<T> = records.iter().filter_map(|record| serde_json::from_str(record.get()).ok()).collect();
    let left_out = records.len() - read.len();
    (read, left_out)
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
