//! Histories of values of every kind, of outputs, and of versions that are taken back.

use super::{all_come_to, live, outage};
use crate::gate::Place;
use crate::history::{Foreign, History, Shape, Step};
use crate::simulation::Outage;

#[test]
fn rule_8_15_and_18_each_named_history_of_values_and_versions_comes_to_what_was_asked_for() {
    let shape = Shape::default();
    let new = |steps| History { live: None, ..live(steps) };
    all_come_to(vec![
        (
            "rule 18: what failed says so, whatever outputs are wanted of it",
            new(vec![Step::Write(0, Shape { level: 4, outputs: true, ..shape }), Step::Pass(90)]),
            (1, 0, 0),
        ),
        (
            "rule 8: a value that is removed goes with the deployment, if that is asked for",
            History {
                live: Some(Shape { config: true, recreate: true, ..shape }),
                ..live(vec![Step::Write(0, Shape { recreate: true, ..shape }), Step::Pass(400)])
            },
            (2, 0, 0),
        ),
        (
            "rule 8: values of other applications and of all, a retry policy, and whole objects: each change is one redeploy",
            live(vec![
                Step::Write(0, Shape { batch: 1, retry: 1, shop: 1, ..shape }),
                Step::Pass(90),
                Step::Write(0, Shape { batch: 1, retry: 2, shop: 1, ..shape }),
                Step::Pass(90),
                Step::Write(0, Shape { batch: 1, retry: 2, shop: 1, whole: true, ..shape }),
                Step::Pass(90),
                Step::Config(2),
                Step::Pass(90),
            ]),
            (1, 4, 0),
        ),
        (
            "rule 15: a version that is named and taken back before the move was sent costs nothing",
            live(vec![
                Step::Publish,
                outage(Place::Remote, 0, Outage::DieBefore),
                Step::Write(0, Shape { version: 2, ..shape }),
                Step::Pass(20),
                Step::Write(0, shape),
                Step::Start(0, 0),
                Step::Pass(400),
            ]),
            (1, 0, 0),
        ),
        (
            "rule 16: what somebody deploys after a failure of ours does not make it ready",
            new(vec![
                Step::Write(0, Shape { level: 4, ..shape }),
                Step::Pass(90),
                Step::Foreign(0, Foreign::Visible),
                Step::Pass(90),
            ]),
            (1, 0, 0),
        ),
        (
            "rule 15: a version that is not there is not created",
            new(vec![Step::Write(0, Shape { version: 2, ..shape }), Step::Pass(90)]),
            (0, 0, 0),
        ),
        (
            "rule 15: a version that is not there holds up the create until it is not named any more",
            new(vec![
                Step::Write(0, Shape { version: 2, ..shape }),
                Step::Pass(90),
                Step::Write(0, shape),
                Step::Pass(90),
            ]),
            (1, 0, 0),
        ),
    ]);
}
