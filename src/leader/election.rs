//! Whether to write the Lease: from the record that was seen, when it was seen to change on the local clock, and who we
//! are. Pure.
//!
//! What another wrote as a time is never compared with a clock of ours: another's lease is over when its record was seen
//! unchanged for as long as it says (`leaseDurationSeconds`), as client-go does it. Next: `elector.rs` for the calls.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

/// One who wants to lead.
#[derive(Clone, Debug)]
pub struct Candidate {
    identity: String,
    /// What it promises when it writes.
    lease: Duration,
    seen: Option<Seen>,
}

/// A record as it was seen last.
#[derive(Clone, Debug)]
struct Seen {
    spec: LeaseSpec,
    /// When it was seen first as it is now, on the local clock.
    at: Duration,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// There is no Lease: make it.
    Create(LeaseSpec),
    /// It is ours, or free: write this on the version that was read.
    Write(LeaseSpec),
    /// Another holds it.
    Wait {
        /// Who.
        holder: String,
        /// How long it has to stay unchanged from now on to be over.
        left: Duration,
    },
}

impl Candidate {
    /// One that has seen nothing yet. `identity` is of this process alone, and not empty.
    #[must_use]
    pub fn new(identity: String, lease: Duration) -> Self {
        Self { identity, lease, seen: None }
    }

    /// Who it is.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// What to do about the Lease as it was found. `at`: local time after it was read. `now`: for people.
    pub fn step(&mut self, found: Option<&LeaseSpec>, at: Duration, now: Timestamp) -> Step {
        let Some(spec) = found else { return self.absent(at, now) };
        if self.seen.as_ref().is_none_or(|seen| seen.spec != *spec) {
            self.seen = Some(Seen { spec: spec.clone(), at });
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

    /// Somebody deleted it. Its holder goes on until its deadline, so it is waited for as if the Lease were there.
    fn absent(&self, at: Duration, now: Timestamp) -> Step {
        let others = self.seen.as_ref().and_then(|seen| holder(&seen.spec)).filter(|holder| *holder != self.identity);
        if let (Some(holder), Some(left)) = (others, self.left(at)) {
            return Step::Wait { holder: holder.to_owned(), left };
        }
        let before = self.seen.as_ref().map_or(0, |seen| transitions(&seen.spec));
        let transitions = if others.is_some() { before.saturating_add(1) } else { before };
        let spec = LeaseSpec { lease_transitions: Some(transitions), ..LeaseSpec::default() };
        Step::Create(self.begun(spec, now))
    }

    /// How long another's record has to stay unchanged from now on; `None`: nobody holds it any more.
    fn left(&self, at: Duration) -> Option<Duration> {
        let seen = self.seen.as_ref()?;
        holder(&seen.spec)?;
        let left = promised(&seen.spec, self.lease).saturating_sub(at.saturating_sub(seen.at));
        (!left.is_zero()).then_some(left)
    }

    /// The record of one who takes over from somebody else, or from nobody.
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

/// The record of one who gives it up: anybody may take it at once.
#[must_use]
pub fn given_up(held: &LeaseSpec, now: Timestamp) -> LeaseSpec {
    LeaseSpec {
        holder_identity: None,
        lease_duration_seconds: Some(1),
        renew_time: Some(MicroTime(now)),
        ..held.clone()
    }
}

/// Who holds it.
#[must_use]
pub fn holder(spec: &LeaseSpec) -> Option<&str> {
    spec.holder_identity.as_deref().filter(|holder| !holder.is_empty())
}

/// How long a record promises that its holder does nothing without a renewal; `otherwise` if it does not say.
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
