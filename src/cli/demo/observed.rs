//! The latest state of the objects of the demo, and one line of text about each.
//!
//! Reads nothing itself. Next: `follow.rs` for where the state comes from, `steps/` for what the steps wait for.

use std::collections::{BTreeMap, VecDeque};

use crate::cli::resources::{Resource, ResourceType, findings};
use crate::crd::{ConnectorDeployment, ConnectorStaged};
use crate::names;

/// `ConnectProject` of the quickstart.
const PROJECT: &str = "shop";
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

/// Each object, with a name that no other has.
pub(super) const OBJECTS: [(ResourceType, &str); 7] = [
    (ResourceType::Project, PROJECT),
    (ResourceType::Deployment, DEPLOYMENT),
    (ResourceType::Deployment, PREVIEW),
    (ResourceType::Deployment, LIVE),
    (ResourceType::Staged, STAGED),
    (ResourceType::Check, WRITING),
    (ResourceType::Check, READING),
];

/// Number of Events that are kept for error messages.
const LAST_EVENTS: usize = 5;

/// The latest state of each object, by name; an object that does not exist has no entry.
#[derive(Debug, Default)]
pub(super) struct ObservedObjects {
    objects: BTreeMap<&'static str, Resource>,
    /// The newest Events, oldest first.
    events: VecDeque<String>,
}

impl ObservedObjects {
    /// Stores an object, or that it does not exist.
    pub(super) fn put(&mut self, name: &'static str, object: Option<Resource>) {
        match object {
            Some(object) => drop(self.objects.insert(name, object)),
            None => drop(self.objects.remove(name)),
        }
    }

    /// Returns the object of this name.
    pub(super) fn get(&self, name: &str) -> Option<&Resource> {
        self.objects.get(name)
    }

    /// Returns the `ConnectorDeployment` of this name.
    pub(super) fn deployment(&self, name: &str) -> Option<&ConnectorDeployment> {
        let Resource::Deployment(object) = self.get(name)? else { return None };
        Some(object)
    }

    /// Returns the `ConnectorStaged` of this name.
    pub(super) fn staged(&self, name: &str) -> Option<&ConnectorStaged> {
        let Resource::Staged(object) = self.get(name)? else { return None };
        Some(object)
    }

    /// Whether a condition of the object of this name is true.
    pub(super) fn is(&self, name: &str, condition: &str) -> bool {
        self.get(name).is_some_and(|object| is_true(object, condition))
    }

    /// Stores an Event, and drops the oldest one beyond [`LAST_EVENTS`].
    pub(super) fn event(&mut self, line: String) {
        if self.events.len() == LAST_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(line);
    }

    /// Describes for an error message each object, the message and report in its status, and the newest Events.
    pub(super) fn describe(&self) -> String {
        let mut lines = Vec::new();
        for object in self.objects.values() {
            lines.push(line(object));
            lines.extend(object.ready().map(|ready| ready.message.clone()));
            lines.extend(report(object));
        }
        if lines.is_empty() {
            lines.push("no object exists yet".to_owned());
        }
        lines.extend(self.events.iter().cloned());
        lines.join("\n")
    }
}

fn is_true(object: &Resource, condition: &str) -> bool {
    object.conditions().iter().any(|it| it.type_ == condition && it.status == "True")
}

/// Summarizes an object in one line.
pub(super) fn line(object: &Resource) -> String {
    let remote = match object {
        Resource::Deployment(object) => object.status.as_ref().map(|status| {
            let remote = status.deployment_status.as_deref().unwrap_or("does not exist");
            status.version.map_or_else(|| remote.to_owned(), |version| format!("{remote} (version {version})"))
        }),
        Resource::Staged(object) => object.status.as_ref().and_then(|status| status.connector_status.clone()),
        Resource::Project(_) | Resource::ClusterProject(_) | Resource::Check(_) => None,
    };
    let ready = object.ready().map(|ready| format!("Ready={} {}", ready.status, ready.reason));
    let ready = ready.unwrap_or_else(|| "no condition yet".to_owned());
    let remote = remote.map(|remote| format!(", remote {remote}")).unwrap_or_default();
    let update = if is_true(object, names::UPDATE_AVAILABLE) { ", UpdateAvailable" } else { "" };
    format!("{} {}: {ready}{remote}{update}", object.resource_type().kind(), object.name())
}

/// Returns the report in the status of an object, one line per finding.
pub(super) fn report(object: &Resource) -> Vec<String> {
    let entries = match object {
        Resource::Deployment(object) => object.status.iter().flat_map(|status| status.report.clone()).collect(),
        Resource::Staged(object) => {
            let status = object.status.clone().unwrap_or_default();
            [status.previewable_report, status.publishing_report].concat()
        }
        Resource::Project(_) | Resource::ClusterProject(_) | Resource::Check(_) => Vec::new(),
    };
    findings(&entries).map(|finding| format!("report: {finding}")).collect()
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
        let deployment = serde_json::from_value(deployment).expect("a deployment");
        seen.put(DEPLOYMENT, Some(Resource::Deployment(Box::new(deployment))));
        for number in 0..=LAST_EVENTS {
            seen.event(format!("Event {number}"));
        }
        let lines = [
            "ConnectorDeployment tax: Ready=False DeploymentFailed, remote Failed (version 3)",
            "It did not work",
            "report: Error: No value: LOG_LEVEL is loud",
            "Event 1\nEvent 2\nEvent 3\nEvent 4\nEvent 5",
        ];
        assert_eq!(seen.describe(), lines.join("\n"));
    }
}
