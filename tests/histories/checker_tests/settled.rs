//! The same for what must be the case once no faults happen any more, and for versions of the connector.

use super::Start::Live;
use super::{ONE, reports};
use crate::prelude::*;

fn outputs() -> Key {
    Key::new(Kind::ConfigMap, SHOP, "one-outputs")
}

#[test]
fn the_checker_reports_outputs_that_are_not_what_the_record_shows() {
    let shape = Shape { outputs: true, ..Shape::default() };
    reports("another URL", Live(shape), "its outputs are", |it| {
        it.edit(&outputs(), &json!({"data": {"service.url": "https://elsewhere.test"}}));
    });
    reports("one more key", Live(shape), "its outputs are", |it| {
        it.edit(&outputs(), &json!({"data": {"former": "https://former.test"}}));
    });
    reports("another owner", Live(shape), "its outputs belong to None", |it| {
        it.edit(&outputs(), &json!({"metadata": {"ownerReferences": null}}));
    });
    reports("no ConfigMap", Live(shape), "the ConfigMap of its outputs does not exist", |it| {
        let now = it.now();
        let _ = lock(&it.reach.cluster).delete(&outputs(), now);
    });
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
    reports(
        "a value without a default stays, and is not reported",
        Live(Shape { config: true, ..shape }),
        "unwanted, and reports None",
        |it| observe(it, Shape::default()),
    );
    reports("a value is not set to its default", Live(Shape { batch: 2, ..shape }), "is Ready", |it| {
        observe(it, Shape::default());
    });
    reports(
        "a value is not set to its default, and the resource is not Ready",
        Live(Shape { batch: 2, ..shape }),
        "and the remote has State",
        |it| {
            it.forge_status(&json!({"conditions": null}));
            observe(it, Shape::default());
        },
    );
}

#[test]
fn the_checker_reports_values_of_every_source_that_are_not_sent() {
    let whole = Shape { whole: true, ..Shape::default() };
    reports("a global value that is new", Live(Shape::default()), "is Ready", |it| {
        observe(it, Shape { shop: 1, ..Shape::default() });
    });
    reports("a global value that has changed", Live(Shape { shop: 1, ..Shape::default() }), "is Ready", |it| {
        observe(it, Shape { shop: 2, ..Shape::default() });
    });
    reports(
        "a global value, and the resource is not Ready",
        Live(Shape { shop: 1, ..Shape::default() }),
        "and the remote has State",
        |it| {
            it.forge_status(&json!({"conditions": null}));
            observe(it, Shape { shop: 2, ..Shape::default() });
        },
    );
    reports("a value of a whole ConfigMap", Live(whole), "and the remote has State", |it| it.config(2));
    reports("a value of a whole Secret", Live(whole), "and the remote has State", |it| it.secret(2));
}

#[test]
fn the_checker_reports_versions_that_are_not_followed_once() {
    let latest = Shape { latest: true, ..Shape::default() };
    reports("a new version that is not followed", Live(latest), "the latest is", Simulation::publish);
    reports("a second redeploy to a version", Live(latest), "without a change", |it| {
        it.publish();
        for _ in 0..2 {
            assert_eq!(it.verdict(), Ok(()));
            it.forge_operation("Redeploy");
            it.forge_redeploy(true);
        }
    });
    reports("a new version that nobody follows", Live(Shape::default()), "which nothing asked for", |it| {
        it.publish();
        it.forge_operation("Redeploy");
        it.forge_redeploy(true);
    });
    reports("a new version that is not followed any more", Live(latest), "which nothing asked for", |it| {
        it.publish();
        it.write(ONE, Shape::default());
        it.forge_operation("Redeploy");
        it.forge_redeploy(true);
    });
}

#[test]
fn the_checker_reports_what_stays_of_a_namespace_or_a_project() {
    let shape = Shape::default();
    reports("a namespace that is being deleted", Live(shape), "namespace shop still exists", |it| {
        it.delete_namespace(SHOP, 0);
    });
    reports(
        "a project that is being deleted, and that nothing references",
        Live(shape),
        "and nothing references it",
        |it| {
            it.project(SHOP);
            it.unfinalize(ONE);
            it.delete(ONE);
        },
    );
}
