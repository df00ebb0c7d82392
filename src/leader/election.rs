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
    #[must_use]
    pub fn new(identity: String, lease: Duration) -> Self {
        Self { identity, lease, seen: None }
    }

    /// The identity that it writes into the Lease.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Decides what to do about the Lease as it was read. `at`: local time after the read. `now`: the time to write,
    /// which no candidate compares with its clock.
    pub fn step(&mut self, found: Option<&LeaseSpec>, at: Duration, now: Timestamp) -> Step {
        let Some(spec) = found else { return self.absent(at, now) };
        if self.seen.as_ref().is_none_or(|seen| seen.spec != *spec) {
            self.seen = Some(ObservedLease { spec: spec.clone(), at });
        }
        let holder = holder(spec).unwrap_or_default();
        if holder == self.identity {
            return Step::Write(LeaseSpec { renew_time: Some(MicroTime(now)), ..self.mine(spec.clone()) });
        }
        match self.left(at) {
            Some(left) => Step::Wait { holder: holder.to_owned(), left },
            None => Step::Write(self.taken(spec, now)),
        }
    }

    /// The Lease was deleted. Its holder leads until its deadline, so wait for it as if the Lease still existed.
    fn absent(&self, at: Duration, now: Timestamp) -> Step {
        let others = self.seen.as_ref().and_then(|seen| holder(&seen.spec)).filter(|holder| *holder != self.identity);
        if let (Some(holder), Some(left)) = (others, self.left(at)) {
            return Step::Wait { holder: holder.to_owned(), left };
        }
        let before = self.seen.as_ref().map_or(0, |seen| transitions(&seen.spec));
        let transitions = if others.is_some() { before.saturating_add(1) } else { before };
        let spec = LeaseSpec { lease_transitions: Some(transitions), ..LeaseSpec::default() };
        Step::Write(self.begun(spec, now))
    }

    /// How long another's record has to stay unchanged from now on; `None`: it has expired, or nobody holds it.
    fn left(&self, at: Duration) -> Option<Duration> {
        let seen = self.seen.as_ref()?;
        holder(&seen.spec)?;
        let left = promised(&seen.spec, self.lease).saturating_sub(at.saturating_sub(seen.at));
        (!left.is_zero()).then_some(left)
    }

    /// The record after taking over from another holder, or from none.
    fn taken(&self, before: &LeaseSpec, now: Timestamp) -> LeaseSpec {
        let transitions = transitions(before).saturating_add(1);
        self.begun(LeaseSpec { lease_transitions: Some(transitions), ..before.clone() }, now)
    }

    fn begun(&self, spec: LeaseSpec, now: Timestamp) -> LeaseSpec {
        let now = Some(MicroTime(now));
        LeaseSpec { acquire_time: now.clone(), renew_time: now, ..self.mine(spec) }
    }

    fn mine(&self, spec: LeaseSpec) -> LeaseSpec {
        let seconds = i32::try_from(self.lease.as_secs()).unwrap_or(i32::MAX).max(1);
        LeaseSpec { holder_identity: Some(self.identity.clone()), lease_duration_seconds: Some(seconds), ..spec }
    }
}

/// The record of a holder that releases the Lease: any candidate may take it at once.
#[must_use]
pub fn given_up(held: &LeaseSpec, now: Timestamp) -> LeaseSpec {
    LeaseSpec {
        holder_identity: None,
        lease_duration_seconds: Some(1),
        renew_time: Some(MicroTime(now)),
        ..held.clone()
    }
}

/// The holder; `None` if the Lease is released.
#[must_use]
pub fn holder(spec: &LeaseSpec) -> Option<&str> {
    spec.holder_identity.as_deref().filter(|holder| !holder.is_empty())
}

/// How long a holder may act without a renewal according to its record; `otherwise` if the record has no duration.
#[must_use]
pub fn promised(spec: &LeaseSpec, otherwise: Duration) -> Duration {
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    seconds.filter(|seconds| *seconds > 0).map_or(otherwise, Duration::from_secs)
}

fn transitions(spec: &LeaseSpec) -> i32 {
    spec.lease_transitions.unwrap_or_default()
}

#[cfg(test)]
#[path = "election_tests.rs"]
mod tests;
