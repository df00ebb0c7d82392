//! The status of an `ActionCheck`. Pure.

use std::time::Duration;

use connect_api::trace;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::crd::{ActionCheckStatus, CheckOutcome, CheckedFor};
use crate::names;
use crate::operator::reporting::conditions::{self, ConditionUpdate, Extra, whole_seconds};
use crate::operator::reporting::reason::Reason;

/// Message for a call that passed.
pub const AS_EXPECTED: &str = "The action answered as expected";

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Result {
    /// Its kind.
    pub outcome: CheckOutcome,
    /// HTTP status, if there was an answer.
    pub http_status: Option<u16>,
    /// How long the answer took, if there was one.
    pub duration: Option<Duration>,
    /// A sentence for the condition.
    pub message: String,
}

/// Returns the `Ready` condition for the last call, derived from the status alone. `writes`: whether the call is a
/// write, which is not repeated.
pub fn ready_condition(status: &ActionCheckStatus, writes: bool) -> ConditionUpdate {
    let reason = reason(status.outcome, writes);
    // The existing condition has the whole message as long as it is about this call.
    let before = status.conditions.iter().find(|it| it.type_ == names::READY && it.reason == reason.as_str());
    let message = match (before, status.outcome, status.http_status) {
        (Some(before), ..) => before.message.clone(),
        (None, Some(CheckOutcome::Passed), _) => AS_EXPECTED.to_owned(),
        (None, _, Some(http)) => format!("The last answer, with status {http}, was not as expected"),
        (None, _, None) => "The last call had no answer".to_owned(),
    };
    ConditionUpdate::new(reason, message)
}

fn reason(outcome: Option<CheckOutcome>, writes: bool) -> Reason {
    match (outcome, writes) {
        (Some(CheckOutcome::Passed), _) => Reason::CheckPassed,
        (Some(CheckOutcome::Failed), true) => Reason::CheckFailed,
        (Some(CheckOutcome::Failed), false) => Reason::CheckFailing,
        (Some(CheckOutcome::NotSent), _) => Reason::FrontendUnavailable,
        (Some(CheckOutcome::Sent) | None, _) => Reason::Checking,
    }
}

/// Returns the condition for a call that may have been sent and whose answer is unknown.
pub fn lost() -> ConditionUpdate {
    let message = format!(
        "The operator stopped before it knew the answer. It does not repeat the call: change the spec, or set the \
         annotation {}, to send it once more",
        names::RERUN_REQUESTED_AT
    );
    ConditionUpdate::new(Reason::AnswerLost, message)
}

/// Returns the status from before a call, from which a later reconcile knows that it may have been sent. `trace_id`: tells it
/// from the same call of another operator, within the same second.
pub fn about_to_send(
    before: &ActionCheckStatus,
    cause: &CheckedFor,
    trace_id: trace::Id,
    now: Timestamp,
) -> ActionCheckStatus {
    let status = ActionCheckStatus {
        http_status: None,
        duration_ms: None,
        checked_at: Some(Time(whole_seconds(now))),
        trace_id: Some(trace_id.to_string()),
        checked_for: Some(cause.clone()),
        outcome: Some(CheckOutcome::Sent),
        ..before.clone()
    };
    with_condition(
        &status,
        &ConditionUpdate::new(Reason::Checking, "The action is being called"),
        (cause.generation, false),
        now,
    )
}

/// Returns the status after a call.
pub fn answered(sent: &ActionCheckStatus, result: &Result, writes: bool, now: Timestamp) -> ActionCheckStatus {
    let status = ActionCheckStatus {
        http_status: result.http_status,
        duration_ms: result.duration.map(|time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX)),
        outcome: Some(result.outcome),
        ..sent.clone()
    };
    let condition = ConditionUpdate::new(reason(status.outcome, writes), result.message.clone());
    with_condition(&status, &condition, (sent.observed_generation, false), now)
}

/// Returns the condition for a call that waits because of `suspend`.
pub fn held() -> ConditionUpdate {
    ConditionUpdate::new(Reason::Suspended, "The action is called once suspend is false")
}

/// Returns the status with the conditions for this generation, and whether it is suspended.
pub fn with_condition(
    before: &ActionCheckStatus,
    condition: &ConditionUpdate,
    (generation, suspended): (i64, bool),
    now: Timestamp,
) -> ActionCheckStatus {
    let extra = Extra::suspended(suspended);
    let conditions = conditions::conditions(&before.conditions, condition, extra, generation, now);
    ActionCheckStatus { observed_generation: generation, conditions, ..before.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::reporting::reason::ConditionState;

    #[test]
    fn a_failed_write_needs_a_user_and_a_failed_read_is_retried() {
        use CheckOutcome::{Failed, NotSent, Passed, Sent};
        for (outcome, writes, state) in [
            (Passed, true, ConditionState::Ready),
            (Passed, false, ConditionState::Ready),
            (Failed, true, ConditionState::Stalled),
            (Failed, false, ConditionState::Failing),
            (NotSent, true, ConditionState::Waiting),
            (Sent, true, ConditionState::Progressing),
        ] {
            let status = ActionCheckStatus { outcome: Some(outcome), ..ActionCheckStatus::default() };
            assert_eq!(ready_condition(&status, writes).reason.state(), state, "{outcome:?} {writes}");
        }
        assert_eq!(lost().reason.state(), ConditionState::Stalled);
    }

    #[test]
    fn the_intent_to_send_clears_the_earlier_answer() {
        let before = ActionCheckStatus {
            http_status: Some(200),
            duration_ms: Some(5),
            outcome: Some(CheckOutcome::Passed),
            ..ActionCheckStatus::default()
        };
        let cause = CheckedFor { generation: 4, ..CheckedFor::default() };
        let sent = about_to_send(&before, &cause, trace::Id::random(), Timestamp::UNIX_EPOCH);
        assert_eq!((sent.http_status, sent.duration_ms), (None, None));
        assert_eq!(
            (sent.outcome, sent.observed_generation, &sent.checked_for),
            (Some(CheckOutcome::Sent), 4, &Some(cause))
        );
    }
}
