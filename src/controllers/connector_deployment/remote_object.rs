//! The fields of a `ConnectorDeployment` about its remote deployment, and the key that it claims. Pure.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::cache::Cache;
use super::decide::TransientState;
use super::intent;
use super::persisted::{Operation, OperationType};
use super::state;
use crate::controllers::kinds::remote_object::{ClaimRequest, RemoteObject, status_fields};
use crate::crd::connector_deployment_status::ConnectorDeploymentStatus;
use crate::crd::{ConnectorDeployment, ManagementPolicy, ProjectRef};

impl RemoteObject for ConnectorDeployment {
    type Transient = TransientState;
    type Cache = Cache;

    status_fields!(ConnectorDeploymentStatus, Operation);

    fn operation(status: &ConnectorDeploymentStatus) -> Option<Operation> {
        // A state that cannot be read is reported by the reconcile.
        state::read(status).ok()?.operation
    }

    fn started_at(operation: &Operation) -> Timestamp {
        operation.started_at
    }

    fn claim_request(&self) -> ClaimRequest {
        let status = self.status.as_ref();
        let begun = status.and_then(Self::operation).map(|operation| operation.kind);
        ClaimRequest {
            project: self.spec.project_ref.clone(),
            key: intent::key(self),
            remote: status.and_then(|status| status.remote.clone()),
            id: status.and_then(|status| status.id.clone()),
            operation: begun.is_some(),
            // A resource that only observes claims nothing. But a create that it began earlier may still arrive, and
            // could be mistaken for a deployment of the resource that gets the key in the meantime.
            claims: self.spec.management_policy == ManagementPolicy::Full || begun == Some(OperationType::Create),
        }
    }

    fn wants_finalizer(&self) -> bool {
        self.spec.management_policy == ManagementPolicy::Full
    }
}
