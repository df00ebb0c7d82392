//! What a `ConnectorStaged` asks for: pure, from the object.

use jiff::Timestamp;
use kube::ResourceExt;

use super::desired;
use super::state::DeletionPolicy;
use crate::crd::{AdoptionPolicy, ConnectorStaged, PublishPolicy, StagedRepository};
use crate::names;
use crate::operator::reconcile::request;

/// What a user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a field of the spec")]
pub struct Intent {
    /// Generation of the resource.
    pub generation: i64,
    /// Digest of the desired connector.
    pub digest: String,
    /// The desired repository and Git tag.
    pub repository: StagedRepository,
    /// Id of the staged connector in the annotation, which survives a restored backup (rule 3).
    pub remote_id: Option<String>,
    /// Value of the annotation that requests a retry of what failed (rule 11).
    pub request: Option<String>,
    /// What to do with the staged connector, and since when; `Some` while the resource is being deleted.
    pub deletion: Option<(DeletionPolicy, Timestamp)>,
    /// `adoptionPolicy: Adopt`.
    pub adopt: bool,
    /// `suspend: true`.
    pub suspended: bool,
    /// `preview: Request`.
    pub previewable: bool,
    /// `publishPolicy: Certified`.
    pub certified: bool,
    /// Digest of what should be published, and how; `None`: nothing should be.
    pub publication: Option<String>,
    /// Whether everything that publishing waits for is proven.
    pub proven: bool,
}

/// Returns what a user asks for.
pub fn intent(object: &ConnectorStaged) -> Intent {
    let spec = &object.spec;
    let digest = desired::digest(desired::draft(spec));
    let deleted_at = object.metadata.deletion_timestamp.as_ref().map(|at| at.0);
    Intent {
        generation: object.metadata.generation.unwrap_or_default(),
        repository: spec.repository.clone(),
        remote_id: object.annotations().get(names::REMOTE_ID).cloned(),
        request: request(object, names::RETRY_REQUESTED_AT),
        deletion: deleted_at.map(|at| (spec.effective_deletion_policy(), at)),
        adopt: spec.adoption_policy == AdoptionPolicy::Adopt,
        suspended: spec.suspend,
        previewable: spec.requests_preview(),
        certified: spec.publish_policy == PublishPolicy::Certified,
        publication: desired::publication(spec, &digest),
        proven: spec.publish_after.is_none(),
        digest,
    }
}
