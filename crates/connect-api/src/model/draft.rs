//! What is sent to create and to redeploy (contract sections 4.4 and 6.1): the strict shape, without nulls.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::{ApplicationConfiguration, DeploymentType, GlobalConfiguration};
use crate::lenient::nullable;

/// Names a connector in a draft: `id` or `key` must be there (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorReference {
    /// Connector by id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Connector by key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The staged connector instead of the published one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged: Option<bool>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
}

/// What is sent to create a deployment (contract section 4.4).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentDraft {
    /// The user's own unique name; always sent by the operator (contract section 8.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Kind of deployment.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<DeploymentType>,
    /// What to deploy.
    pub connector: ConnectorReference,
    /// Values of each application; the list is always sent.
    pub configurations: Vec<ApplicationConfiguration>,
    /// Values for all applications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_configuration: Option<GlobalConfiguration>,
    /// Where to deploy.
    pub region: String,
}

impl DeploymentDraft {
    /// Every secured value in it.
    pub fn secured_values(&self) -> impl Iterator<Item = &SecretString> {
        secured(&self.configurations, self.global_configuration.as_ref())
    }
}

/// The only update action of a deployment (contract section 6.1).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RedeployAction {
    /// Scripts do not run this time.
    #[serde(default, deserialize_with = "nullable")]
    pub skip_scripts: bool,
    /// New values; left out: the old ones stay. Whether a part merges is unspecified, so everything is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration_values: Option<Vec<ApplicationConfiguration>>,
    /// New values for all applications; left out: the old ones stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_configuration: Option<GlobalConfiguration>,
    /// Also move to the latest state of the connector.
    #[serde(default, deserialize_with = "nullable")]
    pub update_connector: bool,
}

impl RedeployAction {
    /// Every secured value in it.
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

/// An action of an update of a deployment; the member `action` tells which (contract section 6).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "camelCase")]
pub enum DeploymentUpdateAction {
    /// Deploys again.
    Redeploy(RedeployAction),
}

/// Update of a deployment (contract section 4.4).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeploymentUpdate {
    /// The version that the caller has seen.
    pub version: i64,
    /// The changes.
    pub actions: Vec<DeploymentUpdateAction>,
}
