//! The rights of a remote's token, for the reconciles that need them. See `permissions.rs` for who waits for more.

use connect_api::scopes::Right;

use super::Remote;
use super::state::RemoteState;
use crate::controllers::object_ref::ObjectRef;

impl RemoteState {
    /// Records the scopes of the token in use: an answered call may have fetched another token.
    pub(super) fn note_token(&mut self) {
        let enqueued = self.permissions.note(self.client.granted());
        self.enqueue.extend(enqueued);
    }
}

impl Remote {
    /// Returns which of `rights` the newest token lacks, in the order of `rights`; nothing if the token response did
    /// not name its scopes. `object_ref` is enqueued when a token names other scopes.
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
