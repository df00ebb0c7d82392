//! Decides whether to call the action now. Pure. A POST or PUT is never sent twice for one cause.

use std::time::Duration;

use clock::{between, later};
use jiff::Timestamp;

use crate::crd::{CheckOutcome, CheckedFor, LastCall};

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

/// Decides from what is known of the last call. `at`: when it was about to be sent.
pub fn decide(last: Option<&LastCall>, at: Timestamp, wanted: &DesiredCall, now: Timestamp) -> Step {
    let outcome = last.filter(|call| is_same(&call.cause, &wanted.cause)).map(|call| call.outcome);
    match (wanted.suspended, unsuspended(outcome, at, wanted, now)) {
        (true, Step::Send) if matches!(outcome, None | Some(CheckOutcome::Sent)) => Step::Held,
        (true, Step::Send | Step::NoOp(_)) => Step::NoOp(None),
        (_, step) => step,
    }
}

fn unsuspended(outcome: Option<CheckOutcome>, at: Timestamp, wanted: &DesiredCall, now: Timestamp) -> Step {
    let Some(outcome) = outcome else { return Step::Send };
    match (outcome, wanted.writes) {
        (CheckOutcome::Sent, true) => Step::Lost,
        (CheckOutcome::Passed | CheckOutcome::Failed, true) => Step::NoOp(None),
        // Repeating a read is harmless.
        (CheckOutcome::Sent, false) => Step::Send,
        (outcome, _) => due(at, pause(outcome, wanted.interval), now),
    }
}

/// Returns the pause after a call with this outcome, if it is repeated.
fn pause(outcome: CheckOutcome, interval: Duration) -> Duration {
    if outcome == CheckOutcome::NotSent { NOT_SENT_AGAIN.min(interval) } else { interval }
}

/// Returns when this process takes the last call to have been sent, if it has sent none itself. The status names one that is up
/// to an hour old, after which reads at the interval have found the same. They are continued where they would be, so that a
/// restart sends no read early, and not all of them at once. A write is recorded each time.
pub fn taken_over(last: &LastCall, recorded: Timestamp, wanted: &DesiredCall, now: Timestamp) -> Timestamp {
    let pause = pause(last.outcome, wanted.interval);
    let rounds = between(recorded, now).as_nanos().checked_div(pause.as_nanos()).unwrap_or_default();
    if wanted.writes {
        return recorded;
    }
    later(recorded, pause.saturating_mul(u32::try_from(rounds).unwrap_or(u32::MAX)))
}

/// Whether two causes are the same. The generation also grows when only `suspend` changes; the digest also changes when
/// another version of the operator serializes the spec differently: equality of either is enough.
fn is_same(one: &CheckedFor, two: &CheckedFor) -> bool {
    let same_spec =
        one.generation == two.generation || (one.spec_digest.is_some() && one.spec_digest == two.spec_digest);
    let rest = |cause: &CheckedFor| CheckedFor { generation: 0, spec_digest: None, ..cause.clone() };
    same_spec && rest(one) == rest(two)
}

fn due(last: Timestamp, pause: Duration, now: Timestamp) -> Step {
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

    fn last(cause: &CheckedFor, outcome: CheckOutcome) -> LastCall {
        LastCall { cause: cause.clone(), outcome, http_status: None, trace_id: None }
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
            let last = outcome.zip(checked_for).map(|(outcome, cause)| last(cause, outcome));
            let wanted = DesiredCall { cause: first.clone(), writes, interval: 5 * minute, suspended: false };
            assert_eq!(decide(last.as_ref(), at(100), &wanted, at(now)), expected, "{case}");
            let held = match expected {
                Step::Send if !matches!(outcome, Some(Passed | Failed | NotSent)) || case.starts_with("other") => {
                    Step::Held
                }
                Step::Send if last.as_ref().is_some_and(|last| !is_same(&last.cause, &first)) => Step::Held,
                Step::Send | Step::NoOp(_) => Step::NoOp(None),
                other => other,
            };
            let suspended = DesiredCall { suspended: true, ..wanted };
            assert_eq!(decide(last.as_ref(), at(100), &suspended, at(now)), held, "{case}, suspended");
        }
    }

    #[test]
    fn a_call_that_did_not_leave_is_tried_again_at_a_shorter_interval_of_the_user() {
        let last = last(&cause(1, None, None), CheckOutcome::NotSent);
        let interval = Duration::from_secs(30);
        let wanted = DesiredCall { cause: cause(1, None, None), writes: false, interval, suspended: false };
        assert_eq!(decide(Some(&last), at(100), &wanted, at(110)), Step::NoOp(Some(Duration::from_secs(20))));
        assert_eq!(decide(Some(&last), at(100), &wanted, at(130)), Step::Send);
    }

    #[test]
    fn after_a_restart_reads_go_on_where_they_were_and_none_is_sent_early() {
        let interval = Duration::from_mins(5);
        for (case, outcome, writes, now, expected) in [
            ("the recorded read was the last", CheckOutcome::Passed, false, 399, 100),
            ("others found the same since", CheckOutcome::Passed, false, 3_000, 2_800),
            ("one is due", CheckOutcome::Failed, false, 700, 700),
            ("not sent, every minute", CheckOutcome::NotSent, false, 230, 220),
            ("a clock that was set back", CheckOutcome::Passed, false, 10, 100),
            ("a write is always recorded", CheckOutcome::NotSent, true, 3_000, 100),
        ] {
            let last = last(&cause(1, None, None), outcome);
            let wanted = DesiredCall { cause: cause(1, None, None), writes, interval, suspended: false };
            assert_eq!(taken_over(&last, at(100), &wanted, at(now)), at(expected), "{case}");
        }
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
            let last = last(&first, CheckOutcome::Passed);
            let wanted =
                DesiredCall { cause: wanted, writes: true, interval: Duration::from_mins(5), suspended: false };
            assert_eq!(decide(Some(&last), at(0), &wanted, at(100)), expected, "{case}");
        }
    }
}
