//! What this process remembers between the runs of a `ConnectorDeployment`. Losing it costs time, never correctness.

use jiff::Timestamp;

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
    /// When the answer to our last call came: older looks are not used.
    pub last_call: Option<Timestamp>,
    /// The look that was used last.
    pub last_look: Option<Timestamp>,
    /// The reconcile request that is being served, and since when.
    pub asked: Option<(String, Timestamp)>,
    /// Why the last call was refused.
    pub refusal: Option<ConditionUpdate>,
    /// The credentials of the last run: what others were refused may be granted to new ones.
    pub login: Option<Login>,
    /// Calls that failed in a row.
    pub backoff: Backoff,
    /// Runs in a row in which the API server refused something.
    pub kubernetes_error_backoff: KubernetesErrorBackoff,
    /// The version of the connector in the registry, as it was known last.
    pub registered: Option<i64>,
    /// Generation for which the registry is asked past what is remembered, and since when.
    pub doubted: Option<(i64, Timestamp)>,
    /// The version of the deployment that is verified, and since when it was settled in it: older lookups are not used.
    pub verified_since: Option<(i64, Timestamp)>,
    /// Keys of `…From` objects that people were told about.
    pub undeclared: Vec<String>,
}

impl CachePerObject for LocalCache {
    fn uid(&self) -> &str {
        &self.uid
    }

    fn new(uid: &str) -> Self {
        Self { uid: uid.to_owned(), ..Self::default() }
    }
}
