//! What this process keeps of each resource between its reconciles. Losing it costs time, never a call.

use jiff::Timestamp;

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
    /// What the decision table has seen.
    pub transient: K::Transient,
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
            transient: K::Transient::default(),
            reconcile_request: None,
            refusal: None,
            login: None,
            backoff: Backoff::default(),
            kubernetes_error_backoff: KubernetesErrorBackoff::default(),
            own: K::Cache::default(),
        }
    }
}

/// What is kept of all resources of a kind; boxed, because nodes of the map have free places, and this is large.
pub type LocalCaches<K> = ObjectMap<Box<LocalCache<K>>>;
