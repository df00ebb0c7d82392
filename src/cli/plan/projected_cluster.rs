//! The cluster after applying: the current objects, replaced by those that are applied. Only reads; `dry_run` checks
//! the manifests.

mod checked;
mod projects;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, ListParams};
use kube::{Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;

use self::checked::Manifests;
pub(super) use self::projects::Project;
use super::local;
use super::manifests::Document;
use super::overlay::Overlay;
use super::stop::Stop;
use crate::crd::shared::RemoteIdentity;
use crate::crd::{ConnectorDeployment, ConnectorStaged, ProjectKind, ProjectRef, StagedConnector};
use crate::metrics::Metrics;
use crate::operator::cluster::initial_lists::{InitialLists, List};
use crate::operator::cluster::keys::{ClaimStatus, KeyOwnership};
use crate::operator::cluster::objects::secret;
use crate::operator::cluster::references::{Named, Reference};
use crate::operator::deployment::desired::Contents;
use crate::operator::deployment::observe::{of_config_map, of_secret};
use crate::operator::deployment::value_from;
use crate::operator::kinds::managed_kind::{ManagedKind, object_ref};
use crate::operator::object_ref::ObjectRef;

/// A resource to plan.
pub(super) struct Planned<K> {
    /// The object before applying.
    pub(super) before: Option<K>,
    /// The object after applying.
    pub(super) after: K,
    /// Whether it is among the manifests; otherwise it only references an object of the manifests.
    pub(super) written: bool,
    /// Why the API server did not check it, if so.
    pub(super) unchecked: Option<String>,
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

/// By which operator the manifests are reconciled.
pub(super) struct Settings {
    /// Which Secrets may be used.
    pub(super) secrets: secret::Policy,
    /// Whether the manifests are all there is.
    pub(super) local: bool,
    /// Namespace of manifests without one.
    pub(super) namespace: String,
    /// Namespace of the operator, if the user names it.
    pub(super) operator_namespace: Option<String>,
}

/// The cluster after applying.
pub(super) struct ProjectedCluster {
    pub(super) settings: Settings,
    /// The cluster before applying.
    pub(super) before: Client,
    /// The cluster after applying.
    pub(super) after: Client,
    overlay: Arc<Overlay>,
    /// Deployments to plan, in order.
    pub(super) planned: BTreeMap<ObjectRef, Planned<ConnectorDeployment>>,
    /// Staged connectors to plan, in order.
    pub(super) staged: BTreeMap<ObjectRef, Planned<ConnectorStaged>>,
    /// Manifests that cannot be applied.
    pub(super) invalid: Vec<Invalid>,
    /// Information about the whole plan.
    pub(super) notes: RefCell<Vec<String>>,
    /// Projects among the manifests.
    projects: BTreeSet<ObjectRef>,
    keys: KeyOwnership,
    /// The remotes of the projects through which resources of a namespace claim keys (rules 4 and 29).
    admitted: BTreeMap<(ObjectRef, String), RemoteIdentity>,
}

/// Projects the cluster from the manifests and the current objects. `client`: of the cluster; `None` for a local plan.
///
/// # Errors
/// If the API server does not respond.
pub(super) async fn projected_cluster(
    client: Option<Client>,
    settings: Settings,
    documents: &[Document],
) -> Result<ProjectedCluster, kube::Error> {
    let before = Arc::new(Overlay::new(client.clone())).client();
    let mut manifests = Manifests {
        overlay: Overlay::new(client),
        planned: BTreeMap::new(),
        staged: BTreeMap::new(),
        invalid: Vec::new(),
        notes: Vec::new(),
        projects: BTreeSet::new(),
        objects: BTreeSet::new(),
        labelled: BTreeSet::new(),
        namespaces: BTreeSet::new(),
        unchecked: BTreeMap::new(),
    };
    for document in documents.iter().filter(|it| it.group.is_empty() && it.kind == "Namespace") {
        manifests.label(&before, document).await;
    }
    for document in documents {
        manifests.add(&before, &settings, document).await?;
    }
    let Manifests { overlay, planned, staged, invalid, mut notes, projects, objects, labelled, namespaces, unchecked } =
        manifests;
    notes.extend(unchecked.into_iter().map(|(why, objects)| format!("{}: {why}", objects.join(", "))));
    notes.extend(settings.local.then(|| local::NOTE.to_owned()));
    let overlay = Arc::new(overlay);
    let (enqueue, _) = tokio::sync::mpsc::unbounded_channel();
    let lists = InitialLists::new(Metrics::new(jiff::Timestamp::UNIX_EPOCH));
    lists.listed(&List { kind: "ConnectorDeployment", namespace: None });
    let mut projected_cluster = ProjectedCluster {
        settings,
        before,
        after: overlay.client(),
        overlay,
        planned,
        staged,
        invalid,
        notes: RefCell::new(notes),
        projects,
        keys: KeyOwnership::new(lists, enqueue),
        admitted: BTreeMap::new(),
    };
    let deployments = projected_cluster.list::<ConnectorDeployment>(&namespaces).await?;
    let staged = projected_cluster.list::<ConnectorStaged>(&namespaces).await?;
    projected_cluster.add_users(&deployments, &staged, &objects, &labelled);
    projected_cluster.note_keys(&deployments).await;
    projected_cluster.note_keys(&staged).await;
    Ok(projected_cluster)
}

impl ProjectedCluster {
    /// Notes something about the whole plan, once.
    fn note(&self, text: String) {
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&text) {
            notes.push(text);
        }
    }

    /// Returns the objects of a kind after applying: in the whole cluster, or only in these namespaces if the user may not
    /// list all.
    async fn list<K>(&self, namespaces: &BTreeSet<String>) -> Result<Vec<K>, kube::Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
    {
        let all = ListParams::default();
        match Api::<K>::all(self.after.clone()).list(&all).await {
            Ok(list) => return Ok(list.items),
            // The CRD does not exist yet.
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Vec::new()),
            Err(kube::Error::Api(status)) if status.code == 403 => {}
            Err(error) => return Err(error),
        }
        self.note(format!(
            "you may not list the {}s of all namespaces, so those of other namespaces were not compared by their keys, and \
             not planned if the manifests change their ClusterConnectProject",
            K::kind(&())
        ));
        let mut found = Vec::new();
        for namespace in namespaces {
            found.extend(Api::<K>::namespaced(self.after.clone(), namespace).list(&all).await?.items);
        }
        Ok(found)
    }

    /// Adds deployments and staged connectors that are not among the manifests, but whose values, connector or project
    /// are. `labelled`: Namespaces among the manifests.
    fn add_users(
        &mut self,
        deployments: &[ConnectorDeployment],
        staged: &[ConnectorStaged],
        objects: &BTreeSet<(String, Reference)>,
        labelled: &BTreeSet<String>,
    ) {
        let changes = |projects: &BTreeSet<ObjectRef>, namespace: &str, reference: &ProjectRef| {
            let shared = reference.kind == ProjectKind::ClusterConnectProject;
            projects.contains(&ObjectRef::of_project(namespace, reference)) || (shared && labelled.contains(namespace))
        };
        for object in staged {
            let concerned = changes(&self.projects, &object.namespace().unwrap_or_default(), &object.spec.project_ref);
            if concerned {
                let concerned = || Planned { before: None, after: object.clone(), written: false, unchecked: None };
                self.staged.entry(object_ref(object)).or_insert_with(concerned);
            }
        }
        for object in deployments {
            let namespace = object.namespace().unwrap_or_default();
            let named = object.spec.connector.staged_ref.as_ref();
            let uses = |reference: Reference| objects.contains(&(namespace.clone(), reference));
            let concerned = changes(&self.projects, &namespace, &object.spec.project_ref)
                || named.is_some_and(|named| self.staged.contains_key(&ObjectRef::staged(&namespace, &named.name)))
                || value_from::references(&object.spec).into_iter().any(uses);
            if concerned {
                let before = Some(object.clone());
                let concerned = || Planned { before, after: object.clone(), written: false, unchecked: None };
                self.planned.entry(object_ref(object)).or_insert_with(concerned);
            }
        }
    }

    /// Rule 4: records the resources that claim the key of one to plan, and the projects through which they claim it.
    async fn note_keys<K: ManagedKind>(&mut self, objects: &[K]) {
        let planned = |it: &K| {
            let object_ref = object_ref(it);
            self.planned.contains_key(&object_ref) || self.staged.contains_key(&object_ref)
        };
        let claims: Vec<_> = objects.iter().filter_map(|it| Some((it, it.claim()?))).collect();
        let keys: BTreeSet<&String> = claims.iter().filter(|it| planned(it.0)).map(|it| &it.1.key).collect();
        for (object, claim) in claims.iter().filter(|(_, claim)| keys.contains(&claim.key)) {
            self.keys.saw(*object);
            let namespace = object.namespace().unwrap_or_default();
            let place = ObjectRef::of_project(&namespace, &claim.project);
            // Through a project that a resource may not use, or that the user may not read, nothing is claimed.
            if let Ok(Some(project)) = self.project(&place, &namespace).await
                && (project.answers || self.projects.contains(&place))
            {
                self.admitted.insert((place, namespace), project.spec.identity());
            }
        }
    }

    /// Rule 4: returns the resource that owns the key instead of this one, if any.
    pub(super) fn winner<K: ManagedKind>(&self, object: &K) -> Option<ObjectRef> {
        let admits =
            |project: &ObjectRef, namespace: &str| self.admitted.get(&(project.clone(), namespace.to_owned())).cloned();
        match self.keys.claim(object, None, &admits) {
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
        let api = Api::<ConnectorStaged>::namespaced(self.after.clone(), namespace);
        // The plan for the staged connector itself covers what follows from its new spec.
        let is_planned = self.staged.contains_key(&ObjectRef::staged(namespace, &reference.name));
        Ok(api.get_opt(&reference.name).await?.map(|found| {
            let connector = found.connector();
            let seen = found.status.as_ref().map(|status| status.observed_generation);
            let is_known = seen.is_some() && (is_planned || seen == found.metadata.generation);
            let unknown = || Err("the operator has not reconciled it yet".to_owned());
            StagedConnector { deployable: if is_known { connector.deployable } else { unknown() }, ..connector }
        }))
    }

    /// Returns a Secret that a resource names; the error is the condition of the resource if it may not be used.
    async fn secret(&self, client: &Client, namespace: &str, name: &str) -> Result<Option<Secret>, Stop> {
        Ok(secret::named(client, &self.settings.secrets, namespace, name).await??)
    }

    /// Returns the objects from which a spec takes values, before or after applying.
    ///
    /// # Errors
    /// Errors of the API server.
    pub(super) async fn contents(
        &self,
        client: &Client,
        namespace: &str,
        named: &BTreeSet<Reference>,
    ) -> Result<Contents, kube::Error> {
        let config_maps = Api::<ConfigMap>::namespaced(client.clone(), namespace);
        let mut contents = Contents::new();
        for reference in named {
            let found = match reference.0 {
                Named::Secret => {
                    let found = secret::named(client, &self.settings.secrets, namespace, &reference.1).await?;
                    found.map(|found| found.map(of_secret))
                }
                _ => Ok(config_maps.get_opt(&reference.1).await?.map(of_config_map)),
            };
            contents.extend(found.transpose().map(|found| (reference.clone(), found)));
        }
        Ok(contents)
    }
}

/// Returns an object in a message.
pub(super) fn shown(kind: &str, namespace: &str, name: &str) -> String {
    if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
}
