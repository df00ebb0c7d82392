//! The cluster after applying: the current objects, replaced by those that are applied. Only reads; `dry_run` checks
//! the manifests.

mod checked;
mod projects;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use connect_api::http::HttpConnect;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams};
use kube::{Client, Resource, ResourceExt as _};

pub(super) use self::projects::Project;
use super::local;
use super::manifests::Document;
use super::overlay::Overlay;
use crate::crd::shared::RemoteIdentity;
use crate::crd::{ConnectorDeployment, ConnectorStaged, ManagementPolicy, StagedConnector};
use crate::metrics::Metrics;
use crate::operator::clients::connect_factory::HttpFactory;
use crate::operator::cluster::initial_lists::{InitialLists, List};
use crate::operator::cluster::keys::{ClaimStatus, KeyOwnership};
use crate::operator::cluster::objects::secret;
use crate::operator::cluster::references::{Reference, Referenced};
use crate::operator::deployment::declared::Declared;
use crate::operator::deployment::desired::{self, Contents, Desired, Unready};
use crate::operator::deployment::observe::{of_config_map, of_secret};
use crate::operator::deployment::value_from;
use crate::operator::kinds::managed_kind::{ManagedKind, object_ref};
use crate::operator::object_ref::{Kind, ObjectRef};
use crate::operator::values::digest::DigestKey;

/// A resource to plan.
pub(super) struct Planned<K> {
    /// The object before applying.
    pub(super) before: Option<K>,
    /// The object after applying.
    pub(super) after: K,
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

/// By which operator the manifests are reconciled, and how.
pub(super) struct Settings {
    /// Makes the clients of remote projects.
    pub(super) factory: HttpFactory,
    /// A random key, to compare values without exposing them.
    pub(super) key: DigestKey,
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
    /// The clients of the remote projects that were read.
    pub(super) clients: RefCell<BTreeMap<ObjectRef, Arc<HttpConnect>>>,
    overlay: Arc<Overlay>,
    /// Deployments to plan, in order.
    pub(super) deployments: BTreeMap<ObjectRef, Planned<ConnectorDeployment>>,
    /// Staged connectors to plan, in order.
    pub(super) staged: BTreeMap<ObjectRef, Planned<ConnectorStaged>>,
    /// Manifests that cannot be applied.
    pub(super) invalid: Vec<Invalid>,
    /// Information about the whole plan, with the objects that it is about, if not all.
    notes: RefCell<BTreeMap<String, Vec<String>>>,
    /// What is applied, with its namespace.
    applied: BTreeSet<(String, Reference)>,
    /// Namespaces among the manifests.
    pub(super) labelled: BTreeSet<String>,
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
    let (before, overlay) = (Overlay::new(client.clone()).client(), Overlay::new(client));
    let (enqueue, _) = tokio::sync::mpsc::unbounded_channel();
    let lists = InitialLists::new(Metrics::new(jiff::Timestamp::UNIX_EPOCH));
    lists.listed(&List { kind: "ConnectorDeployment", namespace: None });
    let mut projected_cluster = ProjectedCluster {
        settings,
        before,
        after: overlay.client(),
        clients: RefCell::default(),
        overlay,
        deployments: BTreeMap::new(),
        staged: BTreeMap::new(),
        invalid: Vec::new(),
        notes: RefCell::default(),
        applied: BTreeSet::new(),
        labelled: BTreeSet::new(),
        keys: KeyOwnership::new(lists, enqueue),
        admitted: BTreeMap::new(),
    };
    for document in documents.iter().filter(|it| it.group.is_empty() && it.kind == "Namespace") {
        projected_cluster.label(document).await;
    }
    for document in documents {
        projected_cluster.add(document).await?;
    }
    if projected_cluster.settings.local {
        projected_cluster.note(local::NOTE.to_owned(), None);
    }
    let staged = projected_cluster.list::<ConnectorStaged>().await?;
    let deployments = projected_cluster.list::<ConnectorDeployment>().await?;
    projected_cluster.add_users(&deployments, &staged);
    projected_cluster.note_keys(&deployments).await;
    projected_cluster.note_keys(&staged).await;
    Ok(projected_cluster)
}

impl ProjectedCluster {
    /// Notes something about the whole plan, or about this object.
    fn note(&self, text: String, object: Option<String>) {
        self.notes.borrow_mut().entry(text).or_default().extend(object);
    }

    /// Returns what was noted.
    pub(super) fn notes(&self) -> Vec<String> {
        let text = |(text, objects): (&String, &Vec<String>)| match objects.as_slice() {
            [] => text.clone(),
            objects => format!("{}: {text}", objects.join(", ")),
        };
        self.notes.borrow().iter().map(text).collect()
    }

    /// Returns the objects of a kind after applying: in the whole cluster, or only in the namespaces of the manifests if the
    /// user may not list all.
    async fn list<K: ManagedKind + Resource<Scope = NamespaceResourceScope>>(&self) -> Result<Vec<K>, kube::Error> {
        let all = ListParams::default();
        match Api::<K>::all(self.after.clone()).list(&all).await {
            Ok(list) => return Ok(list.items),
            // The CRD does not exist yet.
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Vec::new()),
            Err(kube::Error::Api(status)) if status.code == 403 => {}
            Err(error) => return Err(error),
        }
        let why = format!(
            "you may not list the {}s of all namespaces, so those of other namespaces were not compared by their keys, and \
             not planned if the manifests change their ClusterConnectProject",
            K::KIND.as_str()
        );
        self.note(why, None);
        let mut found = Vec::new();
        let namespaces: BTreeSet<&String> = self.applied.iter().map(|it| &it.0).filter(|it| !it.is_empty()).collect();
        for namespace in namespaces {
            found.extend(Api::<K>::namespaced(self.after.clone(), namespace).list(&all).await?.items);
        }
        Ok(found)
    }

    /// Whether the manifests may change something for a resource of a namespace that names these objects.
    fn concerns(&self, namespace: &str, named: impl IntoIterator<Item = Reference>) -> bool {
        named.into_iter().any(|reference| {
            let is_shared = reference.0 == Referenced::Object(Kind::ClusterProject);
            let place = if is_shared { "" } else { namespace };
            self.applied.contains(&(place.to_owned(), reference)) || (is_shared && self.labelled.contains(namespace))
        })
    }

    /// Adds deployments and staged connectors that are not among the manifests, but whose values, connector or project
    /// are.
    fn add_users(&mut self, deployments: &[ConnectorDeployment], staged: &[ConnectorStaged]) {
        for object in staged {
            let namespace = object.namespace().unwrap_or_default();
            if self.concerns(&namespace, [Referenced::project(&object.spec.project_ref)]) {
                self.applied.insert((namespace, (Referenced::Object(Kind::Staged), object.name_any())));
                let planned = || Planned { before: None, after: object.clone(), written: false };
                self.staged.entry(object_ref(object)).or_insert_with(planned);
            }
        }
        for object in deployments {
            let mut named = value_from::references(&object.spec);
            named.insert(Referenced::project(&object.spec.project_ref));
            named.extend(
                object
                    .spec
                    .connector
                    .staged_ref
                    .iter()
                    .map(|staged| (Referenced::Object(Kind::Staged), staged.name.clone())),
            );
            if self.concerns(&object.namespace().unwrap_or_default(), named) {
                let planned = || Planned { before: Some(object.clone()), after: object.clone(), written: false };
                self.deployments.entry(object_ref(object)).or_insert_with(planned);
            }
        }
    }

    /// Rule 4: records the resources that claim the key of one to plan, and the projects through which they claim it.
    async fn note_keys<K: ManagedKind>(&mut self, objects: &[K]) {
        let planned = |it: &K| {
            let object_ref = object_ref(it);
            self.deployments.contains_key(&object_ref) || self.staged.contains_key(&object_ref)
        };
        let claims: Vec<_> = objects.iter().filter_map(|it| Some((it, it.claim()?))).collect();
        let keys: BTreeSet<&String> = claims.iter().filter(|it| planned(it.0)).map(|it| &it.1.key).collect();
        for (object, claim) in claims.iter().filter(|(_, claim)| keys.contains(&claim.key)) {
            self.keys.saw(*object);
            let namespace = object.namespace().unwrap_or_default();
            let place = ObjectRef::of_project(&namespace, &claim.project);
            // Through a project that a resource may not use, or that the user may not read, nothing is claimed.
            if let Ok(Some(project)) = self.project(&place, &namespace).await
                && (project.answers || self.concerns(&namespace, [Referenced::project(&claim.project)]))
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
    pub(super) async fn staged(&self, object: &ConnectorDeployment) -> Result<Option<StagedConnector>, kube::Error> {
        let Some(reference) = &object.spec.connector.staged_ref else { return Ok(None) };
        let namespace = object.namespace().unwrap_or_default();
        let api = Api::<ConnectorStaged>::namespaced(self.after.clone(), &namespace);
        // The plan for the staged connector itself covers what follows from its new spec.
        let is_planned = self.staged.contains_key(&ObjectRef::staged(&namespace, &reference.name));
        let Some(found) = api.get_opt(&reference.name).await? else { return Ok(None) };
        let mut connector = found.connector();
        if !is_planned && found.status.map(|status| status.observed_generation) != found.metadata.generation {
            connector.deployable = Err("the operator has not reconciled it yet".to_owned());
        }
        Ok(Some(connector))
    }

    /// Returns the values of a resource, from the Secrets and ConfigMaps before or after applying; the inner error is why
    /// they cannot be sent.
    ///
    /// # Errors
    /// Errors of the API server.
    pub(super) async fn values(
        &self,
        client: &Client,
        object: &ConnectorDeployment,
        declared: Option<&Declared>,
    ) -> Result<Result<Desired, Unready>, kube::Error> {
        let namespace = object.namespace().unwrap_or_default();
        let config_maps = Api::<ConfigMap>::namespaced(client.clone(), &namespace);
        let mut contents = Contents::new();
        // A resource that only observes needs no values, nor the right to read them.
        let observes = object.spec.management_policy == ManagementPolicy::ObserveOnly;
        for reference in value_from::references(&object.spec).into_iter().filter(|_| !observes) {
            let found = match reference.0 {
                Referenced::Secret => secret::named(client, &self.settings.secrets, &namespace, &reference.1)
                    .await?
                    .map(|found| found.map(of_secret)),
                _ => Ok(config_maps.get_opt(&reference.1).await?.map(of_config_map)),
            };
            contents.extend(found.transpose().map(|found| (reference, found)));
        }
        Ok(desired::from_spec(&object.spec, &contents, declared))
    }
}

/// Returns an object in a message.
pub(super) fn shown(kind: &str, namespace: &str, name: &str) -> String {
    if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
}
