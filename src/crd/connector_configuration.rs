//! The configuration values of a deployment: plain ones as text or from ConfigMaps, secured ones from Secrets only.
//! There is no field for the clear text of a secured value, and there must never be one.
//!
//! The lists are maps by `key`, so that the API server refuses duplicates and several field managers can own different
//! values; `configurationFrom` is atomic, because its order matters. List items have no defaults: tools that compare
//! manifests with the cluster would report a default as a permanent difference.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema::{self, KEY_PATTERN};
use super::shared::{ConfigMapKeyRef, NamedRef, SecretKeyRef, is_default};

/// Values of one application of the connector.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationConfiguration {
    /// Name of the application in the connector's connect.yaml: 2 to 256 letters, digits, underscores and hyphens.
    #[schemars(length(min = 2, max = 256), regex(pattern = KEY_PATTERN))]
    pub application_name: String,
    /// Cron schedule, for applications of type job only. It replaces the schedule in the connector's connect.yaml.
    /// Default: the schedule of connect.yaml. Example: "0 5 * * *".
    #[schemars(length(min = 1, max = 100))]
    pub schedule: Option<String>,
    /// Retry policy for undelivered messages, for applications of type event only. It replaces the whole retry policy
    /// in the connector's connect.yaml. Default: the retry policy of connect.yaml.
    pub retry_policy: Option<RetryPolicy>,
    /// The configuration values.
    #[serde(flatten)]
    pub values: ConfigurationValues,
}

/// Retry policy for undelivered messages of an event application.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "self.strategy != 'exponential-backoff' || (has(self.minBackoffSeconds) && has(self.maxBackoffSeconds))")
    .message("strategy exponential-backoff needs minBackoffSeconds and maxBackoffSeconds"))]
#[x_kube(validation = Rule::new(
    "self.strategy != 'immediate' || !(has(self.minBackoffSeconds) || has(self.maxBackoffSeconds) || has(self.maxAttempts))")
    .message("minBackoffSeconds, maxBackoffSeconds and maxAttempts are for strategy exponential-backoff only"))]
#[x_kube(validation = Rule::new(
    "!has(self.minBackoffSeconds) || !has(self.maxBackoffSeconds) || self.minBackoffSeconds <= self.maxBackoffSeconds")
    .message("minBackoffSeconds must not be above maxBackoffSeconds"))]
pub struct RetryPolicy {
    /// Delay between attempts. immediate: no delay. exponential-backoff: growing delays.
    pub strategy: RetryStrategy,
    /// Shortest delay in seconds, 1 to 600, and not above maxBackoffSeconds. Required with exponential-backoff, and
    /// allowed only there.
    #[schemars(range(min = 1, max = 600))]
    pub min_backoff_seconds: Option<i64>,
    /// Longest delay in seconds, 1 to 600. Required with exponential-backoff, and allowed only there.
    #[schemars(range(min = 1, max = 600))]
    pub max_backoff_seconds: Option<i64>,
    /// Maximum number of attempts, 5 to 100. Allowed with exponential-backoff only. Default: the service decides.
    #[schemars(range(min = 5, max = 100))]
    pub max_attempts: Option<i64>,
}

/// Delay between attempts, spelled as in the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum RetryStrategy {
    /// No delay.
    Immediate,
    /// Growing delays.
    ExponentialBackoff,
}

/// The values of an application, or those that apply to all applications.
#[serde_with::apply(Vec => #[serde(default, skip_serializing_if = "Vec::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationValues {
    /// Plain values with unique keys; 100 at most. Anyone who may read this object or the deployment can read them: use
    /// securedConfiguration for secrets.
    #[schemars(length(max = 100))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["key".into()]))]
    pub standard_configuration: Vec<StandardValue>,
    /// Secured values with unique keys; 100 at most. They come from Secrets only and never appear in a status, an Event
    /// or a log.
    #[schemars(length(max = 100))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["key".into()]))]
    pub secured_configuration: Vec<SecuredValue>,
}

/// A plain value.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.value) != has(self.valueFrom)")
    .message("give exactly one of value and valueFrom"))]
pub struct StandardValue {
    /// Key that the connector declares; 256 characters at most. Example: LOG_LEVEL.
    #[schemars(length(min = 1, max = 256))]
    pub key: String,
    /// Value as a string of at most 32768 characters; quote numbers, true and false. Exactly one of value and valueFrom
    /// must be set.
    #[schemars(length(max = 32768))]
    pub value: Option<String>,
    /// Source of the value, instead of value.
    pub value_from: Option<StandardValueSource>,
}

/// Source of a plain value.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.configMapKeyRef) != has(self.applicationUrl)")
    .message("give exactly one of configMapKeyRef and applicationUrl"))]
pub struct StandardValueSource {
    /// Key of a ConfigMap in the same namespace. Set either this or applicationUrl.
    pub config_map_key_ref: Option<ConfigMapKeyRef>,
    /// URL of an application of the same deployment. It exists only after the first deployment: the operator sends the
    /// placeholder first, and the URL with one redeploy afterwards.
    pub application_url: Option<ApplicationUrl>,
}

/// URL of an application of the same deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationUrl {
    /// Name of the application in the connector's connect.yaml, of a type that has a URL: neither event nor job. 2 to
    /// 256 letters, digits, underscores and hyphens.
    #[schemars(length(min = 2, max = 256), regex(pattern = KEY_PATTERN))]
    pub application_name: String,
    /// Path to append to the URL. It starts with a slash; 1024 characters at most. Default: none. Example: /webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024), regex(pattern = "^/"))]
    pub path: Option<String>,
    /// Value for the first deployment in place of the URL, 1 to 2048 characters. Example:
    /// https://placeholder.example.com.
    #[schemars(length(min = 1, max = 2048))]
    pub placeholder: String,
}

/// A secured value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecuredValue {
    /// Key that the connector declares; 256 characters at most. Example: API_TOKEN.
    #[schemars(length(min = 1, max = 256))]
    pub key: String,
    /// Source of the value. A secured value cannot be given here as text: put it into a Secret.
    pub value_from: SecuredValueSource,
}

/// Source of a secured value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecuredValueSource {
    /// Key of a Secret in the same namespace. When its value changes, the operator redeploys.
    pub secret_key_ref: SecretKeyRef,
}

/// An object whose entries become values of the applications that declare them.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.secretRef) != has(self.configMapRef)")
    .message("give exactly one of secretRef and configMapRef"))]
#[x_kube(validation = Rule::new("!has(self.plainKeys) || has(self.secretRef)")
    .message("plainKeys is for a secretRef; a ConfigMap fills plain keys anyway")
    .field_path(".plainKeys"))]
pub struct ConfigurationSource {
    /// Secret in the same namespace. Its entries become secured values. Set either this or configMapRef.
    pub secret_ref: Option<NamedRef>,
    /// ConfigMap in the same namespace. Its entries become plain values. Set either this or secretRef.
    pub config_map_ref: Option<NamedRef>,
    /// Prefix to prepend to each key of the object; 256 characters at most. Default: none. Example: TAX_.
    #[schemars(length(max = 256))]
    pub prefix: Option<String>,
    /// Names of the only applications that get the values; 64 at most. Default: every application that declares the key, and
    /// the global configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 2, max = 256), regex(pattern = KEY_PATTERN)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub applications: Vec<String>,
    /// Policy for keys of a Secret that the connector declares as plain. Anyone who may read the deployment can read plain
    /// values. Never: they are not sent, and an Event names them. Allow: they are sent. Default: Never.
    pub plain_keys: Option<PlainKeys>,
    /// Whether the object may be missing. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub optional: bool,
}

/// Policy for plain values from a Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum PlainKeys {
    /// They are not sent.
    Never,
    /// They are sent.
    Allow,
}
