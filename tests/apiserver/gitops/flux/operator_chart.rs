//! A `HelmRelease` that installs the chart from a Git repository: the example of `examples/flux/`, from its installation to
//! its removal. The cluster has no node, so Flux does not wait for pods.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};

use super::{Flux, NAME, condition, is_requested};
use crate::cluster::Sandbox;
use crate::gitops::release::{
    RELEASE, assert_only_definitions_are_left, commit_chart, definitions, deployment, with_another_default,
};
use crate::manifests::{documents, with_spec};
use crate::patience::in_time;

const KIND: &str = "HelmRelease";
const EXAMPLE: &str = include_str!("../../../../examples/flux/operator.yaml");

/// A cluster without the operator, and Flux in it.
struct Setup {
    sandbox: Sandbox,
    flux: Flux,
}

#[tokio::test]
async fn a_helm_release_installs_upgrades_rolls_back_and_uninstalls_the_chart() {
    if !is_requested() {
        return;
    }
    let sandbox = Sandbox::with_definitions(Vec::new()).await;
    let flux = Flux::start(&sandbox).await;
    let setup = Setup { sandbox, flux };
    setup.installs().await;
    setup.finds_no_drift_and_reverts_an_edit().await;
    setup.upgrades().await;
    setup.rolls_back_a_failed_upgrade().await;
    setup.uninstalls().await;
}

impl Setup {
    /// Applies the `HelmRelease` of the example with these changes of its `spec`.
    async fn apply(&self, changes: &Value) {
        let example = documents(EXAMPLE).into_iter().find(|manifest| manifest["kind"] == KIND).expect("a HelmRelease");
        let for_this_cluster = json!({
            "releaseName": RELEASE,
            "chart": {"spec": {"sourceRef": {"name": NAME}}},
            "install": {"disableWait": true},
            "upgrade": {"disableWait": true},
            "rollback": {"disableWait": true},
            "uninstall": {"disableWait": true},
        });
        let release = with_spec(with_spec(example, &for_this_cluster), changes);
        self.flux.apply(KIND, &release["spec"]).await;
    }

    /// Returns once the release is Ready in this version.
    async fn until_released(&self, version: u64) -> Value {
        let is = |object: &Value| {
            condition(object, "Ready").0 == "True" && object["status"]["history"][0]["version"] == version
        };
        self.flux.until(KIND, &format!("version {version} is released"), is).await
    }

    async fn installs(&self) {
        commit_chart(&self.flux.repository).await;
        self.flux.apply_source().await;
        self.apply(&json!({})).await;
        let installed = self.until_released(1).await;
        assert_eq!(condition(&installed, "Ready").1, "InstallSucceeded");
        let pod = deployment(&self.sandbox).await.spec.and_then(|spec| spec.template.spec).expect("a pod");
        let image = pod.containers[0].image.as_deref().expect("an image");
        assert!(image.starts_with("registry.example.com/connect-operator:"), "{image}: a value of the example");
        assert_eq!(definitions(&self.sandbox).await, 6);
    }

    /// What the chart renders is what the API server stores: drift detection finds an edit only.
    async fn finds_no_drift_and_reverts_an_edit(&self) {
        let same = self.flux.reconcile(KIND, "nothing-changed").await;
        assert_eq!(condition(&same, "Drifted").1, "NoDriftDetected", "{same:#}");
        let edit = r#"{"spec": {"replicas": 5}}"#;
        self.sandbox.succeed(&["patch", "deployment", RELEASE, "--patch", edit], "").await;
        self.flux.reconcile(KIND, "edited").await;
        assert_eq!(replicas(&deployment(&self.sandbox).await), Some(2), "the edit is reverted");
        let notes = in_time(self.until_drift_is_reported()).await.expect("an Event");
        let changed: Vec<_> = notes.iter().flat_map(|note| note.lines().skip(1)).collect();
        let edited =
            format!("Deployment/{}/{RELEASE} changed (0 additions, 1 changes, 0 removals)", self.sandbox.namespace);
        assert_eq!(changed, [edited], "{notes:?}");
        self.until_released(1).await;
    }

    /// Returns the notes of the Events about drift once one exists.
    async fn until_drift_is_reported(&self) -> Vec<String> {
        let api = Api::<Event>::namespaced(self.sandbox.client.clone(), &self.sandbox.namespace);
        loop {
            let events = api.list(&ListParams::default()).await.unwrap().items;
            let of_drift = events.into_iter().filter(|event| event.reason.as_deref() == Some("DriftDetected"));
            let notes: Vec<_> = of_drift.filter_map(|event| event.note).collect();
            if !notes.is_empty() {
                return notes;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Other values, and a commit that changes the chart but not its version, upgrade the release.
    async fn upgrades(&self) {
        self.apply(&json!({"values": {"replicaCount": 3}})).await;
        let upgraded = self.until_released(2).await;
        assert_eq!(condition(&upgraded, "Ready").1, "UpgradeSucceeded");
        assert_eq!(replicas(&deployment(&self.sandbox).await), Some(3));

        let (from, to) = ("\nrevisionHistoryLimit: 3\n", "\nrevisionHistoryLimit: 7\n");
        let (file, values) = with_another_default(&self.flux.repository, from, to);
        self.flux.publish(&[(&file, Some(&values))]).await;
        self.until_released(3).await;
        let limit = deployment(&self.sandbox).await.spec.and_then(|spec| spec.revision_history_limit);
        assert_eq!((limit, definitions(&self.sandbox).await), (Some(7), 6));
    }

    /// The API server refuses the Deployment after the `ServiceAccount` was changed; the rollback reverts the latter.
    async fn rolls_back_a_failed_upgrade(&self) {
        let before = deployment(&self.sandbox).await;
        let remediate = json!({"strategy": null, "remediation": {"remediateLastFailure": true}});
        let annotated = json!({"annotations": {"example.com/upgrade": "failed"}});
        let less_than_requested = json!({"limits": {"memory": "32Mi"}});
        let values = json!({"replicaCount": 4, "serviceAccount": annotated, "resources": less_than_requested});
        self.apply(&json!({"upgrade": remediate, "values": values})).await;
        let rolled_back = |object: &Value| condition(object, "Remediated").0 == "True";
        let failed = self.flux.until(KIND, "the upgrade is rolled back", rolled_back).await;
        assert_eq!(condition(&failed, "Remediated").1, "RollbackSucceeded");
        assert_eq!((condition(&failed, "Released").0, condition(&failed, "Released").1), ("False", "UpgradeFailed"));
        let message = condition(&failed, "Released").2;
        assert!(message.contains("must be less than or equal to memory limit"), "{message}");
        let after = deployment(&self.sandbox).await;
        assert_eq!(after.spec, before.spec);
        assert_eq!(self.account_annotation().await, None, "it is reverted");

        let values = json!({"replicaCount": 4, "serviceAccount": annotated});
        self.apply(&json!({"upgrade": remediate, "values": values})).await;
        // The failed upgrade is version 4, and its rollback version 5.
        self.until_released(6).await;
        assert_eq!(replicas(&deployment(&self.sandbox).await), Some(4));
        assert_eq!(self.account_annotation().await.as_deref(), Some("failed"));
    }

    /// Nothing of the release remains but the CRDs, which the chart keeps.
    async fn uninstalls(&self) {
        self.flux.api(KIND).delete(NAME, &DeleteParams::default()).await.unwrap();
        self.flux.until_gone(KIND).await;
        assert_only_definitions_are_left(&self.sandbox).await;
        let history =
            self.sandbox.succeed(&["get", "secret", "--selector", "owner=helm", "--output", "name"], "").await;
        assert_eq!(history, "");
    }

    /// The value of the annotation of the failed upgrade.
    async fn account_annotation(&self) -> Option<String> {
        let api = Api::<ServiceAccount>::namespaced(self.sandbox.client.clone(), &self.sandbox.namespace);
        let annotations = api.get(RELEASE).await.unwrap().metadata.annotations;
        annotations.and_then(|mut annotations| annotations.remove("example.com/upgrade"))
    }
}

fn replicas(deployment: &Deployment) -> Option<i32> {
    deployment.spec.as_ref().and_then(|spec| spec.replicas)
}
