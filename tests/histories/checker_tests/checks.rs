//! The same for checks and projects.

use super::Start::Checks;
use super::{ONE, reports};
use crate::frontend::{Called, Checking, REPLIES};
use crate::prelude::*;

pub(super) const POST: CheckShape =
    CheckShape { method: 1, after: false, host: 0, expect: 0, header: false, suspend: false, extension: 0 };
pub(super) const GET: CheckShape = CheckShape { method: 0, ..POST };

impl Simulation {
    /// Returns a call that the newest version of a check makes.
    fn call_of(&self, index: u8, writes: bool) -> Called {
        let key = stored(index);
        let object = lock(&self.reach.cluster).get(&key).cloned().expect("the check exists");
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let version = text("resourceVersion").parse().expect("a version");
        Called {
            by: Checking { namespace: key.namespace, uid: text("uid"), version, wrote: true, began: self.now() },
            scheme: "https".to_owned(),
            host: "shop-example.frontastic.live".to_owned(),
            writes,
            executed: true,
            reply: REPLIES[0],
        }
    }

    fn forge_action(&mut self, called: Called) {
        lock(&self.reach.frontend).calls.push(called);
        self.check();
    }

    /// Forges a call that a check records; with the cause of the last one, if there was one.
    fn forge_last_call(&mut self, outcome: &str, more: &Value) {
        let known = lock(&self.reach.cluster).get(&stored(0)).cloned().expect("the check exists");
        let state = known["status"]["state"].as_str().and_then(|state| serde_json::from_str::<Value>(state).ok());
        let mut state = state.unwrap_or_else(|| json!({"v": 1, "cause": {}}));
        state["outcome"] = outcome.into();
        let mut status = json!({"checkedAt": "2027-01-15T09:00:00Z", "state": state.to_string()});
        merge(&mut status, more);
        self.forge_check(&status);
    }

    fn forge_check(&mut self, status: &Value) {
        let _ = lock(&self.reach.cluster).patch(&stored(0), &json!({"status": status}), true);
        self.check();
    }

    /// Forges what an operator requests of the cluster.
    fn forge_request<T>(&mut self, request: impl FnOnce(&mut Cluster) -> T) {
        lock(&self.reach.cluster).requested_by(0, request);
        self.check();
    }
}

#[test]
fn the_checker_reports_each_thing_that_a_check_must_not_do() {
    reports("a POST that was not recorded", Checks, "not recorded before", |it| it.forge_action(it.call_of(0, true)));
    reports("a POST that was recorded, for the cause of an earlier one", Checks, "called twice", |it| {
        let called = it.call_of(0, true);
        it.forge_last_call("Sent", &json!({"conditions": []}));
        it.forge_action(called);
    });
    reports("a host that is not allowed", Checks, "not allowed", |it| {
        let host = "shop.example.com".to_owned();
        it.forge_action(Called { host, ..it.call_of(0, true) });
    });
    reports("a call of a suspended check", Checks, "while it was suspended", |it| {
        it.write_check(&stored(0), CheckShape { suspend: true, ..POST });
        it.forge_action(it.call_of(0, true));
    });
    reports("a GET before its interval has passed", Checks, "before its interval", |it| {
        it.forge_action(it.call_of(1, false));
    });
    reports("a result without a call", Checks, "the result of a call that was not recorded", |it| {
        it.forge_last_call("Failed", &json!({}));
    });
    reports("a generation that does not exist yet", Checks, "future generation", |it| {
        it.forge_check(&json!({"observedGeneration": 9}));
    });
    reports("the result of another generation", Checks, "without such a call of the observed generation", |it| {
        it.write_check(&stored(0), CheckShape { extension: 1, ..POST });
        it.forge_check(&json!({"observedGeneration": 2}));
    });
}

#[test]
fn the_checker_reports_needless_writes_and_projects_that_go_too_early() {
    reports("a patch that changes nothing", Checks, "changes nothing", |it| {
        let project = Key::new(Kind::Project, SHOP, PROJECT_NAME);
        it.forge_request(|cluster| cluster.patch(&project, &json!({}), true));
    });
    reports("a project that is removed while a resource names it", Checks, "still names it", |it| {
        let project = Key::new(Kind::Project, SHOP, PROJECT_NAME);
        let now = it.now();
        it.checker.began.insert(ObjectRef::project(SHOP, PROJECT_NAME), now);
        let mut cluster = lock(&it.reach.cluster);
        let _ = cluster.delete(&project, now);
        let patch = json!({"metadata": {"finalizers": null}});
        let _ = cluster.requested_by(0, |cluster| cluster.patch(&project, &patch, false));
        it.checker.check_new(&cluster, &mut lock(&it.reach.remote), now);
    });
}

#[test]
fn the_checker_reports_each_check_that_does_not_settle() {
    reports("an edit that is not observed", Checks, "its generation was not observed", |it| {
        it.write_check(&stored(0), CheckShape { extension: 1, ..POST });
    });
    reports("a rerun that is not sent", Checks, "its action was not called", |it| it.rerun(&stored(0), 1));
    reports("an answer that a GET does not report", Checks, "the frontend answers", |it| it.set_reply(2));
    reports(
        "a call whose answer was lost, which is not reported",
        Checks,
        "it reports Checking instead of AnswerLost",
        |it| {
            let ready = json!({"type": "Ready", "status": "Unknown", "reason": "Checking"});
            it.forge_last_call("Sent", &json!({"conditions": [ready]}));
        },
    );
    reports(
        "a deployment that is not Ready any more, which is not reported",
        Checks,
        "instead of DeploymentNotReady",
        |it| {
            it.write_check(&stored(0), CheckShape { after: true, ..POST });
            it.forge_check(&json!({"observedGeneration": 2, "conditions": []}));
            it.write(ONE, Shape { suspend: true, ..Shape::default() });
            it.forge_status(&json!({"observedGeneration": 2, "state": null}));
        },
    );
}
