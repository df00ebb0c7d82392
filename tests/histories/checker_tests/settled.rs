//! The same for what must be the case once no faults happen any more, and for versions of the connector.

use serde_json::json;

use super::{Forge, ONE, reported};
use crate::cluster::{Key, Kind};
use crate::history::Shape;
use crate::interceptor::lock;
use crate::simulation::Simulation;
use crate::users::SHOP;

fn check_all(rows: Vec<(&str, Shape, Forge, &str)>) {
    for (case, shape, forge, wanted) in rows {
        let reported = reported(shape, false, forge);
        assert!(reported.contains(wanted), "{case}: the checker reports {reported:?}");
    }
}

fn outputs() -> Key {
    Key::new(Kind::ConfigMap, SHOP, "one-outputs")
}

#[test]
fn the_checker_reports_outputs_that_are_not_what_the_record_shows() {
    let shape = Shape { outputs: true, ..Shape::default() };
    check_all(vec![
        (
            "another URL",
            shape,
            |simulation| simulation.edit(&outputs(), &json!({"data": {"url": "https://elsewhere.test"}})),
            "its outputs are",
        ),
        (
            "one more key",
            shape,
            |simulation| simulation.edit(&outputs(), &json!({"data": {"former": "https://former.test"}})),
            "its outputs are",
        ),
        (
            "another owner",
            shape,
            |simulation| simulation.edit(&outputs(), &json!({"metadata": {"ownerReferences": null}})),
            "its outputs belong to None",
        ),
        (
            "no ConfigMap",
            shape,
            |simulation| {
                let now = simulation.now();
                let _ = lock(&simulation.reach.cluster).delete(&outputs(), now);
            },
            "the ConfigMap of its outputs does not exist",
        ),
    ]);
}

/// Lets the edit count as observed, though nothing was sent for it.
fn observe(simulation: &mut Simulation, shape: Shape) {
    simulation.write(ONE, shape);
    simulation.forge_status(&json!({"observedGeneration": 2}));
    simulation.check();
}

#[test]
fn the_checker_reports_a_removal_that_is_lost() {
    let shape = Shape::default();
    check_all(vec![
        (
            "a value without a default stays, and is not reported",
            Shape { config: true, ..shape },
            |simulation| observe(simulation, Shape::default()),
            "unwanted, and reports None",
        ),
        (
            "a value is not set to its default",
            Shape { batch: 2, ..shape },
            |simulation| observe(simulation, Shape::default()),
            "is Ready",
        ),
        (
            "a value is not set to its default, and the resource is not Ready",
            Shape { batch: 2, ..shape },
            |simulation| {
                simulation.forge_status(&json!({"conditions": null}));
                observe(simulation, Shape::default());
            },
            "and the remote has State",
        ),
    ]);
}

#[test]
fn the_checker_reports_values_of_every_source_that_are_not_sent() {
    let whole = Shape { whole: true, ..Shape::default() };
    check_all(vec![
        (
            "a global value that is new",
            Shape::default(),
            |simulation| observe(simulation, Shape { shop: 1, ..Shape::default() }),
            "is Ready",
        ),
        (
            "a global value that has changed",
            Shape { shop: 1, ..Shape::default() },
            |simulation| observe(simulation, Shape { shop: 2, ..Shape::default() }),
            "is Ready",
        ),
        (
            "a global value, and the resource is not Ready",
            Shape { shop: 1, ..Shape::default() },
            |simulation| {
                simulation.forge_status(&json!({"conditions": null}));
                observe(simulation, Shape { shop: 2, ..Shape::default() });
            },
            "and the remote has State",
        ),
        ("a value of a whole ConfigMap", whole, |simulation| simulation.config(2), "and the remote has State"),
        ("a value of a whole Secret", whole, |simulation| simulation.secret(2), "and the remote has State"),
    ]);
}

#[test]
fn the_checker_reports_versions_that_are_not_followed_once() {
    let latest = Shape { latest: true, ..Shape::default() };
    check_all(vec![
        ("a new version that is not followed", latest, Simulation::publish, "the latest is"),
        (
            "a second redeploy to a version",
            latest,
            |simulation| {
                simulation.publish();
                for _ in 0..2 {
                    assert_eq!(simulation.verdict(), Ok(()));
                    simulation.forge_operation("Redeploy");
                    simulation.forge_move();
                }
            },
            "without a change",
        ),
        (
            "a new version that nobody follows",
            Shape::default(),
            |simulation| {
                simulation.publish();
                simulation.forge_operation("Redeploy");
                simulation.forge_move();
            },
            "which nothing asked for",
        ),
        (
            "a new version that is not followed any more",
            latest,
            |simulation| {
                simulation.publish();
                simulation.write(ONE, Shape::default());
                simulation.forge_operation("Redeploy");
                simulation.forge_move();
            },
            "which nothing asked for",
        ),
    ]);
}

#[test]
fn the_checker_reports_what_stays_of_a_namespace_or_a_project() {
    let shape = Shape::default();
    check_all(vec![
        (
            "a namespace that is being deleted",
            shape,
            |simulation| simulation.delete_namespace(SHOP, 0),
            "namespace shop still exists",
        ),
        (
            "a project that is being deleted, and that nothing references",
            shape,
            |simulation| {
                simulation.project(SHOP);
                simulation.unfinalize(ONE);
                simulation.delete(ONE);
            },
            "and nothing references it",
        ),
    ]);
}
