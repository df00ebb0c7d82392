//! Checks whether the API server serves the kinds with the fields that this version needs.
//!
//! An older CRD silently drops fields that it does not know; an operator that cannot persist its state must not send.
//! The check uses what most clusters let every account read: the OpenAPI document of the group, and its list of kinds. Reading
//! a `CustomResourceDefinition` requires a cluster-wide right, which an operator of one namespace does not have.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinitionVersion;
use kube::api::ApiResource;
use kube::{Client, ResourceExt as _};
use serde_json::Value;

use crate::{crd, names};

/// What to do if the API server does not answer these questions of an account.
pub const DISCOVERY: &str = "Bind a ClusterRole with get of these nonResourceURLs, such as system:discovery or that of the \
                             chart for all namespaces, to the account";

/// Whether the API server refuses to say what it serves.
pub fn is_not_told(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}

/// Returns the CRDs and fields that the cluster lacks, as messages; empty: none. The API server updates the document
/// within seconds of a change of the CRDs.
///
/// # Errors
/// Those of the API server.
pub async fn missing(client: &Client) -> Result<Vec<String>, kube::Error> {
    let mut documents = BTreeMap::new();
    let mut missing = Vec::new();
    for needed in crd::all() {
        let name = needed.name_any();
        for version in &needed.spec.versions {
            let document = match documents.entry(version.name.clone()) {
                Entry::Occupied(read) => read.into_mut(),
                Entry::Vacant(unread) => unread.insert(document(client, &version.name).await?),
            };
            match schema_of(document, &needed.spec.names.kind) {
                None => missing.push(format!("CustomResourceDefinition {name} with version {}", version.name)),
                Some(served) => {
                    missing.extend(fields(version, served).into_iter().map(|field| format!("{name}: {field}")));
                }
            }
        }
    }
    Ok(missing)
}

/// Reads the OpenAPI document of one version of the group; null: the API server serves no kind in that version.
async fn document(client: &Client, version: &str) -> Result<Value, kube::Error> {
    let path = format!("{}/{version}", names::OPENAPI_PATH);
    let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    match client.request(request).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Value::Null),
        answer => answer,
    }
}

/// Returns whether the API server serves a kind.
///
/// # Errors
/// Those of the API server.
pub async fn is_served(client: &Client, kind: &ApiResource) -> Result<bool, kube::Error> {
    match client.list_api_group_resources(&kind.api_version).await {
        Ok(list) => Ok(list.resources.iter().any(|resource| resource.name == kind.plural)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the schema of a kind of this operator in an OpenAPI document of a group and version (Kubernetes API, "OpenAPI V3").
fn schema_of<'d>(document: &'d Value, kind: &str) -> Option<&'d Value> {
    let is_it = |schema: &&Value| {
        let kinds = schema["x-kubernetes-group-version-kind"].as_array();
        kinds.into_iter().flatten().any(|it| it["kind"] == kind && it["group"] == names::GROUP)
    };
    document["components"]["schemas"].as_object()?.values().find(is_it)
}

/// Returns the fields of the status and the spec that `served` lacks.
fn fields(needed: &CustomResourceDefinitionVersion, served: &Value) -> Vec<String> {
    let mut missing = Vec::new();
    // What cannot be written as JSON is no schema, and needs no field.
    let needed = serde_json::to_value(&needed.schema).unwrap_or_default();
    compare("", &needed["openAPIV3Schema"], served, &mut missing);
    missing
}

fn compare(path: &str, needed: &Value, served: &Value, missing: &mut Vec<String>) {
    if served["x-kubernetes-preserve-unknown-fields"] == true {
        return;
    }
    for (name, property) in needed["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        match served["properties"].get(name) {
            Some(found) => compare(&path, property, found, missing),
            None => missing.push(path),
        }
    }
    if let (Some(needed), Some(served)) = (needed.get("items"), served.get("items")) {
        compare(&format!("{path}[]"), needed, served, missing);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_that_the_served_kind_lacks_is_named() {
        let needed = crd::all().remove(1).spec.versions.remove(0);
        let schema = needed.schema.clone().and_then(|schema| schema.open_api_v3_schema);
        let mut schema = serde_json::to_value(schema).expect("a schema");
        schema["x-kubernetes-group-version-kind"] =
            json!([{"group": names::GROUP, "kind": "ConnectorDeployment", "version": needed.name}]);
        let served = |schema: &Value| {
            let name = "io.connect-operator.v1alpha1.ConnectorDeployment";
            let document = json!({"components": {"schemas": {name: schema}}});
            schema_of(&document, "ConnectorDeployment").map(|found| fields(&needed, found))
        };
        assert_eq!(served(&schema), Some(Vec::new()));
        let status = schema["properties"]["status"]["properties"].as_object_mut().expect("a status with properties");
        status.remove("state");
        assert_eq!(served(&schema), Some(vec![".status.state".to_owned()]));
        schema["properties"] = json!(7);
        assert_eq!(served(&schema), Some(vec![".spec".to_owned(), ".status".to_owned()]), "no schema, no fields");
        schema["x-kubernetes-group-version-kind"][0]["group"] = json!("example.com");
        assert_eq!(served(&schema), None, "a kind of another group");
    }
}
