//! Other installs, as far as objects are claimed by them: whether one is living, and whether it still means an object.
//! Pure; who reads the Leases is in `controllers/foreign_installs.rs`.
//!
//! Living is judged as in an election, by changes that were seen here and never by another's clock. An install that was
//! never looked at counts as living, and one that was looked at for the first time does so for as long as its Lease says.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::LeaseSpec;

use super::election;
use super::scope::{Labels, Scope};
use super::{LeaseName, Timing};

/// The installs that objects are claimed by, and the objects that are left to them. `S` names an object.
#[derive(Debug)]
pub struct Others<S> {
    installs: BTreeMap<LeaseName, Install<S>>,
}

#[derive(Debug)]
struct Install<S> {
    sight: Sight,
    /// What is left to it.
    left: BTreeMap<S, Object>,
}

/// What is known of a Lease.
#[derive(Debug)]
enum Sight {
    /// It was not read yet.
    Unread,
    /// It cannot be read, for this reason.
    Unreadable(String),
    /// There is none.
    Absent,
    /// This is its record, since then.
    Seen { spec: LeaseSpec, scope: Scope, at: Duration, living: bool },
}

/// An object, as far as it matters who works on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its namespace.
    pub namespace: String,
    /// Its labels.
    pub labels: Labels,
}

/// Whether an object that another install has claimed may be worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nobody else will.
    Free,
    /// Nobody has looked yet: it is left alone until then.
    Unknown,
    /// It is left alone until something changes; with why that is not known better, if so.
    Taken {
        /// Why the Lease cannot be read.
        unreadable: Option<String>,
    },
}

impl<S> Default for Others<S> {
    fn default() -> Self {
        Self { installs: BTreeMap::new() }
    }
}

impl<S: Ord + Clone> Others<S> {
    /// Whether an object that `claimed_by` has claimed may be worked on. If not, it is remembered until it may be.
    pub fn standing(&mut self, claimed_by: &LeaseName, subject: &S, object: Object) -> Standing {
        let install = self.installs.entry(claimed_by.clone()).or_insert_with(Install::unknown);
        if install.is_free(&object) {
            install.left.remove(subject);
            return Standing::Free;
        }
        install.left.insert(subject.clone(), object);
        match &install.sight {
            Sight::Unread => Standing::Unknown,
            Sight::Unreadable(why) => Standing::Taken { unreadable: Some(why.clone()) },
            Sight::Absent | Sight::Seen { .. } => Standing::Taken { unreadable: None },
        }
    }

    /// Takes note of an object's labels. Returns whether it was left to another install, for which they are news.
    #[must_use]
    pub fn relabelled(&mut self, subject: &S, labels: &Labels) -> bool {
        self.installs.values().any(|install| install.left.get(subject).is_some_and(|object| object.labels != *labels))
    }

    /// Forgets an object that is gone, or is not claimed by others any more.
    pub fn forget(&mut self, subject: &S) {
        for install in self.installs.values_mut() {
            install.left.remove(subject);
        }
    }

    /// Takes note of a Lease, read at local time `at`. Returns the objects that have to run again: all if it was read for the
    /// first time, which is to be said, else those that may be worked on.
    pub fn saw(&mut self, name: &LeaseName, read: Result<Option<(LeaseSpec, Scope)>, String>, at: Duration) -> Vec<S> {
        let Some(install) = self.installs.get_mut(name) else { return Vec::new() };
        let first = matches!(install.sight, Sight::Unread);
        install.sight = match read {
            Err(why) => Sight::Unreadable(why),
            Ok(None) => Sight::Absent,
            Ok(Some((spec, scope))) => {
                let since = match &install.sight {
                    Sight::Seen { spec: before, at, .. } if *before == spec => *at,
                    _ => at,
                };
                let over = election::promised(&spec, Timing::default().lease) <= at.saturating_sub(since);
                let living = election::holder(&spec).is_some() && !over;
                Sight::Seen { spec, scope, at: since, living }
            }
        };
        let woken = install.left.iter().filter(|(_, object)| first || install.is_free(object));
        woken.map(|(subject, _)| subject.clone()).collect()
    }

    /// The Leases that have to be looked at: objects are left to them. Of others nothing is kept.
    pub fn to_look_at(&mut self) -> Vec<LeaseName> {
        self.installs.retain(|_, install| !install.left.is_empty());
        self.installs.keys().cloned().collect()
    }
}

impl<S> Install<S> {
    fn unknown() -> Self {
        Self { sight: Sight::Unread, left: BTreeMap::new() }
    }

    fn is_free(&self, object: &Object) -> bool {
        match &self.sight {
            Sight::Unread | Sight::Unreadable(_) => false,
            Sight::Absent => true,
            Sight::Seen { scope, living, .. } => !living || !scope.works_on(&object.namespace, &object.labels),
        }
    }
}

#[cfg(test)]
#[path = "others_tests.rs"]
mod tests;
