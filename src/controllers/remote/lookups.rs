//! What is looked up in the HTTP API of the project for deployments, and what was observed. Pure.
//!
//! A verified deployment is looked up again at its interval, any other one sooner: scripts may take their time. A read
//! that fails keeps the earlier observation. Next: [`super::verifier`] for the task that reads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use clock::{between, later};
use connect_api::CommerceApi;
use connect_api::commerce::ResourceName;
use connect_api::model::Destination;
use jiff::Timestamp;

use super::jitter::Jitter;
use crate::controllers::object_ref::ObjectRef;

/// Pause before the second lookup of what is not verified; the pause grows with the age of the operation.
const FIRST_PAUSE: Duration = Duration::from_secs(10);

/// What to look up, and with which client.
#[derive(Clone)]
pub struct Lookup {
    /// The client. Observations of another client do not count.
    pub client: Arc<dyn CommerceApi>,
    /// The resources.
    pub resources: Vec<ResourceName>,
}

impl PartialEq for Lookup {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.client, &other.client) && self.resources == other.resources
    }
}

/// The observation of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It exists and has this destination.
    There(Destination),
    /// It does not exist.
    Absent,
    /// The API client may not read it.
    Forbidden,
    /// The service rejected the credentials, with the message for users.
    CredentialsRefused(String),
    /// There was no usable answer, with the message for users.
    Unreadable(String),
}

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupResult {
    /// When its first request left (never later).
    pub at: Timestamp,
    /// One observation for each resource, in their order.
    pub found: Vec<Found>,
}

/// How often to look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cadence {
    /// Pause between two lookups once everything is verified.
    pub interval: Duration,
    /// Since when the resources are expected to be as declared; `None`: they are.
    pub unverified_since: Option<Timestamp>,
}

impl Cadence {
    fn pause(self, now: Timestamp) -> Duration {
        match self.unverified_since {
            Some(since) => between(since, now).max(FIRST_PAUSE).min(self.interval),
            None => self.interval,
        }
    }
}

struct Entry {
    lookup: Lookup,
    cadence: Cadence,
    /// A reconcile waits for a lookup that is not older than this.
    wanted: Option<Timestamp>,
    seen: Option<LookupResult>,
    /// Lookups in a row in which something could not be read.
    failures: u32,
    due: Timestamp,
}

/// The lookups of one remote.
#[derive(Default)]
pub(super) struct Lookups(BTreeMap<ObjectRef, Entry>);

impl Lookups {
    /// Takes the result of a lookup that began at `newer_than` or later; if there is none, a lookup is pending.
    pub(super) fn take(
        &mut self,
        object_ref: &ObjectRef,
        lookup: &Lookup,
        newer_than: Timestamp,
        interval: Duration,
        now: Timestamp,
    ) -> Option<LookupResult> {
        let cadence = Cadence { interval, unverified_since: Some(newer_than) };
        let new = || Entry { lookup: lookup.clone(), cadence, wanted: None, seen: None, failures: 0, due: now };
        let entry = self.0.entry(object_ref.clone()).or_insert_with(new);
        if entry.lookup != *lookup {
            *entry = new();
        }
        if let Some(seen) = entry.seen.as_ref().filter(|seen| seen.at >= newer_than) {
            entry.wanted = None;
            return Some(seen.clone());
        }
        entry.wanted = Some(newer_than);
        // After a failure the backoff stays, however often reconciles ask.
        if entry.failures == 0 {
            entry.due = entry.due.min(now.max(newer_than));
        }
        None
    }

    /// Sets how often to look up from now on.
    pub(super) fn set_cadence(
        &mut self,
        object_ref: &ObjectRef,
        cadence: Cadence,
        now: Timestamp,
        jitter: &mut Jitter,
    ) {
        let Some(entry) = self.0.get_mut(object_ref) else { return };
        if std::mem::replace(&mut entry.cadence, cadence) != cadence && entry.failures == 0 && entry.wanted.is_none() {
            entry.due = later(now, jitter.stretch(cadence.pause(now)));
        }
    }

    /// Returns what to look up now.
    pub(super) fn due(&self, now: Timestamp) -> Vec<(ObjectRef, Lookup)> {
        let due = self.0.iter().filter(|(_, entry)| entry.due <= now);
        due.map(|(object_ref, entry)| (object_ref.clone(), entry.lookup.clone())).collect()
    }

    /// Returns when the first lookup is due.
    pub(super) fn next(&self) -> Timestamp {
        self.0.values().map(|entry| entry.due).min().unwrap_or(Timestamp::MAX)
    }

    /// Records a lookup that began at `at`; returns whether the object is to be enqueued.
    pub(super) fn observe(
        &mut self,
        object_ref: &ObjectRef,
        lookup: &Lookup,
        at: Timestamp,
        mut found: Vec<Found>,
        now: Timestamp,
        jitter: &mut Jitter,
    ) -> bool {
        let Some(entry) = self.0.get_mut(object_ref).filter(|entry| entry.lookup == *lookup) else { return false };
        let failed = found.iter().any(|found| matches!(found, Found::Unreadable(_)));
        if entry.wanted.is_some_and(|wanted| at < wanted) {
            entry.due = now;
            return false;
        }
        if let Some(before) = entry.seen.as_ref().filter(|_| entry.wanted.is_none()) {
            for (now, before) in found.iter_mut().zip(&before.found) {
                if matches!(now, Found::Unreadable(_)) {
                    now.clone_from(before);
                }
            }
        }
        entry.failures = if failed { entry.failures.saturating_add(1) } else { 0 };
        let pause = entry.cadence.pause(now);
        let pause = if failed { jitter.growing(entry.failures).min(pause) } else { jitter.stretch(pause) };
        entry.due = later(now, pause);
        let changed = entry.seen.as_ref().is_none_or(|before| before.found != found);
        entry.seen = Some(LookupResult { at, found });
        entry.wanted.take().is_some() || changed
    }

    /// Returns all objects with a lookup.
    pub(super) fn object_refs(&self) -> impl Iterator<Item = &ObjectRef> {
        self.0.keys()
    }

    pub(super) fn forget(&mut self, object_ref: &ObjectRef) {
        self.0.remove(object_ref);
    }

    /// Removes all chosen objects and returns them.
    pub(super) fn dismiss(&mut self, chosen: impl Fn(&ObjectRef) -> bool) -> Vec<ObjectRef> {
        self.0.extract_if(.., |object_ref, _| chosen(object_ref)).map(|(object_ref, _)| object_ref).collect()
    }
}

#[cfg(test)]
#[path = "lookups_tests.rs"]
mod tests;
