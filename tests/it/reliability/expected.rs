//! The expected result of each fault at each operation: the design's reactions, written by hand and not derived from
//! the code.

use super::cells::{Cell, Closed, Knows, Operation, Pause};
use super::faults::ReportedState::{
    Absent, AbsentPerhaps, Away, Broken, Conflict, Credentials, Fine, Fix, FixPerhaps, Forbidden, NotThere, Open,
    Passing, Taken, Throttled, Unreadable,
};
use super::faults::{Fault, Happened, ReportedState};
use crate::prelude::*;

/// A temporary state is read again after this time, doubling to a minute.
const SOON: Duration = Duration::from_secs(5);
/// A redeploy that is decided again gathers changes for this long.
const GATHERED: Duration = Duration::from_secs(2);
/// After a DELETE whose answer was lost, the remote is read, and the DELETE sent again, after this time, doubling to 5
/// minutes.
const AFTER_A_LOSS: Duration = Duration::from_secs(8);
/// After a redeploy whose answer was lost, the remote is read at once, and the redeploy is not sent again before this
/// time, doubling to 5 minutes.
const REDEPLOY_AFTER_A_LOSS: Duration = Duration::from_secs(10);
/// A create whose answer was lost is not sent again before this time: 2 L.
const CREATE_AFTER_A_LOSS: Duration = Duration::from_mins(1);
/// An accepted DELETE without an effect is sent again after this time.
const UNDEPLOY_AGAIN: Duration = Duration::from_secs(12);
/// A refused write is repeated after this time, doubling to an hour.
const REFUSED: Duration = Duration::from_mins(10);

const UNAVAILABLE: Closed = Closed { kind: OutageKind::Unavailable, pause: Pause::Moment };
const CREDENTIALS: Closed = Closed { kind: OutageKind::CredentialsRejected, pause: Pause::UntilRepaired };
const PROJECT: Closed = Closed { kind: OutageKind::ProjectNotFound, pause: Pause::UntilRepaired };
const PERMISSION: Closed = Closed { kind: OutageKind::PermissionMissing, pause: Pause::UntilRepaired };

/// Nothing follows.
fn known(knows: Knows) -> Cell {
    Cell { knows, again: None, reason: None, closed: None }
}

fn throttled(seconds: Option<u64>) -> Closed {
    let pause = seconds.map_or(Pause::Growing, |seconds| Pause::Asked(Duration::from_secs(seconds)));
    Closed { kind: OutageKind::Throttled, pause }
}

/// Returns the expected result of a fault at an operation.
pub(super) fn expected(operation: Operation, fault: &Fault) -> Cell {
    let says = if operation.needs_token() { fault.token } else { fault.says };
    match operation {
        Operation::List | Operation::ById | Operation::ByKey | Operation::TokenToLook => look(operation, says),
        Operation::ConnectorById | Operation::ConnectorByKey => Cell { closed: None, ..aside(says) },
        Operation::StagedById | Operation::StagedByKey => aside(says),
        Operation::Create => change(operation, Reason::Creating, says),
        Operation::Redeploy => change(operation, Reason::Redeploying, says),
        Operation::TokenToChange => without_a_token(says),
        Operation::Undeploy => change(operation, Reason::Undeploying, says),
    }
}

/// Nothing works without reads, so any failure of them concerns the whole project.
fn look(operation: Operation, says: ReportedState) -> Cell {
    let fails =
        |reason, closed| Cell { knows: Knows::Nothing, again: None, reason: Some(reason), closed: Some(closed) };
    match says {
        Fine => known(Knows::Worked),
        // A list that does not exist is no answer about a deployment.
        Absent if operation == Operation::List => fails(Reason::RequestRejected, PROJECT),
        AbsentPerhaps if operation == Operation::List => fails(Reason::ServiceUnavailable, UNAVAILABLE),
        Absent | AbsentPerhaps => known(Knows::Absent),
        Taken => fails(Reason::RequestRejected, UNAVAILABLE),
        Fix(reason) | FixPerhaps(reason) => fails(reason, UNAVAILABLE),
        Forbidden => fails(Reason::PermissionMissing, PERMISSION),
        Credentials => fails(Reason::CredentialsRejected, CREDENTIALS),
        Throttled(seconds) if operation.needs_token() => fails(Reason::ServiceUnavailable, throttled(seconds)),
        Throttled(seconds) => fails(Reason::Throttled, throttled(seconds)),
        Away(seconds) => fails(Reason::ServiceUnavailable, throttled(Some(seconds))),
        Passing | Conflict | NotThere | Broken(_) | Unreadable(_) | Open(_) => {
            fails(Reason::ServiceUnavailable, UNAVAILABLE)
        }
    }
}

/// The operator continues without logs and without the registry; only a failure of the whole service counts.
fn aside(says: ReportedState) -> Cell {
    let without = |closed| Cell { knows: Knows::Nothing, again: None, reason: None, closed };
    match says {
        Fine => known(Knows::Worked),
        Absent | AbsentPerhaps => known(Knows::Absent),
        Taken | Fix(_) | FixPerhaps(_) | Forbidden | Passing | Conflict | Open(_) => without(None),
        Credentials => without(Some(CREDENTIALS)),
        Throttled(seconds) => without(Some(throttled(seconds))),
        Away(seconds) => without(Some(throttled(Some(seconds)))),
        NotThere | Broken(_) | Unreadable(_) => without(Some(UNAVAILABLE)),
    }
}

fn change(operation: Operation, running: Reason, says: ReportedState) -> Cell {
    let anew = if operation == Operation::Redeploy { GATHERED } else { Duration::ZERO };
    let refused =
        |reason, closed| Cell { knows: Knows::Refused, again: Some(REFUSED + anew), reason: Some(reason), closed };
    let soon = |reason, closed| Cell { knows: Knows::NotNow, again: Some(SOON + anew), reason: Some(reason), closed };
    let open = |reason, closed, after: Option<Duration>| Cell {
        knows: Knows::Open,
        again: after,
        reason: Some(reason),
        closed,
    };
    // A change that happened is found by a read, and not sent again; only a DELETE is, since its 404 ends it.
    let lost = |happened| match (operation, happened) {
        (Operation::Undeploy, _) => Some(AFTER_A_LOSS),
        (Operation::Redeploy, Happened::No) => Some(REDEPLOY_AFTER_A_LOSS),
        (_, Happened::No) => Some(CREATE_AFTER_A_LOSS),
        (_, Happened::Yes) => None,
    };
    match says {
        Fine => Cell { knows: Knows::Worked, again: None, reason: Some(running), closed: None },
        Absent | AbsentPerhaps if operation == Operation::Undeploy => known(Knows::Absent),
        // The operator reads again until it is sure (rule 5).
        Absent | AbsentPerhaps if operation == Operation::Redeploy => soon(running, None),
        Fix(reason) => refused(reason, None),
        Forbidden => refused(Reason::PermissionMissing, None),
        Credentials => refused(Reason::CredentialsRejected, Some(CREDENTIALS)),
        Passing => soon(running, None),
        Conflict | Taken => open(running, None, lost(Happened::No)),
        Absent => refused(Reason::RequestRejected, None),
        NotThere | AbsentPerhaps => soon(Reason::ServiceUnavailable, Some(UNAVAILABLE)),
        Throttled(seconds) => {
            let again = seconds.map_or(SOON, Duration::from_secs);
            Cell { again: Some(again + anew), ..soon(Reason::Throttled, Some(throttled(seconds))) }
        }
        Away(seconds) => {
            let again = lost(Happened::No).map(|after| after.max(Duration::from_secs(seconds)));
            open(Reason::ServiceUnavailable, Some(throttled(Some(seconds))), again)
        }
        FixPerhaps(reason) => open(reason, None, lost(Happened::No)),
        // A DELETE was accepted, whatever its answer looks like; a read shows the result.
        Unreadable(happened) if operation == Operation::Undeploy => {
            let again = (happened == Happened::No).then_some(UNDEPLOY_AGAIN);
            Cell { knows: Knows::Worked, again, reason: Some(running), closed: None }
        }
        Broken(happened) | Unreadable(happened) => open(Reason::ServiceUnavailable, Some(UNAVAILABLE), lost(happened)),
        Open(happened) => open(Reason::ServiceUnavailable, None, lost(happened)),
    }
}

/// Nothing was sent to the API.
fn without_a_token(says: ReportedState) -> Cell {
    match says {
        // By the token endpoint, not by the API.
        Throttled(_) => {
            Cell { reason: Some(Reason::ServiceUnavailable), ..change(Operation::Redeploy, Reason::Redeploying, says) }
        }
        says => change(Operation::Redeploy, Reason::Redeploying, says),
    }
}
