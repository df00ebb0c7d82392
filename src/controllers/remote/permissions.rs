//! The rights of a remote's token, as the token response names its scopes, and the objects that wait for a token with
//! more rights. Pure but for the lock of the remote.

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
