//! What this process remembers between the runs of a `ConnectorStaged`. Losing it costs time, never correctness.

use super::decide::TransientState;
use crate::controllers::backoff::Backoff;
use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::local_caches::CachePerObject;
use crate::controllers::refusal::KubernetesErrorBackoff;
use crate::controllers::remote::Login;

/// What is remembered of one resource.
#[derive(Clone, Debug, Default)]
pub struct LocalCache {
    /// Uid of the resource: another one of the same name starts afresh.
    pub uid: String,
    /// What `decide` has seen.
    pub seen: TransientState,
    /// Resource version of our last write; a copy from the cache that does not show it yet is not worked with.
    pub written: Option<String>,
    /// The reconcile request that is being served.
    pub asked: Option<String>,
    /// Why the last call was refused.
    pub refusal: Option<ConditionUpdate>,
    /// The credentials of the last run: what others were refused may be granted to new ones.
    pub login: Option<Login>,
    /// Calls that failed in a row.
    pub backoff: Backoff,
    /// Runs in a row in which the API server refused something.
    pub kubernetes_error_backoff: KubernetesErrorBackoff,
}

impl CachePerObject for LocalCache {
    fn uid(&self) -> &str {
        &self.uid
    }

    fn new(uid: &str) -> Self {
        Self { uid: uid.to_owned(), ..Self::default() }
    }
}
