//! Formats the plan of a staged connector. Pure.

use serde::Serialize;

use super::{GONE, HELD, NEW, NOT_ASKED, OTHER, PLAIN, Problem, WRONG, line, quoted};
use crate::cli::plan::projected_cluster::PlannedStaged;
use crate::cli::plan::staged::{Action, Difference, Projection};
use crate::controllers::object_ref::ObjectRef;

/// The plan for one ConnectorStaged.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli::plan) struct Staging {
    namespace: String,
    name: String,
    key: String,
    tag: String,
    actions: Vec<Action>,
    held: Vec<Action>,
    problem: Option<Problem>,
    differences: Vec<Difference>,
    waits: Vec<String>,
    notes: Vec<String>,
    #[serde(skip)]
    written: bool,
}

impl Staging {
    pub(in crate::cli::plan) fn of(object_ref: &ObjectRef, planned: &PlannedStaged, outcome: Projection) -> Self {
        let Projection { actions, held, problem, differences, waits, notes, moves: _, not_deployable: _ } = outcome;
        Self {
            namespace: object_ref.namespace.clone(),
            name: object_ref.name.clone(),
            key: planned.after.spec.key.clone(),
            tag: planned.after.spec.repository.tag.clone(),
            actions,
            held,
            problem: problem.map(|condition| Problem { reason: condition.reason.as_str(), message: condition.message }),
            differences,
            waits,
            notes,
            written: planned.written,
        }
    }

    /// Whether to report the resource: it is among the manifests, or would change.
    pub(super) fn is_of_interest(&self) -> bool {
        self.written || self.changes()
    }

    pub(super) fn changes(&self) -> bool {
        !self.actions.is_empty()
    }

    pub(super) fn is_held(&self) -> bool {
        !self.held.is_empty()
    }

    pub(super) fn is_wrong(&self) -> bool {
        self.problem.is_some()
    }

    pub(super) fn creates(&self) -> bool {
        self.actions.contains(&Action::Create)
    }

    pub(super) fn adopts(&self) -> bool {
        self.actions.contains(&Action::Adopt)
    }

    pub(super) fn is_not_asked(&self) -> bool {
        self.actions.contains(&Action::NotAsked)
    }

    /// Describes the actions, in order.
    fn words(&self, actions: &[Action]) -> Vec<String> {
        let Self { key, tag, .. } = self;
        let words = actions.iter().map(|action| match action {
            Action::Create => format!("is created, with the key {key}"),
            Action::Adopt => format!("adopts the staged connector with the key {key}"),
            Action::Update => "is updated".to_owned(),
            Action::Preview => format!("requests permission to deploy tag {tag}"),
            Action::Publish => format!("is published with tag {tag}"),
            Action::NotAsked => NOT_ASKED.to_owned(),
        });
        words.collect()
    }

    pub(super) fn lines(&self, text: &mut String) {
        let Self { namespace, name, tag, .. } = self;
        let title = format!("ConnectorStaged {namespace}/{name}");
        let mut steps = self.words(&self.actions);
        if self.is_held() {
            steps.push(format!("{HELD} it {}", self.words(&self.held).join(", then ")));
        }
        if !steps.is_empty() || self.problem.is_none() {
            let (style, sign) = match self.actions.first() {
                None => (PLAIN, " "),
                Some(Action::Create | Action::Adopt) => (NEW, "+"),
                Some(Action::NotAsked) => (OTHER, "?"),
                Some(_) => (OTHER, "~"),
            };
            let what = if steps.is_empty() { "nothing to do".to_owned() } else { steps.join(", then ") };
            line(text, style, &format!("{sign} {title}: {what}"));
        }
        if let Some(Problem { reason, message }) = &self.problem {
            line(text, WRONG, &format!("! {title}: {reason}: {message}"));
        }
        for Difference { field, before, after } in &self.differences {
            let (style, shown) = match (before.as_str(), after.as_str()) {
                ("", _) => (NEW, format!("+ {field}: {}", quoted(after))),
                (_, "") => (GONE, format!("- {field}: {}", quoted(before))),
                _ => (OTHER, format!("~ {field}: {} -> {}", quoted(before), quoted(after))),
            };
            line(text, style, &format!("    {shown}"));
        }
        for wait in &self.waits {
            line(text, PLAIN, &format!("      tag {tag} is published only after this is proven: {wait}"));
        }
        for note in &self.notes {
            line(text, PLAIN, &format!("      {note}"));
        }
    }
}
