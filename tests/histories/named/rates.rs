//! How often an operator calls once everything has settled.

use crate::prelude::*;

/// The documented default of `spec.interval`.
const INTERVAL: Duration = Duration::from_mins(5);
const HOUR: Duration = Duration::from_hours(1);

#[test]
fn what_has_settled_is_polled_at_its_interval_and_writes_nothing() {
    let (simulation, ()) = simulate(0, Reading::default(), async |simulation: &mut Simulation| {
        simulation.start(0, 0);
        simulation.write(RESOURCES[0], Shape { outputs: true, latest: true, ..Shape::default() });
        simulation.write(RESOURCES[1], Shape::default());
        simulation.plan(Plan { previewable: true, publish: 1, ..Plan::default() });
        simulation.write_check(&stored(0), CheckShape { method: 1, after: true, ..CheckShape::default() });
        simulation.settle(Duration::ZERO, 0).await.expect("it settles");
        // The annotations with the ids follow at the next poll.
        simulation.pass(INTERVAL).await;
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
        ("GET connectorstageds/kit", INTERVAL),
    ];
    let calls = || simulation.calls.iter().map(|(name, _)| name);
    for (read, interval) in reads {
        let count = calls().filter(|name| name.starts_with(read)).count() as u64;
        let most = HOUR.as_secs() / interval.as_secs();
        // Each pause is stretched a little at random.
        assert!((most * 3 / 4..=most).contains(&count), "{read}: {count} times within an hour");
    }
    let known = |name: &String| reads.iter().any(|(read, _)| name.starts_with(read));
    let others: Vec<_> = calls().filter(|name| !known(name)).collect();
    assert!(others.is_empty(), "nothing else is read: {others:?}");
}

/// Until the next DELETE is due, nothing that the remote shows is of use, so nothing reads it: neither the poller, which
/// polled a busy deployment every few seconds before, nor a reconcile that is early.
#[test]
fn each_repeated_delete_costs_one_probe_and_at_most_two_reads() {
    // One that arrived makes the deployment busy, so it is read once more.
    for (case, outage, each) in [
        ("it arrived", Outage::LostBack, &["get", "undeploy", "list", "get"][..]),
        ("it never arrives", Outage::LostThere, &["get", "undeploy", "list"][..]),
    ] {
        let (simulation, calls) = simulate(0, Reading::default(), async |simulation: &mut Simulation| {
            simulation.start(0, 0);
            simulation.write(RESOURCES[0], Shape::default());
            simulation.settle(Duration::ZERO, 0).await.expect("it settles");
            simulation.logging = true;
            let lost = Armed { place: Callee::Remote, changes: true, skip: 0, trouble: outage };
            simulation.armed.extend(vec![lost; 5]);
            simulation.delete(RESOURCES[0]);
            let deleted = simulation.now();
            let mut calls = Vec::new();
            while !simulation.armed.is_empty() {
                assert!(between(deleted, simulation.now()) < HOUR, "{case}: {calls:?}");
                simulation.calls.clear();
                simulation.rest().await;
                let remote = simulation.calls.iter().filter_map(|(name, _)| name.split(' ').next());
                let remote = remote.filter(|name| ["list", "get", "undeploy"].contains(name));
                calls.extend(remote.map(|name| (name.to_owned(), simulation.now())));
                simulation.pass(Duration::from_millis(250)).await;
            }
            calls
        });
        let log = simulation.log.join("\n");
        // The first one shows that the deployment is busy, if it arrived: until it is gone, it is polled.
        let second = calls.iter().filter(|(name, _)| name == "undeploy").nth(1).expect("it is sent again").1;
        let repeated: Vec<&str> = calls.iter().filter(|(_, at)| *at >= second).map(|(name, _)| name.as_str()).collect();
        let expected = each.repeat(3);
        assert_eq!(repeated, [expected.as_slice(), &["get", "undeploy"]].concat(), "{case}: {calls:?}\n{log}");
    }
}
