//! The status of an `ActionCheck`. Pure.

use std::time::Duration;

use clock::later;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::crd::{ActionCheckStatus, CheckOutcome, LastCall};
use crate::names;
use crate::operator::reporting::conditions::{self, ConditionUpdate, Extra, whole_seconds};
use crate::operator::reporting::reason::Reason;

/// Message for a call that passed.
pub const AS_EXPECTED: &str = "The action answered as expected";

/// `checkedAt` is written again after this time, although a read has found the same: writing it each time would be wasteful.
const CHECK_WORTH_WRITING: Duration = Duration::from_hours(1);

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Result {
    /// Its kind.
    pub outcome: CheckOutcome,
    /// HTTP status, if there was an answer.
    pub http_status: Option<u16>,
    /// A sentence for the condition.
    pub message: String,
}

/// Returns the `Ready` condition for the last call. `before`: the conditions; `writes`: whether the call is a write, which is
/// not repeated.
pub fn ready_condition(before: &[Condition], last: Option<&LastCall>, writes: bool) -> ConditionUpdate {
    let outcome = last.map(|call| call.outcome);
    let reason = reason(outcome, writes);
    // The existing condition has the whole message as long as it is about this call.
    let before = before.iter().find(|it| it.type_ == names::READY && it.reason == reason.as_str());
    let message = match (before, outcome, last.and_then(|call| call.http_status)) {
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

/// Returns the condition of a call in progress.
pub fn checking() -> ConditionUpdate {
    ConditionUpdate::new(Reason::Checking, "The action is being called")
}

/// Returns the status from before a write, from which a later reconcile knows that it may have been sent.
pub fn about_to_send(before: &ActionCheckStatus, call: &LastCall, now: Timestamp) -> ActionCheckStatus {
    let mut status = before.clone();
    status.checked_at = Some(Time(whole_seconds(now)));
    status.remember(call);
    with_condition(&status, &checking(), (call.cause.generation, false), now)
}

/// Returns the status after a call that was sent at `at`, and its condition. `before`: for a write, that from before the call.
pub fn answered(
    before: &ActionCheckStatus,
    (call, at): (&LastCall, Timestamp),
    result: &Result,
    writes: bool,
    now: Timestamp,
) -> (ActionCheckStatus, ConditionUpdate) {
    let call = LastCall {
        outcome: result.outcome,
        http_status: result.http_status,
        trace_id: None,
        cause: call.cause.clone(),
    };
    let mut status = before.clone();
    status.remember(&call);
    let condition = ConditionUpdate::new(reason(Some(result.outcome), writes), result.message.clone());
    status = with_condition(&status, &condition, (call.cause.generation, false), now);
    let is_recent = before.checked_at.as_ref().is_some_and(|last| at < later(last.0, CHECK_WORTH_WRITING));
    if writes || !is_recent || status != *before {
        status.checked_at = Some(Time(whole_seconds(at)));
    }
    (status, condition)
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
    let mut conditions = conditions::conditions(&before.conditions, condition, extra, generation, now);
    // The schema has no place for it: all of them are of the generation of the status.
    for condition in &mut conditions {
        condition.observed_generation = None;
    }
    ActionCheckStatus { observed_generation: generation, conditions, ..before.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd::CheckedFor;

    #[test]
    fn the_intent_to_send_clears_the_earlier_answer() {
        let (sent, now) = (last(CheckOutcome::Sent), Timestamp::UNIX_EPOCH);
        let mut before = ActionCheckStatus::default();
        before.remember(&LastCall { http_status: Some(200), ..last(CheckOutcome::Passed) });
        let status = about_to_send(&before, &sent, now);
        assert_eq!((status.observed_generation, status.last_call()), (4, Ok(Some(sent))));
    }

    #[test]
    fn rule_21_a_read_that_finds_the_same_changes_nothing_but_checked_at_once_an_hour() {
        let found = |outcome, message: &str| Result { outcome, http_status: Some(200), message: message.to_owned() };
        let at = |minutes: i64| Timestamp::from_second(60 * minutes).expect("a time in range");
        let read = |before: &ActionCheckStatus, minutes, result: &Result| {
            answered(before, (&last(CheckOutcome::Sent), at(minutes)), result, false, at(minutes)).0
        };
        let first = read(&ActionCheckStatus::default(), 0, &found(CheckOutcome::Passed, "a"));
        assert_eq!(first.checked_at, Some(Time(at(0))));
        for (case, minutes, result, recorded) in [
            ("the same", 59, found(CheckOutcome::Passed, "a"), None),
            ("the same, an hour later", 60, found(CheckOutcome::Passed, "a"), Some(60)),
            ("another outcome", 5, found(CheckOutcome::Failed, "a"), Some(5)),
            ("another message", 5, found(CheckOutcome::Passed, "b"), Some(5)),
        ] {
            let after = read(&first, minutes, &result);
            assert_eq!(after == first, recorded.is_none(), "{case}");
            assert_eq!(after.checked_at, Some(Time(at(recorded.unwrap_or_default()))), "{case}");
        }
    }

    fn last(outcome: CheckOutcome) -> LastCall {
        let cause = CheckedFor { generation: 4, ..CheckedFor::default() };
        LastCall { cause, outcome, http_status: None, trace_id: None }
    }
}
