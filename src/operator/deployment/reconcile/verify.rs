//! Looks up the resources in `spec.verify` when they are due, and uses the results.

use std::sync::Arc;

use clock::{between, later};
use connect_api::CommerceApi;
use connect_api::model::Deployment;

use super::super::decide::Outcome;
use super::super::lookups::{Found, LookupResult, look_up, pause};
use super::super::observe::RecordRead;
use super::super::persisted::{PersistedState, Phase};
use super::super::verification;
use crate::crd::Verify;
use crate::operator::cluster::objects::secret;
use crate::operator::context::Project;
use crate::operator::project;
use crate::operator::remote::Remote;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;

use super::Reconciler;

/// Returns the URL and topic of each application.
fn destinations(record: &Deployment) -> impl Iterator<Item = (&String, &Option<String>, &Option<String>)> {
    record.applications.iter().map(|it| (&it.application_name, &it.url, &it.topic))
}

const NOT_YET: &str = "The lookup follows once the deployment is Deployed";

impl Reconciler<'_> {
    /// Returns the condition `Verified` after this reconcile; `None`: there is nothing to verify.
    pub(super) async fn verify(
        &mut self,
        remote: &Remote,
        read: &RecordRead,
        outcome: &Outcome,
    ) -> Result<Option<ConditionUpdate>, kube::Error> {
        let object = Arc::clone(&self.object);
        let deployed = matches!(
            outcome,
            Outcome::Settled { phase: Phase::Deployed, .. }
                | Outcome::VersionMismatch { .. }
                | Outcome::NotMoved { .. }
                | Outcome::Observed(Phase::Deployed)
        );
        let (Some(verify), Some(record)) = (&object.spec.verify, read.record.as_ref().filter(|_| deployed)) else {
            self.cache.lookup = None;
            return Ok(object.spec.verify.as_ref().map(|_| ConditionUpdate::new(Reason::NotChecked, NOT_YET)));
        };
        let client = match self.commerce(remote, verify).await? {
            Ok(client) => client,
            Err(condition) => return Ok(Some(condition)),
        };
        // A lookup from before the deployment reached this version proves nothing about it.
        let known = self.cache.lookup.take().filter(|known| known.record.version == record.version);
        let settled = known.as_ref().map_or(read.at, |known| known.settled);
        let (at, generation) = (self.context.clock.now(), self.generation());
        // Rule 11: a reconcile request also applies to this.
        let asked = self.cache.reconcile_request.as_ref().map_or(settled, |(_, asked)| *asked);
        let counts = |known: &LookupResult| {
            let is_same = known.generation == generation && destinations(&known.record).eq(destinations(record));
            is_same && known.at >= asked && Arc::ptr_eq(&known.client, &client)
        };
        if let Some(known) = known.filter(|known| at < known.due && counts(known)) {
            return Ok(Some(self.cache.lookup.insert(known).condition.clone()));
        }
        // No call of the Connect API follows, and none of another resource waits for the HTTP API.
        self.permit = None;
        let found = look_up(&*client, &verification::resources(verify)).await;
        let condition = verification::evaluate(verify, &found, record, &remote.settings().project_key)
            .unwrap_or_else(|why| self.unverified(why));
        let now = self.context.clock.now();
        let unverified_for = (condition.reason != Reason::Verified).then(|| between(settled, now));
        let failed = found.iter().any(|found| matches!(found, Found::Unreadable(_)));
        let due = later(now, pause(object.spec.effective_interval(), unverified_for, failed));
        let record = Arc::clone(record);
        let result = LookupResult { client, generation, record, settled, at, condition: condition.clone(), due };
        self.cache.lookup = Some(Box::new(result));
        Ok(Some(condition))
    }

    /// Returns the condition `Verified` for the status: `found`, or the earlier one while there is no new result.
    pub(super) fn verified(
        &self,
        found: Option<&ConditionUpdate>,
        persisted: &PersistedState,
    ) -> Option<ConditionUpdate> {
        self.object.spec.verify.as_ref()?;
        let unknown = || self.unverified(NOT_YET.to_owned());
        let changes = persisted.operation.is_some().then(|| ConditionUpdate::new(Reason::NotChecked, NOT_YET));
        Some(changes.or_else(|| found.cloned()).unwrap_or_else(unknown))
    }

    fn unverified(&self, why: String) -> ConditionUpdate {
        verification::unknown(&self.status().conditions, self.object.metadata.generation.unwrap_or_default(), why)
    }

    /// Returns the client for the lookups, with the credentials of the project or those that the spec names.
    async fn commerce(
        &self,
        remote: &Remote,
        verify: &Verify,
    ) -> Result<Result<Arc<dyn CommerceApi>, ConditionUpdate>, kube::Error> {
        let object_ref = self.project();
        let Some(Some(Project { http_api_url, .. })) = self.context.memory.projects.get(&object_ref) else {
            return Ok(Err(self.unverified("The project is not known yet".to_owned())));
        };
        let mut settings = remote.settings();
        if let Some(reference) = &verify.credentials_ref {
            let (client, namespace) = (&self.context.client, &self.object_ref.namespace);
            let found = match secret::named(client, &self.context.settings.secrets, namespace, &reference.name).await? {
                Ok(found) => found,
                Err(condition) => return Ok(Err(condition)),
            };
            let Some(found) = found else {
                return Ok(Err(secret::missing(&reference.name, "spec.verify.credentialsRef")));
            };
            match project::with_credentials(settings, reference, "spec.verify.credentialsRef", &reference.name, &found)
            {
                Ok(own) => settings = own,
                Err(condition) => return Ok(Err(condition)),
            }
        }
        let client = self.context.remotes.commerce(&settings, &http_api_url);
        Ok(client.map_err(|sentence| ConditionUpdate::new(Reason::ConfigurationInvalid, sentence)))
    }
}
