//! What an event of a watch removes from memory, and which resources it enqueues. Used by [`crate::operator::manager`] on
//! a real watch, and by tests that deliver the events themselves, late, twice or not at all.

use kube::Resource;
use kube::runtime::watcher;

use crate::operator::check;
use crate::operator::cluster::permissions::Changes;
use crate::operator::cluster::references::Referenced;
use crate::operator::cluster::references::sources::Sources;
use crate::operator::context::Context;
use crate::operator::deployment;
use crate::operator::kinds::managed_kind::{ManagedKind, object_ref};
use crate::operator::object_ref::{Kind, ObjectRef};
use crate::operator::project;
use crate::operator::staged;

/// Forgets everything about a resource that no longer exists.
pub fn forget(context: &Context, object_ref: &ObjectRef) {
    context.memory.failures.forget(object_ref);
    match object_ref.kind {
        Kind::Deployment => {
            deployment::forget(context, object_ref);
            context.enqueue_users(Referenced::Object(Kind::Deployment), &object_ref.namespace, &object_ref.name);
        }
        Kind::Staged => staged::forget(context, object_ref),
        Kind::Project | Kind::ClusterProject => project::gone(context, object_ref),
        Kind::Check => {
            check::gone(context, object_ref);
            context.enqueue_users(Referenced::Object(Kind::Check), &object_ref.namespace, &object_ref.name);
        }
    }
}

/// Forgets a resource that an event reports as deleted. From now on another resource can own its key (rule 4).
pub fn deleted(context: &Context, object_ref: &ObjectRef) {
    context.keys.gone(object_ref);
    context.memory.shown.forget(object_ref);
    if object_ref.kind == Kind::ClusterProject {
        context.permissions.forget(object_ref);
    }
    forget(context, object_ref);
    // A reconcile that is under way may remember it again; the one enqueued here forgets it again.
    context.enqueue(object_ref.clone());
}

/// Handles an event of a Secret or ConfigMap: forgets its content, and enqueues the resources that name it.
pub fn sourced<K: Resource>(context: &Context, sources: &mut Sources, event: &watcher::Event<K>) {
    context.contents.note(sources.kind(), event);
    sources.note(&context.references, event).into_iter().for_each(|user| context.enqueue(user));
}

/// Handles an event of a namespace: enqueues the resources in it whose permission to use a project has changed.
pub fn namespace<K: Resource>(context: &Context, event: &watcher::Event<K>) {
    let list = || (context.permissions.is_listed(), context.permissions.is_refused());
    let before = list();
    permitted(context, context.permissions.note(event));
    // Resources wait for the labels, or report that they are not known.
    if list() != before {
        enqueue_users_of_cluster_projects(context);
    }
}

/// Handles that the API server refuses to list the namespaces.
pub fn namespaces_refused(context: &Context, why: &str) {
    let was_listed = context.permissions.is_listed();
    context.permissions.refused(why);
    if !was_listed {
        enqueue_users_of_cluster_projects(context);
    }
}

fn enqueue_users_of_cluster_projects(context: &Context) {
    for (_, name) in context.references.named(Referenced::Object(Kind::ClusterProject), None) {
        context.enqueue_users_of_project(&ObjectRef::cluster_project(&name));
    }
}

/// Applies changed permissions, and enqueues the resources concerned and the projects, which count them.
fn permitted(context: &Context, changes: Changes) {
    for (project, namespaces) in changes {
        let users = context.references.users_of_project(&project);
        users.into_iter().filter(|user| namespaces.contains(&user.namespace)).for_each(|user| context.enqueue(user));
        context.enqueue(project);
    }
}

/// Records an object. Enqueues the checks that come after it or take their frontend from it, and the staged
/// connectors that wait for it. These depend on its status (what it has applied, which check passed) or on a
/// project's frontend, which no other resource uses, so nothing else is enqueued.
pub(super) fn seen<K: ManagedKind>(context: &Context, object: &K) {
    context.keys.saw(object);
    let object_ref = object_ref(object);
    let allowed = object.allowed_namespaces();
    if allowed.is_some_and(|allowed| context.permissions.saw_project(&object_ref.name, &allowed)) {
        context.enqueue_users_of_project(&object_ref);
        context.enqueue(object_ref.clone());
    }
    if matches!(K::KIND, Kind::Deployment | Kind::Check) {
        context.enqueue_users(Referenced::Object(K::KIND), &object_ref.namespace, &object_ref.name);
    }
    if K::KIND.is_project() {
        let users = context.references.users_of_project(&object_ref);
        users.into_iter().filter(is_check).for_each(|check| context.enqueue(check));
    }
}

fn is_check(object_ref: &ObjectRef) -> bool {
    object_ref.kind == Kind::Check
}
