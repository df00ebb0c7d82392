//! The judge is judged: each row does what an operator must never do, and the judge has to see it.
//!
//! The operator is stopped, and what it would write and send is forged.

use std::time::Duration;

use clock::later;
use connect_api::model::RedeployAction;
use connect_operator::controllers::object_ref::ObjectRef;
use serde_json::{Value, json};

use crate::cluster::Key;
use crate::gate::{Place, What, lock};
use crate::history::{Foreign, Reading, Shape};
use crate::people::{RESOURCES, Resource};
use crate::play::stage;
use crate::remote::{Arrived, Asked, Verb};
use crate::settled;
use crate::simulation::Simulation;

const ONE: Resource = RESOURCES[0];

impl Simulation {
    fn stored(&self) -> Value {
        let object = lock(&self.reach.cluster).get(&ONE.stored()).cloned();
        Value::clone(&object.expect("it is there"))
    }

    fn forge_status(&mut self, status: &Value) {
        let _ = lock(&self.reach.cluster).patch(&ONE.stored(), &json!({"status": status}), true);
    }

    /// The operation is written.
    fn forge_operation(&mut self, kind: &str) {
        let generation = self.stored()["metadata"]["generation"].clone();
        let operation = json!({
            "type": kind, "state": "Planned", "attempt": 1, "generation": generation, "startedAt": self.now().to_string(),
        });
        self.forge_status(&json!({"operation": operation}));
        self.judge();
    }

    /// The redeploy arrives, with the values that are asked for.
    fn forge_redeploy(&mut self) {
        let object = self.stored();
        let id = object["status"]["id"].as_str().unwrap_or_default().to_owned();
        let values = crate::desired::values(&lock(&self.reach.cluster), ONE.stored().namespace.as_str(), &object);
        self.forge_call(Verb::Redeploy { id, values: values.expect("they are known"), moves: false });
    }

    fn forge_call(&mut self, verb: Verb) {
        let object = self.stored();
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let Key { namespace, name, .. } = ONE.stored();
        let now = self.now();
        let mut changed = None;
        if let Verb::Redeploy { id, .. } = &verb {
            let mut remote = lock(&self.reach.remote);
            let action = RedeployAction::default();
            remote.world.redeploy_elsewhere(id, &action, now).expect("it is there");
            changed = Some(id.clone());
        }
        let run = (ObjectRef::deployment(&namespace, &name), uid);
        lock(&self.reach.remote).arrived.push(Arrived { run, asked: Asked::Deployment(verb), changed });
        self.judge();
    }
}

type Forge = fn(&mut Simulation);

/// What the judge says once a resource of this shape is live, the operator is stopped, and something is forged.
fn said(shape: Shape, adopted: bool, forge: Forge) -> String {
    let (_, said) = stage(0, Reading::default(), async |simulation: &mut Simulation| {
        simulation.start(0, 0);
        if adopted {
            simulation.stranger(ONE, Foreign::Create, 0);
            simulation.pass(Duration::from_secs(100)).await;
        }
        simulation.write(ONE, shape);
        simulation.settle(Duration::ZERO, 0).await.expect("it settles");
        simulation.stop(0).await;
        simulation.pass(Duration::from_mins(5)).await;
        assert_eq!(simulation.verdict(), Ok(()));
        forge(simulation);
        let broken = simulation.verdict().err();
        broken.or_else(|| settled::unsettled(simulation)).unwrap_or_default()
    });
    said
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table")]
fn the_judge_sees_each_thing_that_an_operator_must_not_do() {
    let shape = Shape::default();
    // As a stranger's deployment is.
    let like_theirs = Shape { level: 2, adopt: true, ..shape };
    let rows: [(&str, Shape, bool, Forge, &str); 12] = [
        (
            "a redeploy while it is suspended",
            shape,
            false,
            |simulation| {
                simulation.write(ONE, Shape { suspend: true, level: 1, ..Shape::default() });
                simulation.forge_operation("Redeploy");
            },
            "it is suspended",
        ),
        (
            "a redeploy of what is only observed",
            shape,
            false,
            |simulation| {
                simulation.write(ONE, Shape { observe: true, level: 1, ..Shape::default() });
                simulation.forge_operation("Redeploy");
            },
            "it only observes",
        ),
        (
            "a DELETE of what is only observed",
            shape,
            false,
            |simulation| {
                simulation.write(ONE, Shape { observe: true, ..Shape::default() });
                simulation.delete(ONE);
                simulation.forge_operation("Undeploy");
            },
            "it only observes",
        ),
        (
            "a DELETE under deletionPolicy Orphan",
            Shape { orphan: true, ..shape },
            false,
            |simulation| {
                simulation.delete(ONE);
                simulation.forge_operation("Undeploy");
            },
            "its deployment is to stay",
        ),
        (
            "a DELETE though nobody deletes the resource",
            shape,
            false,
            |simulation| {
                simulation.forge_operation("Undeploy");
            },
            "it is not being deleted",
        ),
        (
            "a DELETE for removed values that are to be retained",
            shape,
            false,
            |simulation| {
                simulation.forge_operation("Recreate");
            },
            "removed values are to be retained",
        ),
        (
            "a create of what is gone, under drift policy Detect",
            shape,
            false,
            |simulation| {
                simulation.stranger(ONE, Foreign::Remove, 0);
                simulation.forge_operation("Create");
            },
            "drift is not to be corrected",
        ),
        (
            "a call that was not written first",
            shape,
            false,
            |simulation| {
                simulation.write(ONE, Shape { level: 1, ..Shape::default() });
                simulation.forge_redeploy();
            },
            "without writing it first",
        ),
        (
            "a redeploy without a change",
            shape,
            false,
            |simulation| {
                simulation.forge_operation("Redeploy");
                simulation.forge_redeploy();
            },
            "for no change",
        ),
        (
            "a redeploy after taking over what has the same values",
            like_theirs,
            true,
            |simulation| {
                simulation.forge_operation("Redeploy");
                simulation.forge_redeploy();
            },
            "for no change",
        ),
        (
            "a new generation is observed with the values of the one before",
            shape,
            false,
            |simulation| {
                let Key { namespace, name, .. } = ONE.stored();
                let began = simulation.now();
                simulation.write(ONE, Shape { level: 1, ..Shape::default() });
                simulation.forge_status(&json!({"observedGeneration": 2}));
                // The run that says so began before the edit.
                let now = later(began, Duration::from_secs(1));
                simulation.judge.began.insert(ObjectRef::deployment(&namespace, &name), began);
                let mut remote = lock(&simulation.reach.remote);
                simulation.judge.look(&lock(&simulation.reach.cluster), &mut remote, now);
            },
            "is Ready",
        ),
        (
            "a value that was to be removed with the deployment stays",
            Shape { config: true, ..shape },
            false,
            |simulation| {
                simulation.write(ONE, Shape { recreate: true, ..Shape::default() });
                simulation.forge_status(&json!({"observedGeneration": 2}));
            },
            "which are to be removed",
        ),
    ];
    for (case, shape, adopted, forge, wanted) in rows {
        let said = said(shape, adopted, forge);
        assert!(said.contains(wanted), "{case}: the judge says {said:?}");
    }
}

#[test]
fn the_judge_sees_calls_that_follow_each_other_too_fast() {
    for place in [Place::Remote, Place::Cluster] {
        for changes in [true, false] {
            let (simulation, ()) = stage(0, Reading::default(), async |simulation: &mut Simulation| {
                let what = What { place, name: "a call".to_owned(), changes, send_before: None };
                for _ in 0..500 {
                    simulation.pass(Duration::from_millis(100)).await;
                    let now = simulation.now();
                    simulation.judge.called(&what, 0, now);
                }
            });
            let said = simulation.judge.broken.unwrap_or_default();
            assert!(said.contains("within a minute"), "{place:?}, changes {changes}: {said:?}");
        }
    }
}
