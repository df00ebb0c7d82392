//! The release of the chart that a tool installs from a repository.

use std::path::Path;

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;

use test_support::git_repository::Repository;

use crate::cluster::Sandbox;
use crate::helm::CHART;

/// Name of the release, and of the Deployment and the `ServiceAccount` in it.
pub(super) const RELEASE: &str = "connect-operator";

/// Commits the chart.
pub(super) async fn commit_chart(repository: &Repository) {
    repository.copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(CHART), CHART);
    repository.commit(&[]).await;
}

/// The values of the chart in the repository with another default, and the path of their file.
pub(super) fn with_another_default(repository: &Repository, from: &str, to: &str) -> (String, String) {
    let file = format!("{CHART}/values.yaml");
    let values = std::fs::read_to_string(repository.path(&file)).unwrap();
    assert!(values.contains(from), "the chart has this default: {from}");
    (file, values.replace(from, to))
}

pub(super) async fn deployment(sandbox: &Sandbox) -> Deployment {
    Api::<Deployment>::namespaced(sandbox.client.clone(), &sandbox.namespace).get(RELEASE).await.unwrap()
}

/// Asserts that nothing of the release remains but the CRDs.
pub(super) async fn assert_only_definitions_are_left(sandbox: &Sandbox) {
    let label = format!("app.kubernetes.io/instance={RELEASE}");
    let kinds = "deployment,serviceaccount,service,configmap,role,rolebinding,clusterrole,clusterrolebinding,\
                 poddisruptionbudget,networkpolicy";
    let left = sandbox.succeed(&["get", kinds, "--selector", &label, "--output", "name"], "").await;
    assert_eq!((left.as_str(), definitions(sandbox).await), ("", 6));
}

/// The number of CRDs of the operator.
pub(super) async fn definitions(sandbox: &Sandbox) -> usize {
    let names = sandbox.succeed(&["get", "crd", "--output", "name"], "").await;
    names.lines().filter(|name| name.ends_with(".connect-operator.io")).count()
}
