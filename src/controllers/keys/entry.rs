//! What is kept of a ConnectorDeployment for rule 4: pure, from the object.

use jiff::Timestamp;
use kube::ResourceExt;

use super::{Claim, Place};
use crate::controllers::connector_deployment::intent;
use crate::controllers::subject::Subject;
use crate::crd::connector_deployment_status::OperationType;
use crate::crd::shared::RemoteIdentity;
use crate::crd::{ConnectorDeployment, ManagementPolicy};
use crate::names;

/// What is kept of a resource.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) uid: String,
    /// Resource version, if it is a number; of two copies the one with the higher is the newer.
    version: Option<u64>,
    /// The project that it names.
    pub(super) project: Subject,
    /// The remote that the project names, as far as that is known.
    pub(super) named: Option<RemoteIdentity>,
    /// The remote that holds what it owns or has begun, whatever the project names now.
    held: Option<RemoteIdentity>,
    key: String,
    /// Whether it claims anything: what only observes, or is let go of already, does not.
    claims: bool,
    /// Whether its status has an operation.
    operation: bool,
    /// Whether a run is about to write one.
    announced: bool,
    pub(super) claim: Claim,
}

impl Entry {
    pub(super) fn of(object: &ConnectorDeployment) -> Self {
        let namespace = object.namespace().unwrap_or_default();
        let status = object.status.as_ref();
        let id = status.and_then(|status| status.id.clone());
        let begun = status.and_then(|status| status.operation.as_ref()).map(|operation| operation.operation_type);
        let operation = begun.is_some();
        let let_go = object.metadata.deletion_timestamp.is_some()
            && !object.finalizers().iter().any(|finalizer| finalizer == names::FINALIZER);
        Self {
            uid: object.uid().unwrap_or_default(),
            version: object.resource_version().and_then(|version| version.parse().ok()),
            project: Subject::project(&namespace, &object.spec.project_ref.name),
            named: None,
            held: status.and_then(|status| status.remote.clone()).filter(|_| id.is_some() || operation),
            key: intent::key(object),
            // What only observes never claims, but a create that it began before may still arrive, and would be taken for
            // somebody else's answer.
            claims: (object.spec.management_policy == ManagementPolicy::Full || begun == Some(OperationType::Create))
                && !let_go,
            operation,
            announced: false,
            claim: Claim {
                subject: Subject::deployment(&namespace, &object.name_any()),
                id,
                operation,
                annotated: object.annotations().contains_key(names::REMOTE_ID),
                created: object.creation_timestamp().map_or(Timestamp::MAX, |time| time.0),
            },
        }
    }

    /// The same at another remote.
    pub(super) fn naming(&self, named: Option<RemoteIdentity>) -> Self {
        Self { named, ..self.clone() }
    }

    /// The same that is about to begin something, or is not any more.
    pub(super) fn announcing(&self, announced: bool) -> Self {
        let claim = Claim { operation: self.operation || announced, ..self.claim.clone() };
        Self { announced, claim, ..self.clone() }
    }

    pub(super) fn is_announced(&self) -> bool {
        self.announced
    }

    /// Whether this copy is a newer one than `before`. Resource versions grow with each write to a kind, so they also
    /// tell a resource from an earlier one of the same name (Kubernetes API concepts, resource versions).
    pub(super) fn follows(&self, before: &Self) -> bool {
        match (self.version, before.version) {
            (Some(version), Some(before)) => version > before,
            _ => true,
        }
    }

    /// Where its claim stands, if it has one.
    pub(super) fn place(&self) -> Option<Place> {
        let remote = self.held.as_ref().or(self.named.as_ref()).filter(|_| self.claims)?;
        Some(Place { remote: remote.clone(), key: self.key.clone() })
    }
}
