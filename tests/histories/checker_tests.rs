//! Tests of the checker: each row does what an operator must never do, and the checker has to report it.
//!
//! The operator is stopped, and the test forges what it would write and send.

mod checks;
mod settled;
mod staged;

use std::time::Duration;

use clock::later;
use connect_api::model::{ApplicationConfiguration, RedeployAction};
use connect_operator::operator::object_ref::ObjectRef;
use serde_json::{Value, json};

use crate::cluster::Key;
use crate::history::{Foreign, Reading, Shape};
use crate::interceptor::{Callee, What, lock};
use crate::remote::{Arrived, Asked, Verb};
use crate::replay::simulate;
use crate::settled::unsettled;
use crate::simulation::Simulation;
use crate::users::{RESOURCES, Resource};

const ONE: Resource = RESOURCES[0];

impl Simulation {
    fn stored(&self) -> Value {
        let object = lock(&self.reach.cluster).get(&ONE.stored()).cloned();
        Value::clone(&object.expect("the object exists"))
    }

    fn forge_status(&mut self, status: &Value) {
        let _ = lock(&self.reach.cluster).patch(&ONE.stored(), &json!({"status": status}), true);
    }

    /// Forges the persisted operation.
    fn forge_operation(&mut self, kind: &str) {
        let generation = self.stored()["metadata"]["generation"].clone();
        let operation = json!({
            "type": kind, "state": "Planned", "attempt": 1, "generation": generation, "startedAt": self.now().to_string(),
        });
        let state = self.stored()["status"]["state"].as_str().map(|text| serde_json::from_str(text).expect("JSON"));
        let mut state: Value = state.unwrap_or_else(|| json!({"v": 1}));
        state["operation"] = operation;
        self.forge_status(&json!({"state": state.to_string()}));
        self.check();
    }

    /// Forges the arrival of a redeploy with the requested values.
    fn forge_redeploy(&mut self) {
        self.forge_redeploy_to(false);
    }

    /// The same, to the latest version of the connector.
    fn forge_move(&mut self) {
        self.forge_redeploy_to(true);
    }

    fn forge_redeploy_to(&mut self, moves: bool) {
        let object = self.stored();
        let id = object["status"]["id"].as_str().unwrap_or_default().to_owned();
        let values = crate::desired::values(&lock(&self.reach.cluster), ONE.stored().namespace.as_str(), &object);
        self.forge_call(Verb::Redeploy { id, values: values.expect("no referenced object is missing"), moves }, false);
    }

    fn forge_call(&mut self, verb: Verb, denied: bool) {
        let object = self.stored();
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let Key { namespace, name, .. } = ONE.stored();
        let now = self.now();
        let mut changed = None;
        if let Verb::Redeploy { id, moves, .. } = &verb {
            let mut remote = lock(&self.reach.remote);
            // A move names the application that the second version adds.
            let added = ApplicationConfiguration {
                application_name: "assets-2".to_owned(),
                standard_configuration: Vec::new(),
                secured_configuration: Vec::new(),
                schedule: None,
                retry_policy: None,
            };
            let configuration_values = moves.then(|| vec![added]);
            let action = RedeployAction { update_connector: *moves, configuration_values, ..RedeployAction::default() };
            // What counts is that the call arrived, also while the deployment is busy.
            let _ = remote.world.redeploy_elsewhere(id, &action, now);
            changed = Some(id.clone());
        }
        let caller = (ObjectRef::deployment(&namespace, &name), uid);
        let arrived = Arrived { caller, denied, asked: Asked::Deployment(verb), changed };
        lock(&self.reach.remote).arrived.push(arrived);
        self.check();
    }
}

type Forge = fn(&mut Simulation);

/// Returns what the checker reports once a resource of this shape is live, the operator is stopped, and something is
/// forged.
fn reported(shape: Shape, adopted: bool, forge: Forge) -> String {
    let (_, reported) = simulate(0, Reading::default(), async |simulation: &mut Simulation| {
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
        assert_eq!(unsettled(simulation), None);
        forge(simulation);
        let broken = simulation.verdict().err();
        broken.or_else(|| unsettled(simulation)).unwrap_or_default()
    });
    reported
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table")]
fn the_checker_reports_each_thing_that_an_operator_must_not_do() {
    let shape = Shape::default();
    // Like the foreign deployment.
    let like_theirs = Shape { level: 2, adopt: true, ..shape };
    let rows: [(&str, Shape, bool, Forge, &str); 13] = [
        (
            "a call for a namespace that was known not to be allowed",
            shape,
            false,
            |simulation| {
                let id = simulation.stored()["status"]["id"].as_str().unwrap_or_default().to_owned();
                simulation.delete(ONE);
                simulation.forge_operation("Undeploy");
                simulation.forge_call(Verb::Undeploy { id }, true);
            },
            "rule 29",
        ),
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
            "a redeploy under ObserveOnly",
            shape,
            false,
            |simulation| {
                simulation.write(ONE, Shape { observe: true, level: 1, ..Shape::default() });
                simulation.forge_operation("Redeploy");
            },
            "it is ObserveOnly",
        ),
        (
            "a DELETE under ObserveOnly",
            shape,
            false,
            |simulation| {
                simulation.write(ONE, Shape { observe: true, ..Shape::default() });
                simulation.delete(ONE);
                simulation.forge_operation("Undeploy");
            },
            "it is ObserveOnly",
        ),
        (
            "a DELETE under deletionPolicy Orphan",
            Shape { orphan: true, ..shape },
            false,
            |simulation| {
                simulation.delete(ONE);
                simulation.forge_operation("Undeploy");
            },
            "its deployment must be orphaned",
        ),
        (
            "a DELETE of a resource that is not being deleted",
            shape,
            false,
            |simulation| {
                simulation.forge_operation("Undeploy");
            },
            "it is not being deleted",
        ),
        (
            "a DELETE for removed values that must be retained",
            shape,
            false,
            |simulation| {
                simulation.forge_operation("Recreate");
            },
            "removed values must be retained",
        ),
        (
            "a create after a disappearance, under drift policy Detect",
            shape,
            false,
            |simulation| {
                simulation.stranger(ONE, Foreign::Remove, 0);
                simulation.forge_operation("Create");
            },
            "drift must not be corrected",
        ),
        (
            "a call whose operation was not persisted",
            shape,
            false,
            |simulation| {
                simulation.write(ONE, Shape { level: 1, ..Shape::default() });
                simulation.forge_redeploy();
            },
            "without persisting the operation first",
        ),
        (
            "a redeploy without a change",
            shape,
            false,
            |simulation| {
                simulation.forge_operation("Redeploy");
                simulation.forge_redeploy();
            },
            "without a change",
        ),
        (
            "a redeploy after adopting a deployment with the same values",
            like_theirs,
            true,
            |simulation| {
                simulation.forge_operation("Redeploy");
                simulation.forge_redeploy();
            },
            "without a change",
        ),
        (
            "a new generation counts as observed with the values of the previous one",
            shape,
            false,
            |simulation| {
                let Key { namespace, name, .. } = ONE.stored();
                let began = simulation.now();
                simulation.write(ONE, Shape { level: 1, ..Shape::default() });
                simulation.forge_status(&json!({"observedGeneration": 2}));
                // The reconcile that reports this began before the edit.
                let now = later(began, Duration::from_secs(1));
                simulation.checker.began.insert(ObjectRef::deployment(&namespace, &name), began);
                let mut remote = lock(&simulation.reach.remote);
                simulation.checker.check_new(&lock(&simulation.reach.cluster), &mut remote, now);
            },
            "is Ready",
        ),
        (
            "a value that should have been removed with the deployment stays",
            Shape { config: true, ..shape },
            false,
            |simulation| {
                simulation.write(ONE, Shape { recreate: true, ..Shape::default() });
                simulation.forge_status(&json!({"observedGeneration": 2}));
            },
            "which must be removed",
        ),
    ];
    for (case, shape, adopted, forge, wanted) in rows {
        let reported = reported(shape, adopted, forge);
        assert!(reported.contains(wanted), "{case}: the checker reports {reported:?}");
    }
}

#[test]
fn the_checker_reports_calls_that_follow_each_other_too_fast() {
    let fast = Duration::from_millis(100);
    let rows: [(&str, Duration, &[bool], &str); 4] = [
        ("a storm of calls", fast, &[false, true], "within a minute"),
        ("one call every 10 s, for ever", Duration::from_secs(10), &[false], "within an hour"),
        ("one write every 2 s, for ever", Duration::from_secs(2), &[true], "within"),
        ("one write every 10 s, for ever", Duration::from_secs(10), &[true], "within an hour"),
    ];
    for (case, pause, kinds, wanted) in rows {
        for place in [Callee::Remote, Callee::Cluster] {
            for changes in kinds {
                let (simulation, ()) = simulate(0, Reading::default(), async |simulation: &mut Simulation| {
                    let what = What { place, name: "a call".to_owned(), changes: *changes, send_before: None };
                    let end = later(simulation.now(), Duration::from_hours(1));
                    while simulation.now() < end && simulation.checker.broken.is_none() {
                        simulation.pass(pause).await;
                        let now = simulation.now();
                        simulation.checker.called(&what, 0, now);
                    }
                });
                let reported = simulation.checker.broken.unwrap_or_default();
                assert!(reported.contains(wanted), "{case}: {place:?}, changes {changes}: {reported:?}");
            }
        }
    }
}
