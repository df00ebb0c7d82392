//! `docs/conditions.md`: every reason by its state, with a link to its section of `docs/troubleshooting.md`.

use connect_operator::operator::reporting::event_reason::EventReason;
use connect_operator::operator::reporting::reason::ConditionState;

use crate::prelude::*;
use crate::sources;

/// The page, whose tables say which kind can have which reason.
const PAGE: &str = include_str!("../../../docs/conditions.md");

/// Returns the reasons in a table of the page.
fn listed(part: &str) -> Vec<Reason> {
    let (_, rest) = PAGE.split_once(&format!("<!-- generated: {part} -->")).expect(part);
    let links = rest.split("<!-- end").next().unwrap_or_default().split("](troubleshooting.md#");
    links.filter_map(|before| Reason::parse(before.rsplit('[').next()?)).collect()
}

/// Returns each kind that users write, with its possible reasons.
pub(crate) fn of_kinds() -> [(&'static str, Vec<Reason>); 5] {
    let of = |kind| (kind, listed(kind));
    // A ClusterConnectProject has the reasons of a ConnectProject.
    let shared = ("ClusterConnectProject", listed("ConnectProject"));
    [of("ConnectProject"), shared, of("ConnectorDeployment"), of("ConnectorStaged"), of("ActionCheck")]
}

const STATES: [ConditionState; 6] = [
    ConditionState::Ready,
    ConditionState::Progressing,
    ConditionState::Waiting,
    ConditionState::Stalled,
    ConditionState::Paused,
    ConditionState::Failing,
];

#[test]
fn the_page_of_conditions_lists_every_reason_that_the_code_uses() {
    let verified = listed("Verified");
    let kinds = of_kinds().into_iter().filter(|(kind, _)| *kind != "ClusterConnectProject");
    let kinds: Vec<_> = kinds.collect();
    for reason in Reason::ALL {
        let somewhere = kinds.iter().any(|(_, reasons)| reasons.contains(reason)) || verified.contains(reason);
        assert!(somewhere, "no table of docs/conditions.md lists {reason}: add it to those of its kinds");
    }
    let mut parts = vec![("states", states()), ("stable", stable()), ("Verified", beside("Verified", &verified))];
    parts.extend(kinds.iter().map(|(kind, reasons)| (*kind, table(reasons))));
    assert_golden_parts("docs/conditions.md", &parts);
    let controllers = sources::all().iter().filter(|source| source.is_below("operator"));
    let given: BTreeSet<_> = controllers.flat_map(|source| source.uses_of("Reason")).collect();
    let unused: Vec<_> = Reason::ALL.iter().filter(|reason| !given.contains(reason.as_str())).collect();
    assert_eq!(unused, Vec::<&Reason>::new(), "reasons that the code does not use");
}

#[test]
fn the_table_of_events_lists_every_reason_that_no_condition_has() {
    let (_, section) = PAGE.split_once("\n## Events\n").expect("a section");
    let section = section.split_once("\n## ").expect("another section").0;
    let cells: Vec<_> = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).collect();
    let listed = |reason: &str| cells.iter().any(|cell| cell.contains(&format!("`{reason}`")));
    for reason in EventReason::OF_NO_CONDITION {
        assert!(listed(reason.as_str()), "{reason:?} is not in the table of Events");
    }
    for name in cells.iter().filter_map(|cell| cell.strip_prefix('`')?.split_once('`')) {
        let known = EventReason::OF_NO_CONDITION.iter().any(|reason| reason.as_str() == name.0);
        assert!(known || Reason::parse(name.0).is_some(), "the code emits no {}", name.0);
    }
}

#[test]
fn every_sentence_says_enough_to_act_on() {
    for reason in Reason::ALL {
        let sentence = reason.sentence();
        assert!(sentence.len() > 20 && sentence.ends_with('.') && !sentence.contains(['|', '\n']), "{reason}");
        if reason.state() == ConditionState::Stalled {
            assert!(sentence.contains(':'), "{reason} needs a user, and names no remedy");
        }
    }
}

/// Returns what a condition state looks like: its meaning, `Ready`, the condition beside it, and what kstatus makes of
/// the two (kstatus reads `Reconciling` and `Stalled` first, then `Ready`).
pub(crate) fn looks(state: ConditionState) -> [&'static str; 4] {
    match state {
        ConditionState::Ready => ["in the desired state", "True", "", "Current"],
        ConditionState::Progressing => ["an operation is in progress", "Unknown", "Reconciling", "InProgress"],
        ConditionState::Waiting => ["a problem that may resolve by itself", "False", "Reconciling", "InProgress"],
        ConditionState::Stalled => ["a user must act", "False", "Stalled", "Failed"],
        ConditionState::Paused => ["suspended by a user", "False", "", "InProgress"],
        ConditionState::Failing => ["a check fails, and is repeated at its interval", "False", "", "InProgress"],
    }
}

/// Returns what Argo CD shows, with the health check of `examples/argocd/`; a test runs that on every reason.
fn argo_cd(state: ConditionState) -> &'static str {
    match state {
        ConditionState::Ready => "Healthy",
        ConditionState::Progressing | ConditionState::Waiting => "Progressing",
        ConditionState::Stalled | ConditionState::Failing => "Degraded",
        ConditionState::Paused => "Suspended",
    }
}

fn states() -> String {
    let mut table = String::from("| State | Meaning | `Ready` | Also `True` | Flux (kstatus) | Argo CD |\n");
    table.push_str("|---|---|---|---|---|---|\n");
    for state in STATES {
        let [meaning, ready, beside, kstatus] = looks(state);
        let (name, beside) = (state.as_str(), code(beside));
        writeln!(table, "| {name} | {meaning} | `{ready}` | {beside} | `{kstatus}` | {} |", argo_cd(state)).unwrap();
    }
    table
}

/// Says which reasons scripts may rely on.
fn stable() -> String {
    let unstable: Vec<_> = Reason::UNSTABLE.iter().map(|reason| format!("`{reason}`")).collect();
    let (last, others) = unstable.split_last().expect("there are some");
    format!(
        "Reasons of conditions are stable: a later version neither renames one nor uses it for anything else, but it may add others.\n\
         Not stable are {} and {last}, which say how the operator\nworks inside. Select those by their state.\n",
        others.join(", ")
    )
}

/// Formats the reasons of a kind, those of one state in each row.
fn table(reasons: &[Reason]) -> String {
    let mut table = String::from("| State | Reasons |\n|---|---|\n");
    for state in STATES {
        let links: Vec<_> =
            reasons.iter().filter(|reason| reason.state() == state).map(|reason| link(*reason)).collect();
        if !links.is_empty() {
            writeln!(table, "| {} | {} |", state.as_str(), links.join(", ")).unwrap();
        }
    }
    table
}

/// Formats a condition beside `Ready`, which neither Flux nor Argo CD evaluates.
fn beside(type_: &str, reasons: &[Reason]) -> String {
    let mut table = format!("| `{type_}` | Reasons |\n|---|---|\n");
    for status in ["True", "Unknown", "False"] {
        let links: Vec<_> =
            reasons.iter().filter(|reason| looks(reason.state())[1] == status).map(|reason| link(*reason)).collect();
        if !links.is_empty() {
            writeln!(table, "| `{status}` | {} |", links.join(", ")).unwrap();
        }
    }
    table
}

/// Links a reason to its section.
fn link(reason: Reason) -> String {
    format!("[{reason}](troubleshooting.md#{})", reason.as_str().to_lowercase())
}

/// Formats what has a reason that `Ready` never has.
pub(super) fn place_beside_ready(reason: Reason) -> String {
    format!("{}: condition `Verified`", reason.state().as_str())
}

fn code(word: &str) -> String {
    if word.is_empty() { String::new() } else { format!("`{word}`") }
}
