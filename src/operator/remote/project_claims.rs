//! The claims of projects on a remote. All projects of a remote have the same credentials; the lowest of their rates
//! applies.

use connect_api::Rate;

use super::settings::Settings;
use super::state::{Remote, RemoteState};
use crate::operator::object_ref::ObjectRef;

impl Remote {
    /// Adds the claim of a project, or updates its rate.
    pub(super) fn join(&self, project: &ObjectRef, rate: Rate) {
        self.change(|state| state.claims.insert(project.clone(), rate));
        self.apply_lowest_rate();
    }

    /// Removes the claim of a project; returns whether it was the last one. Every object that may have come through the
    /// project is enqueued: those of its namespace, or all if resources of any namespace may name it. One that came through
    /// another project comes again.
    pub(super) fn part(&self, project: &ObjectRef) -> bool {
        self.dismiss(|object_ref| project.kind.is_cluster_scoped() || object_ref.namespace == project.namespace);
        self.change(|state| state.claims.remove(project));
        self.apply_lowest_rate();
        self.look(|state| state.claims.is_empty())
    }

    /// Whether its client was made with these settings, apart from the rate.
    pub(super) fn is_reached_by(&self, settings: &Settings) -> bool {
        let own = self.settings();
        settings.with_rate(own.requests_per_second) == own
    }

    pub(super) fn is_claimed_by(&self, project: &ObjectRef) -> bool {
        self.look(|state| state.claims.contains_key(project))
    }

    /// Closes the remote: nothing is polled any more, so waiting objects have to use another one.
    pub(super) fn close(&self) {
        self.change(|state| state.closed = true);
        self.dismiss(|_| true);
    }

    fn apply_lowest_rate(&self) {
        self.look(|state| {
            let lowest = state.claims.values().min().copied();
            if let Some(rate) = lowest.filter(|rate| *rate != state.settings.requests_per_second) {
                self.client.set_rate(rate);
                state.concurrency_limiter.set_rate(rate);
                state.settings.requests_per_second = rate;
            }
        });
    }
}

impl RemoteState {
    /// Enqueues an object that asks a closed remote, because it has to use another one.
    pub(super) fn enqueue_if_closed(&mut self, object_ref: &ObjectRef) {
        if self.closed {
            self.enqueue.push(object_ref.clone());
        }
    }
}
