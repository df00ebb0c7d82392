//! What the token of a remote may do, as the answer that brought it named its scopes, and who waits for one that may do
//! more. Pure but for the lock of the remote.

use std::collections::BTreeSet;

use connect_api::scopes::{self, Right};

use super::Remote;
use super::state::State;
use crate::controllers::object_ref::ObjectRef;

/// What was known of the token last.
#[derive(Debug, Default)]
pub(super) struct Permissions {
    granted: Option<Vec<String>>,
    /// Who lacks a right, and is woken when a token names other scopes.
    denied: BTreeSet<ObjectRef>,
}

impl Permissions {
    /// Takes note of the scopes of the newest token; returns those to wake.
    fn note(&mut self, granted: Option<Vec<String>>) -> BTreeSet<ObjectRef> {
        if self.granted == granted {
            return BTreeSet::new();
        }
        self.granted = granted;
        std::mem::take(&mut self.denied)
    }

    /// Which of `rights` the token lacks in a project; whoever lacks one waits from now on.
    fn lacking(&mut self, object_ref: &ObjectRef, rights: &[Right], project: &str) -> Vec<Right> {
        let missing = scopes::missing(rights, self.granted.as_deref().unwrap_or_default(), project);
        if missing.is_empty() {
            self.denied.remove(object_ref);
        } else {
            self.denied.insert(object_ref.clone());
        }
        missing
    }

    /// Who waits.
    pub(super) fn object_refs(&self) -> impl Iterator<Item = &ObjectRef> {
        self.denied.iter()
    }

    pub(super) fn forget(&mut self, object_ref: &ObjectRef) {
        self.denied.remove(object_ref);
    }

    /// Forgets all that are chosen, and returns them.
    pub(super) fn dismiss(&mut self, chosen: impl Fn(&ObjectRef) -> bool) -> Vec<ObjectRef> {
        self.denied.extract_if(.., |object_ref| chosen(object_ref)).collect()
    }
}

impl State {
    /// A call was answered: its token may be another one than before.
    pub(super) fn note_token(&mut self) {
        let enqueued = self.permissions.note(self.client.granted());
        self.enqueue.extend(enqueued);
    }
}

impl Remote {
    /// Which of `rights` the newest token lacks, in the order of `rights`; nothing if the answer that brought it did not say.
    /// `object_ref` is woken when a token names other scopes.
    #[must_use]
    pub fn lacking(&self, object_ref: &ObjectRef, rights: &[Right]) -> Vec<Right> {
        self.change(|state| {
            state.note_token();
            state.permissions.lacking(object_ref, rights, &state.settings.project_key)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::testing::{Bench, object_ref};
    use super::*;

    fn scopes(scopes: &str) -> Vec<String> {
        scopes.split_whitespace().map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn whoever_lacks_a_right_is_woken_by_a_token_with_other_scopes() {
        let mut bench = Bench::new(0, 1);
        let rights = &[Right::ManageDeployments, Right::GenerateApiClients];
        assert_eq!(bench.remote.lacking(&object_ref(0), rights), [], "nothing is said of the token");

        bench.service.world().granted = Some(scopes("manage_project:demo"));
        assert_eq!(bench.remote.lacking(&object_ref(0), rights), [Right::GenerateApiClients]);
        assert_eq!(bench.remote.lacking(&object_ref(1), &[Right::ManageDeployments]), []);
        bench.pass(Duration::from_mins(30)).await;
        assert!(!bench.enqueued().contains(&object_ref(0)), "its scopes are the same");

        bench.service.world().granted = Some(scopes("manage_project:demo manage_api_clients:demo"));
        bench.pass(Duration::from_mins(30)).await;
        let enqueued = bench.enqueued();
        assert!(enqueued.contains(&object_ref(0)) && !enqueued.contains(&object_ref(1)), "{enqueued:?}");
        assert_eq!(bench.remote.lacking(&object_ref(0), rights), []);
        assert_eq!(bench.remote.object_refs(), []);
    }

    #[tokio::test]
    async fn whoever_is_gone_waits_no_more_and_whoever_is_dismissed_is_woken() {
        let mut bench = Bench::new(0, 1);
        bench.service.world().granted = Some(scopes("view_connectors:demo"));
        for number in 0..3 {
            assert!(!bench.remote.lacking(&object_ref(number), &[Right::ManageDeployments]).is_empty());
        }
        bench.remote.forget(&object_ref(0));
        assert_eq!(bench.remote.object_refs(), [object_ref(1), object_ref(2)]);
        bench.remote.dismiss(|chosen| *chosen == object_ref(1));
        assert_eq!(bench.remote.object_refs(), [object_ref(2)]);
        assert!(bench.enqueued().contains(&object_ref(1)));
    }
}
