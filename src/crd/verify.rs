//! `spec.verify` of a `ConnectorDeployment`: the Extensions and Subscriptions that the connector's scripts must create.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema::KEY_PATTERN;

/// Requirement for the condition Ready of a deployment, besides that the service reports Deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ReadyWhen {
    /// The report of the build has neither warnings nor errors.
    NoWarnings,
    /// The resources in `verify` exist and point to the deployment.
    Verified,
}

/// Resources that the scripts of the connector create in the project.
#[serde_with::apply(Vec => #[serde(default, skip_serializing_if = "Vec::is_empty")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "(has(self.extensions) && self.extensions.size() > 0) || (has(self.subscriptions) && \
        self.subscriptions.size() > 0)")
    .message("verify names nothing: give at least one entry of extensions or subscriptions, or remove it"))]
pub struct Verify {
    /// API Extensions with unique keys; 20 at most. Each must exist, with a destination of type HTTP whose host is that
    /// of an application of this deployment.
    #[schemars(length(max = 20))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["key".into()]))]
    pub extensions: Vec<VerifiedResource>,
    /// Subscriptions with unique keys; 20 at most. Each must exist, with a destination that is the topic of an
    /// application of this deployment.
    #[schemars(length(max = 20))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["key".into()]))]
    pub subscriptions: Vec<VerifiedResource>,
}

/// A resource that a script creates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedResource {
    /// Key of the resource: 2 to 256 letters, digits, underscores and hyphens. Example: tax-cart-check.
    #[schemars(length(min = 2, max = 256), regex(pattern = KEY_PATTERN))]
    pub key: String,
    /// Name of the application that the resource must point to. Default: any application of the deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 256), regex(pattern = KEY_PATTERN))]
    pub application_name: Option<String>,
}
