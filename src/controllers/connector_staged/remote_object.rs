//! The fields of a `ConnectorStaged` about its staged connector, and the key that it claims. Pure.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::decide::TransientState;
use crate::controllers::kinds::remote_object::{ClaimRequest, RemoteObject, status_fields};
use crate::crd::{ConnectorStaged, ConnectorStagedStatus, ProjectRef, StagedOperation};

impl RemoteObject for ConnectorStaged {
    type Transient = TransientState;
    type Cache = ();

    status_fields!(ConnectorStagedStatus, StagedOperation);

    fn operation(status: &ConnectorStagedStatus) -> Option<StagedOperation> {
        status.operation.clone()
    }

    fn started_at(operation: &StagedOperation) -> Timestamp {
        operation.started_at.0
    }

    fn claim_request(&self) -> ClaimRequest {
        let status = self.status.as_ref();
        ClaimRequest {
            project: self.spec.project_ref.clone(),
            key: self.spec.key.clone(),
            remote: status.and_then(|status| status.remote.clone()),
            id: status.and_then(|status| status.id.clone()),
            operation: status.is_some_and(|status| status.operation.is_some()),
            claims: true,
        }
    }

    fn wants_finalizer(&self) -> bool {
        true
    }
}
