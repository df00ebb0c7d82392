use super::*;
use crate::operator::remote::testing::{START, answered, at, failure, retry_after};

fn broken() -> ApiError {
    answered(503, None)
}

/// Permits a read, or a list that tries whether an outage is over.
fn permit(circuit_breaker: &CircuitBreaker, now: Timestamp) -> Permit {
    let list = circuit_breaker.admit(now, CallScope::List).expect("the circuit breaker lets this call pass");
    circuit_breaker.admit(now, CallScope::Read).unwrap_or(list)
}

fn is_closed(circuit_breaker: &CircuitBreaker) -> bool {
    circuit_breaker.outage().is_none()
}

/// Opens a closed circuit breaker at `now`.
fn fail(circuit_breaker: &mut CircuitBreaker, error: &ApiError, now: Timestamp) {
    let permit = permit(circuit_breaker, now);
    circuit_breaker.failed(permit, error, now, &mut Jitter::new(3));
}

fn until(circuit_breaker: &CircuitBreaker) -> Timestamp {
    circuit_breaker.outage().expect("the circuit breaker is open").until
}

#[test]
fn an_error_concerns_the_remote_or_the_caller() {
    use CallScope::{Extra, List, Other, Read};
    use OutageKind::{CredentialsRejected, PermissionMissing, ProjectNotFound, Throttled, Unavailable};
    let outage = CallEffect::Outage;
    for (case, error, scope, expected) in [
        ("no connection", failure(Failure::NotSent), Other, outage(Unavailable)),
        ("time-out", failure(Failure::NoAnswer), Read, outage(Unavailable)),
        ("HTML with status 200", failure(Failure::Unreadable), Read, outage(Unavailable)),
        ("gateway", answered(502, None), Other, outage(Unavailable)),
        ("server failed", answered(500, Some(ErrorCode::General)), Other, outage(Unavailable)),
        ("failed after saving, as a 400", answered(400, Some(ErrorCode::General)), Other, CallEffect::Answered),
        ("404 of a gateway", answered(404, None), Read, outage(Unavailable)),
        (
            "404 of the service to a write",
            answered(404, Some(ErrorCode::ResourceNotFound)),
            Other,
            CallEffect::Answered,
        ),
        ("404 of the service to a read", answered(404, Some(ErrorCode::ResourceNotFound)), Read, outage(Unavailable)),
        ("no list", answered(404, Some(ErrorCode::ResourceNotFound)), List, outage(ProjectNotFound)),
        ("no such path", answered(400, Some(ErrorCode::InvalidPathParam)), List, CallEffect::NotThere),
        ("no list, 404 of a gateway", answered(404, None), List, CallEffect::NotThere),
        ("no list, with an unknown code", answered(404, Some("NoSuchProject".into())), List, CallEffect::NotThere),
        ("no such path, 400 of a gateway", answered(400, None), List, CallEffect::NotThere),
        ("gone, 410 of a gateway", answered(410, None), List, CallEffect::NotThere),
        ("a query that is wrong", answered(400, Some(ErrorCode::InvalidQueryParam)), List, outage(Unavailable)),
        ("no right to list", answered(403, Some(ErrorCode::AuthorizationError)), List, outage(PermissionMissing)),
        (
            "no right to list, as a 400",
            answered(400, Some(ErrorCode::AuthorizationError)),
            List,
            outage(PermissionMissing),
        ),
        ("a list is redirected", answered(302, None), List, outage(Unavailable)),
        ("a list that fails", answered(500, Some(ErrorCode::General)), List, outage(Unavailable)),
        ("a list that is throttled", answered(429, None), List, outage(Throttled)),
        ("a list without a token", answered(401, None), List, outage(CredentialsRejected)),
        ("busy", answered(400, Some(ErrorCode::DeploymentInvalidStatusTransition)), Other, CallEffect::Answered),
        ("conflict", answered(409, Some(ErrorCode::ConcurrentModification)), Other, CallEffect::Answered),
        ("wrong draft", answered(400, Some(ErrorCode::InvalidJsonInput)), Other, CallEffect::Answered),
        ("a read is refused", answered(400, Some(ErrorCode::InvalidPathParam)), Read, outage(Unavailable)),
        ("may not read", answered(403, Some(ErrorCode::AuthorizationError)), Read, outage(PermissionMissing)),
        ("may not read, 403 of a gateway", answered(403, None), Read, outage(PermissionMissing)),
        ("may not deploy", answered(403, Some(ErrorCode::AuthorizationError)), Other, CallEffect::Answered),
        ("token refused", answered(401, None), Other, outage(CredentialsRejected)),
        ("secret refused", failure(Failure::CredentialsRefused), Read, outage(CredentialsRejected)),
        ("throttled", answered(429, None), Other, outage(Throttled)),
        ("down for a while", retry_after(answered(503, None), 5_000), Read, outage(Throttled)),
        ("throttled for a token", retry_after(failure(Failure::NotSent), 5_000), Read, outage(Throttled)),
        ("the registry fails", answered(500, Some(ErrorCode::General)), Extra, CallEffect::Nothing),
        ("the registry does not answer", failure(Failure::NoAnswer), Extra, CallEffect::Nothing),
        ("the registry answers something unreadable", failure(Failure::Unreadable), Extra, CallEffect::Nothing),
        ("may not search", answered(403, Some(ErrorCode::AuthorizationError)), Extra, CallEffect::Answered),
        ("the registry throttles", answered(429, None), Extra, CallEffect::Nothing),
        ("the registry asks for a pause", retry_after(answered(503, None), 5_000), Extra, CallEffect::Nothing),
        ("the token is refused there, too", answered(401, None), Extra, CallEffect::Nothing),
        ("held back by the client", retry_after(failure(Failure::HeldBack), 5_000), Read, outage(Throttled)),
        ("the registry, too", retry_after(failure(Failure::HeldBack), 5_000), Extra, outage(Throttled)),
    ] {
        assert_eq!(effect(&error, scope), expected, "{case}");
    }
}

#[test]
fn pauses_grow_with_each_failed_probe_up_to_a_minute_and_restart_after_a_success() {
    let (mut circuit_breaker, mut now) = (CircuitBreaker::default(), START);
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
        fail(&mut circuit_breaker, &broken(), now);
        let (whole, pause) = (Duration::from_secs(seconds), clock::between(now, until(&circuit_breaker)));
        assert!(pause <= whole && pause >= whole.mul_f64(0.75), "{seconds} s: {pause:?}");
        now = until(&circuit_breaker);
    }
    assert_eq!(circuit_breaker.outage().map(|outage| outage.since), Some(START), "since the first failure");
    let probe = permit(&circuit_breaker, now);
    circuit_breaker.succeeded(probe);
    assert!(is_closed(&circuit_breaker));
    fail(&mut circuit_breaker, &broken(), now);
    assert_eq!(until(&circuit_breaker), later(now, ONE_FAILURE), "one of few");
    now = until(&circuit_breaker);
    fail(&mut circuit_breaker, &broken(), now);
    assert!(until(&circuit_breaker) > later(now, FIRST_PAUSE), "two in a row");
}

#[test]
fn one_failure_pauses_for_a_moment_only_if_nothing_else_was_requested() {
    for (case, worked, error, at_least) in [
        ("a service that has worked", true, broken(), ONE_FAILURE),
        ("a service that has not", false, broken(), FIRST_PAUSE.mul_f64(0.75)),
        ("throttled", true, answered(429, None), FIRST_PAUSE.mul_f64(0.75)),
        ("a short pause was requested", true, retry_after(answered(503, None), 300), FIRST_PAUSE.mul_f64(0.75)),
    ] {
        let mut circuit_breaker = CircuitBreaker::default();
        if worked {
            let permit = permit(&circuit_breaker, START);
            circuit_breaker.succeeded(permit);
        }
        fail(&mut circuit_breaker, &error, START);
        let pause = clock::between(START, until(&circuit_breaker));
        assert!(pause >= at_least && pause <= at_least.mul_f64(1.34), "{case}: {pause:?}");
    }
}

/// A list at `now`, which is answered by that error or by a page.
fn list(circuit_breaker: &mut CircuitBreaker, answer: Option<&ApiError>, now: Timestamp) {
    let permit = circuit_breaker.admit(now, CallScope::List).expect("the circuit breaker lets this call pass");
    match answer {
        Some(error) => circuit_breaker.failed(permit, error, now, &mut Jitter::new(3)),
        None => circuit_breaker.succeeded(permit),
    }
}

#[test]
fn only_a_page_ends_the_outage_of_a_project_whose_list_is_refused() {
    let found = |answer: &ApiError, tries: u32| {
        let (mut circuit_breaker, mut now) = (CircuitBreaker::default(), START);
        list(&mut circuit_breaker, None, now);
        for _ in 0..tries {
            list(&mut circuit_breaker, Some(answer), now);
            now = until(&circuit_breaker);
            assert!(circuit_breaker.admit(now, CallScope::Read).is_err(), "a list tries first");
        }
        let kind = circuit_breaker.outage().map(|outage| outage.kind);
        list(&mut circuit_breaker, None, now);
        assert!(is_closed(&circuit_breaker), "a page");
        (kind, now)
    };
    let (missing, gateway) = (answered(404, Some(ErrorCode::ResourceNotFound)), answered(404, None));
    let (kind, again) = found(&missing, 1);
    assert_eq!(kind, Some(OutageKind::ProjectNotFound), "the code says so");
    assert!(again >= later(START, UNTIL_REPAIRED) && again <= later(START, UNTIL_REPAIRED.mul_f64(1.1)));
    assert_eq!(found(&gateway, TIMES_NOT_THERE - 1).0, Some(OutageKind::Unavailable), "a gateway may recover");
    assert_eq!(found(&gateway, TIMES_NOT_THERE).0, Some(OutageKind::ProjectNotFound));
}

#[test]
fn calls_that_fail_together_count_as_one_failure() {
    let mut circuit_breaker = CircuitBreaker::default();
    let permits: Vec<Permit> = (0..16).map(|_| permit(&circuit_breaker, START)).collect();
    for permit in permits {
        circuit_breaker.failed(permit, &broken(), START, &mut Jitter::new(3));
    }
    assert!(until(&circuit_breaker) <= later(START, FIRST_PAUSE));
}

#[test]
fn retry_after_is_kept_to_the_millisecond_whatever_else_is_answered() {
    let mut circuit_breaker = CircuitBreaker::default();
    let (earlier, later_one) = (permit(&circuit_breaker, START), permit(&circuit_breaker, START));
    fail(&mut circuit_breaker, &retry_after(answered(429, None), 7_321), START);
    let end = later(START, Duration::from_millis(7_321));
    assert_eq!(until(&circuit_breaker), end);
    circuit_breaker.succeeded(earlier);
    circuit_breaker.failed(later_one, &broken(), at(1), &mut Jitter::new(3));
    let before = later(START, Duration::from_millis(7_320));
    assert_eq!(until(&circuit_breaker), end, "earlier calls neither close it nor shorten the pause");
    for scope in [CallScope::Read, CallScope::List] {
        assert!(circuit_breaker.admit(before, scope).is_err());
    }
    assert!(circuit_breaker.admit(end, CallScope::Read).is_err(), "a list tries first");
    let probe = permit(&circuit_breaker, end);
    circuit_breaker.succeeded(probe);
    assert!(is_closed(&circuit_breaker));
}

#[test]
fn a_later_retry_after_extends_the_pause_and_a_tiny_one_is_no_hot_loop() {
    let mut circuit_breaker = CircuitBreaker::default();
    let second = permit(&circuit_breaker, START);
    fail(&mut circuit_breaker, &retry_after(answered(429, None), 2_000), START);
    circuit_breaker.failed(second, &retry_after(answered(429, None), 9_000), START, &mut Jitter::new(3));
    assert_eq!(until(&circuit_breaker), at(9));

    let mut circuit_breaker = CircuitBreaker::default();
    let second = permit(&circuit_breaker, START);
    fail(&mut circuit_breaker, &retry_after(answered(429, None), 9_000), START);
    circuit_breaker.failed(second, &retry_after(answered(429, None), 2_000), START, &mut Jitter::new(3));
    assert_eq!(until(&circuit_breaker), at(9), "and a shorter one does not shorten it");

    let mut circuit_breaker = CircuitBreaker::default();
    fail(&mut circuit_breaker, &retry_after(failure(Failure::HeldBack), 3), START);
    assert_eq!(until(&circuit_breaker), later(START, Duration::from_millis(3)), "the rest of a pause is kept as it is");

    let mut circuit_breaker = CircuitBreaker::default();
    fail(&mut circuit_breaker, &retry_after(answered(429, None), 0), START);
    assert!(until(&circuit_breaker) >= later(START, FIRST_PAUSE.mul_f64(0.75)));
}

#[test]
fn only_a_later_success_ends_an_outage_that_needs_a_user() {
    for error in [failure(Failure::CredentialsRefused), answered(403, None)] {
        let mut circuit_breaker = CircuitBreaker::default();
        let earlier = permit(&circuit_breaker, START);
        fail(&mut circuit_breaker, &error, START);
        circuit_breaker.succeeded(earlier);
        assert!(until(&circuit_breaker) >= later(START, UNTIL_REPAIRED), "{error}");
        assert!(until(&circuit_breaker) <= later(START, UNTIL_REPAIRED.mul_f64(1.1)), "{error}");
        let again = until(&circuit_breaker);
        let probe = permit(&circuit_breaker, again);
        circuit_breaker.succeeded(probe);
        assert_eq!(circuit_breaker.health(), Health::Good { last_poll: again }, "{error}");
    }
}

#[test]
fn health_reports_lasting_outages() {
    let mut circuit_breaker = CircuitBreaker::default();
    assert_eq!(circuit_breaker.health(), Health::Unknown);
    fail(&mut circuit_breaker, &broken(), START);
    assert!(matches!(circuit_breaker.health(), Health::Failing(_)), "no call has succeeded yet");

    let mut circuit_breaker = CircuitBreaker::default();
    let good = permit(&circuit_breaker, START);
    circuit_breaker.succeeded(good);
    assert_eq!(circuit_breaker.health(), Health::Good { last_poll: START });
    fail(&mut circuit_breaker, &broken(), at(1));
    assert_eq!(circuit_breaker.health(), Health::Good { last_poll: START }, "may be over in a second");
    fail(&mut circuit_breaker, &broken(), at(2));
    assert!(matches!(circuit_breaker.health(), Health::Failing(outage) if outage.since == at(1)));

    let mut circuit_breaker = CircuitBreaker::default();
    let good = permit(&circuit_breaker, START);
    circuit_breaker.succeeded(good);
    fail(&mut circuit_breaker, &retry_after(answered(429, None), 10_000), at(1));
    assert!(matches!(circuit_breaker.health(), Health::Failing(outage) if outage.kind == OutageKind::Throttled));
}
