//! A `Kustomization` with `wait: true` that contains a ConnectProject and a ConnectorDeployment, from its first commit to
//! its deletion. The remote's time is stepped, so each operation lasts until the test ends it; the operator and Flux have
//! the time of the machine.

use std::fmt::Debug;

use clock::Clock;
use connect_api::model::DeploymentStatus;
use connect_operator::crd::{self, ConnectProject, ConnectorDeployment};
use connect_operator::names;
use dev_server::{DEPLOY_DURATION, Options, PlannedOutcome};
use futures::StreamExt as _;
use jiff::Timestamp;
use kube::api::DeleteParams;
use kube::core::NamespaceResourceScope;
use kube::runtime::watcher;
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Flux, INTERVAL, NAME as KUSTOMIZATION, condition};
use crate::cluster::Sandbox;
use crate::gitops::ownership::only_its_own;
use crate::patience::{brief, in_time};
use crate::rules::is_accepted;
use crate::shop::{CREDENTIALS, NAME, PROJECT, SECRET, Shop};

const KIND: &str = "Kustomization";
/// Files in the repository.
const PROJECT_FILE: &str = "shop/project.yaml";
const DEPLOYMENT_FILE: &str = "shop/deployment.yaml";

/// An operator and a remote, and Flux in the same namespace.
struct Setup {
    shop: Shop,
    flux: Flux,
}

#[tokio::test]
async fn a_kustomization_waits_for_deployments_reports_failures_and_prunes() {
    if !super::is_requested() {
        return;
    }
    let setup = Setup::open().await;
    setup.is_ready_after_the_deployment().await;
    setup.applies_a_commit_once().await;
    setup.fails_at_once_and_names_the_deployment().await;
    setup.prunes_the_deployment_only().await;
    setup.deletes_the_project_after_its_deployment().await;
}

impl Setup {
    async fn open() -> Self {
        let sandbox = Sandbox::with_definitions(crd::all()).await;
        let flux = Flux::start(&sandbox).await;
        let mut shop = Shop::on(sandbox, Options::default(), Clock::stepped(Timestamp::now())).await;
        shop.clock = Clock::system();
        shop.start_operator();
        shop.put_secret(CREDENTIALS, &[("clientId", "dev-client"), ("clientSecret", "dev-secret")]).await;
        shop.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
        Self { shop, flux }
    }

    /// The deployment with this value, as a file.
    fn deployment(&self, level: &str) -> String {
        let mut deployment = self.shop.deployment();
        deployment["spec"]["configurations"][0]["standardConfiguration"][0]["value"] = json!(level);
        deployment.to_string()
    }

    /// Ends the operation that runs at the remote.
    fn finish(&self) {
        self.shop.dev.clock().step(DEPLOY_DURATION);
    }

    fn at_the_remote(&self) -> Vec<DeploymentStatus> {
        let now = self.shop.dev.now();
        self.shop.dev.world().all(now).into_iter().map(|deployment| deployment.status).collect()
    }

    /// The numbers of creates, redeploys and deletes that were sent.
    fn sent(&self) -> [u64; 3] {
        ["createDeployment", "updateDeploymentById", "deleteDeploymentById"].map(|call| self.shop.calls(call))
    }

    async fn until_ready(&self, revision: &str) -> Value {
        let is = |object: &Value| {
            condition(object, "Ready").0 == "True" && object["status"]["lastAppliedRevision"] == revision
        };
        self.flux.until(KIND, "the Kustomization is Ready", is).await
    }

    /// Applies the Kustomization with this timeout of its health checks.
    async fn apply(&self, timeout: &str) {
        let spec = json!({
            "interval": INTERVAL,
            "sourceRef": {"kind": "GitRepository", "name": KUSTOMIZATION},
            "path": "./shop",
            "targetNamespace": self.shop.sandbox.namespace,
            "prune": true,
            "wait": true,
            "timeout": timeout,
            "deletionPolicy": "WaitForTermination",
        });
        self.flux.apply(KIND, &spec).await;
    }

    /// Commits the deployment with this value while the Kustomization has a short timeout. Returns the revision.
    async fn publish(&self, level: &str) -> String {
        self.apply(&short_timeout()).await;
        let settled = |object: &Value| matches!(condition(object, "Ready"), ("True", ..) | (_, "HealthCheckFailed", _));
        self.flux.until(KIND, "the short timeout is in force", settled).await;
        let deployment = self.deployment(level);
        self.flux.publish(&[(DEPLOYMENT_FILE, Some(&deployment))]).await
    }

    /// Asserts that the Kustomization waits while the remote is busy: its short timeout expires. Returns once it waits
    /// again, with a timeout that is longer than this test waits.
    async fn until_waiting(&self, revision: &str) {
        self.shop.until("the operation is accepted", is_accepted).await;
        let busy = format!("ConnectorDeployment/{}/{NAME} status: 'InProgress'", self.shop.sandbox.namespace);
        let expired = |object: &Value| {
            condition(object, "Ready").1 == "HealthCheckFailed" && object["status"]["lastAttemptedRevision"] == revision
        };
        let expired = self.flux.until(KIND, "the short timeout expires", expired).await;
        let message = condition(&expired, "Ready").2;
        assert!(message.contains("timeout waiting for") && message.contains(&busy), "{message}");
        assert_ne!(expired["status"]["lastAppliedRevision"], revision);

        self.apply("40m").await;
        let checks = format!("Running health checks for revision {revision} with a timeout of 40m");
        let is = |object: &Value| condition(object, "Healthy").2.starts_with(&checks);
        self.flux.until(KIND, "the Kustomization waits", is).await;
    }

    async fn is_ready_after_the_deployment(&self) {
        let files = [(PROJECT_FILE, self.shop.project().to_string()), (DEPLOYMENT_FILE, self.deployment("info"))];
        let files = files.each_ref().map(|(name, content)| (*name, Some(content.as_str())));
        let revision = self.flux.repository.commit(&files).await;
        self.flux.apply_source().await;
        self.apply(&short_timeout()).await;
        self.until_waiting(&revision).await;
        self.finish();
        self.until_ready(&revision).await;
        self.assert_live().await;
        assert_eq!(self.sent(), [1, 0, 0]);
    }

    /// A commit causes one redeploy, and a reconcile without a commit none; the fields of Flux and of the operator are
    /// apart.
    async fn applies_a_commit_once(&self) {
        let revision = self.publish("debug").await;
        self.until_waiting(&revision).await;
        self.finish();
        self.until_ready(&revision).await;
        let live = self.assert_live().await;
        assert_eq!(json!(live.spec.configurations)[0]["standardConfiguration"][0]["value"], "debug");
        self.flux.reconcile(KIND, "without-a-commit").await;
        assert_eq!(self.shop.get().await.metadata.generation, live.metadata.generation);
        assert_eq!(self.sent(), [1, 1, 0]);
        only_its_own(&json!(self.shop.get().await));
        only_its_own(&json!(self.shop.api::<ConnectProject>().get(PROJECT).await.unwrap()));
    }

    async fn fails_at_once_and_names_the_deployment(&self) {
        let id = self.shop.get().await.status.and_then(|status| status.id).expect("it is deployed");
        let outcome = PlannedOutcome::failure("service", "It did not start", "The port is taken");
        self.shop.dev.world().plan_outcome(&id, outcome, self.shop.dev.now()).unwrap();
        let revision = self.publish("warn").await;
        self.until_waiting(&revision).await;
        self.finish();
        let failed = |object: &Value| {
            condition(object, "Ready").1 == "HealthCheckFailed" && object["status"]["lastAttemptedRevision"] == revision
        };
        let failed = self.flux.until(KIND, "the Kustomization has failed", failed).await;
        let (status, _, message) = condition(&failed, "Ready");
        let stalled = format!("[ConnectorDeployment/{}/{NAME} status: 'Failed']", self.shop.sandbox.namespace);
        assert!(status == "False" && message.ends_with(&stalled), "{message}");
        // Flux leaves out why: that is in the condition of the deployment.
        let deployment = json!(self.shop.get().await);
        let (_, reason, message) = condition(&deployment, names::STALLED);
        assert!(reason == "RedeployFailed" && message.contains("The port is taken"), "{reason}: {message}");

        let revision = self.publish("error").await;
        self.until_waiting(&revision).await;
        self.finish();
        self.until_ready(&revision).await;
        self.assert_live().await;
        assert_eq!(self.sent(), [1, 3, 0]);
    }

    async fn prunes_the_deployment_only(&self) {
        let revision = self.flux.publish(&[(DEPLOYMENT_FILE, None)]).await;
        self.shop.until_reason("Undeploying").await;
        self.until_ready(&revision).await;
        self.finish();
        self.shop.until_gone().await;
        assert_eq!((self.at_the_remote(), self.sent()), (Vec::new(), [1, 3, 1]));
        let project = self.shop.api::<ConnectProject>().get(PROJECT).await.unwrap();
        assert!(project.metadata.deletion_timestamp.is_none());
    }

    async fn deletes_the_project_after_its_deployment(&self) {
        let revision = self.publish("info").await;
        self.until_waiting(&revision).await;
        self.finish();
        self.until_ready(&revision).await;
        let project = deletion_of(self.shop.api::<ConnectProject>(), PROJECT).await;
        let deployment = deletion_of(self.shop.api::<ConnectorDeployment>(), NAME).await;
        self.flux.api(KIND).delete(KUSTOMIZATION, &DeleteParams::default()).await.unwrap();
        self.shop.until_reason("Undeploying").await;
        self.shop.until_project("deleted", |project| project.metadata.deletion_timestamp.is_some()).await;
        let waiting = self.flux.api(KIND).get(KUSTOMIZATION).await.unwrap();
        assert!(waiting.metadata.deletion_timestamp.is_some(), "it waits until both are gone");
        self.finish();
        self.flux.until_gone(KIND).await;
        assert!(self.shop.api::<ConnectorDeployment>().get_opt(NAME).await.unwrap().is_none());
        assert!(self.shop.api::<ConnectProject>().get_opt(PROJECT).await.unwrap().is_none());
        assert!(deployment.await < project.await, "the project exists as long as its deployment");
        assert_eq!((self.at_the_remote(), self.sent()), (Vec::new(), [2, 3, 2]));
    }

    /// Asserts that the deployment is Ready in cluster and remote.
    async fn assert_live(&self) -> ConnectorDeployment {
        let object = self.shop.get().await;
        assert_eq!(condition(&json!(object), names::READY).0, "True", "{:#?}", object.status);
        assert_eq!(self.at_the_remote(), [DeploymentStatus::Deployed]);
        object
    }
}

/// A timeout that has to expire, after more than one poll of Flux, which polls every 5 s.
fn short_timeout() -> String {
    format!("{}ms", (brief() * 5).as_millis())
}

/// Watches an existing object from now on. The result awaits its deletion, and returns the revision of the cluster at
/// that time.
async fn deletion_of<K>(api: Api<K>, name: &str) -> impl Future<Output = u64> + use<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut events = watcher::watcher(api, config).boxed();
    let mut is_watched = false;
    while !is_watched {
        is_watched = matches!(in_time(events.next()).await.unwrap().unwrap().unwrap(), watcher::Event::InitDone);
    }
    async move {
        loop {
            if let watcher::Event::Delete(object) = in_time(events.next()).await.unwrap().unwrap().unwrap() {
                return object.resource_version().and_then(|version| version.parse().ok()).expect("a revision");
            }
        }
    }
}
