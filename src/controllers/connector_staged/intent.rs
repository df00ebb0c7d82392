//! What a `ConnectorStaged` asks for: pure, from the object.

use kube::ResourceExt;

use super::decide::Intent;
use super::desired::{self, Fields};
use crate::controllers::reconcile::request;
use crate::crd::{AdoptionPolicy, ConnectorStaged, Publish};
use crate::names;

/// Returns what a user asks for.
#[must_use]
pub fn intent(object: &ConnectorStaged) -> Intent {
    let spec = &object.spec;
    let fields = Fields::from(spec);
    let deleted_at = object.metadata.deletion_timestamp.as_ref().map(|at| at.0);
    Intent {
        generation: object.metadata.generation.unwrap_or_default(),
        digest: fields.digest(),
        tag: fields.tag().to_owned(),
        remote_id: object.annotations().get(names::REMOTE_ID).cloned(),
        request: request(object, names::REDEPLOY_REQUESTED_AT),
        deletion: deleted_at.map(|at| (spec.effective_deletion_policy(), at)),
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
