//! The objects that each stand for one record of the Connect API: what their status keeps of it, and what they claim. Pure.

use std::fmt::Debug;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Resource;
use kube::core::NamespaceResourceScope;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::crd::ProjectRef;
use crate::crd::shared::RemoteIdentity;

/// What a resource claims, and what it has begun (rule 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The project that it names.
    pub project: ProjectRef,
    /// The key.
    pub key: String,
    /// The remote in its status.
    pub remote: Option<RemoteIdentity>,
    /// Id of the remote record that it owns.
    pub id: Option<String>,
    /// Whether its status has an operation.
    pub operation: bool,
    /// Whether it claims the key at all.
    pub claims: bool,
}

/// An object that stands for one record of the Connect API.
pub trait RemoteObject:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
    /// The status.
    type Status: Clone + Debug + Default + Serialize + DeserializeOwned + Send + Sync;
    /// The operation in the status.
    type Operation: Clone + PartialEq + Debug + Send + Sync + 'static;
    /// What the decision table keeps in memory.
    type Transient: Clone + Default + Debug + Send + Sync + 'static;
    /// What this kind keeps between reconciles beside what every kind keeps.
    type Cache: Clone + Default + Debug + Send + Sync + 'static;

    /// The status, if there is one.
    fn status(&self) -> Option<&Self::Status>;
    /// Replaces the status.
    fn set_status(&mut self, status: Option<Self::Status>);
    /// The operation in a status.
    fn operation(status: &Self::Status) -> Option<Self::Operation>;
    /// Id of the record in a status.
    fn record_id(status: &Self::Status) -> Option<&str>;
    /// When the call of an operation was about to be sent.
    fn started_at(operation: &Self::Operation) -> Timestamp;
    /// The conditions in a status.
    fn conditions(status: &Self::Status) -> &[Condition];
    /// The last reconcile request that was served.
    fn handled_reconcile_request(status: &Self::Status) -> Option<&String>;

    /// The project that the resource names.
    fn project(&self) -> &ProjectRef;
    /// Time between two observations of a settled resource.
    fn interval(&self) -> Duration;
    /// Which key the resource wants in which project, and what it has begun there (rule 4).
    fn claim_request(&self) -> ClaimRequest;
    /// Whether the finalizer is needed.
    fn wants_finalizer(&self) -> bool;

    /// Whether a status has an operation or a record.
    fn is_begun(status: &Self::Status) -> bool {
        Self::operation(status).is_some() || Self::record_id(status).is_some()
    }
}

/// Implements what is read from and written to a status, whose fields have the same names for every kind.
macro_rules! status_fields {
    ($status:ident, $operation:ident) => {
        type Status = $status;
        type Operation = $operation;

        fn status(&self) -> Option<&$status> {
            self.status.as_ref()
        }

        fn set_status(&mut self, status: Option<$status>) {
            self.status = status;
        }

        fn record_id(status: &$status) -> Option<&str> {
            status.id.as_deref()
        }

        fn conditions(status: &$status) -> &[Condition] {
            &status.conditions
        }

        fn handled_reconcile_request(status: &$status) -> Option<&String> {
            status.handled_reconcile_request.as_ref()
        }

        fn project(&self) -> &ProjectRef {
            &self.spec.project_ref
        }

        fn interval(&self) -> Duration {
            self.spec.effective_interval()
        }
    };
}
pub(in crate::controllers) use status_fields;
