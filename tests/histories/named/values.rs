//! Histories of values of every kind, of outputs, and of versions that are reverted.

use super::{check_all, live, outage};
use crate::history::{Foreign, History, Shape, Step};
use crate::interceptor::Callee;
use crate::simulation::Outage;

#[test]
fn rule_8_15_and_18_each_named_history_of_values_and_versions_reaches_the_requested_state() {
    let shape = Shape::default();
    let new = |steps| History { live: None, ..live(steps) };
    check_all(vec![
        (
            "rule 18: a failure is reported, whatever outputs are requested",
            new(vec![Step::Write(0, Shape { level: 4, outputs: true, ..shape }), Step::Pass(90)]),
            (1, 0, 0),
        ),
        (
            "rule 8: a value is removed by recreating the deployment, if the spec asks for that",
            History {
                live: Some(Shape { config: true, recreate: true, ..shape }),
                ..live(vec![Step::Write(0, Shape { recreate: true, ..shape }), Step::Pass(400)])
            },
            (2, 0, 0),
        ),
        (
            "rule 8: values of other applications, global values, a retry policy, whole objects: one redeploy each",
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
            "rule 15: a version that is set and reverted before the move was sent causes nothing",
            live(vec![
                Step::Publish,
                outage(Callee::Remote, 0, Outage::DieBefore),
                Step::Write(0, Shape { version: 2, ..shape }),
                Step::Pass(20),
                Step::Write(0, shape),
                Step::Start(0, 0),
                Step::Pass(400),
            ]),
            (1, 0, 0),
        ),
        (
            "rule 16: a foreign deployment after the operator's own failure does not make it ready",
            new(vec![
                Step::Write(0, Shape { level: 4, ..shape }),
                Step::Pass(90),
                Step::Foreign(0, Foreign::Visible),
                Step::Pass(90),
            ]),
            (1, 0, 0),
        ),
        (
            "rule 15: a version that does not exist is not created",
            new(vec![Step::Write(0, Shape { version: 2, ..shape }), Step::Pass(90)]),
            (0, 0, 0),
        ),
        (
            "rule 15: a version that does not exist delays the create until the spec drops it",
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
