//! A `Kustomization` with `wait: true` that contains a ConnectProject and a ConnectorDeployment, from its first commit to
//! its deletion.

use super::{Flux, INTERVAL, NAME as KUSTOMIZATION, condition, is_requested};
use crate::gitops::slow_shop::{DEPLOYMENT_FILE, FOLDER, SlowShop, deletion_of};
use crate::patience::brief;
use crate::prelude::*;

const KIND: &str = "Kustomization";

/// An operator and a remote, and Flux in the same namespace.
struct Setup {
    slow: SlowShop,
    flux: Flux,
}

#[tokio::test]
async fn a_kustomization_waits_for_deployments_reports_failures_and_prunes() {
    if !is_requested() {
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
        Self { slow: SlowShop::open(sandbox).await, flux }
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
            "path": format!("./{FOLDER}"),
            "targetNamespace": self.slow.shop.sandbox.namespace,
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
        let deployment = self.slow.deployment(level);
        self.flux.publish(&[(DEPLOYMENT_FILE, Some(&deployment))]).await
    }

    /// Asserts that the Kustomization waits while the remote is busy: its short timeout expires. Returns once it waits
    /// again, with a timeout that is longer than this test waits.
    async fn until_waiting(&self, revision: &str) {
        self.slow.shop.until("the operation is accepted", is_accepted).await;
        let busy = format!("ConnectorDeployment/{}/{NAME} status: 'InProgress'", self.slow.shop.sandbox.namespace);
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

    async fn goes_live(&self, revision: &str) {
        self.until_waiting(revision).await;
        self.slow.finish();
        self.until_ready(revision).await;
    }

    async fn is_ready_after_the_deployment(&self) {
        let files = self.slow.files("info");
        let files = files.each_ref().map(|(name, content)| (*name, Some(content.as_str())));
        let revision = self.flux.commit(&files).await;
        self.flux.apply_source().await;
        self.apply(&short_timeout()).await;
        self.goes_live(&revision).await;
        self.slow.assert_live().await;
        assert_eq!(self.slow.shop.sent(), [1, 0, 0]);
    }

    /// A commit causes one redeploy, and a reconcile without a commit none; the fields of Flux and of the operator are
    /// apart.
    async fn applies_a_commit_once(&self) {
        self.goes_live(&self.publish("debug").await).await;
        let live = self.slow.assert_live().await;
        assert_eq!(json!(live.spec.configurations)[0]["standardConfiguration"][0]["value"], "debug");
        self.flux.reconcile(KIND, "without-a-commit").await;
        assert_eq!(self.slow.shop.get().await.metadata.generation, live.metadata.generation);
        assert_eq!(self.slow.shop.sent(), [1, 1, 0]);
        self.slow.assert_fields_apart().await;
    }

    async fn fails_at_once_and_names_the_deployment(&self) {
        self.slow.plan_failure().await;
        let revision = self.publish("warn").await;
        self.until_waiting(&revision).await;
        self.slow.finish();
        let failed = |object: &Value| {
            condition(object, "Ready").1 == "HealthCheckFailed" && object["status"]["lastAttemptedRevision"] == revision
        };
        let failed = self.flux.until(KIND, "the Kustomization has failed", failed).await;
        let (status, _, message) = condition(&failed, "Ready");
        let stalled = format!("[ConnectorDeployment/{}/{NAME} status: 'Failed']", self.slow.shop.sandbox.namespace);
        assert!(status == "False" && message.ends_with(&stalled), "{message}");
        // Flux leaves out why: that is in the condition of the deployment.
        let deployment = json!(self.slow.shop.get().await);
        let (_, reason, message) = condition(&deployment, names::STALLED);
        assert!(reason == "RedeployFailed" && message.contains("The port is taken"), "{reason}: {message}");

        self.goes_live(&self.publish("error").await).await;
        self.slow.assert_live().await;
        assert_eq!(self.slow.shop.sent(), [1, 3, 0]);
    }

    async fn prunes_the_deployment_only(&self) {
        let revision = self.flux.publish(&[(DEPLOYMENT_FILE, None)]).await;
        self.slow.shop.until_reason("Undeploying").await;
        self.until_ready(&revision).await;
        self.slow.finish();
        self.slow.assert_only_the_project_is_left().await;
        assert_eq!(self.slow.shop.sent(), [1, 3, 1]);
    }

    async fn deletes_the_project_after_its_deployment(&self) {
        self.goes_live(&self.publish("info").await).await;
        let project = deletion_of(self.slow.shop.api::<ConnectProject>(), PROJECT).await;
        let deployment = deletion_of(self.slow.shop.api::<ConnectorDeployment>(), NAME).await;
        self.flux.api(KIND).delete(KUSTOMIZATION, &DeleteParams::default()).await.unwrap();
        self.slow.shop.until_reason("Undeploying").await;
        self.slow.shop.until_project("deleted", |project| project.metadata.deletion_timestamp.is_some()).await;
        let waiting = self.flux.api(KIND).get(KUSTOMIZATION).await.unwrap();
        assert!(waiting.metadata.deletion_timestamp.is_some(), "it waits until both are gone");
        self.slow.finish();
        self.flux.until_gone(KIND).await;
        assert!(self.slow.shop.api::<ConnectorDeployment>().get_opt(NAME).await.unwrap().is_none());
        assert!(self.slow.shop.api::<ConnectProject>().get_opt(PROJECT).await.unwrap().is_none());
        assert!(deployment.await < project.await, "the project exists as long as its deployment");
        assert_eq!((self.slow.shop.statuses(), self.slow.shop.sent()), (Vec::new(), [2, 3, 2]));
    }
}

/// A timeout that has to expire, after more than one poll of Flux, which polls every 5 s.
fn short_timeout() -> String {
    format!("{}ms", (brief() * 5).as_millis())
}
