//! Reads what a decision is made from: the staged connector at the remote. Changes nothing.
//!
//! Each reconcile reads its own connector: users have few of them, and each reconcile has to see what the one before
//! changed.

use std::collections::BTreeSet;

use connect_api::model::{ConnectorStaged as Record, IsPreviewable};
use connect_api::{ApiError, ConnectApi, Selector};
use kube::Client;
use kube::api::Api;

use super::desired::{self, Fields};
use super::persisted::{Observation, ObservedConnector, PersistedState, Phase, Preview};
use super::proof::Objects;
use super::status_conversion;
use crate::controllers::references::{Named, Reference};
use crate::crd::{ActionCheck, ConnectorDeployment, ConnectorStagedSpec, PublishAfter};

/// Returns what enqueues a resource: its project, and, while publishing waits for them, the objects that prove its tag.
#[must_use]
pub fn references(spec: &ConnectorStagedSpec, waits: bool) -> BTreeSet<Reference> {
    let project = Named::project(&spec.project_ref);
    let after = spec.publish_after.iter().filter(|_| waits);
    let proofs = after.flat_map(|after| {
        let checks = after.check_refs.iter().map(|check| (Named::Check, check.name.clone()));
        checks.chain([(Named::Deployment, after.deployment_ref.name.clone())])
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

/// Reads the connector: by key as long as no id is known.
///
/// # Errors
/// Those of the Connect API.
pub async fn read_remote(
    api: &dyn ConnectApi,
    key: &str,
    persisted: &PersistedState,
) -> Result<Option<Record>, ApiError> {
    let selector = persisted.id.clone().map_or_else(|| Selector::Key(key.to_owned()), Selector::Id);
    api.staged(&selector).await
}

/// Converts what was read to what `decide` takes.
#[must_use]
pub fn observation(spec: &ConnectorStagedSpec, record: Option<&Record>) -> Observation {
    record.map_or(Observation::Absent, |record| Observation::Present(held_against(spec, record)))
}

/// Compares a record with what is desired.
#[must_use]
pub fn held_against(spec: &ConnectorStagedSpec, record: &Record) -> ObservedConnector {
    let fields = Fields::from(record);
    let changes = desired::changes(spec, record);
    ObservedConnector {
        id: record.id.clone(),
        version: record.version,
        phase: phase(record),
        preview: match &record.is_previewable {
            IsPreviewable::NeverAsked => Preview::NeverAsked,
            IsPreviewable::Pending => Preview::Pending,
            IsPreviewable::Yes => Preview::Granted,
            IsPreviewable::No => Preview::Refused,
            IsPreviewable::Other(_) => Preview::Other,
        },
        private: record.private,
        listed: record.already_listed,
        changed: record.has_changes,
        digest: fields.digest(),
        met: changes.actions.is_empty() && changes.impossible.is_empty(),
        repository_met: fields.has_repository_of(&Fields::from(spec)),
        source: fields.source(),
        impossible: !changes.impossible.is_empty(),
    }
}

fn phase(record: &Record) -> Phase {
    status_conversion::phase(record.status.as_str())
}
