//! Who claims a remote, and what its client is made of: the last change of a project counts, and of the rates the
//! lowest.

use std::sync::Arc;

use jiff::Timestamp;

use super::settings::{ConnectFactory, Settings};
use super::state::{Remote, State};
use crate::connect::ConnectApi;
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
            if state.claims.get(project) == Some(settings) {
                return Ok(());
            }
            let others = state.claims.iter().filter(|(claimant, _)| *claimant != project);
            let lowest = others.map(|(_, claim)| claim.requests_per_second).min();
            let rate = settings.requests_per_second.min(lowest.unwrap_or(u32::MAX));
            state.reconnect(&settings.with_rate(rate), factory)?;
            state.claims.insert(project.clone(), settings.clone());
            Ok(())
        })
    }

    /// Gives up the claim of a project; true if it was the last one.
    pub(super) fn part(&self, project: &Subject, factory: &dyn ConnectFactory) -> bool {
        self.dismiss(|subject| subject.namespace == project.namespace);
        self.change(|state| {
            state.claims.remove(project);
            let claims = state.claims.values();
            let Some(rate) = claims.clone().map(|claim| claim.requests_per_second).min() else { return true };
            // What is used now stays, unless nobody claims it any more.
            let used = state.settings.with_rate(rate);
            let claimed = claims.map(|claim| claim.with_rate(rate)).collect::<Vec<_>>();
            let next = claimed.iter().find(|claim| **claim == used).or(claimed.first()).unwrap_or(&used).clone();
            if let Err(message) = state.reconnect(&next, factory) {
                // They were good before, so this is no more than a rate that stays lower than it has to be.
                tracing::warn!(%message, "the client of a remote project was not made anew");
            }
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
    /// Makes the client anew, if something differs.
    fn reconnect(&mut self, settings: &Settings, factory: &dyn ConnectFactory) -> Result<(), String> {
        if *settings == self.settings {
            return Ok(());
        }
        let client: Arc<dyn ConnectApi> = factory.connect(settings)?;
        // A gate that is closed for other reasons than the credentials stays so when only the rate differs.
        let rate_only = *settings == self.settings.with_rate(settings.requests_per_second);
        self.client = client;
        self.settings = settings.clone();
        if !rate_only {
            self.gate.renew();
            // Whether they are good is asked at once.
            if let Some((_, at)) = &mut self.counted {
                *at = Timestamp::MIN;
            }
        }
        Ok(())
    }
}
