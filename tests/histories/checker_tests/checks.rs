//! The same for checks and projects.

use std::time::Duration;

use connect_operator::operator::object_ref::ObjectRef;
use serde_json::{Value, json};

use super::{Forge, ONE};
use crate::checks::{CheckShape, stored};
use crate::cluster::{Cluster, Key, Kind};
use crate::frontend::{Called, Checking, REPLIES};
use crate::history::{Reading, Shape};
use crate::interceptor::lock;
use crate::replay::simulate;
use crate::settled::unsettled;
use crate::simulation::Simulation;
use crate::users::{PROJECT_NAME, SHOP};

const POST: CheckShape =
    CheckShape { method: 1, after: false, host: 0, expect: 0, header: false, suspend: false, extension: 0 };
const GET: CheckShape = CheckShape { method: 0, ..POST };

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

/// Returns what the checker reports if something is forged after the operator was stopped.
fn reported(forge: Forge) -> String {
    let (_, reported) = simulate(0, Reading::default(), async |simulation: &mut Simulation| {
        simulation.start(0, 0);
        simulation.write(ONE, Shape::default());
        simulation.write_check(&stored(0), POST);
        simulation.write_check(&stored(1), GET);
        simulation.settle(Duration::ZERO, 0).await.expect("it settles");
        simulation.stop(0).await;
        assert_eq!(simulation.verdict(), Ok(()));
        assert_eq!(unsettled(simulation), None);
        forge(simulation);
        simulation.verdict().err().or_else(|| unsettled(simulation)).unwrap_or_default()
    });
    reported
}

#[test]
fn the_checker_reports_each_thing_that_a_check_must_not_do() {
    let rows: [(&str, Forge, &str); 8] = [
        (
            "a POST that was not recorded",
            |simulation| simulation.forge_action(simulation.call_of(0, true)),
            "not recorded before",
        ),
        (
            "a POST that was recorded, for the cause of an earlier one",
            |simulation| {
                let called = simulation.call_of(0, true);
                simulation
                    .forge_check(&json!({"outcome": "Sent", "checkedAt": "2027-01-15T09:00:00Z", "conditions": []}));
                simulation.forge_action(called);
            },
            "called twice",
        ),
        (
            "a host that is not allowed",
            |simulation| {
                let host = "shop.example.com".to_owned();
                simulation.forge_action(Called { host, ..simulation.call_of(0, true) });
            },
            "not allowed",
        ),
        (
            "a call of a suspended check",
            |simulation| {
                simulation.write_check(&stored(0), CheckShape { suspend: true, ..POST });
                simulation.forge_action(simulation.call_of(0, true));
            },
            "while it was suspended",
        ),
        (
            "a GET before its interval has passed",
            |simulation| simulation.forge_action(simulation.call_of(1, false)),
            "before its interval",
        ),
        (
            "a result without a call",
            |simulation| {
                let status = json!({"outcome": "Failed", "httpStatus": 500, "checkedAt": "2027-01-15T09:00:00Z"});
                simulation.forge_check(&status);
            },
            "the result of a call that was not recorded",
        ),
        (
            "a generation that does not exist yet",
            |simulation| simulation.forge_check(&json!({"observedGeneration": 9})),
            "future generation",
        ),
        (
            "the result of another generation",
            |simulation| {
                simulation.write_check(&stored(0), CheckShape { extension: 1, ..POST });
                simulation.forge_check(&json!({"observedGeneration": 2}));
            },
            "without such a call of the observed generation",
        ),
    ];
    for (case, forge, wanted) in rows {
        let reported = reported(forge);
        assert!(reported.contains(wanted), "{case}: the checker reports {reported:?}");
    }
}

#[test]
fn the_checker_reports_needless_writes_and_projects_that_go_too_early() {
    let rows: [(&str, Forge, &str); 2] = [
        (
            "a patch that changes nothing",
            |simulation| {
                let project = Key::new(Kind::Project, SHOP, PROJECT_NAME);
                simulation.forge_request(|cluster| cluster.patch(&project, &json!({}), true));
            },
            "changes nothing",
        ),
        (
            "a project that is removed while a resource names it",
            |simulation| {
                let project = Key::new(Kind::Project, SHOP, PROJECT_NAME);
                let now = simulation.now();
                simulation.checker.began.insert(ObjectRef::project(SHOP, PROJECT_NAME), now);
                let mut cluster = lock(&simulation.reach.cluster);
                let _ = cluster.delete(&project, now);
                let patch = json!({"metadata": {"finalizers": null}});
                let _ = cluster.requested_by(0, |cluster| cluster.patch(&project, &patch, false));
                simulation.checker.check_new(&cluster, &mut lock(&simulation.reach.remote), now);
            },
            "still names it",
        ),
    ];
    for (case, forge, wanted) in rows {
        let reported = reported(forge);
        assert!(reported.contains(wanted), "{case}: the checker reports {reported:?}");
    }
}

#[test]
fn the_checker_reports_each_check_that_does_not_settle() {
    let rows: [(&str, Forge, &str); 5] = [
        (
            "an edit that is not observed",
            |simulation| simulation.write_check(&stored(0), CheckShape { extension: 1, ..POST }),
            "its generation was not observed",
        ),
        ("a rerun that is not sent", |simulation| simulation.rerun(&stored(0), 1), "its action was not called"),
        ("an answer that a GET does not report", |simulation| simulation.set_reply(2), "the frontend answers"),
        (
            "a call whose answer was lost, which is not reported",
            |simulation| {
                let ready = json!({"type": "Ready", "status": "Unknown", "reason": "Checking"});
                simulation.forge_check(&json!({"outcome": "Sent", "conditions": [ready]}));
            },
            "it reports Checking instead of AnswerLost",
        ),
        (
            "a deployment that is not Ready any more, which is not reported",
            |simulation| {
                simulation.write_check(&stored(0), CheckShape { after: true, ..POST });
                simulation.forge_check(&json!({"observedGeneration": 2, "conditions": []}));
                simulation.write(ONE, Shape { suspend: true, ..Shape::default() });
                simulation.forge_status(&json!({"observedGeneration": 2, "state": null}));
            },
            "instead of DeploymentNotReady",
        ),
    ];
    for (case, forge, wanted) in rows {
        let reported = reported(forge);
        assert!(reported.contains(wanted), "{case}: the checker reports {reported:?}");
    }
}
