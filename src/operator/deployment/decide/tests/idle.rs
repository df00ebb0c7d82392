//! No operation runs: when a redeploy happens and when not (rules 7 to 12).

use std::time::Duration;

use super::build::{
    Does, Expected, FAILED, NOW, SETTLED, ago, cause, check, does, fresh, idle, live, redeploying, sends, wanted,
};
use crate::operator::cluster::references::Source;
use crate::operator::deployment::decide::{Cause, Change, Outcome};
use crate::operator::deployment::persisted::OperationType::Redeploy;
use crate::operator::deployment::persisted::Phase::{Deployed, Deploying, Failed, Undeploying};
use crate::operator::deployment::persisted::Sources;
use crate::operator::values::digest::Digest;

const SENT: Expected = sends(Redeploy);

fn source(version: &str) -> Sources {
    let (kind, uid, resource_version) = ("Secret".into(), "uid".into(), version.into());
    Sources::of(&[Source { kind, name: "tax".into(), uid, resource_version }])
}

#[test]
fn rule_7_exactly_one_redeploy_for_each_change_and_none_without() {
    check(vec![
        ("nothing changed", live(), SETTLED),
        ("rule 10: another generation with the same values", live().generation(2), SETTLED),
        ("another value", live().wants("2", "secret").gathered(), SENT),
        ("another secret", live().wants("1", "other").gathered(), SENT),
        ("what was applied is unknown", live().gathered().with(|it| it.applied().digest = None), SENT),
        ("nothing was ever applied", live().gathered().with(|it| it.persisted.applied = None), SENT),
        ("the values cannot be known", live().unknown(), idle(Outcome::ValuesUnknown)),
    ]);
}

#[test]
fn rule_7_with_another_digest_key_the_sources_decide() {
    let applied = |sources: Sources| {
        live().gathered().with(|it| {
            (it.applied().digest, it.applied().sources) = (Some(Digest::parse("lost:1-secret")), sources);
            it.payload().sources = source("7");
        })
    };
    let unknown = || applied(Sources::default());
    let shown = idle(Outcome::NotApplied { drifted: false });
    check(vec![
        ("the same sources", applied(source("7")), SETTLED),
        ("another version of a source", applied(source("6")), SENT),
        ("another generation", applied(source("7")).generation(2), SENT),
        ("the same sources: what shows is not sent again", applied(source("7")).shows("one").corrects_drift(), shown),
        ("rule 13: no sources, and the visible values fit", unknown(), SETTLED),
        ("rule 13: no sources, and the visible values differ", unknown().wants("2", "secret"), SENT),
    ]);
    for (input, fixture, unverified) in [
        ("the same sources", applied(source("7")), false),
        ("no sources", unknown(), true),
        ("no sources and no secrets", unknown().without_secrets(), false),
    ] {
        assert_eq!(fixture.decide().persisted.unverified, unverified, "{input}");
        let digest = fixture.next_applied().digest;
        assert_eq!(digest, Some(wanted("1", "secret").payload.digest), "{input}: the digest is computed again");
    }
}

#[test]
fn rule_8_a_redeploy_carries_the_version_that_was_read() {
    let operation = live().wants("2", "secret").gathered().next_operation();
    assert_eq!((operation.from_version, operation.from_build.as_deref()), (Some(5), Some("build-1")));
    assert_eq!(operation.payload, Some(wanted("2", "secret").payload));
    let rotated = live().wants("1", "other").gathered().next_operation();
    assert_eq!((operation.changes_visible, rotated.changes_visible), (true, false));
}

#[test]
fn rule_9_changes_within_two_seconds_become_one_redeploy_but_not_after_ten() {
    let mut fixture = live().wants("2", "secret");
    let (first, asked) = (fixture.decide(), cause(&fixture));
    assert_eq!((does(&first), first.again), (Does::Rest, Some(Duration::from_secs(2))));
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
        let again = left.map_or(Duration::from_secs(1), milliseconds);
        assert_eq!((does(&decision) == Does::Rest, decision.again), (left.is_some(), Some(again)), "{input}");
    }
    let reverted = fixture.wants("1", "secret").decide();
    assert_eq!(reverted.transient.change, None, "the change was reverted");
}

#[test]
fn rule_9_a_change_while_the_remote_is_busy_waits() {
    let busy = || live().wants("2", "secret").gathered().sees(Undeploying);
    check(vec![
        ("just now", busy(), idle(Outcome::Busy)),
        ("for nearly half an hour", busy().busy_for(1799), idle(Outcome::Busy)),
        ("for half an hour", busy().busy_for(1800), idle(Outcome::TakesTooLong)),
    ]);
    let fixture = live().sees(Deploying).busy_for(60);
    assert_eq!(fixture.decide().again, Some(Duration::from_millis(7500)), "observations become rarer");
    assert_eq!(fixture.sees(Deployed).decide().transient.busy_since, None);
}

#[test]
fn rule_11_a_new_request_redeploys_once() {
    let handled = |request: &str| live().with(|it| it.persisted.handled_redeploy = Some(request.into()));
    check(vec![
        ("a request", live().requests("now").gathered(), SENT),
        ("another request", handled("before").requests("now").gathered(), SENT),
        ("served", handled("now").requests("now"), SETTLED),
        ("the annotation was removed", handled("now"), SETTLED),
    ]);
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
        let fixture = redeploying().accepted().seen_busy().sees(Deployed).at_version(6).shows("2").with(|it| {
            (it.persisted.handled_redeploy, it.intent.redeploy_request) = (own(before), own(now));
            it.operation().redeploy_request = own(served);
        });
        let decision = fixture.decide();
        assert_eq!(decision.persisted.handled_redeploy.as_deref(), handled, "{input}");
        assert_eq!(decision.outcome == Outcome::Changing, goes_on, "{input}");
    }
    let begun = fresh().requests("now");
    assert_eq!(begun.next_operation().redeploy_request.as_deref(), Some("now"));
    let handled = begun.decide().persisted.handled_redeploy;
    assert_eq!(handled.as_deref(), Some("now"), "a request that exists at the create counts as handled");
}

#[test]
fn rule_12_a_failed_digest_is_not_tried_again_until_something_changes() {
    let failed = || live().sees(Failed).with(|it| it.applied().outcome = Failed);
    let moves = failed().version(Some(2), Some(2)).generation(2).gathered();
    check(vec![
        ("nothing", failed(), FAILED),
        ("the generation", failed().generation(2), FAILED),
        ("a value", failed().wants("2", "secret").gathered(), SENT),
        ("the annotation", failed().requests("now").gathered(), SENT),
        ("the version of the connector", moves, SENT),
    ]);
}

#[test]
fn rule_5_the_times_of_the_reads_prove_absence_and_not_that_of_the_decision() {
    for (case, first, second, outcome) in
        [("one second apart", 40, 39, Outcome::Missing), ("30 s apart", 70, 40, Outcome::Disappeared)]
    {
        let decision = live().absent().decide_later(ago(first), NOW);
        assert_eq!(decision.transient.absent_since, Some(ago(first)), "{case}: not the time of the decision");
        assert_eq!(live().absent().after(decision).decide_later(ago(second), NOW).outcome, outcome, "{case}");
    }
}
