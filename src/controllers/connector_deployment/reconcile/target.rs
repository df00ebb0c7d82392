//! Finds the connector that is deployed.

use kube::ResourceExt;
use kube::api::Api;

use super::super::intent::{self, Target};
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::reconcile;
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::reason::Reason;
use crate::controllers::values::digest::DigestKey;
use crate::crd::{ConnectorStaged, DeletionPolicy};

use super::Reconciler;

impl Reconciler<'_> {
    /// Returns the key of the digests of its namespace.
    pub(super) fn digests(&self) -> DigestKey {
        self.context.digest_key.of_namespace(&self.object_ref.namespace)
    }

    /// Returns what happens to the remote when the object is deleted; `None`: it is not being deleted.
    pub(super) fn deletion(&self) -> Option<DeletionPolicy> {
        intent::deletion(&self.object, self.context.default_deletion_policy)
    }

    /// Returns the connector; `None` while the resource is being deleted and the connector is no longer known.
    ///
    /// # Errors
    /// The condition that explains why it is not known; `None` while the controller of a staged connector has not reconciled
    /// it yet.
    pub(super) async fn find_target(&self) -> Result<Option<Target>, Option<ConditionUpdate>> {
        let deleting = self.is_deleting();
        let staged = match &self.object.spec.connector.staged_ref {
            None => None,
            Some(reference) => {
                let object_ref = ObjectRef::staged(&self.object_ref.namespace, &reference.name);
                match self.context.staged.get(&object_ref).and_then(|memory| memory.result) {
                    Some(staged) => Some(staged),
                    None if !deleting && self.comes(&reference.name).await.map_err(Some)? => return Err(None),
                    None => None,
                }
            }
        };
        match intent::target(&self.object, staged.as_ref()) {
            Ok(target) => Ok(Some(target)),
            Err(_) if deleting => Ok(None),
            Err(condition) => Err(Some(condition)),
        }
    }

    /// Whether a `ConnectorStaged` of this name exists; its controller enqueues its users once it knows the connector.
    /// The controller of another install does not.
    async fn comes(&self, name: &str) -> Result<bool, ConditionUpdate> {
        let api = Api::<ConnectorStaged>::namespaced(self.context.client.clone(), &self.object_ref.namespace);
        let found = api.get_metadata_opt(name).await;
        let found = found.map_err(|error| reconcile::unreadable(&format!("ConnectorStaged {name}"), error))?;
        match found {
            Some(found) if !self.context.scope.selects(found.labels()) => {
                let message = format!(
                    "ConnectorStaged {name} has labels that this install of the operator does not select: give it \
                     those of this deployment"
                );
                Err(ConditionUpdate::new(Reason::StagedNotReady, message))
            }
            found => Ok(found.is_some()),
        }
    }
}
