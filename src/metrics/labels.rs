//! The closed sets of label values: anything else becomes a value of the set, so that no remote server decides how many
//! series exist. Pure.

use connect_api::observer::{RequestEnd, TokenEnd};

/// Label value for anything that is in no list.
const OTHER: &str = "other";

macro_rules! with_labels {
    ($($status:literal)*) => { &[$(($status, stringify!($status))),*] };
}

/// HTTP statuses with their own label value; others are counted by class.
const STATUSES: &[(u16, &str)] = with_labels!(
    200 201 202 204 301 302 307 308 400 401 403 404 405 408 409 410 413 415 422 429 500 501 502 503 504
);

/// The label of how a request ended.
#[must_use]
pub fn code(end: RequestEnd) -> &'static str {
    match end {
        RequestEnd::Status(status) => self::status(status),
        failure => failure.word(),
    }
}

fn status(status: u16) -> &'static str {
    let known = STATUSES.iter().find(|(known, _)| *known == status);
    known.map_or_else(
        || match status {
            100..200 => "1xx",
            200..300 => "2xx",
            300..400 => "3xx",
            400..500 => "4xx",
            500..600 => "5xx",
            _ => OTHER,
        },
        |(_, label)| label,
    )
}

/// The label of how a request for a token ended.
#[must_use]
pub fn token(end: TokenEnd) -> &'static str {
    match end {
        TokenEnd::Issued => "issued",
        TokenEnd::Refused => "refused",
        TokenEnd::Failed => "failed",
    }
}
