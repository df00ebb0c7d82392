//! The tables of `docs/reliability.md`, generated from the results.

use super::Met;
use super::cells::{Cell, Closed, Knows, Operation, Pause};
use super::faults::Fault;
use crate::prelude::*;

/// Operations with the same results, and their name in a cell that compares them with others.
type Compared = (&'static str, &'static [Operation]);

/// The tables, each with the operations whose results a row compares, and under which name. What is continued without
/// has no table: nothing follows from it.
const TABLES: [(&str, &[Compared]); 3] = [
    ("look", &[("", &[Operation::List, Operation::ById, Operation::ByKey])]),
    (
        "change",
        &[("create", &[Operation::Create]), ("redeploy", &[Operation::Redeploy]), ("undeploy", &[Operation::Undeploy])],
    ),
    ("token", &[("", &[Operation::TokenToChange])]),
];

/// The smallest number of responses that become a group.
const GROUP: usize = 3;

/// A row of a table: the result at each of its operations, and the faults that have it.
type Row = (Vec<Cell>, Vec<Name>);

/// A fault with the results that a row compares.
struct Case<'a> {
    fault: &'a Fault,
    operation: Operation,
    cells: Vec<Cell>,
}

/// Returns the generated parts of the page, by name.
pub(super) fn tables(all: &[Met<'_>]) -> Vec<(&'static str, String)> {
    let tables = TABLES.map(|(_, operations)| rows(all, operations));
    let groups = groups(&tables);
    let mut parts = vec![("groups", table_of_groups(&groups))];
    for ((name, operations), rows) in TABLES.iter().zip(&tables) {
        parts.push((*name, table(operations, rows, &groups)));
    }
    parts
}

/// Returns the faults that share a row in every table, if they are at least [`GROUP`].
fn groups(tables: &[Vec<Row>]) -> Vec<Vec<String>> {
    let mut faults: Vec<(&str, Vec<_>)> = Vec::new();
    for (table, rows) in tables.iter().enumerate() {
        for (row, (_, names)) in rows.iter().enumerate() {
            for Name { text, to, happened } in names {
                let place = (table, row, *to, *happened);
                match faults.iter_mut().find(|(known, _)| *known == text.as_str()) {
                    Some((_, places)) => places.push(place),
                    None => faults.push((text.as_str(), vec![place])),
                }
            }
        }
    }
    let mut groups: Vec<(Vec<_>, Vec<String>)> = Vec::new();
    for (text, places) in faults {
        match groups.iter_mut().find(|(known, _)| *known == places) {
            Some((_, texts)) => texts.push(text.to_owned()),
            None => groups.push((places, vec![text.to_owned()])),
        }
    }
    groups.into_iter().map(|(_, texts)| texts).filter(|texts| texts.len() >= GROUP).collect()
}

fn table_of_groups(groups: &[Vec<String>]) -> String {
    let mut table = String::from("| Group | Responses |\n|---|---|\n");
    for (group, texts) in groups.iter().enumerate() {
        let names: Vec<_> = texts.iter().map(|text| Name { text: text.clone(), to: None, happened: None }).collect();
        writeln!(table, "| {} | {} |", letter(group), listed(&names)).unwrap();
    }
    table
}

fn letter(group: usize) -> char {
    ('A'..='Z').nth(group).expect("fewer groups than letters")
}

/// Names groups in place of their faults.
fn grouped(names: &[Name], groups: &[Vec<String>]) -> Vec<Name> {
    let mut found = Vec::new();
    for name in names {
        let group = groups.iter().position(|texts| texts.contains(&name.text));
        let text = group.map_or_else(|| name.text.clone(), |group| format!("group {}", letter(group)));
        let name = Name { text, ..name.clone() };
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// A fault as a row names it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    /// Its name.
    text: String,
    /// The operation, if the others of the table report something else.
    to: Option<&'static str>,
    /// Whether the change was made all the same, if that makes a difference.
    happened: Option<bool>,
}

/// The pause after a list has no row of its own.
fn in_one_row(cell: Cell) -> Cell {
    let closed = cell.closed.map(|closed| match closed {
        Closed { kind: OutageKind::Unavailable, pause: Pause::Growing } => Closed { pause: Pause::Moment, ..closed },
        other => other,
    });
    Cell { closed, ..cell }
}

fn rows(all: &[Met<'_>], operations: &[Compared]) -> Vec<Row> {
    let ((_, first), others) = operations.split_first().expect("a table has operations");
    let at = |fault: &Fault, operation: Operation| {
        let met = all.iter().find(|met| met.operation == operation && std::ptr::eq(met.fault, fault));
        in_one_row(met.expect("every operation meets every fault").cell)
    };
    let met = all.iter().filter(|met| first.contains(&met.operation));
    let cases = met.map(|met| {
        let others = others.iter().map(|(_, operations)| at(met.fault, operations[0]));
        let cells = std::iter::once(in_one_row(met.cell)).chain(others).collect();
        Case { fault: met.fault, operation: met.operation, cells }
    });
    let cases: Vec<_> = cases.collect();
    let mut rows: Vec<Row> = Vec::new();
    for case in &cases {
        let name = name(case, &cases);
        match rows.iter_mut().find(|(cells, _)| *cells == case.cells) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => rows.push((case.cells.clone(), vec![name])),
        }
    }
    rows
}

fn table(operations: &[Compared], rows: &[Row], groups: &[Vec<String>]) -> String {
    let mut table =
        String::from("| Response | What is known | What the operator does next | Reason of `Ready` | The project |\n");
    table.push_str("|---|---|---|---|---|\n");
    for (cells, names) in rows {
        let each = |text: &dyn Fn(Operation, &Cell) -> String| {
            let texts = operations.iter().zip(cells).map(|((name, all), cell)| (*name, text(all[0], cell)));
            joined(&texts.collect::<Vec<_>>())
        };
        let known = each(&|_, cell| known(cell).to_owned());
        let next = each(&next);
        let reason =
            each(&|_, cell| cell.reason.map_or_else(|| "unchanged".to_owned(), |reason| format!("`{reason}`")));
        let project = each(&|_, cell| project(cell.closed));
        writeln!(table, "| {} | {known} | {next} | {reason} | {project} |", listed(&grouped(names, groups))).unwrap();
    }
    table
}

/// Formats a cell of several operations: the values in their order where one or two words differ, otherwise each text
/// with the names of its operations.
fn joined(texts: &[(&str, String)]) -> String {
    let words: Vec<Vec<&str>> = texts.iter().map(|(_, text)| text.split_whitespace().collect()).collect();
    let least = words.iter().map(Vec::len).min().unwrap_or_default();
    let same = |at: &dyn Fn(&Vec<&str>) -> usize| words.iter().all(|text| text[at(text)] == words[0][at(&words[0])]);
    let begin = (0..least).take_while(|at| same(&|_| *at)).count();
    let end = (1..=least - begin).take_while(|at| same(&|text| text.len() - at)).count();
    let values: Vec<_> = words.iter().map(|text| text[begin..text.len() - end].join(" ")).collect();
    if values.iter().all(String::is_empty) {
        return texts[0].1.clone();
    }
    if words.iter().all(|text| (1..=2).contains(&(text.len() - begin - end))) {
        let values: Vec<_> = values.iter().map(|value| value.trim_end_matches(',')).collect();
        let comma = if end > 0 && words[0][words[0].len() - end - 1].ends_with(',') { "," } else { "" };
        let values = format!("{}{comma}", values.join(", "));
        return [&words[0][..begin], &[values.as_str()], &words[0][words[0].len() - end..]].concat().join(" ");
    }
    let mut by_text: Vec<(Vec<&str>, &str)> = Vec::new();
    for (name, text) in texts.iter().filter(|(_, text)| !text.is_empty()) {
        match by_text.iter_mut().find(|(_, known)| known == text) {
            Some((names, _)) => names.push(name),
            None => by_text.push((vec![name], text)),
        }
    }
    let parts = by_text.iter().map(|(names, text)| format!("*{}:* {text}", names.join(", ")));
    parts.collect::<Vec<_>>().join("<br>")
}

fn name(case: &Case<'_>, all: &[Case<'_>]) -> Name {
    let others: Vec<_> =
        all.iter().filter(|other| other.fault.name == case.fault.name && other.cells != case.cells).collect();
    let happened = case.fault.happened();
    let to = others.iter().any(|other| other.fault.happened() == happened).then(|| case.operation.name());
    let happened = others.iter().any(|other| other.fault.happened() != happened).then_some(happened);
    Name { text: case.fault.name.clone(), to, happened }
}

/// Formats the faults of a row: codes, then statuses without one, then the rest; separately where their effect matters.
fn listed(names: &[Name]) -> String {
    let mut parts = Vec::new();
    for (happened, words) in [(None, ""), (Some(false), "*without effect:* "), (Some(true), "*with effect:* ")] {
        let some: Vec<_> = names.iter().filter(|name| name.happened == happened).collect();
        if !some.is_empty() {
            parts.push(format!("{words}{}", together(&some)));
        }
    }
    parts.join("<br>")
}

fn together(names: &[&Name]) -> String {
    let (mut codes, mut statuses, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for Name { text: name, to, .. } in names {
        let to = to.map(|operation| format!(" to `{operation}`")).unwrap_or_default();
        match name.strip_suffix(" without a code") {
            Some(status) if to.is_empty() => statuses.push(status.to_owned()),
            _ if name.starts_with('`') && name.ends_with('`') => codes.push(format!("{name}{to}")),
            _ => rest.push(format!("{name}{to}")),
        }
    }
    let mut parts = vec![codes.join(", ")];
    if !statuses.is_empty() {
        parts.push(format!("{} without a code", statuses.join(", ")));
    }
    parts.extend(rest);
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

fn known(cell: &Cell) -> &'static str {
    match cell.knows {
        Knows::Worked => "it was accepted",
        Knows::Absent => "it does not exist",
        Knows::Nothing => "nothing",
        Knows::Refused | Knows::NotNow => "nothing happened",
        Knows::Open => "it may have happened",
    }
}

fn next(operation: Operation, cell: &Cell) -> String {
    let looks = matches!(operation, Operation::List | Operation::ById | Operation::ByKey);
    match (cell.knows, cell.again.map(span)) {
        (Knows::Worked, None) if looks => "continues".to_owned(),
        (Knows::Worked, None) => "polls until it has ended".to_owned(),
        (Knows::Worked, Some(again)) => {
            format!("reads; if it still exists, repeats after {again}, growing")
        }
        (Knows::Absent, _) if looks => "continues: a second read, 30 s later, has to confirm it (rule 5)".to_owned(),
        (Knows::Absent, _) => "removes the finalizer".to_owned(),
        (Knows::Nothing, _) => "reads after the pause".to_owned(),
        (Knows::Refused, Some(again)) => {
            format!("repeats after {again}, or after a change")
        }
        (Knows::NotNow, Some(again)) => {
            format!("re-evaluates; repeats after {again}, growing to 1 min")
        }
        (Knows::Open, Some(again)) => {
            format!("reads; if it did not happen, repeats after {again}, growing to 5 min")
        }
        (Knows::Open, None) => "reads, finds that it happened, and sends nothing".to_owned(),
        (Knows::Refused | Knows::NotNow, None) => "nothing".to_owned(),
    }
}

fn project(closed: Option<Closed>) -> String {
    let Some(Closed { kind, pause }) = closed else { return String::new() };
    let reason = match kind {
        OutageKind::Unavailable => "ServiceUnavailable",
        OutageKind::Throttled => "Throttled",
        OutageKind::CredentialsRejected => "CredentialsRejected",
        OutageKind::PermissionMissing => "PermissionMissing",
        OutageKind::ProjectNotFound => "ProjectNotFound",
    };
    let pause = match pause {
        Pause::Moment => "briefly".to_owned(),
        Pause::Growing => "for 1 s, doubling to 1 min".to_owned(),
        Pause::Asked(pause) => format!("for {}", span(pause)),
        Pause::UntilRepaired => "for 5 min, or until its credentials change".to_owned(),
    };
    format!("`{reason}`, {pause}")
}

fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds >= 60 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}
