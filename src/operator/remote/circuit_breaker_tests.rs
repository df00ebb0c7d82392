use super::*;
use crate::operator::remote::testing::{START, at};
use crate::operator::testing::{answered, coded, failure, retry_after};

/// The circuit breaker of a service that works; `false`: of one that was not called yet.
fn closed(has_worked: bool) -> CircuitBreaker {
    let mut circuit_breaker = CircuitBreaker::default();
    if has_worked {
        circuit_breaker.succeeded(permit(&circuit_breaker, START));
    }
    circuit_breaker
}

/// Permits a read, or a list that tries whether an outage is over.
fn permit(circuit_breaker: &CircuitBreaker, now: Timestamp) -> Permit {
    let list = circuit_breaker.admit(now, CallScope::List).expect("the circuit breaker lets this call pass");
    circuit_breaker.admit(now, CallScope::Read).unwrap_or(list)
}

impl CircuitBreaker {
    fn is_closed(&self) -> bool {
        self.outage.is_none()
    }

    /// Opens it at `now`, after a call that is sent now.
    fn fail(&mut self, error: &ApiError, now: Timestamp) {
        self.fails(permit(self, now), error, now);
    }

    fn fails(&mut self, permit: Permit, error: &ApiError, now: Timestamp) {
        self.failed(permit, error, now, &mut Jitter::new(3));
    }

    fn until(&self) -> Timestamp {
        self.outage.as_ref().expect("the circuit breaker is open").until
    }
}

#[test]
fn an_error_concerns_the_remote_or_the_caller() {
    use CallEffect::{Answered, NotThere, Nothing, Outage};
    use CallScope::{Extra, List, Other, Read};
    use ErrorCode::{AuthorizationError, General, InvalidPathParam, ResourceNotFound};
    const UNAVAILABLE: CallEffect = Outage(OutageKind::Unavailable);
    const NOT_FOUND: CallEffect = Outage(OutageKind::ProjectNotFound);
    const REJECTED: CallEffect = Outage(OutageKind::CredentialsRejected);
    const MISSING: CallEffect = Outage(OutageKind::PermissionMissing);
    const THROTTLED: CallEffect = Outage(OutageKind::Throttled);
    let transition = ErrorCode::DeploymentInvalidStatusTransition;
    let held_back = retry_after(failure(Failure::HeldBack), 5_000);
    let pauses = retry_after(answered(503), 5_000);
    for (case, error, scope, expected) in [
        ("no connection", failure(Failure::NotSent), Other, UNAVAILABLE),
        ("time-out", failure(Failure::NoAnswer), Read, UNAVAILABLE),
        ("HTML with status 200", failure(Failure::Unreadable), Read, UNAVAILABLE),
        ("gateway", answered(502), Other, UNAVAILABLE),
        ("server failed", coded(500, General), Other, UNAVAILABLE),
        ("failed after saving, as a 400", coded(400, General), Other, Answered),
        ("404 of a gateway", answered(404), Read, UNAVAILABLE),
        ("404 of the service to a write", coded(404, ResourceNotFound), Other, Answered),
        ("404 of the service to a read", coded(404, ResourceNotFound), Read, UNAVAILABLE),
        ("no list", coded(404, ResourceNotFound), List, NOT_FOUND),
        ("no such path", coded(400, InvalidPathParam), List, NotThere),
        ("no list, 404 of a gateway", answered(404), List, NotThere),
        ("no list, with an unknown code", coded(404, "NoSuchProject"), List, NotThere),
        ("no such path, 400 of a gateway", answered(400), List, NotThere),
        ("gone, 410 of a gateway", answered(410), List, NotThere),
        ("a query that is wrong", coded(400, ErrorCode::InvalidQueryParam), List, UNAVAILABLE),
        ("no right to list", coded(403, AuthorizationError), List, MISSING),
        ("no right to list, as a 400", coded(400, AuthorizationError), List, MISSING),
        ("a list is redirected", answered(302), List, UNAVAILABLE),
        ("a list that fails", coded(500, General), List, UNAVAILABLE),
        ("a list that is throttled", answered(429), List, THROTTLED),
        ("a list without a token", answered(401), List, REJECTED),
        ("busy", coded(400, transition), Other, Answered),
        ("conflict", coded(409, ErrorCode::ConcurrentModification), Other, Answered),
        ("wrong draft", coded(400, ErrorCode::InvalidJsonInput), Other, Answered),
        ("a read is refused", coded(400, InvalidPathParam), Read, UNAVAILABLE),
        ("may not read", coded(403, AuthorizationError), Read, MISSING),
        ("may not read, 403 of a gateway", answered(403), Read, MISSING),
        ("may not deploy", coded(403, AuthorizationError), Other, Answered),
        ("token refused", answered(401), Other, REJECTED),
        ("secret refused", failure(Failure::CredentialsRefused), Read, REJECTED),
        ("throttled", answered(429), Other, THROTTLED),
        ("down for a while", pauses.clone(), Read, THROTTLED),
        ("throttled for a token", retry_after(failure(Failure::NotSent), 5_000), Read, THROTTLED),
        ("the registry fails", coded(500, General), Extra, Nothing),
        ("the registry does not answer", failure(Failure::NoAnswer), Extra, Nothing),
        ("the registry answers something unreadable", failure(Failure::Unreadable), Extra, Nothing),
        ("may not search", coded(403, AuthorizationError), Extra, Answered),
        ("the registry throttles", answered(429), Extra, Nothing),
        ("the registry asks for a pause", pauses, Extra, Nothing),
        ("the token is refused there, too", answered(401), Extra, Nothing),
        ("held back by the client", held_back.clone(), Read, THROTTLED),
        ("the registry, too", held_back, Extra, THROTTLED),
    ] {
        assert_eq!(effect(&error, scope), expected, "{case}");
    }
}

#[test]
fn pauses_grow_with_each_failed_probe_up_to_a_minute_and_restart_after_a_success() {
    let (mut circuit_breaker, mut now) = (closed(false), START);
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
        circuit_breaker.fail(&answered(503), now);
        let (whole, pause) = (Duration::from_secs(seconds), clock::between(now, circuit_breaker.until()));
        assert!(pause <= whole && pause >= whole.mul_f64(0.75), "{seconds} s: {pause:?}");
        now = circuit_breaker.until();
    }
    circuit_breaker.succeeded(permit(&circuit_breaker, now));
    assert!(circuit_breaker.is_closed());
    circuit_breaker.fail(&answered(503), now);
    assert_eq!(circuit_breaker.until(), later(now, ONE_FAILURE), "one of few");
    now = circuit_breaker.until();
    circuit_breaker.fail(&answered(503), now);
    assert!(circuit_breaker.until() > later(now, FIRST_PAUSE), "two in a row");
}

#[test]
fn the_first_failure_pauses_for_a_moment_only_if_nothing_else_was_requested() {
    let (moment, first) = ((ONE_FAILURE, ONE_FAILURE), (FIRST_PAUSE.mul_f64(0.75), FIRST_PAUSE));
    let user = (UNTIL_REPAIRED, UNTIL_REPAIRED.mul_f64(1.1));
    let asked = |milliseconds| (Duration::from_millis(milliseconds), Duration::from_millis(milliseconds));
    for (case, has_worked, error, (least, most)) in [
        ("a service that has worked", true, answered(503), moment),
        ("a service that has not", false, answered(503), first),
        ("throttled", true, answered(429), first),
        ("a short pause was requested", true, retry_after(answered(503), 300), first),
        ("no pause was requested", false, retry_after(answered(429), 0), first),
        ("a pause was requested", true, retry_after(answered(429), 7_321), asked(7_321)),
        ("the rest of a pause is kept as it is", true, retry_after(failure(Failure::HeldBack), 3), asked(3)),
        ("the credentials are refused", true, failure(Failure::CredentialsRefused), user),
        ("a right is missing", true, answered(403), user),
    ] {
        let mut circuit_breaker = closed(has_worked);
        circuit_breaker.fail(&error, START);
        let pause = clock::between(START, circuit_breaker.until());
        assert!(pause >= least && pause <= most, "{case}: {pause:?}");
    }
}

/// A list at `now`, which is answered by that error or by a page.
fn list(circuit_breaker: &mut CircuitBreaker, answer: Option<&ApiError>, now: Timestamp) {
    let permit = circuit_breaker.admit(now, CallScope::List).expect("the circuit breaker lets this call pass");
    match answer {
        Some(error) => circuit_breaker.fails(permit, error, now),
        None => circuit_breaker.succeeded(permit),
    }
}

#[test]
fn only_a_page_ends_the_outage_of_a_project_whose_list_is_refused() {
    let (missing, gateway) = (coded(404, ErrorCode::ResourceNotFound), answered(404));
    for (case, answer, tries, expected) in [
        ("the code says so", &missing, 1, OutageKind::ProjectNotFound),
        ("a gateway may recover", &gateway, TIMES_NOT_THERE - 1, OutageKind::Unavailable),
        ("it does not", &gateway, TIMES_NOT_THERE, OutageKind::ProjectNotFound),
    ] {
        let (mut circuit_breaker, mut now, mut before) = (closed(true), START, START);
        for _ in 0..tries {
            list(&mut circuit_breaker, Some(answer), now);
            (before, now) = (now, circuit_breaker.until());
            assert!(circuit_breaker.admit(now, CallScope::Read).is_err(), "{case}: a list tries first");
        }
        assert_eq!(circuit_breaker.outage().map(|outage| outage.kind), Some(expected), "{case}");
        let repaired = clock::between(before, now) >= UNTIL_REPAIRED;
        assert_eq!(repaired, expected == OutageKind::ProjectNotFound, "{case}");
        list(&mut circuit_breaker, None, now);
        assert!(circuit_breaker.is_closed(), "{case}: a page");
    }
}

#[test]
fn rule_11_only_the_pause_after_a_refusal_ends_on_request() {
    for (case, answer, is_listed) in [
        ("refused credentials", failure(Failure::CredentialsRefused), true),
        ("a missing right", coded(403, ErrorCode::AuthorizationError), true),
        ("a failure", answered(503), false),
        ("a pause that was asked for", retry_after(answered(429), 60_000), false),
    ] {
        let mut circuit_breaker = closed(false);
        list(&mut circuit_breaker, Some(&answer), START);
        circuit_breaker.try_again(START);
        assert_eq!(circuit_breaker.admit(START, CallScope::List).is_ok(), is_listed, "{case}");
        assert!(circuit_breaker.admit(START, CallScope::Read).is_err(), "{case}: a list tries first");
    }
}

#[test]
fn calls_that_fail_together_count_as_one_failure() {
    let mut circuit_breaker = closed(false);
    for permit in [permit(&circuit_breaker, START); 16] {
        circuit_breaker.fails(permit, &answered(503), START);
    }
    assert!(circuit_breaker.until() <= later(START, FIRST_PAUSE));
}

#[test]
fn a_pause_that_was_asked_for_is_kept_whatever_else_is_answered() {
    let asked = |milliseconds| retry_after(answered(429), milliseconds);
    for (case, first, second, milliseconds) in [
        ("a failure without a pause", asked(7_321), answered(503), 7_321),
        ("a longer pause", asked(2_000), asked(9_000), 9_000),
        ("a shorter pause", asked(9_000), asked(2_000), 9_000),
    ] {
        let mut circuit_breaker = closed(false);
        let earlier = permit(&circuit_breaker, START);
        circuit_breaker.fail(&first, START);
        circuit_breaker.succeeded(earlier);
        circuit_breaker.fails(earlier, &second, START);
        let end = later(START, Duration::from_millis(milliseconds));
        assert_eq!(circuit_breaker.until(), end, "{case}");
        let before = later(START, Duration::from_millis(milliseconds - 1));
        for scope in [CallScope::Read, CallScope::List] {
            assert!(circuit_breaker.admit(before, scope).is_err(), "{case}");
        }
        assert!(circuit_breaker.admit(end, CallScope::Read).is_err(), "{case}: a list tries first");
        circuit_breaker.succeeded(permit(&circuit_breaker, end));
        assert!(circuit_breaker.is_closed(), "{case}");
        assert_eq!(circuit_breaker.health(), Health::Good { last_poll: end }, "{case}");
    }
}

#[test]
fn health_reports_lasting_outages() {
    assert_eq!(closed(false).health(), Health::Unknown);
    for (case, has_worked, errors, is_reported) in [
        ("no call has succeeded yet", false, vec![answered(503)], true),
        ("one that may be over in a second", true, vec![answered(503)], false),
        ("two in a row", true, vec![answered(503), answered(503)], true),
        ("a long pause", true, vec![retry_after(answered(429), 10_000)], true),
    ] {
        let mut circuit_breaker = closed(has_worked);
        for (second, error) in (0..).zip(&errors) {
            circuit_breaker.fail(error, at(second));
        }
        assert_eq!(matches!(circuit_breaker.health(), Health::Failing(_)), is_reported, "{case}");
    }
}
