//! What the operator remembers of an `ActionCheck` over restarts: its last call. It is the content of `status.state`, except
//! what users look at, which has a field of its own in the status.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

use super::action_check::ActionCheckStatus;
use super::state;

/// The last call.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastCall {
    /// What triggered it: a POST or PUT is not sent again for the same.
    pub cause: CheckedFor,
    /// Its result.
    pub outcome: CheckOutcome,
    /// HTTP status of the response, if there was one.
    pub http_status: Option<u16>,
    /// Trace id of a call whose response is awaited, as in the log: it tells the call of this operator from that of another.
    pub trace_id: Option<String>,
}

/// What triggered a call.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckedFor {
    /// The metadata.generation of the check.
    pub generation: i64,
    /// Digest of the spec of the check, without suspend.
    pub spec_digest: Option<String>,
    /// Digest of the values that the deployment in deploymentRef had applied.
    pub deployment_digest: Option<String>,
    /// Time at which the deployment in deploymentRef had applied them.
    pub deployment_applied_at: Option<Time>,
    /// The rerun request that it served: `status.handledRerunRequest`.
    #[serde(skip)]
    pub rerun_request: Option<String>,
}

/// Result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckOutcome {
    /// The call may have been sent; its response is not known.
    Sent,
    /// Nothing was sent.
    NotSent,
    /// The response was as expected.
    Passed,
    /// The response was not as expected, or none arrived in time.
    Failed,
}

impl ActionCheckStatus {
    /// Returns the last call; `None`: there was none.
    ///
    /// # Errors
    /// A sentence about a state that this version does not understand.
    pub fn last_call(&self) -> Result<Option<LastCall>, String> {
        let again = "or delete the resource and create it again, which calls the action once more";
        let Some(text) = self.state.as_deref() else { return Ok(None) };
        let LastCall { cause, outcome, http_status, trace_id } = state::read(text, again)?;
        let cause = CheckedFor { rerun_request: self.handled_rerun_request.clone(), ..cause };
        Ok(Some(LastCall { cause, outcome, http_status, trace_id }))
    }

    /// Stores the last call.
    pub fn remember(&mut self, call: &LastCall) {
        self.handled_rerun_request.clone_from(&call.cause.rerun_request);
        self.state = state::text(call);
    }
}
