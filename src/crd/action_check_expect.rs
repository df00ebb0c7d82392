//! What the answer to an `ActionCheck` has to be.

use kube::KubeSchema;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// What an answer has to be: all of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Expectation {
    /// HTTP status. Default: any of 200 to 299.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 599))]
    pub status: Option<u16>,
    /// Assertions over headers of the answer; 16 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub headers: Vec<HeaderAssertion>,
    /// Assertions over the JSON of the answer; 16 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub body: Vec<BodyAssertion>,
}

/// What a header of the answer has to be: exactly one of exists, equals and matches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("[has(self.exists), has(self.equals), has(self.matches)].filter(given, given).size() == 1")
    .message("give exactly one of exists, equals and matches"))]
pub struct HeaderAssertion {
    /// Name of the header, in any case. Example: Cache-Control.
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"))]
    pub name: String,
    /// Whether the answer has the header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// Its whole value; values of a header that was sent several times are joined with a comma and a blank.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub equals: Option<String>,
    /// Regular expression that is found in its value; 256 characters at most. Anchor it with ^ and $ to mean the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub matches: Option<String>,
}

/// What a part of the answer's JSON has to be: exactly one of exists, equals and matches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("oneOf" = [{"required": ["exists"]}, {"required": ["equals"]}, {"required": ["matches"]}]))]
pub struct BodyAssertion {
    /// JSONPath (RFC 9535) to what is meant; 512 characters at most. Example: $.lineItems[0].sku.
    #[schemars(length(min = 1, max = 512), regex(pattern = r"^\$"))]
    pub json_path: String,
    /// Whether the path selects anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// A string of 1024 characters at most, a number or a boolean that everything selected has to be; at least one value has
    /// to be selected. Types count: "1" is not 1.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(schema_with = "scalar")]
    pub equals: Option<Value>,
    /// Regular expression that is found in everything selected, which has to be strings, numbers or booleans; 256 characters
    /// at most. At least one value has to be selected. Anchor it with ^ and $ to mean the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub matches: Option<String>,
}

/// Without a type, because it is one of several. What has no type, and no bounds, may be of any size: so a list and an object
/// have to be empty, and are refused by the controller.
fn scalar(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "x-kubernetes-preserve-unknown-fields": true, "maxLength": 1024, "maxItems": 0, "maxProperties": 0,
    })
}

/// A value that is there, also one that is `null`.
fn given<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(source).map(Some)
}
