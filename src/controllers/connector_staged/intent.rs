//! What people ask for in a `ConnectorStaged`: pure, from the object.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;

use super::decide::{Deletion, Intent};
use super::desired::{self, Fields};
use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::keys::{ClaimRequest, Claimant};
use crate::controllers::object::{Operated, request};
use crate::controllers::object_ref::Kind;
use crate::controllers::reason::Reason;
use crate::crd::shared::RemoteIdentity;
use crate::crd::{AdoptionPolicy, ConnectorStaged, ConnectorStagedStatus, DeletionPolicy, Publish, StagedOperation};
use crate::names;

impl Claimant for ConnectorStaged {
    const KIND: Kind = Kind::Staged;

    fn contends(&self) -> ClaimRequest {
        let status = self.status.as_ref();
        ClaimRequest {
            project: self.spec.project_ref.name.clone(),
            key: self.spec.key.clone(),
            remote: status.and_then(|status| status.remote.clone()),
            id: status.and_then(|status| status.id.clone()),
            operation: status.is_some_and(|status| status.operation.is_some()),
            claims: true,
        }
    }
}

impl Operated for ConnectorStaged {
    type Status = ConnectorStagedStatus;
    type Operation = StagedOperation;

    fn status(&self) -> Option<&Self::Status> {
        self.status.as_ref()
    }

    fn set_status(&mut self, status: Option<Self::Status>) {
        self.status = status;
    }

    fn operation(status: &Self::Status) -> Option<&StagedOperation> {
        status.operation.as_ref()
    }

    fn conditions(status: &Self::Status) -> &[Condition] {
        &status.conditions
    }

    fn set_controller(status: &mut Self::Status, controller: Option<String>) {
        status.controller = controller;
    }
}

/// What cannot be worked with, whatever the remote says.
#[must_use]
pub fn unfit(object: &ConnectorStaged, identity: &RemoteIdentity) -> Option<ConditionUpdate> {
    let status = object.status.as_ref().filter(|status| status.id.is_some() || status.operation.is_some())?;
    let before = status.remote.as_ref().filter(|before| *before != identity)?;
    let message = format!(
        "This connector was created in project {} at {}, and the ConnectProject now names project {} at {}: set it back",
        before.project_key, before.api_url, identity.project_key, identity.api_url
    );
    Some(ConditionUpdate::new(Reason::IdentityChanged, message))
}

/// What happens to the remote when the object is deleted.
#[must_use]
pub fn deletion(object: &ConnectorStaged) -> Option<Deletion> {
    object.metadata.deletion_timestamp.as_ref()?;
    Some(match object.spec.effective_deletion_policy() {
        DeletionPolicy::Orphan => Deletion::Orphan,
        DeletionPolicy::Delete => Deletion::Delete,
    })
}

/// What people ask for.
#[must_use]
pub fn intent(object: &ConnectorStaged) -> Intent {
    let spec = &object.spec;
    let fields = Fields::from(spec);
    Intent {
        generation: object.metadata.generation.unwrap_or_default(),
        digest: fields.digest(),
        tag: fields.tag().to_owned(),
        remote_id: object.annotations().get(names::REMOTE_ID).cloned(),
        request: request(object, names::REDEPLOY_REQUESTED_AT),
        deletion: deletion(object),
        adopt: spec.adoption_policy == AdoptionPolicy::Adopt,
        suspended: spec.suspend,
        previewable: spec.previewable,
        publish: match spec.publish {
            Publish::Never => None,
            Publish::Private => Some(false),
            Publish::Certified => Some(true),
        },
        publication: desired::publication(spec, &fields),
        proven: spec.publish_after.is_none(),
    }
}
