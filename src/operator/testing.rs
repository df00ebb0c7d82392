//! What the unit tests of several folders build: errors of the Connect API.

use std::time::Duration;

use connect_api::error::Failure;
use connect_api::{ApiError, ErrorCode};

/// Returns a call that failed in that way.
pub(crate) fn failure(failure: Failure) -> ApiError {
    ApiError { operation: "test", failure, message: String::new(), correlation_id: None, retry_after: None }
}

/// Returns an answer with that status, whose body does not follow the contract.
pub(crate) fn answered(status: u16) -> ApiError {
    failure(Failure::Answered { status, codes: Vec::new() })
}

/// Returns an answer with that status and code.
pub(crate) fn coded(status: u16, code: impl Into<ErrorCode>) -> ApiError {
    failure(Failure::Answered { status, codes: vec![code.into()] })
}

/// Returns the same error with a `Retry-After`.
pub(crate) fn retry_after(error: ApiError, milliseconds: u64) -> ApiError {
    ApiError { retry_after: Some(Duration::from_millis(milliseconds)), ..error }
}
