//! Writes and removes Connector objects. Decides nothing.

use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch};
use serde_json::json;

use super::desired::{self, Desired, Owner};
use super::errors::{OfRequest as _, RequestError};
use super::observe;
use crate::controllers::objects::patch::{patch_params, patch_status, post_params, status_patch};
use crate::crd::Connector;
use crate::leader::scope::Labels;

/// Maximum attempts of a write that conflicts with a newer version of the object.
const ATTEMPTS: u32 = 5;
/// Verb of the request that writes a status.
const STATUS: &str = "patch the status of";

/// The result of a write.
pub(super) struct Written {
    pub(super) object: Connector,
    /// Whether it created the object.
    pub(super) made: bool,
    /// Whether it overwrote changes by another writer.
    pub(super) changed_by_others: bool,
}

/// Creates or updates an object, with these labels. `there`: whether it is known to exist. Returns `None` if it is being deleted: it is
/// created again afterwards.
///
/// # Errors
/// Errors of the API server.
pub(super) async fn write(
    api: &Api<Connector>,
    name: &str,
    desired: &Desired,
    labels: &Labels,
    mut there: bool,
) -> Result<Option<Written>, RequestError> {
    for attempt in 1.. {
        match attempt_to_write(api, name, desired, labels, there).await {
            // Changed, created or deleted meanwhile: read it first in the next attempt.
            Err(RequestError { error: kube::Error::Api(status), .. })
                if attempt < ATTEMPTS && matches!(status.code, 404 | 409) =>
            {
                there = true;
            }
            answer => return answer,
        }
    }
    Ok(None)
}

async fn attempt_to_write(
    api: &Api<Connector>,
    name: &str,
    desired: &Desired,
    labels: &Labels,
    there: bool,
) -> Result<Option<Written>, RequestError> {
    let found = if there { api.get_opt(name).await.reading(&format!("get Connector {name}"))? } else { None };
    let (object, made) = match found {
        Some(object) => (object, false),
        None => (create(api, name, desired, labels).await.writing("create", name)?, true),
    };
    if object.metadata.deletion_timestamp.is_some() {
        return Ok(None);
    }
    let changed_by_others = desired::print(&object).changed_by_others;
    let object = bring_in_line(api, object, desired, labels).await.writing("patch", name)?;
    let status = status_patch(&object.status.as_ref(), &Some(&desired.status)).writing(STATUS, name)?;
    let object = match status {
        Some(status) => patch_status(api, &object, status).await.writing(STATUS, name)?,
        None => object,
    };
    Ok(Some(Written { object, made, changed_by_others }))
}

async fn create(
    api: &Api<Connector>,
    name: &str,
    desired: &Desired,
    labels: &Labels,
) -> Result<Connector, kube::Error> {
    let object = Connector {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(labels.clone()),
            owner_references: Some(desired.owners.clone()),
            ..ObjectMeta::default()
        },
        spec: desired.spec.clone(),
        status: None,
    };
    api.create(&post_params(), &object).await
}

/// Corrects spec and owner. Other labels and annotations belong to users and their tools, and are no reason to write.
async fn bring_in_line(
    api: &Api<Connector>,
    object: Connector,
    desired: &Desired,
    labels: &Labels,
) -> Result<Connector, kube::Error> {
    let owners = object.metadata.owner_references.as_ref();
    if object.spec == desired.spec && owners == Some(&desired.owners) {
        return Ok(object);
    }
    let version = object.resource_version();
    let patch = json!({
        "metadata": {"resourceVersion": version, "labels": labels, "ownerReferences": desired.owners},
        "spec": desired.spec,
    });
    api.patch(&object.name_any(), &patch_params(), &Patch::Merge(patch)).await
}

/// Deletes an object, if it exists.
///
/// # Errors
/// Errors of the API server.
pub(super) async fn remove(api: &Api<Connector>, name: &str) -> Result<(), RequestError> {
    match api.delete(name, &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        answer => answer.map(|_| ()).writing("delete", name),
    }
}

/// Deletes every object of a project.
///
/// # Errors
/// Errors of the API server.
pub(super) async fn remove_all(api: &Api<Connector>, owner: &Owner) -> Result<(), RequestError> {
    // Limited to one, so that a namespace without objects costs one small request.
    let first = api.list_metadata(&ListParams::default().limit(1)).await.reading(observe::LIST)?;
    if first.items.is_empty() {
        return Ok(());
    }
    let (objects, _) = observe::objects(api, owner).await?;
    for name in objects.keys() {
        remove(api, name).await?;
    }
    Ok(())
}
