//! Tests of the checker: each row does what an operator must never do, and the checker has to report it.
//!
//! The operator is stopped, and the test forges what it would write and send.

mod checks;
mod settled;
mod staged;

use connect_api::model::{ApplicationConfiguration, RedeployAction};

use crate::prelude::*;
use crate::settled::unsettled;
use Start::{Adopted, Live};
use checks::{GET, POST};

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

    /// Forges the arrival of a redeploy with the requested values; `moves`: to the latest version of the connector.
    fn forge_redeploy(&mut self, moves: bool) {
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

/// What exists and has settled when something is forged.
#[derive(Clone, Copy)]
enum Start {
    Live(Shape),
    /// It was adopted from another client.
    Adopted(Shape),
    Checks,
    Kit(Plan),
}

impl Start {
    async fn begin(self, simulation: &mut Simulation) {
        simulation.start(0, 0);
        if matches!(self, Adopted(_)) {
            simulation.stranger(ONE, Foreign::Create, 0);
            simulation.pass(Duration::from_secs(100)).await;
        }
        match self {
            Live(shape) | Adopted(shape) => simulation.write(ONE, shape),
            Self::Kit(plan) => simulation.plan(plan),
            Self::Checks => {
                simulation.write(ONE, Shape::default());
                simulation.write_check(&crate::checks::stored(0), POST);
                simulation.write_check(&crate::checks::stored(1), GET);
            }
        }
        simulation.settle(Duration::ZERO, 0).await.expect("it settles");
        simulation.stop(0).await;
        // The interval of a check would pass.
        if !matches!(self, Self::Checks) {
            simulation.pass(Duration::from_mins(5)).await;
        }
    }
}

/// Asserts what the checker reports once everything has settled, the operator is stopped, and something is forged.
fn reports(case: &str, start: Start, wanted: &str, forge: Forge) {
    let (_, reported) = simulate(0, Reading::default(), async |simulation: &mut Simulation| {
        start.begin(simulation).await;
        assert_eq!(simulation.verdict(), Ok(()), "{case}");
        assert_eq!(unsettled(simulation), None, "{case}");
        forge(simulation);
        simulation.verdict().err().or_else(|| unsettled(simulation)).unwrap_or_default()
    });
    assert!(reported.contains(wanted), "{case}: the checker reports {reported:?}");
}

#[test]
fn the_checker_reports_each_thing_that_an_operator_must_not_do() {
    let shape = Shape::default();
    // Like the foreign deployment.
    let like_theirs = Shape { level: 2, adopt: true, ..shape };
    reports("a call for a namespace that was known not to be allowed", Live(shape), "rule 29", |it| {
        let id = it.stored()["status"]["id"].as_str().unwrap_or_default().to_owned();
        it.delete(ONE);
        it.forge_operation("Undeploy");
        it.forge_call(Verb::Undeploy { id }, true);
    });
    reports("a redeploy while it is suspended", Live(shape), "it is suspended", |it| {
        it.write(ONE, Shape { suspend: true, level: 1, ..Shape::default() });
        it.forge_operation("Redeploy");
    });
    reports("a redeploy under ObserveOnly", Live(shape), "it is ObserveOnly", |it| {
        it.write(ONE, Shape { observe: true, level: 1, ..Shape::default() });
        it.forge_operation("Redeploy");
    });
    reports("a DELETE under ObserveOnly", Live(shape), "it is ObserveOnly", |it| {
        it.write(ONE, Shape { observe: true, ..Shape::default() });
        it.delete(ONE);
        it.forge_operation("Undeploy");
    });
    reports(
        "a DELETE under deletionPolicy Orphan",
        Live(Shape { orphan: true, ..shape }),
        "its deployment must be orphaned",
        |it| {
            it.delete(ONE);
            it.forge_operation("Undeploy");
        },
    );
    reports("a DELETE of a resource that is not being deleted", Live(shape), "it is not being deleted", |it| {
        it.forge_operation("Undeploy");
    });
    reports(
        "a DELETE for removed values that must be retained",
        Live(shape),
        "removed values must be retained",
        |it| {
            it.forge_operation("Recreate");
        },
    );
    reports(
        "a create after a disappearance, under drift policy Detect",
        Live(shape),
        "drift must not be corrected",
        |it| {
            it.stranger(ONE, Foreign::Remove, 0);
            it.forge_operation("Create");
        },
    );
    reports("a call whose operation was not persisted", Live(shape), "without persisting the operation first", |it| {
        it.write(ONE, Shape { level: 1, ..Shape::default() });
        it.forge_redeploy(false);
    });
    reports("a redeploy without a change", Live(shape), "without a change", |it| {
        it.forge_operation("Redeploy");
        it.forge_redeploy(false);
    });
    reports(
        "a redeploy after adopting a deployment with the same values",
        Adopted(like_theirs),
        "without a change",
        |it| {
            it.forge_operation("Redeploy");
            it.forge_redeploy(false);
        },
    );
    reports("a new generation counts as observed with the values of the previous one", Live(shape), "is Ready", |it| {
        let Key { namespace, name, .. } = ONE.stored();
        let began = it.now();
        it.write(ONE, Shape { level: 1, ..Shape::default() });
        it.forge_status(&json!({"observedGeneration": 2}));
        // The reconcile that reports this began before the edit.
        let now = later(began, Duration::from_secs(1));
        it.checker.began.insert(ObjectRef::deployment(&namespace, &name), began);
        let mut remote = lock(&it.reach.remote);
        it.checker.check_new(&lock(&it.reach.cluster), &mut remote, now);
    });
    reports(
        "a value that should have been removed with the deployment stays",
        Live(Shape { config: true, ..shape }),
        "which must be removed",
        |it| {
            it.write(ONE, Shape { recreate: true, ..Shape::default() });
            it.forge_status(&json!({"observedGeneration": 2}));
        },
    );
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
