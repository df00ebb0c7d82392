//! Named histories of versions of the connector (rule 15).

use super::{check_all, live, outage};
use crate::prelude::*;

/// A part of the time after which the registry was read again, and a redeploy has ended.
const PART: Step = Step::Pass(180);

/// The same in larger parts.
const WHILE: Step = Step::Pass(400);

fn latest() -> Shape {
    Shape { latest: true, ..Shape::default() }
}

/// Lets the registry be read after each step.
fn pinned(steps: Vec<Step>) -> History {
    live(steps.into_iter().flat_map(|step| [step, PART, PART, PART]).collect())
}

fn following(steps: Vec<Step>) -> History {
    History { live: Some(latest()), ..pinned(steps) }
}

#[test]
fn rule_15_latest_follows_each_new_version_with_one_redeploy() {
    use Outage::{DieAfter, DieBefore, Invalid, Late, LostBack};
    let interrupted = |how| following(vec![outage(Callee::Remote, 0, how), Step::Publish]);
    let suspended = Shape { suspend: true, ..latest() };
    check_all(vec![
        ("a new version", following(vec![Step::Publish]), (1, 1, 1)),
        ("one after the other", following(vec![Step::Publish, Step::Publish]), (1, 2, 2)),
        (
            // The declarations of the connector are then older than a minute whenever the record was read.
            "one after the other, with reconciles a minute apart",
            History { live: Some(latest()), ..live(vec![Step::Publish, WHILE, WHILE, Step::Publish, WHILE, WHILE]) },
            (1, 2, 2),
        ),
        ("two at once", History { live: Some(latest()), ..live(vec![Step::Publish, Step::Publish]) }, (1, 1, 1)),
        ("killed before the call", interrupted(DieBefore), (1, 1, 1)),
        // Started again after the quiet period, it finds nothing that shows whose redeploy this was (rule 6).
        ("killed after the call", interrupted(DieAfter), (1, 2, 2)),
        ("the answer is lost", interrupted(LostBack), (1, 1, 1)),
        ("it arrives after its caller gave up", interrupted(Late(25)), (1, 1, 1)),
        ("refused at first", interrupted(Invalid), (1, 1, 1)),
        ("it fails, and is not tried again", following(vec![Step::Fails(0), Step::Publish]), (1, 1, 1)),
        ("Pinned", pinned(vec![Step::Publish]), (1, 0, 0)),
        ("followed later", pinned(vec![Step::Publish, Step::Write(0, latest())]), (1, 1, 1)),
        (
            "suspended meanwhile",
            following(vec![Step::Write(0, suspended), Step::Publish, Step::Write(0, latest())]),
            (1, 1, 1),
        ),
        (
            "a value and a new version that is known: one redeploy",
            pinned(vec![Step::Publish, Step::Write(0, Shape { level: 1, ..latest() })]),
            (1, 1, 0),
        ),
    ]);
}
