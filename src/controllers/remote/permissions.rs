//! What the token of a remote may do, as the answer that brought it named its scopes, and who waits for one that may do
//! more. Pure but for the lock of the remote.

use std::collections::BTreeSet;

use connect_api::scopes::{self, Right};

use super::Remote;
use super::state::State;
use crate::controllers::subject::Subject;

/// What was known of the token last.
#[derive(Debug, Default)]
pub(super) struct Permissions {
    granted: Option<Vec<String>>,
    /// Who lacks a right, and is woken when a token names other scopes.
    denied: BTreeSet<Subject>,
}

impl Permissions {
    /// Takes note of the scopes of the newest token; returns those to wake.
    fn note(&mut self, granted: Option<Vec<String>>) -> BTreeSet<Subject> {
        if self.granted == granted {
            return BTreeSet::new();
        }
        self.granted = granted;
        std::mem::take(&mut self.denied)
    }

    /// Which of `rights` the token lacks in a project; whoever lacks one waits from now on.
    fn lacking(&mut self, subject: &Subject, rights: &[Right], project: &str) -> Vec<Right> {
        let missing = scopes::missing(rights, self.granted.as_deref().unwrap_or_default(), project);
        if missing.is_empty() {
            self.denied.remove(subject);
        } else {
            self.denied.insert(subject.clone());
        }
        missing
    }

    /// Who waits.
    pub(super) fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.denied.iter()
    }

    pub(super) fn forget(&mut self, subject: &Subject) {
        self.denied.remove(subject);
    }

    /// Forgets all that are chosen, and returns them.
    pub(super) fn dismiss(&mut self, chosen: impl Fn(&Subject) -> bool) -> Vec<Subject> {
        self.denied.extract_if(.., |subject| chosen(subject)).collect()
    }
}

impl State {
    /// A call was answered: its token may be another one than before.
    pub(super) fn note_token(&mut self) {
        let woken = self.permissions.note(self.client.granted());
        self.wake.extend(woken);
    }
}

impl Remote {
    /// Which of `rights` the newest token lacks, in the order of `rights`; nothing if the answer that brought it did not say.
    /// `subject` is woken when a token names other scopes.
    #[must_use]
    pub fn lacking(&self, subject: &Subject, rights: &[Right]) -> Vec<Right> {
        self.change(|state| {
            state.note_token();
            state.permissions.lacking(subject, rights, &state.settings.project_key)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::testing::{Bench, subject};
    use super::*;

    fn scopes(scopes: &str) -> Vec<String> {
        scopes.split_whitespace().map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn whoever_lacks_a_right_is_woken_by_a_token_with_other_scopes() {
        let mut bench = Bench::new(0, 1);
        let rights = &[Right::ManageDeployments, Right::GenerateApiClients];
        assert_eq!(bench.remote.lacking(&subject(0), rights), [], "nothing is said of the token");

        bench.service.world().granted = Some(scopes("manage_project:demo"));
        assert_eq!(bench.remote.lacking(&subject(0), rights), [Right::GenerateApiClients]);
        assert_eq!(bench.remote.lacking(&subject(1), &[Right::ManageDeployments]), []);
        bench.pass(Duration::from_mins(30)).await;
        assert!(!bench.woken().contains(&subject(0)), "its scopes are the same");

        bench.service.world().granted = Some(scopes("manage_project:demo manage_api_clients:demo"));
        bench.pass(Duration::from_mins(30)).await;
        let woken = bench.woken();
        assert!(woken.contains(&subject(0)) && !woken.contains(&subject(1)), "{woken:?}");
        assert_eq!(bench.remote.lacking(&subject(0), rights), []);
        assert_eq!(bench.remote.subjects(), []);
    }

    #[tokio::test]
    async fn whoever_is_gone_waits_no_more_and_whoever_is_dismissed_is_woken() {
        let mut bench = Bench::new(0, 1);
        bench.service.world().granted = Some(scopes("view_connectors:demo"));
        for number in 0..3 {
            assert!(!bench.remote.lacking(&subject(number), &[Right::ManageDeployments]).is_empty());
        }
        bench.remote.forget(&subject(0));
        assert_eq!(bench.remote.subjects(), [subject(1), subject(2)]);
        bench.remote.dismiss(|chosen| *chosen == subject(1));
        assert_eq!(bench.remote.subjects(), [subject(2)]);
        assert!(bench.woken().contains(&subject(1)));
    }
}
