//! Who hears what the clients do, to count it. Knows neither metrics nor who counts: a client is given an [`Observer`] as
//! it is given a clock.

use std::fmt;
use std::time::Duration;

/// Hears of requests. Each method returns at once, and keeps nothing of what it could not count.
pub trait Observer: fmt::Debug + Send + Sync {
    /// A request of this operation (contract section 5) ended, after this time from its start to the end of the body.
    /// Requests that were held back on this side are none.
    fn request(&self, operation: &'static str, end: RequestEnd, duration: Duration);

    /// A request was about to leave and waited for so long until the rate of the project let it; mostly not at all.
    fn waited(&self, duration: Duration);

    /// The service asked for a pause: status 429, or a failure with `Retry-After`.
    fn throttled(&self);

    /// A request for a token ended.
    fn token(&self, end: TokenEnd);
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestEnd {
    /// A whole answer with this HTTP status, whose body could be read.
    Status(u16),
    /// No connection, or no whole answer, in time.
    Timeout,
    /// No connection at all.
    Connection,
    /// The connection broke, or the body was larger than is read.
    Broken,
    /// The status says success, and the body is not the record of the contract.
    Undecodable,
}

/// How a request for a token ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenEnd {
    /// There is one.
    Issued,
    /// Client id, secret or scopes were refused (RFC 6749 section 5.2).
    Refused,
    /// Anything else.
    Failed,
}

/// Hears nothing: commands that run once have nobody who counts.
#[derive(Clone, Copy, Debug)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn request(&self, _: &'static str, _: RequestEnd, _: Duration) {}

    fn waited(&self, _: Duration) {}

    fn throttled(&self) {}

    fn token(&self, _: TokenEnd) {}
}
