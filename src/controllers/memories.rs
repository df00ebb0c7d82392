//! What this process remembers between the runs of the resources of a kind. Losing it costs time, never correctness.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::subject::Subject;

/// What is remembered of one resource.
pub trait OfOne: Clone {
    /// Uid of the resource: another one of the same name starts afresh.
    fn uid(&self) -> &str;

    /// Nothing yet.
    fn new(uid: &str) -> Self;
}

/// What is remembered of all resources of a kind.
#[derive(Debug)]
pub struct Memories<R>(Mutex<BTreeMap<Subject, R>>);

impl<R> Default for Memories<R> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<R: OfOne> Memories<R> {
    /// What is remembered of this resource; nothing if it is another one of the same name.
    #[must_use]
    pub fn of(&self, subject: &Subject, uid: &str) -> R {
        let found = self.lock().get(subject).filter(|remembered| remembered.uid() == uid).cloned();
        found.unwrap_or_else(|| R::new(uid))
    }

    /// Remembers.
    pub fn keep(&self, subject: &Subject, remembered: R) {
        self.lock().insert(subject.clone(), remembered);
    }

    /// Forgets a resource that is gone.
    pub fn forget(&self, subject: &Subject) {
        self.lock().remove(subject);
    }

    /// Every resource that is remembered.
    #[must_use]
    pub fn subjects(&self) -> Vec<Subject> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Subject, R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
