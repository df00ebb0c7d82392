//! Requests to create and to redeploy a deployment (contract sections 4.4 and 6.1), encoded in the strict form without
//! nulls.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::{ApplicationConfiguration, DeploymentType, GlobalConfiguration};
use crate::lenient::nullable;

/// Identifies a connector in a draft; `id` or `key` is required (contract section 4.2).
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectorReference {
    /// Id of the connector.
    pub id: Option<String>,
    /// Key of the connector.
    pub key: Option<String>,
    /// Whether to deploy the staged connector instead of the published one.
    pub staged: Option<bool>,
    /// Version of the connector.
    pub version: Option<i64>,
}

/// The request body for creating a deployment (contract section 4.4).
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentDraft {
    /// Unique key chosen by the user; the operator always sends one (contract section 8.4).
    pub key: Option<String>,
    /// Type of the deployment.
    #[serde(rename = "type", default)]
    pub kind: Option<DeploymentType>,
    /// Connector to deploy.
    pub connector: ConnectorReference,
    /// Values of each application; the list is always sent.
    pub configurations: Vec<ApplicationConfiguration>,
    /// Values for all applications.
    pub global_configuration: Option<GlobalConfiguration>,
    /// Region to deploy to.
    pub region: String,
}

impl DeploymentDraft {
    /// Returns all secured values of the draft.
    pub fn secured_values(&self) -> impl Iterator<Item = &SecretString> {
        secured(&self.configurations, self.global_configuration.as_ref())
    }
}

/// The only update action of a deployment (contract section 6.1).
#[serde_with::apply(bool => #[serde(default, deserialize_with = "nullable")])]
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RedeployAction {
    /// Whether to skip the connector's scripts in this redeploy.
    pub skip_scripts: bool,
    /// New values; if absent, the old ones remain. Whether a partial list is merged is unspecified, so the operator
    /// sends all values.
    pub configuration_values: Option<Vec<ApplicationConfiguration>>,
    /// New values for all applications; if absent, the old ones remain.
    pub global_configuration: Option<GlobalConfiguration>,
    /// Whether to move to the latest state of the connector as well.
    pub update_connector: bool,
}

impl RedeployAction {
    /// Returns all secured values of the action.
    pub fn secured_values(&self) -> impl Iterator<Item = &SecretString> {
        secured(self.configuration_values.as_deref().unwrap_or_default(), self.global_configuration.as_ref())
    }
}

fn secured<'a>(
    applications: &'a [ApplicationConfiguration],
    global: Option<&'a GlobalConfiguration>,
) -> impl Iterator<Item = &'a SecretString> {
    let global = global.into_iter().flat_map(|global| &global.secured_configuration);
    applications
        .iter()
        .flat_map(|application| &application.secured_configuration)
        .chain(global)
        .map(|secured| &secured.value)
}

/// An update action of a deployment, tagged by the member `action` (contract section 6).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "camelCase")]
pub enum DeploymentUpdateAction {
    /// Deploys the connector again.
    Redeploy(RedeployAction),
}

/// The request body for updating a deployment (contract section 4.4).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeploymentUpdate {
    /// The version that the caller read.
    pub version: i64,
    /// The update actions.
    pub actions: Vec<DeploymentUpdateAction>,
}
