//! The interface through which clients report their requests to metrics. This module knows neither the metrics nor the
//! code that counts; a client gets an [`Observer`] as it gets a clock.

use std::fmt;
use std::time::Duration;

/// Receives notifications about requests, and ignores those that it does not implement. Every method returns immediately.
pub trait Observer: fmt::Debug + Send + Sync {
    /// Called when a request of an operation (contract section 5) ended. The duration runs from the start of the request
    /// to the end of the response body. Requests that this side held back are not reported.
    fn request(&self, _operation: &'static str, _end: RequestEnd, _duration: Duration) {}

    /// Called when a request was delayed for this time by the project's rate limit; usually zero.
    fn waited(&self, _duration: Duration) {}

    /// Called when the service asked for a pause: status 429, or a failure with `Retry-After`.
    fn throttled(&self) {}

    /// Called when a token request ended.
    fn token(&self, _end: TokenEnd) {}
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestEnd {
    /// A complete response with this HTTP status and a readable body.
    Status(u16),
    /// A timeout while connecting or while waiting for the complete response.
    Timeout,
    /// The connection could not be established.
    Connection,
    /// The connection broke, or the body exceeded the size limit.
    Broken,
    /// The status reports success, but the body does not match the contract.
    Undecodable,
    /// The caller stopped waiting before the response was complete, because it was not needed any more or the process
    /// ends. The service may have received the request.
    Canceled,
}

impl RequestEnd {
    /// Returns a word for a failure without a usable response, and `answered` for a response.
    pub fn word(self) -> &'static str {
        match self {
            Self::Status(_) => "answered",
            Self::Timeout => "timeout",
            Self::Connection => "connection",
            Self::Broken => "broken",
            Self::Undecodable => "undecodable",
            Self::Canceled => "canceled",
        }
    }
}

/// How a token request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenEnd {
    /// A token was issued.
    Issued,
    /// The client id, the secret or the scopes were refused (RFC 6749 section 5.2).
    Refused,
    /// Any other failure.
    Failed,
}

/// An observer that ignores everything, for one-shot commands without metrics.
#[derive(Clone, Copy, Debug)]
pub struct Unobserved;

impl Observer for Unobserved {}
