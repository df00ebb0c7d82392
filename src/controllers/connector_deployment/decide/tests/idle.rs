//! No operation runs: when a redeploy happens and when not (rules 7 to 12).

use std::time::Duration;

use super::build::{Does, Fixture, NOW, Row, SETTLED, Stored, ago, cause, check, does, gathered, wanted};

use crate::controllers::connector_deployment::decide::{Cause, Change, Outcome, Version};
use crate::controllers::connector_deployment::persisted::{OperationKind, Phase, Source, Sources};
use crate::controllers::digest::Digest;

const REDEPLOY: OperationKind = OperationKind::Redeploy;
const SENT: (Does, Stored, Outcome) = (Does::Send(REDEPLOY), Stored::Planned, Outcome::Running(REDEPLOY));
const FAILED: (Does, Stored, Outcome) =
    (Does::Rest, Stored::Nothing, Outcome::Settled { phase: Phase::Failed, drifted: false });

fn source(name: &str, version: &str) -> Source {
    let (kind, uid, resource_version) = ("Secret".into(), "uid".into(), version.into());
    Source { kind, name: name.into(), uid, resource_version }
}

#[test]
fn rule_7_exactly_one_redeploy_for_each_change_and_none_without() {
    let rows: &[Row] = &[
        ("nothing changed", |_| {}, SETTLED),
        ("rule 10: another generation with the same values", |scene| scene.intent.generation = 2, SETTLED),
        (
            "another value",
            |scene| {
                scene.wanted = Some(wanted("2", "secret"));
                gathered(scene);
            },
            SENT,
        ),
        (
            "another secret",
            |scene| {
                scene.wanted = Some(wanted("1", "other"));
                gathered(scene);
            },
            SENT,
        ),
        (
            "what was applied is unknown",
            |scene| {
                scene.applied().digest = None;
                gathered(scene);
            },
            SENT,
        ),
        (
            "nothing was ever applied",
            |scene| {
                scene.persisted.applied = None;
                gathered(scene);
            },
            SENT,
        ),
        (
            "the values cannot be known",
            |scene| scene.wanted = None,
            (Does::Rest, Stored::Nothing, Outcome::ValuesUnknown),
        ),
    ];
    check(Fixture::live, rows);
}

#[test]
fn rule_7_with_another_digest_key_the_sources_decide() {
    fn other_key() -> Fixture {
        let mut scene = Fixture::live();
        scene.applied().digest = Some(Digest::parse("lost:1-secret"));
        scene.applied().sources = Sources::of(&[source("tax", "7")]);
        scene.wanted.as_mut().expect("values are desired").payload.sources = Sources::of(&[source("tax", "7")]);
        scene
    }
    let rows: &[Row] = &[
        ("the same sources", |_| {}, SETTLED),
        (
            "another version of a source",
            |scene| {
                scene.applied().sources = Sources::of(&[source("tax", "6")]);
                gathered(scene);
            },
            SENT,
        ),
        (
            "another generation",
            |scene| {
                scene.intent.generation = 2;
                gathered(scene);
            },
            SENT,
        ),
        (
            "rule 13: no sources, and the visible values fit",
            |scene| scene.applied().sources = Sources::default(),
            SETTLED,
        ),
        (
            "rule 13: no sources, and the visible values differ",
            |scene| {
                scene.applied().sources = Sources::default();
                scene.wanted = Some(wanted("2", "secret"));
                gathered(scene);
            },
            SENT,
        ),
    ];
    check(other_key, rows);
    for (input, sources, secured, unverified) in [
        ("the same sources", true, true, false),
        ("no sources", false, true, true),
        ("no sources and no secrets", false, false, false),
    ] {
        let mut scene = other_key();
        if !sources {
            scene.applied().sources = Sources::default();
        }
        scene.wanted.as_mut().expect("values are desired").secured = secured;
        let persisted = scene.decide().persisted;
        assert_eq!(persisted.unverified, unverified, "{input}");
        let digest = persisted.applied.expect("the applied state is kept").digest;
        assert_eq!(digest, Some(wanted("1", "secret").payload.digest), "{input}: the digest is computed again");
    }
}

#[test]
fn rule_8_a_redeploy_carries_the_version_that_was_read() {
    let mut scene = Fixture::live();
    scene.wanted = Some(wanted("2", "secret"));
    gathered(&mut scene);
    let operation = scene.decide().persisted.operation.expect("the operation is persisted");
    assert_eq!((operation.from_version, operation.from_build.as_deref()), (Some(5), Some("build-1")));
    assert_eq!(operation.payload, Some(wanted("2", "secret").payload));
}

#[test]
fn rule_9_changes_within_two_seconds_become_one_redeploy_but_not_after_ten() {
    let mut scene = Fixture::live();
    scene.wanted = Some(wanted("2", "secret"));
    let first = scene.decide();
    assert_eq!((does(&first), first.again), (Does::Rest, Some(Duration::from_secs(2))));
    let asked = cause(&scene);
    assert_eq!(first.transient.change, Some(Change { cause: asked.clone(), first: NOW, last: NOW }));

    let other = Cause { digest: Digest::parse("key:3-secret"), ..asked.clone() };
    let milliseconds = Duration::from_millis;
    for (input, cause, first, last, left) in [
        ("just before two seconds", &asked, 1999, 1999, Some(1)),
        ("two seconds", &asked, 2000, 2000, None),
        ("another change after three seconds", &other, 3000, 1, Some(2000)),
        ("changes for nearly ten seconds", &asked, 9999, 500, Some(1)),
        ("changes for ten seconds", &asked, 10_000, 500, None),
        ("another change after ten seconds", &other, 10_000, 500, None),
    ] {
        let (first, last) = (NOW - milliseconds(first), NOW - milliseconds(last));
        scene.transient.change = Some(Change { cause: cause.clone(), first, last });
        let decision = scene.decide();
        let again = left.map_or(Some(Duration::from_secs(1)), |left| Some(milliseconds(left)));
        assert_eq!((does(&decision) == Does::Rest, decision.again), (left.is_some(), again), "{input}");
    }
    scene.wanted = Some(wanted("1", "secret"));
    assert_eq!(scene.decide().transient.change, None, "the change was reverted");
}

#[test]
fn rule_9_a_change_while_the_remote_is_busy_waits() {
    let busy = |outcome| (Does::Rest, Stored::Nothing, outcome);
    let rows: &[Row] = &[
        ("just now", |_| {}, busy(Outcome::Busy)),
        ("for nearly half an hour", |scene| scene.transient.busy_since = Some(ago(1799)), busy(Outcome::Busy)),
        ("for half an hour", |scene| scene.transient.busy_since = Some(ago(1800)), busy(Outcome::TakesTooLong)),
    ];
    check(
        || {
            let mut scene = Fixture::live();
            scene.wanted = Some(wanted("2", "secret"));
            gathered(&mut scene);
            scene.sees(Phase::Undeploying);
            scene
        },
        rows,
    );
    let mut scene = Fixture::live();
    scene.sees(Phase::Deploying);
    scene.transient.busy_since = Some(ago(60));
    assert_eq!(scene.decide().again, Some(Duration::from_millis(7500)), "observations become rarer");
    scene.sees(Phase::Deployed);
    assert_eq!(scene.decide().transient.busy_since, None);
}

#[test]
fn rule_11_a_new_request_redeploys_once() {
    let rows: &[Row] = &[
        (
            "a request",
            |scene| {
                scene.intent.redeploy_request = Some("now".into());
                gathered(scene);
            },
            SENT,
        ),
        (
            "another request",
            |scene| {
                scene.persisted.handled_redeploy = Some("before".into());
                scene.intent.redeploy_request = Some("now".into());
                gathered(scene);
            },
            SENT,
        ),
        (
            "served",
            |scene| {
                scene.persisted.handled_redeploy = Some("now".into());
                scene.intent.redeploy_request = Some("now".into());
            },
            SETTLED,
        ),
        ("the annotation was removed", |scene| scene.persisted.handled_redeploy = Some("now".into()), SETTLED),
    ];
    check(Fixture::live, rows);
}

#[test]
fn rule_11_an_operation_serves_the_request_that_it_began_with() {
    for (input, before, served, now, handled, goes_on) in [
        ("the request it began with", None, Some("a"), Some("a"), Some("a"), false),
        ("another request arrived meanwhile", None, Some("a"), Some("b"), Some("a"), true),
        ("a request arrived meanwhile", None, None, Some("b"), None, true),
        ("the annotation was removed meanwhile", None, Some("a"), None, Some("a"), false),
        ("an operation without a request forgets none", Some("a"), None, Some("a"), Some("a"), false),
    ] {
        let own = |text: Option<&str>| text.map(ToOwned::to_owned);
        let mut scene = Fixture::redeploying();
        scene.persisted.handled_redeploy = own(before);
        scene.intent.redeploy_request = own(now);
        scene.accepted().operation().redeploy_request = own(served);
        scene.operation().seen_busy = true;
        let observed = scene.sees(Phase::Deployed);
        (observed.version, observed.values) = (6, super::build::visible(&[("A", "2")]));
        let decision = scene.decide();
        assert_eq!(decision.persisted.handled_redeploy.as_deref(), handled, "{input}");
        assert_eq!(decision.outcome == Outcome::Changing, goes_on, "{input}");
    }
    let mut scene = Fixture::new();
    scene.intent.redeploy_request = Some("now".into());
    let persisted = scene.decide().persisted;
    assert_eq!(
        persisted.handled_redeploy.as_deref(),
        Some("now"),
        "a request that exists at the create counts as handled"
    );
    assert_eq!(persisted.operation.expect("a create is persisted").redeploy_request.as_deref(), Some("now"));
}

#[test]
fn rule_12_a_failed_digest_is_not_tried_again_until_something_changes() {
    fn failed() -> Fixture {
        let mut scene = Fixture::live();
        scene.applied().outcome = Phase::Failed;
        scene.sees(Phase::Failed);
        scene
    }
    let rows: &[Row] = &[
        ("nothing", |_| {}, FAILED),
        ("the generation", |scene| scene.intent.generation = 2, FAILED),
        (
            "a value",
            |scene| {
                scene.wanted = Some(wanted("2", "secret"));
                gathered(scene);
            },
            SENT,
        ),
        (
            "the annotation",
            |scene| {
                scene.intent.redeploy_request = Some("now".into());
                gathered(scene);
            },
            SENT,
        ),
        (
            "the version of the connector",
            |scene| {
                scene.intent.version = Version { wanted: Some(2), latest: Some(2), follow: false };
                scene.intent.generation = 2;
                gathered(scene);
            },
            SENT,
        ),
    ];
    check(failed, rows);
}
