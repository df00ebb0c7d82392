//! Formats a plan: lines for a terminal, Markdown for a pull request, JSON for programs. Pure, except that it asks whether
//! the output is a terminal.
//!
//! `docs/plan.md` describes the members of the JSON; members are only added.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use connect_api::text::{escaped, one_line};
use kube::ResourceExt as _;
use serde::Serialize;
use serde_json::json;

use super::difference::{Change, Difference, Kind};
use super::projected_cluster::{Invalid, Planned, shown};
use super::simulation::{self, Action, Versions};
use super::staged;
use super::stop::Problem;
use crate::crd::{ConnectorDeployment, ConnectorDeploymentSpec, ConnectorStaged, ReadyWhen};
use crate::operator::deployment::{intent, verification};

const NEW: Style = AnsiColor::Green.on_default();
const OTHER: Style = AnsiColor::Yellow.on_default();
const GONE: Style = AnsiColor::Red.on_default();
const WRONG: Style = AnsiColor::Red.on_default().bold();
const TITLE: Style = Style::new().bold();
const PLAIN: Style = Style::new();

/// Introduces what a suspended resource would do.
const HELD: &str = "nothing is sent while suspend is true; once it is false,";

/// Describes a resource whose remote was not asked.
const NOT_ASKED: &str = "the remote was not asked, so what would happen is not known";

/// Maximum characters of a value in a line; JSON has the whole value.
const LONGEST_VALUE: usize = 120;

/// What the last line counts, in its order; the first ones also if there are none.
const COUNTED: [&str; 10] = [
    CREATED,
    REDEPLOYED,
    ADOPTED,
    UNCHANGED,
    "to update",
    "to recreate",
    "possibly to redeploy",
    "not known",
    SUSPENDED,
    PROBLEMS,
];
const ALWAYS_COUNTED: usize = 4;
const CREATED: &str = "to create";
const REDEPLOYED: &str = "to redeploy";
const ADOPTED: &str = "to adopt";
const UNCHANGED: &str = "unchanged";
const SUSPENDED: &str = "held by suspend";
const PROBLEMS: &str = "with problems";

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Form {
    /// Lines for reading in a terminal.
    Text,
    /// Markdown for a comment on a pull request.
    Markdown,
    /// JSON for programs.
    Json,
}

/// The plan for one resource.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Planning {
    namespace: String,
    name: String,
    key: String,
    #[serde(flatten)]
    outcome: Outcome,
    #[serde(skip)]
    written: bool,
}

#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Outcome {
    Deployment(simulation::Projection),
    Staged {
        tag: String,
        #[serde(flatten)]
        outcome: staged::Projection,
    },
}

/// Returns a note about what `Ready` waits for after the deployment.
fn proof(spec: &ConnectorDeploymentSpec) -> Option<String> {
    let verify = spec.verify.as_ref().filter(|_| spec.ready_when == ReadyWhen::Verified)?;
    let names = verification::resources(verify);
    let names: Vec<_> = names.iter().map(|name| format!("{} {}", name.kind.as_str(), name.key)).collect();
    Some(format!("it becomes ready once these point to it: {}", names.join(", ")))
}

impl Planning {
    pub(super) fn deployment(planned: &Planned<ConnectorDeployment>, mut outcome: simulation::Projection) -> Self {
        let object = &planned.after;
        outcome.notes.extend(planned.unchecked.clone());
        outcome.notes.extend(proof(&object.spec).filter(|_| outcome.action != Action::None));
        Self {
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
            key: intent::key(object),
            outcome: Outcome::Deployment(outcome),
            written: planned.written,
        }
    }

    pub(super) fn staged(planned: &Planned<ConnectorStaged>, outcome: staged::Projection) -> Self {
        let object = &planned.after;
        Self {
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
            key: object.spec.key.clone(),
            outcome: Outcome::Staged { tag: object.spec.repository.tag.clone(), outcome },
            written: planned.written,
        }
    }
}

impl Outcome {
    fn changes(&self) -> bool {
        match self {
            Self::Deployment(outcome) => outcome.action != Action::None,
            Self::Staged { outcome, .. } => !outcome.actions.is_empty(),
        }
    }

    fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Deployment(simulation::Projection { problem, .. })
            | Self::Staged { outcome: staged::Projection { problem, .. }, .. } => problem.as_ref(),
        }
    }

    /// Returns what the resource counts as, of [`COUNTED`].
    fn counts(&self) -> Vec<&'static str> {
        match self {
            _ if self.problem().is_some() => vec![PROBLEMS],
            Self::Deployment(outcome) => match outcome.action {
                Action::None if outcome.held.is_some() => vec![SUSPENDED],
                Action::None => vec![UNCHANGED],
                Action::Create => vec![CREATED],
                Action::Redeploy => vec![REDEPLOYED],
                Action::Adopt => vec![ADOPTED],
                Action::AdoptAndRedeploy => vec![REDEPLOYED, ADOPTED],
                Action::Recreate => vec!["to recreate"],
                Action::Unknown => vec!["possibly to redeploy"],
                Action::NotAsked => vec!["not known"],
            },
            Self::Staged { outcome, .. } => {
                let held = (!outcome.held.is_empty()).then_some(SUSPENDED);
                let first = match outcome.actions.first() {
                    None if held.is_some() => None,
                    None => Some(UNCHANGED),
                    Some(staged::Action::Create) => Some(CREATED),
                    Some(staged::Action::Adopt) => Some(ADOPTED),
                    Some(staged::Action::NotAsked) => Some("not known"),
                    Some(_) => Some("to update"),
                };
                first.into_iter().chain(held).collect()
            }
        }
    }
}

/// The whole plan.
#[derive(Clone, Debug)]
pub(super) struct Report {
    deployments: Vec<Planning>,
    staged: Vec<Planning>,
    invalid: Vec<Invalid>,
    notes: Vec<String>,
}

impl Report {
    /// Builds the report.
    pub(super) fn of(
        (mut deployments, mut staged): (Vec<Planning>, Vec<Planning>),
        invalid: Vec<Invalid>,
        notes: Vec<String>,
    ) -> Self {
        // What is not among the manifests is of interest if it would change.
        for plannings in [&mut deployments, &mut staged] {
            plannings.retain(|it| it.written || it.outcome.changes());
        }
        Self { deployments, staged, invalid, notes }
    }

    fn all(&self) -> impl Iterator<Item = &Planning> {
        self.staged.iter().chain(&self.deployments)
    }

    pub(super) fn has_problems(&self) -> bool {
        !self.invalid.is_empty() || self.all().any(|it| it.outcome.problem().is_some())
    }

    pub(super) fn has_changes(&self) -> bool {
        self.all().any(|it| it.outcome.changes())
    }

    /// Formats the report, with colours on a terminal.
    pub(super) fn text(&self, form: Form) -> String {
        match form {
            Form::Json => crate::cli::text::json(&self.json()),
            Form::Markdown => markdown(&anstream::adapter::strip_str(&self.lines()).to_string()),
            Form::Text => {
                let text = self.lines();
                match anstream::AutoStream::choice(&std::io::stdout()) {
                    anstream::ColorChoice::Never => anstream::adapter::strip_str(&text).to_string(),
                    _ => text,
                }
            }
        }
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

    fn lines(&self) -> String {
        let mut text = String::new();
        for invalid in &self.invalid {
            let Invalid { kind, namespace, name, message } = invalid;
            line(&mut text, WRONG, &format!("! {}: {message}", shown(kind, namespace, name)));
        }
        for planning in self.all() {
            planning.lines(&mut text);
        }
        for note in &self.notes {
            line(&mut text, PLAIN, &format!("Note: {note}"));
        }
        let invalid = self.invalid.iter().map(|_| PROBLEMS);
        let counted: Vec<&str> = self.all().flat_map(|it| it.outcome.counts()).chain(invalid).collect();
        let count = |word: &str| counted.iter().filter(|counted| **counted == word).count();
        let parts = COUNTED.iter().enumerate().map(|(at, word)| (at, count(word), word));
        let parts = parts.filter(|(at, count, _)| *at < ALWAYS_COUNTED || *count > 0);
        let parts: Vec<_> = parts.map(|(_, count, word)| format!("{count} {word}")).collect();
        line(&mut text, TITLE, &format!("Plan: {}.", parts.join(", ")));
        text
    }
}

/// Returns the last line, which counts, as a heading, and the others as a block that is coloured by their signs.
fn markdown(lines: &str) -> String {
    let (rest, counts) = lines.trim_end().rsplit_once('\n').unwrap_or(("", lines.trim_end()));
    if rest.is_empty() {
        return format!("**{counts}**\n");
    }
    // A fence is longer than every run of backticks within it (CommonMark, section 4.5).
    let longest = rest.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("**{counts}**\n\n{fence}diff\n{rest}\n{fence}\n")
}

impl Planning {
    fn lines(&self, text: &mut String) {
        let Self { namespace, name, key, outcome, .. } = self;
        let (kind, (style, sign, what), details, notes) = match outcome {
            Outcome::Deployment(outcome) => {
                let words = match outcome.held {
                    None => words(outcome.action, key),
                    Some(held) => (PLAIN, " ", format!("{HELD} it {}", words(held, key).2)),
                };
                ("ConnectorDeployment", words, details(outcome), &outcome.notes)
            }
            Outcome::Staged { tag, outcome } => {
                ("ConnectorStaged", steps(outcome, key, tag), fields(outcome, tag), &outcome.notes)
            }
        };
        let title = format!("{kind} {namespace}/{name}");
        match outcome.problem() {
            Some(Problem { reason, message }) => line(text, WRONG, &format!("! {title}: {reason}: {message}")),
            None => line(text, style, &format!("{sign} {title}: {what}")),
        }
        for (style, detail) in details {
            line(text, style, &format!("    {detail}"));
        }
        for note in notes {
            line(text, PLAIN, &format!("      {note}"));
        }
    }
}

/// Describes what would change of a deployment.
fn details(outcome: &simulation::Projection) -> Vec<(Style, String)> {
    let versions = outcome
        .connector
        .map(|Versions { before, after }| (OTHER, format!("~ version of the connector: {before} -> {after}")));
    let undeclared = (!outcome.undeclared.is_empty()).then(|| {
        let names = outcome.undeclared.join(", ");
        (PLAIN, format!("  not sent, because the connector does not declare them: {names}"))
    });
    versions.into_iter().chain(outcome.differences.iter().map(show)).chain(undeclared).collect()
}

/// Describes the steps of a staged connector, with their style and sign.
fn steps(outcome: &staged::Projection, key: &str, tag: &str) -> (Style, &'static str, String) {
    use staged::Action;
    let words = |actions: &[Action]| {
        let words = actions.iter().map(|action| match action {
            Action::Create => format!("is created, with the key {key}"),
            Action::Adopt => format!("adopts the staged connector with the key {key}"),
            Action::Update => "is updated".to_owned(),
            Action::Preview => format!("requests permission to deploy tag {tag}"),
            Action::Publish => format!("is published with tag {tag}"),
            Action::NotAsked => NOT_ASKED.to_owned(),
        });
        words.collect::<Vec<_>>().join(", then ")
    };
    let (style, sign) = match outcome.actions.first() {
        None => (PLAIN, " "),
        Some(Action::Create | Action::Adopt) => (NEW, "+"),
        Some(Action::NotAsked) => (OTHER, "?"),
        Some(_) => (OTHER, "~"),
    };
    let held = (!outcome.held.is_empty()).then(|| format!("{HELD} it {}", words(&outcome.held)));
    let parts = Some(words(&outcome.actions)).filter(|words| !words.is_empty()).into_iter().chain(held);
    let what = parts.collect::<Vec<_>>().join(", then ");
    (style, sign, if what.is_empty() { "nothing to do".to_owned() } else { what })
}

/// Describes what would change of a staged connector, and what its publication waits for.
fn fields(outcome: &staged::Projection, tag: &str) -> Vec<(Style, String)> {
    let differences = outcome.differences.iter().map(|staged::Difference { field, before, after }| {
        match (before.as_str(), after.as_str()) {
            ("", _) => (NEW, format!("+ {field}: {}", quoted(after))),
            (_, "") => (GONE, format!("- {field}: {}", quoted(before))),
            _ => (OTHER, format!("~ {field}: {} -> {}", quoted(before), quoted(after))),
        }
    });
    let proven = |wait| (PLAIN, format!("  tag {tag} is published only after this is proven: {wait}"));
    differences.chain(outcome.waits.iter().map(proven)).collect()
}

/// Describes an action, with its style and sign.
fn words(action: Action, key: &str) -> (Style, &'static str, String) {
    match action {
        Action::None => (PLAIN, " ", "nothing to do".to_owned()),
        Action::Create => (NEW, "+", format!("is created, with the key {key}")),
        Action::Redeploy => (OTHER, "~", "is redeployed".to_owned()),
        Action::Recreate => (WRONG, "-/+", "is deleted and recreated".to_owned()),
        Action::Adopt => (NEW, "+", format!("adopts the deployment with the key {key} without changes")),
        Action::AdoptAndRedeploy => (OTHER, "~", format!("adopts the deployment with the key {key}, and redeploys it")),
        Action::Unknown => (OTHER, "?", "is redeployed if a secured value has changed".to_owned()),
        Action::NotAsked => (OTHER, "?", NOT_ASKED.to_owned()),
    }
}

fn show(difference: &Difference) -> (Style, String) {
    let place = difference.application.as_deref().unwrap_or("globalConfiguration");
    let unnamed = if difference.kind == Kind::RetryPolicy { "retryPolicy" } else { "schedule" };
    let name = difference.key.as_deref().unwrap_or(unnamed);
    let texts = [&difference.before, &difference.after].map(|text| text.as_deref().map(quoted).unwrap_or_default());
    let [before, after] = texts;
    let (style, sign, secured, open) = match difference.change {
        Change::Added => (NEW, '+', "(secured) new", after),
        Change::Changed => (OTHER, '~', "(secured) changed", format!("{before} -> {after}")),
        Change::Retained => (GONE, '=', "(secured) no longer named, and stays in force", stays(&before)),
        Change::Unknown => (OTHER, '?', "(secured) may have changed", "may have changed".to_owned()),
    };
    let what = if difference.kind == Kind::Secured { secured } else { &open };
    (style, format!("{sign} {place} {name}: {what}"))
}

fn stays(value: &str) -> String {
    format!("no longer named, and stays {value}")
}

/// Quotes a value on one line, truncated if it is long.
fn quoted(text: &str) -> String {
    let cut: String = text.chars().take(LONGEST_VALUE).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("{}{more}", escaped(&json!(cut).to_string()))
}

fn line(text: &mut String, style: Style, content: &str) {
    // Writing into a string cannot fail.
    let _ = writeln!(text, "{style}{}{style:#}", one_line(content));
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
