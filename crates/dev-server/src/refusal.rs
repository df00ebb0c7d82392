//! Answers that refuse, after contract section 8: codes with their further members and HTTP statuses.
//!
//! Texts name keys and applications, never a secured value. Next: `http.rs` for how they are sent.

use serde_json::{Map, Value, json};

use connect_api::model::{ErrorObject, ErrorResponse};
use connect_api::{ErrorCode, Selector};

/// Why something was not done: at least one error, all for one HTTP status.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// The errors, in the order in which they were found.
    pub errors: Vec<ErrorObject>,
}

impl Refusal {
    /// One error; where the contract leaves the status open, it is 400.
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status: status_of(&code), errors: vec![error(code, message)] }
    }

    /// Several errors with one status (400), or nothing if there are none.
    pub(super) fn unless_empty(errors: Vec<ErrorObject>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self { status: 400, errors }) }
    }

    /// 404 for a selector that finds nothing.
    pub(super) fn not_found(selector: &Selector) -> Self {
        let (name, value) = match selector {
            Selector::Id(id) => ("ID", id),
            Selector::Key(key) => ("key", key),
        };
        Self::new(ErrorCode::ResourceNotFound, format!("The resource with {name} '{}' was not found.", cut(value)))
    }

    /// 409: the version that was sent is not the current one.
    pub(super) fn conflict(sent: i64, current: i64) -> Self {
        let message = format!("Version {sent} was sent, but the current version is {current}.");
        let more = [("expectedVersion", json!(sent)), ("currentVersion", json!(current))];
        Self { status: 409, errors: vec![detailed(ErrorCode::ConcurrentModification, message, more)] }
    }

    /// The key is taken.
    pub(super) fn duplicate_key(what: &str, key: &str) -> Self {
        let message = format!("A {what} with the key '{key}' exists already.");
        let more = [("field", json!("key")), ("duplicateValue", json!(key))];
        Self { status: 400, errors: vec![detailed(ErrorCode::DuplicateField, message, more)] }
    }

    /// A code that tells its reason in `detailedErrorMessage` too.
    pub(super) fn with_details(code: ErrorCode, message: &str, details: &str) -> Self {
        Self { status: status_of(&code), errors: vec![with_details(code, message, details)] }
    }

    /// The body of contract section 8.1.
    #[must_use]
    pub fn body(&self) -> ErrorResponse {
        ErrorResponse {
            status_code: self.status,
            message: self.errors.first().map(|first| first.message.clone()).unwrap_or_default(),
            errors: self.errors.clone(),
        }
    }

    /// Codes in their order, for tests and logs.
    #[must_use]
    pub fn codes(&self) -> Vec<&str> {
        self.errors.iter().map(|error| error.code.as_str()).collect()
    }
}

/// One error without further members.
pub(super) fn error(code: ErrorCode, message: impl Into<String>) -> ErrorObject {
    ErrorObject { code, message: message.into(), more: Map::new() }
}

/// One error with `detailedErrorMessage`.
pub(super) fn with_details(code: ErrorCode, message: &str, details: &str) -> ErrorObject {
    detailed(code, message.to_owned(), [("detailedErrorMessage", json!(details))])
}

fn detailed<const N: usize>(code: ErrorCode, message: String, more: [(&str, Value); N]) -> ErrorObject {
    let more = more.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    ErrorObject { code, message, more }
}

/// Statuses that the contract states or that were seen, and 400 for the rest; 401 and 502 are what HTTP has for them.
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

/// At most 256 characters of something that a caller sent.
pub(super) fn cut(text: &str) -> String {
    text.chars().take(256).collect()
}
