//! `ActionCheck`: one call of a frontend action, which verifies that a deployment works.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::connector_deployment_status::STATE_LENGTH;
use super::duration::parse_duration;
use super::frontend::Frontend;
use super::schema;
use super::shared::{NamedRef, ProjectRef, SecretKeyRef, is_default};

/// Pause between two GET calls of an `ActionCheck` without `interval`.
pub const DEFAULT_CHECK_INTERVAL: Duration = Duration::from_mins(5);
/// Time limit for an answer of an `ActionCheck` without `timeout`.
pub const DEFAULT_CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// The action to call, how to call it, and the expected response.
#[serde_with::skip_serializing_none]
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
    doc = "A call of a frontend action that verifies that a deployment works. POST and PUT are sent once for each \
        change of the spec, or each time that a ConnectorDeployment is applied; GET is sent at every interval."
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.interval) || self.method == 'GET'")
    .message("interval is for GET only, because POST and PUT change something: leave it out, or choose method GET")
    .field_path(".interval"))]
#[x_kube(validation = schema::interval())]
#[x_kube(validation = Rule::new(
    "!has(self.timeout) || (duration(self.timeout) >= duration('1s') && duration(self.timeout) <= duration('30s'))")
    .message("timeout must be 1s to 30s")
    .field_path(".timeout"))]
#[x_kube(validation = Rule::new("has(self.projectRef) || (has(self.frontend) && has(self.frontend.url))")
    .message("name a frontend with frontend.url, or name with projectRef a ConnectProject that has spec.frontend"))]
#[x_kube(validation = Rule::new("!has(self.body) || self.method != 'GET'")
    .message("body is for POST and PUT: leave it out, or choose another method")
    .field_path(".body"))]
#[x_kube(validation = Rule::new(
    "!has(self.headers) || \
     self.headers.all(one, self.headers.exists_one(other, other.name.lowerAscii() == one.name.lowerAscii()))")
    .message("headers names one twice: upper and lower case are the same in names of headers")
    .field_path(".headers"))]
pub struct ActionCheckSpec {
    /// Project whose spec.frontend supplies the fields that frontend leaves out: a ConnectProject in the same namespace,
    /// or a ClusterConnectProject.
    /// Default: none.
    pub project_ref: Option<ProjectRef>,
    /// Frontend to call. Its fields take precedence over spec.frontend of the ConnectProject in projectRef.
    #[serde(default, skip_serializing_if = "is_default")]
    pub frontend: Frontend,
    /// Action to call.
    pub action: ActionName,
    /// HTTP method of the call. GET is sent again at every interval, POST and PUT at most once for each change of this
    /// spec, or of the deployment in deploymentRef.
    pub method: ActionCheckMethod,
    /// Locale to send with the call. Example: en-GB.
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[\x21-\x7E]+$"))]
    pub locale: String,
    /// Version of the frontend extension to call. Example: 1.4.0.
    #[schemars(length(min = 1, max = 256), regex(pattern = r"^[\x21-\x7E]+$"))]
    pub extension_version: String,
    /// Query parameters in their order, 32 at most. Write a list as `list[0]` and `list[1]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), extend("x-kubernetes-list-type" = "atomic"))]
    pub query: Vec<QueryParameter>,
    /// Body of POST and PUT: JSON in a string, sent unchanged; 16384 characters at most. Default: {}. Example:
    /// '{"variant": {"sku": "A1", "count": 1}}'.
    #[schemars(length(min = 1, max = 16_384))]
    pub body: Option<String>,
    /// Additional headers, such as a cookie; 16 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub headers: Vec<CheckHeader>,
    /// Expected response. Default: any status from 200 to 299, and a body that is JSON or empty.
    #[serde(default, skip_serializing_if = "is_default")]
    pub expect: Expectation,
    /// ConnectorDeployment after which to check: the action is called each time that it was applied, and not before.
    pub deployment_ref: Option<NamedRef>,
    /// Pause between two checks, at least 30s; for GET only. Default: 5m.
    #[schemars(length(min = 2, max = 20), regex(pattern = super::duration::PATTERN))]
    pub interval: Option<String>,
    /// Time limit for the response, from opening the connection to the end of the body; 1s to 30s. Default: 10s.
    #[schemars(length(min = 2, max = 20), regex(pattern = super::duration::PATTERN))]
    pub timeout: Option<String>,
    /// Whether to pause the check. While true, the action is not called and the last result stays. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspend: bool,
}

/// The expected response: everything given here must hold.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Expectation {
    /// Expected HTTP status. Default: any from 200 to 299.
    #[schemars(range(min = 100, max = 599))]
    pub status: Option<u16>,
    /// JSON that the body of the response must contain, in a string; 4096 characters and 64 elements of arrays at most.
    /// An object must have at least these members, and an array these elements, in any order. Example: '{"lineItems":
    /// [{"variant": {"sku": "A1"}}]}'.
    #[schemars(length(min = 1, max = 4096))]
    pub body: Option<String>,
}

/// An action of a frontend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionName {
    /// Namespace of the action: the path segment before its name. Example: cart.
    #[schemars(length(min = 1, max = 256))]
    pub namespace: String,
    /// Name of the action. Example: addToCart.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
}

impl ActionCheckSpec {
    /// Returns the pause between two checks. A value that the schema refuses counts as absent.
    pub fn effective_interval(&self) -> Duration {
        self.interval.as_deref().and_then(|text| parse_duration(text).ok()).unwrap_or(DEFAULT_CHECK_INTERVAL)
    }

    /// Returns the time limit for an answer. A value that the schema refuses counts as absent.
    pub fn effective_timeout(&self) -> Duration {
        self.timeout.as_deref().and_then(|text| parse_duration(text).ok()).unwrap_or(DEFAULT_CHECK_TIMEOUT)
    }
}

/// A query parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueryParameter {
    /// Name of the parameter.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
    /// Value of the parameter. Default: the empty text.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(length(max = 1024))]
    pub value: String,
}

/// HTTP method of a call.
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
    /// Returns whether a call changes something, so that it is not repeated.
    pub fn writes(self) -> bool {
        !matches!(self, Self::Get)
    }
}

/// An additional header.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.value) != has(self.valueFrom)")
    .message("give exactly one of value and valueFrom"))]
pub struct CheckHeader {
    /// Name of the header. Example: Cookie.
    #[schemars(length(min = 1, max = 128), regex(pattern = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"))]
    pub name: String,
    /// Value, which everybody who may read this object can read: printable ASCII without a blank at an end, 4096 characters
    /// at most. Exactly one of value and valueFrom must be set.
    #[schemars(length(min = 1, max = 4096), regex(pattern = r"^[\x21-\x7E]([\x20-\x7E]*[\x21-\x7E])?$"))]
    pub value: Option<String>,
    /// Source of the value, instead of value.
    pub value_from: Option<HeaderSource>,
}

/// Source of the value of a header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeaderSource {
    /// Key of a Secret in the same namespace that holds the value.
    pub secret_key_ref: SecretKeyRef,
}

/// Observed state of the check. Written by the operator only.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActionCheckStatus {
    /// The metadata.generation that this status describes. -1: the operator has not observed the object yet.
    pub observed_generation: i64,
    /// Conditions of the check. Always present: Ready. Present only while true: Reconciling, Stalled and Suspended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions_of_one_generation")]
    pub conditions: Vec<Condition>,
    /// Time of the last call. It is updated when the result changes, otherwise at most once an hour.
    pub checked_at: Option<Time>,
    /// Last value of the annotation connect-operator.io/rerun-requested-at that was handled.
    #[schemars(length(max = 256))]
    pub handled_rerun_request: Option<String>,
    /// State of the operator. Not part of the API: its format may change with any version.
    #[schemars(length(max = STATE_LENGTH))]
    pub state: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn absent_fields_have_the_documented_default_and_are_not_serialized() {
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
