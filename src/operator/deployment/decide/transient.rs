//! What this process has observed so far. Losing it costs time, never correctness; a new leader starts without it.

use clock::later;
use jiff::Timestamp;

use super::super::persisted::Phase;
use super::timing::{Pause, refused_for};
use crate::operator::values::digest::Digest;

/// What this process has observed so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransientState {
    /// When the first 404 of an unbroken row was read.
    pub absent_since: Option<Timestamp>,
    /// The final state that was read last, and since when.
    pub resting: Option<Resting>,
    /// Changes that are being collected.
    pub change: Option<Change>,
    /// The last definite refusal of a call, as long as nothing has changed since.
    pub refused: Option<Refused>,
    /// Nothing is sent for a while, after a refusal that passes by itself.
    pub pause: Option<Pause>,
    /// Since when the deployment is busy without an operation of this resource.
    pub busy_since: Option<Timestamp>,
}

/// A final state that has been read since a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resting {
    /// The state.
    pub phase: Phase,
    /// The version.
    pub version: i64,
    /// The time since which it has been read.
    pub since: Timestamp,
}

/// Changes that are being collected into one redeploy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What is asked for.
    pub cause: Cause,
    /// Time of the first change.
    pub first: Timestamp,
    /// Time of the last change.
    pub last: Timestamp,
}

/// What a call is sent for: a call that was refused is not repeated in a loop for the same cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Digest of what was asked for; `None`: the deletion of the resource.
    pub digest: Option<Digest>,
    /// Generation that was asked for.
    pub generation: i64,
    /// The request that was asked for: a redeploy, or, of a resource that is being deleted, a reconcile.
    pub request: Option<String>,
    /// Version of the connector in the registry, as far as it is known.
    pub latest: Option<i64>,
}

impl Cause {
    /// Whether the service that refused this also refuses `asked`: it is the same, and there is no newer version of the
    /// connector, which may accept what the one before it refused.
    pub(super) fn covers(&self, asked: &Self) -> bool {
        let Self { digest, generation, request, latest } = asked;
        (&self.digest, &self.generation, &self.request) == (digest, generation, request) && self.latest >= *latest
    }
}

/// A definite refusal: the same cause is not sent again before `until`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What the call was sent for.
    pub cause: Cause,
    /// When the same cause may be sent again.
    pub until: Timestamp,
    /// Number of refusals of this cause in a row.
    pub times: u32,
}

impl Refused {
    /// Returns the refusal for `cause`; `before`: the previous one.
    pub fn after(before: Option<&Self>, cause: Cause, now: Timestamp) -> Self {
        let before = before.filter(|before| before.cause == cause);
        let times = before.map_or(1, |before| before.times.saturating_add(1));
        Self { cause, until: later(now, refused_for(times)), times }
    }

    /// Whether the service refused to undeploy while the resource is being deleted.
    pub fn is_of_deletion(&self) -> bool {
        self.cause.digest.is_none()
    }
}
