//! The ConfigMap of `spec.outputs`: addresses and topics of the deployment, for other workloads.
//!
//! Written when they differ, owned by the resource, so that it goes with it. One that somebody else made is left alone.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use kube::core::Status;
use kube::{Resource, ResourceExt};
use serde_json::json;

use crate::connect::model::Deployment;
use crate::controllers::conditions::Told;
use crate::controllers::context::Context;
use crate::controllers::reason::Reason;
use crate::crd::ConnectorDeployment;
use crate::names;

/// Cause with which the API server refuses what is new in a namespace that is being deleted.
const NAMESPACE_TERMINATING: &str = "NamespaceTerminating";

/// Brings the ConfigMap up to date, if there is to be one. The inner error is for people.
pub(super) async fn write(
    context: &Context,
    object: &ConnectorDeployment,
    record: &Deployment,
) -> Result<Result<(), Told>, kube::Error> {
    let Some(outputs) = &object.spec.outputs else { return Ok(Ok(())) };
    let api = Api::<ConfigMap>::namespaced(context.client.clone(), &object.namespace().unwrap_or_default());
    let data = data(record);
    let Some(found) = api.get_opt(&outputs.config_map_name).await? else {
        let config_map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(outputs.config_map_name.clone()),
                owner_references: object.controller_owner_ref(&()).map(|owner| vec![owner]),
                ..ObjectMeta::default()
            },
            data: Some(data),
            ..ConfigMap::default()
        };
        let parameters = PostParams { field_manager: Some(names::FIELD_MANAGER.to_owned()), ..PostParams::default() };
        return match api.create(&parameters, &config_map).await {
            // Rule 24: a namespace that is being deleted takes nothing new.
            Err(kube::Error::Api(status)) if is_terminating(&status) => Ok(Ok(())),
            answer => answer.map(|_| Ok(())),
        };
    };
    let ours = found.owner_references().iter().any(|owner| Some(&owner.uid) == object.metadata.uid.as_ref());
    if !ours {
        let message = format!(
            "ConfigMap {} exists and was not made for this resource: choose another outputs.configMapName, or delete it",
            outputs.config_map_name
        );
        return Ok(Err(Told::new(Reason::OutputConflict, message)));
    }
    if found.data.as_ref() == Some(&data) {
        return Ok(Ok(()));
    }
    let gone = found.data.iter().flatten().map(|(key, _)| key).filter(|key| !data.contains_key(*key));
    let mut patch = json!({ "metadata": { "resourceVersion": found.resource_version() }, "data": data });
    for key in gone {
        patch["data"][key] = serde_json::Value::Null;
    }
    let parameters = PatchParams { field_manager: Some(names::FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    api.patch(&outputs.config_map_name, &parameters, &Patch::Merge(patch)).await?;
    Ok(Ok(()))
}

/// Whether the API server refused because the namespace is being deleted (Kubernetes API: the cause
/// `NamespaceTerminating` of a 403).
fn is_terminating(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 403 && causes.into_iter().any(|cause| cause.reason == NAMESPACE_TERMINATING)
}

/// `{applicationName}.url` and `{applicationName}.topic` of every application that has one.
fn data(record: &Deployment) -> BTreeMap<String, String> {
    let mut data = BTreeMap::new();
    for application in &record.applications {
        if let Some(url) = &application.url {
            data.insert(format!("{}.url", application.application_name), url.clone());
        }
        if let Some(topic) = &application.topic {
            data.insert(format!("{}.topic", application.application_name), topic.clone());
        }
    }
    data
}
