//! The calls so far, for tests that count them: what was asked and what was answered, without bodies; and answers as a
//! whole, for whoever listens.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use serde::Serialize;

/// Calls that are kept one by one; counts know all.
const KEPT: usize = 20_000;

/// One call.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// When it arrived.
    pub at: Timestamp,
    /// Name of the operation in the contract; `token`; or `none` for a path that leads nowhere.
    pub operation: &'static str,
    /// HTTP method.
    pub method: String,
    /// Path without query.
    pub path: String,
    /// HTTP status of the answer; 0 if the connection was closed without one, by either side.
    pub status: u16,
    /// `X-Correlation-ID` of the answer.
    pub correlation_id: String,
    /// `User-Agent` of the caller.
    pub user_agent: Option<String>,
}

/// What a request sent beside its method and target.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// `User-Agent`, if there is one and it is text.
    pub user_agent: Option<String>,
    /// `Content-Type`, if there is one and it is text.
    pub content_type: Option<String>,
    /// The body; empty if it could not be read.
    pub body: Vec<u8>,
}

/// An answer as it is before a fault may spoil it, also where the caller never sees it.
#[derive(Clone, Debug)]
pub struct Answer {
    /// As in [`Call::operation`].
    pub operation: &'static str,
    /// HTTP method of the request.
    pub method: String,
    /// Path and query of the request.
    pub target: String,
    /// What was asked.
    pub asked: Asked,
    /// HTTP status.
    pub status: u16,
    /// `Content-Type`, if there is one and it is text.
    pub content_type: Option<String>,
    /// The whole body.
    pub body: Vec<u8>,
}

/// Calls in the order of their answers.
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

    pub(super) fn kept(&self) -> impl Iterator<Item = &Call> {
        self.kept.iter()
    }
}
