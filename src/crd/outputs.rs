//! `spec.outputs` of a `ConnectorDeployment`: where to write what the deployment offers, and under which keys.
//!
//! Next: `controllers/connector_deployment/outputs.rs`, which writes it.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// Where to write what the deployment offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outputs {
    /// A ConfigMap of the same namespace, made and kept by the operator. An existing one that the operator does not own
    /// is not overwritten; the resource reports OutputConflict. The operator has to be allowed to write ConfigMaps (chart:
    /// outputs.enabled); if it is not, the resource reports KubernetesError.
    pub config_map: OutputConfigMap,
}

/// A ConfigMap with what the deployment offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputConfigMap {
    /// Name of the ConfigMap.
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::NAME_PATTERN))]
    pub name: String,
    /// The keys to write, and what each holds; 128 at most. Default: {applicationName}.url and {applicationName}.topic for
    /// every application that has one.
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
    /// url: the address of a service, or of what else has one. topic: the topic of an event application.
    pub output: Output,
}

/// What an application offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum Output {
    /// Its address.
    Url,
    /// Its topic.
    Topic,
}
