//! `apply_response`: every kind of call, first and repeated, with every response.

use std::time::Duration;

use super::build::{Fixture, NOW, Stored, ago, operation, stored, wanted};
use crate::operator::deployment::decide::{
    Accepted, AppliedResponse, Call, CallKind, Cause, Outcome, Pause, Refused, Response, TransientState, apply_response,
};
use crate::operator::deployment::persisted::{OperationType, PersistedState, Phase};

use OperationType::{Create, Recreate, Redeploy, Undeploy};
use clock::later;

fn cause() -> Cause {
    Cause { digest: Some(wanted("1", "secret").payload.digest), generation: 1, request: None, latest: None }
}

fn persisted(kind: OperationType) -> PersistedState {
    match kind {
        Create => Fixture::creating().persisted,
        Redeploy => Fixture::redeploying().persisted,
        Undeploy | Recreate => PersistedState { operation: Some(operation(kind, None)), ..Fixture::live().persisted },
    }
}

fn call(kind: OperationType) -> Call {
    let kind = match kind {
        Create => CallKind::Create,
        Redeploy => CallKind::Redeploy,
        Undeploy => CallKind::Undeploy,
        Recreate => CallKind::Recreate,
    };
    Call { kind, cause: cause() }
}

fn take_in(kind: OperationType, first: bool, answer: &Response, transient: &TransientState) -> AppliedResponse {
    apply_response(&nth(persisted(kind), first), transient, &call(kind), answer, NOW)
}

/// Returns the state before the first call of its operation, or before a repeated one.
fn nth(mut persisted: PersistedState, first: bool) -> PersistedState {
    persisted.operation.as_mut().expect("an operation is persisted").attempt = if first { 1 } else { 2 };
    persisted
}

fn accepted(phase: Phase) -> Response {
    Response::Accepted(Accepted { id: "id-7".into(), phase })
}

/// What a response leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Goes,
    /// The operation is removed, or stays if `false`; the refused call is not repeated soon.
    Refused(bool),
    /// The operation is removed; the same call may succeed after a pause.
    Pauses,
    Stays,
    KeyTaken,
    Released,
}

fn then(kind: OperationType, outcome: &AppliedResponse) -> Then {
    let removed = stored(&outcome.persisted) == Stored::Nothing;
    match (&outcome.transient.refused, outcome.transient.pause, stored(&outcome.persisted)) {
        _ if outcome.remove_finalizer => Then::Released,
        _ if outcome.outcome == Outcome::KeyTaken => {
            assert!(removed);
            Then::KeyTaken
        }
        (Some(refused), None, _) => {
            assert_eq!(refused.cause, cause(), "{kind:?}");
            Then::Refused(removed)
        }
        (None, Some(_), Stored::Nothing) => Then::Pauses,
        (None, None, Stored::Accepted) => Then::Goes,
        (None, None, Stored::Planned) => Then::Stays,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_response_to_every_call() {
    let deployed = accepted(Phase::Deployed);
    for (kind, answer, first, repeated) in [
        (Create, &deployed, Then::Goes, Then::Goes),
        (Create, &Response::Refused, Then::Refused(true), Then::Refused(false)),
        (Create, &Response::Retryable, Then::Pauses, Then::Stays),
        (Create, &Response::Duplicate, Then::KeyTaken, Then::Stays),
        (Create, &Response::NotFound, Then::Refused(true), Then::Refused(false)),
        (Create, &Response::Unknown, Then::Stays, Then::Stays),
        (Redeploy, &deployed, Then::Goes, Then::Goes),
        (Redeploy, &Response::Refused, Then::Refused(true), Then::Refused(false)),
        (Redeploy, &Response::Retryable, Then::Pauses, Then::Stays),
        (Redeploy, &Response::Duplicate, Then::Refused(true), Then::Refused(false)),
        (Redeploy, &Response::NotFound, Then::Pauses, Then::Stays),
        (Redeploy, &Response::Unknown, Then::Stays, Then::Stays),
        (Undeploy, &deployed, Then::Goes, Then::Goes),
        (Undeploy, &Response::Refused, Then::Refused(true), Then::Refused(false)),
        (Undeploy, &Response::Retryable, Then::Pauses, Then::Stays),
        (Undeploy, &Response::Duplicate, Then::Refused(true), Then::Refused(false)),
        (Undeploy, &Response::NotFound, Then::Released, Then::Released),
        (Undeploy, &Response::Unknown, Then::Stays, Then::Stays),
        (Recreate, &deployed, Then::Goes, Then::Goes),
        (Recreate, &Response::Refused, Then::Refused(true), Then::Refused(false)),
        (Recreate, &Response::Retryable, Then::Pauses, Then::Stays),
        (Recreate, &Response::Duplicate, Then::Refused(true), Then::Refused(false)),
        (Recreate, &Response::NotFound, Then::Goes, Then::Goes),
        (Recreate, &Response::Unknown, Then::Stays, Then::Stays),
    ] {
        for (is_first, expected) in [(true, first), (false, repeated)] {
            let outcome = take_in(kind, is_first, answer, &TransientState::default());
            assert_eq!(then(kind, &outcome), expected, "{kind:?} {answer:?}, first: {is_first}");
        }
    }
}

#[test]
fn an_accepted_call_is_noted_with_what_its_response_shows() {
    for (kind, phase, id, busy) in [
        (Create, Phase::Queued, "id-7", true),
        (Create, Phase::Draft, "id-7", false),
        (Redeploy, Phase::Deploying, "id-1", true),
        (Redeploy, Phase::Deployed, "id-1", false),
    ] {
        let persisted = take_in(kind, true, &accepted(phase), &TransientState::default()).persisted;
        assert_eq!(persisted.id.as_deref(), Some(id), "{kind:?}: only the response to a create sets the id");
        assert_eq!(persisted.operation.expect("an operation runs").seen_busy, busy, "{kind:?} {phase:?}");
    }
}

#[test]
fn an_accepted_create_or_redeploy_verifies_the_secured_values() {
    for (kind, unverified) in [(Create, false), (Redeploy, false), (Undeploy, true), (Recreate, true)] {
        let persisted = PersistedState { unverified: true, ..persisted(kind) };
        let answer = accepted(Phase::Queued);
        let outcome = apply_response(&persisted, &TransientState::default(), &call(kind), &answer, NOW);
        assert_eq!(outcome.persisted.unverified, unverified, "{kind:?}");
    }
}

#[test]
fn a_refused_write_is_repeated_after_ten_minutes_doubling_to_an_hour() {
    let mut transient = TransientState::default();
    for (times, minutes) in [(1, 10), (2, 20), (3, 40), (4, 60), (5, 60)] {
        transient = take_in(Redeploy, true, &Response::Refused, &transient).transient;
        let until = later(NOW, Duration::from_mins(minutes));
        assert_eq!(transient.refused, Some(Refused { cause: cause(), until, times }));
    }
    let other = Cause { generation: 2, ..cause() };
    let another = Call { cause: other.clone(), ..call(Redeploy) };
    let outcome = apply_response(&persisted(Redeploy), &transient, &another, &Response::Refused, NOW);
    let until = later(NOW, Duration::from_mins(10));
    assert_eq!(
        outcome.transient.refused,
        Some(Refused { cause: other, until, times: 1 }),
        "another cause begins with the first pause"
    );
    let outcome = take_in(Redeploy, true, &accepted(Phase::Queued), &transient);
    assert_eq!(outcome.transient.refused, None);
}

#[test]
fn a_refusal_that_passes_by_itself_is_repeated_after_five_seconds_doubling_to_a_minute() {
    let mut transient = TransientState::default();
    for (times, seconds) in [(1, 5), (2, 10), (3, 20), (4, 40), (5, 60), (6, 60)] {
        transient = take_in(Undeploy, true, &Response::Retryable, &transient).transient;
        assert_eq!(transient.pause, Some(Pause { until: later(NOW, Duration::from_secs(seconds)), times }));
    }
    assert_eq!(take_in(Undeploy, true, &accepted(Phase::Undeploying), &transient).transient.pause, None);
}

#[test]
fn a_response_without_an_operation_changes_nothing() {
    let persisted = Fixture::live().persisted;
    let transient = TransientState { absent_since: Some(ago(3)), ..TransientState::default() };
    let outcome = apply_response(&persisted, &transient, &call(Redeploy), &Response::Refused, NOW);
    assert_eq!(outcome, AppliedResponse { persisted, transient, remove_finalizer: false, outcome: Outcome::Released });
}

#[test]
fn rule_15_a_move_to_the_latest_version_that_did_not_happen_is_still_due() {
    let persisted = PersistedState { followed: Some(3), ..persisted(Redeploy) };
    for (answer, first, followed) in [
        (accepted(Phase::Queued), true, Some(3)),
        (Response::Unknown, true, Some(3)),
        (Response::Refused, true, None),
        (Response::Retryable, true, None),
        (Response::NotFound, true, None),
        // A repeated call that was not accepted proves nothing about the first one.
        (Response::Retryable, false, Some(3)),
    ] {
        let (transient, persisted) = (TransientState::default(), nth(persisted.clone(), first));
        let outcome = apply_response(&persisted, &transient, &call(Redeploy), &answer, NOW);
        assert_eq!(outcome.persisted.followed, followed, "{answer:?}, first: {first}");
    }
}
