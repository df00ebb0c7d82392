//! Named histories: what random ones once found, and what must stay correct.

mod rates;
mod versions;

use crate::prelude::*;
use crate::replay::replay;

fn outage(place: Callee, skip: u8, outage: Outage) -> Step {
    Step::Trouble(Armed { place, changes: true, skip, trouble: outage })
}

fn live(steps: Vec<Step>) -> History {
    History { order: 0, reading: Reading::default(), skew: 0, live: Some(Shape::default()), steps }
}

/// A history that begins with nothing.
fn fresh(steps: Vec<Step>) -> History {
    History { live: None, ..live(steps) }
}

/// The same with a remote that trims values.
fn trimmed(steps: Vec<Step>) -> History {
    History { reading: Reading { normalise: 1, ..Reading::default() }, ..fresh(steps) }
}

/// Plays a history, and counts creates, redeploys, and redeploys that only an allowance explains.
fn counted(history: &History) -> (u64, u64, u64) {
    let (simulation, result) = replay(history, true);
    assert!(result.is_ok(), "{}\n{result:?}", simulation.log.join("\n"));
    let counts = &simulation.checker.counts;
    let of = |what: &str| simulation.checker.counted(what);
    let allowed = counts.iter().filter(|(what, _)| what.starts_with("redeploys allowed"));
    (of("creates"), of("redeploys"), allowed.map(|(_, times)| times).sum())
}

/// Checks each row: its name, the history, and the expected result of [`counted`].
fn check_all(rows: Vec<(&str, History, (u64, u64, u64))>) {
    let wrong = |(case, history, wanted): (&str, History, (u64, u64, u64))| {
        let found = counted(&history);
        let log = || replay(&history, true).0.log.join("\n");
        (found != wanted).then(|| format!("{case}: {found:?} instead of {wanted:?}\n{}", log()))
    };
    let wrong: Vec<String> = rows.into_iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "creates, redeploys, allowed ones: {}", wrong.join("\n\n"));
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table")]
fn each_named_history_reaches_the_requested_state() {
    use Outage::{DieAfter, DieBefore, Late, LostBack};
    let shape = Shape::default();
    let debug = Shape { level: 1, ..shape };
    check_all(vec![
        (
            "rule 6: a redeploy arrives after its caller gave up",
            live(vec![outage(Callee::Remote, 0, Late(25)), Step::Write(0, debug), Step::Pass(200)]),
            (1, 1, 0),
        ),
        (
            "rule 6: killed after a redeploy of secrets only, and down until no trace of it is visible",
            live(vec![outage(Callee::Remote, 0, DieAfter), Step::Secret(2), Step::Pass(20), Step::Freeze(250)]),
            (1, 2, 1),
        ),
        (
            "rule 9: an edit is reverted before the first redeploy was sent",
            live(vec![Step::Write(0, debug), Step::Rest, Step::Write(0, shape), Step::Pass(90)]),
            (1, 0, 0),
        ),
        (
            "rule 11: a request that comes while a create is repeated is served by one redeploy",
            fresh(vec![
                outage(Callee::Remote, 0, Outage::Broken),
                Step::Write(0, shape),
                Step::Pass(1),
                Step::Redeploy(0),
            ]),
            (1, 1, 0),
        ),
        (
            "rule 8: a value that is removed, and one that is set again, cause one redeploy each",
            History {
                live: Some(Shape { config: true, ..shape }),
                ..live(vec![
                    Step::Write(0, shape),
                    Step::Pass(400),
                    Step::Write(0, Shape { config: true, ..shape }),
                    Step::Pass(400),
                ])
            },
            (1, 2, 0),
        ),
        (
            "rule 16: a difference that no end could be compared for is corrected once, and not again",
            trimmed(vec![
                Step::Write(0, Shape { level: 3, config: true, correct: true, ..shape }),
                Step::Rest,
                Step::Config(2),
                Step::Freeze(40),
                Step::Pass(7),
                Step::Config(1),
                Step::Pass(400),
            ]),
            (1, 3, 1),
        ),
        (
            "rule 16: a difference is corrected once more after the deployment was created again",
            trimmed(vec![
                Step::Write(0, Shape { level: 3, correct: true, ..shape }),
                Step::Pass(400),
                Step::Foreign(0, Foreign::Remove),
                Step::Pass(900),
            ]),
            (2, 2, 2),
        ),
        (
            "rule 7: the digest key is lost, and a Secret that was written since cannot be proven unchanged",
            live(vec![Step::Unrelated, Step::Rest, Step::LoseDigestKey, Step::Pass(400)]),
            (1, 1, 1),
        ),
        (
            "rule 7: the digest key is lost while a redeploy is in progress whose answer was lost",
            live(vec![outage(Callee::Remote, 0, LostBack), Step::Secret(2), Step::Pass(4), Step::LoseDigestKey]),
            (1, 1, 0),
        ),
        (
            "rule 18: a failure is reported, whatever outputs are requested",
            fresh(vec![Step::Write(0, Shape { level: 4, outputs: true, ..shape }), Step::Pass(90)]),
            (1, 0, 0),
        ),
        (
            "rule 15: a version that is set and reverted before the move was sent causes nothing",
            live(vec![
                Step::Publish,
                outage(Callee::Remote, 0, DieBefore),
                Step::Write(0, Shape { version: 2, ..shape }),
                Step::Pass(20),
                Step::Write(0, shape),
                Step::Start(0, 0),
                Step::Pass(400),
            ]),
            (1, 0, 0),
        ),
        (
            "rule 15: what could not be created again, as its version is not the latest, is not deleted",
            History {
                live: Some(Shape { config: true, ..shape }),
                ..live(vec![
                    Step::Publish,
                    Step::Write(0, Shape { version: 1, recreate: true, ..shape }),
                    Step::Foreign(0, Foreign::Redeploy),
                ])
            },
            (1, 1, 0),
        ),
        ("two operators, one change", live(vec![Step::Start(1, 0), Step::Rest, Step::Write(0, debug)]), (1, 1, 0)),
    ]);
}

#[test]
fn rule_22_each_named_history_of_a_deletion_reaches_the_requested_state() {
    use Outage::Late;
    let shape = Shape::default();
    check_all(vec![
        (
            "one with a key conflict is deleted while its reconcile reports that, and is forgotten all the same",
            History {
                order: 2_137_730_254_908_806_583,
                ..fresh(vec![
                    Step::Start(1, 0),
                    Step::Write(3, Shape::default()),
                    Step::Rest,
                    Step::Config(2),
                    Step::Write(2, Shape::default()),
                    Step::Run(9),
                    Step::Namespace(0, 0),
                ])
            },
            (1, 0, 0),
        ),
        (
            "rule 22: deleted while its create is still to arrive; the operator that takes over has a clock 30 s ahead",
            History {
                skew: 30,
                live: None,
                ..live(vec![
                    Step::Rest,
                    // After the finalizer and the project's count of its users, this delays the write of the operation.
                    outage(Callee::Cluster, 2, Outage::Slow(20)),
                    outage(Callee::Remote, 0, Late(29)),
                    Step::Write(0, shape),
                    Step::Pass(21),
                    Step::Stop(0),
                    Step::Delete(0),
                    Step::Start(1, 0),
                    Step::Pass(120),
                ])
            },
            (1, 0, 0),
        ),
    ]);
}

#[test]
fn the_same_history_always_happens_in_the_same_way() {
    let steps =
        vec![Step::Start(1, 2), Step::Secret(2), Step::Run(9), Step::Write(1, Shape::default()), Step::Pass(60)];
    let history = History { order: 99, ..live(steps) };
    let [once, again] = [replay(&history, true), replay(&history, true)].map(|(simulation, _)| simulation.log);
    assert_eq!(once, again);
}

/// Several deployments are read together by LIST. This LIST leaves before the redeploy does. Its answer, which shows
/// that nothing was sent yet, arrives when a redeploy whose answer was lost may be sent again. An operator that used it
/// would request a second redeploy, which only the version in the request prevents.
#[test]
fn rule_5_an_observation_from_before_a_call_is_not_used_after_it() {
    let (simulation, settled) = simulate(0, Reading::default(), async |simulation: &mut Simulation| {
        simulation.start(0, 0);
        let all = ["one", "two", "three", "four"].map(Resource::named);
        for name in all {
            simulation.write(name, Shape::default());
        }
        simulation.settle(Duration::ZERO, 0).await?;
        simulation.logging = true;
        simulation.calls.clear();
        let after = |place, changes, skip, outage| Armed { place, changes, skip, trouble: outage };
        // The first write reports the change; the second one persists the operation, and the call waits for its answer.
        simulation.armed.push(after(Callee::Cluster, true, 1, Outage::Slow(20)));
        simulation.write(all[0], Shape { level: 1, ..Shape::default() });
        for _ in 0..5 {
            simulation.rest().await;
            simulation.pass(Duration::from_secs(1)).await;
        }
        simulation.pass(Duration::from_secs(15)).await;
        simulation.armed.push(after(Callee::Remote, true, 0, Outage::Unclear));
        // While the first resource waits for its observation, the others begin to wait for theirs.
        simulation.armed.push(after(Callee::Remote, false, 0, Outage::Slow(1)));
        simulation.armed.push(after(Callee::Remote, false, 0, Outage::Slow(25)));
        for name in &all[1..] {
            simulation.annotate(*name, names::RECONCILE_REQUESTED_AT, 1);
        }
        simulation.settle(Duration::ZERO, 0).await
    });
    let log = simulation.log.join("\n");
    assert_eq!(settled, Ok(()), "{log}");
    assert!(simulation.armed.is_empty(), "every fault happened\n{log}");
    let looks = simulation.calls.iter().filter(|(name, _)| name.starts_with("list 100"));
    assert!(looks.count() > 0, "they are read by LIST\n{log}");
    let counted = ["redeploys", "refused by the remote"].map(|what| simulation.checker.counted(what));
    assert_eq!(counted, [1, 0], "{log}");
}

/// A known and accepted limit: a server that trims blanks makes a create of the operator's own look foreign if its
/// answer was lost. The operator leaves it alone and reports it, and the message names what to do.
#[test]
fn rule_2_a_lost_create_whose_values_are_shown_otherwise_is_left_alone() {
    let reading = Reading { normalise: 1, ..Reading::default() };
    let (simulation, reason) = simulate(0, reading, async |simulation: &mut Simulation| {
        simulation.start(0, 0);
        let lost = Armed { place: Callee::Remote, changes: true, skip: 0, trouble: Outage::LostBack };
        simulation.armed.push(lost);
        // ` error ` is shown as `error`.
        simulation.write(RESOURCES[0], Shape { level: 3, ..Shape::default() });
        let settled = simulation.settle(Duration::ZERO, 0).await;
        assert_eq!(settled, Ok(()));
        let cluster = lock(&simulation.reach.cluster);
        let object = cluster.get(&RESOURCES[0].stored()).cloned().expect("the resource exists");
        let object = ConnectorDeployment::deserialize(&*object).expect("a stored object has its kind");
        conditions::ready_reason(&object.status.unwrap_or_default().conditions).map(str::to_owned)
    });
    assert_eq!(reason.as_deref(), Some("KeyTaken"));
    assert_eq!(simulation.deployments(), 1);
}
