//! What each `ConnectorStaged` came to, as its own controller found out, for those that deploy it by `stagedRef`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::object_ref::ObjectRef;

/// A `ConnectorStaged` as its controller found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedConnector {
    /// Id of the staged connector, once there is one.
    pub id: Option<String>,
    /// The version from which on it can be deployed as the spec wants it, or why it cannot be.
    pub deployable: Result<i64, String>,
}

/// What each `ConnectorStaged` came to.
#[derive(Debug, Default)]
pub struct StagedConnectors(Mutex<BTreeMap<ObjectRef, StagedConnector>>);

impl StagedConnectors {
    /// What this one came to; `None`: it was not looked at yet, or does not exist.
    #[must_use]
    pub fn get(&self, object_ref: &ObjectRef) -> Option<StagedConnector> {
        self.lock().get(object_ref).cloned()
    }

    /// Remembers what one came to. Returns whether that is news to its users.
    pub fn set(&self, object_ref: &ObjectRef, state: &StagedConnector) -> bool {
        let mut known = self.lock();
        known.insert(object_ref.clone(), state.clone()).as_ref() != Some(state)
    }

    /// Forgets one that is gone. Returns whether it was known.
    pub fn forget(&self, object_ref: &ObjectRef) -> bool {
        self.lock().remove(object_ref).is_some()
    }

    /// Every one that is known.
    #[must_use]
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectRef, StagedConnector>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
