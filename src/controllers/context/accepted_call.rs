//! A call that was accepted, until the status has it: a write may fail, and for creates and redeploys, calls that wait and many
//! writes in progress come first. Often the remote has finished by then, so that one status is enough.
//!
//! Losing it is like losing the response: the operation is stored, and what the remote shows decides (rule 6). An orderly stop
//! writes it.

use std::hash::{DefaultHasher, Hasher as _};
use std::time::Duration;

use clock::between;
use jiff::Timestamp;
use serde::Serialize;

use crate::controllers::kinds::remote_object::RemoteObject;
use crate::controllers::queue::backoff::Asked;
use crate::controllers::reporting::conditions::ConditionUpdate;

/// Time until a status reports what this process knows and writes later because other changes come first: the response to a
/// call, or that a change was found.
const REPORTED_AFTER: Duration = Duration::from_secs(5);

/// Maximum of that time while many writes are in progress.
const LONGEST_UNREPORTED: Duration = Duration::from_secs(15);

/// How long it waits for the watch to show the write before it; then the object is read.
pub const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// What the response to a call came to.
#[derive(Clone, Debug)]
pub struct AcceptedCall {
    /// Hash of the operation that was stored when the call was sent.
    sent: u64,
    /// JSON of the status to write: a thousand may wait.
    status: Box<[u8]>,
    /// The Ready condition of that status.
    pub condition: ConditionUpdate,
    /// What the resource asked for when the call was sent.
    pub asked: Asked,
    /// When the response arrived.
    pub at: Timestamp,
    /// When to go on after the write.
    pub again: Duration,
    /// Other changes or writes came first, so that it waits until the remote is observed.
    pub waits: bool,
}

impl AcceptedCall {
    /// Packs the response to a call whose operation is `sent`. `waits`: other changes come first.
    ///
    /// # Errors
    /// If the status cannot be serialized, which is a bug.
    pub(in crate::controllers) fn new<K: RemoteObject>(
        (sent, status): (&K::Operation, &K::Status),
        condition: ConditionUpdate,
        asked: Asked,
        at: Timestamp,
        again: Duration,
        waits: bool,
    ) -> Result<Self, serde_json::Error> {
        Ok(Self { sent: hash(sent)?, status: serde_json::to_vec(status)?.into(), condition, asked, at, again, waits })
    }

    /// How long its status waits. `is_busy`: many writes are in progress.
    pub(in crate::controllers) fn left(&self, now: Timestamp, is_busy: bool) -> Duration {
        if self.waits { self.left_at_most(now, is_busy) } else { Duration::ZERO }
    }

    /// How long its status may wait, whatever comes first.
    pub(in crate::controllers) fn left_at_most(&self, now: Timestamp, is_busy: bool) -> Duration {
        unreported_for(self.at, now, is_busy)
    }

    /// How long it can wait for the watch. `None`: no longer.
    pub(in crate::controllers) fn left_for_watch(&self, now: Timestamp) -> Option<Duration> {
        Some(LONGEST_WAIT.saturating_sub(between(self.at, now))).filter(|left| !left.is_zero())
    }

    /// The status to write.
    pub(in crate::controllers) fn status<K: RemoteObject>(&self) -> Option<K::Status> {
        serde_json::from_slice(&self.status).ok()
    }

    /// Whether this is the operation whose call was accepted.
    pub(in crate::controllers) fn is_of(&self, operation: &impl Serialize) -> bool {
        hash(operation).is_ok_and(|hash| hash == self.sent)
    }
}

/// Returns how long a status may wait that reports what is known since then. `is_busy`: many writes are in progress.
pub(in crate::controllers) fn unreported_for(since: Timestamp, now: Timestamp, is_busy: bool) -> Duration {
    let age = between(since, now);
    // It is looked at again each time, as the writes may have ended.
    match REPORTED_AFTER.saturating_sub(age) {
        Duration::ZERO if is_busy => LONGEST_UNREPORTED.saturating_sub(age).min(REPORTED_AFTER),
        left => left,
    }
}

fn hash(operation: &impl Serialize) -> Result<u64, serde_json::Error> {
    let mut hasher = DefaultHasher::new();
    hasher.write(&serde_json::to_vec(operation)?);
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use clock::later;

    use super::*;

    #[test]
    fn a_status_waits_for_5_seconds_and_longer_only_while_many_writes_are_in_progress() {
        let since = Timestamp::UNIX_EPOCH;
        for (age, calm, busy) in
            [(0, 5, 5), (4, 1, 1), (5, 0, 5), (8, 0, 5), (10, 0, 5), (13, 0, 2), (15, 0, 0), (60, 0, 0)]
        {
            let now = later(since, Duration::from_secs(age));
            let left = [false, true].map(|is_busy| unreported_for(since, now, is_busy).as_secs());
            assert_eq!(left, [calm, busy], "after {age} s");
        }
    }
}
