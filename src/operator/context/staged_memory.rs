//! What this process keeps of each `ConnectorStaged` between its reconciles. Losing it costs time, never a call.

use jiff::Timestamp;

use crate::operator::cluster::queue::backoff::Backoff;
use crate::operator::remote::Login;
use crate::operator::reporting::conditions::ConditionUpdate;

/// What is kept of one resource.
#[derive(Clone, Debug, Default)]
pub struct StagedMemory {
    /// Uid of the resource: another resource of the same name starts afresh.
    pub uid: String,
    /// What decisions need.
    pub of_decision: DecisionMemory,
    /// The credentials of the last reconcile. New ones may be granted what those were refused.
    pub login: Option<Login>,
    /// Calls that failed in a row.
    pub backoff: Backoff,
}

/// What decisions need of earlier observations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionMemory {
    /// When the first 404 of an unbroken row was read that counts.
    pub absent_since: Option<Timestamp>,
    /// Since when another client keeps the connector busy.
    pub busy_since: Option<Timestamp>,
    /// The last call, if it was refused.
    pub refused: Option<RefusedCall>,
}

/// A call that was refused, and is not sent again for the same cause for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCall {
    /// What it was sent for.
    pub cause: String,
    /// When the same may be sent again.
    pub until: Timestamp,
    /// The number of refusals in a row for this cause.
    pub times: u32,
    /// Why it was refused.
    pub condition: ConditionUpdate,
}
