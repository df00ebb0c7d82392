//! What this process keeps of each `ConnectorDeployment` between its reconciles. Losing it costs time, never a call.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::decide::TransientState;
use super::persisted::PersistedState;
use crate::operator::cluster::queue::backoff::Backoff;
use crate::operator::remote::Login;
use crate::operator::reporting::conditions::ConditionUpdate;

/// What is kept of one resource.
#[derive(Clone, Debug, Default)]
pub struct LocalCache {
    /// Uid of the resource: another resource of the same name starts afresh.
    pub uid: String,
    /// When it was kept. After the clock was set back, everything starts afresh.
    pub at: Timestamp,
    /// What the decision table has seen.
    pub transient: TransientState,
    /// The reconcile request that is being served, and since when.
    pub reconcile_request: Option<(String, Timestamp)>,
    /// What an accepted call led to and the API server did not store, for the operation that began at this time. Without it, a
    /// redeploy of secured values would be sent once more after minutes without a stored status (rule 6).
    pub unstored: Option<(Timestamp, PersistedState)>,
    /// Why the last call was rejected.
    pub refusal: Option<ConditionUpdate>,
    /// The credentials of the last reconcile. New ones may be granted what those were refused.
    pub login: Option<Login>,
    /// Calls that failed in a row.
    pub backoff: Backoff,
    /// When the response to the last call came. Older observations are not used.
    pub last_call: Option<Timestamp>,
    /// Generation for which the registry is read once more, and since when.
    pub doubted: Option<(i64, Timestamp)>,
    /// Since when a Secret or ConfigMap that the spec names is missing.
    pub missing_since: Option<Timestamp>,
    /// The notes about the values that Events have had, by their reasons.
    pub notes: BTreeMap<&'static str, String>,
}
