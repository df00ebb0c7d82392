//! Objects of other installs: what another living one has claimed (`status.controller`) is left alone, and said once.
//!
//! Nothing is written to such an object but an Event: two installs must not argue in one status. Whether another install
//! lives and means an object is judged by `leader/others.rs`; here its Lease is read, one read for all objects that are left
//! to it, and those wake that may be worked on again.

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
use crate::leader::others::{Object, Others, Standing};
use crate::leader::scope::Labels;
use crate::leader::{LeaseName, Scope};

/// Pause between two looks at the Leases that objects are left to.
const LOOK_AGAIN: Duration = Duration::from_secs(3);
/// How long a look at a Lease may take.
const LOOK_LIMIT: Duration = Duration::from_secs(10);
/// Pause before a resource looks again at one that another install works on, whose changes wake nobody here.
pub const FOREIGN_AGAIN: Duration = Duration::from_secs(30);

/// What this process knows of its own install and of others.
pub struct ForeignInstalls {
    mine: Option<String>,
    scope: Scope,
    others: Mutex<Others<ObjectRef>>,
    /// Whom objects were said to be left to.
    said: Mutex<BTreeMap<ObjectRef, String>>,
    /// Projects that were seen, and whether this install speaks for them.
    projects: Mutex<BTreeMap<ObjectRef, bool>>,
    /// Rung when there is a Lease to look at.
    asked: Notify,
}

impl ForeignInstalls {
    /// Of an install that works on `scope`. `mine`: its Lease; `None`: it has none, and claims nothing.
    #[must_use]
    pub fn new(mine: Option<&LeaseName>, scope: Scope) -> Self {
        Self {
            mine: mine.map(ToString::to_string),
            scope,
            others: Mutex::default(),
            said: Mutex::default(),
            projects: Mutex::default(),
            asked: Notify::new(),
        }
    }

    /// What the status of an object says whose install this is.
    #[must_use]
    pub fn mine(&self) -> Option<String> {
        self.mine.clone()
    }

    /// Whether this install works on objects with these labels.
    #[must_use]
    pub fn selects(&self, labels: &Labels) -> bool {
        self.scope.selects(labels)
    }

    /// Whether there may be objects in the same namespaces that others work on.
    #[must_use]
    pub fn is_shard(&self) -> bool {
        !self.scope.selector().selects_all()
    }

    /// Takes note of an object's labels, which wake nobody by themselves. Returns whether it has to run for them.
    #[must_use]
    pub fn relabelled(&self, object_ref: &ObjectRef, labels: &Labels) -> bool {
        if lock(&self.others).relabelled(object_ref, labels) {
            return true;
        }
        if !self.is_shard() || object_ref.kind != Kind::Project {
            return false;
        }
        let selected = self.selects(labels);
        lock(&self.projects).insert(object_ref.clone(), selected).is_some_and(|before| before != selected)
    }

    /// Forgets an object that is gone from here.
    pub fn forget(&self, object_ref: &ObjectRef) {
        lock(&self.others).forget(object_ref);
        lock(&self.said).remove(object_ref);
        lock(&self.projects).remove(object_ref);
    }

    /// Whom it is left to; `None`: nobody, it is to be worked on.
    fn left_to<K: ManagedKind>(&self, object_ref: &ObjectRef, object: &K) -> Option<Left> {
        let claimed = object.controller().filter(|claimed| self.mine.as_deref() != Some(claimed));
        // What is no name of a Lease was not written by an install.
        let Some(install) = claimed.and_then(|claimed| claimed.parse::<LeaseName>().ok()) else {
            self.free(object_ref);
            return None;
        };
        let seen = Object { namespace: object_ref.namespace.clone(), labels: object.labels().clone() };
        let message = match lock(&self.others).standing(&install, object_ref, seen) {
            Standing::Free => {
                lock(&self.said).remove(object_ref);
                return None;
            }
            // Asked below; the answer wakes it.
            Standing::Unknown => None,
            Standing::Taken { unreadable } => Some(message(&install, unreadable.as_deref())),
        };
        self.asked.notify_one();
        Some(Left { install, message })
    }

    fn free(&self, object_ref: &ObjectRef) {
        lock(&self.others).forget(object_ref);
        lock(&self.said).remove(object_ref);
    }

    /// Whether that is news.
    fn is_news(&self, object_ref: &ObjectRef, install: &LeaseName) -> bool {
        let install = install.to_string();
        lock(&self.said).insert(object_ref.clone(), install.clone()) != Some(install)
    }
}

/// An object that is left to another install.
struct Left {
    install: LeaseName,
    /// What to tell people; `None`: its Lease was not looked at yet.
    message: Option<String>,
}

/// Whether another install works on an object, so that it is left alone; says so once.
pub async fn is_left<K: ManagedKind>(context: &Context, object_ref: &ObjectRef, object: &K) -> bool {
    let Some(Left { install, message }) = context.foreign_installs.left_to(object_ref, object) else { return false };
    // The mirror of a project needs no word of its own.
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
            "The install with Lease {install} works on this resource, so this one leaves it alone. Their --selector or \
             --watch-namespaces overlap: narrow one of them, or change the labels of the resource. It goes on by itself \
             when that install is gone"
        ),
        Some(why) => format!(
            "The install with Lease {install} has claimed this resource, and whether it lives cannot be seen: let this \
             operator get the Lease {name} in namespace {namespace} ({why}). Until then the resource is left alone"
        ),
    }
}

/// Looks at the Leases that objects are left to, as long as there are any. Never ends.
pub async fn follow(context: Arc<Context>) {
    let foreign_installs = &context.foreign_installs;
    loop {
        let leases = lock(&foreign_installs.others).to_look_at();
        for lease in &leases {
            let Some(read) = look(&context, lease).await else { continue };
            let enqueued = lock(&foreign_installs.others).saw(lease, read, context.clock.elapsed());
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

/// A Lease as it is; the error is for people. `None`: nothing was learned.
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
