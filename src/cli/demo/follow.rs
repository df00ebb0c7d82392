//! What happens in the cluster and at the remote, shown line by line and kept for whoever waits for it.
//!
//! Only looks: one watch for each kind, nothing is polled. Next: `steps.rs` for what is waited for.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use futures::stream::{BoxStream, StreamExt, select_all};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::runtime::watcher::{self, watch_object};
use kube::runtime::{WatchStreamExt, watcher as watch_kind};
use kube::{Api, Client, ResourceExt};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::display::Display;
use crate::crd::{ConnectProject, ConnectorDeployment};
use crate::dev_server::DevServer;
use crate::names;

/// `ConnectProject` of the quickstart.
pub(super) const PROJECT: &str = "shop";
/// `ConnectorDeployment` of the quickstart.
pub(super) const DEPLOYMENT: &str = "tax";

/// Events that are kept for an error text.
const LAST_EVENTS: usize = 5;

/// What was seen last.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The project, if it is there.
    pub(super) project: Option<ConnectProject>,
    /// The deployment, if it is there.
    pub(super) deployment: Option<ConnectorDeployment>,
    /// The newest Events, oldest first.
    events: VecDeque<String>,
}

impl Seen {
    /// For an error: project, deployment with its report, and the newest Events.
    pub(super) fn describe(&self) -> String {
        let mut lines = vec![
            self.project.as_ref().map_or_else(|| format!("no ConnectProject {PROJECT}"), project_line),
            self.deployment.as_ref().map_or_else(|| format!("no ConnectorDeployment {DEPLOYMENT}"), deployment_line),
        ];
        if let Some(deployment) = &self.deployment {
            lines.extend(deployment.status.iter().filter_map(|status| status.message.clone()));
            lines.extend(report_lines(deployment));
        }
        lines.extend(self.events.iter().cloned());
        lines.join("\n")
    }
}

enum Change {
    Project(Option<Box<ConnectProject>>),
    Deployment(Option<Box<ConnectorDeployment>>),
    Event(Box<Event>),
    Interrupted(watcher::Error),
}

/// Looks until it is dropped.
pub(super) struct Follower {
    seen: watch::Receiver<Seen>,
    _looking: JoinSet<()>,
}

impl Follower {
    /// Begins to look at the objects of the quickstart in `namespace` and to show what changes.
    pub(super) fn start(client: &Client, namespace: &str, remote: Arc<DevServer>, display: Display) -> Self {
        let (sender, seen) = watch::channel(Seen::default());
        let teller =
            Teller { display, remote, last_call: None, said: BTreeSet::new(), project: None, deployment: None };
        let mut looking = JoinSet::new();
        looking.spawn(follow(changes(client, namespace), sender, teller));
        Self { seen, _looking: looking }
    }

    /// What was seen last; marked as changed with each news.
    pub(super) fn seen(&self) -> watch::Receiver<Seen> {
        self.seen.clone()
    }
}

fn changes(client: &Client, namespace: &str) -> BoxStream<'static, Change> {
    let projects = watch_object(Api::<ConnectProject>::namespaced(client.clone(), namespace), PROJECT);
    let deployments = watch_object(Api::<ConnectorDeployment>::namespaced(client.clone(), namespace), DEPLOYMENT);
    let events = watch_kind(Api::<Event>::namespaced(client.clone(), namespace), watcher::Config::default());
    select_all([
        projects
            .default_backoff()
            .map(|seen| seen.map_or_else(Change::Interrupted, |seen| Change::Project(seen.map(Box::new))))
            .boxed(),
        deployments
            .default_backoff()
            .map(|seen| seen.map_or_else(Change::Interrupted, |seen| Change::Deployment(seen.map(Box::new))))
            .boxed(),
        events
            .default_backoff()
            .applied_objects()
            .map(|event| event.map_or_else(Change::Interrupted, |event| Change::Event(Box::new(event))))
            .boxed(),
    ])
    .boxed()
}

async fn follow(mut changes: BoxStream<'static, Change>, seen: watch::Sender<Seen>, mut teller: Teller) {
    while let Some(change) = changes.next().await {
        teller.calls();
        match change {
            Change::Project(project) => {
                teller.project(project.as_deref());
                seen.send_modify(|seen| seen.project = project.map(|project| *project));
            }
            Change::Deployment(deployment) => {
                teller.deployment(deployment.as_deref());
                seen.send_modify(|seen| seen.deployment = deployment.map(|deployment| *deployment));
            }
            Change::Event(event) => {
                let Some(line) = teller.event(&event) else { continue };
                seen.send_modify(|seen| {
                    if seen.events.len() == LAST_EVENTS {
                        seen.events.pop_front();
                    }
                    seen.events.push_back(line);
                });
            }
            Change::Interrupted(error) => teller.display.detail(&format!("watching is interrupted: {error}")),
        }
    }
}

/// Says each thing once.
struct Teller {
    display: Display,
    remote: Arc<DevServer>,
    /// The newest call of the remote that was looked at.
    last_call: Option<String>,
    /// Events that were said, by uid and resourceVersion.
    said: BTreeSet<(String, String)>,
    project: Option<String>,
    deployment: Option<String>,
}

impl Teller {
    /// The calls that change something.
    fn calls(&mut self) {
        let calls = self.remote.calls();
        let known = calls.iter().rposition(|call| Some(&call.correlation_id) == self.last_call.as_ref());
        let news = calls.iter().skip(known.map_or(0, |known| known + 1));
        for call in news.filter(|call| call.method != "GET" && call.operation != "token") {
            self.display.detail(&format!("dev server: {} {} answered {}", call.method, call.path, call.status));
        }
        self.last_call = calls.last().map(|call| call.correlation_id.clone());
    }

    fn project(&mut self, project: Option<&ConnectProject>) {
        let line = project.map(project_line);
        if let Some(line) = line.as_ref().filter(|line| self.project.as_ref() != Some(*line)) {
            self.display.detail(line);
        }
        self.project = line;
    }

    fn deployment(&mut self, deployment: Option<&ConnectorDeployment>) {
        let line = deployment.map(deployment_line);
        if line != self.deployment {
            let gone = || format!("ConnectorDeployment {DEPLOYMENT} is gone");
            self.display.detail(&line.clone().unwrap_or_else(gone));
            let failed = deployment.and_then(ready).is_some_and(|ready| ready.status == "False");
            for entry in deployment.filter(|_| failed).into_iter().flat_map(report_lines) {
                self.display.detail(&entry);
            }
        }
        self.deployment = line;
    }

    fn event(&mut self, event: &Event) -> Option<String> {
        let about = event.regarding.as_ref()?;
        if !about.api_version.as_ref()?.starts_with(names::GROUP) {
            return None;
        }
        if !self.said.insert((event.uid()?, event.resource_version()?)) {
            return None;
        }
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let line = format!(
            "Event {} {} of {} {}: {}",
            text(&event.type_),
            text(&event.reason),
            text(&about.kind),
            text(&about.name),
            text(&event.note)
        );
        self.display.detail(&line);
        Some(line)
    }
}

fn project_line(project: &ConnectProject) -> String {
    let conditions = project.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    format!("ConnectProject {}: {}", project.name_any(), readiness(conditions))
}

fn deployment_line(deployment: &ConnectorDeployment) -> String {
    let name = deployment.name_any();
    let Some(status) = &deployment.status else { return format!("ConnectorDeployment {name}: not seen yet") };
    let remote = status.deployment_status.as_deref().unwrap_or("not there");
    let version = status.version.map(|version| format!(" (version {version})")).unwrap_or_default();
    format!("ConnectorDeployment {name}: {}, remote {remote}{version}", readiness(&status.conditions))
}

fn readiness(conditions: &[Condition]) -> String {
    let ready = conditions.iter().find(|condition| condition.type_ == names::READY);
    ready.map_or_else(|| "not seen yet".to_owned(), |ready| format!("Ready={} {}", ready.status, ready.reason))
}

/// The Ready condition.
pub(super) fn ready(deployment: &ConnectorDeployment) -> Option<&Condition> {
    deployment.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == names::READY)
}

/// The report in the status, a line for each finding.
pub(super) fn report_lines(deployment: &ConnectorDeployment) -> Vec<String> {
    let report = deployment.status.as_ref().map(|status| status.report.as_slice()).unwrap_or_default();
    let line = |entry: &crate::crd::ReportEntry| {
        let message = entry.message.as_deref().unwrap_or_default();
        format!("report: {} {}: {message}", entry.entry_type, entry.title)
    };
    report.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_shows_the_status_its_report_and_the_newest_events() {
        let mut seen = Seen::default();
        assert_eq!(seen.describe(), "no ConnectProject shop\nno ConnectorDeployment tax");
        let deployment = json!({
            "metadata": {"name": "tax"},
            "spec": {"projectRef": {"name": "shop"}, "connector": {"key": "demo-connector"}},
            "status": {
                "observedGeneration": 1, "deploymentStatus": "Failed", "version": 3, "message": "It did not work",
                "conditions": [{"type": "Ready", "status": "False", "reason": "DeploymentFailed", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"}],
                "report": [{"type": "Error", "title": "No value", "message": "LOG_LEVEL is loud"}],
            },
        });
        seen.deployment = Some(serde_json::from_value(deployment).expect("a deployment"));
        seen.events.push_back("Event Warning DeploymentFailed".to_owned());
        let lines = [
            "no ConnectProject shop",
            "ConnectorDeployment tax: Ready=False DeploymentFailed, remote Failed (version 3)",
            "It did not work",
            "report: Error No value: LOG_LEVEL is loud",
            "Event Warning DeploymentFailed",
        ];
        assert_eq!(seen.describe(), lines.join("\n"));
    }
}
