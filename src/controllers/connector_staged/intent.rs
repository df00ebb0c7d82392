//! What a `ConnectorStaged` asks for: pure, from the object.

use kube::ResourceExt;

use super::decide::Intent;
use super::desired::{self, Fields};
use crate::controllers::reconcile::request;
use crate::crd::{AdoptionPolicy, ConnectorStaged, DeletionPolicy, Publish};
use crate::names;

/// Returns what happens to the remote connector when the object is deleted.
#[must_use]
pub fn deletion(object: &ConnectorStaged) -> Option<DeletionPolicy> {
    object.metadata.deletion_timestamp.is_some().then(|| object.spec.effective_deletion_policy())
}

/// Returns what a user asks for.
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
