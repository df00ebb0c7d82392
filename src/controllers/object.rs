//! What a run does with its own object, whatever its kind: takes a copy that shows our last write, holds it by the
//! finalizer, lets it go, and says when a run that the cluster refused is done again.
//!
//! Statuses are written by `patch`; what a run decides is in the folder of its kind.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use kube::api::Api;
use kube::core::NamespaceResourceScope;
use kube::runtime::controller::Action;
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::conditions::{ConditionUpdate, ready_reason};
use super::context::{Context, Project};
use super::driver::RemoteKind;
use super::object_ref::ObjectRef;
use super::patch::{patch_metadata, write_status};
use super::problem;
use super::reason::Reason;
use super::refusal::{self, Access};
use super::tracker::ReconcileOutcome;
use crate::crd::ConnectProject;
use crate::names;

/// Pause before a run is done again whose write met a newer version of the resource.
pub const AFTER_CONFLICT: Duration = Duration::from_millis(200);
/// Pause before a run is done again that the cluster itself refused.
const AFTER_CLUSTER_ERROR: Duration = Duration::from_secs(10);

/// What follows a run.
pub enum Next {
    /// The resource may go, or is none of ours any more.
    Gone,
    /// Run again after this time, or when something happens.
    Again(Option<Duration>),
}

/// A kind that can be watched and written: namespaced, and known when this is compiled.
pub trait Object:
    Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> Object for K where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// The resource as it is now. The cached copy is good unless we wrote later than it was made. `written`: the resource
/// version of our last write, which is forgotten once the cache shows it.
///
/// # Errors
/// Those of the API server.
pub async fn current<K: Object>(
    client: &Client,
    cached: Arc<K>,
    written: &mut Option<String>,
) -> Result<Option<Arc<K>>, kube::Error> {
    if written.is_none() || *written == cached.resource_version() {
        return Ok(Some(cached));
    }
    let api = Api::<K>::namespaced(client.clone(), &cached.namespace().unwrap_or_default());
    let Some(found) = api.get_opt(&cached.name_any()).await? else { return Ok(None) };
    if found.meta().uid != cached.meta().uid {
        return Ok(None);
    }
    if found.resource_version() == cached.resource_version() {
        *written = None;
    }
    Ok(Some(Arc::new(found)))
}

/// A resource that is being deleted and does not wait for us is over.
pub fn is_ours<K: Object>(object: &K) -> bool {
    object.meta().deletion_timestamp.is_none() || has_finalizer(object)
}

/// Whether our finalizer holds it.
pub fn has_finalizer<K: Object>(object: &K) -> bool {
    object.finalizers().iter().any(|name| name == names::FINALIZER)
}

/// Adds the finalizer, so that what is at the remote is not forgotten.
///
/// # Errors
/// Those of the API server; 409 if the object was changed meanwhile.
pub async fn add_finalizer<K: Object>(api: &Api<K>, object: &K) -> Result<K, kube::Error> {
    let mut finalizers = object.finalizers().to_vec();
    finalizers.push(names::FINALIZER.to_owned());
    patch_metadata(api, object, json!({ "finalizers": finalizers })).await
}

/// Removes the finalizer: the object may go.
///
/// # Errors
/// Those of the API server; 409 if the object was changed meanwhile.
pub async fn remove_finalizer<K: Object>(api: &Api<K>, object: &K) -> Result<(), kube::Error> {
    let finalizers: Vec<_> = object.finalizers().iter().filter(|name| *name != names::FINALIZER).collect();
    match patch_metadata(api, object, json!({ "finalizers": finalizers })).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        answer => answer.map(|_| ()),
    }
}

/// Writes the id of what is at the remote where a restored backup keeps it (rule 3). `None`: the API server refused, which is
/// an Event only, since nothing but a restored backup needs it.
///
/// # Errors
/// Those of the API server that pass by themselves; 409 if the object was changed meanwhile.
pub async fn annotate<K: Object>(
    context: &Context,
    api: &Api<K>,
    object: &K,
    id: &str,
) -> Result<Option<K>, kube::Error> {
    match patch_metadata(api, object, json!({ "annotations": { names::REMOTE_ID: id } })).await {
        Ok(object) => Ok(Some(object)),
        Err(error) => {
            let condition = refusal::condition(Access::Write, refusal::ANNOTATIONS, error)?;
            context.event(object, "Reconcile", &condition).await;
            Ok(None)
        }
    }
}

/// Writes the status, with the install that works on it, if it says something else than before, and an Event for each new reason. Returns what the API
/// server stored, which is the resource from then on also if there is an error.
///
/// # Errors
/// Those of the API server; and, with the object, that it dropped the operation: the CRD is of an older version, and
/// without what it stores nothing may be sent (rule 1).
pub async fn write<K: RemoteKind>(
    context: &Context,
    api: &Api<K>,
    object: &K,
    mut after: K::Status,
    condition: &ConditionUpdate,
) -> Result<Written<K>, kube::Error> {
    let before = object.status().cloned().unwrap_or_default();
    K::set_controller(&mut after, context.foreign_installs.mine());
    let Some(stored) = write_status(api, object, &before, &after).await? else { return Ok(Written::Nothing) };
    if stored.status().and_then(K::operation) != K::operation(&after) {
        let message = "the served CustomResourceDefinition drops fields of the status: apply the CRDs of this version";
        return Ok(Written::Pruned(stored, kube::Error::Service(message.into())));
    }
    let earlier = ready_reason(K::conditions(&before));
    if earlier != Some(condition.reason.as_str()) && condition.reason != Reason::Queued {
        context.event(&stored, "Reconcile", condition).await;
    }
    Ok(Written::Stored(stored))
}

/// What came of writing a status.
pub enum Written<K> {
    /// It said that already.
    Nothing,
    /// This is the resource now.
    Stored(K),
    /// So it is, but without all that was written.
    Pruned(K, kube::Error),
}

impl<K> Written<K> {
    /// Hands what is the resource now to `take`.
    ///
    /// # Errors
    /// That not all was written.
    pub fn hand_to(self, take: impl FnOnce(K)) -> Result<(), kube::Error> {
        match self {
            Self::Nothing => Ok(()),
            Self::Stored(object) => {
                take(object);
                Ok(())
            }
            Self::Pruned(object, error) => {
                take(object);
                Err(error)
            }
        }
    }
}

/// Reads the resource again, and takes over its version and status if the operation in it is the one that this run wrote.
/// What people ask for stays what the call was sent for; the next run sees the new spec.
///
/// # Errors
/// Those of the API server.
pub async fn is_still_stored<K: RemoteKind>(api: &Api<K>, object: &mut Arc<K>) -> Result<bool, kube::Error> {
    let Some(found) = api.get_opt(&object.name_any()).await? else { return Ok(false) };
    let operations = found.status().and_then(K::operation) == object.status().and_then(K::operation);
    if found.meta().uid != object.meta().uid || !operations {
        return Ok(false);
    }
    let object = Arc::make_mut(object);
    object.meta_mut().resource_version.clone_from(&found.meta().resource_version);
    object.set_status(found.status().cloned());
    Ok(true)
}

/// The project that a resource names.
///
/// # Errors
/// Why there is none: to tell people, or nothing while its own controller has not looked at it yet.
pub async fn project(context: &Context, namespace: &str, name: &str) -> Result<Project, Option<ConditionUpdate>> {
    if let Some(project) = context.projects.get(&ObjectRef::project(namespace, name)) {
        return Ok(project);
    }
    match Api::<ConnectProject>::namespaced(context.client.clone(), namespace).get_opt(name).await {
        Ok(None) => Err(Some(problem::project_missing(name))),
        // Its controller wakes its users once it knows.
        Ok(Some(_)) => Err(None),
        Err(error) => Err(Some(unreadable(&format!("ConnectProject {name}"), error))),
    }
}

/// What to tell of an object that cannot be read.
#[must_use]
pub fn unreadable(what: &str, error: kube::Error) -> ConditionUpdate {
    refusal::condition(Access::Read, &format!("get {what}"), error)
        .unwrap_or_else(|error| ConditionUpdate::new(Reason::InternalError, format!("{what} cannot be read: {error}")))
}

/// How a run ended; `reason`: what the resource says now.
#[must_use]
pub fn ended(outcome: &Result<Next, kube::Error>, reason: Option<Reason>) -> ReconcileOutcome {
    match outcome {
        Ok(Next::Gone) => ReconcileOutcome::Gone,
        Ok(Next::Again(_)) => ReconcileOutcome::Reported(reason),
        Err(error) => ReconcileOutcome::refused(error),
    }
}

/// Ends a reconcile: sets the requeue timer. `None`: the resource is gone.
pub fn conclude(context: &Context, object_ref: &ObjectRef, outcome: Result<Next, kube::Error>) -> Option<Action> {
    match outcome {
        Ok(Next::Gone) => None,
        Ok(Next::Again(pause)) => {
            context.requeue_timers.set(object_ref, pause);
            Some(Action::await_change())
        }
        Err(error) => Some(refused(context, object_ref, &error, AFTER_CLUSTER_ERROR).0),
    }
}

/// What follows a reconcile that the cluster refused, and how it ended. `pause`: how long nothing is tried, if nothing was
/// changed meanwhile. The requeue timer is ours, since what kube's own timer starts takes no slot of the work queue.
pub fn refused(
    context: &Context,
    object_ref: &ObjectRef,
    error: &kube::Error,
    pause: Duration,
) -> (Action, ReconcileOutcome) {
    let ended = ReconcileOutcome::refused(error);
    let pause = if ended == ReconcileOutcome::Conflict {
        tracing::debug!("changed meanwhile, run again");
        AFTER_CONFLICT
    } else {
        tracing::warn!(%error, "the cluster refused");
        pause
    };
    context.requeue_timers.set(object_ref, Some(pause));
    (Action::await_change(), ended)
}

/// The value of an annotation with which people ask for something; longer ones are cut to what a status keeps.
#[must_use]
pub fn request<K: Object>(object: &K, annotation: &str) -> Option<String> {
    object.annotations().get(annotation).map(|value| value.chars().take(256).collect())
}
