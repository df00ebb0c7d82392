//! What holds for every decision, whatever is persisted and observed.

use std::time::Duration;

use super::build::{Fixture, NOW, ago, creating, fresh, live, redeploying, rotating, visible};
use crate::operator::deployment::decide::{CallKind, Outcome, Step};
use crate::operator::deployment::persisted::DeletionPolicy::{Delete, Orphan};
use crate::operator::deployment::persisted::{Observation, OperationState, OperationType, Phase};
use crate::operator::values::digest::Digest;

const PHASES: [Phase; 6] =
    [Phase::Draft, Phase::Deploying, Phase::Deployed, Phase::Failed, Phase::Undeploying, Phase::UndeployFailed];

/// Everything that may be persisted, each at several ages.
fn stored() -> Vec<Fixture> {
    let unknown = live().with(|it| it.applied().digest = Some(Digest::parse("lost:key")));
    let mut scenes = vec![fresh(), live(), unknown];
    let undeploying = live().begins(OperationType::Undeploy);
    for begun in [creating(), creating().id("old"), redeploying(), rotating(), undeploying] {
        for fixture in [4, 119, 4000].map(|age| begun.clone().aged(age)) {
            let accepted = fixture.clone().accepted().id("id-1");
            scenes.extend([fixture.clone(), fixture.seen_busy(), accepted.clone(), accepted.seen_busy()]);
        }
    }
    scenes
}

fn observations() -> Vec<Observation> {
    let mut observations = vec![fresh().absent().observation, fresh().key_held().observation];
    for phase in PHASES {
        for (id, version, build, values) in [
            ("id-1", 5, "build-1", visible(&[("A", "1")])),
            ("id-1", 6, "build-2", visible(&[("A", "1")])),
            ("id-1", 6, "build-1", visible(&[("A", "2")])),
            ("id-1", 4, "build-0", visible(&[])),
            ("id-2", 1, "build-1", visible(&[("A", "1")])),
        ] {
            let seen = fresh().sees(phase).at_version(version).seeing(|seen| {
                (seen.id, seen.build, seen.values) = (id.into(), Some(build.into()), values);
            });
            observations.push(seen.observation);
        }
    }
    observations
}

/// All of these, with everything that a user may ask for.
fn scenes() -> impl Iterator<Item = Fixture> {
    let intents: [fn(Fixture) -> Fixture; 10] = [
        |fixture| fixture,
        Fixture::unknown,
        |fixture| fixture.wants("3", "secret"),
        |fixture| fixture.requests("now"),
        Fixture::suspended,
        Fixture::observes_only,
        |fixture| fixture.deletion(Delete),
        |fixture| fixture.deletion(Orphan),
        |fixture| fixture.corrects_drift().with(|it| it.intent.adopt = true),
        |fixture| fixture.with(|it| it.intent.remote_id = Some("id-1".into())),
    ];
    let for_long = |fixture: Fixture| {
        let present = matches!(fixture.observation, Observation::Present(_));
        let fixture = fixture.with(|it| it.transient.absent_since = Some(ago(300)));
        if present { fixture.rests(300) } else { fixture }
    };
    let observations = observations();
    stored().into_iter().flat_map(move |stored| {
        let seen =
            observations.iter().map(|observation| Fixture { observation: observation.clone(), ..stored.clone() });
        let asked = seen.flat_map(|fixture| intents.map(|intent| intent(fixture.clone())));
        asked.flat_map(|fixture| [fixture.clone(), for_long(fixture)]).collect::<Vec<_>>()
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
                assert_eq!(written.from_version, Some(fixture.clone().observed().version), "{fixture:#?}");
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
        let (step, intent) = (fixture.decide().step, &fixture.intent);
        let sends_nothing = intent.suspended || intent.observe_only;
        assert!(!sends_nothing || step == Step::NoOp, "{fixture:#?}");
        let removes = step == Step::RemoveFinalizer;
        assert!(removes || intent.deletion != Some(Orphan), "{fixture:#?}");
        assert!(!removes || intent.deletion.is_some(), "{fixture:#?}");
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
