//! Clocks that differ by an hour: those of the operator and of the service, and those of two leaders.
//!
//! A `Retry-After` with a date is one of the `faults`.

use std::time::Duration;

use clock::{Clock, later};
use connect_operator::operator::deployment::persisted::{OperationState, OperationType};
use dev_server::{Fault, FaultAnswer};
use jiff::{SignedDuration, Timestamp};

use super::cells::happened_once;
use super::desk::{Desk, START, TOKEN_LIFETIME, Turn, at_a_standstill};
use crate::described::DevServer;

const HOUR: Duration = Duration::from_hours(1);

fn start() -> Timestamp {
    START.parse().unwrap()
}

/// Returns the same time on two clocks: the operator's, and one that differs.
fn clocks() -> [(&'static str, Timestamp, Timestamp); 2] {
    [("an hour ahead", start(), later(start(), HOUR)), ("an hour behind", later(start(), HOUR), start())]
}

#[tokio::test]
async fn a_service_whose_clock_is_an_hour_wrong_loses_neither_tokens_nor_calls() {
    for (case, ours, theirs) in clocks() {
        let clock = Clock::stepped(ours);
        let life = async {
            let mut desk = Desk::with_clocks(clock.clone(), Clock::stepped(theirs)).await;
            desk.follow_to_the_end().await;
            happened_once(&desk, OperationType::Create, case);
            // The token expires by the service's clock, and is renewed earlier by the operator's.
            desk.pass(TOKEN_LIFETIME);
            desk.rotate();
            desk.follow_to_the_end().await;
            happened_once(&desk, OperationType::Redeploy, case);
            desk.pass(TOKEN_LIFETIME);
            desk.delete();
            desk.follow_to_the_end().await;
            happened_once(&desk, OperationType::Undeploy, case);
            let refused = desk.dev.calls().into_iter().filter(|call| call.status == 401).count();
            let counts = desk.dev.counts();
            assert_eq!((refused, counts["token"]), (0, 3), "{case}: {counts:?}");
            assert_eq!((counts["createDeployment"], counts["updateDeploymentById"]), (1, 1), "{case}");
        };
        at_a_standstill(&clock, Box::pin(life)).await;
    }
}

/// Makes a call get lost, before or after it happened.
async fn lose(desk: &mut Desk, operation: &str, happens: bool) {
    let mut lost = Fault::of(operation, FaultAnswer::dropped()).times(1);
    if happens {
        lost = lost.after_the_effect();
    }
    loop {
        let client = desk.client.clone();
        let wrong = async |dev: &mut DevServer| dev.fault(lost.clone()).unwrap();
        match desk.turn(&*client, wrong).await {
            Turn::Sent(_) => break,
            Turn::Rest(_, again) => desk.pass(again.expect("a change is gathered")),
            Turn::Released | Turn::Blind(_) => panic!("{operation} is not called"),
        }
    }
    desk.dev.clear_faults();
    assert_eq!(desk.operation_state(), Some(OperationState::Planned));
}

/// The change in progress when another leader takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Create,
    Value,
    Secret,
    Deletion,
}

impl Change {
    fn call(self) -> (OperationType, &'static str) {
        match self {
            Self::Create => (OperationType::Create, "createDeployment"),
            Self::Value | Self::Secret => (OperationType::Redeploy, "updateDeploymentById"),
            Self::Deletion => (OperationType::Undeploy, "deleteDeploymentById"),
        }
    }

    /// Returns a new desk at which the call of this change was lost, before or after it happened.
    async fn lost(self, clock: &Clock, happens: bool) -> Desk {
        let mut desk = Desk::with_clocks(clock.clone(), clock.clone()).await;
        if self != Self::Create {
            desk.follow_to_the_end().await;
        }
        match self {
            Self::Create => {}
            Self::Value => desk.turn_up(),
            Self::Secret => desk.rotate(),
            Self::Deletion => desk.delete(),
        }
        lose(&mut desk, self.call().1, happens).await;
        desk
    }
}

#[tokio::test]
async fn an_operation_whose_time_is_an_hour_off_ends_once_under_any_leader() {
    for change in [Change::Create, Change::Value, Change::Secret, Change::Deletion] {
        for happens in [false, true] {
            for hours in [1, -1] {
                let case = format!("{change:?}, written by a clock {hours} h ahead, happened: {happens}");
                let clock = Clock::stepped(start());
                let life = async {
                    let mut desk = change.lost(&clock, happens).await;
                    desk.take_over(desk.clock.now().saturating_add(SignedDuration::from_hours(hours)).unwrap());
                    // Long enough for calls in progress to arrive.
                    desk.pass(Duration::from_secs(30));
                    desk.follow_to_the_end().await;
                    desk
                };
                let desk = at_a_standstill(&clock, Box::pin(life)).await;
                // Its two minutes seem to be over, and nothing visible distinguishes a redeploy of secrets only from a
                // foreign one: rule 6 allows one more.
                if change == Change::Secret && happens && hours < 0 {
                    assert_eq!(desk.dev.counts()["updateDeploymentById"], 2, "{case}");
                } else {
                    happened_once(&desk, change.call().0, &case);
                }
            }
        }
    }
}
