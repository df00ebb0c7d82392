//! The rights of a remote's token, as the token response names its scopes, and the objects that wait for a token with
//! more rights. Pure.

use std::collections::BTreeSet;

use connect_api::scopes::{self, Right};

use crate::controllers::object_ref::ObjectRef;

/// The scopes of the newest token, and who depends on them.
#[derive(Debug, Default)]
pub(super) struct Permissions {
    granted: Option<Vec<String>>,
    /// Objects that lack a right; they are enqueued when a token names other scopes.
    denied: BTreeSet<ObjectRef>,
}

impl Permissions {
    /// Records the scopes of the newest token; returns the objects to enqueue.
    pub(super) fn note(&mut self, granted: Option<Vec<String>>) -> BTreeSet<ObjectRef> {
        if self.granted == granted {
            return BTreeSet::new();
        }
        self.granted = granted;
        std::mem::take(&mut self.denied)
    }

    /// Returns which of `rights` the token lacks in a project; an object that lacks one waits from now on.
    pub(super) fn lacking(&mut self, object_ref: &ObjectRef, rights: &[Right], project: &str) -> Vec<Right> {
        let missing = scopes::missing(rights, self.granted.as_deref().unwrap_or_default(), project);
        if missing.is_empty() {
            self.denied.remove(object_ref);
        } else {
            self.denied.insert(object_ref.clone());
        }
        missing
    }

    /// Returns the objects that wait.
    pub(super) fn object_refs(&self) -> impl Iterator<Item = &ObjectRef> {
        self.denied.iter()
    }

    pub(super) fn forget(&mut self, object_ref: &ObjectRef) {
        self.denied.remove(object_ref);
    }

    /// Removes all chosen objects and returns them.
    pub(super) fn dismiss(&mut self, chosen: impl Fn(&ObjectRef) -> bool) -> Vec<ObjectRef> {
        self.denied.extract_if(.., |object_ref| chosen(object_ref)).collect()
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
    async fn an_object_that_lacks_a_right_is_enqueued_by_a_token_with_other_scopes() {
        let mut bench = Bench::new(0, 1);
        let rights = &[Right::ManageDeployments, Right::GenerateApiClients];
        assert_eq!(bench.remote.lacking(&object_ref(0), rights), [], "the token names no scopes");

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
    async fn a_forgotten_object_does_not_wait_and_a_dismissed_one_is_enqueued() {
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
