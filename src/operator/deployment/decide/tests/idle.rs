//! No operation runs: when a redeploy happens and when not (rules 7 to 12).

use std::time::Duration;

use super::build::{
    ABSENT, Does, Fixture, NOW, Row, SETTLED, Stored, ago, cause, check, does, gathered, wanted, without_secrets,
};

use crate::operator::cluster::references::Source;
use crate::operator::deployment::decide::{Cause, Change, Outcome, Version};
use crate::operator::deployment::persisted::{OperationType, Phase, Sources};
use crate::operator::values::digest::Digest;

const REDEPLOY: OperationType = OperationType::Redeploy;
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
        ("rule 10: another generation with the same values", |fixture| fixture.intent.generation = 2, SETTLED),
        (
            "another value",
            |fixture| {
                fixture.wanted = Some(wanted("2", "secret"));
                gathered(fixture);
            },
            SENT,
        ),
        (
            "another secret",
            |fixture| {
                fixture.wanted = Some(wanted("1", "other"));
                gathered(fixture);
            },
            SENT,
        ),
        (
            "what was applied is unknown",
            |fixture| {
                fixture.applied().digest = None;
                gathered(fixture);
            },
            SENT,
        ),
        (
            "nothing was ever applied",
            |fixture| {
                fixture.persisted.applied = None;
                gathered(fixture);
            },
            SENT,
        ),
        (
            "the values cannot be known",
            |fixture| fixture.wanted = None,
            (Does::Rest, Stored::Nothing, Outcome::ValuesUnknown),
        ),
    ];
    check(Fixture::live, rows);
}

#[test]
fn rule_7_with_another_digest_key_the_sources_decide() {
    fn other_key() -> Fixture {
        let mut fixture = Fixture::live();
        fixture.applied().digest = Some(Digest::parse("lost:1-secret"));
        fixture.applied().sources = Sources::of(&[source("tax", "7")]);
        fixture.wanted.as_mut().expect("values are desired").payload.sources = Sources::of(&[source("tax", "7")]);
        fixture
    }
    let rows: &[Row] = &[
        ("the same sources", |_| {}, SETTLED),
        (
            "another version of a source",
            |fixture| {
                fixture.applied().sources = Sources::of(&[source("tax", "6")]);
                gathered(fixture);
            },
            SENT,
        ),
        (
            "another generation",
            |fixture| {
                fixture.intent.generation = 2;
                gathered(fixture);
            },
            SENT,
        ),
        (
            "rule 13: no sources, and the visible values fit",
            |fixture| fixture.applied().sources = Sources::default(),
            SETTLED,
        ),
        (
            "rule 13: no sources, and the visible values differ",
            |fixture| {
                fixture.applied().sources = Sources::default();
                fixture.wanted = Some(wanted("2", "secret"));
                gathered(fixture);
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
        let mut fixture = other_key();
        if !sources {
            fixture.applied().sources = Sources::default();
        }
        if !secured {
            without_secrets(&mut fixture);
        }
        let persisted = fixture.decide().persisted;
        assert_eq!(persisted.unverified, unverified, "{input}");
        let digest = persisted.applied.expect("the applied state is kept").digest;
        assert_eq!(digest, Some(wanted("1", "secret").payload.digest), "{input}: the digest is computed again");
    }
}

#[test]
fn rule_8_a_redeploy_carries_the_version_that_was_read() {
    let mut fixture = Fixture::live();
    fixture.wanted = Some(wanted("2", "secret"));
    gathered(&mut fixture);
    let operation = fixture.decide().persisted.operation.expect("the operation is persisted");
    assert_eq!((operation.from_version, operation.from_build.as_deref()), (Some(5), Some("build-1")));
    assert_eq!(operation.payload, Some(wanted("2", "secret").payload));
}

#[test]
fn rule_9_changes_within_two_seconds_become_one_redeploy_but_not_after_ten() {
    let mut fixture = Fixture::live();
    fixture.wanted = Some(wanted("2", "secret"));
    let first = fixture.decide();
    assert_eq!((does(&first), first.again), (Does::Rest, Some(Duration::from_secs(2))));
    let asked = cause(&fixture);
    assert_eq!(first.transient.change, Some(Change { cause: asked.clone(), first: NOW, last: NOW }));

    let other = Cause { digest: Some(Digest::parse("key:3-secret")), ..asked.clone() };
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
        fixture.transient.change = Some(Change { cause: cause.clone(), first, last });
        let decision = fixture.decide();
        let again = left.map_or(Some(Duration::from_secs(1)), |left| Some(milliseconds(left)));
        assert_eq!((does(&decision) == Does::Rest, decision.again), (left.is_some(), again), "{input}");
    }
    fixture.wanted = Some(wanted("1", "secret"));
    assert_eq!(fixture.decide().transient.change, None, "the change was reverted");
}

#[test]
fn rule_9_a_change_while_the_remote_is_busy_waits() {
    let busy = |outcome| (Does::Rest, Stored::Nothing, outcome);
    let rows: &[Row] = &[
        ("just now", |_| {}, busy(Outcome::Busy)),
        ("for nearly half an hour", |fixture| fixture.transient.busy_since = Some(ago(1799)), busy(Outcome::Busy)),
        ("for half an hour", |fixture| fixture.transient.busy_since = Some(ago(1800)), busy(Outcome::TakesTooLong)),
    ];
    check(
        || {
            let mut fixture = Fixture::live();
            fixture.wanted = Some(wanted("2", "secret"));
            gathered(&mut fixture);
            fixture.sees(Phase::Undeploying);
            fixture
        },
        rows,
    );
    let mut fixture = Fixture::live();
    fixture.sees(Phase::Deploying);
    fixture.transient.busy_since = Some(ago(60));
    assert_eq!(fixture.decide().again, Some(Duration::from_millis(7500)), "observations become rarer");
    fixture.sees(Phase::Deployed);
    assert_eq!(fixture.decide().transient.busy_since, None);
}

#[test]
fn rule_11_a_new_request_redeploys_once() {
    let rows: &[Row] = &[
        (
            "a request",
            |fixture| {
                fixture.intent.redeploy_request = Some("now".into());
                gathered(fixture);
            },
            SENT,
        ),
        (
            "another request",
            |fixture| {
                fixture.persisted.handled_redeploy = Some("before".into());
                fixture.intent.redeploy_request = Some("now".into());
                gathered(fixture);
            },
            SENT,
        ),
        (
            "served",
            |fixture| {
                fixture.persisted.handled_redeploy = Some("now".into());
                fixture.intent.redeploy_request = Some("now".into());
            },
            SETTLED,
        ),
        ("the annotation was removed", |fixture| fixture.persisted.handled_redeploy = Some("now".into()), SETTLED),
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
        let mut fixture = Fixture::redeploying();
        fixture.persisted.handled_redeploy = own(before);
        fixture.intent.redeploy_request = own(now);
        fixture.accepted().operation().redeploy_request = own(served);
        fixture.operation().seen_busy = true;
        let observed = fixture.sees(Phase::Deployed);
        (observed.version, observed.values) = (6, super::build::visible(&[("A", "2")]));
        let decision = fixture.decide();
        assert_eq!(decision.persisted.handled_redeploy.as_deref(), handled, "{input}");
        assert_eq!(decision.outcome == Outcome::Changing, goes_on, "{input}");
    }
    let mut fixture = Fixture::new();
    fixture.intent.redeploy_request = Some("now".into());
    let persisted = fixture.decide().persisted;
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
        let mut fixture = Fixture::live();
        fixture.applied().outcome = Phase::Failed;
        fixture.sees(Phase::Failed);
        fixture
    }
    let rows: &[Row] = &[
        ("nothing", |_| {}, FAILED),
        ("the generation", |fixture| fixture.intent.generation = 2, FAILED),
        (
            "a value",
            |fixture| {
                fixture.wanted = Some(wanted("2", "secret"));
                gathered(fixture);
            },
            SENT,
        ),
        (
            "the annotation",
            |fixture| {
                fixture.intent.redeploy_request = Some("now".into());
                gathered(fixture);
            },
            SENT,
        ),
        (
            "the version of the connector",
            |fixture| {
                fixture.intent.version = Version { wanted: Some(2), latest: Some(2), follow: false };
                fixture.intent.generation = 2;
                gathered(fixture);
            },
            SENT,
        ),
    ];
    check(failed, rows);
}

#[test]
fn rule_5_the_times_of_the_reads_prove_absence_and_not_that_of_the_decision() {
    for (case, first, second, outcome) in
        [("one second apart", 40, 39, Outcome::Missing), ("30 s apart", 70, 40, Outcome::Disappeared)]
    {
        let mut fixture = Fixture::live();
        fixture.observation = ABSENT;
        let noted = fixture.decide_later(ago(first), ago(first)).transient;
        assert_eq!(noted.absent_since, Some(ago(first)), "{case}");
        fixture.transient = noted;
        assert_eq!(fixture.decide_later(ago(second), NOW).outcome, outcome, "{case}");
    }
    let mut fixture = Fixture::live();
    fixture.observation = ABSENT;
    assert_eq!(
        fixture.decide_later(ago(40), NOW).transient.absent_since,
        Some(ago(40)),
        "not the time of the decision"
    );
}
