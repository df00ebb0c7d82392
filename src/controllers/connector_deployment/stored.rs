//! Keeps a [`Ledger`] in the status of the resource: two pure translations, each other's reverse.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::ledger::{Applied, Ledger, Operation, OperationKind, OperationState, Payload, Phase, Source, Sources};
use crate::controllers::conditions::{is_true, whole_seconds};
use crate::controllers::digest::{Digest, VisibleDigest};
use crate::crd::connector_deployment_status as stored;
use crate::names;

/// Reads what is remembered.
#[must_use]
pub fn ledger(status: &stored::ConnectorDeploymentStatus) -> Ledger {
    Ledger {
        id: status.id.clone(),
        applied: status.applied.as_ref().map(applied),
        operation: status.operation.as_ref().map(operation),
        handled_redeploy: status.handled_redeploy_request.clone(),
        unverified: is_true(&status.conditions, names::SECRETS_UNVERIFIED),
    }
}

/// Writes what is to be remembered. `unverified` is written as a condition, with the others.
pub fn store(status: &mut stored::ConnectorDeploymentStatus, ledger: &Ledger) {
    // Destructured, so that a new member cannot be forgotten.
    let Ledger { id, applied, operation, handled_redeploy, unverified: _ } = ledger;
    status.id.clone_from(id);
    status.applied = applied.as_ref().map(stored_applied);
    status.operation = operation.as_ref().map(stored_operation);
    status.handled_redeploy_request.clone_from(handled_redeploy);
}

fn applied(applied: &stored::Applied) -> Applied {
    Applied {
        generation: applied.generation,
        digest: applied.digest.as_deref().map(Digest::parse),
        outcome: applied.outcome.map_or(Phase::Other, |outcome| match outcome {
            stored::Outcome::Deployed => Phase::Deployed,
            stored::Outcome::Failed => Phase::Failed,
            stored::Outcome::UndeployFailed => Phase::UndeployFailed,
            stored::Outcome::Draft => Phase::Draft,
            stored::Outcome::Unknown => Phase::Other,
        }),
        from_version: applied.from_version,
        sent: applied.visible_digest.as_deref().map(VisibleDigest::parse),
        remote: applied.remote_digest.as_deref().map(VisibleDigest::parse),
        accepted: applied.accepted_digest.as_deref().map(VisibleDigest::parse),
        sources: sources(applied.inputs.as_ref()),
        at: applied.at.as_ref().map(|at| at.0).unwrap_or_default(),
    }
}

fn stored_applied(applied: &Applied) -> stored::Applied {
    let Applied { generation, digest, outcome, from_version, sent, remote, accepted, sources, at } = applied;
    stored::Applied {
        generation: *generation,
        digest: digest.as_ref().map(ToString::to_string),
        outcome: Some(match outcome {
            Phase::Deployed => stored::Outcome::Deployed,
            Phase::Failed => stored::Outcome::Failed,
            Phase::UndeployFailed => stored::Outcome::UndeployFailed,
            Phase::Draft => stored::Outcome::Draft,
            Phase::Queued | Phase::Deploying | Phase::Undeploying | Phase::Other => stored::Outcome::Unknown,
        }),
        from_version: *from_version,
        visible_digest: sent.as_ref().map(ToString::to_string),
        remote_digest: remote.as_ref().map(ToString::to_string),
        accepted_digest: accepted.as_ref().map(ToString::to_string),
        inputs: inputs(sources),
        at: Some(Time(whole_seconds(*at))),
    }
}

fn operation(operation: &stored::Operation) -> Operation {
    let digests = operation.digest.as_deref().zip(operation.visible_digest.as_deref());
    Operation {
        kind: match operation.operation_type {
            stored::OperationType::Create => OperationKind::Create,
            stored::OperationType::Redeploy => OperationKind::Redeploy,
            stored::OperationType::Undeploy => OperationKind::Undeploy,
        },
        state: match operation.state {
            stored::OperationState::Planned => OperationState::Planned,
            stored::OperationState::Accepted => OperationState::Accepted,
        },
        attempt: operation.attempt,
        generation: operation.generation,
        payload: digests.map(|(digest, visible)| Payload {
            digest: Digest::parse(digest),
            visible: VisibleDigest::parse(visible),
            sources: sources(operation.inputs.as_ref()),
        }),
        from_version: operation.from_version,
        from_build: operation.from_build_id.clone(),
        seen_busy: operation.seen_busy,
        redeploy_request: operation.redeploy_request.clone(),
        started_at: operation.started_at.0,
    }
}

fn stored_operation(operation: &Operation) -> stored::Operation {
    let Operation {
        kind,
        state,
        attempt,
        generation,
        payload,
        from_version,
        from_build,
        seen_busy,
        redeploy_request,
        started_at,
    } = operation;
    stored::Operation {
        operation_type: match kind {
            OperationKind::Create => stored::OperationType::Create,
            OperationKind::Redeploy => stored::OperationType::Redeploy,
            OperationKind::Undeploy => stored::OperationType::Undeploy,
        },
        state: match state {
            OperationState::Planned => stored::OperationState::Planned,
            OperationState::Accepted => stored::OperationState::Accepted,
        },
        attempt: *attempt,
        generation: *generation,
        digest: payload.as_ref().map(|payload| payload.digest.to_string()),
        visible_digest: payload.as_ref().map(|payload| payload.visible.to_string()),
        inputs: payload.as_ref().and_then(|payload| inputs(&payload.sources)),
        from_version: *from_version,
        from_build_id: from_build.clone(),
        seen_busy: *seen_busy,
        redeploy_request: redeploy_request.clone(),
        started_at: Time(whole_seconds(*started_at)),
    }
}

fn sources(inputs: Option<&stored::Inputs>) -> Sources {
    let Some(stored::Inputs { count: count @ 1.., digest, first }) = inputs else { return Sources::default() };
    let source = |stored::Source { kind, name, uid, resource_version }: &stored::Source| Source {
        kind: kind.clone(),
        name: name.clone(),
        uid: uid.clone(),
        resource_version: resource_version.clone(),
    };
    Sources { count: *count, digest: digest.clone(), first: first.iter().map(source).collect() }
}

fn inputs(sources: &Sources) -> Option<stored::Inputs> {
    let Sources { count, digest, first } = sources;
    let source = |Source { kind, name, uid, resource_version }: &Source| stored::Source {
        kind: kind.clone(),
        name: name.clone(),
        uid: uid.clone(),
        resource_version: resource_version.clone(),
    };
    let inputs = || stored::Inputs { count: *count, digest: digest.clone(), first: first.iter().map(source).collect() };
    (!sources.is_empty()).then(inputs)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn what_is_stored_is_read_back_as_it_was() {
        let source =
            Source { kind: "Secret".into(), name: "tax".into(), uid: "1".into(), resource_version: "2".into() };
        let time = Timestamp::from_second(1_000).expect("a time in range");
        let payload = Payload {
            digest: Digest::parse("key:hash"),
            visible: VisibleDigest::parse("hash~ignored.one.two"),
            sources: Sources::of(std::slice::from_ref(&source)),
        };
        for (kind, state) in [
            (OperationKind::Create, OperationState::Planned),
            (OperationKind::Redeploy, OperationState::Accepted),
            (OperationKind::Undeploy, OperationState::Planned),
        ] {
            for outcome in [Phase::Deployed, Phase::Failed, Phase::UndeployFailed, Phase::Draft, Phase::Other] {
                let before = Ledger {
                    id: Some("id".into()),
                    applied: Some(Applied {
                        generation: 3,
                        digest: None,
                        outcome,
                        from_version: Some(4),
                        sent: Some(VisibleDigest::parse("sent")),
                        remote: Some(VisibleDigest::parse("other")),
                        accepted: Some(VisibleDigest::parse("accepted")),
                        sources: Sources::of(std::slice::from_ref(&source)),
                        at: time,
                    }),
                    operation: Some(Operation {
                        kind,
                        state,
                        attempt: 2,
                        generation: 5,
                        payload: (kind != OperationKind::Undeploy).then(|| payload.clone()),
                        from_version: Some(6),
                        from_build: Some("build".into()),
                        seen_busy: true,
                        redeploy_request: Some("now".into()),
                        started_at: time,
                    }),
                    handled_redeploy: Some("earlier".into()),
                    unverified: false,
                };
                let mut status = stored::ConnectorDeploymentStatus::default();
                store(&mut status, &before);
                let text = serde_json::to_string(&status).expect("a status is JSON");
                let read = serde_json::from_str(&text).expect("what was written can be read");
                assert_eq!(ledger(&read), before, "{kind:?} {state:?} {outcome:?}");
            }
        }
    }
}
