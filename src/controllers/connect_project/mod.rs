//! Controller of `ConnectProject` and `ClusterConnectProject`: reads the credentials, claims the remote, and reports whether
//! it answers.
//!
//! It sends nothing itself: the poller of the remote (`controllers/remote`) determines its health, and enqueues the
//! project when that changes. The result is kept for the deployments that name the project, which are enqueued in turn.
//! A project that is being deleted stays, and stays usable, until nothing names it (rule 24; `copy.rs`).
//!
//! If several installs share a namespace, the one that selects a project manages it: it writes its status.
//! Every other install reads the project, and keeps its finalizer, if one of its own resources names it. Whichever
//! install finds that no resource of any install names the project removes the finalizer.

pub mod copy;
mod observe;
pub mod status;

pub use observe::{CREDENTIALS_FIELD, settings, with_credentials};

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt as _;
use kube::api::Api;
use kube::runtime::controller::Action;

use self::observe::Credentials;
use self::status::{ProjectFacts, Users};
use crate::controllers::context::{Context, Project};
use crate::controllers::kinds::managed_kind::{self, has_finalizer};
use crate::controllers::kinds::project_object::ProjectObject;
use crate::controllers::object_ref::{Kind, ObjectRef};
use crate::controllers::objects::patch;
use crate::controllers::reconcile;
use crate::controllers::reconcile::unwritten::Unwritten;
use crate::controllers::references::Named;
use crate::controllers::remote::{Remote, Settings};
use crate::controllers::reporting::conditions::{self, ConditionUpdate};
use crate::controllers::reporting::reason::Reason;
use crate::controllers::reporting::reconcile_outcome::ReconcileOutcome;
use crate::controllers::reporting::refusal::{self, FINALIZERS, STATUS};
use crate::crd::{ConnectProjectSpec, ConnectProjectStatus};

/// Pause before the next reconcile after a Kubernetes API error.
const AFTER_CLUSTER_ERROR: Duration = Duration::from_secs(5);
/// Pause before users are counted again that this process has not reconciled yet: their deletion enqueues nothing.
const COUNT_AGAIN: Duration = Duration::from_secs(5);
/// Pause before the copy of the credentials is tried again: no event follows when it changes, or may be written.
const COPY_AGAIN: Duration = Duration::from_mins(1);
/// Pause before a request is tried again that the API server refused: no event follows when it would be granted.
const REFUSED_AGAIN: Duration = Duration::from_mins(1);

/// Reconciles one project; returns the next action and the outcome. Never fails: errors are reported in the status, or
/// retried.
pub async fn reconcile<P: ProjectObject>(object: Arc<P>, context: Arc<Context>) -> (Action, ReconcileOutcome) {
    let object_ref = managed_kind::object_ref(&*object);
    // Before the users are counted: one that comes during the reconcile sets it again.
    context.requeue_timers.set(&object_ref, None);
    let unwritten = Unwritten::default();
    // Boxed to keep the futures around it small.
    let ended = match Box::pin(reconcile_project(Arc::clone(&object), &context, &object_ref, &unwritten)).await {
        Err(error) => report_kubernetes_error(&*object, &context, &object_ref, &unwritten, refusal::ANY, error).await,
        ended => ended,
    };
    match ended {
        Ok(ended) => (Action::await_change(), ended),
        Err(error) => {
            let refuses = unwritten.report(&context, &*object, "Reconcile", &error);
            let pause = if refuses { REFUSED_AGAIN } else { AFTER_CLUSTER_ERROR };
            reconcile::requeue_after_error(&context, &object_ref, &error, pause)
        }
    }
}

async fn reconcile_project<P: ProjectObject>(
    object: Arc<P>,
    context: &Context,
    object_ref: &ObjectRef,
    unwritten: &Unwritten,
) -> Result<ReconcileOutcome, kube::Error> {
    let api = P::api(context.client.clone(), &object_ref.namespace);
    let manages = context.scope.selects(object.labels());
    let going = reconcile::is_deleting(&*object);
    let users = if going {
        match remove_finalizer_when_unused(&api, &*object, context, object_ref).await? {
            Use::None => return Ok(ReconcileOutcome::Gone),
            users => users,
        }
    } else {
        Use::Known(known_users(context, object_ref))
    };
    if !manages && matches!(users, Use::Known(users) if users.is_none()) {
        forget(context, object_ref);
        return Ok(ReconcileOutcome::Gone);
    }
    let secret = object.project().credentials_secret_ref.name.clone();
    let namespace = object.own_namespace(&context.operator_namespace);
    context.references.set_in(object_ref, &namespace, [(Named::Secret, secret)].into());
    // The finalizer comes first: from here on, resources may use the project.
    let object = if going || has_finalizer(&*object) {
        object
    } else {
        match reconcile::add_finalizer(&api, &*object).await {
            Ok(held) => Arc::new(held),
            Err(error) => {
                return report_kubernetes_error(&*object, context, object_ref, unwritten, FINALIZERS, error).await;
            }
        }
    };
    context.tracker.inventory.used(object_ref);
    let access = access(&*object, context, object_ref).await?;
    publish(&*object, context, object_ref, &access.remote);
    let again = [
        matches!(users, Use::Listed(_)).then_some(COUNT_AGAIN),
        (access.unkept.is_some() || access.gone).then_some(COPY_AGAIN),
        access
            .remote
            .as_ref()
            .is_err_and(|condition| condition.reason == Reason::KubernetesError)
            .then_some(REFUSED_AGAIN),
    ];
    let reason =
        if manages { Some(patch_status(&api, &*object, context, unwritten, users, access).await?) } else { None };
    if let Some(pause) = again.into_iter().flatten().min() {
        context.requeue_timers.set_within(object_ref, pause);
    }
    Ok(ReconcileOutcome::Reported(reason))
}

/// Reports that the API server refused a request, if this install manages the project and the error is worth a
/// condition.
async fn report_kubernetes_error<P: ProjectObject>(
    object: &P,
    context: &Context,
    object_ref: &ObjectRef,
    unwritten: &Unwritten,
    request: &str,
    error: kube::Error,
) -> Result<ReconcileOutcome, kube::Error> {
    if !context.scope.selects(object.labels()) {
        return Err(error);
    }
    let condition = refusal::condition(refusal::Access::Write, request, error)?;
    publish_failure(object, context, object_ref, &condition);
    let api = P::api(context.client.clone(), &object_ref.namespace);
    let users = Use::Known(known_users(context, object_ref));
    let access = Access { remote: Err(condition), unkept: None, gone: false };
    // Boxed to keep the common path's future small: this is rare.
    let reason = Box::pin(patch_status(&api, object, context, unwritten, users, access)).await?;
    context.requeue_timers.set_within(object_ref, REFUSED_AGAIN);
    Ok(ReconcileOutcome::Reported(Some(reason)))
}

/// The resources that name a project.
#[derive(Clone, Copy)]
enum Use {
    /// None; the finalizer was removed.
    None,
    /// These, all of which enqueue the project when they are deleted.
    Known(Users),
    /// These, none of which this process has reconciled yet.
    Listed(Users),
}

/// Counts the users that this process knows. A namespace that may not use the project cannot keep it from being deleted,
/// unless it has something that was created with it (rule 29).
fn known_users(context: &Context, object_ref: &ObjectRef) -> Users {
    let mut users = context.references.users_of_project(object_ref);
    users.retain(|user| !context.permissions.denies(object_ref, &user.namespace) || context.keys.holds(user));
    let count = |kind| u32::try_from(users.iter().filter(|user| user.kind == kind).count()).unwrap_or(u32::MAX);
    Users { deployments: count(Kind::Deployment), staged: count(Kind::Staged) }
}

/// Rule 24: removes the finalizer of a project that is being deleted once nothing names it; its copy is deleted first.
async fn remove_finalizer_when_unused<P: ProjectObject>(
    api: &Api<P>,
    object: &P,
    context: &Context,
    object_ref: &ObjectRef,
) -> Result<Use, kube::Error> {
    let known = known_users(context, object_ref);
    if !known.is_none() {
        return Ok(Use::Known(known));
    }
    let listed = observe::users(context, object).await?;
    if !listed.is_none() {
        return Ok(Use::Listed(listed));
    }
    // No reconcile finds the remote from here on. Count again: one that began just before may use it.
    context.projects.forget(object_ref);
    context.remotes.release(object_ref);
    let listed = observe::users(context, object).await?;
    if !listed.is_none() {
        return Ok(Use::Listed(listed));
    }
    copy::remove(context, object).await?;
    reconcile::remove_finalizer(api, object).await?;
    gone(context, object_ref);
    Ok(Use::None)
}

/// How a project is reached, or why not.
struct Access {
    remote: Result<Arc<Remote>, ConditionUpdate>,
    /// Why there is no up-to-date copy of its credentials.
    unkept: Option<ConditionUpdate>,
    /// Whether the Secret that it names was deleted with its namespace, or before the project.
    gone: bool,
}

async fn access<P: ProjectObject>(
    object: &P,
    context: &Context,
    object_ref: &ObjectRef,
) -> Result<Access, kube::Error> {
    Ok(match observe::credentials(context, object).await? {
        Credentials::Original(settings, secret) => {
            let unkept = copy::keep(context, object, &secret).await?;
            Access { remote: claim(context, object_ref, &settings), unkept, gone: false }
        }
        Credentials::Copied(settings) => {
            Access { remote: claim(context, object_ref, &settings), unkept: None, gone: true }
        }
        // The remote that this process still has in memory is the only way left to reach the project.
        Credentials::Lost(condition) => {
            Access { remote: context.remotes.of(object_ref).ok_or(condition), unkept: None, gone: true }
        }
        Credentials::Unusable(condition) => {
            context.remotes.release(object_ref);
            Access { remote: Err(condition), unkept: None, gone: false }
        }
    })
}

/// Publishes the result for the resources that name the project.
fn publish<P: ProjectObject>(
    object: &P,
    context: &Context,
    object_ref: &ObjectRef,
    remote: &Result<Arc<Remote>, ConditionUpdate>,
) {
    let login = remote.as_ref().ok().map(|remote| remote.login());
    let admits = remote.as_ref().is_ok_and(|remote| remote.has_answered());
    context.keys.admitted(object_ref, &object.project().identity(), admits);
    let region = object.project().region.clone();
    let http_api_url = object.project().effective_http_api_url();
    let project =
        Project { identity: object.project().identity(), region, http_api_url, remote: remote.clone(), login };
    let before = context.projects.insert(object_ref, project.clone());
    if !before.is_some_and(|before| project.is_same(&before)) {
        context.enqueue_users_of_project(object_ref);
        // The project itself, too: if it was deleted during this reconcile, the next one notices.
        context.enqueue(object_ref.clone());
    }
}

/// Publishes why the project cannot be used, unless it could be used before: then its resources go on with what they have.
pub(super) fn publish_failure<P: ProjectObject>(
    object: &P,
    context: &Context,
    object_ref: &ObjectRef,
    condition: &ConditionUpdate,
) {
    let unusable = context.projects.get(object_ref).is_none_or(|project| project.remote.is_err());
    if unusable && object.meta().deletion_timestamp.is_none() {
        publish(object, context, object_ref, &Err(condition.clone()));
    }
}

fn claim(context: &Context, object_ref: &ObjectRef, settings: &Settings) -> Result<Arc<Remote>, ConditionUpdate> {
    context.remotes.claim(object_ref, settings).map_err(|sentence| {
        context.remotes.release(object_ref);
        ConditionUpdate::new(Reason::ConfigurationInvalid, sentence)
    })
}

/// Writes the status; returns the reason of its `Ready` condition.
async fn patch_status<P: ProjectObject>(
    api: &Api<P>,
    object: &P,
    context: &Context,
    unwritten: &Unwritten,
    users: Use,
    access: Access,
) -> Result<Reason, kube::Error> {
    let users = match users {
        Use::None => Users::default(),
        Use::Known(users) | Use::Listed(users) => users,
    };
    let facts = ProjectFacts {
        generation: object.meta().generation.unwrap_or_default(),
        identity: object.project().identity(),
        scopes: access.remote.as_ref().ok().and_then(|remote| remote.scopes()),
        health: access.remote.map(|remote| remote.health()),
        users,
        deleting: reconcile::is_deleting(object),
        unkept: access.unkept,
        credentials: credentials_keys(object.project()),
        copied_from: access.gone.then(|| copy::place(context, object)),
    };
    let before = object
        .reported()
        .cloned()
        .unwrap_or_else(|| ConnectProjectStatus { observed_generation: -1, ..Default::default() });
    let after = status::summarize(&before, &facts, context.clock.now());
    let condition = status::ready_condition(&facts);
    let written = patch::write_status(api, object, &before, &after).await;
    let written = written.inspect_err(|error| unwritten.note(STATUS, &condition, error))?;
    let Some(written) = written else { return Ok(condition.reason) };
    if conditions::ready_reason(&before.conditions) != Some(condition.reason.as_str()) {
        context.event(&written, "Reconcile", &condition);
    }
    Ok(condition.reason)
}

/// Names the keys with the credentials.
fn credentials_keys(project: &ConnectProjectSpec) -> String {
    let keys = &project.credentials_secret_ref;
    format!("the keys {} and {} of Secret {}", keys.client_id_key(), keys.client_secret_key(), keys.name)
}

/// Removes everything in memory about a project that another install manages and no resource of this install names.
fn forget(context: &Context, object_ref: &ObjectRef) {
    context.requeue_timers.set(object_ref, None);
    context.remotes.release(object_ref);
    context.projects.forget(object_ref);
    context.references.forget(object_ref);
    context.tracker.inventory.unused(object_ref);
}

/// Removes everything in memory about a deleted project.
pub fn gone(context: &Context, object_ref: &ObjectRef) {
    forget(context, object_ref);
    context.enqueue_users_of_project(object_ref);
}
