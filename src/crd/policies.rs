//! The type of a deployment, and the policies and defaults that deployments and staged connectors share.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// Poll interval for a settled deployment whose spec sets no `interval`.
pub const DEFAULT_INTERVAL: Duration = Duration::from_mins(5);

/// Type of a deployment, spelled as in the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum DeploymentType {
    /// Deployment of a staged connector.
    Preview,
    /// Deployment of a published connector for testing.
    Sandbox,
    /// Deployment of a published connector for production.
    Production,
}

/// Policy for an existing remote object of the same key that this object did not create.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AdoptionPolicy {
    /// Change nothing.
    #[default]
    Never,
    /// Manage it from now on.
    Adopt,
}

/// Policy for the remote object when the Kubernetes object is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[schemars(transform = schema::leave_description_to_the_field)]
#[value(rename_all = "PascalCase")]
pub enum DeletionPolicy {
    /// It is deleted. No option of an install has this value, or a manifest that keeps what runs in one cluster would
    /// destroy it in the next.
    #[value(skip)]
    Delete,
    /// It stays.
    Orphan,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum OperationType {
    /// Creates the deployment.
    Create,
    /// Redeploys with all values, and perhaps moves to another version.
    Redeploy,
    /// Deletes the deployment, because the resource is being deleted.
    Undeploy,
    /// Deletes the deployment, to create it again.
    Recreate,
}

impl OperationType {
    /// Whether it deletes the deployment.
    pub fn takes_down(self) -> bool {
        matches!(self, Self::Undeploy | Self::Recreate)
    }
}
