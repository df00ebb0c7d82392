//! `ActionCheck`: one call of a frontend action that proves that what was deployed answers.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::action_check_expect::Expectation;
use super::duration::parse_duration;
use super::frontend::Frontend;
use super::schema;
use super::shared::{NamedRef, ProjectRef, SecretKeyRef, UNSEEN, is_default};

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
    printcolumn(
        name = "Action",
        type_ = "string",
        json_path = ".spec.action.name",
        description = "Name of the action"
    ),
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
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].reason"#,
        description = "Why, in one word"
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
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].message"#,
        description = "Why, in a sentence",
        priority = 1
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
#[x_kube(validation = Rule::new(
    "has(self.projectRef) || (has(self.frontend) && \
     (has(self.frontend.url) || (has(self.frontend.projectName) && has(self.frontend.companyName))))")
    .message("name a frontend with frontend.url, or with frontend.projectName and frontend.companyName, or name with \
        projectRef a ConnectProject that has spec.frontend"))]
#[x_kube(validation = Rule::new("!has(self.body) || self.method != 'GET'")
    .message("body is for POST and PUT: leave it out, or choose another method")
    .field_path(".body"))]
#[x_kube(validation = Rule::new("!has(self.query) || self.query.all(name, name.size() >= 1 && name.size() <= 256)")
    .message("names of parameters in query must have 1 to 256 characters")
    .field_path(".query"))]
pub struct ActionCheckSpec {
    /// ConnectProject of the same namespace whose spec.frontend holds for what frontend leaves out. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_ref: Option<ProjectRef>,
    /// Which frontend is called. Its fields win over those of spec.frontend of the ConnectProject of projectRef.
    #[serde(default, skip_serializing_if = "is_default")]
    pub frontend: Frontend,
    /// Which action is called.
    pub action: ActionName,
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
    /// What POST and PUT send: JSON, written as a string, and sent as it is written; 16384 characters at most.
    /// Default: {}. Example: '{"variant": {"sku": "A1", "count": 1}}'.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16_384))]
    pub body: Option<String>,
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
    /// true: the action is not called. What was reported before stays. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspend: bool,
}

/// An action of a frontend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActionName {
    /// Namespace of the action, the part of the path before its name. Example: cart.
    #[schemars(length(min = 1, max = 256))]
    pub namespace: String,
    /// Name of the action. Example: addToCart.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
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
    /// has to act), Suspended (spec.suspend is set).
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
    /// Digest of the spec of the check, without suspend.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub spec_digest: Option<String>,
    /// The digest of what the deployment of after had applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub deployment_digest: Option<String>,
    /// When the deployment of after had applied it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment_applied_at: Option<Time>,
    /// The value of the annotation connect-operator.io/rerun-requested-at that was last followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub rerun_request: Option<String>,
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
            "frontend": {"url": "http://127.0.0.1:8787"}, "action": {"namespace": "cart", "name": "getCart"},
            "method": "GET", "locale": "en-GB", "extensionVersion": "1.4.0",
        });
        let spec: ActionCheckSpec = serde_json::from_value(manifest.clone()).expect("it is a spec");
        assert_eq!(spec.effective_interval(), Duration::from_mins(5));
        assert_eq!(spec.effective_timeout(), Duration::from_secs(10));
        assert!(spec.frontend.preset.is_none() && !spec.suspend);
        assert_eq!(serde_json::to_value(&spec).expect("it is JSON"), manifest);
    }
}
