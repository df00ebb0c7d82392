//! What this process has seen so far. Losing it costs time, never correctness; whoever starts to lead starts without it.

use std::time::Duration;

use jiff::Timestamp;

use super::super::ledger::Phase;
use crate::clock::later;
use crate::controllers::digest::Digest;

/// First pause before a refused write is repeated, if nothing changes before; doubles.
pub(super) const REFUSED_AGAIN: Duration = Duration::from_mins(10);
/// Longest such pause.
pub(super) const REFUSED_AGAIN_AT_MOST: Duration = Duration::from_hours(1);
/// Pause after a refusal that passes by itself: the deployment is busy, or the version was an old one. Doubles.
pub(super) const PASSING: Duration = Duration::from_secs(5);
/// Longest such pause.
pub(super) const PASSING_AT_MOST: Duration = Duration::from_mins(1);

/// What this process has seen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// When the first 404 of an unbroken row was seen.
    pub absent_since: Option<Timestamp>,
    /// Since when the same final state was read.
    pub resting: Option<Resting>,
    /// Changes that are being gathered.
    pub change: Option<Change>,
    /// The last definite refusal of a call, for as long as nothing has changed since.
    pub refused: Option<Refused>,
    /// Nothing is sent for a while, after a refusal that passes by itself.
    pub pause: Option<Pause>,
    /// The registry version that a redeploy was sent for last (`updatePolicy: Latest`).
    pub followed: Option<i64>,
    /// Since when the deployment was seen busy without an operation of ours.
    pub busy_since: Option<Timestamp>,
    /// Our last write, if its time was seen to lie in the future.
    pub ahead: Option<Ahead>,
}

/// The same final state, read since a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resting {
    /// The state.
    pub phase: Phase,
    /// The version.
    pub version: i64,
    /// Read since then.
    pub since: Timestamp,
}

/// Changes that are being gathered into one redeploy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What is asked for.
    pub cause: Cause,
    /// First change.
    pub first: Timestamp,
    /// Last change.
    pub last: Timestamp,
}

/// What a call is sent for: the same cause is refused once, not in a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Digest of what was asked for.
    pub digest: Digest,
    /// Generation that was asked for.
    pub generation: i64,
    /// Redeploy request that was asked for.
    pub request: Option<String>,
}

/// A definite refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What was refused; `None`: taking it down.
    pub cause: Option<Cause>,
    /// Not sent again before that.
    pub until: Timestamp,
    /// How often in a row.
    pub times: u32,
}

/// Nothing is sent for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Nothing is sent before that.
    pub until: Timestamp,
    /// How often in a row.
    pub times: u32,
}

/// A time in the future: the clock was set back, or another leader's clock is ahead. Its age is counted from when this
/// process met it first, which is later than the write, so nothing is concluded too early and nothing waits for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// The time that was written.
    pub stamp: Timestamp,
    /// When it was met.
    pub since: Timestamp,
}

impl Memory {
    /// The same without times in the future, which a clock that was set back leaves behind. `last_write`: the time of
    /// our last write at the remote.
    pub(super) fn at(&self, last_write: Option<Timestamp>, now: Timestamp) -> Self {
        let mut memory = self.clone();
        for time in [
            memory.absent_since.as_mut(),
            memory.busy_since.as_mut(),
            memory.resting.as_mut().map(|resting| &mut resting.since),
            memory.ahead.as_mut().map(|ahead| &mut ahead.since),
        ]
        .into_iter()
        .flatten()
        {
            *time = now.min(*time);
        }
        if let Some(change) = &mut memory.change {
            change.first = now.min(change.first);
            change.last = now.min(change.last);
        }
        if let Some(refused) = &mut memory.refused {
            refused.until = refused.until.min(later(now, REFUSED_AGAIN_AT_MOST));
        }
        if let Some(pause) = &mut memory.pause {
            pause.until = pause.until.min(later(now, PASSING_AT_MOST));
        }
        memory.ahead = memory.ahead.filter(|ahead| Some(ahead.stamp) == last_write).or_else(|| {
            let stamp = last_write.filter(|stamp| *stamp > now)?;
            Some(Ahead { stamp, since: now })
        });
        memory
    }
}

/// Pause before a call is sent again whose answer was lost: 6 s, doubling to 5 minutes.
pub(super) fn repeat_after(attempt: u32) -> Duration {
    const FIRST: Duration = Duration::from_secs(6);
    const AT_MOST: Duration = Duration::from_mins(5);
    doubled(FIRST, attempt, AT_MOST)
}

/// `first` for the first time, doubling, at most `at_most`.
pub(super) fn doubled(first: Duration, times: u32, at_most: Duration) -> Duration {
    first.saturating_mul(1 << times.saturating_sub(1).min(16)).min(at_most)
}
