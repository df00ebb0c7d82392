//! The tables of `docs/reliability.md`, generated from the results.

use super::Met;
use super::cells::{Cell, Closed, Knows, Operation, Pause};
use crate::prelude::*;

/// The tables, each with its operations. What is continued without has no table: nothing follows from it.
const TABLES: [(&str, &[Operation]); 5] = [
    ("look", &[Operation::List, Operation::ById, Operation::ByKey]),
    ("create", &[Operation::Create, Operation::CreateUnscoped]),
    ("redeploy", &[Operation::Redeploy]),
    ("undeploy", &[Operation::Undeploy]),
    ("token", &[Operation::TokenToChange]),
];

/// The smallest number of responses that become a group.
const GROUP: usize = 3;

/// A row of a table: a result, and the faults that have it.
type Row = (Cell, Vec<Name>);

/// Returns the generated parts of the page, by name.
pub(super) fn tables(all: &[Met<'_>]) -> Vec<(&'static str, String)> {
    let tables = TABLES.map(|(_, operations)| rows(all, operations));
    let groups = groups(&tables);
    let mut parts = vec![("groups", table_of_groups(&groups))];
    for ((name, operations), rows) in TABLES.iter().zip(&tables) {
        parts.push((*name, table(operations[0], rows, &groups)));
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
fn in_one_row<'a>(met: &Met<'a>) -> Met<'a> {
    let closed = met.cell.closed.map(|closed| match closed {
        Closed { kind: OutageKind::Unavailable, pause: Pause::Growing } => Closed { pause: Pause::Moment, ..closed },
        other => other,
    });
    Met { cell: Cell { closed, ..met.cell }, fault: met.fault, operation: met.operation }
}

fn rows(all: &[Met<'_>], operations: &[Operation]) -> Vec<Row> {
    let of_kind = all.iter().filter(|met| operations.contains(&met.operation)).map(in_one_row).collect::<Vec<_>>();
    let of_kind: Vec<_> = of_kind.iter().collect();
    let mut rows: Vec<Row> = Vec::new();
    for met in &of_kind {
        let name = name(met, &of_kind);
        match rows.iter_mut().find(|(cell, _)| *cell == met.cell) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => rows.push((met.cell, vec![name])),
        }
    }
    rows
}

fn table(operation: Operation, rows: &[Row], groups: &[Vec<String>]) -> String {
    let mut table =
        String::from("| Response | What is known | What the operator does next | Reason of `Ready` | The project |\n");
    table.push_str("|---|---|---|---|---|\n");
    for (cell, names) in rows {
        let reason = cell.reason.map_or_else(|| "unchanged".to_owned(), |reason| format!("`{reason}`"));
        let (known, next, project) = (known(cell), next(operation, cell), project(cell.closed));
        writeln!(table, "| {} | {known} | {next} | {reason} | {project} |", listed(&grouped(names, groups))).unwrap();
    }
    table
}

fn name(met: &Met<'_>, of_kind: &[&Met<'_>]) -> Name {
    let others: Vec<_> =
        of_kind.iter().filter(|other| other.fault.name == met.fault.name && other.cell != met.cell).collect();
    let happened = met.fault.happened();
    let to = others.iter().any(|other| other.fault.happened() == happened).then(|| met.operation.name());
    let happened = others.iter().any(|other| other.fault.happened() != happened).then_some(happened);
    Name { text: met.fault.name.clone(), to, happened }
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
            format!("repeats after {again}, doubling to 1 h, or after a change")
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
