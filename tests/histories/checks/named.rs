//! Named histories of checks.

use crate::checks::{CheckShape, INTERVAL};
use crate::history::{History, Reading, Shape, Step};
use crate::interceptor::Callee;
use crate::replay::replay;
use crate::simulation::{Armed, Outage};

const POST: CheckShape =
    CheckShape { method: 1, after: true, host: 0, expect: 0, header: false, suspend: false, extension: 0 };
const GET: CheckShape = CheckShape { method: 0, after: false, ..POST };

fn outage(outage: Outage) -> Step {
    Step::Trouble(Armed { place: Callee::Frontend, changes: false, skip: 0, trouble: outage })
}

/// Plays steps on a live deployment, and counts the executed calls.
fn executed(steps: Vec<Step>) -> u64 {
    let history = History { order: 0, reading: Reading::default(), skew: 0, live: Some(Shape::default()), steps };
    let (simulation, result) = replay(&history, true);
    assert!(result.is_ok(), "{}\n{result:?}", simulation.log.join("\n"));
    simulation.checker.counts.get("actions executed").copied().unwrap_or_default()
}

#[test]
fn a_write_is_sent_once_for_each_cause_and_a_read_at_its_interval() {
    let again = CheckShape { extension: 1, ..POST };
    let suspended = CheckShape { suspend: true, ..POST };
    let seconds = u16::try_from(INTERVAL).expect("it is short");
    for (case, steps, wanted) in [
        ("a check of a live deployment", vec![Step::Check(0, POST), Step::Pass(300)], 1),
        ("another spec", vec![Step::Check(0, POST), Step::Rest, Step::Check(0, again), Step::Pass(300)], 2),
        (
            "suspended and resumed",
            vec![Step::Check(0, POST), Step::Rest, Step::Check(0, suspended), Step::Rest, Step::Check(0, POST)],
            1,
        ),
        ("suspended from the start", vec![Step::Check(0, suspended), Step::Pass(300)], 0),
        ("the deployment is redeployed", vec![Step::Check(0, POST), Step::Rest, Step::Redeploy(0), Step::Pass(300)], 2),
        ("requested once more", vec![Step::Check(0, POST), Step::Rest, Step::Rerun(0), Step::Pass(300)], 2),
        ("the answer is lost", vec![outage(Outage::LostBack), Step::Check(0, POST), Step::Pass(300)], 1),
        ("it arrives late", vec![outage(Outage::Late(20)), Step::Check(0, POST), Step::Pass(300)], 1),
        ("killed after the call", vec![outage(Outage::DieAfter), Step::Check(0, POST), Step::Pass(300)], 1),
        ("killed before the call", vec![outage(Outage::DieBefore), Step::Check(0, POST), Step::Pass(300)], 0),
        ("nothing listens at first", vec![outage(Outage::Unavailable), Step::Check(0, POST), Step::Pass(300)], 1),
        ("a host that is not allowed", vec![Step::Check(0, CheckShape { host: 2, ..POST }), Step::Pass(300)], 0),
        (
            "the deployment is not Ready yet",
            vec![
                Step::Write(0, Shape { level: 1, ..Shape::default() }),
                Step::Pass(6),
                Step::Check(0, POST),
                Step::Pass(300),
            ],
            1,
        ),
        ("an answer that is not as expected", vec![Step::Reply(2), Step::Check(0, POST), Step::Pass(300)], 1),
        ("a read whose answer changes", vec![Step::Check(0, GET), Step::Rest, Step::Reply(2)], 2),
        ("a read", vec![Step::Check(0, GET), Step::Rest], 1),
        ("a read at its interval", vec![Step::Check(0, GET), Step::Pass(3 * seconds)], 4),
    ] {
        assert_eq!(executed(steps), wanted, "{case}");
    }
}
