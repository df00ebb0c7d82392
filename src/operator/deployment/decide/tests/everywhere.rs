//! What holds for every decision, whatever is persisted and observed.

use std::time::Duration;

use super::build::{ABSENT, Fixture, NOW, ago, operation, visible, wanted};
use crate::operator::deployment::decide::{CallKind, Outcome, Step};
use crate::operator::deployment::persisted::{DeletionPolicy, Observation, OperationState, OperationType, Phase};
use crate::operator::values::digest::Digest;

const PHASES: [Phase; 6] =
    [Phase::Draft, Phase::Deploying, Phase::Deployed, Phase::Failed, Phase::Undeploying, Phase::UndeployFailed];

/// Everything that may be persisted, each at several ages.
fn stored() -> Vec<Fixture> {
    let mut undeploying = Fixture::live();
    undeploying.persisted.operation = Some(operation(OperationType::Undeploy, None));
    let mut creating_again = Fixture::creating();
    creating_again.persisted.id = Some("old".into());
    let mut unknown = Fixture::live();
    unknown.applied().digest = Some(Digest::parse("lost:key"));
    let mut scenes = vec![Fixture::new(), Fixture::live(), unknown];
    for begun in [Fixture::creating(), creating_again, Fixture::redeploying(), Fixture::rotating(), undeploying] {
        for age in [4, 119, 4000] {
            for state in [OperationState::Planned, OperationState::Accepted] {
                let mut fixture = begun.clone();
                fixture.aged(age).operation().state = state;
                if state == OperationState::Accepted {
                    fixture.persisted.id = Some("id-1".into());
                }
                scenes.push(fixture.clone());
                fixture.operation().seen_busy = true;
                scenes.push(fixture);
            }
        }
    }
    scenes
}

fn observations() -> Vec<Observation> {
    let mut observations = vec![ABSENT, Observation::Absent { key_held_by: Some("id-2".into()) }];
    for phase in PHASES {
        for (id, version, build, values) in [
            ("id-1", 5, "build-1", visible(&[("A", "1")])),
            ("id-1", 6, "build-2", visible(&[("A", "1")])),
            ("id-1", 6, "build-1", visible(&[("A", "2")])),
            ("id-1", 4, "build-0", visible(&[])),
            ("id-2", 1, "build-1", visible(&[("A", "1")])),
        ] {
            let mut fixture = Fixture::new();
            let observed = fixture.sees(phase);
            (observed.id, observed.version, observed.build, observed.values) =
                (id.into(), version, Some(build.into()), values);
            observations.push(fixture.observation);
        }
    }
    observations
}

/// All of these, with everything that a user may ask for.
fn scenes() -> impl Iterator<Item = Fixture> {
    let intents: [fn(&mut Fixture); 10] = [
        |_| {},
        |fixture| fixture.wanted = None,
        |fixture| fixture.wanted = Some(wanted("3", "secret")),
        |fixture| fixture.intent.redeploy_request = Some("now".into()),
        |fixture| fixture.intent.suspended = true,
        |fixture| fixture.intent.observe_only = true,
        |fixture| fixture.intent.deletion = Some(DeletionPolicy::Delete),
        |fixture| fixture.intent.deletion = Some(DeletionPolicy::Orphan),
        |fixture| (fixture.intent.adopt, fixture.intent.correct_drift) = (true, true),
        |fixture| fixture.intent.remote_id = Some("id-1".into()),
    ];
    let local_caches: [fn(&mut Fixture); 2] = [
        |_| {},
        |fixture| {
            fixture.transient.absent_since = Some(ago(300));
            if matches!(fixture.observation, Observation::Present(_)) {
                fixture.rests(300);
            }
        },
    ];
    let observations = observations();
    stored().into_iter().flat_map(move |stored| {
        let scenes: Vec<_> = observations
            .iter()
            .flat_map(|observation| intents.map(|intent| (observation, intent)))
            .flat_map(|(observation, intent)| local_caches.map(|transient| (observation, intent, transient)))
            .map(|(observation, intent, transient)| {
                let mut fixture = Fixture { observation: observation.clone(), ..stored.clone() };
                intent(&mut fixture);
                transient(&mut fixture);
                fixture
            })
            .collect();
        scenes
    })
}

#[test]
fn a_call_is_persisted_before_it_is_sent_and_uses_the_persisted_id() {
    for fixture in scenes() {
        let decision = fixture.decide();
        let Step::Send(call) = &decision.step else { continue };
        let written = decision.persisted.operation.as_ref().expect("a call has an operation");
        assert_eq!((written.state, written.started_at), (OperationState::Planned, NOW), "{fixture:#?}");
        assert_ne!(fixture.persisted.operation.as_ref(), Some(written), "the status always changes: {fixture:#?}");
        let kind = match &call.kind {
            CallKind::Create => OperationType::Create,
            CallKind::Redeploy | CallKind::Move => {
                let Observation::Present(seen) = &fixture.observation else {
                    panic!("nothing to redeploy: {fixture:#?}")
                };
                assert_eq!(written.from_version, Some(seen.version), "{fixture:#?}");
                OperationType::Redeploy
            }
            CallKind::Undeploy => OperationType::Undeploy,
            CallKind::Recreate => OperationType::Recreate,
        };
        assert!(kind == OperationType::Create || decision.persisted.id.is_some(), "{fixture:#?}");
        assert_eq!(written.kind, kind, "{fixture:#?}");
        assert_eq!(kind == OperationType::Undeploy, fixture.intent.deletion.is_some(), "{fixture:#?}");
        let known = fixture.wanted.is_some() || kind == OperationType::Undeploy;
        assert!(known, "nothing is sent while the values are unknown: {fixture:#?}");
    }
}

#[test]
fn rule_20_a_suspended_or_only_observed_resource_sends_nothing() {
    for fixture in scenes() {
        let intent = &fixture.intent;
        let decision = fixture.decide();
        if intent.suspended || intent.observe_only {
            assert_eq!(decision.step, Step::NoOp, "{fixture:#?}");
        }
        if intent.deletion == Some(DeletionPolicy::Orphan) {
            assert_eq!(decision.step, Step::RemoveFinalizer, "{fixture:#?}");
        }
        if intent.deletion.is_none() {
            assert_ne!(decision.step, Step::RemoveFinalizer, "{fixture:#?}");
        }
    }
}

#[test]
fn rule_21_deciding_again_from_the_same_observation_soon_changes_nothing() {
    for fixture in scenes() {
        let mut next = fixture.clone();
        let settled = (0..4).any(|_| {
            let decision = next.decide();
            let pause = decision.again.is_none_or(|again| again > Duration::ZERO);
            assert!(pause, "no loop without a pause: {next:#?}");
            let same = decision.persisted == next.persisted && decision.transient == next.transient;
            let ends = decision.step != Step::NoOp;
            (next.persisted, next.transient) = (decision.persisted, decision.transient);
            same || ends
        });
        assert!(settled, "{fixture:#?}");
    }
}

#[test]
fn rule_6_nothing_is_reported_as_settled_while_an_operation_runs() {
    for fixture in scenes() {
        let decision = fixture.decide();
        if let (Outcome::Settled { phase, .. }, Some(operation)) = (decision.outcome, &decision.persisted.operation) {
            let undeploys = operation.kind == OperationType::Undeploy && fixture.intent.deletion.is_some();
            let takes_down = undeploys || operation.kind == OperationType::Recreate;
            assert!(takes_down && phase == Phase::UndeployFailed, "{fixture:#?}");
        }
    }
}
