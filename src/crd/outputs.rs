//! `spec.outputs` of a `ConnectorDeployment`: the ConfigMap for the deployment's URLs and topics, and its keys.
//!
//! Next: `operator/deployment/outputs.rs`, which writes it.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// Destination for the URLs and topics of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outputs {
    /// ConfigMap in the same namespace that the operator creates and updates. One of somebody else with other content
    /// is not overwritten. The operator needs permission to write ConfigMaps.
    pub config_map: OutputConfigMap,
}

/// A ConfigMap for the URLs and topics of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct OutputConfigMap {
    /// Name of the ConfigMap.
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::NAME_PATTERN))]
    pub name: String,
    /// Keys to write, and the value of each; 128 at most. Default: {applicationName}.url and {applicationName}.topic
    /// for every application that has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["key".into()]))]
    pub keys: Vec<OutputKey>,
}

/// A key of the ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputKey {
    /// Key within the ConfigMap. Example: TAX_URL.
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::DATA_KEY_PATTERN))]
    pub key: String,
    /// Name of the application.
    #[schemars(length(min = 2, max = 256), regex(pattern = schema::KEY_PATTERN))]
    pub application_name: String,
    /// Value of the key. URL: the URL of an application that has one, such as a service. Topic: the topic of an event
    /// application.
    pub output: Output,
}

/// An output of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum Output {
    /// URL of the application.
    #[serde(rename = "URL")]
    Url,
    /// Topic of the application.
    Topic,
}
