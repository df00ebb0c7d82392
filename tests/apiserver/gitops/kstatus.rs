//! What Flux reads from every state, computed by the kstatus library that it uses; and whether `docs/conditions.md`
//! states the same.

use connect_operator::operator::reporting::reason::ConditionState;

use super::ToolStatus;
use super::states::{self, Means};

const PAGE: &str = include_str!("../../../docs/conditions.md");

#[test]
fn flux_reads_the_intended_status_of_every_state_of_every_kind() {
    let states = states::all();
    assert!(states.len() > 400, "{}", states.len());
    let objects: Vec<_> = states.iter().map(|state| state.object.clone()).collect();
    let verdicts = super::flux(&objects);
    assert_eq!(verdicts.len(), states.len());
    for (state, verdict) in states.iter().zip(&verdicts) {
        let expected = match state.means {
            Means::Said(ConditionState::Ready) => "Current",
            Means::Said(
                ConditionState::Progressing
                | ConditionState::Waiting
                | ConditionState::Paused
                | ConditionState::Failing,
            )
            | Means::NotSeenYet => "InProgress",
            Means::Said(ConditionState::Stalled) => "Failed",
            Means::BeingDeleted => "Terminating",
        };
        assert_eq!(verdict.status, expected, "{}: {}", state.name, verdict.message);
        // Flux shows the message, so the message of the operator must be passed on.
        if matches!(state.means, Means::Said(stance) if stance != ConditionState::Ready) {
            assert_eq!(verdict.message, "so it is", "{}", state.name);
        }
    }
    assert_page(&states, &verdicts);
}

/// Asserts that the column of Flux is right for each state in the table of the page.
fn assert_page(states: &[states::State], verdicts: &[ToolStatus]) {
    for (state, verdict) in states.iter().zip(verdicts) {
        let Means::Said(stance) = state.means else { continue };
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| {} | ", stance.as_str()))).expect("a row");
        let cells: Vec<_> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        assert_eq!(cells[5], verdict.status, "{}: {row}", state.name);
    }
}
