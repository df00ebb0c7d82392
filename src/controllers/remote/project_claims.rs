//! The claims of projects on a remote, and the settings of its client. All projects of a remote have the same
//! credentials; the lowest of their rates applies.

use std::sync::Arc;

use jiff::Timestamp;

use super::settings::{Connection, Settings};
use super::state::{Remote, RemoteState};
use crate::controllers::object_ref::ObjectRef;

impl Remote {
    /// Adds or updates the claim of a project. New credentials, which are possible only if no other project claims the
    /// remote, need a client `made` with them; returns false, and changes nothing, if it is missing.
    pub(super) fn join(&self, project: &ObjectRef, settings: &Settings, made: Option<Arc<dyn Connection>>) -> bool {
        let now = self.clock.now();
        self.change(|state| {
            if state.claims.get(project) != Some(settings) {
                if !state.uses(settings) {
                    let Some(client) = made else { return false };
                    state.reconnect(settings, client, now);
                }
                state.claims.insert(project.clone(), settings.clone());
                state.apply_lowest_rate();
            }
            true
        })
    }

    /// Removes the claim of a project; returns whether it was the last one. Every object that may have come through the
    /// project is enqueued: those of its namespace, or all if resources of any namespace may name it. One that came through
    /// another project comes again.
    pub(super) fn part(&self, project: &ObjectRef) -> bool {
        self.dismiss(|object_ref| project.kind.is_cluster_scoped() || object_ref.namespace == project.namespace);
        self.change(|state| {
            state.claims.remove(project);
            state.apply_lowest_rate();
            state.claims.is_empty()
        })
    }

    /// Whether its client was made with these settings, apart from the rate.
    pub(super) fn is_reached_by(&self, settings: &Settings) -> bool {
        self.change(|state| state.uses(settings))
    }

    /// Whether no other project claims it, and these settings lead to the same remote project.
    pub(super) fn is_claimed_by(&self, project: &ObjectRef, settings: &Settings) -> bool {
        self.change(|state| {
            state.claims.keys().all(|other| other == project) && state.settings.identity() == settings.identity()
        })
    }

    /// Closes the remote: nothing is polled any more, so waiting objects have to use another one.
    pub(super) fn close(&self) {
        self.change(|state| state.closed = true);
        self.dismiss(|_| true);
    }
}

impl RemoteState {
    /// Enqueues an object that asks a closed remote, because it has to use another one; returns whether it is closed.
    pub(super) fn enqueue_if_closed(&mut self, object_ref: &ObjectRef) -> bool {
        if self.closed {
            self.enqueue.push(object_ref.clone());
        }
        self.closed
    }

    /// Whether the client was made with these settings, apart from the rate.
    fn uses(&self, settings: &Settings) -> bool {
        settings.with_rate(self.settings.requests_per_second) == self.settings
    }

    /// Replaces the client, because something other than the rate differs.
    fn reconnect(&mut self, settings: &Settings, client: Arc<dyn Connection>, now: Timestamp) {
        self.client = client;
        self.settings = settings.clone();
        self.concurrency_limiter.set_rate(settings.requests_per_second);
        self.circuit_breaker.renew();
        self.registry_cache.distrust(now);
        // The poller tries the new credentials at once, and until then they prove nothing.
        self.counted = None;
    }

    fn apply_lowest_rate(&mut self) {
        let lowest = self.claims.values().map(|claim| claim.requests_per_second).min();
        if let Some(rate) = lowest.filter(|rate| *rate != self.settings.requests_per_second) {
            self.client.set_rate(rate);
            self.concurrency_limiter.set_rate(rate);
            self.settings.requests_per_second = rate;
        }
    }
}
