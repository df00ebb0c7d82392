//! The same for staged connectors.

use connect_api::model::ConnectorUpdateAction as Action;

use super::Start::Kit;
use super::reports;
use crate::prelude::*;
use crate::remote::StagedVerb;
use crate::staged::stored;

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
            "kind": kind, "at": self.now().to_string(), "from": object["status"]["remote"]["version"], "digest": "",
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
        (status["id"].as_str().unwrap_or_default().to_owned(), status["remote"]["version"].as_i64().unwrap_or_default())
    }
}

#[test]
fn the_checker_reports_each_operation_that_the_spec_of_a_staged_connector_forbids() {
    reports("an update while it is suspended", Kit(LIVE), "it is suspended", |it| {
        it.plan(Plan { suspend: true, ..RENAMED });
        it.forge_staged_operation("Update");
    });
    reports("a publication while it is being deleted", Kit(LIVE), "it is being deleted", |it| {
        it.drop_plan();
        it.forge_staged_operation("Publish");
    });
    reports(
        "a DELETE under deletionPolicy Orphan",
        Kit(Plan { delete: false, ..LIVE }),
        "its staged connector must be orphaned",
        |it| {
            it.drop_plan();
            it.forge_staged_operation("Delete");
        },
    );
    reports("a DELETE of a resource that is not being deleted", Kit(LIVE), "it is not being deleted", |it| {
        it.forge_staged_operation("Delete");
    });
    reports("a DELETE at the remote for a resource that is not being deleted", Kit(LIVE), "was deleted, and", |it| {
        it.forge_staged_call(StagedVerb::Discard { id: it.staged_identity().0 });
    });
    reports(
        "a DELETE at the remote that was not persisted",
        Kit(LIVE),
        "was deleted without a persisted operation",
        |it| {
            it.drop_plan();
            it.forge_staged_call(StagedVerb::Discard { id: it.staged_identity().0 });
        },
    );
}

#[test]
fn the_checker_reports_each_call_that_a_staged_connector_must_not_get() {
    reports("a second preview of a tag", Kit(LIVE), "was requested twice", |it| {
        it.forge_staged_update("Preview", Action::UpdatePreviewable);
    });
    reports("a second publication of a content", Kit(LIVE), "was published twice", |it| {
        it.forge_staged_update("Publish", Action::Publish { certification: false });
    });
    reports("a certification that no spec asks for", Kit(LIVE), "as no spec asks", |it| {
        it.forge_staged_update("Publish", Action::Publish { certification: true });
    });
    reports("an update that changes nothing", Kit(LIVE), "changes nothing", |it| {
        it.forge_staged_update("Update", Action::SetName { name: "Kit 0".to_owned() });
    });
    reports("an update that was not persisted", Kit(LIVE), "without being persisted", |it| {
        let (id, version) = it.staged_identity();
        let actions = vec![Action::SetName { name: "Kit 1".to_owned() }];
        it.forge_staged_call(StagedVerb::Update { id, version, actions });
    });
    reports("a change of a staged connector that it does not own", Kit(LIVE), "which it does not own", |it| {
        it.forge_staged_call(StagedVerb::Discard { id: "another".to_owned() });
    });
    reports("an edit that counts as observed and is never sent", Kit(LIVE), "and the remote has", |it| {
        it.plan(RENAMED);
        it.forge_staged_status(&json!({"observedGeneration": 2}));
    });
    reports("a staged connector that is left behind", Kit(LIVE), "is orphaned", |it| {
        it.drop_plan();
        it.edit(&stored(), &json!({"metadata": {"finalizers": null}}));
    });
}
