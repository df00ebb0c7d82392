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
use super::simulation::{Action, Projection};
use crate::controllers::connector_deployment::{intent, verification};
use crate::controllers::object_ref::ObjectRef;
use crate::crd::{ConnectorDeploymentSpec, ReadyWhen};

pub(super) mod staged;

use self::staged::Staging;

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

/// The plan for one ConnectorDeployment.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Planning {
    namespace: String,
    name: String,
    key: String,
    action: Action,
    held: Option<Action>,
    problem: Option<Problem>,
    connector: Option<Versions>,
    differences: Vec<Difference>,
    undeclared: Vec<String>,
    notes: Vec<String>,
    #[serde(skip)]
    written: bool,
}

#[derive(Clone, Debug, Serialize)]
struct Problem {
    reason: &'static str,
    message: String,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Versions {
    before: i64,
    after: i64,
}

/// Returns a note about what `Ready` waits for after the deployment.
fn proof(spec: &ConnectorDeploymentSpec) -> Option<String> {
    let verify = spec.verify.as_ref().filter(|_| spec.ready_when == ReadyWhen::Verified)?;
    let names = verification::resources(verify);
    let names: Vec<_> = names.iter().map(|name| format!("{} {}", name.kind.as_str(), name.key)).collect();
    Some(format!("it becomes ready once these point to it: {}", names.join(", ")))
}

impl Planning {
    pub(super) fn of(object_ref: &ObjectRef, planned: &Planned, outcome: Projection) -> Self {
        let Projection { action, held, problem, connector, differences, undeclared, mut notes } = outcome;
        notes.extend(planned.unchecked.clone());
        notes.extend(proof(&planned.after.spec).filter(|_| action != Action::None));
        Self {
            namespace: object_ref.namespace.clone(),
            name: planned.after.name_any(),
            key: intent::key(&planned.after),
            action,
            held,
            problem: problem.map(|condition| Problem { reason: condition.reason.as_str(), message: condition.message }),
            connector: connector.map(|(before, after)| Versions { before, after }),
            differences,
            undeclared,
            notes,
            written: planned.written,
        }
    }

    /// Whether to report the resource: it is among the manifests, or would change.
    fn is_of_interest(&self) -> bool {
        self.written || self.action != Action::None
    }

    fn compares_nothing(&self) -> bool {
        self.action == Action::Unknown || self.differences.iter().any(|it| it.change == Change::Unknown)
    }
}

/// The whole plan.
#[derive(Clone, Debug)]
pub(super) struct Report {
    deployments: Vec<Planning>,
    staged: Vec<Staging>,
    invalid: Vec<Invalid>,
    notes: Vec<String>,
}

impl Report {
    /// Builds the report. `unkeyed`: why secured values could not be compared by the operator's digests.
    pub(super) fn of(
        (mut deployments, mut staged): (Vec<Planning>, Vec<Staging>),
        invalid: Vec<Invalid>,
        mut notes: Vec<String>,
        unkeyed: Option<String>,
    ) -> Self {
        deployments.retain(Planning::is_of_interest);
        staged.retain(Staging::is_of_interest);
        if let Some(why) = unkeyed.filter(|_| deployments.iter().any(Planning::compares_nothing)) {
            notes.push(format!("secured values could not be compared: {why}"));
        }
        Self { deployments, staged, invalid, notes }
    }

    pub(super) fn has_problems(&self) -> bool {
        !self.invalid.is_empty()
            || self.deployments.iter().any(|planning| planning.problem.is_some())
            || self.staged.iter().any(Staging::is_wrong)
    }

    pub(super) fn has_changes(&self) -> bool {
        self.deployments.iter().any(|planning| planning.action != Action::None)
            || self.staged.iter().any(Staging::changes)
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
        for staging in &self.staged {
            staging.lines(&mut text);
        }
        for planning in &self.deployments {
            planning.lines(&mut text);
        }
        for note in &self.notes {
            line(&mut text, PLAIN, &format!("Note: {note}"));
        }
        let count = |is: fn(&Planning) -> bool| self.deployments.iter().filter(|planning| is(planning)).count();
        let staged = |is: fn(&Staging) -> bool| self.staged.iter().filter(|staging| is(staging)).count();
        let wrong = count(|planning| planning.problem.is_some()) + staged(Staging::is_wrong) + self.invalid.len();
        let still = count(|it| it.action == Action::None && it.held.is_none() && it.problem.is_none())
            + staged(|staging| !staging.changes() && !staging.is_held() && !staging.is_wrong());
        let created = count(|planning| planning.action == Action::Create) + staged(Staging::creates);
        let mut parts = vec![
            format!("{created} to create"),
            format!(
                "{} to redeploy",
                count(|planning| matches!(planning.action, Action::Redeploy | Action::AdoptAndRedeploy))
            ),
            format!(
                "{} to adopt",
                count(|it| matches!(it.action, Action::Adopt | Action::AdoptAndRedeploy)) + staged(Staging::adopts)
            ),
            format!("{still} unchanged"),
        ];
        let moved =
            staged(|staging| staging.changes() && !staging.creates() && !staging.adopts() && !staging.is_not_asked());
        if moved > 0 {
            parts.push(format!("{moved} to update"));
        }
        let recreated = count(|planning| planning.action == Action::Recreate);
        if recreated > 0 {
            parts.push(format!("{recreated} to recreate"));
        }
        let unknown = count(|planning| planning.action == Action::Unknown);
        if unknown > 0 {
            parts.push(format!("{unknown} possibly to redeploy"));
        }
        let not_asked = count(|planning| planning.action == Action::NotAsked) + staged(Staging::is_not_asked);
        if not_asked > 0 {
            parts.push(format!("{not_asked} not known"));
        }
        let held = count(|planning| planning.held.is_some()) + staged(Staging::is_held);
        if held > 0 {
            parts.push(format!("{held} held by suspend"));
        }
        if wrong > 0 {
            parts.push(format!("{wrong} with problems"));
        }
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
        let Self { namespace, name, key, .. } = self;
        let title = format!("ConnectorDeployment {namespace}/{name}");
        if let Some(Problem { reason, message }) = &self.problem {
            line(text, WRONG, &format!("! {title}: {reason}: {message}"));
        } else {
            let (style, sign, what) = match self.held {
                None => words(self.action, key),
                Some(held) => {
                    let (_, _, what) = words(held, key);
                    (PLAIN, " ", format!("{HELD} it {what}"))
                }
            };
            line(text, style, &format!("{sign} {title}: {what}"));
        }
        if let Some(Versions { before, after }) = self.connector {
            line(text, OTHER, &format!("    ~ version of the connector: {before} -> {after}"));
        }
        for difference in &self.differences {
            let (style, shown) = show(difference);
            line(text, style, &format!("    {shown}"));
        }
        if !self.undeclared.is_empty() {
            line(
                text,
                PLAIN,
                &format!("      not sent, because the connector does not declare them: {}", self.undeclared.join(", ")),
            );
        }
        for note in &self.notes {
            line(text, PLAIN, &format!("      {note}"));
        }
    }
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
