//! Whether the CRDs that the API server serves have the fields that this version needs.
//!
//! An older CRD drops fields that it does not know, without a word; an operator that cannot remember must not send.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::{Api, Client, ResourceExt};

use crate::crd;

/// What is missing in the cluster, for people; empty: nothing.
///
/// # Errors
/// Those of the API server.
pub async fn missing(client: &Client) -> Result<Vec<String>, kube::Error> {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    let mut missing = Vec::new();
    for needed in crd::all() {
        let name = needed.name_any();
        match api.get_opt(&name).await? {
            None => missing.push(format!("CustomResourceDefinition {name}")),
            Some(served) => {
                missing.extend(fields(&needed, &served).into_iter().map(|field| format!("{name}: {field}")));
            }
        }
    }
    Ok(missing)
}

/// The fields of the status and the spec that `served` lacks.
fn fields(needed: &CustomResourceDefinition, served: &CustomResourceDefinition) -> Vec<String> {
    let mut missing = Vec::new();
    for version in &needed.spec.versions {
        let Some(found) = served.spec.versions.iter().find(|found| found.name == version.name && found.served) else {
            missing.push(format!("version {}", version.name));
            continue;
        };
        let schema = |version: &k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinitionVersion| {
            version.schema.clone().and_then(|schema| schema.open_api_v3_schema).unwrap_or_default()
        };
        compare("", &schema(version), &schema(found), &mut missing);
    }
    missing
}

fn compare(path: &str, needed: &JSONSchemaProps, served: &JSONSchemaProps, missing: &mut Vec<String>) {
    if served.x_kubernetes_preserve_unknown_fields == Some(true) {
        return;
    }
    for (name, property) in needed.properties.iter().flatten() {
        let path = format!("{path}.{name}");
        match served.properties.as_ref().and_then(|properties| properties.get(name)) {
            Some(found) => compare(&path, property, found, missing),
            None => missing.push(path),
        }
    }
    if let (Some(JSONSchemaPropsOrArray::Schema(needed)), Some(JSONSchemaPropsOrArray::Schema(served))) =
        (&needed.items, &served.items)
    {
        compare(&format!("{path}[]"), needed, served, missing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_the_served_crd_lacks_is_named() {
        let needed = crd::all().remove(1);
        assert!(fields(&needed, &needed).is_empty());
        let mut older = needed.clone();
        let schema = older.spec.versions[0].schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        let status = schema.and_then(|schema| schema.properties.as_mut()).and_then(|all| all.get_mut("status"));
        let status = status.and_then(|status| status.properties.as_mut()).expect("a status with properties");
        status.remove("operation");
        assert_eq!(fields(&needed, &older), [".status.operation"]);
        older.spec.versions[0].name = "v1".into();
        assert_eq!(fields(&needed, &older), ["version v1alpha1"]);
    }
}
