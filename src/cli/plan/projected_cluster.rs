//! The cluster after applying: the current objects, replaced by those that are applied. Only reads; `dry_run` checks
//! the manifests.

mod contents;
mod projects;
mod users;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, ApiResource, ListParams};
use kube::{Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::contents::content;
pub(super) use self::projects::Project;
use self::projects::Shared;
use super::dry_run::{self, Checked, WouldBe};
use super::local;
use super::manifests::Document;
use crate::cli::resources::{ResourceType, similar};
use crate::controllers::connector_staged::observe;
use crate::controllers::connector_staged::proof::Objects;
use crate::controllers::key_ownership::{ClaimStatus, KeyOwnership};
use crate::controllers::kinds::managed_kind::ManagedKind;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::objects::secret;
use crate::controllers::references::{Named, Reference};
use crate::crd::shared::RemoteIdentity;
use crate::crd::{
    ActionCheck, AdoptionPolicy, ClusterConnectProject, ConnectProject, ConnectorDeployment, ConnectorStaged,
    PublishAfter, StagedConnector,
};
use crate::names;

/// Label with its name that every Namespace has (Kubernetes, well-known labels).
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// A deployment to plan.
pub(super) struct Planned {
    /// The object before applying.
    pub(super) before: Option<ConnectorDeployment>,
    /// The object after applying.
    pub(super) after: ConnectorDeployment,
    /// Whether it is among the manifests; otherwise it only references an object of the manifests.
    pub(super) written: bool,
    /// Why the API server did not check it, if so.
    pub(super) unchecked: Option<String>,
}

/// A staged connector to plan.
pub(super) struct PlannedStaged {
    /// The object after applying.
    pub(super) after: ConnectorStaged,
    /// Whether it is among the manifests; otherwise it only references an object of the manifests.
    pub(super) written: bool,
}

/// A manifest that cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct Invalid {
    /// Its kind.
    pub(super) kind: String,
    /// Its namespace.
    pub(super) namespace: String,
    /// Its name.
    pub(super) name: String,
    /// Why it cannot be applied.
    pub(super) message: String,
}

/// The cluster after applying.
pub(super) struct ProjectedCluster {
    client: Client,
    /// Which Secrets may be used.
    secrets: secret::Policy,
    /// Whether the manifests are all there is.
    pub(super) local: bool,
    /// Deployments to plan, in order.
    pub(super) planned: BTreeMap<ObjectRef, Planned>,
    /// Projects among the manifests.
    projects: BTreeMap<ObjectRef, Project>,
    shared: Shared,
    /// Labels of Namespaces among the manifests.
    namespaces: BTreeMap<String, BTreeMap<String, String>>,
    /// Namespace of the operator, if the user names it.
    operator_namespace: Option<String>,
    /// Staged connectors to plan, in order.
    pub(super) staged: BTreeMap<ObjectRef, PlannedStaged>,
    /// Checks among the manifests.
    checks: BTreeMap<ObjectRef, ActionCheck>,
    /// Secrets and ConfigMaps among the manifests.
    objects: BTreeMap<(String, Reference), Value>,
    /// Manifests that cannot be applied.
    pub(super) invalid: Vec<Invalid>,
    /// Information about the whole plan.
    pub(super) notes: Vec<String>,
    /// Objects other than deployments that the API server did not check, by reason.
    unchecked: BTreeMap<String, Vec<String>>,
    keys: KeyOwnership,
    /// The remotes of the projects that have answered, or that are among the manifests.
    admitted: BTreeMap<ObjectRef, RemoteIdentity>,
}

/// How the manifests are applied, and by which operator they are reconciled.
pub(super) struct Settings<'a> {
    /// Which Secrets may be used.
    pub(super) secrets: secret::Policy,
    /// Whether the manifests are all there is.
    pub(super) local: bool,
    /// Namespace of manifests without one.
    pub(super) namespace: &'a str,
    /// Field manager that applies.
    pub(super) manager: Option<&'a str>,
    /// Namespace of the operator, if the user names it.
    pub(super) operator_namespace: Option<&'a str>,
    /// Whether the operator works with `ClusterConnectProject`s, as far as it is known.
    pub(super) cluster_projects: bool,
}

/// Projects the cluster from the manifests and the current objects.
///
/// # Errors
/// If the API server does not respond.
pub(super) async fn projected_cluster(
    client: Client,
    settings: &Settings<'_>,
    documents: &[Document],
) -> Result<ProjectedCluster, kube::Error> {
    let namespaces = namespaces(documents);
    let (enqueue, _) = tokio::sync::mpsc::unbounded_channel();
    let mut projected_cluster = ProjectedCluster {
        client,
        secrets: settings.secrets.clone(),
        local: settings.local,
        planned: BTreeMap::new(),
        projects: BTreeMap::new(),
        shared: Shared::new(settings.cluster_projects),
        namespaces,
        operator_namespace: settings.operator_namespace.map(ToOwned::to_owned),
        staged: BTreeMap::new(),
        checks: BTreeMap::new(),
        objects: BTreeMap::new(),
        invalid: Vec::new(),
        notes: Vec::new(),
        unchecked: BTreeMap::new(),
        keys: KeyOwnership::new(0, enqueue),
        admitted: BTreeMap::new(),
    };
    for document in documents {
        let Some(kind) = kind(document) else {
            if let Some(message) = unknown_kind(document) {
                let place = document.namespace.as_deref().unwrap_or(settings.namespace);
                projected_cluster.refuse(place, document, &message);
            }
            continue;
        };
        let scoped = document.kind == "ClusterConnectProject";
        let place = if scoped { "" } else { document.namespace.as_deref().unwrap_or(settings.namespace) };
        let makes = projected_cluster.namespaces.contains_key(place);
        let checked = if settings.local {
            local::check(document, place)
        } else {
            dry_run::check(&projected_cluster.client, &kind, place, document, settings.manager, makes).await?
        };
        match checked {
            Checked::Refused(message) => projected_cluster.refuse(place, document, &message),
            Checked::Taken(would_be) => {
                if let Err(message) = projected_cluster.take(place, document, *would_be) {
                    projected_cluster.refuse(place, document, &message);
                }
            }
        }
    }
    let unchecked = std::mem::take(&mut projected_cluster.unchecked).into_iter();
    projected_cluster.notes.extend(unchecked.map(|(why, objects)| format!("{}: {why}", objects.join(", "))));
    projected_cluster.notes.extend(settings.local.then(|| local::NOTE.to_owned()));
    projected_cluster.add_users().await?;
    projected_cluster.read_shared().await?;
    projected_cluster.note_keys().await?;
    Ok(projected_cluster)
}

/// Returns the labels of the Namespaces among the manifests, with the one that the API server adds.
fn namespaces(documents: &[Document]) -> BTreeMap<String, BTreeMap<String, String>> {
    let all = documents.iter().filter(|document| document.group.is_empty() && document.kind == "Namespace");
    all.map(|document| {
        let labels = document.body["metadata"]["labels"].as_object().into_iter().flatten();
        let labels = labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        let own = (NAMESPACE_NAME.to_owned(), document.name.clone());
        (document.name.clone(), labels.chain([own]).collect())
    })
    .collect()
}

/// Returns the kind if objects of it are projected; `None` if the plan ignores them.
fn kind(document: &Document) -> Option<ApiResource> {
    match (document.group.as_str(), document.kind.as_str()) {
        ("", "Secret") => Some(ApiResource::erase::<Secret>(&())),
        ("", "ConfigMap") => Some(ApiResource::erase::<ConfigMap>(&())),
        (names::GROUP, "ConnectProject") => Some(ApiResource::erase::<ConnectProject>(&())),
        (names::GROUP, "ClusterConnectProject") => Some(ApiResource::erase::<ClusterConnectProject>(&())),
        (names::GROUP, "ConnectorDeployment") => Some(ApiResource::erase::<ConnectorDeployment>(&())),
        (names::GROUP, "ConnectorStaged") => Some(ApiResource::erase::<ConnectorStaged>(&())),
        (names::GROUP, "ActionCheck") => Some(ApiResource::erase::<ActionCheck>(&())),
        _ => None,
    }
}

/// Returns what is wrong with an object of our API group whose kind does not exist, as the API server would report it.
fn unknown_kind(document: &Document) -> Option<String> {
    let Document { group, kind, .. } = document;
    if group != names::GROUP {
        return None;
    }
    let hint = similar(kind, ResourceType::ALL.map(ResourceType::kind))
        .map(|kind| format!("; did you mean {kind}?"))
        .unwrap_or_default();
    Some(format!("{group} has no kind {kind}{hint}"))
}

impl ProjectedCluster {
    fn refuse(&mut self, namespace: &str, document: &Document, message: &str) {
        self.invalid.push(Invalid {
            kind: document.kind.clone(),
            namespace: namespace.to_owned(),
            name: document.name.clone(),
            message: format!("{message} ({})", document.origin),
        });
    }

    fn take(&mut self, namespace: &str, document: &Document, would_be: WouldBe) -> Result<(), String> {
        let WouldBe { before, after, unchecked } = would_be;
        let name = &document.name;
        if let Some(why) = unchecked.as_ref().filter(|_| document.kind != "ConnectorDeployment") {
            self.unchecked.entry(why.clone()).or_default().push(shown(&document.kind, namespace, name));
        }
        match document.kind.as_str() {
            "ConnectorDeployment" => {
                let before = before.map(typed).transpose()?;
                let mut after: ConnectorDeployment = typed(after)?;
                if self.local {
                    // What exists is that of the resource, because the status with its id is in the cluster.
                    after.spec.adoption_policy = AdoptionPolicy::Adopt;
                }
                let planned = Planned { before, after, written: true, unchecked };
                self.planned.insert(ObjectRef::deployment(namespace, name), planned);
            }
            "ConnectProject" => {
                self.projects.insert(ObjectRef::project(namespace, name), Project::Own(Box::new(typed(after)?)));
            }
            "ClusterConnectProject" => {
                self.projects.insert(ObjectRef::cluster_project(name), Project::Shared(Box::new(typed(after)?)));
            }
            "ConnectorStaged" => {
                let mut after: ConnectorStaged = typed(after)?;
                if self.local {
                    after.spec.adoption_policy = AdoptionPolicy::Adopt;
                }
                let planned = PlannedStaged { after, written: true };
                self.staged.insert(ObjectRef::staged(namespace, name), planned);
            }
            "ActionCheck" => {
                let differs = before.is_none_or(|before| before["spec"] != after["spec"]);
                if differs {
                    let note = format!(
                        "ActionCheck {namespace}/{name}: the operator would call its action, which plan does not do"
                    );
                    self.notes.push(note);
                }
                self.checks.insert(ObjectRef::check(namespace, name), typed(after)?);
            }
            kind => {
                let named = if kind == "Secret" { Named::Secret } else { Named::ConfigMap };
                content(named, after.clone())?;
                self.objects.insert((namespace.to_owned(), (named, name.clone())), after);
            }
        }
        Ok(())
    }

    /// Rule 4: records which resource claims which key, in the whole cluster if it may be listed.
    async fn note_keys(&mut self) -> Result<(), kube::Error> {
        let mut projects = self.list::<ConnectProject>(None).await?;
        let mut deployments = self.list::<ConnectorDeployment>(None).await?;
        if projects.is_none() || deployments.is_none() {
            self.notes.push(
                "you may not list ConnectProjects and ConnectorDeployments of all namespaces, so keys were not compared \
                 with those of other namespaces"
                    .to_owned(),
            );
            let namespaces: BTreeSet<_> = self.planned.keys().map(|object_ref| object_ref.namespace.clone()).collect();
            for namespace in namespaces {
                projects.get_or_insert_default().extend(self.list(Some(&namespace)).await?.unwrap_or_default());
                deployments.get_or_insert_default().extend(self.list(Some(&namespace)).await?.unwrap_or_default());
            }
        }
        self.note_projects(projects.unwrap_or_default());
        let object_ref = |object: &ConnectorDeployment| {
            ObjectRef::deployment(&object.namespace().unwrap_or_default(), &object.name_any())
        };
        let there = deployments.iter().flatten().filter(|object| !self.planned.contains_key(&object_ref(object)));
        for object in there.chain(self.planned.values().map(|planned| &planned.after)) {
            self.keys.saw(object);
        }
        let there = self.list::<ConnectorStaged>(None).await?.unwrap_or_default();
        let object_ref =
            |object: &ConnectorStaged| ObjectRef::staged(&object.namespace().unwrap_or_default(), &object.name_any());
        let there = there.iter().filter(|object| !self.staged.contains_key(&object_ref(object)));
        for object in there.chain(self.staged.values().map(|planned| &planned.after)) {
            self.keys.saw(object);
        }
        Ok(())
    }

    /// Returns the objects of a kind; `None` if listing is forbidden.
    async fn list<K>(&self, namespace: Option<&str>) -> Result<Option<Vec<K>>, kube::Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
    {
        let api = match namespace {
            Some(namespace) => Api::<K>::namespaced(self.client.clone(), namespace),
            None => Api::<K>::all(self.client.clone()),
        };
        match api.list(&ListParams::default()).await {
            Ok(list) => Ok(Some(list.items)),
            Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
            // The CRD does not exist yet.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Some(Vec::new())),
            Err(error) => Err(error),
        }
    }

    /// Rule 4: returns the resource that owns the key instead of this one, if any.
    pub(super) fn winner<K: ManagedKind>(&self, object: &K) -> Option<ObjectRef> {
        match self.keys.claim(object, None, &|project, namespace| self.admits(project, namespace)) {
            ClaimStatus::HeldBy(winner) => Some(winner),
            ClaimStatus::Owner | ClaimStatus::Unknown | ClaimStatus::Unlisted => None,
        }
    }

    /// Returns what the operator knows of the staged connector that a resource names by `stagedRef`, from its status.
    ///
    /// # Errors
    /// Errors of the API server.
    pub(super) async fn staged(
        &self,
        namespace: &str,
        object: &ConnectorDeployment,
    ) -> Result<Option<StagedConnector>, kube::Error> {
        let Some(reference) = &object.spec.connector.staged_ref else { return Ok(None) };
        let name = &reference.name;
        let written = self.staged.get(&ObjectRef::staged(namespace, name)).map(|planned| planned.after.clone());
        let found = match written {
            Some(written) => Some(written),
            None => Api::namespaced(self.client.clone(), namespace).get_opt(name).await?,
        };
        // The plan for the staged connector itself covers what follows from its new spec.
        let is_planned = self.staged.contains_key(&ObjectRef::staged(namespace, name));
        Ok(found.map(|found: ConnectorStaged| {
            let connector = found.connector();
            let seen = found.status.as_ref().map(|status| status.observed_generation);
            let is_known = seen.is_some() && (is_planned || seen == found.metadata.generation);
            let unknown = || Err("the operator has not reconciled it yet".to_owned());
            StagedConnector { deployable: if is_known { connector.deployable } else { unknown() }, ..connector }
        }))
    }

    /// Returns the objects that must prove a staged connector before it is published, after applying.
    ///
    /// # Errors
    /// Errors of the API server.
    pub(super) async fn proofs(&self, namespace: &str, after: &PublishAfter) -> Result<Objects, kube::Error> {
        let mut objects = observe::proofs(&self.client, namespace, after).await?;
        let deployment = ObjectRef::deployment(namespace, &after.deployment_ref.name);
        if let Some(planned) = self.planned.get(&deployment) {
            objects.deployment = Some(planned.after.clone());
        }
        for (named, check) in after.check_refs.iter().zip(&mut objects.checks) {
            if let Some(written) = self.checks.get(&ObjectRef::check(namespace, &named.name)) {
                *check = Some(written.clone());
            }
        }
        Ok(objects)
    }
}

/// Returns an object in a message.
pub(super) fn shown(kind: &str, namespace: &str, name: &str) -> String {
    if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
}

fn typed<K: DeserializeOwned>(value: Value) -> Result<K, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}
