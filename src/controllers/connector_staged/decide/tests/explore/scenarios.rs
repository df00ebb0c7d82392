//! The scenarios that are explored.

use std::time::Instant;

use super::{Budget, Settings, explore, full};

/// Maximum number of steps of each scenario in the regular tests; with [`full`] all of it is explored.
const NEAREST: usize = 3_000;

pub(super) const NOTHING: Budget =
    Budget { tags: 0, requests: 0, deletions: 0, crashes: 0, lost: 0, failures: 0, foreign: 0 };

/// One crash of the operator, one lost response.
pub(super) const ONE: Budget = Budget { crashes: 1, lost: 1, ..NOTHING };

fn holds(scenarios: &[(&str, Settings)]) {
    for (name, settings) in scenarios {
        let start = Instant::now();
        match explore(*settings, NEAREST) {
            Ok(worlds) => println!("{name}: {worlds}, {:.1} s", start.elapsed().as_secs_f32()),
            Err((property, trace)) => panic!("{name}: {property}\n{trace}"),
        }
    }
}

fn bounds(small: Budget, large: Budget) -> Budget {
    if full() { large } else { small }
}

#[test]
fn a_connector_is_staged_once_and_deleted_with_its_resource() {
    let deleted = Budget { deletions: 1, ..ONE };
    let new = Settings { budget: ONE, ..Settings::default() };
    let lagging = Settings { lag: true, ..new };
    holds(&[
        ("staged", Settings { budget: bounds(Budget { tags: 1, ..ONE }, Budget { tags: 2, lost: 2, ..ONE }), ..new }),
        ("staged, reads lag", Settings { budget: Budget { tags: 1, ..ONE }, ..lagging }),
        ("deleted", Settings { budget: bounds(deleted, Budget { tags: 1, lost: 2, ..deleted }), ..new }),
        ("deleted, reads lag", Settings { budget: deleted, ..lagging }),
        ("deleted while it is published", Settings { live: true, publish: true, budget: deleted, ..new }),
    ]);
}

#[test]
fn permission_for_a_preview_is_requested_once_for_each_tag() {
    let budget = bounds(Budget { tags: 1, failures: 1, ..ONE }, Budget { tags: 2, requests: 1, failures: 1, ..ONE });
    let preview = Settings { live: true, previewable: true, budget, ..Settings::default() };
    holds(&[
        ("previewed", preview),
        ("previewed, a new tag removes the permission", Settings { resets_preview: true, ..preview }),
        ("previewed, versions grow", Settings { versions_grow: true, ..preview }),
        ("previewed, reads lag", Settings { lag: true, ..preview }),
    ]);
}

#[test]
fn each_content_is_published_once() {
    let budget = bounds(Budget { tags: 1, failures: 1, ..ONE }, Budget { tags: 2, requests: 1, failures: 1, ..ONE });
    let publish = Settings { live: true, publish: true, budget, ..Settings::default() };
    let both = Budget { tags: 1, failures: 0, ..ONE };
    let fails = Budget { requests: 1, failures: 2, lost: 1, ..NOTHING };
    holds(&[
        ("published", publish),
        ("published, versions grow", Settings { versions_grow: true, ..publish }),
        ("published, reads lag", Settings { lag: true, ..publish }),
        ("published, fails again", Settings { budget: fails, ..publish }),
        ("previewed and published", Settings { previewable: true, budget: both, ..publish }),
    ]);
}

#[test]
fn connectors_of_other_clients_are_left_alone_and_their_changes_are_corrected() {
    let budget = bounds(Budget { foreign: 1, crashes: 0, ..ONE }, Budget { foreign: 1, tags: 1, ..ONE });
    let live = Settings { live: true, budget, ..Settings::default() };
    // Two changes by other clients are too many: a tag that they change and set back between two observations is not
    // noticed.
    holds(&[
        ("another client acts before it is staged", Settings { live: false, ..live }),
        ("another client acts", live),
        ("another client acts, previewed", Settings { previewable: true, ..live }),
        ("another client acts, published", Settings { publish: true, ..live }),
        ("another client acts, reads lag", Settings { previewable: true, lag: true, ..live }),
        ("adopted", Settings { live: false, adopt: true, previewable: true, ..live }),
    ]);
}
