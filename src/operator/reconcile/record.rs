//! What a reconcile does for an object that stands for a record of the Connect API, the same for both kinds.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::ResourceExt;
use kube::api::Api;
use kube::core::object::HasStatus;
use kube::runtime::events::EventType;
use serde::Serialize;
use serde_json::json;

use crate::crd::shared::RemoteIdentity;
use crate::crd::{ClusterConnectProject, ConnectProject};
use crate::names;
use crate::operator::cluster::keys::ClaimStatus;
use crate::operator::cluster::objects::patch;
use crate::operator::cluster::permissions::Permission;
use crate::operator::cluster::references::Reference;
use crate::operator::context::{Context, Project};
use crate::operator::kinds::managed_kind::{ClaimRequest, ManagedKind, has_finalizer};
use crate::operator::object_ref::{Kind, ObjectRef};
use crate::operator::remote::{ConcurrencyPermit, NotAdmitted, Remote};
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::event_reason::EventReason;
use crate::operator::reporting::problem;
use crate::operator::reporting::reason::Reason;
use crate::operator::reporting::refusal::{self, Access};

use super::{KEY_AGAIN, NOT_YET_RECONCILED_AGAIN, Next, is_deleting, remove_finalizer, unreadable};

/// Pause before a project that is missing or cannot be read is looked up again; its appearance enqueues earlier.
const PROJECT_AGAIN: Duration = Duration::from_mins(1);

/// Why a reconcile ends before its decision is carried out.
pub enum Stop {
    /// The API server refused this request, or did not answer.
    Refused(&'static str, kube::Error),
    /// The status reports it. The duration: when to look again; `None`: at the next event.
    Report(ConditionUpdate, Option<Duration>),
    /// The same, and what was observed until now says nothing about the time after.
    Leave(ConditionUpdate, Option<Duration>),
    /// Rule 20: the remote, or the record, cannot be read. The status of what is settled stays.
    Outage(ConditionUpdate, Option<Duration>),
    /// Nothing is reported.
    End(Next),
}

impl From<kube::Error> for Stop {
    fn from(error: kube::Error) -> Self {
        Self::Refused(refusal::ANY, error)
    }
}

/// Rule 29: passes if the resource may use the project that it names.
///
/// # Errors
/// Otherwise everything stays as it is. What allows the namespace enqueues the resource.
pub fn must_be_permitted(context: &Context, object_ref: &ObjectRef, project: &ObjectRef) -> Result<(), Stop> {
    match context.permissions.permission(project, &object_ref.namespace) {
        Permission::Denied(condition) => Err(Stop::Leave(condition, None)),
        Permission::Granted | Permission::Unknown => Ok(()),
    }
}

/// Rule 4: passes if the resource owns its key.
///
/// # Errors
/// Otherwise the key is left to its owner, until the resource looks again.
pub async fn must_own_key<K: ManagedKind>(
    context: &Context,
    api: &Api<K>,
    object: &K,
    claim: ClaimStatus,
) -> Result<(), Stop> {
    let key = || object.claim().map(|claim| claim.key).unwrap_or_default();
    Err(match claim {
        ClaimStatus::Owner => return Ok(()),
        ClaimStatus::Unknown => Stop::End(Next::Again(Some(KEY_AGAIN))),
        ClaimStatus::Unlisted => Stop::Report(problem::unlisted(&key()), None),
        ClaimStatus::HeldBy(_) if is_deleting(object) => Stop::End(release(context, api, object, false).await?),
        ClaimStatus::HeldBy(owner) => {
            Stop::Leave(problem::key_conflict(K::KIND.as_str(), &owner, &key()), Some(KEY_AGAIN))
        }
    })
}

/// Returns the project that the resource names, and may use. `interval`: when to look again at one that has changed.
///
/// # Errors
/// Why there is none yet, or why it is not that of the record.
pub async fn project<K: ManagedKind>(
    context: &Context,
    object: &K,
    project: &ObjectRef,
    interval: Duration,
) -> Result<Project, Stop> {
    let namespace = object.namespace().unwrap_or_default();
    let is_granted = context.permissions.permission(project, &namespace) == Permission::Granted;
    // Its controller enqueues the resources that name it once it knows the project.
    let not_yet = Stop::End(Next::Again(Some(NOT_YET_RECONCILED_AGAIN)));
    match context.memory.projects.get(project) {
        Some(found) if is_granted => {
            return match identity_changed(object, &found.identity) {
                Some(condition) => Err(Stop::Report(condition, Some(interval))),
                None => Ok(found),
            };
        }
        // At a start, resources come here before the reconcile of their project has ended.
        Some(_) => return Err(not_yet),
        None if context.memory.shown.get(project).is_some() => return Err(not_yet),
        None => {}
    }
    let (client, name) = (context.client.clone(), &project.name);
    let found = if project.kind.is_cluster_scoped() {
        Api::<ClusterConnectProject>::all(client).get_metadata_opt(name).await.map(|found| found.is_some())
    } else {
        Api::<ConnectProject>::namespaced(client, &namespace).get_metadata_opt(name).await.map(|found| found.is_some())
    };
    let condition = match found {
        Ok(true) => return Err(not_yet),
        Ok(false) => problem::project_missing(project),
        Err(error) => unreadable(&format!("{} {name}", project.kind.as_str()), error),
    };
    Err(Stop::Report(condition, Some(PROJECT_AGAIN)))
}

/// Returns the right to use the remote, once its circuit breaker and its concurrency limit let the resource pass.
///
/// # Errors
/// Why the remote cannot be used.
pub async fn enter(remote: &Remote, object_ref: &ObjectRef) -> Result<ConcurrencyPermit, Stop> {
    remote.enter(object_ref).await.map_err(|refused| match refused {
        NotAdmitted::Moved => Stop::End(Next::Again(Some(Duration::ZERO))),
        NotAdmitted::CircuitOpen(outage) => {
            Stop::Outage(problem::condition_of_outage(&outage, &remote.settings().project_key), None)
        }
    })
}

/// Forgets what both kinds keep of a resource that does not exist any more, or that is left to others.
pub fn forget(context: &Context, object_ref: &ObjectRef) {
    context.requeue_timers.set(object_ref, None);
    context.remotes.forget(object_ref);
    let projects = context.references.projects(object_ref);
    context.references.forget(object_ref);
    for project in &projects {
        context.users_changed(project);
    }
}

/// Remembers which objects enqueue this resource: its project, and what else it waits for.
pub fn note_references(context: &Context, object_ref: &ObjectRef, project: &ObjectRef, named: BTreeSet<Reference>) {
    let before = context.references.projects(object_ref);
    context.references.set(object_ref, named);
    if before != [project.clone()] {
        // It is polled at the remote of its project only.
        if !before.is_empty() {
            context.remotes.forget(object_ref);
        }
        before.iter().chain([project]).for_each(|project| context.users_changed(project));
    }
}

/// Reports a project that was changed under a record: the record is in another project (rule 2). `now`: the project that
/// the `ConnectProject` names.
pub fn identity_changed<K: ManagedKind>(object: &K, now: &RemoteIdentity) -> Option<ConditionUpdate> {
    let claim = object.claim()?;
    let before = claim.remote.filter(|before| (claim.id.is_some() || claim.operation) && before != now)?;
    let message = format!(
        "This {} was created in project {} at {}, and the ConnectProject now names project {} at {}: set it back",
        K::KIND.as_str(),
        before.project_key,
        before.api_url,
        now.project_key,
        now.api_url
    );
    Some(ConditionUpdate::new(Reason::IdentityChanged, message))
}

/// Writes `after` into the status if it differs from `before`, the stored one, with an Event for each new reason.
/// `before_reason`: that of the Ready condition in `before`; `has_state`: whether the object has the state that `after` has.
/// Returns the object as the API server stored it; `None` if the status is unchanged.
///
/// # Errors
/// Those of the API server; 409 if the object was changed meanwhile; and that it dropped the state: the served CRD is older
/// than this version, and without a stored state nothing may be sent (rule 1).
pub async fn write_status<K: ManagedKind, S: Serialize>(
    (context, api): (&Context, &Api<K>),
    object: &K,
    (before, after): (&S, &S),
    condition: &ConditionUpdate,
    before_reason: Option<&str>,
    has_state: impl Fn(&K) -> bool,
) -> Result<Option<K>, kube::Error> {
    let Some(stored) = patch::write_status(api, object, before, after).await? else { return Ok(None) };
    if !has_state(&stored) {
        let message = "the served CustomResourceDefinition drops fields of the status: apply the CRDs of this version";
        return Err(kube::Error::Service(message.into()));
    }
    if condition.event && before_reason != Some(condition.reason.as_str()) {
        context.event(&stored, "Reconcile", condition);
    }
    Ok(Some(stored))
}

/// Takes over what others have changed of an object since it was read, except for its spec, for which the call was planned: the
/// next reconcile sees the new one. Returns whether `state`, what the operator remembers, is what was read: then nobody has
/// concluded anything from the call yet.
pub fn take_over<K, S>(object: &mut K, found: &K, state: impl Fn(&K) -> S) -> bool
where
    K: ManagedKind + HasStatus<Status: Clone>,
    S: PartialEq,
{
    let is_unchanged = state(object) == state(found);
    if object.meta().uid != found.meta().uid {
        return false;
    }
    let (mine, theirs) = (object.meta_mut(), found.meta());
    mine.resource_version.clone_from(&theirs.resource_version);
    mine.finalizers.clone_from(&theirs.finalizers);
    mine.deletion_timestamp.clone_from(&theirs.deletion_timestamp);
    *object.status_mut() = found.status().cloned();
    is_unchanged
}

/// Writes the id of the record into an annotation, which a backup keeps, unlike the status (rule 3). Returns the object as
/// the API server stored it; `None`: the annotation is there, or the API server refused, which is an Event only, because only
/// a restored backup needs the annotation.
///
/// # Errors
/// Those of the API server that pass by themselves; 409 if the object changed meanwhile.
pub async fn annotate<K: ManagedKind>(
    context: &Context,
    api: &Api<K>,
    object: &K,
    id: &str,
) -> Result<Option<K>, kube::Error> {
    if object.annotations().get(names::REMOTE_ID).is_some_and(|known| known == id) {
        return Ok(None);
    }
    match patch::patch_metadata(api, object, json!({ "annotations": { names::REMOTE_ID: id } })).await {
        Ok(object) => Ok(Some(object)),
        Err(error) => {
            let condition = refusal::condition(Access::Write, refusal::ANNOTATIONS, error)?;
            context.event(object, "Reconcile", &condition);
            Ok(None)
        }
    }
}

/// Removes the finalizer, and reports in an Event what became of the record. `is_gone`: it was deleted; otherwise it was left
/// as it is.
///
/// # Errors
/// Those of the API server; 409 if the object changed meanwhile.
pub async fn release<K: ManagedKind>(context: &Context, api: &Api<K>, object: &K, is_gone: bool) -> Result<Next, Stop> {
    if !has_finalizer(object) {
        return Ok(Next::Gone);
    }
    remove_finalizer(api, object).await.map_err(|error| Stop::Refused(refusal::FINALIZERS, error))?;
    let (record, end) = if K::KIND == Kind::Staged {
        ("staged connector", EventReason::Deleted)
    } else {
        ("remote deployment", EventReason::Undeployed)
    };
    let annotated = object.annotations().get(names::REMOTE_ID).map(String::as_str);
    let left = || object.claim().map(|claim| orphaned(record, &claim, annotated)).unwrap_or_default();
    let (reason, note) = if is_gone { (end, format!("The {record} is gone")) } else { (EventReason::Orphaned, left()) };
    tracing::info!(reason = reason.as_str(), "{note}");
    context.report(object, EventType::Normal, reason, "Reconcile", &note);
    Ok(Next::Gone)
}

/// Describes what stays at the remote when an object is deleted and its record is not. `annotated`: the id in the
/// annotation of the object.
fn orphaned(record: &str, claim: &ClaimRequest, annotated: Option<&str>) -> String {
    let key = &claim.key;
    let place = claim.remote.as_ref().map(|remote| format!(" in project {}", remote.project_key)).unwrap_or_default();
    let manage = "delete it there, or manage it again with a resource that has adoptionPolicy: Adopt";
    match claim.id.as_deref().or(annotated) {
        Some(id) => format!("The {record} with key {key} and id {id} stays{place}: {manage}"),
        None if claim.operation => {
            format!("A create was in progress, so a {record} with key {key} may exist{place}: {manage}")
        }
        None => format!("This object created nothing with key {key}, so nothing of it stays{place}"),
    }
}

/// Reports a record that stays because somebody removed the object together with its finalizer while it was created.
pub fn report_left_behind<K: ManagedKind>(context: &Context, object: &K, id: &str) {
    let note = format!(
        "The object was deleted without its finalizer while it was being created, so {id} stays at the remote: delete \
         it there, or create the object again with adoptionPolicy: Adopt"
    );
    tracing::warn!("{note}");
    context.report(object, EventType::Warning, EventReason::Orphaned, "Reconcile", &note);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd::shared::{ProjectKind, ProjectRef};

    #[test]
    fn an_orphaned_object_is_named_by_key_id_and_project() {
        let claim = |id: Option<&str>, operation| ClaimRequest {
            project: ProjectRef { kind: ProjectKind::ConnectProject, name: "shop".to_owned() },
            key: "shop_tax".to_owned(),
            remote: Some(RemoteIdentity { api_url: "https://api".into(), project_key: "demo".into() }),
            id: id.map(ToOwned::to_owned),
            operation,
            claims: true,
        };
        for (case, claim, annotated, expected) in [
            ("known", claim(Some("one"), false), None, "key shop_tax and id one stays in project demo"),
            ("by its annotation", claim(None, false), Some("two"), "key shop_tax and id two stays in project demo"),
            ("during its create", claim(None, true), None, "key shop_tax may exist in project demo"),
            ("never created", claim(None, false), None, "created nothing with key shop_tax"),
            (
                "no project",
                ClaimRequest { remote: None, ..claim(Some("one"), false) },
                None,
                "key shop_tax and id one stays: delete it",
            ),
        ] {
            let note = orphaned("remote object", &claim, annotated);
            assert!(note.contains(expected), "{case}: {note}");
        }
    }
}
