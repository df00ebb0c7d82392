//! Formats a plan: lines for a terminal, JSON for programs. Pure, except that it asks whether the output is a terminal.
//!
//! `docs/plan.md` describes the members of the JSON; members are only added.

use anstyle::{AnsiColor, Style};
use connect_api::text::{escaped, one_line};
use serde::Serialize;
use serde_json::json;

use super::difference::{Change, Difference, Kind};
use super::projected_cluster::{Invalid, shown};
use super::simulation::{Action, Projection, Versions};
use super::stop::Problem;
use crate::cli::resources::ResourceType;

/// Maximum characters of a value in a line; JSON has the whole value.
const LONGEST_VALUE: usize = 120;

/// What the last line counts, in its order.
const COUNTED: [&str; 9] = [
    "to create",
    "to redeploy",
    "to adopt",
    "to update",
    "to recreate",
    "possibly to redeploy",
    "not known",
    UNCHANGED,
    PROBLEMS,
];
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
    pub(super) resource_type: ResourceType,
    pub(super) namespace: String,
    pub(super) name: String,
    /// Its key at the remote.
    pub(super) key: String,
    #[serde(flatten)]
    pub(super) outcome: Projection,
}

/// The whole plan.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) staged: Vec<Planning>,
    pub(super) deployments: Vec<Planning>,
    pub(super) invalid: Vec<Invalid>,
    pub(super) notes: Vec<String>,
}

impl Report {
    fn all(&self) -> impl Iterator<Item = &Planning> {
        self.staged.iter().chain(&self.deployments)
    }

    pub(super) fn has_problems(&self) -> bool {
        !self.invalid.is_empty() || self.all().any(|it| it.outcome.problem.is_some())
    }

    pub(super) fn has_changes(&self) -> bool {
        self.all().any(|it| it.outcome.action != Action::None)
    }

    /// Formats the report, with colours on a terminal.
    pub(super) fn text(&self, form: Form) -> String {
        if form == Form::Json {
            return crate::cli::text::json(&self.json());
        }
        let coloured = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
        let line = |line: String| {
            let style = if coloured { style(&line) } else { Style::new() };
            format!("{style}{line}{style:#}\n")
        };
        self.lines().into_iter().map(line).collect()
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "changes": self.has_changes(),
            "problems": self.has_problems(),
            "deployments": self.deployments,
            "staged": self.staged,
            "invalid": self.invalid,
            "notes": self.notes,
        })
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for Invalid { kind, namespace, name, message } in &self.invalid {
            lines.push(format!("! {}: {message}", shown(kind, namespace, name)));
        }
        let mut counted = vec![PROBLEMS; self.invalid.len()];
        for planning in self.all() {
            counted.push(planning.lines(&mut lines));
        }
        lines.extend(self.notes.iter().map(|note| format!("Note: {note}")));
        let count = |word: &str| counted.iter().filter(|counted| **counted == word).count();
        let parts = COUNTED.iter().map(|word| (count(word), word)).filter(|(count, _)| *count > 0);
        let parts: Vec<_> = parts.map(|(count, word)| format!("{count} {word}")).collect();
        lines.push(format!("Plan: {}.", if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }));
        lines.iter().map(|line| one_line(line)).collect()
    }
}

impl Planning {
    /// Adds the lines of the resource; returns what it counts as, of [`COUNTED`].
    fn lines(&self, lines: &mut Vec<String>) -> &'static str {
        let Self { resource_type, namespace, name, outcome, .. } = self;
        let title = format!("{} {namespace}/{name}", resource_type.kind());
        let (sign, mut counted, what) = self.words(outcome.held.unwrap_or(outcome.action));
        match (&outcome.problem, outcome.held) {
            (Some(Problem { reason, message }), _) => {
                counted = PROBLEMS;
                lines.push(format!("! {title}: {reason}: {message}"));
            }
            (None, Some(_)) => {
                counted = UNCHANGED;
                lines.push(format!("  {title}: nothing is sent while suspend is true; once it is false, it {what}"));
            }
            (None, None) => lines.push(format!("{sign} {title}: {what}")),
        }
        if let Some(Versions { before, after }) = outcome.connector {
            lines.push(format!("    ~ version of the connector: {before} -> {after}"));
        }
        lines.extend(outcome.differences.iter().map(|difference| format!("    {}", show(difference))));
        lines.extend(outcome.notes.iter().map(|note| format!("      {note}")));
        counted
    }

    /// Describes an action: its sign, what it counts as, and what happens.
    fn words(&self, action: Action) -> (&'static str, &'static str, String) {
        let with_key = || match self.resource_type {
            ResourceType::Staged => format!("the staged connector with the key {}", self.key),
            _ => format!("the deployment with the key {}", self.key),
        };
        match action {
            Action::None => (" ", UNCHANGED, "nothing to do".to_owned()),
            Action::Create => ("+", "to create", format!("is created, with the key {}", self.key)),
            Action::Redeploy => ("~", "to redeploy", "is redeployed".to_owned()),
            Action::Recreate => ("-/+", "to recreate", "is deleted and recreated".to_owned()),
            Action::Adopt => ("+", "to adopt", format!("adopts {} without changes", with_key())),
            Action::AdoptAndRedeploy => ("~", "to redeploy", format!("adopts {}, and redeploys it", with_key())),
            Action::Unknown => ("?", "possibly to redeploy", "is redeployed if a secured value has changed".to_owned()),
            Action::Update => ("~", "to update", "is updated".to_owned()),
            Action::Preview => ("~", "to update", "requests permission to deploy its tag as a preview".to_owned()),
            Action::Publish => ("~", "to update", "is published".to_owned()),
            Action::NotKnown => ("?", "not known", "what would happen is not known".to_owned()),
        }
    }
}

/// Returns the style of a line by its sign.
fn style(line: &str) -> Style {
    match line.trim_start().chars().next() {
        Some('+') => AnsiColor::Green.on_default(),
        Some('~' | '?') => AnsiColor::Yellow.on_default(),
        Some('-' | '!' | '=') => AnsiColor::Red.on_default(),
        Some('P') => Style::new().bold(),
        _ => Style::new(),
    }
}

fn show(difference: &Difference) -> String {
    let unnamed = if difference.kind == Kind::RetryPolicy { "retryPolicy" } else { "schedule" };
    let name = difference.key.as_deref().unwrap_or(unnamed);
    let place = match &difference.application {
        _ if difference.kind == Kind::Field => String::new(),
        Some(application) => format!("{application} "),
        None => "globalConfiguration ".to_owned(),
    };
    let texts = [&difference.before, &difference.after].map(|text| text.as_deref().map(quoted).unwrap_or_default());
    let [before, after] = texts;
    let (sign, secured, open) = match difference.change {
        Change::Added => ('+', "(secured) new", after),
        Change::Changed => ('~', "(secured) changed", format!("{before} -> {after}")),
        Change::Retained => {
            ('=', "(secured) no longer named, and stays in force", format!("no longer named, and stays {before}"))
        }
        Change::Unknown => ('?', "(secured) may have changed", "may have changed".to_owned()),
    };
    let what = if difference.kind == Kind::Secured { secured } else { &open };
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
