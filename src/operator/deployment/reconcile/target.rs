//! Finds the connector that is deployed.

use kube::ResourceExt;
use kube::api::Api;

use super::super::intent::{self, Target};
use crate::crd::{ConnectorStaged, DeletionPolicy, StagedConnector};
use crate::operator::reconcile::NOT_YET_RECONCILED_AGAIN;
use crate::operator::reconcile::record::Stop;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;
use crate::operator::values::digest::DigestKey;

use super::Reconciler;

impl Reconciler<'_> {
    /// Returns the key of the digests of its namespace.
    pub(super) fn digests(&self) -> DigestKey {
        self.context.settings.digest_key.of_namespace(&self.object_ref.namespace)
    }

    /// Returns what happens to the remote when the object is deleted; `None`: it is not being deleted.
    pub(super) fn deletion(&self) -> Option<DeletionPolicy> {
        intent::deletion(&self.object, self.context.settings.default_deletion_policy)
    }

    /// Returns the connector; `None` while the resource is being deleted and the connector is no longer known.
    ///
    /// # Errors
    /// Why it is not known.
    pub(super) async fn find_target(&self) -> Result<Option<Target>, Stop> {
        let staged = match &self.object.spec.connector.staged_ref {
            None => None,
            Some(reference) => self.staged(&reference.name).await?,
        };
        match intent::target(&self.object, staged.as_ref()) {
            Ok(target) => Ok(Some(target)),
            Err(_) if self.is_deleting() => Ok(None),
            Err(condition) => Err(Stop::Report(condition, Some(self.interval()))),
        }
    }

    /// Returns what the status of a `ConnectorStaged` says of its connector; `None`: it is missing. Its controller enqueues
    /// this resource when that changes; the controller of another install does not.
    async fn staged(&self, name: &str) -> Result<Option<StagedConnector>, Stop> {
        let api = Api::<ConnectorStaged>::namespaced(self.context.client.clone(), &self.object_ref.namespace);
        let found = api.get_opt(name).await.map_err(|error| Stop::Refused("get its ConnectorStaged", error))?;
        let Some(found) = found else { return Ok(None) };
        let seen = found.status.as_ref().map(|status| status.observed_generation);
        if self.is_deleting() {
            return Ok(Some(found.connector()));
        }
        if !self.context.settings.scope.selects(found.labels()) {
            let message = format!(
                "ConnectorStaged {name} has labels that this install of the operator does not select: give it those of \
                 this deployment"
            );
            let condition = ConditionUpdate::new(Reason::StagedNotReady, message);
            return Err(Stop::Report(condition, Some(self.interval())));
        }
        if seen != found.metadata.generation {
            let message = format!("ConnectorStaged {name}: its last change has not been reconciled yet");
            let condition = ConditionUpdate::new(Reason::StagedNotReady, message);
            // What is settled stays as it is meanwhile.
            return Err(Stop::Outage(condition, Some(NOT_YET_RECONCILED_AGAIN)));
        }
        Ok(Some(found.connector()))
    }
}
