//! Whether this process leads: by an election, or because nobody asked for one. Decides nothing.

use clock::Clock;
use connect_api::Fence;
use kube::Client;
use uuid::Uuid;

use crate::leader::{Election, LeaseName, Lost, Scope, State, Timing};

/// An election, if there is one.
pub(super) struct Leadership {
    election: Option<Election>,
    state: State,
}

impl Leadership {
    /// Starts to campaign for the Lease of `install`; without one this process leads from the beginning.
    pub(super) fn seek(
        client: &Client,
        install: Option<&LeaseName>,
        scope: &Scope,
        clock: &Clock,
        fence: &Fence,
    ) -> Self {
        let start = |lease| Election::start(client.clone(), lease, scope, identity(), Timing::default(), clock, fence);
        let election = install.map(start);
        let state = election.as_ref().map_or_else(|| State::alone(clock.clone()), Election::state);
        Self { election, state }
    }

    /// How it stands, for whoever asks.
    pub(super) fn state(&self) -> State {
        self.state.clone()
    }

    /// Returns once this process leads.
    ///
    /// # Errors
    /// When it was lost at once.
    pub(super) async fn won(&mut self) -> Result<(), Lost> {
        match &mut self.election {
            Some(election) => election.won().await,
            None => Ok(()),
        }
    }

    /// Returns when this process does not lead any more.
    pub(super) async fn lost(&mut self) -> Lost {
        match &mut self.election {
            Some(election) => election.lost().await,
            None => std::future::pending().await,
        }
    }

    /// Lets another lead at once. Only when nothing is sent any more.
    pub(super) async fn give_up(self) {
        if let Some(election) = self.election {
            election.give_up().await;
        }
    }
}

/// Of this process alone, and readable for people.
fn identity() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{host}_{}", Uuid::new_v4())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_selector_that_nobody_understands_is_refused_at_the_start() {
        for (selector, said) in [("team in (tax", "a closing parenthesis"), ("team=tax,", "a label is missing")] {
            let wrong = crate::cli::command().try_get_matches_from(["connect-operator", "run", "--selector", selector]);
            let condition = wrong.expect_err(selector).to_string();
            assert!(
                condition.contains("--selector")
                    && condition.contains(said)
                    && condition.contains("team=tax,tier!=test"),
                "{condition}"
            );
        }
    }
}
