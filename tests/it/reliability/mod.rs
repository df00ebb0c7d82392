//! The result of every fault at every remote operation: the real client over real sockets, the circuit breaker of the
//! project, `act` and `decide`, compared with the design's reactions, which `expected` lists by hand.
//! `docs/reliability.md` is generated from the same cells.
//!
//! `faults` lists what goes wrong, `cells` makes an operation meet it, on a `desk` without a cluster. Tests that need a
//! cluster are in `tests/apiserver/outage/`.

mod cells;
mod desk;
mod expected;
mod faults;
mod page;
mod skew;

use connect_api::ErrorCode;
use futures::{StreamExt as _, stream};

use self::cells::{Cell, Operation, cell};
use self::expected::expected;
use self::faults::{CODES, Fault, How, all};

use crate::prelude::*;

/// Number of cells at once.
const QUICK_AT_ONCE: usize = 16;
/// Number of cells at once that only wait.
const SLOW_AT_ONCE: usize = 32;

/// A fault at an operation, and its result.
struct Met<'a> {
    fault: &'a Fault,
    operation: Operation,
    cell: Cell,
}

fn can_meet(operation: Operation, fault: &Fault) -> bool {
    // A request for a token carries none, and here the API and its token endpoint are one server.
    !(operation.needs_token() && matches!(fault.how, How::Revoked | How::Refused))
}

/// Runs every cell, operation by operation.
async fn matrix(faults: &[Fault]) -> Vec<Met<'_>> {
    let pairs =
        Operation::ALL.into_iter().flat_map(|(operation, _)| faults.iter().map(move |fault| (operation, fault)));
    let pairs = pairs.filter(|(operation, fault)| can_meet(*operation, fault));
    let (slow, quick): (Vec<_>, Vec<_>) = pairs.partition(|(_, fault)| fault.takes_time());
    // One group after the other, so that the many slow cells do not delay those with short limits.
    let mut met = meet(quick, QUICK_AT_ONCE).await;
    met.extend(meet(slow, SLOW_AT_ONCE).await);
    met.sort_by_key(|met| met.operation);
    met
}

async fn meet(pairs: Vec<(Operation, &Fault)>, at_once: usize) -> Vec<Met<'_>> {
    let cells = pairs.into_iter().map(async |(operation, fault)| {
        let met = in_time(Box::pin(cell(operation, fault))).await;
        let cell = met.unwrap_or_else(|_| panic!("{operation:?} does not end: {}", fault.name));
        Met { fault, operation, cell }
    });
    stream::iter(cells).buffered(at_once).collect().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_at_every_operation_causes_the_reaction_of_the_design() {
    let faults = all();
    let met = matrix(&faults).await;
    let mut wrong = Vec::new();
    for Met { fault, operation, cell } in &met {
        let expected = expected(*operation, fault);
        if *cell != expected {
            wrong.push(format!("{operation:?}, {}:\n  is {cell:?}\n  not {expected:?}", fault.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_golden_parts("docs/reliability.md", &page::tables(&met));
}

#[test]
fn every_code_of_the_contract_is_a_fault() {
    let listed: Vec<_> = CODES.iter().map(|(code, _)| *code).collect();
    assert_eq!(listed, ErrorCode::KNOWN);
}
