//! How often an operator calls once everything has settled.

use std::time::Duration;

use crate::checks::{CheckShape, stored};
use crate::history::{Reading, Shape};
use crate::replay::simulate;
use crate::simulation::Simulation;
use crate::staged::Plan;
use crate::users::RESOURCES;

/// The documented default of `spec.interval`.
const INTERVAL: Duration = Duration::from_mins(5);
/// `interval` of the mirror in histories.
const MIRRORED: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

#[test]
fn what_has_settled_is_polled_at_its_interval_and_writes_nothing() {
    let (simulation, ()) = simulate(0, Reading::default(), async |simulation: &mut Simulation| {
        simulation.mirrors = true;
        simulation.start(0, 0);
        simulation.mirror(1);
        simulation.write(RESOURCES[0], Shape { outputs: true, latest: true, ..Shape::default() });
        simulation.write(RESOURCES[1], Shape::default());
        simulation.plan(Plan { previewable: true, publish: 1, ..Plan::default() });
        simulation.write_check(&stored(0), CheckShape { method: 1, after: true, ..CheckShape::default() });
        simulation.settle(Duration::ZERO, 0).await.expect("it settles");
        // The annotations with the ids follow at the next poll.
        simulation.pass(INTERVAL + MIRRORED).await;
        simulation.settle(Duration::ZERO, 0).await.expect("it stays settled");
        simulation.calls.clear();
        for _ in 0..HOUR.as_secs() / 5 {
            simulation.rest().await;
            simulation.pass(Duration::from_secs(5)).await;
        }
        assert_eq!(simulation.verdict(), Ok(()));
    });
    let writes: Vec<_> = simulation.calls.iter().filter(|(_, changes)| *changes).collect();
    assert!(writes.is_empty(), "nothing is to be written: {writes:?}");
    let reads = [
        ("list ", INTERVAL),
        ("staged ", INTERVAL),
        ("connector key=demo-connector", INTERVAL),
        ("search", MIRRORED),
        ("GET connectprojects/main", MIRRORED),
        ("GET connectors/", MIRRORED),
    ];
    let calls = || simulation.calls.iter().map(|(name, _)| name);
    for (read, interval) in reads {
        let count = calls().filter(|name| name.starts_with(read)).count() as u64;
        let most = HOUR.as_secs() / interval.as_secs();
        // Each pause is stretched a little at random.
        assert!((most * 3 / 4..=most).contains(&count), "{read}: {count} times within an hour");
    }
    // The search for copies of credentials without a project lists both, once an hour.
    let searched = ["GET secrets/", "GET connectprojects/"];
    for list in searched {
        let count = calls().filter(|name| *name == list).count();
        assert!(count <= 1, "{list}: {count} times within an hour");
    }
    let known =
        |name: &String| searched.contains(&name.as_str()) || reads.iter().any(|(read, _)| name.starts_with(read));
    let others: Vec<_> = calls().filter(|name| !known(name)).collect();
    assert!(others.is_empty(), "nothing else is read: {others:?}");
}
