//! `answered`: every kind of call, first and repeated, with every answer.

use std::time::Duration;

use super::build::{NOW, Scene, Stored, ago, operation, stored, wanted};
use crate::controllers::connector_deployment::decide::{
    Answer, Call, CallKind, Cause, Memory, Outcome, Pause, Refused, answered,
};
use crate::controllers::connector_deployment::ledger::{Ledger, OperationKind, Phase};

use OperationKind::{Create, Recreate, Redeploy, Undeploy};
use clock::later;

fn cause() -> Cause {
    Cause { digest: wanted("1", "secret").payload.digest, generation: 1, request: None, latest: None }
}

fn ledger(kind: OperationKind) -> Ledger {
    match kind {
        Create => Scene::creating().ledger,
        Redeploy => Scene::redeploying().ledger,
        Undeploy | Recreate => Ledger { operation: Some(operation(kind, None)), ..Scene::live().ledger },
    }
}

fn call(kind: OperationKind, first: bool) -> Call {
    let id = "id-1".to_owned();
    let kind = match kind {
        Create => CallKind::Create { gone: None },
        Redeploy => CallKind::Redeploy { id, version: 5, update_connector: false },
        Undeploy => CallKind::Undeploy { id },
        Recreate => CallKind::Recreate { id },
    };
    Call { kind, first }
}

fn take_in(kind: OperationKind, first: bool, answer: &Answer, memory: &Memory) -> Outcome {
    answered(&ledger(kind), memory, &call(kind, first), Some(cause()), answer, NOW)
}

fn accepted(phase: Phase) -> Answer {
    Answer::Accepted { id: "id-7".into(), phase }
}

/// What an answer leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Goes,
    /// The operation is removed, or stays if `false`; a refusal that is not repeated soon.
    Refused(bool),
    /// The operation is removed; the same may work in a moment.
    Pauses,
    Stays,
    KeyTaken,
    Released,
}

fn then(kind: OperationKind, outcome: &Outcome) -> Then {
    let removed = stored(&outcome.ledger) == Stored::Nothing;
    match (&outcome.memory.refused, outcome.memory.pause, stored(&outcome.ledger)) {
        _ if outcome.release => Then::Released,
        _ if outcome.key_taken => {
            assert!(removed);
            Then::KeyTaken
        }
        (Some(refused), None, _) => {
            assert_eq!(refused.cause, (kind != Undeploy).then(cause), "an undeploy has no cause");
            Then::Refused(removed)
        }
        (None, Some(_), Stored::Nothing) => Then::Pauses,
        (None, None, Stored::Accepted) => Then::Goes,
        (None, None, Stored::Planned) => Then::Stays,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_answer_to_every_call() {
    let deployed = accepted(Phase::Deployed);
    for (kind, answer, first, repeated) in [
        (Create, &deployed, Then::Goes, Then::Goes),
        (Create, &Answer::Refused, Then::Refused(true), Then::Refused(false)),
        (Create, &Answer::NotNow, Then::Pauses, Then::Stays),
        (Create, &Answer::Duplicate, Then::KeyTaken, Then::Stays),
        (Create, &Answer::NotFound, Then::Refused(true), Then::Refused(false)),
        (Create, &Answer::Unknown, Then::Stays, Then::Stays),
        (Redeploy, &deployed, Then::Goes, Then::Goes),
        (Redeploy, &Answer::Refused, Then::Refused(true), Then::Refused(false)),
        (Redeploy, &Answer::NotNow, Then::Pauses, Then::Stays),
        (Redeploy, &Answer::Duplicate, Then::Refused(true), Then::Refused(false)),
        (Redeploy, &Answer::NotFound, Then::Pauses, Then::Stays),
        (Redeploy, &Answer::Unknown, Then::Stays, Then::Stays),
        (Undeploy, &deployed, Then::Goes, Then::Goes),
        (Undeploy, &Answer::Refused, Then::Refused(true), Then::Refused(false)),
        (Undeploy, &Answer::NotNow, Then::Pauses, Then::Stays),
        (Undeploy, &Answer::Duplicate, Then::Refused(true), Then::Refused(false)),
        (Undeploy, &Answer::NotFound, Then::Released, Then::Released),
        (Undeploy, &Answer::Unknown, Then::Stays, Then::Stays),
        (Recreate, &deployed, Then::Goes, Then::Goes),
        (Recreate, &Answer::Refused, Then::Refused(true), Then::Refused(false)),
        (Recreate, &Answer::NotNow, Then::Pauses, Then::Stays),
        (Recreate, &Answer::Duplicate, Then::Refused(true), Then::Refused(false)),
        (Recreate, &Answer::NotFound, Then::Goes, Then::Goes),
        (Recreate, &Answer::Unknown, Then::Stays, Then::Stays),
    ] {
        for (is_first, expected) in [(true, first), (false, repeated)] {
            let outcome = take_in(kind, is_first, answer, &Memory::default());
            assert_eq!(then(kind, &outcome), expected, "{kind:?} {answer:?}, first: {is_first}");
        }
    }
}

#[test]
fn an_accepted_call_is_noted_with_what_its_answer_shows() {
    for (kind, phase, id, busy) in [
        (Create, Phase::Queued, "id-7", true),
        (Create, Phase::Draft, "id-7", false),
        (Redeploy, Phase::Deploying, "id-1", true),
        (Redeploy, Phase::Deployed, "id-1", false),
        (Undeploy, Phase::Undeploying, "id-1", true),
    ] {
        let ledger = take_in(kind, true, &accepted(phase), &Memory::default()).ledger;
        assert_eq!(ledger.id.as_deref(), Some(id), "{kind:?}: an id is taken over from the answer to a create only");
        assert_eq!(ledger.operation.expect("it runs").seen_busy, busy, "{kind:?} {phase:?}");
    }
}

#[test]
fn an_accepted_create_or_redeploy_verifies_the_secrets() {
    for (kind, unverified) in [(Create, false), (Redeploy, false), (Undeploy, true), (Recreate, true)] {
        let ledger = Ledger { unverified: true, ..ledger(kind) };
        let answer = accepted(Phase::Queued);
        let outcome = answered(&ledger, &Memory::default(), &call(kind, true), None, &answer, NOW);
        assert_eq!(outcome.ledger.unverified, unverified, "{kind:?}");
    }
}

#[test]
fn a_refused_write_is_repeated_after_ten_minutes_doubling_to_an_hour() {
    let mut memory = Memory::default();
    for (times, minutes) in [(1, 10), (2, 20), (3, 40), (4, 60), (5, 60)] {
        memory = take_in(Redeploy, true, &Answer::Refused, &memory).memory;
        let until = later(NOW, Duration::from_mins(minutes));
        assert_eq!(memory.refused, Some(Refused { cause: Some(cause()), until, times }));
    }
    let other = Some(Cause { generation: 2, ..cause() });
    let outcome = answered(&ledger(Redeploy), &memory, &call(Redeploy, true), other.clone(), &Answer::Refused, NOW);
    let until = later(NOW, Duration::from_mins(10));
    assert_eq!(outcome.memory.refused, Some(Refused { cause: other, until, times: 1 }), "another cause begins anew");
    let outcome = take_in(Redeploy, true, &accepted(Phase::Queued), &memory);
    assert_eq!(outcome.memory.refused, None);
}

#[test]
fn what_passes_by_itself_is_repeated_after_five_seconds_doubling_to_a_minute() {
    let mut memory = Memory::default();
    for (times, seconds) in [(1, 5), (2, 10), (3, 20), (4, 40), (5, 60), (6, 60)] {
        memory = take_in(Undeploy, true, &Answer::NotNow, &memory).memory;
        assert_eq!(memory.pause, Some(Pause { until: later(NOW, Duration::from_secs(seconds)), times }));
    }
    assert_eq!(take_in(Undeploy, true, &accepted(Phase::Undeploying), &memory).memory.pause, None);
}

#[test]
fn an_answer_without_an_operation_changes_nothing() {
    let ledger = Scene::live().ledger;
    let memory = Memory { absent_since: Some(ago(3)), ..Memory::default() };
    let outcome = answered(&ledger, &memory, &call(Redeploy, true), None, &Answer::Refused, NOW);
    assert_eq!(outcome, Outcome { ledger, memory, release: false, key_taken: false });
}

#[test]
fn rule_15_a_move_to_the_latest_version_that_did_not_happen_is_still_to_be_made() {
    let memory = Memory { followed: Some(3), ..Memory::default() };
    for (answer, first, followed) in [
        (accepted(Phase::Queued), true, Some(3)),
        (Answer::Unknown, true, Some(3)),
        (Answer::Refused, true, None),
        (Answer::NotNow, true, None),
        (Answer::NotFound, true, None),
        // Of the first call it says nothing.
        (Answer::NotNow, false, Some(3)),
    ] {
        let outcome = take_in(Redeploy, first, &answer, &memory);
        assert_eq!(outcome.memory.followed, followed, "{answer:?}, first: {first}");
    }
}
