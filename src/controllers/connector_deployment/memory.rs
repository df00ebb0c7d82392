//! What this process remembers between the runs of a `ConnectorDeployment`. Losing it costs time, never correctness.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::decide::Memory;
use crate::controllers::conditions::Told;
use crate::controllers::remote::Login;
use crate::controllers::subject::Subject;

/// What is remembered of one resource.
#[derive(Clone, Debug, Default)]
pub struct Remembered {
    /// Uid of the resource: another one of the same name starts afresh.
    pub uid: String,
    /// What `decide` has seen.
    pub seen: Memory,
    /// Resource version of our last write; a copy from the cache that does not show it yet is not worked with.
    pub written: Option<String>,
    /// When the answer to our last call came: older looks are not used.
    pub last_call: Option<Timestamp>,
    /// The look that was used last.
    pub last_look: Option<Timestamp>,
    /// The reconcile request that is being served, and since when.
    pub asked: Option<(String, Timestamp)>,
    /// Why the last call was refused.
    pub refusal: Option<Told>,
    /// The credentials of the last run: what others were refused may be granted to new ones.
    pub login: Option<Login>,
    /// Calls that failed in a row.
    pub failures: u32,
    /// No call before that, after failures.
    pub not_before: Option<Timestamp>,
    /// Generation and redeploy request that the pause is for: a change ends it.
    pub paused_for: Option<(i64, Option<String>)>,
    /// The version of the connector in the registry, as it was known last.
    pub registered: Option<i64>,
    /// Generation for which the registry is asked past what is remembered, and since when.
    pub doubted: Option<(i64, Timestamp)>,
    /// Keys of `…From` objects that people were told about.
    pub undeclared: Vec<String>,
}

/// What is remembered of all of them.
#[derive(Debug, Default)]
pub struct Memories(Mutex<BTreeMap<Subject, Remembered>>);

impl Memories {
    /// What is remembered of this resource; nothing if it is another one of the same name.
    #[must_use]
    pub fn of(&self, subject: &Subject, uid: &str) -> Remembered {
        let found = self.lock().get(subject).filter(|remembered| remembered.uid == uid).cloned();
        found.unwrap_or_else(|| Remembered { uid: uid.to_owned(), ..Remembered::default() })
    }

    /// Remembers.
    pub fn keep(&self, subject: &Subject, remembered: Remembered) {
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

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Subject, Remembered>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
