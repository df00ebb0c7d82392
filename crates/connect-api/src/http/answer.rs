//! Parses responses: headers, errors, tokens and pages. Pure, and robust against any input: bodies may be HTML, empty,
//! not UTF-8, or JSON with another structure (contract section 8.1). `tests/fuzz/` tests it with arbitrary input.

use std::time::Duration;

use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use jiff::Timestamp;
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::ErrorCode;
use crate::lenient::{Records, nullable};
use crate::mask::Masker;
use crate::model::Paged;
use crate::routes::LARGEST_PAGE;
use crate::text::LONGEST_WORD;

/// Header with the id of a response; requests carry the operator's id in the same header.
pub const CORRELATION_ID: &str = "x-correlation-id";
/// Maximum pause that is accepted: without a limit, a wrong date could stop all requests forever.
pub const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// Maximum number of errors that are read from one response.
const MOST_ERRORS: usize = 20;

/// Assumed lifetime of a token whose response has no `expires_in`. The standard leaves it open; if the assumption is
/// too long, a 401 corrects it.
pub const ASSUMED_LIFE: Duration = Duration::from_hours(1);
/// Minimum lifetime. Shorter values are raised to it, so that a server's `0` does not cause a token request per call.
pub const SHORTEST_LIFE: Duration = Duration::from_secs(10);
/// Maximum lifetime. Longer values are lowered to it.
pub const LONGEST_LIFE: Duration = Duration::from_hours(30 * 24);

/// The content of a response with an error status.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Known codes first, otherwise in the order of the response; at most 20 codes, unknown ones of at most
    /// [`LONGEST_WORD`] bytes.
    pub codes: Vec<ErrorCode>,
    /// Message for users, masked.
    pub message: String,
}

/// A token response (RFC 6749 section 5.1).
#[derive(Debug)]
pub struct Grant {
    /// The value of the `Authorization` header: `Bearer` and the token, marked as sensitive.
    pub authorization: HeaderValue,
    /// The token itself, to be masked in texts.
    pub value: SecretString,
    /// Scopes of the token: those in the response, or the requested ones if the response names none.
    pub scopes: Vec<String>,
    /// Lifetime from the arrival of the response, between [`SHORTEST_LIFE`] and [`LONGEST_LIFE`].
    pub life: Duration,
}

/// Parses the body of an error response. `may_be_absent`: a 404 has the code [`ErrorCode::ResourceNotFound`] alone if it is
/// one of its codes, or if it has none and the body repeats the status, as the service does and a gateway does not.
pub fn refusal(status: StatusCode, body: &[u8], may_be_absent: bool, masker: &Masker) -> Refusal {
    let Ok(Value::Object(body)) = serde_json::from_slice::<Value>(body) else {
        return Refusal { codes: Vec::new(), message: no_contract(status, body) };
    };
    let errors: Vec<_> = body.get("errors").and_then(Value::as_array).into_iter().flatten().take(MOST_ERRORS).collect();
    let mut codes: Vec<_> =
        errors.iter().filter_map(|error| error.get("code")?.as_str()).map(ErrorCode::from).collect();
    let repeats_status = codes.is_empty() && body.get("statusCode").and_then(Value::as_u64) == Some(404);
    let says_absent = repeats_status || codes.contains(&ErrorCode::ResourceNotFound);
    if may_be_absent && status == StatusCode::NOT_FOUND && says_absent {
        codes = vec![ErrorCode::ResourceNotFound];
    }
    let masker = masker.compile();
    // A code that the contract does not list is untrusted text: it is kept only if it is short and has no secret.
    codes.retain(|code| match code {
        ErrorCode::Other(word) => word.len() <= LONGEST_WORD && masker.is_clean(word),
        _ => true,
    });
    codes.sort_by_key(|code| matches!(code, ErrorCode::Other(_)));
    Refusal { codes, message: masker.mask(&texts(&body, &errors).join("; ")) }
}

/// Returns whether a token endpoint refused the credentials or scopes: 401, or a 400 whose body has an `error` (RFC
/// 6749 section 5.2). Any other 400 comes from an intermediary and may be temporary.
pub fn refuses_a_grant(status: StatusCode, body: &[u8]) -> bool {
    let names_an_error =
        || serde_json::from_slice::<Value>(body).is_ok_and(|body| body.get("error").is_some_and(Value::is_string));
    status == StatusCode::UNAUTHORIZED || (status == StatusCode::BAD_REQUEST && names_an_error())
}

/// Returns the distinct messages of an error response: those of its errors, or its own if they have none.
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

/// Returns the correlation id of a response, or the id that was sent if the response has no usable one.
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

/// Parses `Retry-After` (RFC 9110 section 10.2.3), limited to one hour. A date is measured from the `Date` header of
/// the same response, if present, so that the result does not depend on the local system time.
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let pause = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else {
        let date = |text| httpdate::parse_http_date(text).ok();
        let theirs = headers.get(DATE).and_then(|text| date(text.to_str().ok()?));
        date(text)?.duration_since(theirs.unwrap_or_else(|| now.into())).unwrap_or(Duration::ZERO)
    };
    Some(pause.min(LONGEST_PAUSE))
}

/// Parses a token response; returns `None` if it contains no bearer token. `asked` are the requested scopes, which the
/// token has if the response names none (RFC 6749 section 5.1).
pub fn grant(body: &[u8], asked: Option<&str>) -> Option<Grant> {
    let body = serde_json::from_slice::<Value>(body).ok()?;
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let value = text("access_token").filter(|value| !value.is_empty())?;
    if text("token_type").is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return None;
    }
    let mut authorization = HeaderValue::from_str(&format!("Bearer {value}")).ok()?;
    authorization.set_sensitive(true);
    let scopes = text("scope").filter(|scopes| !scopes.trim().is_empty()).or(asked).unwrap_or_default();
    Some(Grant {
        authorization,
        value: SecretString::from(value),
        scopes: scopes.split_whitespace().map(str::to_owned).collect(),
        life: life(body.get("expires_in")),
    })
}

/// Returns the lifetime of a token by `expires_in` (RFC 6749 section 5.1), from the arrival of the response.
fn life(expires_in: Option<&Value>) -> Duration {
    expires_in
        .and_then(Value::as_f64)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).ok())
        .map_or(ASSUMED_LIFE, |life| life.clamp(SHORTEST_LIFE, LONGEST_LIFE))
}

/// Decodes a page of a list, and counts the omitted records: those that cannot be decoded, and those beyond the largest
/// page that can be requested.
///
/// # Errors
/// Fails if the body is not a page.
pub fn paged<T: DeserializeOwned>(body: &[u8]) -> Result<(Paged<T>, usize), serde_json::Error> {
    let RawPage { limit, offset, total, results } = serde_json::from_slice::<RawPage<T>>(body)?;
    let Records { read: results, left_out } = results;
    let count = i64::try_from(results.len() + left_out).unwrap_or(i64::MAX);
    Ok((Paged { limit, offset, count, total, results }, left_out))
}

/// A [`Paged`] whose records are decoded one by one.
#[serde_with::apply(i64 => #[serde(default, deserialize_with = "nullable")])]
#[derive(Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct RawPage<T> {
    limit: i64,
    offset: i64,
    total: i64,
    results: Records<T, { LARGEST_PAGE as usize }>,
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
