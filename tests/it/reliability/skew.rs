//! Clocks of the operator and of the service that differ by an hour. A `Retry-After` with a date is one of the `faults`;
//! clocks of two leaders have a table beside `decide`.

use clock::later;
use connect_operator::operator::deployment::persisted::OperationType;

use super::cells::happened_once;
use super::desk::{Desk, START, TOKEN_LIFETIME, at_a_standstill};
use crate::prelude::*;

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
