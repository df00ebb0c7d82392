//! Formats a plan: lines for a terminal, JSON for programs. Pure.
//!
//! `docs/plan.md` describes the members of the JSON; members are only added.

use std::collections::BTreeMap;

use connect_api::text::{escaped, one_line};
use serde::Serialize;
use serde_json::json;

use super::difference::{Change, Difference, FIELD};
use super::projected_cluster::{Invalid, shown};
use super::simulation::{Action, Problem, Projection, Versions};
use crate::operator::values::names::Kind;

/// Maximum characters of a value in a line; JSON has the whole value.
const LONGEST_VALUE: usize = 120;

/// What the last line counts besides what happens.
const UNCHANGED: &str = "unchanged";
const PROBLEMS: &str = "with problems";

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Form {
    /// Lines for reading in a terminal.
    Text,
    /// JSON for programs.
    Json,
}

/// The plan for one resource.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Planning {
    #[serde(skip)]
    pub(super) kind: &'static str,
    pub(super) namespace: String,
    pub(super) name: String,
    /// Its key at the remote.
    pub(super) key: String,
    #[serde(flatten)]
    pub(super) outcome: Projection,
}

/// The whole plan.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    /// Whether something would happen at the remote.
    pub(super) changes: bool,
    /// Whether there is a problem.
    pub(super) problems: bool,
    pub(super) staged: Vec<Planning>,
    pub(super) deployments: Vec<Planning>,
    pub(super) invalid: Vec<Invalid>,
    pub(super) notes: Vec<String>,
}

impl Report {
    /// Returns the whole plan.
    pub(super) fn new([staged, deployments]: [Vec<Planning>; 2], invalid: Vec<Invalid>, notes: Vec<String>) -> Self {
        let all = || staged.iter().chain(&deployments).map(|planning| &planning.outcome);
        let changes = all().any(|outcome| outcome.action != Action::None);
        let problems = !invalid.is_empty() || all().any(|outcome| outcome.problem.is_some());
        Self { changes, problems, staged, deployments, invalid, notes }
    }

    /// Formats the report.
    pub(super) fn text(&self, form: Form) -> String {
        match form {
            Form::Text => self.lines().join("\n") + "\n",
            Form::Json => crate::cli::text::json(&json!(self)),
        }
    }

    fn lines(&self) -> Vec<String> {
        let (mut lines, mut counted) = (Vec::new(), BTreeMap::<&str, usize>::new());
        for Invalid { kind, namespace, name, message } in &self.invalid {
            lines.push(format!("! {}: {message}", shown(kind, namespace, name)));
            *counted.entry(PROBLEMS).or_default() += 1;
        }
        for planning in self.staged.iter().chain(&self.deployments) {
            *counted.entry(planning.lines(&mut lines)).or_default() += 1;
        }
        lines.extend(self.notes.iter().map(|note| format!("Note: {note}")));
        let parts: Vec<_> = counted.iter().map(|(word, count)| format!("{count} {word}")).collect();
        lines.push(format!("Plan: {}.", if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }));
        lines.iter().map(|line| one_line(line)).collect()
    }
}

impl Planning {
    /// Adds the lines of the resource; returns what it counts as.
    fn lines(&self, lines: &mut Vec<String>) -> &'static str {
        let Self { kind, namespace, name, key, outcome } = self;
        let (mut sign, mut counted, what) = words(outcome.held.unwrap_or(outcome.action));
        let mut what = what.replacen("{key}", key, 1);
        if let Some(Problem { reason, message }) = &outcome.problem {
            (sign, counted, what) = ("!", PROBLEMS, format!("{reason}: {message}"));
        } else if outcome.held.is_some() {
            (sign, counted) = (" ", UNCHANGED);
            what = format!("nothing is sent while suspend is true; once it is false, it {what}");
        }
        lines.push(format!("{sign} {kind} {namespace}/{name}: {what}"));
        if let Some(Versions { before, after }) = outcome.connector {
            lines.push(format!("    ~ version of the connector: {before} -> {after}"));
        }
        lines.extend(outcome.differences.iter().map(|difference| format!("    {}", show(difference))));
        lines.extend(outcome.notes.iter().map(|note| format!("      {note}")));
        counted
    }
}

/// Describes an action: its sign, what it counts as, and what happens.
fn words(action: Action) -> (&'static str, &'static str, &'static str) {
    match action {
        Action::None => (" ", UNCHANGED, "nothing to do"),
        Action::Create => ("+", "to create", "is created, with the key {key}"),
        Action::Redeploy => ("~", "to redeploy", "is redeployed"),
        Action::Recreate => ("-/+", "to recreate", "is deleted and recreated"),
        Action::Adopt => ("+", "to adopt", "adopts what has the key {key}, without changes"),
        Action::AdoptAndRedeploy => ("~", "to redeploy", "adopts what has the key {key}, and redeploys it"),
        Action::Unknown => ("?", "possibly to redeploy", "is redeployed if a secured value has changed"),
        Action::Update => ("~", "to update", "is updated"),
        Action::Preview => ("~", "to update", "requests permission to deploy its tag as a preview"),
        Action::Publish => ("~", "to update", "is published"),
        Action::NotKnown => ("?", "not known", "what would happen is not known"),
    }
}

fn show(Difference { application, kind, key, change, before, after }: &Difference) -> String {
    let place = match application {
        _ if *kind == FIELD => String::new(),
        Some(application) => format!("{application} "),
        None => "globalConfiguration ".to_owned(),
    };
    let name = match key {
        Some(key) if *kind == Kind::RetryPolicy.as_str() => format!("retryPolicy.{key}"),
        Some(key) => key.clone(),
        None => (*kind).to_owned(),
    };
    let [before, after] = [before, after].map(|text| text.as_deref().map_or_else(|| "none".to_owned(), quoted));
    let (sign, secured, open) = match change {
        Change::Added => ('+', "(secured) new", after),
        Change::Changed => ('~', "(secured) changed", format!("{before} -> {after}")),
        Change::Retained => {
            ('=', "(secured) no longer named, and stays in force", format!("no longer named, and stays {before}"))
        }
        Change::Unknown => ('?', "(secured) may have changed", "may have changed".to_owned()),
    };
    let what = if *kind == Kind::Secured.as_str() { secured } else { &open };
    format!("{sign} {place}{name}: {what}")
}

/// Quotes a value on one line, truncated if it is long.
fn quoted(text: &str) -> String {
    let cut: String = text.chars().take(LONGEST_VALUE).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("{}{more}", escaped(&json!(cut).to_string()))
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
