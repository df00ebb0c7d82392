//! Schemas beyond what the derives produce: patterns, rules that are built from a field's name, and schemas that several
//! kinds share.

use kube::core::Rule;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

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
/// Pattern of the keys of labels (Kubernetes: a name, optionally after a DNS subdomain and a slash), together with a length
/// of 1 to 317.
pub const LABEL_KEY_PATTERN: &str = r"^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$";
/// Pattern of the values of labels, together with a length of 63 at most.
pub const LABEL_VALUE_PATTERN: &str = "^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$";
/// Pattern of base URLs: scheme, host, optionally port and path; no user, query, fragment or trailing slash.
pub const URL_PATTERN: &str = r"^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~-]+)*$";

/// Pattern of scopes (RFC 6749, section 3.3).
pub const SCOPE_PATTERN: &str = r"^[!#-\[\]-~]+$";

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

/// Returns the rule that a field which is added to a spec equals the field `observed` of the status, once it owns or has
/// begun something. So removing a field and adding it again cannot bypass [`unchanged`], and a user may write out a default.
pub(super) fn added_must_match_status(member: &str, observed: &str) -> Rule {
    let known = match observed.split_once('.') {
        Some((parent, _)) => format!("has(oldSelf.status.{parent}) && has(oldSelf.status.{observed})"),
        None => format!("has(oldSelf.status.{observed})"),
    };
    Rule::new(format!(
        "has(oldSelf.spec.{member}) || !has(self.spec.{member}) || \
         !(has(oldSelf.status) && (has(oldSelf.status.id) || has(oldSelf.status.operation)) && {known}) || self.spec.{member} == oldSelf.status.{observed}"
    ))
    .message(cannot_change(member).as_str())
    .field_path(format!(".spec.{member}"))
}

/// Returns the rule for the shortest interval.
pub(super) fn interval() -> Rule {
    Rule::new("!has(self.interval) || duration(self.interval) >= duration('30s')")
        .message("interval must be at least 30s, as in 30s, 5m or 1h30m")
        .field_path(".interval")
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

/// Returns the same without the generation of each condition, for a status whose conditions are all of its own generation.
pub(super) fn conditions_of_one_generation(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = conditions(generator);
    if let Some(Value::Object(properties)) = schema.pointer_mut("/items/properties") {
        properties.remove("observedGeneration");
    }
    schema
}

/// Removes the description of an enum. It would replace the description of an optional field, which is more specific:
/// it explains the values and names the default.
pub(super) fn leave_description_to_the_field(schema: &mut Schema) {
    schema.remove("description");
}
