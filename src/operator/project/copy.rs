//! The copy of a project's credentials in the operator's namespace (rule 24). With it the operator can undeploy after
//! the Secret was deleted with its namespace, even if the operator was started later.
//!
//! Each reconcile of the project compares the copy with the Secret that the project names. It is used only after that Secret
//! is gone, which `observe.rs` decides.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ObjectMeta, Patch};
use serde_json::json;

use crate::names;
use crate::operator::cluster::objects::patch::{merge_patch, patch_params, post_params};
use crate::operator::cluster::objects::secret;
use crate::operator::context::Context;
use crate::operator::kinds::project_object::ProjectObject;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;
use crate::operator::reporting::refusal::{self, Access};

/// Returns the name of the copy, which contains the uid: another project of the same name has another copy.
fn name<P: ProjectObject>(object: &P) -> String {
    format!("{}{}", names::CREDENTIALS_COPY, object.meta().uid.as_deref().unwrap_or_default())
}

/// Returns where the copy of a project is, for messages.
pub(super) fn place<P: ProjectObject>(context: &Context, object: &P) -> String {
    format!("{}/{}", context.settings.operator_namespace, name(object))
}

fn api(context: &Context) -> Api<Secret> {
    Api::namespaced(context.client.clone(), &context.settings.operator_namespace)
}

/// Reads the copy, if it exists.
///
/// # Errors
/// Errors of the API server.
pub(super) async fn read<P: ProjectObject>(context: &Context, object: &P) -> Result<Option<Secret>, kube::Error> {
    secret::read(&context.client, &context.settings.operator_namespace, &name(object)).await
}

/// Writes the copy if it differs from the Secret. Returns the condition for users if it cannot be written.
///
/// # Errors
/// When the API server cannot be reached or is busy, or the copy was changed meanwhile.
pub(super) async fn keep<P: ProjectObject>(
    context: &Context,
    object: &P,
    original: &Secret,
) -> Result<Option<ConditionUpdate>, kube::Error> {
    let status = match write(context, object, original).await {
        Err(kube::Error::Api(status)) if refusal::is_definite(Access::Write, &status) => status,
        written => return written.map(|()| None),
    };
    let message = format!(
        "No copy of the credentials can be kept in the Secret {}, so deployments could not be taken down after this \
         namespace was deleted: let the operator get, create, patch and delete Secrets in the namespace {} ({}). {}",
        place(context, object),
        context.settings.operator_namespace,
        status.message,
        refusal::LABELS
    );
    Ok(Some(ConditionUpdate::new(Reason::CredentialsNotKept, message)))
}

async fn write<P: ProjectObject>(context: &Context, object: &P, original: &Secret) -> Result<(), kube::Error> {
    let credentials = &object.project().credentials_secret_ref;
    let keys = [credentials.client_id_key(), credentials.client_secret_key()];
    let mut data = original.data.clone().unwrap_or_default();
    data.retain(|key, _| keys.contains(&key.as_str()));
    let (api, name, mut labels) = (api(context), name(object), context.settings.scope.labels());
    labels.insert(names::PROJECT_NAMESPACE.to_owned(), object.namespace().unwrap_or_default());
    let written = if let Some(found) = read(context, object).await? {
        let Some(change) = merge_patch(&json!(found.data), &json!(data)) else { return Ok(()) };
        let metadata = json!({ "resourceVersion": found.resource_version(), "labels": labels });
        let patch = Patch::Merge(json!({ "metadata": metadata, "data": change }));
        api.patch(&name, &patch_params(), &patch).await
    } else {
        let annotations = BTreeMap::from([(names::PROJECT_NAME.to_owned(), object.name_any())]);
        let copy = Secret {
            metadata: ObjectMeta {
                name: Some(name),
                labels: Some(labels),
                annotations: Some(annotations),
                ..ObjectMeta::default()
            },
            type_: Some(names::CREDENTIALS_COPY_TYPE.to_owned()),
            data: Some(data),
            ..Secret::default()
        };
        api.create(&post_params(), &copy).await
    };
    written.map(|_| ()).map_err(secret::without_content)
}

/// Deletes the copy. If the operator may not delete it, the log names it, and the project is not blocked.
///
/// # Errors
/// When the API server cannot be reached, or fails.
pub(super) async fn remove<P: ProjectObject>(context: &Context, object: &P) -> Result<(), kube::Error> {
    match api(context).delete(&name(object), &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 403 => {
            let (copy, reason) = (place(context, object), &status.message);
            tracing::warn!(copy, reason, "the copy of the credentials cannot be deleted");
            Ok(())
        }
        answer => answer.map(|_| ()),
    }
}
