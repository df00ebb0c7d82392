//! Decides whether to write the Lease: from the record that was read, when it last changed on the local clock, and the
//! identity of this process. Pure.
//!
//! A time written by another candidate is never compared with the local clock: the lease of another holder has expired
//! once its record was observed unchanged for `leaseDurationSeconds`, as in client-go. Next: `elector.rs` for the
//! calls.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

/// A candidate of the election.
#[derive(Clone, Debug)]
pub struct Candidate {
    identity: String,
    /// The lease duration that it writes.
    lease: Duration,
    seen: Option<ObservedLease>,
}

/// The record as of the last read.
#[derive(Clone, Debug)]
struct ObservedLease {
    spec: LeaseSpec,
    /// When this content was first read, on the local clock.
    at: Duration,
}

/// What to do about the Lease.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// This candidate holds it, or it is free or does not exist: write this on the version that was read.
    Write(LeaseSpec),
    /// Another candidate holds it.
    Wait {
        /// Identity of the holder.
        holder: String,
        /// How long the record has to stay unchanged from now on until it has expired.
        left: Duration,
    },
}

impl Candidate {
    /// Returns a candidate that has read nothing yet. `identity` is unique to this process, and not empty.
    pub fn new(identity: String, lease: Duration) -> Self {
        Self { identity, lease, seen: None }
    }

    /// The identity that it writes into the Lease.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Decides what to do about the Lease as it was read; one that was deleted counts as it was before, because its holder
    /// leads until its deadline. `at`: local time after the read. `now`: the time to write, which no candidate compares
    /// with its clock.
    pub fn step(&mut self, found: Option<&LeaseSpec>, at: Duration, now: Timestamp) -> Step {
        if let Some(spec) = found.filter(|spec| self.seen.as_ref().is_none_or(|seen| seen.spec != **spec)) {
            self.seen = Some(ObservedLease { spec: spec.clone(), at });
        }
        let before = self.seen.as_ref().map(|seen| seen.spec.clone());
        let is_mine = before.as_ref().and_then(holder) == Some(&*self.identity);
        if let (false, Some((holder, left))) = (is_mine, self.left(at)) {
            return Step::Wait { holder, left };
        }
        let transitions =
            before.as_ref().map_or(0, |before| before.lease_transitions.unwrap_or_default().saturating_add(1));
        let seconds = i32::try_from(self.lease.as_secs()).unwrap_or(i32::MAX).max(1);
        let now = Some(MicroTime(now));
        let renewed = LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(seconds),
            renew_time: now.clone(),
            ..before.unwrap_or_default()
        };
        let taken = LeaseSpec { acquire_time: now, lease_transitions: Some(transitions), ..renewed.clone() };
        Step::Write(if is_mine { renewed } else { taken })
    }

    /// The holder, and how long its record has to stay unchanged from now on; `None`: it has expired, or nobody holds it.
    fn left(&self, at: Duration) -> Option<(String, Duration)> {
        let seen = self.seen.as_ref()?;
        let holder = holder(&seen.spec)?;
        let left = promised(&seen.spec, self.lease).saturating_sub(at.saturating_sub(seen.at));
        (!left.is_zero()).then(|| (holder.to_owned(), left))
    }
}

/// The record of a holder that releases the Lease: any candidate may take it at once.
pub fn given_up(held: &LeaseSpec, now: Timestamp) -> LeaseSpec {
    LeaseSpec {
        holder_identity: None,
        lease_duration_seconds: Some(1),
        renew_time: Some(MicroTime(now)),
        ..held.clone()
    }
}

/// The holder; `None` if the Lease is released.
pub fn holder(spec: &LeaseSpec) -> Option<&str> {
    spec.holder_identity.as_deref().filter(|holder| !holder.is_empty())
}

/// How long a holder may act without a renewal according to its record; `otherwise` if the record has no duration.
pub fn promised(spec: &LeaseSpec, otherwise: Duration) -> Duration {
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    seconds.filter(|seconds| *seconds > 0).map_or(otherwise, Duration::from_secs)
}

#[cfg(test)]
#[path = "election_tests.rs"]
mod tests;
