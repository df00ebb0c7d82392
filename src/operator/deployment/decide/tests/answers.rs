//! `apply_response`: every kind of call, first and repeated, with every response.

use std::time::Duration;

use super::build::{self, Fixture, NOW, Stored, ago, creating, live, redeploying, stored};
use crate::operator::deployment::decide::{
    Accepted, AppliedResponse, Call, CallKind, Cause, Outcome, Pause, Refused, Response, TransientState, apply_response,
};
use crate::operator::deployment::persisted::{OperationType, Phase};

use OperationType::{Create, Recreate, Redeploy, Undeploy};
use Response::{Duplicate, NotFound, Retryable, Unknown};
use clock::later;

/// The call of an operation was sent.
fn sent(kind: OperationType) -> Fixture {
    match kind {
        Create => creating(),
        Redeploy => redeploying(),
        Undeploy | Recreate => live().begins(kind),
    }
}

fn cause() -> Cause {
    build::cause(&live())
}

/// Applies a response to the call of this operation, which was sent for this cause.
fn apply(fixture: &Fixture, cause: Cause, answer: &Response) -> AppliedResponse {
    let kind = match fixture.persisted.operation.as_ref().map_or(Redeploy, |operation| operation.kind) {
        Create => CallKind::Create,
        Redeploy => CallKind::Redeploy,
        Undeploy => CallKind::Undeploy,
        Recreate => CallKind::Recreate,
    };
    apply_response(&fixture.persisted, &fixture.transient, &Call { kind, cause }, answer, NOW)
}

fn accepted(phase: Phase) -> Response {
    Response::Accepted(Accepted { id: "id-7".into(), phase })
}

/// What a response leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Goes,
    /// The operation is removed; the refused call is not repeated soon.
    Refused,
    /// The operation stays; the refused call is not repeated soon.
    RefusedAgain,
    /// The operation is removed; the same call may succeed after a pause.
    Pauses,
    Stays,
    KeyTaken,
    Released,
}

fn then(after: &AppliedResponse) -> Then {
    let AppliedResponse { persisted, transient, remove_finalizer, outcome } = after;
    match (&transient.refused, transient.pause, stored(persisted)) {
        _ if *remove_finalizer => Then::Released,
        (None, None, Stored::Nothing) if *outcome == Outcome::KeyTaken => Then::KeyTaken,
        (Some(refused), None, Stored::Nothing) if refused.cause == cause() => Then::Refused,
        (Some(refused), None, Stored::Planned) if refused.cause == cause() => Then::RefusedAgain,
        (None, Some(_), Stored::Nothing) => Then::Pauses,
        (None, None, Stored::Accepted) => Then::Goes,
        (None, None, Stored::Planned) => Then::Stays,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_response_to_every_call() {
    let deployed = &accepted(Phase::Deployed);
    for (kind, answer, first, repeated) in [
        (Create, deployed, Then::Goes, Then::Goes),
        (Create, &Response::Refused, Then::Refused, Then::RefusedAgain),
        (Create, &Retryable, Then::Pauses, Then::Stays),
        (Create, &Duplicate, Then::KeyTaken, Then::Stays),
        (Create, &NotFound, Then::Refused, Then::RefusedAgain),
        (Create, &Unknown, Then::Stays, Then::Stays),
        (Redeploy, deployed, Then::Goes, Then::Goes),
        (Redeploy, &Response::Refused, Then::Refused, Then::RefusedAgain),
        (Redeploy, &Retryable, Then::Pauses, Then::Stays),
        (Redeploy, &Duplicate, Then::Refused, Then::RefusedAgain),
        (Redeploy, &NotFound, Then::Pauses, Then::Stays),
        (Redeploy, &Unknown, Then::Stays, Then::Stays),
        (Undeploy, deployed, Then::Goes, Then::Goes),
        (Undeploy, &Response::Refused, Then::Refused, Then::RefusedAgain),
        (Undeploy, &Retryable, Then::Pauses, Then::Stays),
        (Undeploy, &Duplicate, Then::Refused, Then::RefusedAgain),
        (Undeploy, &NotFound, Then::Released, Then::Released),
        (Undeploy, &Unknown, Then::Stays, Then::Stays),
        (Recreate, deployed, Then::Goes, Then::Goes),
        (Recreate, &Response::Refused, Then::Refused, Then::RefusedAgain),
        (Recreate, &Retryable, Then::Pauses, Then::Stays),
        (Recreate, &Duplicate, Then::Refused, Then::RefusedAgain),
        (Recreate, &NotFound, Then::Goes, Then::Goes),
        (Recreate, &Unknown, Then::Stays, Then::Stays),
    ] {
        for (attempt, expected) in [(1, first), (2, repeated)] {
            let after = apply(&sent(kind).attempt(attempt), cause(), answer);
            assert_eq!(then(&after), expected, "{kind:?} {answer:?}, attempt {attempt}");
        }
    }
}

#[test]
fn an_accepted_call_is_noted_with_what_its_response_shows() {
    for (kind, phase, id, busy, unverified) in [
        (Create, Phase::Queued, "id-7", true, false),
        (Create, Phase::Draft, "id-7", false, false),
        (Redeploy, Phase::Deploying, "id-1", true, false),
        (Redeploy, Phase::Deployed, "id-1", false, false),
        (Undeploy, Phase::Queued, "id-1", true, true),
        (Recreate, Phase::Queued, "id-1", true, true),
    ] {
        let fixture = sent(kind).with(|it| it.persisted.unverified = true);
        let persisted = apply(&fixture, cause(), &accepted(phase)).persisted;
        assert_eq!(persisted.id.as_deref(), Some(id), "{kind:?}: only the response to a create sets the id");
        assert_eq!(persisted.unverified, unverified, "{kind:?}: values that arrived are verified");
        assert_eq!(persisted.operation.expect("an operation runs").seen_busy, busy, "{kind:?} {phase:?}");
    }
}

#[test]
fn a_refused_write_is_repeated_after_ten_minutes_doubling_to_an_hour() {
    let mut fixture = redeploying();
    for (times, minutes) in [(1, 10), (2, 20), (3, 40), (4, 60), (5, 60)] {
        fixture.transient = apply(&fixture, cause(), &Response::Refused).transient;
        let until = later(NOW, Duration::from_mins(minutes));
        assert_eq!(fixture.transient.refused, Some(Refused { cause: cause(), until, times }));
    }
    let other = Cause { generation: 2, ..cause() };
    let refused = Refused { cause: other.clone(), until: later(NOW, Duration::from_mins(10)), times: 1 };
    let after = apply(&fixture, other, &Response::Refused).transient;
    assert_eq!(after.refused, Some(refused), "another cause begins with the first pause");
    assert_eq!(apply(&fixture, cause(), &accepted(Phase::Queued)).transient.refused, None);
}

#[test]
fn a_refusal_that_passes_by_itself_is_repeated_after_five_seconds_doubling_to_a_minute() {
    let mut fixture = sent(Undeploy);
    for (times, seconds) in [(1, 5), (2, 10), (3, 20), (4, 40), (5, 60), (6, 60)] {
        fixture.transient = apply(&fixture, cause(), &Retryable).transient;
        assert_eq!(fixture.transient.pause, Some(Pause { until: later(NOW, Duration::from_secs(seconds)), times }));
    }
    assert_eq!(apply(&fixture, cause(), &accepted(Phase::Undeploying)).transient.pause, None);
}

#[test]
fn a_response_without_an_operation_changes_nothing() {
    let transient = TransientState { absent_since: Some(ago(3)), ..TransientState::default() };
    let fixture = Fixture { transient, ..live() };
    let after = apply(&fixture, cause(), &Response::Refused);
    let Fixture { persisted, transient, .. } = fixture;
    assert_eq!(after, AppliedResponse { persisted, transient, remove_finalizer: false, outcome: Outcome::Released });
}

#[test]
fn rule_15_a_move_to_the_latest_version_that_did_not_happen_is_still_due() {
    for (answer, attempt, followed) in [
        (accepted(Phase::Queued), 1, Some(3)),
        (Unknown, 1, Some(3)),
        (Response::Refused, 1, None),
        (Retryable, 1, None),
        (NotFound, 1, None),
        // A repeated call that was not accepted proves nothing about the first one.
        (Retryable, 2, Some(3)),
    ] {
        let fixture = redeploying().attempt(attempt).with(|it| it.persisted.followed = Some(3));
        let persisted = apply(&fixture, cause(), &answer).persisted;
        assert_eq!(persisted.followed, followed, "{answer:?}, attempt {attempt}");
    }
}
