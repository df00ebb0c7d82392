//! Writes the ConfigMap of `spec.outputs`: URLs and topics of the deployment, for other workloads.
//!
//! It is written when its content differs. The resource owns it, so that Kubernetes deletes both together. A ConfigMap
//! of somebody else is not overwritten; the resource reports `OutputConflict`.

use std::collections::BTreeMap;

use connect_api::model::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, ObjectMeta, Patch};
use kube::core::Status;
use kube::{Resource, ResourceExt};
use serde_json::json;

use crate::crd::{ConnectorDeployment, Outputs};
use crate::names;
use crate::operator::cluster::objects::patch::{merge_patch, patch_params, post_params};
use crate::operator::context::Context;
use crate::operator::object_ref::Kind;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;
use crate::operator::reporting::refusal::{self, Access};
use crate::operator::reporting::remedy;

/// Cause with which the API server refuses new objects in a namespace that is being deleted.
const NAMESPACE_TERMINATING: &str = "NamespaceTerminating";

/// Brings the ConfigMap up to date, if the spec asks for one. The inner error is a condition for users.
pub(super) async fn write(
    context: &Context,
    object: &ConnectorDeployment,
    record: &Deployment,
) -> Result<Result<(), ConditionUpdate>, kube::Error> {
    let Some(outputs) = &object.spec.outputs else { return Ok(Ok(())) };
    let api = Api::<ConfigMap>::namespaced(context.client.clone(), &object.namespace().unwrap_or_default());
    let Outputs { config_map: wanted } = outputs;
    let data = data(record);
    let refused = |access, verb: &str, error| {
        refusal::condition(access, &format!("{verb} ConfigMap {} of spec.outputs", wanted.name), error).map(Err)
    };
    // A policy of the namespace that its users meet with labels of the resource is met by what follows from it, too.
    let mut labels = object.labels().clone();
    labels.extend(context.settings.scope.labels());
    let found = match api.get_opt(&wanted.name).await {
        Ok(found) => found,
        Err(error) => return refused(Access::Read, "get", error),
    };
    let Some(found) = found else {
        let config_map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(wanted.name.clone()),
                labels: Some(labels),
                owner_references: object.controller_owner_ref(&()).map(|owner| vec![owner]),
                ..ObjectMeta::default()
            },
            data: Some(data),
            ..ConfigMap::default()
        };
        return match api.create(&post_params(), &config_map).await {
            // Rule 24: a namespace that is being deleted accepts no new objects.
            Err(kube::Error::Api(status)) if is_terminating(&status) => Ok(Ok(())),
            Err(error) => refused(Access::Write, "create", error).map(|refused| refused.map_err(with_labels)),
            Ok(_) => Ok(Ok(())),
        };
    };
    let ours = found.owner_references().iter().any(|owner| Some(&owner.uid) == object.metadata.uid.as_ref());
    if !ours && !is_left_behind(&found, object, &data) {
        let message = format!(
            "ConfigMap {} exists and does not belong to this resource: choose another outputs.configMap.name, or \
             delete it",
            wanted.name
        );
        return Ok(Err(ConditionUpdate::new(Reason::OutputConflict, message)));
    }
    let change = merge_patch(&json!(found.data), &json!(data));
    if ours && change.is_none() {
        return Ok(Ok(()));
    }
    let mut metadata = json!({ "resourceVersion": found.resource_version(), "labels": labels });
    if !ours {
        let others = found.owner_references().iter().filter(|owner| owner.controller != Some(true)).cloned();
        metadata["ownerReferences"] = json!(others.chain(object.controller_owner_ref(&())).collect::<Vec<_>>());
    }
    let patch = json!({ "metadata": metadata, "data": change.unwrap_or_else(|| json!({})) });
    match api.patch(&wanted.name, &patch_params(), &Patch::Merge(patch)).await {
        Ok(_) => Ok(Ok(())),
        Err(error) => refused(Access::Write, "patch", error).map(|refused| refused.map_err(with_labels)),
    }
}

/// Whether a ConfigMap without a controller was written by an operator before, or has this content anyway: a restored
/// backup has no owners. An owner of this kind and name is one that was created before.
fn is_left_behind(found: &ConfigMap, object: &ConnectorDeployment, data: &BTreeMap<String, String>) -> bool {
    let same = |owner: &OwnerReference| owner.kind == Kind::Deployment.as_str() && owner.name == object.name_any();
    let owner = found.owner_references().iter().find(|owner| owner.controller == Some(true));
    let written = found.labels().get(names::MANAGED_BY).is_some_and(|manager| manager == names::FIELD_MANAGER);
    owner.is_none_or(same) && (written || found.data.as_ref() == Some(data))
}

/// Adds to the condition of a refused write what helps if a policy is the reason.
fn with_labels(condition: ConditionUpdate) -> ConditionUpdate {
    remedy::after(condition, &format!(". {}", refusal::LABELS))
}

/// Whether the API server refused because the namespace is being deleted (Kubernetes API: the cause
/// `NamespaceTerminating` of a 403).
fn is_terminating(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 403 && causes.into_iter().any(|cause| cause.reason == NAMESPACE_TERMINATING)
}

/// Returns every output of every application.
fn data(record: &Deployment) -> BTreeMap<String, String> {
    let of = |output, value: &Option<String>, name: &str| Some((format!("{name}.{output}"), value.clone()?));
    let of_one = record
        .applications
        .iter()
        .flat_map(|it| [of("url", &it.url, &it.application_name), of("topic", &it.topic, &it.application_name)]);
    of_one.flatten().collect()
}
