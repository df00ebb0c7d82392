//! Objects of other installs: an object that another live install has claimed (`status.controller`) is not reconciled,
//! which is reported once.
//!
//! The only thing written for such an object is an Event, because two installs must not compete for one status.
//! `leader/other_installs.rs` decides whether another install is alive and selects an object. This module reads its Lease, one
//! read for all objects that are left to it, and enqueues the objects that this install may reconcile again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::ResourceExt;
use kube::api::Api;
use tokio::sync::Notify;

use super::conditions::ConditionUpdate;
use super::context::Context;
use super::managed_kind::ManagedKind;
use super::object_ref::{Kind, ObjectRef};
use super::reason::Reason;
use crate::leader::other_installs::{Availability, Object, OtherInstalls};
use crate::leader::scope::Labels;
use crate::leader::{LeaseName, Scope};

/// Pause between two reads of the Leases of installs that objects are left to.
const LOOK_AGAIN: Duration = Duration::from_secs(3);
/// Time limit for reading a Lease.
const LOOK_LIMIT: Duration = Duration::from_secs(10);
/// Requeue delay of a resource that depends on one of another install, whose changes enqueue nothing here.
pub const FOREIGN_AGAIN: Duration = Duration::from_secs(30);

/// The state of this install and of the others, as far as this process knows it.
pub struct ForeignInstalls {
    mine: Option<String>,
    scope: Scope,
    other_installs: Mutex<OtherInstalls<ObjectRef>>,
    /// The install that each object was reported to be left to.
    said: Mutex<BTreeMap<ObjectRef, String>>,
    /// Observed projects, and whether this install selects them.
    projects: Mutex<BTreeMap<ObjectRef, bool>>,
    /// Notified when there is a Lease to read.
    asked: Notify,
}

impl ForeignInstalls {
    /// Creates the state of an install with this `scope`. `mine`: its Lease; `None`: it has none, and claims nothing.
    #[must_use]
    pub fn new(mine: Option<&LeaseName>, scope: Scope) -> Self {
        Self {
            mine: mine.map(ToString::to_string),
            scope,
            other_installs: Mutex::default(),
            said: Mutex::default(),
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
        if lock(&self.other_installs).relabelled(object_ref, labels) {
            return true;
        }
        if !self.is_shard() || object_ref.kind != Kind::Project {
            return false;
        }
        let selected = self.selects(labels);
        lock(&self.projects).insert(object_ref.clone(), selected).is_some_and(|before| before != selected)
    }

    /// Forgets an object that no longer exists, or that this install no longer watches.
    pub fn forget(&self, object_ref: &ObjectRef) {
        lock(&self.other_installs).forget(object_ref);
        lock(&self.said).remove(object_ref);
        lock(&self.projects).remove(object_ref);
    }

    /// Returns the install that an object is left to; `None`: this install reconciles it.
    fn left_to<K: ManagedKind>(&self, object_ref: &ObjectRef, object: &K) -> Option<Left> {
        let claimed = object.controller().filter(|claimed| self.mine.as_deref() != Some(claimed));
        // An install writes the name of a Lease; any other value does not count as a claim.
        let Some(install) = claimed.and_then(|claimed| claimed.parse::<LeaseName>().ok()) else {
            self.free(object_ref);
            return None;
        };
        let seen = Object { namespace: object_ref.namespace.clone(), labels: object.labels().clone() };
        let message = match lock(&self.other_installs).availability(&install, object_ref, seen) {
            Availability::Free => {
                lock(&self.said).remove(object_ref);
                return None;
            }
            // `follow` reads the Lease and enqueues the object.
            Availability::Unknown => None,
            Availability::Taken { unreadable } => Some(message(&install, unreadable.as_deref())),
        };
        self.asked.notify_one();
        Some(Left { install, message })
    }

    fn free(&self, object_ref: &ObjectRef) {
        lock(&self.other_installs).forget(object_ref);
        lock(&self.said).remove(object_ref);
    }

    /// Records that an object is left to `install`. Returns whether this was not yet reported.
    fn is_news(&self, object_ref: &ObjectRef, install: &LeaseName) -> bool {
        let install = install.to_string();
        lock(&self.said).insert(object_ref.clone(), install.clone()) != Some(install)
    }
}

/// An object that is left to another install.
struct Left {
    install: LeaseName,
    /// Message for users; `None`: the Lease was not read yet.
    message: Option<String>,
}

/// Returns whether an object is left to another install, and reports that once in an Event and in the log.
pub async fn is_left<K: ManagedKind>(context: &Context, object_ref: &ObjectRef, object: &K) -> bool {
    let Some(Left { install, message }) = context.foreign_installs.left_to(object_ref, object) else { return false };
    // Of a project and its mirror, only the project reports it.
    if let Some(message) = message.filter(|_| object_ref.kind != Kind::Mirror)
        && context.foreign_installs.is_news(object_ref, &install)
    {
        tracing::warn!(object = %object_ref, kind = ?object_ref.kind, %install, "left alone: {message}");
        context.event(object, "Reconcile", &ConditionUpdate::new(Reason::ManagedElsewhere, message)).await;
    }
    true
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

/// Polls the Leases of installs that objects are left to, as long as there are any. Never returns.
pub async fn follow(context: Arc<Context>) {
    let foreign_installs = &context.foreign_installs;
    loop {
        let leases = lock(&foreign_installs.other_installs).to_look_at();
        for lease in &leases {
            let Some(read) = look(&context, lease).await else { continue };
            let enqueued = lock(&foreign_installs.other_installs).saw(lease, read, context.clock.elapsed());
            for object_ref in enqueued {
                context.enqueue(object_ref);
            }
        }
        if leases.is_empty() {
            foreign_installs.asked.notified().await;
        } else {
            context.clock.sleep(LOOK_AGAIN).await;
        }
    }
}

/// Reads a Lease. The inner error is for users: the API server refuses the read. `None`: the read failed for a reason
/// that passes, so nothing is known.
async fn look(context: &Context, name: &LeaseName) -> Option<Result<Option<(LeaseSpec, Scope)>, String>> {
    let api = Api::<Lease>::namespaced(context.client.clone(), &name.namespace);
    let read = tokio::select! {
        read = api.get_opt(&name.name) => read,
        () = context.clock.sleep(LOOK_LIMIT) => return None,
    };
    match read {
        Ok(None) => Some(Ok(None)),
        Ok(Some(lease)) => {
            let scope = Scope::told_by(lease.annotations());
            Some(Ok(Some((lease.spec.unwrap_or_default(), scope))))
        }
        Err(kube::Error::Api(status)) if matches!(status.code, 401 | 403) => Some(Err(status.message.clone())),
        Err(error) => {
            tracing::debug!(lease = %name, %error, "the Lease of another install cannot be read now");
            None
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
