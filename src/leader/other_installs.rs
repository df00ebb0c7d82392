//! Other installs that have claimed objects: whether an install is alive, and whether its scope still includes an
//! object. Pure; `controllers/context/foreign_installs.rs` reads the Leases.
//!
//! As in an election, an install is alive according to changes observed here, never according to its clock. An install
//! whose Lease was never read counts as alive; after the first read it does so for the duration in its Lease.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::LeaseSpec;

use super::election;
use super::scope::{Labels, Scope};
use super::{LeaseName, Timing};

/// The installs that have claimed objects, and the objects that this install leaves to them. `S` identifies an object.
#[derive(Debug)]
pub struct OtherInstalls<S> {
    installs: BTreeMap<LeaseName, Install<S>>,
}

#[derive(Debug)]
struct Install<S> {
    sight: LeaseState,
    /// The objects that this install leaves to it.
    left: BTreeMap<S, Object>,
    /// The objects that still name it, although it works on them no more. Its Lease stays known for their next reconciles.
    freed: BTreeSet<S>,
}

/// What is known of a Lease.
#[derive(Debug)]
enum LeaseState {
    /// It was not read yet.
    Unread,
    /// Reading it failed, for this reason.
    Unreadable(String),
    /// It does not exist.
    Absent,
    /// It has had this record since `at`.
    Known { spec: LeaseSpec, scope: Box<Scope>, at: Duration, living: bool },
}

/// The properties of an object that decide which install works on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its namespace.
    pub namespace: String,
    /// Its labels.
    pub labels: Labels,
}

/// Whether this install may work on an object that another install has claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// Yes: no other install will.
    Free,
    /// Not yet: the Lease was not read. The object is left alone until then.
    Unknown,
    /// No: the object is left alone until something changes.
    Taken {
        /// Why the Lease cannot be read, if so.
        unreadable: Option<String>,
    },
}

impl<S> Default for OtherInstalls<S> {
    fn default() -> Self {
        Self { installs: BTreeMap::new() }
    }
}

impl<S: Ord + Clone> OtherInstalls<S> {
    /// Returns whether this install may work on an object that `claimed_by` has claimed. If not, keeps the object until
    /// it may.
    pub fn availability(&mut self, claimed_by: &LeaseName, subject: &S, object: Object) -> Availability {
        let install = self.installs.entry(claimed_by.clone()).or_insert_with(Install::unknown);
        if install.is_free(&object) {
            install.left.remove(subject);
            install.freed.insert(subject.clone());
            return Availability::Free;
        }
        install.freed.remove(subject);
        install.left.insert(subject.clone(), object);
        match &install.sight {
            LeaseState::Unread => Availability::Unknown,
            LeaseState::Unreadable(why) => Availability::Taken { unreadable: Some(why.clone()) },
            LeaseState::Absent | LeaseState::Known { .. } => Availability::Taken { unreadable: None },
        }
    }

    /// Returns whether the object is left to another install and these labels differ from the known ones.
    #[must_use]
    pub fn relabelled(&mut self, subject: &S, labels: &Labels) -> bool {
        self.installs.values().any(|install| install.left.get(subject).is_some_and(|object| object.labels != *labels))
    }

    /// Forgets an object that was deleted, or that no other install claims any more.
    pub fn forget(&mut self, subject: &S) {
        for install in self.installs.values_mut() {
            install.left.remove(subject);
            install.freed.remove(subject);
        }
    }

    /// Records a Lease, read at local time `at`. Returns the objects to reconcile again: after the first read all of
    /// them, so that their conditions report it; later those that this install may now work on.
    pub fn saw(&mut self, name: &LeaseName, read: Result<Option<(LeaseSpec, Scope)>, String>, at: Duration) -> Vec<S> {
        let Some(install) = self.installs.get_mut(name) else { return Vec::new() };
        let first = matches!(install.sight, LeaseState::Unread);
        install.sight = match read {
            Err(why) => LeaseState::Unreadable(why),
            Ok(None) => LeaseState::Absent,
            Ok(Some((spec, scope))) => {
                let since = match &install.sight {
                    LeaseState::Known { spec: before, at, .. } if *before == spec => *at,
                    _ => at,
                };
                let over = election::promised(&spec, Timing::default().lease) <= at.saturating_sub(since);
                let living = election::holder(&spec).is_some() && !over;
                LeaseState::Known { spec, scope: Box::new(scope), at: since, living }
            }
        };
        let woken = install.left.iter().filter(|(_, object)| first || install.is_free(object));
        woken.map(|(subject, _)| subject.clone()).collect()
    }

    /// Returns the Leases to poll, which are those of installs that objects still name. Drops all others.
    pub fn to_look_at(&mut self) -> Vec<LeaseName> {
        self.installs.retain(|_, install| !(install.left.is_empty() && install.freed.is_empty()));
        self.installs.keys().cloned().collect()
    }
}

impl<S> Install<S> {
    fn unknown() -> Self {
        Self { sight: LeaseState::Unread, left: BTreeMap::new(), freed: BTreeSet::new() }
    }

    fn is_free(&self, object: &Object) -> bool {
        match &self.sight {
            LeaseState::Unread | LeaseState::Unreadable(_) => false,
            LeaseState::Absent => true,
            LeaseState::Known { scope, living, .. } => !living || !scope.works_on(&object.namespace, &object.labels),
        }
    }
}

#[cfg(test)]
#[path = "other_installs_tests.rs"]
mod tests;
