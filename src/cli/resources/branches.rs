//! The tree of resources: projects, below them staged connectors, deployments and checks. Pure.

use std::collections::BTreeSet;

use super::kind::{Resource, ResourceType};
use super::page::View;
use crate::cli::text::{age_of, columns, plain};

/// A resource, or the name of one that others refer to and that does not exist, and what is below it.
#[derive(Debug)]
struct Node<'a> {
    resource_type: ResourceType,
    /// Empty if the type is cluster-scoped.
    namespace: &'a str,
    name: &'a str,
    resource: Option<&'a Resource>,
    below: Vec<Node<'a>>,
}

impl<'a> Node<'a> {
    fn of(resource: &'a Resource, below: Vec<Node<'a>>) -> Self {
        let (namespace, name) = (resource.namespace(), resource.name());
        let resource_type = resource.resource_type();
        Self { resource_type, namespace, name, resource: Some(resource), below }
    }

    /// Removes what is neither wanted, nor above or below something that is. Returns whether anything is left.
    fn retain(&mut self, wanted: &[(ResourceType, String)]) -> bool {
        let is_it =
            |(resource_type, name): &(ResourceType, String)| *resource_type == self.resource_type && name == self.name;
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
    /// Arranges the resources: namespace by namespace, and below each shared project those of all namespaces. A resource
    /// whose project is not among them stands below the name of the project.
    pub(super) fn of(resources: &'a [Resource]) -> Self {
        let namespaces: BTreeSet<&str> =
            resources.iter().filter(|it| !is_shared(it)).map(Resource::namespace).collect();
        let namespaces: Vec<(&str, Vec<&Resource>)> = namespaces
            .into_iter()
            .map(|namespace| {
                let in_it = |it: &&Resource| !is_shared(it) && it.namespace() == namespace;
                let mut here: Vec<&Resource> = resources.iter().filter(in_it).collect();
                here.sort_by_key(|it| it.name());
                (namespace, here)
            })
            .collect();
        let mut all: Vec<Node<'a>> = namespaces.iter().flat_map(|(namespace, here)| trees(namespace, here)).collect();
        let shared: Vec<&Resource> = resources.iter().filter(|it| is_shared(it)).collect();
        all.extend(shared_trees(&shared, &namespaces));
        Self(all)
    }

    /// Keeps what is wanted, with what is above and below it.
    pub(super) fn retain(&mut self, wanted: &[(ResourceType, String)]) {
        self.0.retain_mut(|node| node.retain(wanted));
    }

    /// Removes the shared projects that nothing here uses.
    pub(super) fn retain_used(&mut self) {
        self.0.retain(|node| !node.resource_type.is_cluster_scoped() || !node.below.is_empty());
    }

    /// Returns whether there is nothing to show.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
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

fn is_shared(resource: &Resource) -> bool {
    resource.resource_type().is_cluster_scoped()
}

/// A project, as resources name it.
type Project<'a> = (ResourceType, &'a str);

fn project_of(resource: &Resource) -> Option<Project<'_>> {
    resource.project().map(|project| (ResourceType::of_project(project.kind), project.name.as_str()))
}

/// Returns the trees of the shared projects, which reach into every namespace.
fn shared_trees<'a>(shared: &[&'a Resource], namespaces: &[(&'a str, Vec<&'a Resource>)]) -> Vec<Node<'a>> {
    let used = namespaces.iter().flat_map(|(_, here)| here.iter().filter_map(|it| project_of(it)));
    let used = used.filter(|(resource_type, _)| resource_type.is_cluster_scoped()).map(|(_, name)| name);
    let names: BTreeSet<&str> = shared.iter().map(|it| it.name()).chain(used).collect();
    let mut trees: Vec<Node<'a>> = names
        .into_iter()
        .map(|name| {
            let resource_type = ResourceType::ClusterProject;
            let resource = shared.iter().copied().find(|it| it.name() == name);
            let below = namespaces.iter().flat_map(|(_, here)| below_project(here, (resource_type, name))).collect();
            Node { resource_type, namespace: "", name, resource, below }
        })
        .collect();
    trees.retain(|node| node.resource.is_some() || !node.below.is_empty());
    trees
}

fn trees<'a>(namespace: &'a str, here: &[&'a Resource]) -> Vec<Node<'a>> {
    let of_type = |wanted: ResourceType| here.iter().copied().filter(move |it| it.resource_type() == wanted);
    let used = here.iter().filter_map(|it| project_of(it)).filter(|(it, _)| *it == ResourceType::Project);
    let names: BTreeSet<&str> =
        of_type(ResourceType::Project).map(Resource::name).chain(used.map(|(_, name)| name)).collect();
    let mut trees: Vec<Node<'a>> = names
        .into_iter()
        .map(|name| {
            let resource = of_type(ResourceType::Project).find(|it| it.name() == name);
            let below = below_project(here, (ResourceType::Project, name));
            Node { resource_type: ResourceType::Project, namespace, name, resource, below }
        })
        .collect();
    // A project that only checks below a deployment of another project name has nothing to show.
    trees.retain(|node| node.resource.is_some() || !node.below.is_empty());
    let alone = of_type(ResourceType::Check).filter(|it| it.project().is_none() && deployment_of(here, it).is_none());
    trees.extend(alone.map(|check| Node::of(check, Vec::new())));
    trees
}

fn below_project<'a>(here: &[&'a Resource], project: Project<'_>) -> Vec<Node<'a>> {
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
    let name = object.spec.deployment_ref.as_ref()?.name.as_str();
    here.iter().any(|it| it.resource_type() == ResourceType::Deployment && it.name() == name).then_some(name)
}

/// Adds a node and what is below it. `first`: what stands before its name; `rest`: before what is below it.
fn add(node: &Node<'_>, first: &str, rest: &str, (view, everywhere): (&View<'_>, bool), rows: &mut Vec<Vec<String>>) {
    let mut row = vec![format!("{first}{}/{}", node.resource_type.kind(), node.name)];
    match node.resource {
        Some(resource) => row.extend(cells(resource, view)),
        // Not everybody who may list the resources of a namespace may list those of the cluster.
        None if node.resource_type.is_cluster_scoped() => {
            row.extend(["-", "not found, or not readable"].map(ToOwned::to_owned));
        }
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
        Resource::Project(_) | Resource::ClusterProject(_) => None,
        Resource::Staged(object) => object.status.as_ref().and_then(|status| status.remote.as_ref()?.state.clone()),
        Resource::Deployment(object) => {
            object.status.as_ref().and_then(|status| status.remote_state().map(ToOwned::to_owned))
        }
        Resource::Check(object) => {
            let last = object.status.as_ref().and_then(|status| status.last_call().ok().flatten());
            last.and_then(|call| call.http_status).map(|http| http.to_string())
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
