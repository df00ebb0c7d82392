//! Named histories of mirrors.

use crate::history::{History, Reading, Step};
use crate::mirror::{Gap, Touch};
use crate::replay::replay;

const HIDDEN: Step = Step::Gap(Gap::Hidden);
const UNREADABLE: Step = Step::Gap(Gap::Unreadable);

/// Plays steps, and counts writes and removals of Connector objects.
fn counted(mut steps: Vec<Step>) -> (u64, u64) {
    steps.insert(0, Step::Mirror(1));
    steps.insert(1, Step::Pass(30));
    let history = History { order: 0, reading: Reading::default(), skew: 0, live: None, steps };
    let (simulation, result) = replay(&history, true);
    assert!(result.is_ok(), "{}\n{result:?}", simulation.log.join("\n"));
    let of = |what: &str| simulation.checker.counts.get(what).copied().unwrap_or_default();
    (of("Connector objects written"), of("Connector objects removed"))
}

#[test]
fn a_mirror_follows_the_registry_and_restores_its_objects() {
    // Each object is created, and then its status is written.
    let first = 6;
    for (case, steps, wanted) in [
        ("nothing changes", vec![Step::Pass(300)], (first, 0)),
        ("a restart", vec![Step::Stop(0), Step::Start(0, 0), Step::Pass(300)], (first, 0)),
        ("a new version", vec![Step::Registry(0, 2), Step::Pass(300)], (first + 1, 0)),
        ("one more connector", vec![Step::Registry(4, 1), Step::Pass(300)], (first + 2, 0)),
        ("one connector less", vec![Step::Registry(0, 0), Step::Pass(300)], (first, 1)),
        ("one read that lacks a connector", vec![HIDDEN, Step::Pass(300)], (first, 0)),
        ("two reads in a row that lack one", vec![HIDDEN, HIDDEN, Step::Pass(300)], (first + 2, 1)),
        ("two reads in which one cannot be read", vec![UNREADABLE, UNREADABLE, Step::Pass(300)], (first, 0)),
        ("one connector that cannot be read", vec![UNREADABLE, Step::Pass(300)], (first, 0)),
        ("a user deletes one", vec![Step::Touch(0, Touch::Delete), Step::Pass(300)], (first + 2, 0)),
        ("a user edits one", vec![Step::Touch(0, Touch::Edit), Step::Pass(300)], (first + 1, 0)),
        ("a user labels one", vec![Step::Touch(0, Touch::Label), Step::Pass(300)], (first, 0)),
        ("a user creates one for the project", vec![Step::Touch(0, Touch::Pretend), Step::Pass(300)], (first, 1)),
        ("a user creates one of another project", vec![Step::Touch(0, Touch::Other), Step::Pass(300)], (first, 0)),
        ("few objects", vec![Step::Mirror(2), Step::Pass(300)], (first, 1)),
        ("no mirror any more", vec![Step::Mirror(0), Step::Pass(300)], (first, 3)),
        (
            "a user creates one for the project after its mirror has ended",
            vec![Step::Mirror(0), Step::Pass(30), Step::Touch(0, Touch::Pretend), Step::Pass(300)],
            (first, 3),
        ),
        (
            "a connector that leaves and comes back, while the store shows the first status of the project",
            vec![Step::Cut(0), Step::Registry(0, 0), Step::Pass(300), Step::Registry(0, 1), Step::Pass(300)],
            (first + 2, 1),
        ),
        ("the project is deleted", vec![Step::Project(0), Step::Pass(300)], (first, 3)),
    ] {
        assert_eq!(counted(steps), wanted, "{case}: written, removed");
    }
}
