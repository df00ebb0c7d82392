//! The expected response of an `ActionCheck`: its status, and assertions on its headers and body.

use kube::KubeSchema;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The expected response: everything listed here must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Expectation {
    /// Expected HTTP status. Default: any from 200 to 299.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 599))]
    pub status: Option<u16>,
    /// Assertions on headers of the response; 16 at most. Each has exactly one of exists, equals and matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub headers: Vec<HeaderAssertion>,
    /// Assertions on the JSON body of the response; 16 at most. Each has exactly one of exists, equals and matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub body: Vec<BodyAssertion>,
}

/// An assertion on one header of the response. Give exactly one of exists, equals and matches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("[has(self.exists), has(self.equals), has(self.matches)].filter(given, given).size() == 1")
    .message("give exactly one of exists, equals and matches"))]
pub struct HeaderAssertion {
    /// Name of the header; case does not matter. Example: Cache-Control.
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"))]
    pub name: String,
    /// Whether the response must have the header. false: it must not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// Expected value of the whole header. If the header occurs several times, its values are joined with a comma and
    /// a space.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub equals: Option<String>,
    /// Regular expression to find in the value; 256 characters at most. Anchor it with ^ and $ to match all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub matches: Option<String>,
}

/// An assertion on a part of the JSON body. Give exactly one of exists, equals and matches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("oneOf" = [{"required": ["exists"]}, {"required": ["equals"]}, {"required": ["matches"]}]))]
pub struct BodyAssertion {
    /// JSONPath (RFC 9535) that selects the values; 512 characters at most. Example: $.lineItems[0].sku.
    #[schemars(length(min = 1, max = 512), regex(pattern = r"^\$"))]
    pub json_path: String,
    /// Whether the path must select at least one value. false: it must select none. Exactly one of exists, equals and
    /// matches is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// Expected value: a string of 1024 characters at most, a number or a boolean. The path must select at least one
    /// value, and each selected value must equal this one. Types count: "1" is not 1.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(schema_with = "scalar")]
    pub equals: Option<Value>,
    /// Regular expression to find in each selected value; 256 characters at most. The path must select at least one
    /// value, and only strings, numbers or booleans. Anchor it with ^ and $ to match whole values.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub matches: Option<String>,
}

/// Returns the schema of a string, number or boolean. It names no type, because several are allowed. Lists and objects
/// must be empty, because their size would otherwise be unbounded; the controller refuses them.
fn scalar(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "x-kubernetes-preserve-unknown-fields": true, "maxLength": 1024, "maxItems": 0, "maxProperties": 0,
    })
}

/// Deserializes a field that is present, so that `null` becomes `Some(Value::Null)` and not `None`.
fn given<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(source).map(Some)
}
