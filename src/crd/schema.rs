//! Schemas beyond what the derives produce: rules that are built from a field's name, schemas that several kinds share,
//! and a last pass that adapts the schemas to the API server and to `kubectl explain`.
//!
//! A test compares the CRDs in `crds/` with [`to_yaml`].

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSON, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::CustomResourceExt;
use kube::core::Rule;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::action_check::ActionCheck;
use super::connect_project::ConnectProject;
use super::connector::Connector;
use super::connector_deployment::ConnectorDeployment;
use super::connector_staged::ConnectorStaged;
use super::shared::UNSEEN;

/// Pattern of the keys of deployments, connectors and applications, together with a length of 2 to 256 (contract
/// section 9).
pub const KEY_PATTERN: &str = "^[A-Za-z0-9_-]+$";
/// Pattern of object names that are DNS subdomains (RFC 1123), together with a length of 1 to 253.
pub const NAME_PATTERN: &str = r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$";
/// Pattern of keys within Secrets and ConfigMaps, together with a length of 1 to 253.
pub const DATA_KEY_PATTERN: &str = r"^[-._a-zA-Z0-9]+$";
/// Pattern of regions: `{location}.{provider}`. Not an enum, because regions may be added; DNS labels, because a region
/// becomes part of a host name.
pub const REGION_PATTERN: &str = r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$";
/// Message for a region that is only a location, the usual mistake.
pub(super) const REGION_MESSAGE: &str =
    "region must name location and provider, as in europe-west1.gcp or us-east-2.aws";
/// Pattern of base URLs: scheme, host, optionally port and path; no user, query, fragment or trailing slash.
pub const URL_PATTERN: &str = r"^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~-]+)*$";

/// Returns the rule that an optional field of a spec, once set, does not change.
pub(super) fn unchanged(member: &str) -> Rule {
    Rule::new(format!("!has(oldSelf.{member}) || !has(self.{member}) || self.{member} == oldSelf.{member}"))
        .message(cannot_change(member).as_str())
        .field_path(format!(".{member}"))
}

/// Returns the rule [`unchanged`] for a field of `spec.connector`.
pub(super) fn unchanged_member(member: &str) -> Rule {
    Rule { message: Some(cannot_change(&format!("connector.{member}")).as_str().into()), ..unchanged(member) }
}

/// Returns the rule that a field which is added to a spec equals that field of the status. So removing a field and
/// adding it again cannot bypass [`unchanged`], and a user may write out a default.
pub(super) fn added_must_match_status(member: &str) -> Rule {
    let known = match member.split_once('.') {
        Some((parent, _)) => format!("has(oldSelf.status.{parent}) && has(oldSelf.status.{member})"),
        None => format!("has(oldSelf.status.{member})"),
    };
    Rule::new(format!(
        "has(oldSelf.spec.{member}) || !has(self.spec.{member}) || \
         !(has(oldSelf.status) && {known}) || self.spec.{member} == oldSelf.status.{member}"
    ))
    .message(cannot_change(member).as_str())
    .field_path(format!(".spec.{member}"))
}

fn cannot_change(member: &str) -> String {
    format!(
        "{member} cannot be changed, because the remote cannot change it either: \
         set it back, or delete this ConnectorDeployment and create another"
    )
}

/// Maximum number of conditions of a resource, those of other controllers included.
pub const MOST_CONDITIONS: usize = 64;

/// Returns the schema of `status.conditions`, bounded like `metav1.Condition` in Kubernetes: a map by `type`.
pub(super) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": MOST_CONDITIONS,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "description": "A condition.",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": {"type": "string", "maxLength": 316, "description": "Type of the condition. Example: Ready."},
                "status": {
                    "type": "string", "enum": ["True", "False", "Unknown"], "description": "Status of the condition.",
                },
                "observedGeneration": {
                    "type": "integer", "format": "int64", "minimum": 0,
                    "description": "The metadata.generation that the condition is based on.",
                },
                "lastTransitionTime": {
                    "type": "string", "format": "date-time", "description": "Last time at which the status changed.",
                },
                "reason": {"type": "string", "maxLength": 1024, "description": "Machine-readable reason."},
                "message": {"type": "string", "maxLength": 32768, "description": "Human-readable message."},
            },
        },
    })
}

/// Returns the schema of digests by key. It allows more entries than fit into the size limit of the status.
pub(super) fn value_digests(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "maxProperties": 1024, "additionalProperties": {"type": "string", "maxLength": 16}})
}

/// Removes the description of an enum. It would replace the description of an optional field, which is more specific:
/// it explains the values and names the default.
pub(super) fn leave_description_to_the_field(schema: &mut Schema) {
    schema.remove("description");
}

/// Returns every CRD of the operator, in the order in which they are printed and installed.
#[must_use]
pub fn all() -> Vec<CustomResourceDefinition> {
    let kinds = [
        ConnectProject::crd(),
        ConnectorDeployment::crd(),
        ConnectorStaged::crd(),
        ActionCheck::crd(),
        Connector::crd(),
    ];
    kinds.map(finished).into()
}

/// Returns [`all`] as one stream of YAML documents.
#[must_use]
pub fn yaml() -> String {
    all().iter().map(to_yaml).collect()
}

/// Returns one CRD as a YAML document that begins with `---`.
#[must_use]
#[allow(clippy::missing_panics_doc, reason = "the expectations hold for every CRD")]
pub fn to_yaml(crd: &CustomResourceDefinition) -> String {
    let value = serde_json::to_value(crd).map(whole_numbers).expect("a CRD has string keys only");
    let text = serde_saphyr::to_string(&value).expect("a JSON value can be written as YAML");
    format!("---\n{text}")
}

/// Turns integral floats into integers. Bounds are floats in the API's types, and would be printed as `1.0`.
fn whole_numbers(value: Value) -> Value {
    match value {
        // Every bound in our schemas is far below 2^53, so the conversion is exact.
        #[allow(clippy::cast_possible_truncation)]
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 => Value::from(float as i64),
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(whole_numbers).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, whole_numbers(value))).collect(),
        other => other,
    }
}

/// Field of a status with the generation that it describes.
const OBSERVED: &str = "observedGeneration";

/// Tidies a derived CRD, and adds the default of `status.observedGeneration`.
fn finished(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let root = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        if let Some(root) = root {
            tidy(root);
            let status = root.properties.as_mut().and_then(|members| members.get_mut("status"));
            // A Connector is only mirrored, so its status has no observedGeneration.
            let observes =
                |status: &&mut JSONSchemaProps| status.properties.iter().flatten().any(|(name, _)| name == OBSERVED);
            if let Some(status) = status.filter(observes) {
                status.default = Some(JSON(json!({OBSERVED: UNSEEN})));
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
