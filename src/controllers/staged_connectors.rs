//! What each `ConnectorStaged` came to, as its own controller found out, for those that deploy it by `stagedRef`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::subject::Subject;

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
pub struct StagedConnectors(Mutex<BTreeMap<Subject, StagedConnector>>);

impl StagedConnectors {
    /// What this one came to; `None`: it was not looked at yet, or does not exist.
    #[must_use]
    pub fn get(&self, subject: &Subject) -> Option<StagedConnector> {
        self.lock().get(subject).cloned()
    }

    /// Remembers what one came to. Returns whether that is news to its users.
    pub fn set(&self, subject: &Subject, state: &StagedConnector) -> bool {
        let mut known = self.lock();
        known.insert(subject.clone(), state.clone()).as_ref() != Some(state)
    }

    /// Forgets one that is gone. Returns whether it was known.
    pub fn forget(&self, subject: &Subject) -> bool {
        self.lock().remove(subject).is_some()
    }

    /// Every one that is known.
    #[must_use]
    pub fn subjects(&self) -> Vec<Subject> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Subject, StagedConnector>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
