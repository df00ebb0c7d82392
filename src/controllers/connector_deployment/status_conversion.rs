//! Converts between a [`PersistedState`] and the status of the resource: two pure functions, each the inverse of the
//! other.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::persisted::{Applied, Operation, Payload, PersistedState, Phase, Sources};
use crate::controllers::reporting::bounds;
use crate::controllers::reporting::conditions::{is_true, whole_seconds};
use crate::controllers::values::digest::Digest;
use crate::controllers::values::tags::{GLOBAL, Item, Kind, Tags};
use crate::crd::connector_deployment_status as stored;
use crate::names;

/// Reads the persisted state from a status.
#[must_use]
pub fn persisted(status: &stored::ConnectorDeploymentStatus) -> PersistedState {
    PersistedState {
        id: status.id.clone(),
        applied: status.applied.as_ref().map(applied),
        operation: status.operation.as_ref().map(operation),
        handled_redeploy: status.handled_redeploy_request.clone(),
        unverified: is_true(&status.conditions, names::SECRETS_UNVERIFIED),
    }
}

/// Writes the persisted state to a status. `unverified` is written with the other conditions.
pub fn store(status: &mut stored::ConnectorDeploymentStatus, persisted: &PersistedState) {
    // Destructured, so that a new field cannot be forgotten.
    let PersistedState { id, applied, operation, handled_redeploy, unverified: _ } = persisted;
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
        serves: applied.serves,
        from_version: applied.from_version,
        connector_version: applied.connector_version,
        rollback: applied.rollback_revision.clone(),
        sent: applied.values.as_deref().map(tags),
        shown: tags(&applied.shown_values),
        accepted: tags(&applied.accepted_values),
        retained: tags(&applied.retained_values),
        sources: sources(applied.inputs.as_ref()),
        at: applied.at.as_ref().map(|at| at.0).unwrap_or_default(),
    }
}

fn stored_applied(applied: &Applied) -> stored::Applied {
    let Applied {
        generation,
        digest,
        outcome,
        serves,
        from_version,
        connector_version,
        rollback,
        sent,
        shown,
        accepted,
        retained,
        sources,
        at,
    } = applied;
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
        serves: *serves,
        from_version: *from_version,
        connector_version: *connector_version,
        rollback_revision: rollback.clone(),
        values: sent.as_ref().map(|sent| stored_tags(sent, stored::VALUES_SIZE)),
        shown_values: stored_tags(shown, stored::FEW_VALUES_SIZE),
        accepted_values: stored_tags(accepted, stored::FEW_VALUES_SIZE),
        retained_values: stored_tags(retained, stored::FEW_VALUES_SIZE),
        inputs: inputs(sources),
        at: Some(Time(whole_seconds(*at))),
    }
}

fn operation(operation: &stored::Operation) -> Operation {
    Operation {
        kind: operation.operation_type,
        state: operation.state,
        attempt: operation.attempt,
        generation: operation.generation,
        payload: operation.digest.as_deref().map(|digest| Payload {
            digest: Digest::parse(digest),
            tags: tags(&operation.values),
            sources: sources(operation.inputs.as_ref()),
        }),
        from_version: operation.from_version,
        from_build: operation.from_build_id.clone(),
        changes_visible: operation.changes_visible,
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
        changes_visible,
        seen_busy,
        redeploy_request,
        started_at,
    } = operation;
    stored::Operation {
        operation_type: *kind,
        state: *state,
        attempt: *attempt,
        generation: *generation,
        digest: payload.as_ref().map(|payload| payload.digest.to_string()),
        values: payload.as_ref().map(|it| stored_tags(&it.tags, stored::VALUES_SIZE)).unwrap_or_default(),
        changes_visible: *changes_visible,
        inputs: payload.as_ref().and_then(|payload| inputs(&payload.sources)),
        from_version: *from_version,
        from_build_id: from_build.clone(),
        seen_busy: *seen_busy,
        redeploy_request: redeploy_request.clone(),
        started_at: Time(whole_seconds(*started_at)),
    }
}

fn tags(digests: &[stored::ValueDigests]) -> Tags {
    let place = |entry: &stored::ValueDigests| {
        let application = entry.application.clone().unwrap_or_else(|| GLOBAL.to_owned());
        let of = |kind: Kind, values: &BTreeMap<String, String>| {
            let item = |key: &String| Item { kind, application: application.clone(), key: key.clone() };
            values.iter().map(|(key, tag)| (item(key), tag.clone())).collect::<Vec<_>>()
        };
        let schedule = entry.schedule.iter().map(|tag| (Item::schedule(&application), tag.clone()));
        let policy = of(Kind::RetryPolicy, &entry.retry_policy);
        [of(Kind::Standard, &entry.standard), of(Kind::Secured, &entry.secured), schedule.collect(), policy].concat()
    };
    digests.iter().flat_map(place).collect()
}

/// Returns as many tags as fit into `size` bytes of JSON. Secured values come first, since they cannot be read back.
fn stored_tags(tags: &Tags, size: usize) -> Vec<stored::ValueDigests> {
    const PLACE: usize = r#"{"application":,"standard":{},"secured":{},"schedule":"","retryPolicy":{}},"#.len();
    const VALUE: usize = ":,".len();
    let mut places: BTreeMap<&str, stored::ValueDigests> = BTreeMap::new();
    let mut left = size;
    for (item, tag) in tags.iter() {
        let new =
            if places.contains_key(item.application.as_str()) { 0 } else { PLACE + bounds::size(&item.application) };
        let needs = new + VALUE + bounds::size(&item.key) + bounds::size(&tag);
        if needs > left || (new > 0 && places.len() == stored::VALUE_PLACES) {
            continue;
        }
        left -= needs;
        let place = places.entry(&item.application).or_default();
        place.application = (item.application != GLOBAL).then(|| item.application.clone());
        match item.kind {
            Kind::Standard => _ = place.standard.insert(item.key.clone(), tag.to_owned()),
            Kind::Secured => _ = place.secured.insert(item.key.clone(), tag.to_owned()),
            Kind::Schedule => place.schedule = Some(tag.to_owned()),
            Kind::RetryPolicy => _ = place.retry_policy.insert(item.key.clone(), tag.to_owned()),
        }
    }
    places.into_values().collect()
}

fn sources(inputs: Option<&Sources>) -> Sources {
    inputs.filter(|inputs| !inputs.is_empty()).cloned().unwrap_or_default()
}

fn inputs(sources: &Sources) -> Option<Sources> {
    (!sources.is_empty()).then(|| sources.clone())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::persisted::{OperationState, OperationType, Source};
    use super::*;

    /// A tag for each kind of value, in an application and global.
    fn some(tag: &str) -> Tags {
        let mut tags = Tags::default();
        for item in [
            Item::standard("service", "A"),
            Item::secured("service", "A"),
            Item::schedule("job"),
            Item::retry_policy("events", "strategy"),
            Item::retry_policy("events", "maxAttempts"),
            Item::standard(GLOBAL, "B"),
            Item::secured(GLOBAL, "C"),
        ] {
            tags.set(item, tag);
        }
        tags
    }

    #[test]
    fn a_list_of_values_is_bounded_and_keeps_secured_values_first() {
        let mut tags = Tags::default();
        for number in 0..5_000 {
            let application = format!("application-{}", number % 70);
            tags.set(Item::standard(&application, &format!("A_KEY_{number}")), "1a2b3c4d");
        }
        for number in 0..50 {
            tags.set(Item::secured("application-0", &format!("SECRET_{number}")), "1a2b3c4d");
        }
        let digests = stored_tags(&tags, stored::VALUES_SIZE);
        let text = serde_json::to_string(&digests).expect("it is JSON");
        assert!(text.len() <= stored::VALUES_SIZE, "{}", text.len());
        assert!(text.len() > stored::VALUES_SIZE * 3 / 4, "most of the space is used: {}", text.len());
        let read = super::tags(&digests);
        for number in 0..50 {
            assert!(read.has(&Item::secured("application-0", &format!("SECRET_{number}"))), "{number}");
        }
    }

    #[test]
    fn the_persisted_state_is_read_back_unchanged() {
        let source =
            Source { kind: "Secret".into(), name: "tax".into(), uid: "1".into(), resource_version: "2".into() };
        let time = Timestamp::from_second(1_000).expect("a time in range");
        let sources = Sources::of(std::slice::from_ref(&source));
        let payload = Payload { digest: Digest::parse("key:hash"), tags: some("1a2b3c4d"), sources: sources.clone() };
        for (kind, state) in [
            (OperationType::Create, OperationState::Planned),
            (OperationType::Redeploy, OperationState::Accepted),
            (OperationType::Undeploy, OperationState::Planned),
        ] {
            for outcome in [Phase::Deployed, Phase::Failed, Phase::UndeployFailed, Phase::Draft, Phase::Other] {
                let before = PersistedState {
                    id: Some("id".into()),
                    applied: Some(Applied {
                        generation: 3,
                        digest: None,
                        outcome,
                        serves: outcome == Phase::Deployed,
                        connector_version: Some(3),
                        rollback: Some("revision-1".into()),
                        from_version: Some(4),
                        sent: Some(some("sent")),
                        shown: some("shown"),
                        accepted: some(""),
                        retained: some("*"),
                        sources: sources.clone(),
                        at: time,
                    }),
                    operation: Some(Operation {
                        kind,
                        state,
                        attempt: 2,
                        generation: 5,
                        payload: (kind != OperationType::Undeploy).then(|| payload.clone()),
                        from_version: Some(6),
                        from_build: Some("build".into()),
                        changes_visible: true,
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
                assert_eq!(persisted(&read), before, "{kind:?} {state:?} {outcome:?}");
            }
        }
    }
}
