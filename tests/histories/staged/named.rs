//! Named histories of a staged connector, each under every reading of what the contract leaves open.

use super::random::CHOICES;
use super::{Plan, StagedChange};
use crate::prelude::*;
use crate::replay::played;

/// An act; after each one everything settles.
#[derive(Clone, Copy, Debug)]
enum Act {
    Plan(Plan),
    Follow,
    /// Both changes, one after the other, and time for their processes to end.
    Foreign(StagedChange, StagedChange),
    Again,
}

/// Counts of updates, previews, publications and redeploys.
type Done = [u64; 4];

async fn perform(simulation: &mut Simulation, acts: &[Act]) -> Result<(), String> {
    for (number, act) in acts.iter().enumerate() {
        match act {
            Act::Plan(plan) => simulation.plan(*plan),
            Act::Follow => simulation.follow(),
            Act::Foreign(first, second) => {
                for act in [*first, *second] {
                    simulation.change_staged_elsewhere(act, number);
                }
                simulation.pass(Duration::from_secs(100)).await;
                simulation.ask_again(names::RECONCILE_REQUESTED_AT, number);
            }
            Act::Again => simulation.ask_again(names::RETRY_REQUESTED_AT, number),
        }
        simulation.quiet_for_long().await?;
    }
    Ok(())
}

fn check_history(case: &str, choice: Option<&str>, operators: usize, acts: &[Act], wanted: Done) {
    let (simulation, log) = played(choice, async |simulation: &mut Simulation| {
        simulation.log(|| case.to_owned());
        for number in 0..operators {
            simulation.start(number, 0);
        }
        perform(simulation, acts).await
    });
    let count = |what: &str| simulation.checker.counted(what);
    assert_eq!(count("stagings"), 1, "{log}");
    let done = ["updates", "previews", "publishes", "redeploys"].map(count);
    assert_eq!(done, wanted, "{case}: updates, previews, publications, redeploys\n{log}");
}

#[test]
fn each_named_history_of_a_staged_connector_reaches_the_requested_state_under_every_reading() {
    let staged = Plan::default();
    let previewed = Plan { previewable: true, ..staged };
    let published = Plan { publish: 1, ..staged };
    let both = Plan { publish: 1, ..previewed };
    let rows: [(&str, usize, &[Act], Done); 8] = [
        ("from one tag to the next", 1, &[Act::Plan(both), Act::Plan(Plan { tag: 1, ..both })], [1, 2, 2, 0]),
        ("two operators", 2, &[Act::Plan(both), Act::Plan(Plan { tag: 1, ..both })], [1, 2, 2, 0]),
        (
            "a preview is requested again when a tag comes back, though none was for the tag in between",
            1,
            &[Act::Plan(previewed), Act::Plan(Plan { tag: 1, ..staged }), Act::Plan(previewed)],
            [2, 2, 0, 0],
        ),
        (
            "a name that another client changed and published is corrected, and published",
            1,
            &[Act::Plan(published), Act::Foreign(StagedChange::Rename, StagedChange::Publish)],
            [1, 0, 2, 0],
        ),
        (
            "a connector that was renamed and renamed back is not published again",
            1,
            &[Act::Plan(published), Act::Foreign(StagedChange::Rename, StagedChange::Bump)],
            [1, 0, 1, 0],
        ),
        (
            "a failed publication is tried once more for each request",
            1,
            &[Act::Plan(Plan { tag: 3, ..published }), Act::Again, Act::Again],
            [0, 0, 3, 0],
        ),
        (
            "a deployment follows a tag with one application less",
            1,
            &[Act::Plan(Plan { tag: 1, ..previewed }), Act::Follow, Act::Plan(Plan { publish: 1, ..previewed })],
            [1, 2, 1, 1],
        ),
        (
            "after a refused preview, one is requested for the next tag",
            1,
            &[Act::Plan(Plan { tag: 2, ..both }), Act::Plan(both)],
            [1, 2, 1, 0],
        ),
    ];
    for (case, operators, acts, wanted) in rows {
        for choice in [None].into_iter().chain(CHOICES.map(Some)) {
            check_history(case, choice, operators, acts, wanted);
        }
    }
}

/// The answer to the preview request for a second tag is lost, and another client changes the connector before the
/// request arrives: the permission that shows then belongs to the first tag.
#[test]
fn a_permission_of_the_previous_tag_is_never_taken_for_that_of_the_new_one() {
    for choice in [None, Some("new-tag=keeps-preview"), Some("new-tag=resets-preview")] {
        let (simulation, log) = played(choice, async |simulation: &mut Simulation| {
            simulation.start(0, 0);
            let plan = Plan { previewable: true, ..Plan::default() };
            simulation.plan(plan);
            simulation.quiet_for_long().await?;
            simulation.calls.clear();
            simulation.armed.push(Armed { place: Callee::Remote, changes: true, skip: 1, trouble: Outage::Late(25) });
            simulation.plan(Plan { tag: 1, ..plan });
            while !simulation.calls.iter().any(|(call, _)| call.ends_with("updatePreviewable")) {
                simulation.pass(Duration::from_secs(1)).await;
                simulation.rest().await;
            }
            simulation.change_staged_elsewhere(StagedChange::Bump, 0);
            simulation.quiet_for_long().await
        });
        assert_eq!(simulation.checker.counted("previews"), 2, "one for each tag\n{log}");
    }
}

/// The answer to a repeated publication is lost, and the publication fails before the next poll: the record shows a failure
/// in a higher version, which counts.
#[test]
fn a_publication_that_failed_unobserved_is_not_sent_again() {
    for choice in [None, Some("versions=status"), Some("read-lag=20s")] {
        let (simulation, log) = played(choice, async |simulation: &mut Simulation| {
            simulation.start(0, 0);
            simulation.plan(Plan { tag: 3, publish: 1, ..Plan::default() });
            simulation.quiet_for_long().await?;
            simulation.calls.clear();
            simulation.armed.push(Armed { place: Callee::Remote, changes: true, skip: 0, trouble: Outage::LostBack });
            simulation.ask_again(names::RETRY_REQUESTED_AT, 0);
            while !simulation.calls.iter().any(|(call, _)| call.ends_with("publish")) {
                assert!(simulation.micro().await, "the publication is requested");
            }
            simulation.pass(Duration::from_mins(1)).await;
            simulation.quiet_for_long().await
        });
        let done = ["publishes", "publishes whose answer was lost before"].map(|what| simulation.checker.counted(what));
        assert_eq!(done, [2, 0], "{log}");
    }
}
