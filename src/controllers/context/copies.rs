//! Which copies of credentials this process knows, so that a copy is read and written only when it may differ.

use std::collections::BTreeMap;

use tokio::sync::Notify;

use crate::controllers::object_ref::ObjectRef;
use crate::mutex::Mutex;

/// The copies that this process knows. Losing this costs one read for each project.
#[derive(Debug)]
pub struct Copies {
    namespace: String,
    kept: Mutex<BTreeMap<ObjectRef, Kept>>,
    /// Notified when a project was deleted without its copy.
    left: Notify,
}

/// The known content of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::controllers) struct Kept {
    pub(in crate::controllers) uid: String,
    pub(in crate::controllers) fingerprint: [u8; 32],
}

impl Copies {
    /// Creates an empty record of the copies in this namespace.
    #[must_use]
    pub fn new(namespace: String) -> Self {
        Self { namespace, kept: Mutex::default(), left: Notify::new() }
    }

    /// Returns the namespace of the copies, which is that of the operator.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Waits until a copy may be left over.
    pub(in crate::controllers) async fn left(&self) {
        self.left.notified().await;
    }

    /// Records that a copy may be left over.
    pub(in crate::controllers) fn leave(&self) {
        self.left.notify_one();
    }

    /// Whether the copy is known to be this one.
    pub(in crate::controllers) fn is_kept(&self, object_ref: &ObjectRef, kept: &Kept) -> bool {
        self.kept.lock().get(object_ref) == Some(kept)
    }

    /// Records the copy after it was read or written.
    pub(in crate::controllers) fn note(&self, object_ref: &ObjectRef, kept: Kept) {
        let uid = kept.uid.clone();
        if self.kept.lock().insert(object_ref.clone(), kept).is_some_and(|before| before.uid != uid) {
            self.left.notify_one();
        }
    }

    /// Records that a project is deleted. If its copy may still exist, a search for leftovers follows.
    pub(in crate::controllers) fn gone(&self, object_ref: &ObjectRef) {
        if self.kept.lock().remove(object_ref).is_some() {
            self.left.notify_one();
        }
    }

    /// Records that a copy was deleted.
    pub(in crate::controllers) fn removed(&self, object_ref: &ObjectRef) {
        self.kept.lock().remove(object_ref);
    }
}
