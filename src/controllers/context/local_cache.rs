//! What this process keeps of each resource between its reconciles. Losing it costs time, or is like losing a
//! response (`accepted_call.rs`).

use jiff::Timestamp;

use super::accepted_call::AcceptedCall;
use crate::controllers::kinds::pending_create::PendingCreate;
use crate::controllers::kinds::remote_object::RemoteObject;
use crate::controllers::object_map::ObjectMap;
use crate::controllers::queue::backoff::Backoff;
use crate::controllers::queue::backoff::KubernetesErrorBackoff;
use crate::controllers::remote::Login;
use crate::controllers::reporting::conditions::ConditionUpdate;

/// What is kept of one resource.
#[derive(Clone, Debug)]
pub struct LocalCache<K: RemoteObject> {
    /// Uid of the resource: another resource of the same name starts afresh.
    pub uid: String,
    /// A reconcile has a copy of it, and reports what the resource leaves behind.
    pub is_taken: bool,
    /// What the decision table has seen.
    pub transient: K::Transient,
    /// A first create that the status does not have yet.
    pub pending_create: Option<Box<PendingCreate<K::Operation>>>,
    /// Whether this process wrote the annotation of that create, so that it counts without the annotation.
    pub is_create_own: bool,
    /// Whether this install wrote that create: any user can write the annotation.
    pub is_create_signed: bool,
    /// A call that was accepted, which the status does not have yet.
    pub accepted_call: Option<Box<AcceptedCall>>,
    /// A change that was found and is about to be sent, which the status does not say yet.
    pub unreported_change: Option<Box<UnreportedChange>>,
    /// The reconcile request that is being served, and since when.
    pub reconcile_request: Option<(String, Timestamp)>,
    /// Why the last call was rejected.
    pub refusal: Option<ConditionUpdate>,
    /// The credentials of the last reconcile. New ones may be granted what those were refused.
    pub login: Option<Login>,
    /// Calls that failed in a row.
    pub backoff: Backoff,
    /// Reconciles in a row in which the API server refused a request.
    pub kubernetes_error_backoff: KubernetesErrorBackoff,
    /// What only this kind keeps.
    pub own: K::Cache,
}

impl<K: RemoteObject> Default for LocalCache<K> {
    fn default() -> Self {
        Self {
            uid: String::new(),
            is_taken: false,
            transient: K::Transient::default(),
            pending_create: None,
            is_create_own: false,
            is_create_signed: false,
            accepted_call: None,
            unreported_change: None,
            reconcile_request: None,
            refusal: None,
            login: None,
            backoff: Backoff::default(),
            kubernetes_error_backoff: KubernetesErrorBackoff::default(),
            own: K::Cache::default(),
        }
    }
}

/// A change that no status has reported yet.
#[derive(Clone, Debug)]
pub struct UnreportedChange {
    /// When it was found.
    pub since: Timestamp,
    /// Generation of the resource in which it was found.
    pub generation: i64,
    /// The Ready condition that reports it.
    pub condition: ConditionUpdate,
}

/// What is kept of all resources of a kind; boxed, because nodes of the map have free places, and this is large.
pub type LocalCaches<K> = ObjectMap<Box<LocalCache<K>>>;
