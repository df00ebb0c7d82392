//! What an event of the cluster ends, and whom it wakes: what every driver of the runs needs, be it [`super::manager`]
//! on a real watch, or a test that delivers the events itself, late, twice or not at all.

use std::collections::BTreeSet;

use kube::ResourceExt;
use kube::api::ObjectMeta;
use kube::runtime::watcher;

use super::context::Context;
use super::managed_kind::{ManagedKind, created, object_ref};
use super::object_ref::{Kind, ObjectRef};
use super::references::Named;
use super::sources::Users;
use super::{action_check, connect_project, connector, driver};
use crate::crd::{ConnectorDeployment, ConnectorStaged};

/// Forgets everything about a subject that is gone.
pub fn gone(context: &Context, object_ref: &ObjectRef) {
    context.foreign_installs.forget(object_ref);
    context.tracker.gone(object_ref);
    context.given.forget(object_ref);
    context.panics.forget(object_ref);
    match object_ref.kind {
        Kind::Deployment => {
            driver::gone::<ConnectorDeployment>(context, object_ref);
            context.enqueue_users(Named::Deployment, &object_ref.namespace, &object_ref.name);
        }
        Kind::Staged => driver::gone::<ConnectorStaged>(context, object_ref),
        Kind::Project => connect_project::gone(context, object_ref),
        Kind::Check => {
            action_check::gone(context, object_ref);
            context.enqueue_users(Named::Check, &object_ref.namespace, &object_ref.name);
        }
        Kind::Mirror => connector::gone(context, object_ref),
    }
}

/// The same for one that an event says is gone: others may have its key from now on (rule 4).
pub fn ended(context: &Context, object_ref: &ObjectRef) {
    context.keys.gone(object_ref);
    gone(context, object_ref);
    // A run that is under way may remember it again; the one after it finds nothing, and forgets it.
    context.enqueue(object_ref.clone());
}

/// A Secret or a ConfigMap that these name was written or removed.
pub fn sourced(context: &Context, users: Users) {
    for user in users.changed {
        context.tracker.changed(&user);
        context.enqueue(user);
    }
    // Nothing is sent for what is missing, so it is no change that waits to be sent.
    users.missing.into_iter().for_each(|user| context.enqueue(user));
}

/// A Connector object was written or removed, by us or by somebody else: its mirror runs if it does not know of it.
pub fn mirrored(context: &Context, meta: &ObjectMeta, gone: bool) {
    let (Some(name), Some(project)) = (&meta.name, connector::project_of(meta)) else { return };
    let mirror = ObjectRef::mirror(meta.namespace.as_deref().unwrap_or_default(), project);
    let version = connector::version(meta.resource_version.as_deref());
    if context.mirrors.event(&mirror, name, version, gone) {
        context.enqueue(mirror);
    }
}

/// Which objects exist, so that those are noticed that went while nobody watched, and those that come back: an object whose
/// labels take it to another install and back again is as it was when it was seen before.
pub struct KnownObjects {
    namespace: Option<String>,
    listed: Option<BTreeSet<ObjectRef>>,
    /// What is here, if labels say so; otherwise what was once seen stays.
    here: BTreeSet<ObjectRef>,
    /// Who runs once the list that is being read is complete: reconciles read from a store that shows nothing of it before.
    later: Vec<ObjectRef>,
    first: First,
}

/// How the first list stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Awaited,
    Refused,
    There,
}

impl KnownObjects {
    /// `namespace`: the only one that is watched.
    #[must_use]
    pub fn new(namespace: Option<String>) -> Self {
        Self { namespace, listed: None, here: BTreeSet::new(), later: Vec::new(), first: First::Awaited }
    }

    /// The objects that this event says are gone. What is there has its claim before any run sees it.
    pub fn note<K: ManagedKind>(&mut self, context: &Context, event: &watcher::Event<K>) -> Vec<ObjectRef> {
        match event {
            watcher::Event::Init => self.listed = Some(BTreeSet::new()),
            watcher::Event::InitApply(object) => {
                self.seen(context, object);
                if let Some(listed) = &mut self.listed {
                    listed.insert(object_ref(object));
                }
            }
            watcher::Event::InitDone => {
                match std::mem::replace(&mut self.first, First::There) {
                    First::Awaited => listed::<K>(context),
                    First::Refused if wants_keys::<K>() => context.keys.listed_at_last(),
                    First::Refused | First::There => {}
                }
                let listed = self.listed.take().unwrap_or_default();
                let mut known = context.keys.object_refs(K::KIND);
                known.extend(match K::KIND {
                    Kind::Deployment => context.deployment_caches.object_refs(),
                    Kind::Staged => context.staged_caches.object_refs(),
                    Kind::Project => context.projects.object_refs(),
                    Kind::Mirror => context.mirrors.object_refs(),
                    Kind::Check => context.references.object_refs().into_iter().filter(is_check).collect(),
                });
                // What is counted is one of these too, unless it never ran.
                let counted = context.tracker.inventory.object_refs();
                known.extend(counted.into_iter().filter(|object_ref| object_ref.kind == K::KIND));
                let here = |object_ref: &ObjectRef| {
                    self.namespace.as_ref().is_none_or(|namespace| *namespace == object_ref.namespace)
                };
                self.here.retain(|object_ref| listed.contains(object_ref));
                self.later.drain(..).for_each(|object_ref| context.enqueue(object_ref));
                settle::<K>(context);
                return known
                    .into_iter()
                    .filter(|object_ref| here(object_ref) && !listed.contains(object_ref))
                    .collect();
            }
            watcher::Event::Delete(object) => {
                self.here.remove(&object_ref(object));
                return vec![object_ref(object)];
            }
            watcher::Event::Apply(object) => {
                self.seen(context, object);
                settle::<K>(context);
            }
        }
        Vec::new()
    }
}

impl KnownObjects {
    /// The API server refuses the list. If it is the first one, nobody waits for it any more.
    pub fn refused<K: ManagedKind>(&mut self, context: &Context) {
        if self.first == First::Awaited {
            self.first = First::Refused;
            if wants_keys::<K>() {
                context.keys.refused();
            }
            if K::KIND == Kind::Project {
                context.project_quota.listed();
            }
        }
    }

    /// Takes note of an object, and enqueues the checks that come after it or take their frontend from it, and the staged
    /// connectors that wait for it: what it has applied, and what passed, is in its status, and a project's frontend is for
    /// checks only, so these changes wake nobody else.
    fn seen<K: ManagedKind>(&mut self, context: &Context, object: &K) {
        object.note(&context.keys);
        let object_ref = object_ref(object);
        context.tracker.inventory.seen(&object_ref, object.reported_state());
        let named = match K::KIND {
            Kind::Deployment => Some(Named::Deployment),
            Kind::Check => Some(Named::Check),
            Kind::Staged | Kind::Project | Kind::Mirror => None,
        };
        if let Some(named) = named {
            context.enqueue_users(named, &object_ref.namespace, &object_ref.name);
        }
        if K::KIND == Kind::Project {
            let users = context.references.users(Named::Project, &object_ref.namespace, &object_ref.name);
            users.into_iter().filter(is_check).for_each(|check| context.enqueue(check));
            if context.foreign_installs.selects(object.labels()) {
                context.project_quota.saw(&object_ref, created(object));
            }
        }
        let comes = context.foreign_installs.is_shard() && self.here.insert(object_ref.clone());
        if context.foreign_installs.relabelled(&object_ref, object.labels()) || comes {
            if self.listed.is_some() {
                self.later.push(object_ref);
            } else {
                context.enqueue(object_ref);
            }
        }
    }
}

/// A first list is complete, which some wait for.
fn listed<K: ManagedKind>(context: &Context) {
    if wants_keys::<K>() {
        context.keys.listed();
    }
    if K::KIND == Kind::Project {
        context.project_quota.listed();
    }
}

fn settle<K: ManagedKind>(context: &Context) {
    if K::KIND == Kind::Project {
        context.project_quota.settle();
    }
}

/// Whether the list of a kind says who wants which key. Checks and mirrors want none, so nobody waits for theirs.
fn wants_keys<K: ManagedKind>() -> bool {
    !matches!(K::KIND, Kind::Check | Kind::Mirror)
}

fn is_check(object_ref: &ObjectRef) -> bool {
    object_ref.kind == Kind::Check
}
