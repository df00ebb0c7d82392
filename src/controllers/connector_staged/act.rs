//! The one place that changes staged connectors: sends the one call of a reconcile.

use clock::later;
use connect_api::model::{ConnectorStaged as Record, ConnectorUpdate, ConnectorUpdateAction};
use connect_api::registry::StagedApi;
use connect_api::{ConnectApi, Selector};
use jiff::Timestamp;

use super::decide::{Call, CallKind, Response};
use super::persisted::ObservedConnector;
use super::{desired, observe};
use crate::controllers::driver::PersistedOperation;
use crate::controllers::driver::operations::{CallResult, LIMIT};
use crate::crd::ConnectorStagedSpec;

/// The result of a call.
pub type Done = CallResult<ObservedConnector, Record>;

/// Sends the call whose operation was persisted. `record`: what was read, from which an update is computed.
pub async fn send(
    api: &(impl ConnectApi + StagedApi),
    spec: &ConnectorStagedSpec,
    call: &Call,
    record: Option<&Record>,
    operation: &PersistedOperation,
) -> Done {
    let send_before = later(operation.started_at(), LIMIT);
    let update = async |id: &str, version: i64, actions: Vec<ConnectorUpdateAction>| {
        let update = ConnectorUpdate { version, actions };
        api.update(&Selector::Id(id.to_owned()), &update, send_before).await
    };
    let answer = match &call.kind {
        CallKind::Create => return create(api, spec, call.first, send_before).await,
        CallKind::Update { id, version } => {
            let actions = record.map(|record| desired::changes(spec, record).actions).unwrap_or_default();
            update(id, *version, actions).await
        }
        CallKind::Preview { id, version } => update(id, *version, vec![ConnectorUpdateAction::UpdatePreviewable]).await,
        CallKind::Publish { id, version, certification } => {
            update(id, *version, vec![ConnectorUpdateAction::Publish { certification: *certification }]).await
        }
        CallKind::Delete { id } => api.discard(&Selector::Id(id.clone()), send_before).await,
    };
    match answer {
        Ok(Some(record)) => accepted(spec, record),
        Ok(None) => Done::without_record(Response::NotFound, None),
        Err(error) => Done::failed(error, false),
    }
}

/// Rule 1: looks the key up once more, then sends one POST.
async fn create(
    api: &(impl ConnectApi + StagedApi),
    spec: &ConnectorStagedSpec,
    first: bool,
    send_before: Timestamp,
) -> Done {
    match api.staged(&Selector::Key(spec.key.clone())).await {
        Ok(Some(_)) => {
            // A repeated create may find what an earlier attempt created: the next observation decides.
            let answer = if first { Response::Duplicate } else { Response::Unknown };
            return Done::without_record(answer, None);
        }
        Ok(None) => {}
        // This attempt has not sent anything yet.
        Err(error) => return Done::without_record(Response::Retryable, Some(error)),
    }
    match api.stage(&desired::draft(spec), send_before).await {
        Ok(record) => accepted(spec, record),
        Err(error) => Done::failed(error, true),
    }
}

fn accepted(spec: &ConnectorStagedSpec, record: Record) -> Done {
    Done { response: Response::Accepted(observe::held_against(spec, &record)), record: Some(record), error: None }
}
