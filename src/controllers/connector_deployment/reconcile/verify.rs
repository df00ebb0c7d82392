//! Looks up the resources in `spec.verify` when they are due, and uses the results.

use super::super::decide::Outcome;
use super::super::lookups::Lookup;
use super::super::observe::RecordRead;
use super::super::persisted::{PersistedState, Phase};
use super::super::verification;
use crate::controllers::connect_project;
use crate::controllers::context::Project;
use crate::controllers::objects::secret;
use crate::controllers::remote::Remote;
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::reason::Reason;
use crate::crd::Verify;

use super::Reconciler;

const NOT_YET: &str = "The lookup follows once the deployment is Deployed";

impl Reconciler<'_> {
    /// Returns the condition `Verified` after this reconcile; `None`: there is nothing to verify.
    pub(super) async fn verify(
        &mut self,
        remote: &Remote,
        read: &RecordRead,
        outcome: &Outcome,
    ) -> Result<Option<ConditionUpdate>, kube::Error> {
        let object = std::sync::Arc::clone(&self.object);
        let deployed = matches!(
            outcome,
            Outcome::Settled { phase: Phase::Deployed, .. }
                | Outcome::VersionMismatch { .. }
                | Outcome::NotMoved { .. }
                | Outcome::Observed(Phase::Deployed)
        );
        let (Some(verify), Some(record)) = (&object.spec.verify, read.record.as_deref().filter(|_| deployed)) else {
            (self.cache.verified_since, self.cache.lookup) = (None, None);
            return Ok(object.spec.verify.as_ref().map(|_| ConditionUpdate::new(Reason::NotChecked, NOT_YET)));
        };
        // A lookup from before the deployment reached this version proves nothing about it.
        let known = self.cache.verified_since.filter(|(version, _)| *version == record.version);
        let (_, settled) = *self.cache.verified_since.insert(known.unwrap_or((record.version, read.at)));
        // Rule 11: a reconcile request also applies to this.
        let newer_than = self.cache.reconcile_request.as_ref().map_or(settled, |(_, asked)| settled.max(*asked));
        let condition = match self.lookup(remote, verify).await? {
            Err(condition) => {
                self.cache.lookup = None;
                condition
            }
            Ok(lookup) => {
                let now = self.context.clock.now();
                let known = self.cache.lookup.take().filter(|known| known.counts(&lookup, newer_than));
                let is_due = known.as_ref().is_none_or(|known| known.due <= now);
                let mut seen = match known {
                    Some(known) if !is_due => known,
                    known => {
                        // No call of the Connect API follows, and none of another resource waits for the HTTP API.
                        self.permit = None;
                        Box::new(lookup.run(known.map(|known| *known), &self.context.clock).await)
                    }
                };
                let project = &remote.settings().project_key;
                let condition = verification::evaluate(verify, &seen.found, record, project)
                    .unwrap_or_else(|why| self.unverified(why));
                if is_due {
                    let unverified_since = (condition.reason != Reason::Verified).then_some(settled);
                    seen.schedule(object.spec.effective_interval(), unverified_since, self.context.clock.now());
                }
                self.cache.lookup = Some(seen);
                condition
            }
        };
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

    /// Returns what to look up, with the credentials of the project or those that the spec names.
    async fn lookup(&self, remote: &Remote, verify: &Verify) -> Result<Result<Lookup, ConditionUpdate>, kube::Error> {
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
            match connect_project::with_credentials(
                settings,
                reference,
                "spec.verify.credentialsRef",
                &reference.name,
                &found,
            ) {
                Ok(own) => settings = own,
                Err(condition) => return Ok(Err(condition)),
            }
        }
        let resources = verification::resources(verify);
        let client = self.context.remotes.commerce(&settings, &http_api_url);
        Ok(client
            .map(|client| Lookup { client, resources })
            .map_err(|sentence| ConditionUpdate::new(Reason::ConfigurationInvalid, sentence)))
    }
}
