//! Reads the remote projects that resources name.

use std::collections::BTreeMap;
use std::sync::Arc;

use connect_api::http::HttpConnect;
use connect_api::{ApiError, ConnectApi, Selector};
use jiff::Timestamp;

use super::local;
use super::projected_cluster::{Project, ProjectedCluster};
use super::stop::Stop;
use crate::operator::clients::connect_factory::HttpFactory;
use crate::operator::cluster::objects::secret;
use crate::operator::deployment::observe::RecordRead;
use crate::operator::deployment::persisted::{OperationState, OperationType, PersistedState};
use crate::operator::object_ref::ObjectRef;
use crate::operator::project;
use crate::operator::remote::{RegistryAnswer, RegistryEntry, RegistryKey, ask};
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::problem;
use crate::operator::reporting::reason::Reason;

/// A client for each project, and a cache of registry entries, so that each is read once.
pub(super) struct Remotes {
    factory: HttpFactory,
    clients: BTreeMap<ObjectRef, Arc<HttpConnect>>,
    registry_cache: BTreeMap<(ObjectRef, RegistryKey), RegistryEntry>,
}

impl Remotes {
    /// Creates no client yet.
    pub(super) fn new(factory: HttpFactory) -> Self {
        Self { factory, clients: BTreeMap::new(), registry_cache: BTreeMap::new() }
    }

    /// Returns the client of a project.
    ///
    /// # Errors
    /// The condition that the operator would report about its resources instead, or why the project is not asked.
    pub(super) async fn client(
        &mut self,
        projected_cluster: &ProjectedCluster,
        place: &ObjectRef,
        project: &Project,
    ) -> Result<Arc<HttpConnect>, Stop> {
        if let Some(known) = self.clients.get(place) {
            return Ok(known.clone());
        }
        let spec = &project.spec;
        let mut secret = projected_cluster.credentials(place, project).await?;
        if projected_cluster.settings.local && !secret.as_ref().is_some_and(|secret| local::is_filled(spec, secret)) {
            let variable = |name: &str| std::env::var(name).ok();
            secret = local::credentials(spec, variable).or(secret);
            if secret.is_none() {
                return Err(Stop::NotAsked(local::no_credentials(&place.name, spec)));
            }
        }
        let name = &spec.credentials_secret_ref.name;
        let settings = match &secret {
            None => Err(secret::missing(name, project::CREDENTIALS_FIELD)),
            Some(secret) => project::settings(spec, name, secret),
        };
        let invalid = |sentence| ConditionUpdate::new(Reason::ConfigurationInvalid, sentence);
        let made = settings.and_then(|settings| self.factory.client(&settings).map_err(invalid));
        let client = Arc::new(made.map_err(|condition| problem::of_project(place, &condition))?);
        self.clients.insert(place.clone(), client.clone());
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
        let registry_entry = RegistryEntry { at: self.now(), found, current };
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
        let (at, by_key) = (self.now(), Selector::Key(key.to_owned()));
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
