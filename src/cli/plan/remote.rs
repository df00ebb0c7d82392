//! Reads the remote projects that deployments name.

use std::collections::BTreeMap;
use std::sync::Arc;

use connect_api::http::HttpConnect;
use connect_api::{ApiError, ConnectApi, Selector};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;

use super::local;
use super::projected_cluster::{Project, ProjectedCluster};
use crate::controllers::clients::connect_factory::HttpFactory;
use crate::controllers::connect_project;
use crate::controllers::connector_deployment::observe::RecordRead;
use crate::controllers::connector_deployment::persisted::{OperationState, OperationType, PersistedState};
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::objects::secret;
use crate::controllers::remote::{RegistryAnswer, RegistryEntry, RegistryKey, ask};
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::problem;
use crate::controllers::reporting::reason::Reason;
use crate::crd::ConnectProjectSpec;

/// How a project can be asked.
#[derive(Clone)]
pub(super) enum Reached {
    /// With this client.
    Client(Arc<HttpConnect>),
    /// Not at all, and the operator would report this about its resources.
    Not(ConditionUpdate),
    /// Not in this plan, for this reason.
    Unasked(String),
}

/// A client for each project, and a cache of registry entries, so that each is read once.
pub(super) struct Remotes {
    factory: HttpFactory,
    clients: BTreeMap<ObjectRef, Reached>,
    registry_cache: BTreeMap<(ObjectRef, RegistryKey), RegistryEntry>,
}

impl Remotes {
    /// Creates no client yet.
    pub(super) fn new(factory: HttpFactory) -> Self {
        Self { factory, clients: BTreeMap::new(), registry_cache: BTreeMap::new() }
    }

    /// Returns the client of a project, or the condition that the operator would report about its resources instead.
    ///
    /// # Errors
    /// Errors of the API server.
    pub(super) async fn client(
        &mut self,
        projected_cluster: &ProjectedCluster,
        object_ref: &ObjectRef,
        project: &Project,
    ) -> Result<Reached, kube::Error> {
        if let Some(known) = self.clients.get(object_ref) {
            return Ok(known.clone());
        }
        let client = match projected_cluster.credentials(object_ref, project).await? {
            Ok(among_files) if projected_cluster.local => {
                let variable = |name: &str| std::env::var(name).ok();
                let filled = among_files.as_ref().is_some_and(|secret| local::is_filled(project.spec(), secret));
                let of_environment = if filled { None } else { local::credentials(project.spec(), variable) };
                match of_environment.or(among_files) {
                    Some(secret) => self.made(object_ref, project.spec(), Some(&secret)),
                    None => Reached::Unasked(local::no_credentials(&object_ref.name, project.spec())),
                }
            }
            Ok(secret) => self.made(object_ref, project.spec(), secret.as_ref()),
            Err(condition) => Reached::Not(condition),
        };
        self.clients.insert(object_ref.clone(), client.clone());
        Ok(client)
    }

    fn made(&self, project: &ObjectRef, spec: &ConnectProjectSpec, secret: Option<&Secret>) -> Reached {
        match self.connected(spec, secret) {
            Ok(client) => Reached::Client(client),
            Err(condition) => Reached::Not(problem::of_project(project, &condition)),
        }
    }

    fn connected(
        &self,
        spec: &ConnectProjectSpec,
        secret: Option<&Secret>,
    ) -> Result<Arc<HttpConnect>, ConditionUpdate> {
        let name = &spec.credentials_secret_ref.name;
        let secret = secret.ok_or_else(|| secret::missing(name, connect_project::CREDENTIALS_FIELD))?;
        let made = self.factory.client(&connect_project::settings(spec, name, secret)?);
        made.map(Arc::new).map_err(|sentence| ConditionUpdate::new(Reason::ConfigurationInvalid, sentence))
    }

    /// Returns the registry entry of a connector as the project sees it.
    pub(super) async fn registry_entry(
        &mut self,
        project: &ObjectRef,
        api: &HttpConnect,
        name: RegistryKey,
    ) -> RegistryEntry {
        let asked = (project.clone(), name);
        if let Some(known) = self.registry_cache.get(&asked) {
            return known.clone();
        }
        let found = ask(api, &asked.1).await;
        let current = found != RegistryAnswer::Unreadable;
        let registry_entry = RegistryEntry { at: self.factory.around.clock.now(), found, current };
        self.registry_cache.insert(asked, registry_entry.clone());
        registry_entry
    }

    /// Reads the deployment of a resource as the operator does: by id if it is known, otherwise by key.
    ///
    /// # Errors
    /// Errors of the Connect API.
    pub(super) async fn look(
        &self,
        api: &HttpConnect,
        key: &str,
        persisted: &PersistedState,
    ) -> Result<RecordRead, ApiError> {
        let creates = persisted.operation.as_ref().is_some_and(|operation| {
            operation.kind == OperationType::Create && operation.state == OperationState::Planned
        });
        let at = self.now();
        let by_key = Selector::Key(key.to_owned());
        let Some(id) = persisted.id.clone().filter(|_| !creates) else {
            let record = api.deployment(&by_key).await?.map(Arc::new);
            return Ok(RecordRead { at, record, key_held_by: None });
        };
        let record = api.deployment(&Selector::Id(id.clone())).await?.map(Arc::new);
        let key_held_by = match &record {
            Some(_) => None,
            None => api.deployment(&by_key).await?.map(|other| other.id).filter(|other| *other != id),
        };
        Ok(RecordRead { at, record, key_held_by })
    }

    /// Returns the current time.
    pub(super) fn now(&self) -> Timestamp {
        self.factory.around.clock.now()
    }
}
