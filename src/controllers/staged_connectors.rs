//! The state of each `ConnectorStaged` that its own controller found, for deployments that refer to it by `stagedRef`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::object_ref::ObjectRef;

/// The state of a `ConnectorStaged` that its controller found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedConnector {
    /// Id of the staged connector, once it exists.
    pub id: Option<String>,
    /// The first version that can be deployed as the spec asks for, or why none can.
    pub deployable: Result<i64, String>,
}

/// The state of each `ConnectorStaged`.
#[derive(Debug, Default)]
pub struct StagedConnectors(Mutex<BTreeMap<ObjectRef, StagedConnector>>);

impl StagedConnectors {
    /// Returns the state of a `ConnectorStaged`; `None`: it was not observed yet, or does not exist.
    #[must_use]
    pub fn get(&self, object_ref: &ObjectRef) -> Option<StagedConnector> {
        self.lock().get(object_ref).cloned()
    }

    /// Records the state of a `ConnectorStaged`. Returns whether it changed, so that its users must reconcile.
    pub fn set(&self, object_ref: &ObjectRef, state: &StagedConnector) -> bool {
        let mut known = self.lock();
        known.insert(object_ref.clone(), state.clone()).as_ref() != Some(state)
    }

    /// Forgets a `ConnectorStaged` that no longer exists. Returns whether it was known.
    pub fn forget(&self, object_ref: &ObjectRef) -> bool {
        self.lock().remove(object_ref).is_some()
    }

    /// Returns every known `ConnectorStaged`.
    #[must_use]
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectRef, StagedConnector>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
