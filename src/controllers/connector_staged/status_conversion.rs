//! Converts between a [`PersistedState`] and the status of the resource: two pure functions, each the inverse of the
//! other.

use connect_api::model::ConnectorStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::persisted::{Applied, Operation, PersistedState, Phase, Publication};
use crate::controllers::reporting::conditions::whole_seconds;
use crate::crd::{self, ConnectorStagedStatus, OperationState, StagedApplied, StagedOperation};

/// Reads the persisted state from a status.
#[must_use]
pub fn persisted(status: &ConnectorStagedStatus) -> PersistedState {
    PersistedState {
        id: status.id.clone(),
        applied: status.applied.as_ref().map(|applied| Applied {
            generation: applied.generation,
            digest: applied.digest.clone(),
            remote: applied.remote_digest.clone(),
            from_version: applied.from_version,
            at: applied.at.as_ref().map(|at| at.0).unwrap_or_default(),
        }),
        operation: status.operation.as_ref().map(operation),
        previewed: status.previewed_tag.clone(),
        refused: status.preview_refused,
        published: status.published_tag.clone(),
        publication: status.publication.as_ref().map(|publication| Publication {
            digest: publication.digest.clone(),
            outcome: phase(&publication.outcome),
            at: publication.at.as_ref().map(|at| at.0).unwrap_or_default(),
        }),
        deployable: status.deployable.clone(),
        handled_request: status.handled_redeploy_request.clone(),
    }
}

/// Writes the persisted state to a status.
pub fn store(status: &mut ConnectorStagedStatus, persisted: &PersistedState) {
    // Destructured, so that a new field cannot be forgotten.
    let PersistedState {
        id,
        applied,
        operation,
        previewed,
        refused,
        published,
        publication,
        deployable,
        handled_request,
    } = persisted;
    status.id.clone_from(id);
    status.applied = applied.as_ref().map(|Applied { generation, digest, remote, from_version, at }| StagedApplied {
        generation: *generation,
        digest: digest.clone(),
        remote_digest: remote.clone(),
        from_version: *from_version,
        at: Some(Time(whole_seconds(*at))),
    });
    status.operation = operation.as_ref().map(stored_operation);
    status.previewed_tag.clone_from(previewed);
    status.preview_refused = *refused;
    status.published_tag.clone_from(published);
    status.publication = publication.as_ref().map(|Publication { digest, outcome, at }| crd::Publication {
        digest: digest.clone(),
        outcome: word(*outcome).to_owned(),
        at: Some(Time(whole_seconds(*at))),
    });
    status.deployable.clone_from(deployable);
    status.handled_redeploy_request.clone_from(handled_request);
}

fn operation(status_conversion: &StagedOperation) -> Operation {
    Operation {
        kind: status_conversion.operation_type,
        accepted: status_conversion.state == OperationState::Accepted,
        attempt: status_conversion.attempt,
        generation: status_conversion.generation,
        digest: status_conversion.digest.clone(),
        tag: status_conversion.tag.clone(),
        from_version: status_conversion.from_version,
        from_phase: status_conversion.from_status.as_deref().map(phase),
        seen_busy: status_conversion.seen_busy,
        request: status_conversion.redeploy_request.clone(),
        started_at: status_conversion.started_at.0,
    }
}

fn stored_operation(operation: &Operation) -> StagedOperation {
    let Operation {
        kind,
        accepted,
        attempt,
        generation,
        digest,
        tag,
        from_version,
        from_phase,
        seen_busy,
        request,
        started_at,
    } = operation;
    StagedOperation {
        operation_type: *kind,
        state: if *accepted { OperationState::Accepted } else { OperationState::Planned },
        attempt: *attempt,
        generation: *generation,
        digest: digest.clone(),
        tag: tag.clone(),
        from_version: *from_version,
        from_status: from_phase.map(|phase| word(phase).to_owned()),
        seen_busy: *seen_busy,
        redeploy_request: request.clone(),
        started_at: Time(whole_seconds(*started_at)),
    }
}

/// Returns the status of a connector from the word of the API.
#[must_use]
pub fn phase(word: &str) -> Phase {
    match ConnectorStatus::from(word) {
        ConnectorStatus::Draft => Phase::Draft,
        ConnectorStatus::Processing => Phase::Processing,
        ConnectorStatus::ReadyForCertification | ConnectorStatus::InCertification => Phase::Certifying,
        ConnectorStatus::Published => Phase::Published,
        ConnectorStatus::Failed => Phase::Failed,
        ConnectorStatus::Other(_) => Phase::Other,
    }
}

fn word(phase: Phase) -> &'static str {
    match phase {
        Phase::Draft => "Draft",
        Phase::Processing => "Processing",
        Phase::Certifying => "InCertification",
        Phase::Published => "Published",
        Phase::Failed => "Failed",
        Phase::Other => "Unknown",
    }
}
