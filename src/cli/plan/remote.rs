//! Reads the remote projects that deployments name.

use std::collections::BTreeMap;
use std::sync::Arc;

use connect_api::http::HttpConnect;
use connect_api::{ApiError, ConnectApi, Selector};
use jiff::Timestamp;

use super::projected_cluster::ProjectedCluster;
use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::connect_factory::HttpFactory;
use crate::controllers::connect_project;
use crate::controllers::connector_deployment::observe::RecordRead;
use crate::controllers::connector_deployment::persisted::{OperationKind, OperationState, PersistedState};
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::reason::Reason;
use crate::controllers::remote::{RegistryAnswer, RegistryEntry, RegistryKey, ask};
use crate::controllers::secret;
use crate::crd::ConnectProject;

/// A client for each project, and a cache of registry entries, so that each is read once.
pub(super) struct Remotes {
    factory: HttpFactory,
    clients: BTreeMap<ObjectRef, Result<Arc<HttpConnect>, ConditionUpdate>>,
    registry_cache: BTreeMap<(ObjectRef, RegistryKey), RegistryEntry>,
}

impl Remotes {
    /// Creates no client yet.
    pub(super) fn new(factory: HttpFactory) -> Self {
        Self { factory, clients: BTreeMap::new(), registry_cache: BTreeMap::new() }
    }

    /// Returns the client of a project, or the condition that the operator would report instead.
    ///
    /// # Errors
    /// Errors of the API server.
    pub(super) async fn client(
        &mut self,
        projected_cluster: &ProjectedCluster,
        object_ref: &ObjectRef,
        project: &ConnectProject,
    ) -> Result<Result<Arc<HttpConnect>, ConditionUpdate>, kube::Error> {
        if let Some(known) = self.clients.get(object_ref) {
            return Ok(known.clone());
        }
        let name = &project.spec.credentials_secret_ref.name;
        let settings = match projected_cluster.secret(&object_ref.namespace, name).await? {
            Ok(Some(secret)) => connect_project::settings(project, name, &secret),
            Err(condition) => Err(condition),
            Ok(None) => Err(secret::missing(name, connect_project::CREDENTIALS_FIELD)),
        };
        let client = settings.and_then(|settings| {
            let made = self.factory.client(&settings);
            made.map(Arc::new).map_err(|sentence| ConditionUpdate::new(Reason::ConfigurationInvalid, sentence))
        });
        self.clients.insert(object_ref.clone(), client.clone());
        Ok(client)
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
            operation.kind == OperationKind::Create && operation.state == OperationState::Planned
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
