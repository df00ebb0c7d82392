//! Named histories of a shared project.

use crate::prelude::*;
use crate::replay::replay;

/// Plays steps, and counts creates, redeploys and undeploys. At the end every namespace is allowed, and everything is
/// deleted.
fn counted(live: bool, steps: Vec<Step>) -> (u64, u64, u64) {
    let live = live.then(Shape::default);
    let history = History { order: 0, reading: Reading::default(), skew: 0, live, steps };
    let (simulation, result) = replay(&history, true);
    assert!(result.is_ok(), "{}\n{result:?}", simulation.log.join("\n"));
    let of = |what: &str| simulation.checker.counted(what);
    assert_ne!(of("reports that a namespace is not allowed"), 0, "{}", simulation.log.join("\n"));
    (of("creates"), of("redeploys"), of("undeploys"))
}

#[test]
fn rule_29_each_change_is_sent_once_after_the_namespace_is_allowed_again() {
    use Step::{Delete, Label, Pass, Relist, Run, Secret, Share, Start, Stop, Write};
    let denied = [Label(0, false), Pass(30)];
    let and = |more: &[Step]| [denied.as_slice(), more].concat();
    let restarted = |step: Step| and(&[step, Stop(0), Start(0, 0), Pass(90)]);
    for (case, live, steps, wanted) in [
        ("nothing changes", true, and(&[Pass(90)]), (1, 0, 1)),
        ("a change", true, and(&[Secret(2), Pass(90)]), (1, 1, 1)),
        ("two changes", true, and(&[Secret(2), Pass(90), Secret(3), Pass(90)]), (1, 1, 1)),
        ("a change, and a restart", true, restarted(Secret(2)), (1, 1, 1)),
        ("a change, and a new list", true, and(&[Secret(2), Relist(0), Pass(90)]), (1, 1, 1)),
        ("a deletion", true, and(&[Delete(0), Pass(90)]), (1, 0, 1)),
        ("a deletion, and a restart", true, restarted(Delete(0)), (1, 0, 1)),
        ("a create", false, and(&[Write(0, Shape::default()), Pass(90)]), (1, 0, 1)),
        ("created and deleted", false, and(&[Write(0, Shape::default()), Pass(9), Delete(0), Pass(90)]), (0, 0, 0)),
        ("by name", true, vec![Share(3), Pass(9), Secret(2), Pass(90), Share(2), Pass(90)], (1, 1, 1)),
        ("during a redeploy", true, vec![Secret(2), Run(3), Share(0), Pass(200)], (1, 1, 1)),
    ] {
        assert_eq!(counted(live, steps), wanted, "{case}");
    }
}
