//! The one place that changes staged connectors: sends the one call of a reconcile.

use connect_api::model::{ConnectorStaged as Record, ConnectorUpdate, ConnectorUpdateAction};
use connect_api::registry::StagedApi;
use connect_api::{ApiError, ConnectApi, Reaction, Selector};
use jiff::Timestamp;

use super::call::Response;
use super::desired;
use super::observed::Observed;
use super::state::{CallKind, StagedCall};
use crate::crd::{ConnectorStagedSpec, PublishPolicy};

/// The result of a call.
#[derive(Debug)]
pub(super) struct Answer {
    /// What it means.
    pub(super) response: Response,
    /// The record in the response.
    pub(super) record: Option<Record>,
    /// The error, if it was one.
    pub(super) error: Option<ApiError>,
}

/// Sends a call that was persisted, by `send_before`, or not at all. `record`: what was read before; `id`: that of the
/// connector, except for a create.
pub(super) async fn send(
    api: &(impl ConnectApi + StagedApi),
    spec: &ConnectorStagedSpec,
    call: &StagedCall,
    record: Option<&Record>,
    id: Option<&str>,
    send_before: Timestamp,
) -> Answer {
    let selector = Selector::Id(id.unwrap_or_default().to_owned());
    let update = async |actions: Vec<ConnectorUpdateAction>| {
        let update = ConnectorUpdate { version: call.from.unwrap_or_default(), actions };
        api.update(&selector, &update, send_before).await
    };
    let answer = match call.kind {
        // The record was just looked up by key, and the service accepts a key once.
        CallKind::Create => api.stage(&desired::draft(spec), send_before).await.map(Some),
        CallKind::Update => {
            update(record.map(|record| desired::changes(spec, record).actions).unwrap_or_default()).await
        }
        CallKind::Preview => update(vec![ConnectorUpdateAction::UpdatePreviewable]).await,
        CallKind::Publish => {
            let certification = spec.publish_policy == PublishPolicy::Certified;
            update(vec![ConnectorUpdateAction::Publish { certification }]).await
        }
        CallKind::Delete => api.discard(&selector, send_before).await,
    };
    match answer {
        Ok(Some(record)) => {
            let response = Response::Accepted(Observed::of(&record, spec));
            Answer { response, record: Some(record), error: None }
        }
        Ok(None) => Answer { response: Response::Gone, record: None, error: None },
        Err(error) => Answer { response: classify(&error), record: None, error: Some(error) },
    }
}

/// Classifies an error by what it says about the change that was asked for.
fn classify(error: &ApiError) -> Response {
    match error.reaction_to_change() {
        Reaction::Fix | Reaction::Token => Response::Refused,
        Reaction::Retry | Reaction::Refetch | Reaction::Wait => Response::NotTaken,
        Reaction::Gone => Response::Gone,
        Reaction::Verify => Response::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use connect_api::error::Failure;

    use super::*;
    use crate::operator::testing::{answered, coded, failure};

    #[test]
    fn a_failed_call_is_classified_by_what_it_says_about_the_change() {
        for (case, error, expected) in [
            ("no answer", failure(Failure::NoAnswer), Response::Unknown),
            ("an answer that cannot be read", failure(Failure::Unreadable), Response::Unknown),
            ("a gateway gave up", answered(504), Response::Unknown),
            ("another version, perhaps by this call", coded(409, "ConcurrentModification"), Response::Unknown),
            ("an existing key, perhaps by this call", coded(400, "DuplicateField"), Response::Unknown),
            ("not sent", failure(Failure::NotSent), Response::NotTaken),
            ("held back", failure(Failure::HeldBack), Response::NotTaken),
            ("throttled", answered(429), Response::NotTaken),
            ("rejected", coded(400, "InvalidField"), Response::Refused),
            ("no token", failure(Failure::CredentialsRefused), Response::Refused),
            ("gone", coded(404, "ResourceNotFound"), Response::Gone),
        ] {
            assert_eq!(classify(&error), expected, "{case}");
        }
    }
}
