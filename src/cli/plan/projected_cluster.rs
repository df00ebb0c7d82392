//! The cluster after applying: the current objects, replaced by those that are applied. Only reads; `dry_run` checks
//! the manifests.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, ApiResource, ListParams};
use kube::{Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::dry_run::{self, Checked, WouldBe};
use super::manifests::Document;
use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::connector_deployment::desired::{self, Content, Contents};
use crate::controllers::connector_deployment::observe::{of_config_map, of_secret};
use crate::controllers::connector_staged::observe;
use crate::controllers::connector_staged::proof::Objects;
use crate::controllers::driver::RemoteKind;
use crate::controllers::keys::{ClaimStatus, KeyOwnership};
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::references::{Named, Reference};
use crate::controllers::secret;
use crate::controllers::staged_connectors::StagedConnector;
use crate::crd::{ActionCheck, ConnectProject, ConnectorDeployment, ConnectorStaged, PublishAfter};
use crate::names;

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
    /// Deployments to plan, in order.
    pub(super) planned: BTreeMap<ObjectRef, Planned>,
    projects: BTreeMap<ObjectRef, ConnectProject>,
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
}

/// Projects the cluster from the manifests and the current objects.
///
/// # Errors
/// If the API server does not respond.
pub(super) async fn projected_cluster(
    client: Client,
    secrets: secret::Policy,
    namespace: &str,
    manager: Option<&str>,
    documents: &[Document],
) -> Result<ProjectedCluster, kube::Error> {
    let made: BTreeSet<&str> = documents
        .iter()
        .filter(|document| document.group.is_empty() && document.kind == "Namespace")
        .map(|document| document.name.as_str())
        .collect();
    let (enqueue, _) = tokio::sync::mpsc::unbounded_channel();
    let mut projected_cluster = ProjectedCluster {
        client,
        secrets,
        planned: BTreeMap::new(),
        projects: BTreeMap::new(),
        staged: BTreeMap::new(),
        checks: BTreeMap::new(),
        objects: BTreeMap::new(),
        invalid: Vec::new(),
        notes: Vec::new(),
        unchecked: BTreeMap::new(),
        keys: KeyOwnership::new(0, enqueue, None),
    };
    let mut others = BTreeSet::new();
    for document in documents {
        let Some(kind) = kind(document) else {
            others.extend(sentence(document));
            continue;
        };
        let place = document.namespace.as_deref().unwrap_or(namespace);
        let makes = made.contains(place);
        match dry_run::check(&projected_cluster.client, &kind, place, document, manager, makes).await? {
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
    projected_cluster.notes.extend(others);
    projected_cluster.add_users().await?;
    projected_cluster.note_keys().await?;
    Ok(projected_cluster)
}

/// Returns the kind if objects of it are projected; `None` if the plan ignores them.
fn kind(document: &Document) -> Option<ApiResource> {
    match (document.group.as_str(), document.kind.as_str()) {
        ("", "Secret") => Some(ApiResource::erase::<Secret>(&())),
        ("", "ConfigMap") => Some(ApiResource::erase::<ConfigMap>(&())),
        (names::GROUP, "ConnectProject") => Some(ApiResource::erase::<ConnectProject>(&())),
        (names::GROUP, "ConnectorDeployment") => Some(ApiResource::erase::<ConnectorDeployment>(&())),
        (names::GROUP, "ConnectorStaged") => Some(ApiResource::erase::<ConnectorStaged>(&())),
        (names::GROUP, "ActionCheck") => Some(ApiResource::erase::<ActionCheck>(&())),
        _ => None,
    }
}

/// Returns a note for an object of our API group that plan does not cover.
fn sentence(document: &Document) -> Option<String> {
    let Document { group, kind, name, .. } = document;
    (group == names::GROUP).then(|| format!("{kind} {name}: plan does not cover {kind} yet"))
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
            self.unchecked.entry(why.clone()).or_default().push(format!("{} {namespace}/{name}", document.kind));
        }
        match document.kind.as_str() {
            "ConnectorDeployment" => {
                let before = before.map(typed).transpose()?;
                let planned = Planned { before, after: typed(after)?, written: true, unchecked };
                self.planned.insert(ObjectRef::deployment(namespace, name), planned);
            }
            "ConnectProject" => {
                self.projects.insert(ObjectRef::project(namespace, name), typed(after)?);
            }
            "ConnectorStaged" => {
                let planned = PlannedStaged { after: typed(after)?, written: true };
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

    /// Adds deployments and staged connectors of the cluster that are not among the manifests, but whose values,
    /// connector or project are.
    async fn add_users(&mut self) -> Result<(), kube::Error> {
        let mut touched: BTreeSet<String> = self.objects.keys().map(|(namespace, _)| namespace.clone()).collect();
        touched.extend(self.projects.keys().map(|project| project.namespace.clone()));
        touched.extend(self.staged.keys().map(|staged| staged.namespace.clone()));
        for namespace in touched {
            let Some(found) = self.list::<ConnectorDeployment>(Some(&namespace)).await? else {
                self.notes.push(format!(
                    "you may not list the ConnectorDeployments of {namespace}, so those without a manifest here are not planned"
                ));
                continue;
            };
            for object in found {
                let object_ref = ObjectRef::deployment(&namespace, &object.name_any());
                let names = |reference: Reference| self.objects.contains_key(&(namespace.clone(), reference));
                let project = ObjectRef::of_project(&namespace, &object.spec.project_ref);
                let staged = object.spec.connector.staged_ref.as_ref();
                let concerned = self.projects.contains_key(&project)
                    || staged
                        .is_some_and(|named| self.staged.contains_key(&ObjectRef::staged(&namespace, &named.name)))
                    || desired::references(&object.spec).into_iter().any(names);
                if concerned && !self.planned.contains_key(&object_ref) {
                    let before = Some(object.clone());
                    let planned = Planned { before, after: object, written: false, unchecked: None };
                    self.planned.insert(object_ref, planned);
                }
            }
        }
        let namespaces: BTreeSet<String> = self.projects.keys().map(|project| project.namespace.clone()).collect();
        for namespace in namespaces {
            for object in self.list::<ConnectorStaged>(Some(&namespace)).await?.unwrap_or_default() {
                let object_ref = ObjectRef::staged(&namespace, &object.name_any());
                let project = ObjectRef::of_project(&namespace, &object.spec.project_ref);
                if self.projects.contains_key(&project) && !self.staged.contains_key(&object_ref) {
                    self.staged.insert(object_ref, PlannedStaged { after: object, written: false });
                }
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
        for project in projects.iter().flatten().chain(self.projects.values()) {
            self.keys.saw_project(project);
            let object_ref = ObjectRef::project(&project.namespace().unwrap_or_default(), &project.name_any());
            let answered = project.status.as_ref().is_some_and(|status| status.last_look_at.is_some());
            let admits = answered || self.projects.contains_key(&object_ref);
            self.keys.admitted(&object_ref, &project.spec.identity(), admits);
        }
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
    pub(super) fn winner<K: RemoteKind>(&self, object: &K) -> Option<ObjectRef> {
        match self.keys.claim_status(object) {
            ClaimStatus::HeldBy(winner) => Some(winner),
            ClaimStatus::Owner | ClaimStatus::Unknown | ClaimStatus::Unlisted => None,
        }
    }

    /// Returns a project after applying.
    ///
    /// # Errors
    /// Errors of the API server.
    pub(super) async fn project(&self, object_ref: &ObjectRef) -> Result<Option<ConnectProject>, kube::Error> {
        match self.projects.get(object_ref) {
            Some(project) => Ok(Some(project.clone())),
            None => Api::namespaced(self.client.clone(), &object_ref.namespace).get_opt(&object_ref.name).await,
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
        let before = self.staged.contains_key(&ObjectRef::staged(namespace, name));
        let status = found
            .as_ref()
            .and_then(|found: &ConnectorStaged| Some((found.metadata.generation, found.status.as_ref()?)));
        let id = status.and_then(|(_, status)| status.id.clone());
        let deployable = match status {
            // The plan for the staged connector itself covers what follows from its new spec.
            Some((generation, status)) if before || Some(status.observed_generation) == generation => {
                let version = status.deployable.as_ref().map(|deployable| deployable.version);
                version.ok_or_else(|| "it is not deployable yet; see its status".to_owned())
            }
            _ => Err("the operator has not reconciled it yet".to_owned()),
        };
        Ok(found.is_some().then_some(StagedConnector { id, deployable }))
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

    /// Returns a Secret after applying.
    ///
    /// # Errors
    /// Errors of the API server.
    pub(super) async fn secret(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Result<Option<Secret>, ConditionUpdate>, kube::Error> {
        match self.objects.get(&(namespace.to_owned(), (Named::Secret, name.to_owned()))) {
            Some(value) => {
                let written: Option<Secret> = serde_json::from_value(value.clone()).ok();
                Ok(written.map(|secret| self.secrets.check(&secret).map(|()| secret)).transpose())
            }
            None => secret::named(&self.client, self.secrets, namespace, name).await,
        }
    }

    /// Returns the objects from which a spec takes values, before applying.
    ///
    /// # Errors
    /// Errors of the API server.
    pub(super) async fn contents_before(
        &self,
        namespace: &str,
        named: &BTreeSet<Reference>,
    ) -> Result<Contents, kube::Error> {
        let config_maps = Api::<ConfigMap>::namespaced(self.client.clone(), namespace);
        let mut contents = Contents::new();
        for reference in named {
            let found = match reference.0 {
                Named::Secret => {
                    let found = secret::named(&self.client, self.secrets, namespace, &reference.1).await?;
                    found.map(|found| found.map(of_secret))
                }
                Named::ConfigMap => Ok(config_maps.get_opt(&reference.1).await?.map(of_config_map)),
                Named::Project | Named::ClusterProject | Named::Deployment | Named::Staged | Named::Check => Ok(None),
            };
            contents.extend(found.transpose().map(|found| (reference.clone(), found)));
        }
        Ok(contents)
    }

    /// Returns the same objects after applying.
    ///
    /// # Errors
    /// Errors of the API server.
    pub(super) async fn contents_after(
        &self,
        namespace: &str,
        named: &BTreeSet<Reference>,
    ) -> Result<Contents, kube::Error> {
        let written = |reference: &Reference| {
            let value = self.objects.get(&(namespace.to_owned(), reference.clone()))?;
            self.content(reference.0, value.clone())
        };
        let (here, there): (BTreeSet<Reference>, BTreeSet<Reference>) =
            named.iter().cloned().partition(|reference| written(reference).is_some());
        let mut contents = self.contents_before(namespace, &there).await?;
        contents.extend(here.into_iter().filter_map(|reference| Some((reference.clone(), written(&reference)?))));
        Ok(contents)
    }

    /// Returns the content of an applied object, if it may be used.
    fn content(&self, kind: Named, value: Value) -> Option<Result<Content, ConditionUpdate>> {
        if kind == Named::Secret {
            let secret: Secret = serde_json::from_value(value).ok()?;
            return Some(self.secrets.check(&secret).map(|()| of_secret(secret)));
        }
        content(kind, value).ok().map(Ok)
    }
}

/// Reads the content of a Secret or ConfigMap; the error does not quote it.
fn content(kind: Named, value: Value) -> Result<Content, String> {
    let read = match kind {
        Named::Secret => serde_json::from_value(value).map(of_secret),
        _ => serde_json::from_value(value).map(of_config_map),
    };
    read.map_err(|_| "its data are invalid".to_owned())
}

fn typed<K: DeserializeOwned>(value: Value) -> Result<K, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}
