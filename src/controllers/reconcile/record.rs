//! What a reconcile does for an object that stands for a record of the Connect API, the same for both kinds.

use std::collections::BTreeSet;

use kube::ResourceExt;
use kube::api::Api;
use kube::core::object::HasStatus;
use kube::runtime::events::EventType;
use serde::Serialize;
use serde_json::json;

use crate::controllers::context::Context;
use crate::controllers::kinds::managed_kind::{ClaimRequest, ManagedKind};
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::objects::patch;
use crate::controllers::references::Reference;
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::event_reason::EventReason;
use crate::controllers::reporting::reason::Reason;
use crate::controllers::reporting::refusal::{self, Access};
use crate::crd::shared::RemoteIdentity;
use crate::names;

use super::remove_finalizer;

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
        before.iter().chain([project]).for_each(|project| context.users_changed(project));
    }
}

/// Reports a project that was changed under a record: the record is in another project (rule 2). `now`: the project that
/// the `ConnectProject` names.
#[must_use]
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

/// Removes the finalizer, and reports in an Event what became of the record. `ended`: how the record ended; `None`: it was
/// left as it is. `record`: what a record is called.
///
/// # Errors
/// Those of the API server; 409 if the object changed meanwhile.
pub async fn release<K: ManagedKind>(
    context: &Context,
    api: &Api<K>,
    object: &K,
    record: &str,
    ended: Option<(EventReason, &str)>,
) -> Result<(), kube::Error> {
    remove_finalizer(api, object).await?;
    let annotated = object.annotations().get(names::REMOTE_ID).map(String::as_str);
    let left = || object.claim().map(|claim| orphaned(record, &claim, annotated)).unwrap_or_default();
    let (reason, note) =
        ended.map_or_else(|| (EventReason::Orphaned, left()), |(reason, note)| (reason, note.to_owned()));
    tracing::info!(reason = reason.as_str(), "{note}");
    context.report(object, EventType::Normal, reason, "Reconcile", &note);
    Ok(())
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
