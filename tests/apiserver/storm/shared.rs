//! The permission of a namespace to use a `ClusterConnectProject` is withdrawn and granted again, while resources are changed
//! and the operator is killed.

use std::time::Duration;

use connect_operator::crd::{ClusterConnectProject, ConnectorDeployment};
use dev_server::Options;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{Patch, PatchParams};
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::json;

use crate::storm::checker::Report;
use crate::storm::environment::{Environment, apply};
use crate::storm::requested::is_observed;
use crate::storm::size::{self, pick};
use crate::storm::watched::{Latest, ready};

/// The label by which the project allows the namespace.
const LABEL: (&str, &str) = ("connect", "shop");

/// What is changed to withdraw or to grant the permission.
#[derive(Clone, Copy, Debug)]
enum Source {
    Label,
    Project,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_for_a_namespace_that_is_not_allowed_and_each_change_once_afterwards() {
    let (resources, rounds, kills) = pick((8, 4, 2), (40, 20, 6));
    let options = Options { deploy_duration: Duration::from_millis(1_500), ..Options::default() };
    let mut env = Environment::open_shared("shared", options).await;
    let mut operator = env.operator().now();
    env.create_taken().await;
    let mut users = Users { chance: size::chance("shared", "users"), resources };
    let mut killer = size::chance("shared", "killer");
    for _ in 0..rounds {
        users.change_some(&env).await;
        operator = operator.kill_repeatedly(kills, Duration::from_secs(4), &mut killer).await;
        let source = if users.chance.random() { Source::Label } else { Source::Project };
        source.allow(&env, false).await;
        users.change_all(&env).await;
        let from = reported(&env, source).await;
        // The next process has to find out by itself.
        operator = operator.restart().await;
        users.change_all(&env).await;
        let until = reported(&env, source).await;
        source.allow(&env, true).await;
        Report::must_settle(&env).await;
        env.note_not_allowed(from, until);
    }
    let done = [("permissions withdrawn", rounds), ("kills", rounds * u64::from(kills + 1))];
    Report::at_the_end(&env, &[], vec![operator], &done).await;
}

/// Waits until the operator has reported for the last change of every resource that the namespace is not allowed. Returns
/// when that was observed. Everything was settled before the permission was withdrawn, so no report is an earlier one.
async fn reported(env: &Environment, source: Source) -> Timestamp {
    let asked = env.requested.all();
    let reports = |object: &ConnectorDeployment| {
        is_observed(object) && ready(object).is_some_and(|condition| condition.reason == "ProjectNotAllowed")
    };
    let all = |latest: &Latest| {
        asked.iter().all(|(name, asked)| match latest.get(name) {
            Some(object) if asked.wanted => reports(object) && asked.is_observed_in(object),
            Some(object) => reports(object) && object.metadata.deletion_timestamp.is_some(),
            None => !asked.wanted,
        })
    };
    let seen = env.watched.until(all).await;
    assert!(seen, "not every resource is reported after {source:?}: {:#?}", env.watched.latest());
    env.dev.now()
}

impl Source {
    async fn allow(self, env: &Environment, allows: bool) {
        match self {
            Self::Label => env.set_label(allows).await,
            Self::Project => env.put_shared_project(allows).await,
        }
    }
}

impl Environment {
    /// Creates the shared project, and the label of the namespace by which it allows it.
    pub(crate) async fn allow_by_label(&self) {
        self.set_label(true).await;
        self.put_shared_project(true).await;
    }

    /// Adds the label to the namespace, or removes it.
    async fn set_label(&self, has: bool) {
        let patch = Patch::Merge(json!({"metadata": {"labels": {LABEL.0: has.then_some(LABEL.1)}}}));
        let namespaces = Api::<Namespace>::all(self.client.clone());
        namespaces.patch(self.part, &PatchParams::default(), &patch).await.expect("it exists");
    }

    /// Applies the shared project, so that it allows namespaces with the label, or none.
    async fn put_shared_project(&self, allows: bool) {
        let mut manifest = self.project();
        if allows {
            manifest["spec"]["allowedNamespaces"] =
                json!({"from": "Selector", "selector": {"matchLabels": {LABEL.0: LABEL.1}}});
        }
        apply::<ClusterConnectProject>(&Api::all(self.client.clone()), self.part, &manifest).await;
    }

    /// Records the changing calls that arrived from one time until another, while the namespace was not allowed. All of them
    /// must have been answered.
    pub(crate) fn note_not_allowed(&self, from: Timestamp, until: Timestamp) {
        let calls = self.dev.calls().into_iter().filter(|call| call.method != "GET" && call.operation != "token");
        let calls = calls.filter(|call| (from..until).contains(&call.at));
        let lines = calls.map(|call| format!("{} {} {} {}", call.at, call.method, call.path, call.status));
        self.not_allowed.lock().unwrap().extend(lines);
    }
}

/// What users do with the resources.
struct Users {
    chance: StdRng,
    resources: usize,
}

impl Users {
    /// Changes some resources, in any way. Returns once the watch has delivered all that exist.
    async fn change_some(&mut self, env: &Environment) {
        for name in self.names() {
            match self.chance.random_range(0..10) {
                0..2 => {}
                2..6 if is_wanted(env, &name) => env.rotate(&name).await,
                _ => self.change(env, &name).await,
            }
        }
        let wanted = env.requested.wanted();
        let seen = env.watched.until(|latest| wanted.iter().all(|name| latest.contains_key(name)));
        assert!(seen.await, "the watch delivers every resource");
    }

    /// Changes all resources, so that the operator has to report each of them again.
    async fn change_all(&mut self, env: &Environment) {
        for name in self.names() {
            self.change(env, &name).await;
        }
    }

    fn names(&self) -> Vec<String> {
        (0..self.resources).map(|number| format!("tax-{number}")).collect()
    }

    /// Creates a resource, changes its spec and perhaps its Secret, or deletes it. One whose deletion waits stays as it is.
    async fn change(&mut self, env: &Environment, name: &str) {
        if !is_wanted(env, name) {
            if !env.watched.latest().contains_key(name) {
                env.create(name).await;
            }
            return;
        }
        match self.chance.random_range(0..10) {
            0 => env.delete(name).await,
            1..5 => {
                env.edit(name).await;
                env.rotate(name).await;
            }
            _ => env.edit(name).await,
        }
    }
}

fn is_wanted(env: &Environment, name: &str) -> bool {
    env.requested.all().get(name).is_some_and(|asked| asked.wanted)
}
