//! Error answers (contract section 8): error codes with their additional members and HTTP statuses.
//!
//! Messages name keys and applications, never a secured value. Next: `answers.rs` for how they are sent.

use serde::Serialize;
use serde_json::{Map, Value, json};

use connect_api::{ErrorCode, Selector};

/// Body of an error response (contract section 8.1).
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorResponse {
    /// Repeats the HTTP status.
    pub status_code: u16,
    /// Message of the first error.
    pub message: String,
    /// All errors.
    pub errors: Vec<ErrorObject>,
}

/// One error of an error response (contract section 8.1).
#[derive(Clone, Debug, Serialize)]
pub struct ErrorObject {
    /// Machine-readable code.
    pub code: ErrorCode,
    /// Message for users.
    pub message: String,
    /// Further members, depending on the code.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Why a request is refused: at least one error, all with the same HTTP status.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// The errors, in the order in which they were found.
    pub errors: Vec<ErrorObject>,
}

impl Refusal {
    /// Creates a refusal with one error; where the contract leaves the status open, it is 400.
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status: status_of(&code), errors: vec![error(code, message)] }
    }

    /// Returns a refusal with status 400 and these errors, or `Ok` if there are none.
    pub(super) fn unless_empty(errors: Vec<ErrorObject>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self { status: 400, errors }) }
    }

    /// Returns the refusal (404) for a selector that finds nothing.
    pub(super) fn not_found(selector: &Selector) -> Self {
        let (name, value) = match selector {
            Selector::Id(id) => ("ID", id),
            Selector::Key(key) => ("key", key),
        };
        Self::new(ErrorCode::ResourceNotFound, format!("The resource with {name} '{}' was not found.", cut(value)))
    }

    /// Returns the refusal (409) for a version that is not the current one.
    pub(super) fn conflict(sent: i64, current: i64) -> Self {
        let message = format!("Version {sent} was sent, but the current version is {current}.");
        let more = [("expectedVersion", json!(sent)), ("currentVersion", json!(current))];
        Self { status: 409, errors: vec![detailed(ErrorCode::ConcurrentModification, message, more)] }
    }

    /// Returns the refusal for a key that is taken.
    pub(super) fn duplicate_key(what: &str, key: &str) -> Self {
        let message = format!("A {what} with the key '{key}' exists already.");
        let more = [("field", json!("key")), ("duplicateValue", json!(key))];
        Self { status: 400, errors: vec![detailed(ErrorCode::DuplicateField, message, more)] }
    }

    /// Creates a refusal with one error that also has `detailedErrorMessage`.
    pub(super) fn with_details(code: ErrorCode, message: &str, details: &str) -> Self {
        Self { status: status_of(&code), errors: vec![with_details(code, message, details)] }
    }

    /// Returns the body of contract section 8.1.
    pub fn body(&self) -> ErrorResponse {
        ErrorResponse {
            status_code: self.status,
            message: self.errors.first().map(|first| first.message.clone()).unwrap_or_default(),
            errors: self.errors.clone(),
        }
    }

    /// Returns the codes in order, for tests and logs.
    pub fn codes(&self) -> Vec<&str> {
        self.errors.iter().map(|error| error.code.as_str()).collect()
    }
}

/// Creates an error without additional members.
pub(super) fn error(code: ErrorCode, message: impl Into<String>) -> ErrorObject {
    ErrorObject { code, message: message.into(), more: Map::new() }
}

/// Creates an error with `detailedErrorMessage`.
pub(super) fn with_details(code: ErrorCode, message: &str, details: &str) -> ErrorObject {
    detailed(code, message.to_owned(), [("detailedErrorMessage", json!(details))])
}

fn detailed<const N: usize>(code: ErrorCode, message: String, more: [(&str, Value); N]) -> ErrorObject {
    let more = more.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    ErrorObject { code, message, more }
}

/// Returns the HTTP status of a code: as stated by the contract or observed, else 400. 401 and 502 are the statuses
/// that HTTP defines for their case.
pub(super) fn status_of(code: &ErrorCode) -> u16 {
    match code {
        ErrorCode::AuthenticationError => 401,
        ErrorCode::AuthorizationError => 403,
        ErrorCode::ResourceNotFound => 404,
        ErrorCode::ConcurrentModification => 409,
        ErrorCode::GitRepositoryNotReachable => 422,
        ErrorCode::General => 500,
        ErrorCode::BadGateway => 502,
        _ => 400,
    }
}

/// Shortens a text that a caller sent to 256 characters.
pub(super) fn cut(text: &str) -> String {
    text.chars().take(256).collect()
}
