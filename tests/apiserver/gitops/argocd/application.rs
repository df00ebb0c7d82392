//! An `Application` that contains a ConnectProject and a ConnectorDeployment, from its first commit to its deletion. Argo
//! CD applies it again whenever it finds a difference (`selfHeal`), so the number of syncs tells whether it found one.

use super::{ArgoCd, IN_BACKGROUND, health_of, is_requested, sync_of, syncs_of};
use crate::gitops::slow_shop::{DEPLOYMENT_FILE, FOLDER, SlowShop, deletion_of};
use crate::prelude::*;

const EXAMPLE: &str = include_str!("../../../../examples/argocd/resources.yaml");

/// An operator and a remote, and Argo CD in the same namespace.
struct Setup {
    slow: SlowShop,
    argo: ArgoCd,
}

#[tokio::test]
async fn an_application_is_healthy_after_its_deployment_and_never_differs() {
    if !is_requested() {
        return;
    }
    let argo = ArgoCd::start(true).await;
    let setup = Setup { slow: SlowShop::open(argo.sandbox.clone()).await, argo };
    setup.is_healthy_after_the_deployment().await;
    setup.applies_a_commit_once().await;
    setup.finds_no_difference().await;
    setup.is_suspended_while_a_change_waits().await;
    setup.is_degraded_after_a_failure().await;
    setup.prunes_the_deployment_only().await;
    setup.deletes_the_project_after_its_deployment().await;
}

impl Setup {
    /// Commits the deployment as in this file. Returns once it is applied.
    async fn publish(&self, deployment: &str) {
        self.argo.publish(&[(DEPLOYMENT_FILE, Some(deployment))]).await;
    }

    /// Waits until the remote works on the change, asserts that the Application shows it, and ends the operation.
    async fn until_deployed(&self) -> Value {
        self.slow.shop.until("the operation is accepted", is_accepted).await;
        self.argo.until_health("Progressing").await;
        self.slow.finish();
        let healthy = self.argo.until_health("Healthy").await;
        self.slow.assert_live().await;
        healthy
    }

    async fn is_healthy_after_the_deployment(&self) {
        let files = self.slow.files("info");
        let files = files.each_ref().map(|(name, content)| (*name, Some(content.as_str())));
        self.argo.repository.commit(&files).await;
        let options = ["ServerSideApply=true", "SkipDryRunOnMissingResource=true", IN_BACKGROUND];
        self.argo.apply(EXAMPLE, FOLDER, &json!({"syncPolicy": {"syncOptions": options}})).await;
        let healthy = self.until_deployed().await;
        assert_eq!((syncs_of(&healthy), self.slow.shop.sent()), (1, [1, 0, 0]));
        let state = of_deployment(&healthy);
        assert_eq!([&state["status"], &state["health"]["status"]], ["Synced", "Healthy"], "{healthy:#}");
    }

    async fn applies_a_commit_once(&self) {
        self.publish(&self.slow.deployment("debug")).await;
        let healthy = self.until_deployed().await;
        assert_eq!((syncs_of(&healthy), self.slow.shop.sent()), (2, [1, 1, 0]));
        self.slow.assert_fields_apart().await;
    }

    /// Nothing that the operator writes is a difference, whichever way Argo CD compares.
    async fn finds_no_difference(&self) {
        let live = self.slow.shop.get().await;
        for way in ["ServerSideDiff=false", "ServerSideDiff=true"] {
            self.argo.annotate(&format!("argocd.argoproj.io/compare-options={way}")).await;
            let compared = self.argo.refresh("hard").await;
            let state = [sync_of(&compared), health_of(&compared)];
            assert_eq!((state, syncs_of(&compared)), (["Synced", "Healthy"], 2), "{way}: {compared:#}");
        }
        assert_eq!(self.slow.shop.get().await.metadata.generation, live.metadata.generation);
    }

    async fn is_suspended_while_a_change_waits(&self) {
        let mut deployment: Value = serde_json::from_str(&self.slow.deployment("error")).unwrap();
        deployment["spec"]["suspend"] = json!(true);
        self.publish(&deployment.to_string()).await;
        let suspended = self.argo.until_health("Suspended").await;
        assert_eq!(of_deployment(&suspended)["health"]["status"], "Suspended", "{suspended:#}");
        assert_eq!(self.slow.shop.sent(), [1, 1, 0]);
        self.publish(&self.slow.deployment("error")).await;
        self.until_deployed().await;
        assert_eq!(self.slow.shop.sent(), [1, 2, 0]);
    }

    async fn is_degraded_after_a_failure(&self) {
        self.slow.plan_failure().await;
        self.publish(&self.slow.deployment("warn")).await;
        self.slow.shop.until("the operation is accepted", is_accepted).await;
        self.argo.until_health("Progressing").await;
        self.slow.finish();
        let degraded = self.argo.until_health("Degraded").await;
        let message = of_deployment(&degraded)["health"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.starts_with("RedeployFailed: ") && message.contains("The port is taken"), "{degraded:#}");

        self.publish(&self.slow.deployment("info")).await;
        let healthy = self.until_deployed().await;
        assert_eq!((syncs_of(&healthy), self.slow.shop.sent()), (6, [1, 4, 0]));
    }

    async fn prunes_the_deployment_only(&self) {
        let revision = self.argo.commit(&[(DEPLOYMENT_FILE, None)]).await;
        self.slow.shop.until_reason("Undeploying").await;
        self.argo.until_applied(&revision).await;
        let pruning = |object: &Value| [sync_of(object), health_of(object)] == ["OutOfSync", "Progressing"];
        self.argo.until("the deployment is still there", pruning).await;
        self.slow.finish();
        self.slow.assert_only_the_project_is_left().await;
        self.argo.until_health("Healthy").await;
        assert_eq!(self.slow.shop.sent(), [1, 4, 1]);
    }

    async fn deletes_the_project_after_its_deployment(&self) {
        self.publish(&self.slow.deployment("info")).await;
        self.until_deployed().await;
        let project = deletion_of(self.slow.shop.api::<ConnectProject>(), PROJECT).await;
        let deployment = deletion_of(self.slow.shop.api::<ConnectorDeployment>(), NAME).await;
        self.argo.delete().await;
        self.slow.shop.until_reason("Undeploying").await;
        self.slow.shop.until_project("deleted", |project| project.metadata.deletion_timestamp.is_some()).await;
        let waiting = self.argo.api().get(super::NAME).await.unwrap();
        assert!(waiting.metadata.deletion_timestamp.is_some(), "it waits until both are gone");
        self.slow.finish();
        self.argo.until_gone().await;
        assert!(deployment.await < project.await, "the project exists as long as its deployment");
        assert_eq!((self.slow.shop.statuses(), self.slow.shop.sent()), (Vec::new(), [2, 4, 2]));
    }
}

/// What the Application reports about the deployment.
fn of_deployment(application: &Value) -> &Value {
    let resources = application["status"]["resources"].as_array().expect("resources");
    let found = resources.iter().find(|resource| resource["kind"] == "ConnectorDeployment");
    found.unwrap_or_else(|| panic!("a deployment: {application:#}"))
}
