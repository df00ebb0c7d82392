//! The values that a deployment gives to its applications: plain ones as text or from ConfigMaps, secured ones from
//! Secrets only. There is no field for the clear text of a secured value, and there must never be one.
//!
//! The lists are maps by `key`, so that the API server refuses duplicates and several managers can own different
//! values; the `…From` lists are atomic, because their order counts. List items have no defaults: tools that compare
//! manifests with the cluster would show them as a difference for ever.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema::{self, KEY_PATTERN};
use super::shared::{ConfigMapKeyRef, NamedRef, SecretKeyRef};

/// Values of one application of the connector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationConfiguration {
    /// Name of the application, as the connector's connect.yaml has it. 2 to 256 letters, digits, underscores and
    /// hyphens.
    #[schemars(length(min = 2, max = 256), regex(pattern = KEY_PATTERN))]
    pub application_name: String,
    /// Cron schedule, for applications of type job only: replaces the one of the connector's connect.yaml.
    /// Default: that one stays. Example: "0 5 * * *".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub schedule: Option<String>,
    /// How undelivered messages are sent again, for applications of type event only: replaces the retry policy of the
    /// connector's connect.yaml as a whole. Default: that one stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_policy: Option<RetryPolicy>,
    /// The values themselves.
    #[serde(flatten)]
    pub values: ConfigurationValues,
}

/// How undelivered messages of an event application are sent again.
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
    /// immediate: without pauses. exponential-backoff: with growing pauses.
    pub strategy: RetryStrategy,
    /// Shortest pause in seconds, 1 to 600, and not above maxBackoffSeconds. Needed with exponential-backoff, and for
    /// that only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 600))]
    pub min_backoff_seconds: Option<i64>,
    /// Longest pause in seconds, 1 to 600. Needed with exponential-backoff, and for that only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 600))]
    pub max_backoff_seconds: Option<i64>,
    /// Attempts in all, 5 to 100, with exponential-backoff only. Default: the service decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 5, max = 100))]
    pub max_attempts: Option<i64>,
}

/// Kind of pauses between attempts, in the API's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum RetryStrategy {
    /// None.
    Immediate,
    /// Growing ones.
    ExponentialBackoff,
}

/// The four lists that make up the values of an application, or those that all applications share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationValues {
    /// Plain values, each with a key of its own; 100 at most. They can be read by anyone who may read this object or
    /// the deployment: for secrets use securedConfiguration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["key".into()]))]
    pub standard_configuration: Vec<StandardValue>,
    /// ConfigMaps of the same namespace whose entries become plain values, as envFrom of a container does; 10 at most.
    /// Later ones win over earlier ones, and standardConfiguration over all of them. Only keys that the connector
    /// declares are sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub standard_configuration_from: Vec<ConfigMapSource>,
    /// Secured values, each with a key of its own; 100 at most. They come from Secrets only and never appear in a
    /// status, an event or a log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["key".into()]))]
    pub secured_configuration: Vec<SecuredValue>,
    /// Secrets of the same namespace whose entries become secured values, as envFrom of a container does; 10 at most.
    /// Later ones win over earlier ones, and securedConfiguration over all of them. Only keys that the connector
    /// declares are sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub secured_configuration_from: Vec<SecretSource>,
}

/// One plain value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.value) != has(self.valueFrom)")
    .message("give exactly one of value and valueFrom"))]
pub struct StandardValue {
    /// Key, as the connector declares it. At most 256 characters. Example: LOG_LEVEL.
    #[schemars(length(min = 1, max = 256))]
    pub key: String,
    /// The value, as text of at most 32768 characters; numbers and true or false need quotes. Exactly one of value and
    /// valueFrom must be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32768))]
    pub value: Option<String>,
    /// Where the value is read from. Exactly one of value and valueFrom must be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_from: Option<StandardValueSource>,
}

/// Where a plain value is read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.configMapKeyRef) != has(self.applicationUrl)")
    .message("give exactly one of configMapKeyRef and applicationUrl"))]
pub struct StandardValueSource {
    /// One key of a ConfigMap of the same namespace. Exactly one of configMapKeyRef and applicationUrl must be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeyRef>,
    /// The URL of an application of the same deployment. It exists only after the first deployment: until then the
    /// placeholder is sent, and then one redeploy sends the URL. Exactly one of configMapKeyRef and applicationUrl must
    /// be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application_url: Option<ApplicationUrl>,
}

/// The URL of an application of the same deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationUrl {
    /// Name of the application, as the connector's connect.yaml has it: one of a type that has a URL, so neither event
    /// nor job. 2 to 256 letters, digits, underscores and hyphens.
    #[schemars(length(min = 2, max = 256), regex(pattern = KEY_PATTERN))]
    pub application: String,
    /// What follows the URL. Begins with a slash; at most 1024 characters. Default: nothing. Example: /webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024), regex(pattern = "^/"))]
    pub path: Option<String>,
    /// What the first deployment gets in place of the URL. 1 to 2048 characters. Example: https://placeholder.example.com.
    #[schemars(length(min = 1, max = 2048))]
    pub placeholder: String,
}

/// One secured value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecuredValue {
    /// Key, as the connector declares it. At most 256 characters. Example: API_TOKEN.
    #[schemars(length(min = 1, max = 256))]
    pub key: String,
    /// Where the value is read from. A secured value cannot be written here as text: put it into a Secret.
    pub value_from: SecuredValueSource,
}

/// Where a secured value is read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecuredValueSource {
    /// One key of a Secret of the same namespace. When its value changes, the deployment is redeployed.
    pub secret_key_ref: SecretKeyRef,
}

/// A ConfigMap whose entries become plain values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapSource {
    /// The ConfigMap, in the same namespace.
    pub config_map_ref: NamedRef,
    /// Put in front of each of its keys. At most 256 characters. Default: nothing. Example: TAX_.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub prefix: Option<String>,
}

/// A Secret whose entries become secured values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretSource {
    /// The Secret, in the same namespace.
    pub secret_ref: NamedRef,
    /// Put in front of each of its keys. At most 256 characters. Default: nothing. Example: TAX_.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub prefix: Option<String>,
}
