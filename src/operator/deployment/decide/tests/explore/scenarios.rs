//! The scenarios that are explored.

use std::time::Instant;

use super::settings::{Budget, Build, Foreign, Second, Settings};
use super::{explore, full};

fn bounds(small: Budget, large: Budget) -> Budget {
    if full() { large } else { small }
}

/// Maximum number of steps of each scenario in the regular tests; with `full` all of it is explored.
const NEAREST: usize = 3_000;

fn holds(scenarios: &[(&str, Settings)]) {
    for (name, settings) in scenarios {
        let start = Instant::now();
        match explore(*settings, NEAREST) {
            Ok(worlds) => println!("{name}: {worlds}, {:.1} s", start.elapsed().as_secs_f32()),
            Err((property, trace)) => panic!("{name}: {property}\n{trace}"),
        }
    }
}

pub(super) fn nothing() -> Budget {
    Budget::default()
}

/// One crash of the operator, one lost response.
pub(super) fn one() -> Budget {
    Budget { crashes: 1, lost: 1, ..nothing() }
}

#[test]
fn nothing_is_created_twice_or_forgotten() {
    let small = Budget { secrets: 1, failures: 1, ..one() };
    let full = Budget { specs: 1, ..small };
    let create = Settings { budget: bounds(small, full), ..Settings::default() };
    let lagging = bounds(Budget { failures: 0, ..small }, full);
    let edited = Settings { budget: bounds(Budget { specs: 1, ..one() }, full), ..Settings::default() };
    holds(&[
        ("create", create),
        ("create, reads lag", Settings { lag: true, budget: lagging, ..create }),
        ("create, the spec changes", edited),
    ]);
}

#[test]
fn each_change_is_one_redeploy() {
    let small = Budget { specs: 1, failures: 1, ..one() };
    let full = Budget { secrets: 1, ..small };
    let redeploy = Settings { live: true, budget: bounds(small, full), ..Settings::default() };
    let twice = bounds(Budget { secrets: 1, crashes: 0, failures: 0, ..small }, full);
    holds(&[
        ("redeploy", redeploy),
        ("redeploy, another change follows", Settings { budget: twice, ..redeploy }),
        ("redeploy, reads lag", Settings { lag: true, ..redeploy }),
        ("redeploy, values show late", Settings { late_values: true, ..redeploy }),
        ("redeploy, builds never change", Settings { build: Build::Never, ..redeploy }),
        ("redeploy, versions count statuses", Settings { version_counts_statuses: true, ..redeploy }),
    ]);
}

#[test]
fn each_change_of_a_secret_is_one_redeploy() {
    let small = Budget { secrets: 1, versions: 1, ..one() };
    let full = Budget { secrets: 2, ..small };
    let redeploy = Settings { live: true, budget: bounds(small, full), ..Settings::default() };
    holds(&[
        ("secret", redeploy),
        ("secret, builds change at once", Settings { build: Build::AtOnce, ..redeploy }),
        ("secret, reads lag", Settings { lag: true, budget: Budget { versions: 0, ..redeploy.budget }, ..redeploy }),
    ]);
}

#[test]
fn each_request_is_one_redeploy() {
    let small = Budget { requests: 2, ..one() };
    let full = Budget { secrets: 1, ..small };
    holds(&[("request", Settings { live: true, budget: bounds(small, full), ..Settings::default() })]);
}

#[test]
fn a_deletion_deletes_the_deployment() {
    let small = Budget { deletions: 1, ..one() };
    let full = Budget { specs: 1, failures: 1, ..small };
    let new = Settings { budget: bounds(small, full), ..Settings::default() };
    let lagging = bounds(Budget { crashes: 0, ..small }, full);
    let live = Budget { secrets: 1, crashes: 0, failures: 1, ..small };
    let live = bounds(live, Budget { crashes: 1, orphans: 1, ..live });
    let foreign = Foreign { deletes: true, creates: true, recreates: true, redeploys: false };
    let stranger = Budget { foreign: 1, lost: 0, ..small };
    let stranger = bounds(stranger, Budget { lost: 1, failures: 1, ..stranger });
    holds(&[
        ("delete", new),
        ("delete, reads lag", Settings { lag: true, budget: lagging, ..new }),
        ("delete a running deployment", Settings { live: true, budget: live, ..Settings::default() }),
        ("delete, another client acts", Settings { budget: stranger, foreign, ..Settings::default() }),
    ]);
}

#[test]
fn deployments_of_other_clients_are_left_alone() {
    let small = Budget { foreign: 1, secrets: 1, crashes: 0, ..one() };
    let full = Budget { specs: 1, crashes: 1, ..small };
    let created = Settings {
        budget: bounds(Budget { specs: 1, secrets: 0, ..small }, full),
        foreign: Foreign { creates: true, ..Foreign::default() },
        ..Settings::default()
    };
    let foreign = Foreign { redeploys: true, deletes: true, recreates: true, creates: true };
    let live = Settings { live: true, budget: bounds(small, full), foreign, ..Settings::default() };
    holds(&[
        ("another client creates the key", created),
        ("another client acts", live),
        ("another client acts, reads lag", Settings { lag: true, ..live }),
    ]);
}

#[test]
fn an_adopted_or_restored_deployment_stays_managed() {
    let small = Budget { specs: 1, ..one() };
    let full = Budget { secrets: 1, ..small };
    let restore = Budget { restores: 1, ..small };
    let restored =
        Settings { live: true, budget: bounds(restore, Budget { restores: 1, ..full }), ..Settings::default() };
    let deleted = Budget { restores: 1, deletions: 1, ..one() };
    holds(&[
        ("adopt", Settings { adopt: true, budget: bounds(small, full), ..Settings::default() }),
        ("restore", restored),
        ("restore and delete", Settings { live: true, budget: deleted, ..Settings::default() }),
    ]);
}

#[test]
fn two_operators_have_the_effect_of_one() {
    let two = |live: bool, budget: Budget| Settings { operators: 2, live, budget, ..Settings::default() };
    let stale = Budget { stalls: 1, ..nothing() };
    let secret = Budget { secrets: 1, ..nothing() };
    let deleted = Budget { deletions: 1, ..nothing() };
    // Two operators at once are as much as can be explored completely, so larger bounds add one more stale view.
    holds(&[
        ("two create", two(false, bounds(nothing(), stale))),
        ("two redeploy", two(true, Budget { specs: 1, ..nothing() })),
        ("two redeploy a secret", two(true, bounds(secret, Budget { secrets: 1, ..stale }))),
        ("two delete", two(true, bounds(deleted, Budget { deletions: 1, ..stale }))),
        ("two create and delete", two(false, deleted)),
    ]);
}

#[test]
fn a_stale_view_after_a_restart_sends_nothing() {
    let small = Budget { stalls: 1, secrets: 1, ..one() };
    let full = Budget { lost: 2, failures: 1, ..small };
    let live = Settings { live: true, budget: bounds(small, full), ..Settings::default() };
    let deleted = Budget { secrets: 0, deletions: 1, ..small };
    let deleted = bounds(deleted, Budget { deletions: 1, ..full });
    holds(&[
        ("stale, create", Settings { live: false, ..live }),
        ("stale, redeploy", live),
        ("stale, delete", Settings { budget: deleted, ..live }),
    ]);
}

#[test]
fn another_resource_of_the_same_name_starts_without_state() {
    let small = Budget { deletions: 1, releases: 1, recreations: 1, crashes: 0, ..one() };
    let full = Budget { crashes: 1, ..small };
    let new = Settings { budget: bounds(small, full), ..Settings::default() };
    let live = Settings { live: true, budget: bounds(Budget { secrets: 1, ..small }, full), ..new };
    let orphaned = Budget { releases: 0, orphans: 1, ..small };
    let orphaned = bounds(orphaned, Budget { orphans: 1, ..full });
    let two = Budget { lost: 0, ..small };
    let two = bounds(two, Budget { stalls: 1, ..two });
    holds(&[
        ("recreated while it is created", new),
        ("recreated, live", live),
        ("recreated after Orphan", Settings { budget: orphaned, ..new }),
        ("recreated after Orphan, live", Settings { budget: orphaned, ..live }),
        ("recreated, two operators", Settings { operators: 2, budget: two, ..new }),
    ]);
}

#[test]
fn rule_7_a_lost_digest_key_redeploys_nothing() {
    let small = Budget { keys: 1, secrets: 1, crashes: 0, ..one() };
    let full = Budget { crashes: 1, specs: 1, failures: 1, ..small };
    let live = Settings { live: true, sources: true, budget: bounds(small, full), ..Settings::default() };
    let plain = Budget { specs: 1, secrets: 0, ..small };
    holds(&[
        ("lost key", live),
        ("lost key, no sources", Settings { sources: false, budget: bounds(plain, full), ..live }),
        ("lost key, new", Settings { live: false, ..live }),
    ]);
}

#[test]
fn rule_20_suspended_and_observed_resources_change_nothing() {
    let small = Budget { suspends: 2, secrets: 1, ..one() };
    let full = Budget { deletions: 1, ..small };
    let suspend = Settings { live: true, budget: bounds(small, full), ..Settings::default() };
    let observe = Budget { suspends: 0, observes: 2, ..small };
    let observe = bounds(observe, Budget { suspends: 0, observes: 2, ..full });
    let born = Budget { suspends: 1, secrets: 0, ..small };
    let born = bounds(born, Budget { suspends: 1, deletions: 1, ..small });
    let watched = Budget { observes: 1, secrets: 0, deletions: 1, ..one() };
    let watched = bounds(watched, Budget { observes: 2, foreign: 1, ..watched });
    let foreign = Foreign { deletes: true, recreates: true, creates: true, redeploys: false };
    holds(&[
        ("suspended and not", suspend),
        ("suspended from the start", Settings { live: false, suspended: true, budget: born, ..suspend }),
        ("observed and not", Settings { budget: observe, ..suspend }),
        ("observed from the start", Settings { live: false, observed: true, budget: watched, foreign, ..suspend }),
    ]);
}

#[test]
fn rule_8_a_removed_value_is_retained_and_causes_one_redeploy() {
    let small = Budget { removals: 2, lost: 1, ..nothing() };
    let full = Budget { secrets: 1, crashes: 1, ..small };
    let plain = Settings { live: true, second: Second::Plain, budget: bounds(small, full), ..Settings::default() };
    let changed = Budget { removals: 1, specs: 1, ..one() };
    let rotated = Budget { removals: 1, secrets: 1, ..one() };
    let with = |small: Budget, settings: Settings| Settings { budget: bounds(small, full), ..settings };
    let foreign = Foreign { redeploys: true, ..Foreign::default() };
    holds(&[
        ("removed, plain", plain),
        ("removed, secured", Settings { second: Second::Secured, ..plain }),
        ("removed, secured, keys are not listed", Settings { second: Second::Hidden, ..plain }),
        ("removed, and another value changes", with(changed, plain)),
        ("removed, and a secret changes", with(rotated, Settings { second: Second::Hidden, ..plain })),
        ("removed, reads lag", with(changed, Settings { lag: true, ..plain })),
        ("removed while it is created", with(Budget { removals: 1, ..one() }, Settings { live: false, ..plain })),
        ("removed, drift is corrected", Settings { correct: true, ..plain }),
        (
            "removed, somebody redeploys",
            Settings { foreign, ..with(Budget { removals: 1, foreign: 1, ..nothing() }, plain) },
        ),
        ("removed, a remote that replaces", Settings { replaces: true, ..with(rotated, plain) }),
    ]);
}

#[test]
fn drift_is_corrected_once() {
    let foreign = Foreign { redeploys: true, deletes: true, recreates: true, creates: true };
    let small = Budget { foreign: 1, crashes: 0, ..one() };
    // Two changes by another client are too many: what it changes before the response to the create arrives is not
    // recognized.
    let full = Budget { crashes: 1, ..small };
    let correct = Settings { live: true, correct: true, foreign, budget: bounds(small, full), ..Settings::default() };
    holds(&[("drift corrected", correct), ("drift corrected, reads lag", Settings { lag: true, ..correct })]);
}

/// Without lost responses: a value that the remote shows differently cannot be recognized, which costs a redeploy.
#[test]
fn a_remote_that_normalises_causes_no_loop() {
    let small = Budget { specs: 1, secrets: 1, ..nothing() };
    let full = Budget { requests: 1, failures: 1, ..small };
    let live = Settings { live: true, normalises: true, budget: bounds(small, full), ..Settings::default() };
    holds(&[
        ("normalised", live),
        ("normalised, corrected", Settings { correct: true, ..live }),
        ("normalised, new", Settings { live: false, ..live }),
    ]);
}

#[test]
fn a_response_that_arrives_after_an_edit_still_counts() {
    let with = |small: Budget, more: Budget, settings: Settings| Settings { budget: bounds(small, more), ..settings };
    let label = Budget { labels: 1, ..nothing() };
    let labelled = Budget { labels: 1, ..one() };
    let new = Settings::default();
    let live = Settings { live: true, ..new };
    let (two, two_live) = (Settings { operators: 2, ..new }, Settings { operators: 2, ..live });
    let recreated = Budget { releases: 1, deletions: 1, recreations: 1, ..nothing() };
    holds(&[
        ("edited, create", with(label, labelled, new)),
        ("edited, redeploy", with(Budget { secrets: 1, ..label }, Budget { specs: 1, ..labelled }, live)),
        (
            "edited, delete",
            with(Budget { deletions: 1, ..label }, Budget { deletions: 1, orphans: 1, ..labelled }, new),
        ),
        ("edited, recreated", with(recreated, Budget { labels: 1, crashes: 1, lost: 1, ..recreated }, new)),
        ("edited, two create", with(label, Budget { stalls: 1, ..label }, two)),
        ("edited, two redeploy", with(Budget { secrets: 1, ..label }, Budget { specs: 1, ..label }, two_live)),
        ("edited, two delete", with(Budget { deletions: 1, ..label }, Budget { deletions: 1, ..label }, two_live)),
        ("edited, two, recreated", with(recreated, recreated, two)),
    ]);
}

#[test]
fn rule_4_of_two_resources_that_want_one_key_one_has_it() {
    let contested = Settings { operators: 2, contested: true, ..Settings::default() };
    let live = Settings { live: true, ..contested };
    let deleted = Budget { deletions: 1, ..nothing() };
    let late = Budget { observes: 1, lost: 1, ..nothing() };
    let first_observed = Settings { observed: true, ..contested };
    let with = |small: Budget, more: Budget, settings: Settings| Settings { budget: bounds(small, more), ..settings };
    holds(&[
        ("contested, new", with(nothing(), Budget { secrets: 1, ..one() }, contested)),
        (
            "contested, a response is lost",
            with(Budget { lost: 1, ..nothing() }, Budget { lost: 2, ..nothing() }, contested),
        ),
        ("contested, live", with(Budget { secrets: 1, ..nothing() }, Budget { secrets: 1, specs: 1, ..one() }, live)),
        ("contested, deleted", with(deleted, Budget { deletions: 2, lost: 1, ..nothing() }, contested)),
        ("contested, live and deleted", with(deleted, Budget { deletions: 2, ..one() }, live)),
        (
            "contested, restored",
            with(Budget { restores: 1, ..nothing() }, Budget { restores: 1, secrets: 1, ..one() }, live),
        ),
        (
            "contested, observed",
            with(Budget { observes: 2, ..nothing() }, Budget { observes: 2, secrets: 1, ..one() }, live),
        ),
        ("contested, observed first", with(late, Budget { deletions: 1, ..late }, first_observed)),
    ]);
}
