//! `spec.outputs` of a `ConnectorDeployment`: the ConfigMap for the deployment's URLs and topics.
//!
//! Next: `operator/deployment/outputs.rs`, which writes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// Destination for the URLs and topics of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outputs {
    /// ConfigMap in the same namespace that the operator creates and updates, with the keys {applicationName}.url and
    /// {applicationName}.topic for every application that has one. One of somebody else with other content is not
    /// overwritten. The operator needs permission to write ConfigMaps.
    pub config_map: OutputConfigMap,
}

/// A ConfigMap for the URLs and topics of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputConfigMap {
    /// Name of the ConfigMap.
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::NAME_PATTERN))]
    pub name: String,
}
