//! Named histories of a key that the service still holds after its staged connector is gone: a create is refused,
//! although the lookup before it has found nothing.

use super::{Plan, stored};
use crate::prelude::*;
use crate::replay::played;

const PLAN: Plan =
    Plan { tag: 0, words: 0, previewable: false, publish: 0, adopt: false, delete: true, suspend: false };

/// Creates the resource, deletes it with its staged connector, and creates it again.
async fn create_again(simulation: &mut Simulation) -> Result<(), String> {
    simulation.start(0, 0);
    simulation.plan(PLAN);
    simulation.quiet_for_long().await?;
    simulation.drop_plan();
    while !is_gone(simulation) {
        simulation.rest().await;
        simulation.pass(Duration::from_secs(1)).await;
    }
    simulation.calls.clear();
    simulation.plan(PLAN);
    simulation.verdict()
}

fn is_gone(simulation: &Simulation) -> bool {
    lock(&simulation.reach.cluster).get(&stored()).is_none()
}

/// Goes on until a call with this name was made.
async fn until_called(simulation: &mut Simulation, name: &str) {
    while !simulation.calls.iter().any(|(call, _)| call == name) {
        assert!(simulation.micro().await, "{name} is called\n{}", simulation.log.join("\n"));
    }
    simulation.calls.clear();
}

/// What came of it arrives in the status, and the response of that write is lost.
#[test]
fn a_create_that_was_refused_is_forgotten_also_if_the_response_of_the_api_server_is_lost() {
    let (simulation, log) = played(None, async |simulation: &mut Simulation| {
        simulation.start(0, 0);
        simulation.armed.push(Armed { place: Callee::Remote, changes: true, skip: 0, trouble: Outage::Invalid });
        simulation.plan(PLAN);
        until_called(simulation, "stage kit").await;
        simulation.armed.push(Armed { place: Callee::Cluster, changes: true, skip: 0, trouble: Outage::LostBack });
        until_called(simulation, "PATCH connectorstageds/kit status").await;
        simulation.drop_plan();
        simulation.rest().await;
        simulation.verdict()
    });
    assert!(is_gone(&simulation), "it waits for nothing\n{log}");
}

/// The pause of the first refusal is over when the second one arrives.
#[test]
fn a_create_is_sent_again_with_pauses_while_its_key_is_held() {
    let (simulation, log) = played(Some("key-held=30s"), async |simulation: &mut Simulation| {
        create_again(simulation).await?;
        simulation.armed.push(Armed { place: Callee::Remote, changes: true, skip: 0, trouble: Outage::Conflict });
        until_called(simulation, "stage kit").await;
        simulation.quiet_for_long().await
    });
    assert_eq!(simulation.checker.counted("stagings"), 2, "{log}");
}
