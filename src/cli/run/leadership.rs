//! Whether this process leads: through an election, or because leader election is off. Decides nothing.

use clock::Clock;
use connect_api::Fence;
use kube::Client;
use uuid::Uuid;

use crate::leader::scope::Labels;
use crate::leader::{Election, LeaseName, Lost, Timing};

/// The leadership of this process, with an election if leader election is on.
pub(super) struct Leadership {
    election: Option<Election>,
}

impl Leadership {
    /// Starts to campaign for the Lease of `install`; without an `install` this process leads from the start.
    pub(super) fn seek(
        client: &Client,
        install: Option<&LeaseName>,
        labels: &Labels,
        clock: &Clock,
        fence: &Fence,
    ) -> Self {
        let start =
            |lease| Election::start(client.clone(), lease, labels.clone(), identity(), Timing::default(), clock, fence);
        Self { election: install.map(start) }
    }

    /// Returns once this process leads.
    ///
    /// # Errors
    /// If the leadership was lost at once.
    pub(super) async fn won(&mut self) -> Result<(), Lost> {
        match &mut self.election {
            Some(election) => election.won().await,
            None => Ok(()),
        }
    }

    /// Returns when this process stops leading, with the reason; without an election never.
    pub(super) async fn lost(&mut self) -> Lost {
        match &mut self.election {
            Some(election) => election.lost().await,
            None => std::future::pending().await,
        }
    }

    /// Releases the Lease, so that another process can lead at once. Call it only once nothing is sent any more.
    pub(super) async fn give_up(self) {
        if let Some(election) = self.election {
            election.give_up().await;
        }
    }
}

/// Returns an identity that is unique to this process and begins with the host name.
fn identity() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{host}_{}", Uuid::new_v4())
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_invalid_selector_is_rejected_at_the_start() {
        for (selector, expected) in [("team in (tax", "a closing parenthesis"), ("team=tax,", "a label is missing")] {
            let wrong = crate::cli::command().try_get_matches_from(["connect-operator", "run", "--selector", selector]);
            let error = wrong.expect_err(selector).to_string();
            assert!(
                error.contains("--selector") && error.contains(expected) && error.contains("team=tax,tier!=test"),
                "{error}"
            );
        }
    }
}
