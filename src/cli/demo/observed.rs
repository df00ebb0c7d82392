//! The latest state of the objects of the demo, and one line of text about each, whatever its kind.
//!
//! Reads nothing itself. Next: `follow.rs` for where the state comes from, `steps/` for what the steps wait for.

use std::collections::{BTreeMap, VecDeque};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;

use crate::crd::{ActionCheck, ConnectProject, ConnectorDeployment, ConnectorStaged, ReportEntry};
use crate::names;

/// `ConnectProject` of the quickstart.
pub(super) const PROJECT: &str = "shop";
/// `ConnectorDeployment` of the quickstart.
pub(super) const DEPLOYMENT: &str = "tax";
/// `ConnectorStaged` that is published.
pub(super) const STAGED: &str = "my-connector";
/// `ConnectorDeployment` that is a preview of [`STAGED`].
pub(super) const PREVIEW: &str = "my-preview";
/// `ConnectorDeployment` of the published connector.
pub(super) const LIVE: &str = "my-live";
/// `ActionCheck` that writes.
pub(super) const WRITING: &str = "add-to-cart";
/// `ActionCheck` that reads.
pub(super) const READING: &str = "get-cart";

/// Number of Events that are kept for error messages.
const LAST_EVENTS: usize = 5;

/// The latest state of each object, by name; an object that does not exist has no entry.
#[derive(Debug, Default)]
pub(super) struct ObservedObjects {
    pub(super) projects: BTreeMap<&'static str, ConnectProject>,
    pub(super) deployments: BTreeMap<&'static str, ConnectorDeployment>,
    pub(super) staged: BTreeMap<&'static str, ConnectorStaged>,
    pub(super) checks: BTreeMap<&'static str, ActionCheck>,
    /// The newest Events, oldest first.
    events: VecDeque<String>,
}

impl ObservedObjects {
    /// Stores an Event, and drops the oldest one beyond [`LAST_EVENTS`].
    pub(super) fn event(&mut self, line: String) {
        if self.events.len() == LAST_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(line);
    }

    /// Describes for an error message each object, the message and report in its status, and the newest Events.
    pub(super) fn describe(&self) -> String {
        let mut lines = described(&self.projects);
        lines.extend(described(&self.deployments));
        lines.extend(described(&self.staged));
        lines.extend(described(&self.checks));
        if lines.is_empty() {
            lines.push("no object exists yet".to_owned());
        }
        lines.extend(self.events.iter().cloned());
        lines.join("\n")
    }
}

fn described<K: Shown>(objects: &BTreeMap<&'static str, K>) -> Vec<String> {
    objects
        .values()
        .flat_map(|object| std::iter::once(object.line()).chain(object.message()).chain(object.report()))
        .collect()
}

/// A kind of the demo, as text for the user.
pub(super) trait Shown: ResourceExt {
    /// Its kind.
    const KIND: &'static str;

    /// Its conditions.
    fn conditions(&self) -> &[Condition];

    /// The state at the remote, according to the status.
    fn remote(&self) -> Option<String> {
        None
    }

    /// The message of its condition Ready.
    fn message(&self) -> Option<String> {
        self.condition(names::READY).map(|ready| ready.message.clone())
    }

    /// The report in its status, one line per finding.
    fn report(&self) -> Vec<String> {
        Vec::new()
    }

    /// The condition of this type.
    fn condition(&self, type_: &str) -> Option<&Condition> {
        self.conditions().iter().find(|condition| condition.type_ == type_)
    }

    /// Whether the condition of this type is true.
    fn is(&self, type_: &str) -> bool {
        self.condition(type_).is_some_and(|condition| condition.status == "True")
    }

    /// Summarizes the object in one line.
    fn line(&self) -> String {
        let ready = |ready: &Condition| format!("Ready={} {}", ready.status, ready.reason);
        let mut line = format!("{} {}: ", Self::KIND, self.name_any());
        line += &self.condition(names::READY).map_or_else(|| "no condition yet".to_owned(), ready);
        if let Some(remote) = self.remote() {
            line = format!("{line}, remote {remote}");
        }
        if self.is(names::UPDATE_AVAILABLE) {
            line = format!("{line}, {}", names::UPDATE_AVAILABLE);
        }
        line
    }
}

impl Shown for ConnectProject {
    const KIND: &'static str = "ConnectProject";

    fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default()
    }
}

impl Shown for ConnectorDeployment {
    const KIND: &'static str = "ConnectorDeployment";

    fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default()
    }

    fn remote(&self) -> Option<String> {
        let status = self.status.as_ref()?;
        let remote = status.deployment_status.as_deref().unwrap_or("does not exist");
        Some(status.version.map_or_else(|| remote.to_owned(), |version| format!("{remote} (version {version})")))
    }

    fn report(&self) -> Vec<String> {
        self.status.as_ref().map(|status| report(&status.report)).unwrap_or_default()
    }
}

impl Shown for ConnectorStaged {
    const KIND: &'static str = "ConnectorStaged";

    fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default()
    }

    fn remote(&self) -> Option<String> {
        self.status.as_ref()?.connector_status.clone()
    }

    fn report(&self) -> Vec<String> {
        let Some(status) = &self.status else { return Vec::new() };
        [report(&status.previewable_report), report(&status.publishing_report)].concat()
    }
}

impl Shown for ActionCheck {
    const KIND: &'static str = "ActionCheck";

    fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default()
    }
}

fn report(entries: &[ReportEntry]) -> Vec<String> {
    let line = |entry: &ReportEntry| {
        let message = entry.message.as_deref().unwrap_or_default();
        format!("report: {} {}: {message}", entry.entry_type, entry.title)
    };
    entries.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_shows_the_status_its_report_and_the_newest_events() {
        let mut seen = ObservedObjects::default();
        assert_eq!(seen.describe(), "no object exists yet");
        let deployment = json!({
            "metadata": {"name": "tax"},
            "spec": {"projectRef": {"name": "shop"}, "connector": {"key": "demo-connector"}},
            "status": {
                "observedGeneration": 1, "deploymentStatus": "Failed", "version": 3,
                "conditions": [{"type": "Ready", "status": "False", "reason": "DeploymentFailed",
                    "message": "It did not work", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
                "report": [{"type": "Error", "title": "No value", "message": "LOG_LEVEL is loud"}],
            },
        });
        seen.deployments.insert(DEPLOYMENT, serde_json::from_value(deployment).expect("a deployment"));
        for number in 0..=LAST_EVENTS {
            seen.event(format!("Event {number}"));
        }
        let lines = [
            "ConnectorDeployment tax: Ready=False DeploymentFailed, remote Failed (version 3)",
            "It did not work",
            "report: Error No value: LOG_LEVEL is loud",
            "Event 1\nEvent 2\nEvent 3\nEvent 4\nEvent 5",
        ];
        assert_eq!(seen.describe(), lines.join("\n"));
    }
}
