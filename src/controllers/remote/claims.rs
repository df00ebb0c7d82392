//! Who claims a remote, and what its client is made of: the last change of a project counts, and of the rates the
//! lowest.

use jiff::Timestamp;

use super::settings::{ConnectFactory, Settings};
use super::state::{Remote, State};
use crate::controllers::subject::Subject;

impl Remote {
    /// Takes up the claim of a project.
    ///
    /// # Errors
    /// The sentence of the factory; nothing has changed then.
    pub(super) fn join(
        &self,
        project: &Subject,
        settings: &Settings,
        factory: &dyn ConnectFactory,
    ) -> Result<(), String> {
        self.change(|state| {
            if state.claims.get(project) != Some(settings) {
                state.reconnect(settings, factory)?;
                state.claims.insert(project.clone(), settings.clone());
                state.apply_lowest_rate();
            }
            Ok(())
        })
    }

    /// Gives up the claim of a project; true if it was the last one.
    pub(super) fn part(&self, project: &Subject, factory: &dyn ConnectFactory) -> bool {
        self.dismiss(|subject| subject.namespace == project.namespace);
        self.change(|state| {
            state.claims.remove(project);
            let Some(other) = state.claims.values().next().cloned() else { return true };
            // What is used now stays, unless nobody claims it any more.
            if !state.claims.values().any(|claim| state.uses(claim))
                && let Err(message) = state.reconnect(&other, factory)
            {
                tracing::warn!(%message, "a remote project goes on with the credentials of a project that left");
            }
            state.apply_lowest_rate();
            false
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

    /// Makes the client anew, if something but the rate differs.
    fn reconnect(&mut self, settings: &Settings, factory: &dyn ConnectFactory) -> Result<(), String> {
        if self.uses(settings) {
            return Ok(());
        }
        self.client = factory.connect(settings)?;
        self.settings = settings.clone();
        self.gate.renew();
        // Whether they are good is asked at once.
        if let Some((_, at)) = &mut self.counted {
            *at = Timestamp::MIN;
        }
        Ok(())
    }

    fn apply_lowest_rate(&mut self) {
        let lowest = self.claims.values().map(|claim| claim.requests_per_second).min();
        if let Some(rate) = lowest.filter(|rate| *rate != self.settings.requests_per_second) {
            self.client.set_rate(rate);
            self.settings.requests_per_second = rate;
        }
    }
}
