//! `ActionCheck`: one call of a frontend action that proves that what was deployed answers.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::duration::parse_duration;
use super::schema;
use super::shared::{NamedRef, SecretKeyRef, UNSEEN, is_default};

/// Pause between two checks that read, if the `ActionCheck` names no other.
pub const DEFAULT_CHECK_INTERVAL: Duration = Duration::from_mins(5);
/// Time that an answer may take, if the `ActionCheck` names no other.
pub const DEFAULT_CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// Which action is called, how, and what it has to answer.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "connect-operator.io",
    version = "v1alpha1",
    kind = "ActionCheck",
    plural = "actionchecks",
    shortname = "acheck",
    category = "connect",
    namespaced,
    status = "ActionCheckStatus",
    derive = "PartialEq",
    doc = "A call of a frontend action that proves that what was deployed answers. POST and PUT are sent once for each \
        change of the spec, or each time that a ConnectorDeployment was applied; GET again and again.",
    printcolumn(name = "Action", type_ = "string", json_path = ".spec.action", description = "Name of the action"),
    printcolumn(name = "Method", type_ = "string", json_path = ".spec.method", description = "GET, POST or PUT"),
    printcolumn(
        name = "HTTP",
        type_ = "integer",
        json_path = ".status.httpStatus",
        description = "HTTP status of the last answer"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#,
        description = "Whether the action answered as expected"
    ),
    printcolumn(
        name = "Last",
        type_ = "date",
        json_path = ".status.checkedAt",
        description = "Time since the last call"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since creation"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.interval) || self.method == 'GET'")
    .message("interval is for GET only, because POST and PUT change something: leave it out, or choose method GET")
    .field_path(".interval"))]
#[x_kube(validation = Rule::new("!has(self.interval) || duration(self.interval) >= duration('30s')")
    .message("interval must be at least 30s, as in 30s, 5m or 1h30m")
    .field_path(".interval"))]
#[x_kube(validation = Rule::new(
    "!has(self.timeout) || (duration(self.timeout) >= duration('1s') && duration(self.timeout) <= duration('30s'))")
    .message("timeout must be 1s to 30s")
    .field_path(".timeout"))]
pub struct ActionCheckSpec {
    /// Which frontend is called.
    pub frontend: Frontend,
    /// Namespace of the action, the part of the path before its name. Example: cart.
    #[schemars(length(min = 1, max = 256))]
    pub namespace: String,
    /// Name of the action. Example: addToCart.
    #[schemars(length(min = 1, max = 256))]
    pub action: String,
    /// GET reads, and is sent again at every interval. POST and PUT write, and are sent at most once for each change of
    /// this spec, or each time that the deployment of after was applied.
    pub method: ActionCheckMethod,
    /// Locale to call it with. Example: en-GB.
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[\x21-\x7E]+$"))]
    pub locale: String,
    /// Version of the frontend extension to call. Example: 1.4.0.
    #[schemars(length(min = 1, max = 256), regex(pattern = r"^[\x21-\x7E]+$"))]
    pub extension_version: String,
    /// Parameters of the query, 32 at most. A list is written as `list[0]` and `list[1]`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "query")]
    pub query: BTreeMap<String, String>,
    /// Any JSON, for POST and PUT; 64 KiB at most. Default: an empty object.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schemars(schema_with = "any_json")]
    pub body: Option<Value>,
    /// Further headers with values of Secrets, such as a cookie; 16 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub headers_from: Vec<HeaderFrom>,
    /// What the answer has to be. Default: any status of 200 to 299, and a body that is JSON.
    #[serde(default, skip_serializing_if = "is_default")]
    pub expect: Expectation,
    /// Checks each time that a ConnectorDeployment was applied, and not before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<After>,
    /// Pause between two checks, at least 30s; for GET only. Default: 5m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 20), regex(pattern = super::duration::PATTERN))]
    pub interval: Option<String>,
    /// Time that an answer may take, from the start of the connection to the end of its body; 1s to 30s. Default: 10s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 20), regex(pattern = super::duration::PATTERN))]
    pub timeout: Option<String>,
}

impl ActionCheckSpec {
    /// Pause between two checks. A text that the schema would refuse counts as absent.
    #[must_use]
    pub fn effective_interval(&self) -> Duration {
        self.interval.as_deref().and_then(|text| parse_duration(text).ok()).unwrap_or(DEFAULT_CHECK_INTERVAL)
    }

    /// Time that an answer may take. A text that the schema would refuse counts as absent.
    #[must_use]
    pub fn effective_timeout(&self) -> Duration {
        self.timeout.as_deref().and_then(|text| parse_duration(text).ok()).unwrap_or(DEFAULT_CHECK_TIMEOUT)
    }
}

fn query(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object", "maxProperties": 32, "additionalProperties": {"type": "string", "maxLength": 1024},
    })
}

fn any_json(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-preserve-unknown-fields": true})
}

/// A body that is there, also one that is `null`.
fn present<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(source).map(Some)
}

/// Which frontend is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "has(self.url) ? !has(self.projectName) && !has(self.companyName) && !has(self.tld) : \
     has(self.projectName) && has(self.companyName)")
    .message("give either url, or projectName and companyName, which make the address"))]
#[x_kube(validation = Rule::new("!has(self.path) || (has(self.preset) && self.preset == 'Frontastic')")
    .message("path is for the preset Frontastic only: leave it out, or set preset to Frontastic")
    .field_path(".path"))]
pub struct Frontend {
    /// Address of the frontend, without a slash at its end, instead of projectName, companyName and tld. Only hosts that
    /// the operator allows are called (`--allowed-action-hosts`). Example, for a dev server: http://127.0.0.1:8787.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), regex(pattern = schema::URL_PATTERN))]
    pub url: Option<String>,
    /// Name of the project; the address is https://{projectName}-{companyName}.service{tld}. Example: shop.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 61), regex(pattern = r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$"))]
    pub project_name: Option<String>,
    /// Name of the company. Example: example.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 61), regex(pattern = r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$"))]
    pub company_name: Option<String>,
    /// End of the address, with its dot. Default: .live.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 64), regex(pattern = r"^(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$"))]
    pub tld: Option<String>,
    /// Which host, paths and names of headers the frontend has. Default: Service.
    #[serde(default, skip_serializing_if = "is_default")]
    pub preset: FrontendPreset,
    /// Path of the page that the call is made for; with the preset Frontastic only. Example: /cart.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024), regex(pattern = r"^/[\x21-\x7E]*$"))]
    pub path: Option<String>,
}

/// Host, paths and names of headers of a frontend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum FrontendPreset {
    /// `….service.live`, `/service/action/…`.
    #[default]
    Service,
    /// `….frontastic.live`, `/frontastic/action/…`.
    Frontastic,
}

/// How an action is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum ActionCheckMethod {
    /// Reads.
    Get,
    /// Writes.
    Post,
    /// Writes.
    Put,
}

impl ActionCheckMethod {
    /// Whether a call changes something, so that it is not repeated.
    #[must_use]
    pub fn writes(self) -> bool {
        !matches!(self, Self::Get)
    }
}

/// A header with the value of a Secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeaderFrom {
    /// Name of the header. Example: Cookie.
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"))]
    pub name: String,
    /// Key of a Secret of the same namespace that holds its value.
    pub secret_key_ref: SecretKeyRef,
}

/// What an answer has to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Expectation {
    /// HTTP status. Default: any of 200 to 299.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 599))]
    pub status: Option<u16>,
    /// CEL expression over body (the JSON), status (a number) and headers (texts by name in small letters) that must be
    /// true; 1024 characters at most. Example: body.cartId != '' && body.lineItems.size() > 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub body: Option<String>,
}

/// What a check comes after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct After {
    /// ConnectorDeployment of the same namespace.
    pub deployment_ref: NamedRef,
}

/// What the operator says about the check. Written by the operator only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActionCheckStatus {
    /// The metadata.generation that this status speaks about. -1: the operator has not seen the object yet.
    pub observed_generation: i64,
    /// Ready (the action answered as expected), and, only while true: Reconciling (it may come by itself), Stalled (a person
    /// has to act).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The install of the operator that works on this resource: namespace and name of its Lease. Absent without leader
    /// election.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub controller: Option<String>,
    /// HTTP status of the last answer. Absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// Milliseconds that the last answer took, to the end of its body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// What came of the last call, in a sentence. After a failure with the beginning of the answer, without values of
    /// Secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
    /// When the last call was about to leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<Time>,
    /// What the last call was made for: POST and PUT are not sent for it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked_for: Option<CheckedFor>,
    /// What came of it. Sent: it is under way, or the operator ended before it knew the answer. NotSent: nothing left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CheckOutcome>,
}

impl Default for ActionCheckStatus {
    fn default() -> Self {
        Self {
            observed_generation: UNSEEN,
            conditions: Vec::new(),
            controller: None,
            http_status: None,
            duration_ms: None,
            message: None,
            checked_at: None,
            checked_for: None,
            outcome: None,
        }
    }
}

/// Why a call was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckedFor {
    /// The metadata.generation of the check.
    pub generation: i64,
    /// The digest of what the deployment of after had applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub deployment_digest: Option<String>,
    /// When the deployment of after had applied it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment_applied_at: Option<Time>,
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum CheckOutcome {
    /// It may have left, and no answer is known.
    Sent,
    /// Nothing left.
    NotSent,
    /// The answer was as expected.
    Passed,
    /// It was not, or there was none in time.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_written_has_the_documented_default_and_is_not_written_back() {
        let manifest = json!({
            "frontend": {"url": "http://127.0.0.1:8787"}, "namespace": "cart", "action": "getCart", "method": "GET",
            "locale": "en-GB", "extensionVersion": "1.4.0",
        });
        let spec: ActionCheckSpec = serde_json::from_value(manifest.clone()).expect("it is a spec");
        assert_eq!(spec.effective_interval(), Duration::from_mins(5));
        assert_eq!(spec.effective_timeout(), Duration::from_secs(10));
        assert_eq!(spec.frontend.preset, FrontendPreset::Service);
        assert_eq!(serde_json::to_value(&spec).expect("it is JSON"), manifest);
        let with_null = json!({"body": null});
        let body: Option<Value> = present(with_null["body"].clone()).expect("it is JSON");
        assert_eq!(body, Some(Value::Null));
    }
}
