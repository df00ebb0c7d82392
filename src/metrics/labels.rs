//! The closed sets of label values: anything else becomes a value of the set, so that no remote server decides how many
//! series exist. Pure.

use connect_api::observer::{RequestEnd, TokenEnd};
use http::StatusCode;

/// The label of how a request ended: the HTTP status if it is a registered one, otherwise its class.
pub fn code(end: RequestEnd) -> String {
    let RequestEnd::Status(status) = end else { return end.word().to_owned() };
    let is_registered = StatusCode::from_u16(status).is_ok_and(|status| status.canonical_reason().is_some());
    match status {
        status if is_registered => status.to_string(),
        100..600 => format!("{}xx", status / 100),
        _ => "other".to_owned(),
    }
}

/// The label of how a request for a token ended.
pub fn token(end: TokenEnd) -> &'static str {
    match end {
        TokenEnd::Issued => "issued",
        TokenEnd::Refused => "refused",
        TokenEnd::Failed => "failed",
    }
}
