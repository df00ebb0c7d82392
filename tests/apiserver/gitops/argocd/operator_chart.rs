//! An `Application` that installs the chart: the example of `examples/argocd/`, from its installation to its removal. The
//! cluster has no node, so no pod starts.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use serde_json::json;

use super::{ArgoCd, IN_BACKGROUND, is_requested, sync_of, syncs_of};
use crate::gitops::release::{
    RELEASE, assert_only_definitions_are_left, commit_chart, definitions, deployment, with_another_default,
};
use crate::helm::CHART;
use crate::patience::in_time;
use crate::watching::awaited;

const EXAMPLE: &str = include_str!("../../../../examples/argocd/operator.yaml");

#[tokio::test]
async fn an_application_installs_the_chart_and_reverts_edits() {
    if !is_requested() {
        return;
    }
    let argo = ArgoCd::start(false).await;
    installs(&argo).await;
    reverts_an_edit(&argo).await;
    upgrades(&argo).await;
    leaves_the_definitions(&argo).await;
}

async fn installs(argo: &ArgoCd) {
    commit_chart(&argo.repository).await;
    let options = ["CreateNamespace=true", "ServerSideApply=true", IN_BACKGROUND];
    argo.apply(EXAMPLE, CHART, &json!({"syncPolicy": {"syncOptions": options}})).await;
    argo.until("the chart is installed", |object| sync_of(object) == "Synced").await;
    let compared = argo.refresh("hard").await;
    assert_eq!((sync_of(&compared), syncs_of(&compared)), ("Synced", 1), "{compared:#}");
    let pod = deployment(&argo.sandbox).await.spec.and_then(|spec| spec.template.spec).expect("a pod");
    let image = pod.containers[0].image.as_deref().expect("an image");
    assert!(image.starts_with("registry.example.com/connect-operator:"), "{image}: a value of the example");
    assert_eq!(definitions(&argo.sandbox).await, 6);
}

async fn reverts_an_edit(argo: &ArgoCd) {
    let replicas = deployment(&argo.sandbox).await.spec.and_then(|spec| spec.replicas);
    let edit = r#"{"spec": {"replicas": 5}}"#;
    argo.sandbox.succeed(&["patch", "deployment", RELEASE, "--patch", edit], "").await;
    let api = Api::<Deployment>::namespaced(argo.sandbox.client.clone(), &argo.sandbox.namespace);
    let reverted = awaited(api, RELEASE, |object: Option<&Deployment>| {
        object.is_some_and(|object| object.spec.as_ref().and_then(|spec| spec.replicas) == replicas)
    });
    let is_reverted = in_time(reverted).await.is_ok();
    assert!(is_reverted, "not in time: the edit is reverted\n{}", argo.processes.logs());
    argo.until("the edit is reverted", |object| sync_of(object) == "Synced").await;
}

async fn upgrades(argo: &ArgoCd) {
    let (from, to) = ("\nrevisionHistoryLimit: 3\n", "\nrevisionHistoryLimit: 7\n");
    let (file, values) = with_another_default(&argo.repository, from, to);
    argo.publish(&[(&file, Some(&values))]).await;
    argo.until("the chart is upgraded", |object| sync_of(object) == "Synced").await;
    let compared = argo.refresh("hard").await;
    assert_eq!(sync_of(&compared), "Synced", "{compared:#}");
    let limit = deployment(&argo.sandbox).await.spec.and_then(|spec| spec.revision_history_limit);
    assert_eq!(limit, Some(7));
}

/// Without the CRDs every resource of a user would be deleted.
async fn leaves_the_definitions(argo: &ArgoCd) {
    argo.delete().await;
    argo.until_gone().await;
    assert_only_definitions_are_left(&argo.sandbox).await;
}
