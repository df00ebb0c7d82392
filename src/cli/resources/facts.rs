//! The lines of a page that differ between the kinds: what runs, and what is wanted. Pure.

use jiff::Timestamp;
use kube::core::Selector;

use crate::crd::{
    ActionCheck, AllowedNamespaces, ConnectProjectSpec, ConnectProjectStatus, ConnectorDeployment, ConnectorStaged,
    ManagementPolicy, NamespacesFrom, PublishPolicy, UpdatePolicy,
};
use crate::operator::deployment::persisted::OperationState;
use crate::operator::deployment::state;

use super::kind::{Resource, ResourceType};
use crate::cli::text::{Lines, age};

/// Adds the lines about the resource.
pub(super) fn lines(resource: &Resource, now: Timestamp, lines: &mut Lines) {
    match resource {
        Resource::Project(object) => project(&object.spec, object.status.as_ref(), now, lines),
        Resource::ClusterProject(object) => {
            project(&object.spec.project, object.status.as_ref(), now, lines);
            lines.add("Allowed", allowed(object.spec.allowed_namespaces.as_ref()));
        }
        Resource::Staged(object) => staged(object, now, lines),
        Resource::Deployment(object) => deployment(object, now, lines),
        Resource::Check(object) => check(object, now, lines),
    }
}

fn deployment(object: &ConnectorDeployment, now: Timestamp, lines: &mut Lines) {
    let status = object.status.clone().unwrap_or_default();
    let state = state::shown(&status);
    let serves =
        status.remote_state() == Some("Deployed") || state.applied.as_ref().is_some_and(|applied| applied.serves);
    let runs = status.connector.as_ref().filter(|_| serves).map(|connector| {
        let name = connector.key.as_deref().or(connector.id.as_deref()).unwrap_or("a connector");
        let version = connector.version.map(|version| format!(" version {version}")).unwrap_or_default();
        let tag = connector.tag.as_deref().map(|tag| format!(" (tag {tag})")).unwrap_or_default();
        format!("{name}{version}{tag}")
    });
    lines.add("Running", runs.unwrap_or_else(|| "nothing".to_owned()));
    lines.add("Wanted", wanted(object));
    if let Some(key) = &status.key {
        let id = status.id.as_deref().map(|id| format!(" (id {id})")).unwrap_or_default();
        let absent = if status.id.is_some() { "not found" } else { "not created" };
        let state = status.remote_state().unwrap_or(absent);
        let version = status.remote_version().map(|version| format!(" version {version}")).unwrap_or_default();
        let place = status.remote.as_ref().map(|remote| format!(" in project {}", remote.project.project_key));
        let region = status
            .remote
            .as_ref()
            .and_then(|remote| remote.region.as_deref())
            .map(|region| format!(", region {region}"))
            .unwrap_or_default();
        lines.add("Remote", format!("{key}{id}{version}{}{region}: {state}", place.unwrap_or_default()));
    }
    if let Some(applied) = &state.applied {
        let at = age(applied.at, now);
        lines.add("Last applied", format!("generation {}: {:?}, {at} ago", applied.generation, applied.outcome));
    }
    if let Some(operation) = &state.operation {
        let since = age(operation.started_at, now);
        lines.add("Operation", in_progress(operation.kind, operation.state, operation.attempt, &since));
    }
    let urls = status.applications.iter().map(|it| {
        let place = it.url.as_deref().or(it.topic.as_deref()).or(it.schedule.as_deref()).unwrap_or("-");
        format!("{} {place}", it.application_name)
    });
    lines.list("Applications", urls);
}

fn wanted(object: &ConnectorDeployment) -> String {
    let connector = &object.spec.connector;
    let named = connector.key.as_deref().or(connector.id.as_deref());
    let by_ref = connector.staged_ref.as_ref().map(|staged| format!("the connector of staged/{}", staged.name));
    let name = named.map(ToOwned::to_owned).or(by_ref).unwrap_or_default();
    let version = match (connector.version, connector.update_policy) {
        (Some(version), _) => format!(", version {version}"),
        (None, UpdatePolicy::Latest) => ", always the latest version".to_owned(),
        (None, UpdatePolicy::Pinned) => String::new(),
    };
    let only = match object.spec.management_policy {
        ManagementPolicy::ObserveOnly => "; only observed (managementPolicy: ObserveOnly)",
        ManagementPolicy::Full => "",
    };
    let project = &object.spec.project_ref;
    format!("{name}{version}, through {}/{}{only}", ResourceType::of_project(project.kind).alias(), project.name)
}

fn in_progress(what: impl std::fmt::Debug, state: OperationState, attempt: u32, since: &str) -> String {
    let state = match state {
        OperationState::Planned => "its call may have been sent",
        OperationState::Accepted => "the service has accepted it",
    };
    format!("{what:?} for {since}, attempt {attempt}: {state}")
}

fn staged(object: &ConnectorStaged, now: Timestamp, lines: &mut Lines) {
    let (spec, status) = (&object.spec, object.status.clone().unwrap_or_default());
    lines.add("Published", status.published_tag.as_deref().map_or("nothing".to_owned(), |tag| format!("tag {tag}")));
    let preview = if spec.requests_preview() { ", previewable" } else { "" };
    let publish = match spec.publish_policy {
        PublishPolicy::Never => ", not published",
        PublishPolicy::Private => ", published for private projects",
        PublishPolicy::Certified => ", published after certification",
    };
    let repository = &spec.repository;
    lines.add("Wanted", format!("tag {} of {}{preview}{publish}", repository.tag, repository.url));
    if let Some(after) = &spec.publish_after {
        let checks = after.check_refs.iter().map(|check| format!("check/{}", check.name));
        let all: Vec<_> = std::iter::once(format!("deployment/{}", after.deployment_ref.name)).chain(checks).collect();
        lines.add("Publish after", all.join(", "));
    }
    if let Some(remote) = &status.remote
        && let Some(state) = &remote.state
    {
        let id = status.id.as_deref().map(|id| format!(" (id {id})")).unwrap_or_default();
        let version = remote.version.map(|version| format!(" version {version}")).unwrap_or_default();
        let place = format!(" in project {}", remote.project.project_key);
        let preview = status.preview.map(|it| format!(", preview permission {it:?}")).unwrap_or_default();
        lines.add("Remote", format!("{}{id}{version}{}: {state}{preview}", spec.key, place));
    }
    if let Some(since) = status.running_since() {
        let call = status.remembered().ok().and_then(|state| state.call);
        let call = call.map(|call| format!("{:?} for {}", call.kind, age(since, now)));
        lines.add("Operation", call.unwrap_or_default());
    }
}

fn project(spec: &ConnectProjectSpec, status: Option<&ConnectProjectStatus>, now: Timestamp, lines: &mut Lines) {
    let status = status.cloned().unwrap_or_default();
    let remote = status.remote.as_ref();
    lines.add("Remote", remote.map_or(String::new(), |it| format!("{} at {}", it.project_key, it.api_url)));
    let secret = &spec.credentials_secret_ref.name;
    lines.add("Wanted", format!("{} in {}, with the Secret {secret}", spec.project_key, spec.region));
    lines.add(
        "Last read",
        status.last_response_at.as_ref().map_or(String::new(), |at| format!("{} ago", age(at.0, now))),
    );
    lines.add("Deployments", status.deployments.map_or(String::new(), |count| count.to_string()));
    lines.add("Scopes", status.scopes.join(" "));
}

/// Returns which namespaces may use a project.
fn allowed(namespaces: Option<&AllowedNamespaces>) -> String {
    let none = AllowedNamespaces::default();
    let AllowedNamespaces { from, names, selector } = namespaces.unwrap_or(&none);
    match from {
        NamespacesFrom::None => "no namespace".to_owned(),
        NamespacesFrom::All => "every namespace".to_owned(),
        NamespacesFrom::Selector => {
            let selector = selector.clone().and_then(|selector| Selector::try_from(selector).ok()).unwrap_or_default();
            format!("those with the labels {selector}")
        }
        NamespacesFrom::Names => names.join(", "),
    }
}

fn check(object: &ActionCheck, now: Timestamp, lines: &mut Lines) {
    let (spec, status) = (&object.spec, object.status.clone().unwrap_or_default());
    let after = spec.deployment_ref.as_ref().map(|it| format!(", after deployment/{}", it.name));
    let method = serde_json::to_value(spec.method).ok().and_then(|it| it.as_str().map(ToOwned::to_owned));
    let (method, after) = (method.unwrap_or_default(), after.unwrap_or_default());
    lines.add("Wanted", format!("{method} {}/{}{after}", spec.action.namespace, spec.action.name));
    if let Some(at) = &status.checked_at {
        let call = status.last_call().ok().flatten();
        let http = call.as_ref().and_then(|call| call.http_status).map(|http| format!(", HTTP status {http}"));
        let outcome = call.map(|call| format!(": {:?}", call.outcome)).unwrap_or_default();
        lines.add("Recorded", format!("{} ago{}{outcome}", age(at.0, now), http.unwrap_or_default()));
    }
}
