//! Lists that start again, object by object, while everything else goes on.

use crate::prelude::*;

/// A new list delivers its first objects long before reconciles may read them.
#[test]
fn an_object_at_the_start_of_a_list_is_reconciled_in_its_current_state() {
    let paused = Shape { suspend: true, ..Shape::default() };
    let (_, observed) = simulate(0, Reading::default(), async |simulation: &mut Simulation| {
        simulation.start(0, 0);
        let all = ["one", "two", "three", "four", "five"].map(Resource::named);
        for name in all {
            simulation.write(name, paused);
        }
        simulation.rest().await;
        simulation.step(&Step::Cut(0), 0).await;
        simulation.write(all[0], Shape { level: 1, ..paused });
        simulation.write(Resource::named("a-new-one"), paused);
        simulation.delete(all[1]);
        simulation.step(&Step::Relist(0), 0).await;
        simulation.rest().await;
        let cluster = lock(&simulation.reach.cluster);
        let observed = |(key, object): (&Key, &Arc<Value>)| {
            let observed = object["status"]["observedGeneration"] == object["metadata"]["generation"];
            (key.name.clone(), observed)
        };
        cluster.of_kind(Kind::Deployment).map(observed).collect::<Vec<_>>()
    });
    let all = ["a-new-one", "five", "four", "one", "three"].map(|name| (name.to_owned(), true));
    assert_eq!(observed, all);
}
