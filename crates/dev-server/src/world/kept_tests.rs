//! State that is kept: across a restart, while a key is held, and in the list of all deployments.

use super::life_tests::{Stage, draft};
use super::*;

const MINUTE: Duration = Duration::from_mins(1);

/// Returns the versions of a connector in the catalogue, including duplicates.
fn versions(world: &World, key: &str, staged: bool) -> Vec<i64> {
    let known = world.catalogue().connectors.iter().filter(|known| known.key == key && known.staged == staged);
    known.map(|known| known.version).collect()
}

#[test]
fn raised_connectors_are_restored_once_and_newer_ones_of_the_catalogue_stay() {
    let mut before = Stage::new(&[]);
    let first = versions(&before.world, "demo-connector", false);
    assert_eq!(first, [1]);
    assert_eq!(before.world.raise_connector("demo-connector", false, |_| {}).expect("it is known"), 2);
    let kept = before.world.kept().clone();

    let mut after = Stage::new(&[]);
    after.world.restore(kept.clone());
    assert_eq!(versions(&after.world, "demo-connector", false), [1, 2]);
    after.world.restore(kept.clone());
    assert_eq!(versions(&after.world, "demo-connector", false), [1, 2], "each once");

    let mut newer = Stage::new(&[]);
    for _ in 0..2 {
        newer.world.raise_connector("demo-connector", false, |_| {}).expect("it is known");
    }
    newer.world.restore(kept.clone());
    assert_eq!(versions(&newer.world, "demo-connector", false), [1, 2, 3], "an older one is not added");

    // A staged connector with the same key, and one with another key, have no influence.
    let mut others = Stage::new(&[]);
    for (key, staged, version) in [("demo-connector", true, 9), ("another", false, 9)] {
        let mut other = others.world.catalogue.connectors[0].clone();
        (other.key, other.staged, other.version) = (key.to_owned(), staged, version);
        others.world.catalogue.connectors.push(other);
    }
    others.world.restore(kept);
    assert_eq!(versions(&others.world, "demo-connector", false), [1, 2]);
}

#[test]
fn a_key_is_free_at_once_or_exactly_after_its_hold_and_held_only_in_its_project() {
    for (choices, held) in [(&["key-held=0s"][..], Duration::ZERO), (&["key-held=1m"][..], MINUTE)] {
        let going = || {
            let mut stage = Stage::new(choices);
            let id = stage.live("tax");
            stage.undeploy(&id).expect("it is idle");
            (stage, id)
        };
        // Finds the exact moment at which it is gone, on another stage: here, no read has advanced the world.
        let (mut watched, id) = going();
        while watched.read(&id).is_some() {
            watched.step(Duration::from_millis(500));
        }
        let (mut stage, _) = going();
        stage.now = watched.now;
        let mut create = |project: &str, key: &str, after: Duration| {
            let now = later(stage.now, after);
            stage.world.create(project, &draft(key, &[], "token"), true, now).is_ok()
        };
        if held > Duration::ZERO {
            assert!(!create("demo", "tax", Duration::ZERO), "held");
            assert!(create("demo", "other", Duration::ZERO), "another key");
            assert!(create("elsewhere", "tax", Duration::ZERO), "another project");
            assert!(
                !create("demo", "tax", held.checked_sub(Duration::from_millis(1)).expect("a minute")),
                "still held"
            );
        }
        assert!(create("demo", "tax", held), "{choices:?}");
        assert!(!create("demo", "tax", held), "used");
    }
}

#[test]
fn the_list_of_all_deployments_shows_the_current_status() {
    let mut stage = Stage::new(&["redeploy-shows-old=1m"]);
    let first = stage.live("tax");
    let second = stage.live("other");
    stage.redeploy(&first, &RedeployAction::default()).expect("it is idle");
    let all = stage.world.all(stage.now);
    let seen: Vec<_> = all.iter().map(|seen| (seen.id.as_str(), seen.status.as_str())).collect();
    assert_eq!(seen, [(first.as_str(), "Deploying"), (second.as_str(), "Deployed")]);
    assert_eq!(stage.read(&first).map(|read| read.status.as_str().to_owned()).as_deref(), Some("Deployed"), "a reader");
}
