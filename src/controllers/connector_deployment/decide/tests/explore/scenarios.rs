//! What is explored.

use std::time::Instant;

use super::explore;
use super::world::{Budget, Build, Foreign, Settings};

fn bounds(small: Budget, full: Budget) -> Budget {
    if std::env::var_os("EXPLORE").is_some_and(|value| value == "full") { full } else { small }
}

fn holds(scenarios: &[(&str, Settings)]) {
    for (name, settings) in scenarios {
        let start = Instant::now();
        match explore(*settings) {
            Ok(worlds) => println!("{name}: {worlds} worlds, {:.1} s", start.elapsed().as_secs_f32()),
            Err((broken, trace)) => panic!("{name}: {broken:?}\n{trace}"),
        }
    }
}

const ONE: Budget = Budget {
    specs: 0,
    secrets: 0,
    requests: 0,
    deletions: 0,
    orphans: 0,
    restores: 0,
    crashes: 1,
    lost: 1,
    failures: 0,
    foreign: 0,
    versions: 0,
};

#[test]
fn nothing_is_created_twice_or_forgotten() {
    let small = Budget { secrets: 1, failures: 1, ..ONE };
    let full = Budget { specs: 1, crashes: 2, lost: 2, ..small };
    let create = Settings { budget: bounds(small, full), ..Settings::default() };
    let lagging = bounds(Budget { failures: 0, ..small }, full);
    let edited = Settings { budget: bounds(Budget { specs: 1, ..ONE }, full), ..Settings::default() };
    holds(&[
        ("create", create),
        ("create, reads lag", Settings { lag: true, budget: lagging, ..create }),
        ("create, the spec changes", edited),
    ]);
}

#[test]
fn each_change_is_one_redeploy() {
    let small = Budget { specs: 1, failures: 1, ..ONE };
    let full = Budget { secrets: 1, crashes: 2, lost: 2, ..small };
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
    let small = Budget { secrets: 1, versions: 1, ..ONE };
    let full = Budget { secrets: 2, crashes: 2, lost: 2, ..small };
    let redeploy = Settings { live: true, budget: bounds(small, full), ..Settings::default() };
    holds(&[
        ("secret", redeploy),
        ("secret, builds change at once", Settings { build: Build::AtOnce, ..redeploy }),
        ("secret, reads lag", Settings { lag: true, budget: Budget { versions: 0, ..redeploy.budget }, ..redeploy }),
    ]);
}

#[test]
fn each_request_is_one_redeploy() {
    let small = Budget { requests: 2, ..ONE };
    let full = Budget { secrets: 1, ..small };
    holds(&[("request", Settings { live: true, budget: bounds(small, full), ..Settings::default() })]);
}

#[test]
fn what_is_deleted_is_taken_down() {
    let small = Budget { deletions: 1, ..ONE };
    let full = Budget { specs: 1, failures: 1, crashes: 2, lost: 2, ..small };
    let new = Settings { budget: bounds(small, full), ..Settings::default() };
    let lagging = bounds(Budget { crashes: 0, ..small }, full);
    let live = Budget { secrets: 1, crashes: 0, failures: 1, ..small };
    let live = bounds(live, Budget { crashes: 2, lost: 2, orphans: 1, ..live });
    let foreign = Foreign { deletes: true, creates: true, recreates: true, redeploys: false };
    let stranger = Budget { foreign: 1, lost: 0, ..small };
    let stranger = bounds(stranger, Budget { lost: 1, failures: 1, ..stranger });
    holds(&[
        ("delete", new),
        ("delete, reads lag", Settings { lag: true, budget: lagging, ..new }),
        ("delete what is live", Settings { live: true, budget: live, ..Settings::default() }),
        ("delete, a stranger acts", Settings { budget: stranger, foreign, ..Settings::default() }),
    ]);
}

#[test]
fn what_others_own_is_left_alone() {
    let small = Budget { foreign: 1, secrets: 1, crashes: 0, ..ONE };
    let full = Budget { specs: 1, crashes: 1, ..small };
    let created = Settings {
        budget: bounds(Budget { specs: 1, secrets: 0, ..small }, full),
        foreign: Foreign { creates: true, ..Foreign::default() },
        ..Settings::default()
    };
    let foreign = Foreign { redeploys: true, deletes: true, recreates: true, creates: true };
    let live = Settings { live: true, budget: bounds(small, full), foreign, ..Settings::default() };
    holds(&[
        ("a stranger creates the key", created),
        ("a stranger acts", live),
        ("a stranger acts, reads lag", Settings { lag: true, ..live }),
    ]);
}

#[test]
fn what_is_adopted_or_restored_goes_on() {
    let small = Budget { specs: 1, ..ONE };
    let full = Budget { secrets: 1, ..small };
    let restore = Budget { restores: 1, ..small };
    let restored =
        Settings { live: true, budget: bounds(restore, Budget { restores: 1, ..full }), ..Settings::default() };
    let deleted = Budget { restores: 1, deletions: 1, ..ONE };
    holds(&[
        ("adopt", Settings { adopt: true, budget: bounds(small, full), ..Settings::default() }),
        ("restore", restored),
        ("restore and delete", Settings { live: true, budget: deleted, ..Settings::default() }),
    ]);
}
