//! Reads what a decision is made from: the staged connector at the remote, and the objects that prove a tag. Changes
//! nothing.
//!
//! Each reconcile reads its own connector: users have few of them, and each reconcile has to see what the one before
//! changed.

use std::collections::BTreeSet;

use connect_api::api::PageRequest;
use connect_api::model::ConnectorStaged as Record;
use connect_api::{ApiError, ConnectApi, Selector};
use kube::Client;
use kube::api::Api;

use super::proof::Objects;
use crate::crd::{ActionCheck, ConnectorDeployment, ConnectorStagedSpec, PublishAfter};
use crate::operator::cluster::references::{Reference, Referenced};
use crate::operator::object_ref::Kind;

/// Returns what enqueues a resource: its project, and, while publishing waits for them, the objects that prove its tag.
pub fn references(spec: &ConnectorStagedSpec, waits: bool) -> BTreeSet<Reference> {
    let project = Referenced::project(&spec.project_ref);
    let after = spec.publish_after.iter().filter(|_| waits);
    let proofs = after.flat_map(|after| {
        let checks = after.check_refs.iter().map(|check| (Referenced::Object(Kind::Check), check.name.clone()));
        checks.chain([(Referenced::Object(Kind::Deployment), after.deployment_ref.name.clone())])
    });
    proofs.chain([project]).collect()
}

/// Reads the objects that prove a tag before it is published.
///
/// # Errors
/// Those of the API server.
pub async fn proofs(client: &Client, namespace: &str, after: &PublishAfter) -> Result<Objects, kube::Error> {
    let deployments = Api::<ConnectorDeployment>::namespaced(client.clone(), namespace);
    let deployment = deployments.get_opt(&after.deployment_ref.name).await?;
    let checks = Api::<ActionCheck>::namespaced(client.clone(), namespace);
    let mut read = Vec::new();
    for check in &after.check_refs {
        read.push(checks.get_opt(&check.name).await?);
    }
    Ok(Objects { deployment, checks: read })
}

/// Reads the connector: by id, or by key as long as no id is known.
///
/// # Errors
/// Those of the Connect API.
pub async fn read(api: &dyn ConnectApi, key: &str, id: Option<&str>) -> Result<Option<Record>, ApiError> {
    let selector = id.map_or_else(|| Selector::Key(key.to_owned()), |id| Selector::Id(id.to_owned()));
    api.staged(&selector).await
}

/// Checks that the project of a connector that was not found is there: one that answers 404 to everything proves
/// nothing (rule 5).
///
/// # Errors
/// Those of the Connect API.
pub async fn is_there(api: &impl ConnectApi) -> Result<(), ApiError> {
    api.deployments(PageRequest { limit: 1, offset: 0 }).await.map(|_| ())
}
