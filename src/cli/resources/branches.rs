//! The tree of resources: projects, below them staged connectors, deployments and checks. Pure.

use crate::crd::ProjectKind;

use super::kind::{Resource, ResourceType};
use super::page::View;
use super::text::{age_of, columns, plain};

/// A resource, or the name of one that others refer to and that does not exist, and what is below it.
#[derive(Debug)]
struct Node<'a> {
    resource_type: ResourceType,
    /// Whether it is a `ClusterConnectProject`, which is not in the namespace of the resources below it.
    shared: bool,
    namespace: &'a str,
    name: &'a str,
    resource: Option<&'a Resource>,
    below: Vec<Node<'a>>,
}

impl<'a> Node<'a> {
    fn of(resource: &'a Resource, below: Vec<Node<'a>>) -> Self {
        let (namespace, name) = (resource.namespace(), resource.name());
        let resource_type = resource.resource_type();
        Self { resource_type, shared: false, namespace, name, resource: Some(resource), below }
    }

    /// Removes what is neither wanted, nor above or below something that is. Returns whether anything is left.
    fn retain(&mut self, wanted: &[(ResourceType, String)]) -> bool {
        let is_it = |(resource_type, name): &(ResourceType, String)| {
            !self.shared && *resource_type == self.resource_type && name == self.name
        };
        if wanted.iter().any(is_it) {
            return true;
        }
        self.below.retain_mut(|node| node.retain(wanted));
        !self.below.is_empty()
    }
}

/// The trees of the resources of all namespaces.
#[derive(Debug)]
pub(super) struct Forest<'a>(Vec<Node<'a>>);

impl<'a> Forest<'a> {
    /// Arranges the resources. A resource whose project does not exist stands below the name of the project.
    pub(super) fn of(resources: &'a [Resource]) -> Self {
        let mut namespaces: Vec<&str> = resources.iter().map(Resource::namespace).collect();
        namespaces.sort_unstable();
        namespaces.dedup();
        let trees = namespaces.into_iter().flat_map(|namespace| {
            let mut here: Vec<&Resource> = resources.iter().filter(|it| it.namespace() == namespace).collect();
            here.sort_by_key(|it| it.name());
            trees(namespace, &here)
        });
        Self(trees.collect())
    }

    /// Keeps what is wanted, with what is above and below it.
    pub(super) fn retain(&mut self, wanted: &[(ResourceType, String)]) {
        self.0.retain_mut(|node| node.retain(wanted));
    }

    /// Returns the resources from top to bottom.
    pub(super) fn resources(&self) -> Vec<&'a Resource> {
        fn collect<'a>(nodes: &[Node<'a>], all: &mut Vec<&'a Resource>) {
            for node in nodes {
                all.extend(node.resource);
                collect(&node.below, all);
            }
        }
        let mut all = Vec::new();
        collect(&self.0, &mut all);
        all
    }

    /// Returns the tree as a table. `everywhere`: whether it shows the namespaces.
    pub(super) fn text(&self, view: &View<'_>, everywhere: bool) -> String {
        let mut header = vec!["NAME", "READY", "REASON", "STATUS", "AGE"];
        if everywhere {
            header.insert(0, "NAMESPACE");
        }
        if view.wide {
            header.push("MESSAGE");
        }
        let mut rows = vec![header.into_iter().map(ToOwned::to_owned).collect()];
        for node in &self.0 {
            add(node, "", "", (view, everywhere), &mut rows);
        }
        columns(&rows)
    }
}

fn trees<'a>(namespace: &'a str, here: &[&'a Resource]) -> Vec<Node<'a>> {
    let of_type = |wanted: ResourceType| here.iter().copied().filter(move |it| it.resource_type() == wanted);
    let mut projects: Vec<(ProjectKind, &str)> =
        of_type(ResourceType::Project).map(|it| (ProjectKind::ConnectProject, it.name())).collect();
    projects.extend(here.iter().filter_map(|it| project_of(it)));
    projects.sort_unstable();
    projects.dedup();
    let mut trees: Vec<Node<'a>> = projects
        .into_iter()
        .map(|project @ (kind, name)| {
            let shared = kind == ProjectKind::ClusterConnectProject;
            let resource = of_type(ResourceType::Project).find(|it| !shared && it.name() == name);
            let below = below_project(here, project);
            Node { resource_type: ResourceType::Project, shared, namespace, name, resource, below }
        })
        .collect();
    // A project that only checks below a deployment of another project name has nothing to show.
    trees.retain(|node| node.resource.is_some() || !node.below.is_empty());
    let alone = of_type(ResourceType::Check).filter(|it| it.project().is_none() && deployment_of(here, it).is_none());
    trees.extend(alone.map(|check| Node::of(check, Vec::new())));
    trees
}

fn project_of(resource: &Resource) -> Option<(ProjectKind, &str)> {
    resource.project().map(|project| (project.kind, project.name.as_str()))
}

fn below_project<'a>(here: &[&'a Resource], project: (ProjectKind, &str)) -> Vec<Node<'a>> {
    let of_project = || here.iter().copied().filter(|it| project_of(it) == Some(project));
    let staged = of_project().filter(|it| it.resource_type() == ResourceType::Staged);
    let deployments = || of_project().filter(|it| it.resource_type() == ResourceType::Deployment);
    let staged_names: Vec<&str> = staged.clone().map(Resource::name).collect();
    let deployed_from = |it: &Resource| staged_of(it).filter(|name| staged_names.contains(name)).map(ToOwned::to_owned);
    let node = |deployment: &'a Resource| Node::of(deployment, checks_of(here, deployment.name()));
    let mut below: Vec<Node<'a>> = staged
        .map(|it| {
            let own = deployments().filter(|deployment| deployed_from(deployment).as_deref() == Some(it.name()));
            Node::of(it, own.map(node).collect())
        })
        .collect();
    below.extend(deployments().filter(|it| deployed_from(it).is_none()).map(node));
    let checks = of_project().filter(|it| it.resource_type() == ResourceType::Check);
    below.extend(checks.filter(|it| deployment_of(here, it).is_none()).map(|check| Node::of(check, Vec::new())));
    below
}

fn checks_of<'a>(here: &[&'a Resource], deployment: &str) -> Vec<Node<'a>> {
    let own = here.iter().copied().filter(|it| deployment_of(here, it) == Some(deployment));
    own.map(|check| Node::of(check, Vec::new())).collect()
}

/// Returns the name of the `ConnectorStaged` that a deployment deploys.
fn staged_of(resource: &Resource) -> Option<&str> {
    let Resource::Deployment(object) = resource else { return None };
    object.spec.connector.staged_ref.as_ref().map(|staged| staged.name.as_str())
}

/// Returns the name of the existing `ConnectorDeployment` that a check follows.
fn deployment_of<'a>(here: &[&'a Resource], resource: &'a Resource) -> Option<&'a str> {
    let Resource::Check(object) = resource else { return None };
    let name = object.spec.after.as_ref()?.deployment_ref.name.as_str();
    here.iter().any(|it| it.resource_type() == ResourceType::Deployment && it.name() == name).then_some(name)
}

/// Adds a node and what is below it. `first`: what stands before its name; `rest`: before what is below it.
fn add(node: &Node<'_>, first: &str, rest: &str, (view, everywhere): (&View<'_>, bool), rows: &mut Vec<Vec<String>>) {
    let kind = if node.shared { "ClusterConnectProject" } else { node.resource_type.kind() };
    let mut row = vec![format!("{first}{kind}/{}", node.name)];
    match node.resource {
        Some(resource) => row.extend(cells(resource, view)),
        None if node.shared => row.extend(["-", "not in a namespace"].map(ToOwned::to_owned)),
        None => row.extend(["-", "does not exist"].map(ToOwned::to_owned)),
    }
    if everywhere {
        row.insert(0, node.namespace.to_owned());
    }
    rows.push(row);
    for (at, below) in node.below.iter().enumerate() {
        let last = at + 1 == node.below.len();
        let (branch, bar) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        add(below, &format!("{rest}{branch}"), &format!("{rest}{bar}"), (view, everywhere), rows);
    }
}

fn cells(resource: &Resource, view: &View<'_>) -> Vec<String> {
    let ready = resource.ready();
    let status = match resource {
        Resource::Project(_) => None,
        Resource::Staged(object) => object.status.as_ref().and_then(|status| status.connector_status.clone()),
        Resource::Deployment(object) => object.status.as_ref().and_then(|status| status.deployment_status.clone()),
        Resource::Check(object) => {
            object.status.as_ref().and_then(|status| status.http_status).map(|status| status.to_string())
        }
    };
    let suspended = if resource.suspend() { " (suspended)" } else { "" };
    let mut cells = vec![
        ready.map_or("Unknown".to_owned(), |ready| plain(&ready.status)),
        ready.map_or("-".to_owned(), |ready| format!("{}{suspended}", plain(&ready.reason))),
        status.map_or("-".to_owned(), |status| plain(&status)),
        age_of(resource.meta().creation_timestamp.as_ref(), view.now),
    ];
    if view.wide {
        cells.push(ready.map(|ready| plain(&ready.message)).unwrap_or_default());
    }
    cells
}
