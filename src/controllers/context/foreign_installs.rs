//! Objects of other installs: an object that another live install has claimed (`status.controller`) is not reconciled,
//! which is reported once.
//!
//! `leader/other_installs.rs` decides whether another install is alive and selects an object;
//! `reconcile/foreign_leases.rs` reads its Lease, one read for all objects that are left to it.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::ResourceExt;
use tokio::sync::Notify;

use crate::controllers::kinds::managed_kind::ManagedKind;
use crate::controllers::object_ref::ObjectRef;
use crate::leader::other_installs::{Availability, Object, OtherInstalls};
use crate::leader::scope::Labels;
use crate::leader::{LeaseName, Scope};
use crate::mutex::Mutex;

/// Requeue delay of a resource that depends on one of another install, whose changes enqueue nothing here.
pub const FOREIGN_AGAIN: Duration = Duration::from_secs(30);

/// The state of this install and of the others, as far as this process knows it.
pub struct ForeignInstalls {
    mine: Option<String>,
    scope: Scope,
    pub(in crate::controllers) other_installs: Mutex<OtherInstalls<ObjectRef>>,
    /// The install that each object was reported to be left to.
    reported: Mutex<BTreeMap<ObjectRef, String>>,
    /// Observed projects, and whether this install selects them.
    projects: Mutex<BTreeMap<ObjectRef, bool>>,
    /// Notified when there is a Lease to read.
    pub(in crate::controllers) asked: Notify,
}

impl ForeignInstalls {
    /// Creates the state of an install with this `scope`. `mine`: its Lease; `None`: it has none, and claims nothing.
    #[must_use]
    pub fn new(mine: Option<&LeaseName>, scope: Scope) -> Self {
        Self {
            mine: mine.map(ToString::to_string),
            scope,
            other_installs: Mutex::default(),
            reported: Mutex::default(),
            projects: Mutex::default(),
            asked: Notify::new(),
        }
    }

    /// Returns the value of `status.controller` for objects of this install.
    #[must_use]
    pub fn mine(&self) -> Option<String> {
        self.mine.clone()
    }

    /// Returns whether this install selects objects with these labels.
    #[must_use]
    pub fn selects(&self, labels: &Labels) -> bool {
        self.scope.selects(labels)
    }

    /// Returns whether other installs may manage objects in the same namespaces.
    #[must_use]
    pub fn is_shard(&self) -> bool {
        !self.scope.selector().selects_all()
    }

    /// Records an object's labels, whose changes do not enqueue it otherwise. Returns whether it must reconcile because
    /// of them.
    #[must_use]
    pub fn relabelled(&self, object_ref: &ObjectRef, labels: &Labels) -> bool {
        if self.other_installs.lock().relabelled(object_ref, labels) {
            return true;
        }
        if !self.is_shard() || !object_ref.kind.is_project() {
            return false;
        }
        let selected = self.selects(labels);
        self.projects.lock().insert(object_ref.clone(), selected).is_some_and(|before| before != selected)
    }

    /// Forgets an object that no longer exists, or that this install no longer watches.
    pub fn forget(&self, object_ref: &ObjectRef) {
        self.other_installs.lock().forget(object_ref);
        self.reported.lock().remove(object_ref);
        self.projects.lock().remove(object_ref);
    }

    /// Returns the install that an object is left to; `None`: this install reconciles it.
    pub(in crate::controllers) fn left_to<K: ManagedKind>(&self, object_ref: &ObjectRef, object: &K) -> Option<Left> {
        let claimed = object.controller().filter(|claimed| self.mine.as_deref() != Some(&**claimed));
        // An install writes the name of a Lease; any other value does not count as a claim.
        let Some(install) = claimed.and_then(|claimed| claimed.parse::<LeaseName>().ok()) else {
            self.free(object_ref);
            return None;
        };
        let seen = Object { namespace: object_ref.namespace.clone(), labels: object.labels().clone() };
        let message = match self.other_installs.lock().availability(&install, object_ref, seen) {
            Availability::Free => {
                self.reported.lock().remove(object_ref);
                return None;
            }
            // `follow` reads the Lease and enqueues the object.
            Availability::Unknown => None,
            Availability::Taken { unreadable } => Some(message(&install, unreadable.as_deref())),
        };
        self.asked.notify_one();
        Some(Left { install, message })
    }

    /// Forgets that an object was left to another install, so that no Lease is read because of it.
    pub(in crate::controllers) fn free(&self, object_ref: &ObjectRef) {
        self.other_installs.lock().forget(object_ref);
        self.reported.lock().remove(object_ref);
    }

    /// Records that an object is left to `install`. Returns whether this was not yet reported.
    pub(in crate::controllers) fn is_new(&self, object_ref: &ObjectRef, install: &LeaseName) -> bool {
        let install = install.to_string();
        self.reported.lock().insert(object_ref.clone(), install.clone()) != Some(install)
    }
}

/// An object that is left to another install.
pub(in crate::controllers) struct Left {
    pub(in crate::controllers) install: LeaseName,
    /// Message for users; `None`: the Lease was not read yet.
    pub(in crate::controllers) message: Option<String>,
}

fn message(install: &LeaseName, unreadable: Option<&str>) -> String {
    let LeaseName { namespace, name } = install;
    match unreadable {
        None => format!(
            "The install with Lease {install} manages this resource, so this one leaves it alone. Their --selector or \
             --watch-namespaces overlap: narrow one of them, or change the labels of the resource. This install manages \
             the resource once the other one is gone"
        ),
        Some(why) => format!(
            "The install with Lease {install} has claimed this resource, and its Lease cannot be read to determine whether \
             it is alive: allow this operator to get the Lease {name} in namespace {namespace} ({why}). Until then it \
             leaves the resource alone"
        ),
    }
}
