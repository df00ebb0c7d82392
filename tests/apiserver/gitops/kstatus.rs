//! What Flux makes of every state, asked of the library that it is made of; and what `docs/conditions.md` says of that.

use connect_operator::controllers::reason::ConditionState;

use super::Verdict;
use super::states::{self, Means};

const PAGE: &str = include_str!("../../../docs/conditions.md");

#[test]
fn flux_reads_every_state_of_every_kind_as_it_is_meant() {
    let states = states::all();
    assert!(states.len() > 400, "{}", states.len());
    let objects: Vec<_> = states.iter().map(|state| state.object.clone()).collect();
    let verdicts = super::flux(&objects);
    assert_eq!(verdicts.len(), states.len());
    for (state, verdict) in states.iter().zip(&verdicts) {
        let expected = match state.means {
            Means::Said(ConditionState::Ready) => "Current",
            Means::Said(
                ConditionState::Running | ConditionState::Waiting | ConditionState::Paused | ConditionState::Failing,
            )
            | Means::NotSeenYet => "InProgress",
            Means::Said(ConditionState::Stalled) => "Failed",
            Means::BeingDeleted => "Terminating",
        };
        assert_eq!(verdict.status, expected, "{}: {}", state.name, verdict.message);
        // Flux shows the message, so what the operator says must come through.
        if matches!(state.means, Means::Said(stance) if stance != ConditionState::Ready) {
            assert_eq!(verdict.message, "so it is", "{}", state.name);
        }
    }
    what_the_page_says(&states, &verdicts);
}

/// Each row of a reason on the page has a column for kstatus.
fn what_the_page_says(states: &[states::State], verdicts: &[Verdict]) {
    let mut rows = 0;
    let mut kind = "";
    for line in PAGE.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            kind = title;
        }
        let cells: Vec<_> = line.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let name = format!("{kind} {}", cells.get(1).unwrap_or(&""));
        let Some(at) = states.iter().position(|state| state.name == name) else { continue };
        // Name, Ready, the condition beside it, kstatus: the condition RegistryMirrored has no such columns.
        if cells.len() == 7 {
            assert_eq!(cells[4], verdicts[at].status, "{line}");
            rows += 1;
        }
    }
    assert!(rows > 50, "{rows} rows of docs/conditions.md were compared");
}
