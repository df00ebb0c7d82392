//! Decides whether to call the action now. Pure. A POST or PUT is never sent twice for one cause.

use std::time::Duration;

use clock::{between, later};
use jiff::Timestamp;

use crate::crd::{ActionCheckStatus, CheckOutcome, CheckedFor};

/// Pause before a call is tried again that did not leave.
pub const NOT_SENT_AGAIN: Duration = Duration::from_mins(1);

/// The requested call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredCall {
    /// The cause of the call.
    pub cause: CheckedFor,
    /// Whether the call is a write (POST or PUT).
    pub writes: bool,
    /// Pause between two calls that only read.
    pub interval: Duration,
    /// `suspend: true`.
    pub suspended: bool,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Call the action.
    Send,
    /// Nothing now; reconcile again after this time, if any.
    NoOp(Option<Duration>),
    /// Nothing: the call may have been sent, and its answer is lost.
    Lost,
    /// Nothing because of `suspend`: the call would be sent otherwise, and no answer is known.
    Held,
}

/// Decides from what the status records of the last call.
pub fn decide(status: &ActionCheckStatus, wanted: &DesiredCall, now: Timestamp) -> Step {
    let known = status.checked_for.as_ref().is_some_and(|checked| is_same(checked, &wanted.cause));
    let outcome = status.outcome.filter(|_| known);
    match (wanted.suspended, unsuspended(status, outcome, wanted, now)) {
        (true, Step::Send) if matches!(outcome, None | Some(CheckOutcome::Sent)) => Step::Held,
        (true, Step::Send | Step::NoOp(_)) => Step::NoOp(None),
        (_, step) => step,
    }
}

fn unsuspended(
    status: &ActionCheckStatus,
    outcome: Option<CheckOutcome>,
    wanted: &DesiredCall,
    now: Timestamp,
) -> Step {
    let Some(outcome) = outcome else { return Step::Send };
    match (outcome, wanted.writes) {
        (CheckOutcome::Sent, true) => Step::Lost,
        (CheckOutcome::Passed | CheckOutcome::Failed, true) => Step::NoOp(None),
        (CheckOutcome::NotSent, _) => due(status, NOT_SENT_AGAIN.min(wanted.interval), now),
        // Repeating a read is harmless.
        (CheckOutcome::Sent, false) => Step::Send,
        (CheckOutcome::Passed | CheckOutcome::Failed, false) => due(status, wanted.interval, now),
    }
}

/// Whether two causes are the same. The generation also grows when only `suspend` changes; the digest also changes when
/// another version of the operator serializes the spec differently: equality of either is enough.
fn is_same(one: &CheckedFor, two: &CheckedFor) -> bool {
    let same_spec =
        one.generation == two.generation || (one.spec_digest.is_some() && one.spec_digest == two.spec_digest);
    let rest = |cause: &CheckedFor| CheckedFor { generation: 0, spec_digest: None, ..cause.clone() };
    same_spec && rest(one) == rest(two)
}

fn due(status: &ActionCheckStatus, pause: Duration, now: Timestamp) -> Step {
    let last = status.checked_at.as_ref().map_or(Timestamp::UNIX_EPOCH, |at| at.0);
    // The wait never exceeds the pause, even if the clock was set back.
    match between(now, later(last.min(now), pause)) {
        Duration::ZERO => Step::Send,
        left => Step::NoOp(Some(left)),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time in range")
    }

    fn cause(generation: i64, digest: Option<&str>, applied: Option<i64>) -> CheckedFor {
        let deployment_applied_at = applied.map(|second| Time(at(second)));
        let deployment_digest = digest.map(str::to_owned);
        CheckedFor { generation, deployment_digest, deployment_applied_at, ..CheckedFor::default() }
    }

    #[test]
    fn a_write_is_sent_once_for_each_cause_and_a_read_at_its_interval() {
        use CheckOutcome::{Failed, NotSent, Passed, Sent};
        let first = cause(1, Some("a"), Some(5));
        let minute = Duration::from_mins(1);
        for (case, checked_for, outcome, writes, now, expected) in [
            ("never", None, None, true, 100, Step::Send),
            ("never, a read", None, None, false, 100, Step::Send),
            ("passed", Some(&first), Some(Passed), true, 9_999, Step::NoOp(None)),
            ("failed", Some(&first), Some(Failed), true, 9_999, Step::NoOp(None)),
            ("perhaps sent", Some(&first), Some(Sent), true, 9_999, Step::Lost),
            ("perhaps sent, a read", Some(&first), Some(Sent), false, 100, Step::Send),
            ("not sent, soon after", Some(&first), Some(NotSent), true, 130, Step::NoOp(Some(minute / 2))),
            ("not sent, later", Some(&first), Some(NotSent), true, 160, Step::Send),
            ("a read, soon after", Some(&first), Some(Passed), false, 160, Step::NoOp(Some(4 * minute))),
            ("a read, at its interval", Some(&first), Some(Failed), false, 400, Step::Send),
            ("a clock that was set back", Some(&first), Some(Passed), false, 10, Step::NoOp(Some(5 * minute))),
            ("another generation", Some(&cause(2, Some("a"), Some(5))), Some(Passed), true, 101, Step::Send),
            ("other values", Some(&cause(1, Some("b"), Some(5))), Some(Sent), true, 101, Step::Send),
            ("applied again", Some(&cause(1, Some("a"), Some(6))), Some(Failed), true, 101, Step::Send),
            ("after nothing before", Some(&cause(1, None, None)), Some(Passed), true, 101, Step::Send),
        ] {
            let checked_at = Some(Time(at(100)));
            let checked_for = checked_for.cloned();
            let status = ActionCheckStatus { checked_at, checked_for, outcome, ..ActionCheckStatus::default() };
            let wanted = DesiredCall { cause: first.clone(), writes, interval: 5 * minute, suspended: false };
            assert_eq!(decide(&status, &wanted, at(now)), expected, "{case}");
            let held = match expected {
                Step::Send if !matches!(outcome, Some(Passed | Failed | NotSent)) || case.starts_with("other") => {
                    Step::Held
                }
                Step::Send if status.checked_for.as_ref().is_some_and(|for_| !is_same(for_, &first)) => Step::Held,
                Step::Send | Step::NoOp(_) => Step::NoOp(None),
                other => other,
            };
            let suspended = DesiredCall { suspended: true, ..wanted };
            assert_eq!(decide(&status, &suspended, at(now)), held, "{case}, suspended");
        }
    }

    #[test]
    fn a_call_that_did_not_leave_is_tried_again_at_a_shorter_interval_of_the_user() {
        let status = ActionCheckStatus {
            checked_at: Some(Time(at(100))),
            checked_for: Some(cause(1, None, None)),
            outcome: Some(CheckOutcome::NotSent),
            ..ActionCheckStatus::default()
        };
        let interval = Duration::from_secs(30);
        let wanted = DesiredCall { cause: cause(1, None, None), writes: false, interval, suspended: false };
        assert_eq!(decide(&status, &wanted, at(110)), Step::NoOp(Some(Duration::from_secs(20))));
        assert_eq!(decide(&status, &wanted, at(130)), Step::Send);
    }

    #[test]
    fn suspending_and_resuming_sends_nothing_and_a_rerun_sends_once() {
        let asked = |request: &str| Some(request.to_owned());
        let first = CheckedFor { generation: 1, spec_digest: asked("s1"), ..CheckedFor::default() };
        for (case, wanted, expected) in [
            ("as it was", first.clone(), Step::NoOp(None)),
            ("suspended and resumed", CheckedFor { generation: 3, ..first.clone() }, Step::NoOp(None)),
            ("written by another version", CheckedFor { spec_digest: asked("s2"), ..first.clone() }, Step::NoOp(None)),
            ("a change", CheckedFor { generation: 2, spec_digest: asked("s2"), ..first.clone() }, Step::Send),
            ("another rerun", CheckedFor { rerun_request: asked("now"), ..first.clone() }, Step::Send),
        ] {
            let status = ActionCheckStatus {
                checked_for: Some(first.clone()),
                outcome: Some(CheckOutcome::Passed),
                ..ActionCheckStatus::default()
            };
            let wanted =
                DesiredCall { cause: wanted, writes: true, interval: Duration::from_mins(5), suspended: false };
            assert_eq!(decide(&status, &wanted, at(100)), expected, "{case}");
        }
    }
}
