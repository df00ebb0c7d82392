//! Reads the remote projects that resources name.

use std::sync::Arc;

use connect_api::http::HttpConnect;
use connect_api::{ApiError, ConnectApi, Selector};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;

use super::local;
use super::projected_cluster::{Project, ProjectedCluster};
use super::stop::Stop;
use crate::cli::installs;
use crate::crd::ConnectProjectSpec;
use crate::operator::cluster::objects::secret;
use crate::operator::deployment::observe::RecordRead;
use crate::operator::object_ref::ObjectRef;
use crate::operator::project;
use crate::operator::remote::{RegistryAnswer, RegistryEntry, RegistryKey, ask};
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::problem;
use crate::operator::reporting::reason::Reason;

impl ProjectedCluster {
    /// Returns the client of a project.
    ///
    /// # Errors
    /// The condition that the operator would report about its resources instead, or why the project is not asked.
    pub(super) async fn client(&self, place: &ObjectRef, project: &Project) -> Result<Arc<HttpConnect>, Stop> {
        let known = self.clients.borrow().get(place).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let (spec, name) = (&project.spec, &project.spec.credentials_secret_ref.name);
        let settings = |secret: &Secret| project::settings(spec, name, secret);
        let mut secret = self.credentials(place, spec).await?;
        // The Secret of a scaffold is for a user to fill in.
        if self.settings.local && secret.as_ref().is_none_or(|secret| settings(secret).is_err()) {
            let variable = |name: &str| std::env::var(name).ok();
            secret = local::credentials(spec, variable).or(secret);
            if secret.is_none() {
                return Err(Stop::NotAsked(local::no_credentials(&place.name, spec)));
            }
        }
        let missing = || Err(secret::missing(name, project::CREDENTIALS_FIELD));
        let invalid = |sentence| ConditionUpdate::new(Reason::ConfigurationInvalid, sentence);
        let settings = secret.as_ref().map_or_else(missing, settings);
        let made = settings.and_then(|settings| self.settings.factory.client(&settings).map_err(invalid));
        let client = Arc::new(made.map_err(|condition| problem::of_project(place, &condition))?);
        self.clients.borrow_mut().insert(place.clone(), client.clone());
        Ok(client)
    }

    /// Returns the registry entry of a connector as the project sees it.
    pub(super) async fn registry_entry(&self, api: &HttpConnect, name: &RegistryKey) -> RegistryEntry {
        let found = ask(api, name).await;
        RegistryEntry { at: self.now(), current: found != RegistryAnswer::Unreadable, found }
    }

    /// Reads the deployment of a resource as the operator does: by id if it is known, otherwise by key.
    ///
    /// # Errors
    /// Errors of the Connect API.
    pub(super) async fn look(&self, api: &HttpConnect, key: &str, id: Option<&str>) -> Result<RecordRead, ApiError> {
        let by_key = Selector::Key(key.to_owned());
        let selector = id.map_or_else(|| by_key.clone(), |id| Selector::Id(id.to_owned()));
        let record = api.deployment(&selector).await?.map(Arc::new);
        let mut key_held_by = None;
        if record.is_none() && id.is_some() {
            key_held_by = api.deployment(&by_key).await?.map(|other| other.id).filter(|other| Some(&**other) != id);
        }
        Ok(RecordRead { at: self.now(), record, key_held_by })
    }

    /// Returns the current time.
    pub(super) fn now(&self) -> Timestamp {
        self.settings.factory.around.clock.now()
    }

    /// Returns the Secret with the credentials of a project after applying, if it exists. Users of a namespace need not be
    /// allowed to read it, and the operator may be.
    ///
    /// # Errors
    /// The condition of a resource of the project if the Secret may not be used, or why it cannot be read.
    async fn credentials(&self, place: &ObjectRef, spec: &ConnectProjectSpec) -> Result<Option<Secret>, Stop> {
        let Self { settings, before, after, .. } = self;
        let mut namespace = place.namespace.clone();
        if place.kind.is_cluster_scoped() {
            namespace = match installs::namespace_of_shared(before, settings.operator_namespace.as_deref()).await {
                Ok(namespace) => namespace,
                Err(_) if settings.local => return Ok(None),
                Err(why) => return Err(ConditionUpdate::new(Reason::ProjectNotReady, why).into()),
            };
        }
        let found = secret::read(after, &namespace, &spec.credentials_secret_ref.name).await?;
        match found.as_ref().map(|found| settings.secrets.check(found)) {
            Some(Err(condition)) => Err(problem::of_project(place, &condition).into()),
            _ => Ok(found),
        }
    }
}
