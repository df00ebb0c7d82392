//! Who claims a remote, and what its client is made of: all its projects hold the same credentials, and of their rates
//! the lowest counts.

use std::sync::Arc;

use jiff::Timestamp;

use super::settings::{Connection, Settings};
use super::state::{Remote, State};
use crate::controllers::object_ref::ObjectRef;

impl Remote {
    /// Takes up the claim of a project: with the credentials of all others, or with new ones if there are no others, which
    /// needs a client that is made of them. False if there is none; nothing has changed then.
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

    /// Gives up the claim of a project; true if it was the last one.
    pub(super) fn part(&self, project: &ObjectRef) -> bool {
        self.dismiss(|object_ref| object_ref.namespace == project.namespace);
        self.change(|state| {
            state.claims.remove(project);
            state.apply_lowest_rate();
            state.claims.is_empty()
        })
    }

    /// Whether its client was made of these, whatever the rate.
    pub(super) fn is_reached_by(&self, settings: &Settings) -> bool {
        self.change(|state| state.uses(settings))
    }

    /// Whether this project alone claims it, and these settings lead to the same remote project.
    pub(super) fn is_claimed_by(&self, project: &ObjectRef, settings: &Settings) -> bool {
        self.change(|state| {
            state.claims.keys().all(|other| other == project) && state.settings.identity() == settings.identity()
        })
    }

    /// Ends it: nobody looks any more, so whoever waits has to turn elsewhere.
    pub(super) fn close(&self) {
        self.change(|state| state.closed = true);
        self.dismiss(|_| true);
    }
}

impl State {
    /// Whether the client was made of these, whatever the rate.
    fn uses(&self, settings: &Settings) -> bool {
        settings.with_rate(self.settings.requests_per_second) == self.settings
    }

    /// Takes another client, because something but the rate differs.
    fn reconnect(&mut self, settings: &Settings, client: Arc<dyn Connection>, now: Timestamp) {
        self.client = client;
        self.settings = settings.clone();
        self.circuit_breaker.renew();
        self.registry_cache.distrust(now);
        // Whether they are good is asked at once.
        if let Some((_, at)) = &mut self.counted {
            *at = Timestamp::MIN;
        }
    }

    fn apply_lowest_rate(&mut self) {
        let lowest = self.claims.values().map(|claim| claim.requests_per_second).min();
        if let Some(rate) = lowest.filter(|rate| *rate != self.settings.requests_per_second) {
            self.client.set_rate(rate);
            self.settings.requests_per_second = rate;
        }
    }
}
