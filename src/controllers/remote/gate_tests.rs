use super::*;
use crate::controllers::remote::testing::{START, answered, at, failure, retry_after};

fn broken() -> ApiError {
    answered(503, None)
}

fn permit(gate: &Gate, now: Timestamp, caller: Caller) -> Permit {
    gate.admit(now, caller, Concern::Look, gate.client()).expect("the gate lets this one through")
}

/// Closes an open gate at `now`.
fn fail(gate: &mut Gate, error: &ApiError, now: Timestamp) {
    let permit = permit(gate, now, Caller::Looker);
    gate.failed(permit, error, now, &mut Jitter::new(3));
}

fn until(gate: &Gate) -> Timestamp {
    gate.trouble().expect("the gate is closed").until
}

#[test]
fn an_error_says_something_about_the_remote_or_about_the_caller() {
    use Concern::{Extra, List, Logs, Look, Other};
    use TroubleKind::{CredentialsRejected, PermissionMissing, ProjectNotFound, Throttled, Unavailable};
    let trouble = Verdict::Trouble;
    for (case, error, concern, expected) in [
        ("no connection", failure(Failure::NotSent), Other, trouble(Unavailable)),
        ("time-out", failure(Failure::NoAnswer), Look, trouble(Unavailable)),
        ("HTML with status 200", failure(Failure::Unreadable), Look, trouble(Unavailable)),
        ("gateway", answered(502, None), Other, trouble(Unavailable)),
        ("server failed", answered(500, Some(ErrorCode::General)), Other, trouble(Unavailable)),
        ("failed after saving, as a 400", answered(400, Some(ErrorCode::General)), Other, Verdict::Answered),
        ("404 of a gateway", answered(404, None), Look, trouble(Unavailable)),
        ("404 of the service to a write", answered(404, Some(ErrorCode::ResourceNotFound)), Other, Verdict::Answered),
        ("404 of the service to a look", answered(404, Some(ErrorCode::ResourceNotFound)), Look, trouble(Unavailable)),
        ("no list", answered(404, Some(ErrorCode::ResourceNotFound)), List, trouble(ProjectNotFound)),
        ("no such path", answered(400, Some(ErrorCode::InvalidPathParam)), List, Verdict::NotThere),
        ("no list, says whoever", answered(404, None), List, Verdict::NotThere),
        ("no list, in unknown words", answered(404, Some("NoSuchProject".into())), List, Verdict::NotThere),
        ("no such path, says whoever", answered(400, None), List, Verdict::NotThere),
        ("gone, says whoever", answered(410, None), List, Verdict::NotThere),
        ("a query that is wrong", answered(400, Some(ErrorCode::InvalidQueryParam)), List, trouble(Unavailable)),
        ("no right to list", answered(403, Some(ErrorCode::AuthorizationError)), List, trouble(PermissionMissing)),
        (
            "no right to list, as a 400",
            answered(400, Some(ErrorCode::AuthorizationError)),
            List,
            trouble(PermissionMissing),
        ),
        ("a list is redirected", answered(302, None), List, trouble(Unavailable)),
        ("a list that fails", answered(500, Some(ErrorCode::General)), List, trouble(Unavailable)),
        ("a list that is throttled", answered(429, None), List, trouble(Throttled)),
        ("a list without a token", answered(401, None), List, trouble(CredentialsRejected)),
        ("busy", answered(400, Some(ErrorCode::DeploymentInvalidStatusTransition)), Other, Verdict::Answered),
        ("conflict", answered(409, Some(ErrorCode::ConcurrentModification)), Other, Verdict::Answered),
        ("wrong draft", answered(400, Some(ErrorCode::InvalidJsonInput)), Other, Verdict::Answered),
        ("a look is refused", answered(400, Some(ErrorCode::InvalidPathParam)), Look, trouble(Unavailable)),
        ("may not look", answered(403, Some(ErrorCode::AuthorizationError)), Look, trouble(PermissionMissing)),
        ("may not look, says a gateway", answered(403, None), Look, trouble(PermissionMissing)),
        ("may not deploy", answered(403, Some(ErrorCode::AuthorizationError)), Other, Verdict::Answered),
        ("token refused", answered(401, None), Other, trouble(CredentialsRejected)),
        ("secret refused", failure(Failure::CredentialsRefused), Look, trouble(CredentialsRejected)),
        ("throttled", answered(429, None), Other, trouble(Throttled)),
        ("down for a while", retry_after(answered(503, None), 5_000), Look, trouble(Throttled)),
        ("throttled for a token", retry_after(failure(Failure::NotSent), 5_000), Look, trouble(Throttled)),
        ("the registry fails", answered(500, Some(ErrorCode::General)), Extra, Verdict::Nothing),
        ("the registry is silent", failure(Failure::NoAnswer), Extra, Verdict::Nothing),
        ("the registry makes no sense", failure(Failure::Unreadable), Extra, Verdict::Nothing),
        ("may not search", answered(403, Some(ErrorCode::AuthorizationError)), Extra, Verdict::Answered),
        ("the registry throttles", answered(429, None), Extra, Verdict::Nothing),
        ("the registry asks for a pause", retry_after(answered(503, None), 5_000), Extra, Verdict::Nothing),
        ("the token is refused there, too", answered(401, None), Extra, Verdict::Nothing),
        ("no logs any more", answered(404, Some(ErrorCode::ResourceNotFound)), Logs, Verdict::Nothing),
        ("no logs, says whoever", answered(404, None), Logs, Verdict::Nothing),
        ("logs are gone", answered(410, None), Logs, Verdict::Nothing),
        ("logs fail", answered(500, Some(ErrorCode::General)), Logs, Verdict::Nothing),
        ("no logs with this token", answered(401, None), Logs, Verdict::Nothing),
        ("logs do not come", failure(Failure::NoAnswer), Logs, Verdict::Nothing),
        ("logs are throttled", answered(429, None), Logs, Verdict::Nothing),
        ("held back by the client", retry_after(failure(Failure::HeldBack), 5_000), Look, trouble(Throttled)),
    ] {
        assert_eq!(judge(&error, concern), expected, "{case}");
    }
}

#[test]
fn pauses_grow_with_each_failed_probe_up_to_a_minute_and_begin_anew_after_a_success() {
    let (mut gate, mut now) = (Gate::default(), START);
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
        fail(&mut gate, &broken(), now);
        let (whole, pause) = (Duration::from_secs(seconds), clock::between(now, until(&gate)));
        assert!(pause <= whole && pause >= whole.mul_f64(0.75), "{seconds} s: {pause:?}");
        now = until(&gate);
    }
    assert_eq!(gate.trouble().map(|trouble| trouble.since), Some(START), "since the first failure");
    let probe = permit(&gate, now, Caller::Looker);
    gate.succeeded(probe);
    assert_eq!(gate.position(now), Position::Open);
    fail(&mut gate, &broken(), now);
    assert!(until(&gate) <= later(now, FIRST_PAUSE));
}

/// A list at `now`, which is answered by that error or by a page.
fn list(gate: &mut Gate, answer: Option<&ApiError>, now: Timestamp) {
    let permit = gate.admit(now, Caller::Looker, Concern::List, gate.client()).expect("the gate lets this one through");
    match answer {
        Some(error) => gate.failed(permit, error, now, &mut Jitter::new(3)),
        None => gate.succeeded(permit),
    }
}

#[test]
fn a_project_that_the_service_does_not_have_is_looked_for_by_lists_alone() {
    let mut gate = Gate::default();
    list(&mut gate, Some(&answered(404, Some(ErrorCode::ResourceNotFound))), START);
    let kind = |gate: &Gate| gate.trouble().map(|trouble| trouble.kind);
    assert_eq!(kind(&gate), Some(TroubleKind::ProjectNotFound));
    assert!(matches!(gate.health(), Health::Failing(_)), "told at once");
    let again = until(&gate);
    assert!(again >= later(START, UNTIL_REPAIRED) && again <= later(START, UNTIL_REPAIRED.mul_f64(1.1)));
    assert_eq!(gate.position(again), Position::ForList);
    // That a deployment is absent is a good answer, but none about the project.
    let look = permit(&gate, again, Caller::Looker);
    gate.succeeded(look);
    assert_eq!(gate.position(again), Position::ForList);
    list(&mut gate, None, again);
    assert_eq!(gate.position(again), Position::Open);
}

#[test]
fn a_list_that_somebody_in_between_refuses_may_come_back() {
    let (mut gate, mut now) = (Gate::default(), START);
    let nothing = answered(404, None);
    let kind = |gate: &Gate| gate.trouble().map(|trouble| trouble.kind);
    for _ in 1..TIMES_NOT_THERE {
        list(&mut gate, Some(&nothing), now);
        assert_eq!(kind(&gate), Some(TroubleKind::Unavailable));
        now = until(&gate);
    }
    list(&mut gate, Some(&broken()), now);
    now = until(&gate);
    for _ in 1..TIMES_NOT_THERE {
        list(&mut gate, Some(&nothing), now);
        assert_eq!(kind(&gate), Some(TroubleKind::Unavailable), "counted in a row");
        now = until(&gate);
    }
    list(&mut gate, Some(&nothing), now);
    assert_eq!(kind(&gate), Some(TroubleKind::ProjectNotFound));
    gate.renew();
    list(&mut gate, Some(&nothing), now);
    assert_eq!(kind(&gate), Some(TroubleKind::Unavailable), "another client begins anew");
}

#[test]
fn calls_that_fail_together_count_as_one_failure() {
    let mut gate = Gate::default();
    let permits: Vec<Permit> = (0..16).map(|_| permit(&gate, START, Caller::Run)).collect();
    for permit in permits {
        gate.failed(permit, &broken(), START, &mut Jitter::new(3));
    }
    assert!(until(&gate) <= later(START, FIRST_PAUSE));
    assert_eq!(gate.position(until(&gate)), Position::HalfOpen(1));
}

#[test]
fn retry_after_is_kept_to_the_millisecond_whatever_else_is_answered() {
    let mut gate = Gate::default();
    let (earlier, later_one) = (permit(&gate, START, Caller::Run), permit(&gate, START, Caller::Run));
    fail(&mut gate, &retry_after(answered(429, None), 7_321), START);
    let end = later(START, Duration::from_millis(7_321));
    assert_eq!(until(&gate), end);
    gate.succeeded(earlier);
    gate.failed(later_one, &broken(), at(1), &mut Jitter::new(3));
    let before = later(START, Duration::from_millis(7_320));
    assert_eq!(gate.position(before), Position::Closed(end), "calls of before neither open nor shorten");
    for caller in [Caller::Run, Caller::Looker] {
        assert!(gate.admit(before, caller, Concern::Look, 0).is_err());
    }
    assert!(gate.admit(end, Caller::Run, Concern::Look, 0).is_err(), "first it is tried by the looker");
    let probe = permit(&gate, end, Caller::Looker);
    gate.succeeded(probe);
    assert_eq!(gate.position(end), Position::Open);
}

#[test]
fn a_retry_after_that_ends_later_counts_also_if_it_comes_second_and_a_tiny_one_is_no_hot_loop() {
    let mut gate = Gate::default();
    let second = permit(&gate, START, Caller::Run);
    fail(&mut gate, &retry_after(answered(429, None), 2_000), START);
    gate.failed(second, &retry_after(answered(429, None), 9_000), START, &mut Jitter::new(3));
    assert_eq!(until(&gate), at(9));

    let mut gate = Gate::default();
    let second = permit(&gate, START, Caller::Run);
    fail(&mut gate, &retry_after(answered(429, None), 9_000), START);
    gate.failed(second, &retry_after(answered(429, None), 2_000), START, &mut Jitter::new(3));
    assert_eq!(until(&gate), at(9), "nor does a shorter one shorten it");

    let mut gate = Gate::default();
    fail(&mut gate, &retry_after(failure(Failure::HeldBack), 3), START);
    assert_eq!(until(&gate), later(START, Duration::from_millis(3)), "what is left of a pause is that, not a new one");

    let mut gate = Gate::default();
    fail(&mut gate, &retry_after(answered(429, None), 0), START);
    assert!(until(&gate) >= later(START, FIRST_PAUSE.mul_f64(0.75)));
}

#[test]
fn a_good_answer_opens_a_gate_that_one_of_many_calls_closed() {
    let mut gate = Gate::default();
    let (good, late) = (permit(&gate, START, Caller::Run), permit(&gate, START, Caller::Run));
    fail(&mut gate, &broken(), START);
    gate.succeeded(good);
    assert_eq!(gate.position(START), Position::Open);
    gate.failed(late, &broken(), START, &mut Jitter::new(3));
    assert_eq!(gate.position(START), Position::Open, "what was sent before says nothing new");
}

#[test]
fn only_new_credentials_or_a_later_success_open_a_gate_that_waits_for_a_person() {
    for error in [failure(Failure::CredentialsRefused), answered(403, None)] {
        let mut gate = Gate::default();
        let (good, earlier) = (permit(&gate, START, Caller::Run), permit(&gate, START, Caller::Run));
        gate.succeeded(good);
        gate.renew();
        assert_eq!(gate.health(), Health::Good { last_look: START }, "{error}: nothing was wrong");
        let earlier = Permit { client: gate.client(), round: gate.round, ..earlier };
        fail(&mut gate, &error, START);
        gate.succeeded(earlier);
        assert!(until(&gate) >= later(START, UNTIL_REPAIRED), "{error}");
        assert!(until(&gate) <= later(START, UNTIL_REPAIRED.mul_f64(1.1)), "{error}");

        let old = Permit { client: gate.client(), round: gate.round, at: START, concern: Concern::Look };
        gate.renew();
        assert_eq!((gate.position(START), gate.health()), (Position::Open, Health::Unknown), "{error}");
        gate.failed(old, &error, START, &mut Jitter::new(3));
        gate.succeeded(old);
        assert_eq!((gate.position(START), gate.health()), (Position::Open, Health::Unknown), "{error}: other client");
    }
}

#[test]
fn health_tells_what_lasts() {
    let mut gate = Gate::default();
    assert_eq!(gate.health(), Health::Unknown);
    fail(&mut gate, &broken(), START);
    assert!(matches!(gate.health(), Health::Failing(_)), "at the first look nothing better is known");

    let mut gate = Gate::default();
    let good = permit(&gate, START, Caller::Looker);
    gate.succeeded(good);
    assert_eq!(gate.health(), Health::Good { last_look: START });
    fail(&mut gate, &broken(), at(1));
    assert_eq!(gate.health(), Health::Good { last_look: START }, "may be over in a second");
    fail(&mut gate, &broken(), at(2));
    assert!(matches!(gate.health(), Health::Failing(trouble) if trouble.since == at(1)));

    let mut gate = Gate::default();
    let good = permit(&gate, START, Caller::Looker);
    gate.succeeded(good);
    fail(&mut gate, &retry_after(answered(429, None), 10_000), at(1));
    assert!(matches!(gate.health(), Health::Failing(trouble) if trouble.kind == TroubleKind::Throttled));
}
