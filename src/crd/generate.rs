//! Generates the CRDs: the derived ones, adapted to the API server and to `kubectl explain`.
//!
//! A test compares the CRDs in `crds/` with [`to_yaml`].

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, JSON, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::CustomResourceExt;
use kube::api::ApiResource;
use serde_json::{Value, json};

use super::action_check::ActionCheck;
use super::cluster_connect_project::ClusterConnectProject;
use super::columns;
use super::connect_project::ConnectProject;
use super::connector_deployment::ConnectorDeployment;
use super::connector_staged::ConnectorStaged;
use super::shared::UNSEEN;

/// Returns every CRD of the operator, in the order in which they are printed and installed.
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![
        finished(ConnectProject::crd(), &columns::of_projects()),
        finished(ConnectorDeployment::crd(), &columns::of_deployments()),
        finished(ConnectorStaged::crd(), &columns::of_staged()),
        finished(ActionCheck::crd(), &columns::of_checks()),
        finished(ClusterConnectProject::crd(), &columns::of_projects()),
    ]
}

/// Returns every kind of the operator, in the same order, without the schema that [`all`] generates at each call.
pub fn resources() -> [ApiResource; 5] {
    [
        ConnectProject::api_resource(),
        ConnectorDeployment::api_resource(),
        ConnectorStaged::api_resource(),
        ActionCheck::api_resource(),
        ClusterConnectProject::api_resource(),
    ]
}

/// Returns [`all`] as one stream of YAML documents.
pub fn yaml() -> String {
    all().iter().map(to_yaml).collect()
}

/// Returns one CRD as a YAML document that begins with `---`.
#[allow(clippy::missing_panics_doc, reason = "the expectations hold for every CRD")]
pub fn to_yaml(crd: &CustomResourceDefinition) -> String {
    let value = serde_json::to_value(crd).map(whole_numbers).expect("a CRD has string keys only");
    let text = serde_saphyr::to_string(&value).expect("a JSON value can be written as YAML");
    format!("---\n{text}")
}

/// Turns integral floats into integers. Bounds are floats in the API's types, and would be printed as `1.0`.
fn whole_numbers(value: Value) -> Value {
    match value {
        #[allow(clippy::cast_possible_truncation, reason = "every bound in our schemas is far below 2^53")]
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 => Value::from(float as i64),
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(whole_numbers).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, whole_numbers(value))).collect(),
        other => other,
    }
}

/// Tidies a derived CRD, and adds its columns and the default of `status.observedGeneration`.
fn finished(mut crd: CustomResourceDefinition, columns: &[CustomResourceColumnDefinition]) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        version.additional_printer_columns = Some(columns.to_vec());
        let root = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        if let Some(root) = root {
            tidy(root);
            let status = root.properties.as_mut().and_then(|members| members.get_mut("status"));
            if let Some(status) = status {
                status.default = Some(JSON(json!({"observedGeneration": UNSEEN})));
            }
        }
    }
    crd
}

/// Adapts a schema, and those within it, to the API server and to `kubectl explain`:
///
/// - `nullable` is removed: then the API server drops a null, so that it equals an absent field.
/// - `title` is removed: it repeats the kind.
/// - Line breaks within a paragraph become spaces; `kubectl explain` wraps lines itself.
/// - Unsigned formats become signed ones, because the API server knows no others; `double` is redundant for a number.
fn tidy(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    schema.title = None;
    schema.description = schema.description.take().map(|text| joined_lines(&text));
    schema.format = schema.format.take().and_then(|format| match format.as_str() {
        "uint8" | "uint16" | "uint32" => Some("int32".to_owned()),
        "uint64" => Some("int64".to_owned()),
        "double" => None,
        _ => Some(format),
    });
    for member in schema.properties.iter_mut().flat_map(|members| members.values_mut()) {
        tidy(member);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        tidy(items);
    }
}

fn joined_lines(text: &str) -> String {
    text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect::<Vec<_>>().join("\n\n")
}
