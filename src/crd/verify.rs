//! What proves that the scripts of a connector did their work: the Extensions and Subscriptions that they create, by key.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::connect_project::CredentialsRef;
use super::schema::KEY_PATTERN;

/// When a deployment is Ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ReadyWhen {
    /// The service says Deployed.
    #[default]
    Deployed,
    /// The same, and the report of the build has neither warnings nor errors.
    NoWarnings,
    /// The service says Deployed, and what `verify` names exists and points to the deployment.
    Verified,
}

/// The resources that the scripts of the connector create in the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "(has(self.extensions) && self.extensions.size() > 0) || (has(self.subscriptions) && \
        self.subscriptions.size() > 0)")
    .message("verify names nothing: give at least one entry of extensions or subscriptions, or remove it"))]
pub struct Verify {
    /// API Extensions, each with a key of its own; 20 at most. Each must exist, with a destination of type HTTP whose
    /// host is that of an application of this deployment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["key".into()]))]
    pub extensions: Vec<VerifiedResource>,
    /// Subscriptions, each with a key of its own; 20 at most. Each must exist, with a destination that is the topic of
    /// an application of this deployment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["key".into()]))]
    pub subscriptions: Vec<VerifiedResource>,
    /// Secret of the same namespace with the API client that reads them: keys clientId and clientSecret, and optionally
    /// scopes, separated by blanks. It needs manage_extensions and manage_subscriptions, or manage_project. Default: the
    /// credentials of the ConnectProject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_ref: Option<CredentialsRef>,
}

/// One resource that a script creates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedResource {
    /// Key of the resource. 2 to 256 letters, digits, underscores and hyphens. Example: tax-cart-check.
    #[schemars(length(min = 2, max = 256), regex(pattern = KEY_PATTERN))]
    pub key: String,
    /// Name of the application that it must point to. Default: any application of the deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 256), regex(pattern = KEY_PATTERN))]
    pub application: Option<String>,
}
