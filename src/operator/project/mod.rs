//! Controller of `ConnectProject` and `ClusterConnectProject`: reads the credentials, claims the remote, and reports whether
//! it answers.
//!
//! It sends nothing itself: the poller of the remote (`operator/remote`) determines its health, and enqueues the
//! project when that changes. The result is kept for the deployments that name the project, which are enqueued in turn.
//! A project that is being deleted stays, and stays usable, until nothing names it (rule 24; `copy.rs`).
//!
//! If several installs share a namespace, the one that selects a project manages it: it writes its status.
//! Every other install reads the project, and keeps its finalizer, if one of its own resources names it. Whichever
//! install finds that no resource of any install names the project removes the finalizer.

mod copy;
mod observe;
pub mod status;

pub use observe::{CREDENTIALS_FIELD, settings};

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt as _;
use kube::api::Api;

use self::observe::Credentials;
use self::status::{ProjectFacts, Users};
use crate::crd::ConnectProjectSpec;
use crate::names;
use crate::operator::cluster::objects::patch;
use crate::operator::cluster::references::Referenced;
use crate::operator::context::{Context, Project};
use crate::operator::kinds::managed_kind;
use crate::operator::kinds::project_object::ProjectObject;
use crate::operator::object_ref::{Kind, ObjectRef};
use crate::operator::reconcile;
use crate::operator::remote::{Remote, Settings};
use crate::operator::reporting::conditions::{self, ConditionUpdate};
use crate::operator::reporting::reason::Reason;
use crate::operator::reporting::reconcile_outcome::ReconcileOutcome;
use crate::operator::reporting::refusal::{self, FINALIZERS};

/// Pause before users are counted again that this process has not reconciled yet: their deletion enqueues nothing.
const COUNT_AGAIN: Duration = Duration::from_secs(5);
/// Pause before a request is tried again that the API server refused, such as a write of the copy of the credentials: no event
/// follows when it would be granted.
const REFUSED_AGAIN: Duration = Duration::from_mins(1);

/// Reconciles one project; returns the outcome.
///
/// # Errors
/// Those of the API server that no status reports: that the status cannot be written, and those that pass by themselves.
pub async fn reconcile<P: ProjectObject>(
    object: Arc<P>,
    context: Arc<Context>,
) -> Result<ReconcileOutcome, kube::Error> {
    let object_ref = managed_kind::object_ref(&*object);
    // Before the users are counted: one that comes during the reconcile sets it again.
    context.requeue_timers.set(&object_ref, None);
    let api = P::api(context.client.clone(), &object_ref.namespace);
    let mut run = Reconciler { api, object, context: &context, object_ref: &object_ref };
    // Boxed to keep the futures around it small.
    match Box::pin(run.reconcile()).await {
        Err(error) => Box::pin(run.report_refusal(refusal::ANY, error)).await,
        ended => ended,
    }
}

/// How a project is reached, or why not.
struct Access {
    remote: Result<Arc<Remote>, ConditionUpdate>,
    /// Why there is no up-to-date copy of its credentials.
    unkept: Option<ConditionUpdate>,
    /// Whether the Secret that it names was deleted with its namespace, or before the project.
    gone: bool,
}

struct Reconciler<'a, P> {
    api: Api<P>,
    object: Arc<P>,
    context: &'a Context,
    object_ref: &'a ObjectRef,
}

impl<P: ProjectObject> Reconciler<'_, P> {
    async fn reconcile(&mut self) -> Result<ReconcileOutcome, kube::Error> {
        let (context, object_ref) = (self.context, self.object_ref);
        let is_deleting = reconcile::is_deleting(&*self.object);
        let mut users = known_users(context, object_ref);
        let are_known = !is_deleting || !users.is_none();
        if !are_known {
            users = self.release().await?;
            if users.is_none() {
                return Ok(ReconcileOutcome::Gone);
            }
        }
        if !self.is_managed() && users.is_none() {
            forget(context, object_ref);
            return Ok(ReconcileOutcome::Gone);
        }
        let project = self.object.project();
        let secrets = [&project.credentials_secret_ref].into_iter().chain(&project.http_api.credentials_secret_ref);
        let secrets = secrets.map(|reference| (Referenced::Secret, reference.name.clone())).collect();
        let namespace = self.object.own_namespace(&context.settings.operator_namespace);
        context.references.set_in(object_ref, &namespace, secrets);
        // The finalizer comes first: from here on, resources may use the project.
        match reconcile::ensure_finalizer(&self.api, &*self.object).await {
            Ok(held) => self.object = held.map_or_else(|| Arc::clone(&self.object), Arc::new),
            Err(error) => return self.report_refusal(FINALIZERS, error).await,
        }
        let access = self.access().await?;
        let http_api = observe::http_api(context, &*self.object).await?;
        let unusable =
            access.remote.as_ref().err().into_iter().chain(http_api.as_ref().and_then(|it| it.as_ref().err()));
        let is_refused = unusable.into_iter().any(|condition| condition.reason == Reason::KubernetesError);
        publish(&*self.object, context, object_ref, http_api, &access.remote);
        let again = [
            (!are_known).then_some(COUNT_AGAIN),
            (is_refused || access.unkept.is_some() || access.gone).then_some(REFUSED_AGAIN),
        ];
        let reason = if self.is_managed() { Some(self.patch_status(users, access).await?) } else { None };
        if let Some(pause) = again.into_iter().flatten().min() {
            context.requeue_timers.set_within(object_ref, pause);
        }
        Ok(ReconcileOutcome::Reported(reason))
    }

    /// Whether this install manages the project.
    fn is_managed(&self) -> bool {
        self.context.settings.scope.selects(self.object.labels())
    }

    /// Rule 24: removes the finalizer of a project that is being deleted once nothing names it; its copy is deleted first.
    /// Returns the resources that still name it.
    async fn release(&self) -> Result<Users, kube::Error> {
        let (context, object_ref) = (self.context, self.object_ref);
        let users = observe::users(context, &*self.object).await?;
        if !users.is_none() {
            return Ok(users);
        }
        // No reconcile finds the remote from here on. Count again: one that began just before may use it.
        context.memory.projects.forget(object_ref);
        context.remotes.release(object_ref);
        let users = observe::users(context, &*self.object).await?;
        if users.is_none() {
            copy::remove(context, &*self.object).await?;
            reconcile::remove_finalizer(&self.api, &*self.object).await?;
            gone(context, object_ref);
        }
        Ok(users)
    }

    async fn access(&self) -> Result<Access, kube::Error> {
        let (context, object_ref) = (self.context, self.object_ref);
        let (mut unkept, mut gone) = (None, false);
        let remote = match observe::credentials(context, &*self.object).await? {
            Credentials::Original(settings, secret) => {
                unkept = copy::keep(context, &*self.object, &secret).await?;
                claim(context, object_ref, &settings)
            }
            Credentials::Copied(settings) => {
                gone = true;
                claim(context, object_ref, &settings)
            }
            // The remote that this process still has in memory is the only way left to reach the project.
            Credentials::Lost(condition) => {
                gone = true;
                context.remotes.of(object_ref).ok_or(condition)
            }
            Credentials::Unusable(condition) => {
                context.remotes.release(object_ref);
                Err(condition)
            }
        };
        Ok(Access { remote, unkept, gone })
    }

    /// Writes the status; returns the reason of its `Ready` condition.
    async fn patch_status(&self, users: Users, access: Access) -> Result<Reason, kube::Error> {
        let (context, object) = (self.context, &*self.object);
        let before = object.status().cloned().unwrap_or_default();
        let generation = object.meta().generation.unwrap_or_default();
        let facts = ProjectFacts {
            generation,
            was_available: before.observed_generation == generation
                && conditions::ready_reason(&before.conditions) == Some(Reason::Available.as_str()),
            identity: object.project().identity(),
            // Before the health is read, which it may change.
            handled: reconcile::request(object, names::RECONCILE_REQUESTED_AT)
                .filter(|request| before.handled_reconcile_request.as_ref() != Some(request))
                .filter(|request| access.remote.as_ref().map_or(true, |remote| remote.has_listed_for(request))),
            scopes: access.remote.as_ref().ok().and_then(|remote| remote.scopes()),
            health: access.remote.map(|remote| remote.health()),
            users,
            deleting: reconcile::is_deleting(object),
            unkept: access.unkept,
            credentials: credentials_keys(object.project()),
            copied_from: access.gone.then(|| copy::place(context, object)),
        };
        let after = status::summarize(&before, &facts, context.clock.now());
        let condition = status::ready_condition(&facts);
        let written = patch::write_status(&self.api, object, &before, &after).await?;
        let is_new = conditions::ready_reason(&before.conditions) != Some(condition.reason.as_str());
        if let Some(written) = written.filter(|_| is_new) {
            context.event(&written, "Reconcile", &condition);
        }
        Ok(condition.reason)
    }

    /// Reports that the API server refused a request, if this install manages the project and the error is worth a
    /// condition.
    async fn report_refusal(&self, request: &str, error: kube::Error) -> Result<ReconcileOutcome, kube::Error> {
        if !self.is_managed() {
            return Err(error);
        }
        let condition = refusal::condition(refusal::Access::Write, request, error)?;
        publish_failure(&*self.object, self.context, self.object_ref, &condition);
        let users = known_users(self.context, self.object_ref);
        let access = Access { remote: Err(condition), unkept: None, gone: false };
        // Boxed to keep the common path's future small: this is rare.
        let reason = Box::pin(self.patch_status(users, access)).await?;
        Ok(ReconcileOutcome::Reported(Some(reason)))
    }
}

/// Counts the users that this process knows. A namespace that may not use the project cannot keep it from being deleted,
/// unless it has something that was created with it (rule 29).
fn known_users(context: &Context, object_ref: &ObjectRef) -> Users {
    let mut users = context.references.users_of_project(object_ref);
    users.retain(|user| !context.permissions.denies(object_ref, &user.namespace) || context.keys.holds(user));
    let count = |kind| u32::try_from(users.iter().filter(|user| user.kind == kind).count()).unwrap_or(u32::MAX);
    Users { deployments: count(Kind::Deployment), staged: count(Kind::Staged) }
}

/// Publishes the result for the resources that name the project.
fn publish<P: ProjectObject>(
    object: &P,
    context: &Context,
    object_ref: &ObjectRef,
    http_api: Option<Result<Settings, ConditionUpdate>>,
    remote: &Result<Arc<Remote>, ConditionUpdate>,
) {
    let region = object.project().region.clone();
    let http_api_url = object.project().effective_http_api_url();
    let identity = object.project().identity();
    let project = Project { identity, region, http_api_url, http_api, remote: remote.clone() };
    let before = context.memory.projects.insert(object_ref, project.clone());
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
    let unusable = context.memory.projects.get(object_ref).is_none_or(|project| project.remote.is_err());
    if unusable && object.meta().deletion_timestamp.is_none() {
        publish(object, context, object_ref, None, &Err(condition.clone()));
    }
}

fn claim(context: &Context, object_ref: &ObjectRef, settings: &Settings) -> Result<Arc<Remote>, ConditionUpdate> {
    context.remotes.claim(object_ref, settings).map_err(|sentence| {
        context.remotes.release(object_ref);
        ConditionUpdate::new(Reason::ConfigurationInvalid, sentence)
    })
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
    context.memory.projects.forget(object_ref);
    context.references.forget(object_ref);
}

/// Removes everything in memory about a deleted project.
pub fn gone(context: &Context, object_ref: &ObjectRef) {
    forget(context, object_ref);
    context.enqueue_users_of_project(object_ref);
}
