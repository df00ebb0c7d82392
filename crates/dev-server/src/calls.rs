//! The recorded calls, for tests that count them: request and status without bodies. Listeners also get whole answers.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use serde::Serialize;

/// Maximum number of calls that are kept individually; the counts include all calls.
const KEPT: usize = 20_000;

/// One call.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// When it arrived.
    pub at: Timestamp,
    /// Name of the operation in the contract, `token`, or `none` for a path without an operation.
    pub operation: &'static str,
    /// HTTP method.
    pub method: String,
    /// Path without query.
    pub path: String,
    /// HTTP status of the answer; 0 if either side closed the connection without an answer.
    pub status: u16,
    /// `X-Correlation-ID` of the answer.
    pub correlation_id: String,
    /// `User-Agent` of the caller.
    pub user_agent: Option<String>,
    /// Milliseconds until the answer began or the connection was closed: real time, also with a stepped clock.
    pub duration_ms: u64,
}

/// Parts of a request other than its method and target.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// `User-Agent`; `None` if it is missing or not text.
    pub user_agent: Option<String>,
    /// `Content-Type`; `None` if it is missing or not text.
    pub content_type: Option<String>,
    /// The body; empty if it could not be read.
    pub body: Vec<u8>,
}

/// An answer before a fault changes it, even if the caller never receives it.
#[derive(Clone, Debug)]
pub struct Answer {
    /// As in [`Call::operation`].
    pub operation: &'static str,
    /// HTTP method of the request.
    pub method: String,
    /// Path and query of the request.
    pub target: String,
    /// The request.
    pub asked: Asked,
    /// HTTP status.
    pub status: u16,
    /// `Content-Type`; `None` if it is missing or not text.
    pub content_type: Option<String>,
    /// The whole body.
    pub body: Vec<u8>,
}

/// The recorded calls, in the order of their answers.
#[derive(Debug, Default)]
pub(super) struct Calls {
    counts: BTreeMap<&'static str, u64>,
    kept: VecDeque<Call>,
}

impl Calls {
    pub(super) fn add(&mut self, call: Call) {
        *self.counts.entry(call.operation).or_default() += 1;
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(call);
    }

    pub(super) fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }

    pub(super) fn kept(&self) -> impl DoubleEndedIterator<Item = &Call> {
        self.kept.iter()
    }
}
