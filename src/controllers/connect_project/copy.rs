//! The copy of a project's credentials in the operator's namespace (rule 24). With it the operator can undeploy after
//! the Secret was deleted with its namespace, even if the operator was started later.
//!
//! The copy is written when it differs from the Secret that the project names, and used only after that Secret is gone,
//! which `observe.rs` decides. The credentials themselves are not kept in memory here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch};
use kube::core::{PartialObjectMeta, Status};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::controllers::context::Context;
use crate::controllers::context::copies::{Copies, Kept};
use crate::controllers::kinds::project_object::ProjectObject;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::objects::patch::{merge_patch, patch_params, post_params};
use crate::controllers::objects::secret;
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::reason::Reason;
use crate::controllers::reporting::refusal::{self, Access};
use crate::controllers::tracking::initial_lists::PAGE;
use crate::crd::{ClusterConnectProject, ConnectProject, CredentialsRef};
use crate::error_text::with_causes;
use crate::leader::scope::Labels;
use crate::names;

/// Pause before the next search for leftover copies. Another replica that has just lost the lease may have made one for a
/// project that it did not see being deleted.
const SWEEP_AGAIN: Duration = Duration::from_hours(1);

type Data = BTreeMap<String, ByteString>;

/// Returns the name of the copy, which contains the uid: another project of the same name has another copy.
fn name<P: ProjectObject>(object: &P) -> String {
    format!("{}{}", names::CREDENTIALS_COPY, object.meta().uid.as_deref().unwrap_or_default())
}

/// Returns where the copy of a project is, for messages.
pub(super) fn place<P: ProjectObject>(copies: &Copies, object: &P) -> String {
    format!("{}/{}", copies.namespace(), name(object))
}

fn api(context: &Context) -> Api<Secret> {
    Api::namespaced(context.client.clone(), context.copies.namespace())
}

/// Writes the copy if it is not known to be up to date. The inner error is for users.
///
/// # Errors
/// When the API server cannot be reached or is busy, or the copy was changed meanwhile.
pub(super) async fn keep<P: ProjectObject>(
    context: &Context,
    object_ref: &ObjectRef,
    object: &P,
    original: &Secret,
) -> Result<Result<(), ConditionUpdate>, kube::Error> {
    let data = copied(original, &object.project().credentials_secret_ref);
    let kept = Kept { uid: object.meta().uid.clone().unwrap_or_default(), fingerprint: fingerprint(&data) };
    if context.copies.is_kept(object_ref, &kept) {
        return Ok(Ok(()));
    }
    match write(context, object, data).await {
        Ok(()) => {
            context.copies.note(object_ref, kept);
            Ok(Ok(()))
        }
        Err(kube::Error::Api(status)) if refusal::is_definite(Access::Write, &status) => {
            Ok(Err(not_kept(&context.copies, object, &status)))
        }
        Err(error) => Err(error),
    }
}

fn not_kept<P: ProjectObject>(copies: &Copies, object: &P, status: &Status) -> ConditionUpdate {
    let message = format!(
        "No copy of the credentials can be kept in the Secret {}, so deployments could not be taken down after this \
         namespace was deleted: let the operator get, list, create, patch and delete Secrets in the namespace {} ({}). \
         {}",
        place(copies, object),
        copies.namespace(),
        status.message,
        refusal::LABELS
    );
    ConditionUpdate::new(Reason::CredentialsNotKept, message)
}

/// Returns the part of the Secret that is copied, under the same keys.
fn copied(original: &Secret, credentials: &CredentialsRef) -> Data {
    let keys = [credentials.client_id_key(), credentials.client_secret_key(), names::SCOPES];
    let values = original.data.iter().flatten().filter(|(key, _)| keys.contains(&key.as_str()));
    values.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Returns a digest that distinguishes credentials without containing them.
fn fingerprint(data: &Data) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for (key, value) in data {
        for part in [key.as_bytes(), &value.0] {
            hasher.update(part.len().to_be_bytes());
            hasher.update(part);
        }
    }
    hasher.finalize().into()
}

async fn write<P: ProjectObject>(context: &Context, object: &P, data: Data) -> Result<(), kube::Error> {
    let (api, name) = (api(context), name(object));
    let Some(found) = read_by_name(context, &name).await? else {
        let made = api.create(&post_params(), &made(name, object, data, &context.scope.labels())).await;
        return made.map(|_| ()).map_err(secret::without_content);
    };
    let Some(patch) = changed(&found, &data, &context.scope.labels()) else { return Ok(()) };
    api.patch(&name, &patch_params(), &Patch::Merge(patch)).await.map(|_| ()).map_err(secret::without_content)
}

fn made<P: ProjectObject>(name: String, object: &P, data: Data, labels: &Labels) -> Secret {
    let mut labels = labels.clone();
    labels.insert(names::PROJECT_NAMESPACE.to_owned(), object.namespace().unwrap_or_default());
    Secret {
        metadata: ObjectMeta {
            name: Some(name),
            labels: Some(labels),
            annotations: Some(BTreeMap::from([(names::PROJECT_NAME.to_owned(), object.name_any())])),
            ..ObjectMeta::default()
        },
        type_: Some(names::CREDENTIALS_COPY_TYPE.to_owned()),
        data: Some(data),
        ..Secret::default()
    }
}

/// Returns the patch for a copy; `None` if it is up to date. Other labels alone are no reason to write it.
fn changed(found: &Secret, data: &Data, labels: &Labels) -> Option<Value> {
    let change = merge_patch(&json!(found.data), &json!(data))?;
    Some(json!({ "metadata": { "resourceVersion": found.resource_version(), "labels": labels }, "data": change }))
}

/// Reads the copy, if it exists.
///
/// # Errors
/// Errors of the API server.
pub(super) async fn read<P: ProjectObject>(context: &Context, object: &P) -> Result<Option<Secret>, kube::Error> {
    read_by_name(context, &name(object)).await
}

async fn read_by_name(context: &Context, name: &str) -> Result<Option<Secret>, kube::Error> {
    secret::read(&context.client, context.copies.namespace(), name).await
}

/// Deletes the copy. If the operator may not delete it, the project is not blocked: a later search finds the copy.
///
/// # Errors
/// When the API server cannot be reached, or fails.
pub(super) async fn remove<P: ProjectObject>(
    context: &Context,
    object_ref: &ObjectRef,
    object: &P,
) -> Result<(), kube::Error> {
    match api(context).delete(&name(object), &DeleteParams::default()).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        Err(kube::Error::Api(status)) if status.code == 403 => {
            tracing::warn!(
                object = %object_ref,
                copy = place(&context.copies, object),
                reason = status.message,
                "the copy of the credentials cannot be deleted"
            );
            context.copies.leave();
        }
        Err(error) => return Err(error),
    }
    context.copies.removed(object_ref);
    Ok(())
}

/// Removes the copies of projects that were deleted while the operator did not run: now, once an hour, and whenever it
/// notices such a project. `namespaces`: the watched namespaces; empty: all. Copies of projects in other namespaces, and
/// without `ClusterConnectProject`s those of such projects, belong to other operators. Never ends.
pub async fn sweep(context: Arc<Context>, namespaces: Vec<String>) {
    loop {
        if let Err(error) = sweep_once(&context, &namespaces).await {
            let namespace = context.copies.namespace();
            tracing::warn!(%namespace, error = with_causes(&error), "cannot search for copies of credentials whose project is deleted");
        }
        tokio::select! {
            () = context.copies.left() => {}
            () = context.clock.sleep(SWEEP_AGAIN) => {}
        }
    }
}

async fn sweep_once(context: &Context, namespaces: &[String]) -> Result<(), kube::Error> {
    let api = api(context);
    let made_by_us = format!("{}={},{}", names::MANAGED_BY, names::FIELD_MANAGER, names::PROJECT_NAMESPACE);
    let mut copies = every(&api, ListParams::default().labels(&made_by_us)).await?;
    let namespace = |copy: &PartialObjectMeta<Secret>| copy.labels().get(names::PROJECT_NAMESPACE).cloned();
    copies.retain(|copy| match namespace(copy) {
        Some(shared) if shared.is_empty() => context.permissions.is_enabled(),
        Some(namespace) => namespaces.is_empty() || namespaces.contains(&namespace),
        None => false,
    });
    // One list of all namespaces, if they are watched.
    let place = |copy: &PartialObjectMeta<Secret>| {
        namespace(copy).filter(|namespace| !namespaces.is_empty() || namespace.is_empty())
    };
    let places: BTreeSet<_> = copies.iter().map(place).collect();
    // Read after the copies: a copy is always created after its project.
    let mut living = BTreeSet::new();
    for place in places {
        let client = context.client.clone();
        let uids = match place.as_deref() {
            None => uids(&Api::<ConnectProject>::all(client)).await,
            Some("") => uids(&Api::<ClusterConnectProject>::all(client)).await,
            Some(namespace) => uids(&Api::<ConnectProject>::namespaced(client, namespace)).await,
        };
        match uids {
            Ok(uids) => living.extend(uids),
            // The existing projects of this namespace are unknown, so its copies stay; other namespaces are still
            // checked.
            Err(error) if place.is_some() && refusal::cannot_be_seen(&error) => {
                copies.retain(|copy| namespace(copy) != place);
            }
            Err(error) => return Err(error),
        }
    }
    for copy in copies.iter().map(ResourceExt::name_any) {
        if copy.strip_prefix(names::CREDENTIALS_COPY).is_some_and(|uid| !living.contains(uid)) {
            tracing::info!(%copy, "deleting the copy of credentials whose project is deleted");
            match api.delete(&copy, &DeleteParams::default()).await {
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                answer => answer.map(|_| ())?,
            }
        }
    }
    Ok(())
}

/// Returns the uids of all objects.
async fn uids<K>(api: &Api<K>) -> Result<Vec<String>, kube::Error>
where
    K: Clone + DeserializeOwned + Debug,
{
    Ok(every(api, ListParams::default()).await?.iter().filter_map(|object| object.metadata.uid.clone()).collect())
}

/// Returns the metadata of all objects of a list, page by page.
async fn every<K>(api: &Api<K>, list: ListParams) -> Result<Vec<PartialObjectMeta<K>>, kube::Error>
where
    K: Clone + DeserializeOwned + Debug,
{
    let (mut page, mut found) = (list.limit(PAGE), Vec::new());
    loop {
        let list = api.list_metadata(&page).await?;
        found.extend(list.items);
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(found),
        }
    }
}

#[cfg(test)]
#[path = "copy_tests.rs"]
mod tests;
