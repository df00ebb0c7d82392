//! Which resources use which Secret, ConfigMap, project or deployment, so that a change of one wakes just those.
//!
//! Holds names only. Filled by each run with what it names, whether that exists or not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use super::subject::Subject;

/// Kind of an object that is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Named {
    /// A Secret.
    Secret,
    /// A ConfigMap.
    ConfigMap,
    /// A `ConnectProject`.
    Project,
    /// A `ConnectorDeployment`.
    Deployment,
    /// A `ConnectorStaged`.
    Staged,
    /// An `ActionCheck`.
    Check,
}

/// An object that is named: its kind and name; the namespace is that of who names it.
pub type Reference = (Named, String);

/// Who uses what.
#[derive(Debug, Default)]
pub struct References(Mutex<Index>);

#[derive(Debug, Default)]
struct Index {
    users: BTreeMap<(Named, String, String), BTreeSet<Subject>>,
    uses: BTreeMap<Subject, BTreeSet<Reference>>,
}

impl References {
    /// Says what `subject` names now, instead of what it named before.
    pub fn set(&self, subject: &Subject, uses: BTreeSet<Reference>) {
        let mut index = self.lock();
        if index.uses.get(subject) == Some(&uses) {
            return;
        }
        index.remove(subject);
        for (kind, name) in &uses {
            let key = (*kind, subject.namespace.clone(), name.clone());
            index.users.entry(key).or_default().insert(subject.clone());
        }
        if !uses.is_empty() {
            index.uses.insert(subject.clone(), uses);
        }
    }

    /// Forgets a resource that is gone.
    pub fn forget(&self, subject: &Subject) {
        self.lock().remove(subject);
    }

    /// Who names this object.
    #[must_use]
    pub fn users(&self, kind: Named, namespace: &str, name: &str) -> Vec<Subject> {
        let key = (kind, namespace.to_owned(), name.to_owned());
        self.lock().users.get(&key).map(|users| users.iter().cloned().collect()).unwrap_or_default()
    }

    /// The namespace and name of each object of a kind that somebody names. `namespace`: only in this one.
    #[must_use]
    pub fn named(&self, kind: Named, namespace: Option<&str>) -> Vec<(String, String)> {
        let index = self.lock();
        let named = index
            .users
            .keys()
            .filter(|(of, within, _)| *of == kind && namespace.is_none_or(|namespace| namespace == within));
        named.map(|(_, namespace, name)| (namespace.clone(), name.clone())).collect()
    }

    /// The names of the objects of a kind that `subject` names.
    #[must_use]
    pub fn uses(&self, subject: &Subject, kind: Named) -> Vec<String> {
        let index = self.lock();
        let uses = index.uses.get(subject).into_iter().flatten();
        uses.filter(|(named, _)| *named == kind).map(|(_, name)| name.clone()).collect()
    }

    /// Everyone who names something.
    #[must_use]
    pub fn subjects(&self) -> Vec<Subject> {
        self.lock().uses.keys().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Index> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Index {
    fn remove(&mut self, subject: &Subject) {
        for (kind, name) in self.uses.remove(subject).unwrap_or_default() {
            let key = (kind, subject.namespace.clone(), name);
            if let Some(users) = self.users.get_mut(&key) {
                users.remove(subject);
                if users.is_empty() {
                    self.users.remove(&key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_wakes_just_those_that_name_the_object_now() {
        let references = References::default();
        let (one, two) = (Subject::deployment("shop", "one"), Subject::deployment("shop", "two"));
        references.set(&one, [(Named::Secret, "a".into()), (Named::Secret, "b".into())].into());
        references.set(&two, [(Named::Secret, "a".into())].into());
        assert_eq!(references.users(Named::Secret, "shop", "a"), [one.clone(), two.clone()]);
        assert!(references.users(Named::Secret, "other", "a").is_empty(), "another namespace");
        assert!(references.users(Named::ConfigMap, "shop", "a").is_empty(), "another kind");
        references.set(&one, [(Named::Secret, "b".into())].into());
        assert_eq!(references.users(Named::Secret, "shop", "a"), std::slice::from_ref(&two));
        references.forget(&two);
        assert!(references.users(Named::Secret, "shop", "a").is_empty());
        assert_eq!(references.lock().users.len(), 1, "nothing is kept for what nobody names");
    }
}
