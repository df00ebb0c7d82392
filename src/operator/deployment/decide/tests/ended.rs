//! How an accepted redeploy ends, rule 17, and a persisted undeploy while nothing is being deleted.

use super::build::{
    Expected, NOW, SETTLED, ago, check, creating, differing, idle, live, redeploying, redeploying_to, runs, waits,
    wanted,
};
use crate::operator::deployment::decide::Outcome;
use crate::operator::deployment::persisted::OperationType::{Redeploy, Undeploy};
use crate::operator::deployment::persisted::Phase::{Deployed, Deploying, Draft, Failed};

const RUNS: Expected = runs(Redeploy);

#[test]
fn redeploy_accepted() {
    let accepted = || redeploying().accepted();
    let busy = || redeploying().accepted().seen_busy();
    let build = |seen: &str| Some(seen.to_owned());
    let same_version = busy().aged(10).sees(Deployed).shows("2").seeing(|seen| seen.build = build("build-2"));
    let before = busy().aged(10).sees(Deployed).seeing(|seen| (seen.version, seen.build) = (4, build("build-0")));
    let other_status = accepted().moved(100, "2").rests(60);
    let other_status = other_status.with(|it| it.transient.resting.as_mut().expect("it rests").phase = Failed);
    check(vec![
        ("busy", accepted().sees(Deploying), RUNS),
        ("busy observed, nothing changed", busy(), RUNS),
        ("busy observed, another version", busy().moved(10, "2"), SETTLED),
        (
            "busy observed, another build at the same version: ended, but rule 17 waits",
            same_version,
            idle(Outcome::Running(Redeploy)),
        ),
        ("busy observed, and a read from before its start", before, RUNS),
        ("another version, busy not observed", accepted().moved(10, "2"), RUNS),
        ("busy not observed, the same for 59 s", accepted().moved(100, "2").rests(59), RUNS),
        ("busy not observed, the same for 60 s", accepted().moved(100, "2").rests(60), SETTLED),
        ("the same, read since before the call", accepted().moved(59, "2").rests(1000), RUNS),
        ("another final status was read before", other_status, RUNS),
        ("a draft, although busy was observed", busy().aged(10).sees(Draft).at_version(6), RUNS),
    ]);
    let decision = accepted().rests(50).sees(Deploying).decide();
    assert!(decision.persisted.operation.expect("an operation runs").seen_busy);
    assert_eq!(decision.transient.resting, None, "a busy deployment ends the row of equal readings");
}

#[test]
fn a_redeploy_that_ended_keeps_the_version_before_it() {
    let fixture = redeploying().accepted().seen_busy().moved(10, "2");
    let applied = fixture.next_applied();
    assert_eq!((applied.from_version, applied.at), (Some(5), NOW));
    assert_eq!(applied.digest, Some(wanted("2", "secret").payload.digest));
    assert_eq!(fixture.decide().transient.resting, None);
}

#[test]
fn an_earlier_build_serves_after_a_failed_redeploy_but_not_after_a_failed_create() {
    let after = |serves| redeploying().with(|it| it.applied().serves = serves);
    for (case, fixture, phase, serves) in [
        ("a redeploy", after(true), Deployed, true),
        ("a failed redeploy", after(true), Failed, true),
        ("a failed redeploy after a failed one", after(false), Failed, false),
        ("a redeploy after a failed one", after(false), Deployed, true),
        ("a create", creating(), Deployed, true),
        ("a failed create", creating(), Failed, false),
    ] {
        let applied = fixture.id("id-1").accepted().aged(100).seen_busy().sees(phase).at_version(6).next_applied();
        assert_eq!((applied.outcome, applied.serves), (phase, serves), "{case}");
    }
}

#[test]
fn what_was_accepted_counts_as_long_as_the_same_difference_shows() {
    let one = differing(&[("A", "1")], &[("A", "one")]);
    for (case, value, shows, accepted) in [
        ("the same value is sent, and shows as before", "1", "one", one.clone()),
        ("it shows as it was sent", "1", "1", None),
        ("another value is sent", "2", "one", None),
    ] {
        let fixture = redeploying_to(wanted(value, "other")).with(|it| it.applied().accepted.clone_from(&one));
        let applied = fixture.accepted().seen_busy().moved(10, shows).next_applied();
        assert_eq!(applied.accepted, accepted, "{case}");
    }
}

#[test]
fn rule_17_a_read_with_the_version_before_the_last_redeploy_is_stale() {
    let applied = |from_version, seconds| {
        live().with(|it| (it.applied().from_version, it.applied().at) = (Some(from_version), ago(seconds)))
    };
    let old = idle(Outcome::Running(Redeploy));
    check(vec![
        ("89 s after it", applied(5, 89), old),
        ("90 s after it", applied(5, 90), SETTLED),
        ("an older version", applied(6, 89), old),
        ("another version", applied(4, 10), SETTLED),
    ]);
}

#[test]
fn an_undeploy_without_a_deletion_is_given_up_after_the_quiet_period() {
    check(vec![
        ("before the quiet period", live().begins(Undeploy).aged(119), waits(Undeploy)),
        ("after the quiet period", live().begins(Undeploy).aged(120), idle(Outcome::Changing)),
    ]);
}
