//! The same for staged connectors.

use std::time::Duration;

use connect_api::model::ConnectorUpdateAction as Action;
use connect_operator::operator::object_ref::ObjectRef;
use serde_json::{Value, json};

use super::Forge;
use crate::history::Reading;
use crate::interceptor::lock;
use crate::remote::{Arrived, Asked, StagedVerb};
use crate::replay::simulate;
use crate::settled::unsettled;
use crate::simulation::Simulation;
use crate::staged::{Plan, stored};

/// It is previewed and published.
const LIVE: Plan = Plan { tag: 0, words: 0, previewable: true, publish: 1, adopt: false, delete: true, suspend: false };
const RENAMED: Plan = Plan { words: 1, ..LIVE };

impl Simulation {
    fn stored_staged(&self) -> Value {
        let object = lock(&self.reach.cluster).get(&stored()).cloned();
        Value::clone(&object.expect("the object exists"))
    }

    fn forge_staged_status(&mut self, status: &Value) {
        let _ = lock(&self.reach.cluster).patch(&stored(), &json!({"status": status}), true);
        self.check();
    }

    /// Forges a call that is about to be sent.
    fn forge_staged_operation(&mut self, kind: &str) {
        let object = self.stored_staged();
        let text = object["status"]["state"].as_str().unwrap_or_default();
        let mut state: Value = serde_json::from_str(text).expect("the operator writes JSON");
        state["call"] = json!({
            "kind": kind, "at": self.now().to_string(), "from": object["status"]["version"], "digest": "",
            "open": true,
        });
        self.forge_staged_status(&json!({"state": state.to_string()}));
    }

    /// Forges the arrival of a call that the remote accepted.
    fn forge_staged_call(&mut self, verb: StagedVerb) {
        let object = self.stored_staged();
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let caller = (ObjectRef::staged(&stored().namespace, &stored().name), uid);
        let changed = Some(self.staged_identity().0);
        let arrived = Arrived { caller, denied: false, asked: Asked::Staged(verb), changed };
        lock(&self.reach.remote).arrived.push(arrived);
        self.check();
    }

    /// Forges the operation and the arrival of one update.
    fn forge_staged_update(&mut self, kind: &str, action: Action) {
        self.forge_staged_operation(kind);
        let (id, version) = self.staged_identity();
        self.forge_staged_call(StagedVerb::Update { id, version, actions: vec![action] });
    }

    /// Id and version of the staged connector, as the status reports them.
    fn staged_identity(&self) -> (String, i64) {
        let status = &self.stored_staged()["status"];
        (status["id"].as_str().unwrap_or_default().to_owned(), status["version"].as_i64().unwrap_or_default())
    }
}

/// Returns what the checker reports once a resource is as far as its spec asks for, the operator is stopped, and
/// something is forged.
fn reported(plan: Plan, forge: Forge) -> String {
    let (_, reported) = simulate(0, Reading::default(), async |simulation: &mut Simulation| {
        simulation.start(0, 0);
        simulation.plan(plan);
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

fn check_all(rows: &[(&str, Plan, Forge, &str)]) {
    for (case, plan, forge, wanted) in rows {
        let reported = reported(*plan, *forge);
        assert!(reported.contains(wanted), "{case}: the checker reports {reported:?}");
    }
}

#[test]
fn the_checker_reports_each_operation_that_the_spec_of_a_staged_connector_forbids() {
    check_all(&[
        (
            "an update while it is suspended",
            LIVE,
            |simulation| {
                simulation.plan(Plan { suspend: true, ..RENAMED });
                simulation.forge_staged_operation("Update");
            },
            "it is suspended",
        ),
        (
            "a publication while it is being deleted",
            LIVE,
            |simulation| {
                simulation.drop_plan();
                simulation.forge_staged_operation("Publish");
            },
            "it is being deleted",
        ),
        (
            "a DELETE under deletionPolicy Orphan",
            Plan { delete: false, ..LIVE },
            |simulation| {
                simulation.drop_plan();
                simulation.forge_staged_operation("Delete");
            },
            "its staged connector must be orphaned",
        ),
        (
            "a DELETE of a resource that is not being deleted",
            LIVE,
            |simulation| simulation.forge_staged_operation("Delete"),
            "it is not being deleted",
        ),
        (
            "a DELETE at the remote for a resource that is not being deleted",
            LIVE,
            |simulation| simulation.forge_staged_call(StagedVerb::Discard { id: simulation.staged_identity().0 }),
            "was deleted, and",
        ),
        (
            "a DELETE at the remote that was not persisted",
            LIVE,
            |simulation| {
                simulation.drop_plan();
                simulation.forge_staged_call(StagedVerb::Discard { id: simulation.staged_identity().0 });
            },
            "was deleted without a persisted operation",
        ),
    ]);
}

#[test]
fn the_checker_reports_each_call_that_a_staged_connector_must_not_get() {
    check_all(&[
        (
            "a second preview of a tag",
            LIVE,
            |simulation| simulation.forge_staged_update("Preview", Action::UpdatePreviewable),
            "was requested twice",
        ),
        (
            "a second publication of a content",
            LIVE,
            |simulation| simulation.forge_staged_update("Publish", Action::Publish { certification: false }),
            "was published twice",
        ),
        (
            "a certification that no spec asks for",
            LIVE,
            |simulation| simulation.forge_staged_update("Publish", Action::Publish { certification: true }),
            "as no spec asks",
        ),
        (
            "an update that changes nothing",
            LIVE,
            |simulation| simulation.forge_staged_update("Update", Action::SetName { name: "Kit 0".to_owned() }),
            "changes nothing",
        ),
        (
            "an update that was not persisted",
            LIVE,
            |simulation| {
                let (id, version) = simulation.staged_identity();
                let actions = vec![Action::SetName { name: "Kit 1".to_owned() }];
                simulation.forge_staged_call(StagedVerb::Update { id, version, actions });
            },
            "without being persisted",
        ),
        (
            "a change of a staged connector that it does not own",
            LIVE,
            |simulation| simulation.forge_staged_call(StagedVerb::Discard { id: "another".to_owned() }),
            "which it does not own",
        ),
        (
            "an edit that counts as observed and is never sent",
            LIVE,
            |simulation| {
                simulation.plan(RENAMED);
                simulation.forge_staged_status(&json!({"observedGeneration": 2}));
            },
            "and the remote has",
        ),
        (
            "a staged connector that is left behind",
            LIVE,
            |simulation| {
                simulation.drop_plan();
                simulation.edit(&stored(), &json!({"metadata": {"finalizers": null}}));
            },
            "is orphaned",
        ),
    ]);
}
