//! `migrate`, in a cluster whose CRDs get a second version.

use connect_operator::{crd, names};
use futures::StreamExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use serde_json::json;

use super::awaited::{CLEAR, in_terminal};
use super::ended;
use crate::cluster::Sandbox;
use crate::patience::in_time;

/// More than a page.
const OBJECTS: usize = 120;
const CRD: &str = "connectprojects.connect-operator.io";

/// Returns the CRD of ConnectProject with these versions, of which the last is the storage version.
fn with_versions(versions: &[&str]) -> CustomResourceDefinition {
    let mut definition = crd::all().into_iter().find(|it| it.name_any() == CRD).expect("the CRD");
    let version = definition.spec.versions.remove(0);
    definition.spec.versions = versions
        .iter()
        .map(|name| {
            let mut version = version.clone();
            (version.name, version.storage) = ((*name).to_owned(), Some(name) == versions.last());
            version
        })
        .collect();
    definition
}

async fn stored(sandbox: &Sandbox) -> Vec<String> {
    let crds: Api<CustomResourceDefinition> = Api::all(sandbox.client.clone());
    crds.get(CRD).await.unwrap().status.unwrap().stored_versions.unwrap_or_default()
}

async fn migrate(sandbox: &Sandbox, more: &[&str]) -> (Option<i32>, String, String) {
    let command = tokio::process::Command::new(env!("CARGO_BIN_EXE_connect-operator"))
        .arg("migrate")
        .args(more)
        .env_clear()
        .env("KUBECONFIG", sandbox.kubeconfig())
        .kill_on_drop(true)
        .output();
    ended(in_time(command).await.expect("it ends").unwrap())
}

/// Returns name and version of each object.
async fn versions(sandbox: &Sandbox) -> Vec<(String, Option<String>)> {
    let api: Api<crd::ConnectProject> = Api::namespaced(sandbox.client.clone(), &sandbox.namespace);
    let listed = api.list_metadata(&ListParams::default()).await.unwrap();
    listed.items.iter().map(|object| (object.name_any(), object.resource_version())).collect()
}

#[tokio::test]
async fn stored_objects_are_rewritten_and_the_former_version_can_be_dropped() {
    let sandbox = Sandbox::with_definitions(vec![with_versions(&[names::VERSION])]).await;
    futures::stream::iter(0..OBJECTS)
        .for_each_concurrent(8, |number| {
            let project = json!({
                "apiVersion": format!("{}/{}", names::GROUP, names::VERSION), "kind": "ConnectProject",
                "metadata": {"name": format!("shop-{number}")},
                "spec": {"projectKey": "demo", "region": "europe-west1.gcp", "credentialsSecretRef": {"name": "shop"}},
            });
            let sandbox = &sandbox;
            async move { drop(sandbox.apply(&project).await.unwrap()) }
        })
        .await;
    let (code, stdout, stderr) = migrate(&sandbox, &[]).await;
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(stdout, format!("{CRD}: nothing to do, every object is stored as v1alpha1\n"));

    sandbox.install(vec![with_versions(&[names::VERSION, "v1beta1"])]).await;
    let before = versions(&sandbox).await;
    let (code, stdout, stderr) = migrate(&sandbox, &["--dry-run"]).await;
    assert_eq!(stderr, format!("{CRD}: 100 of {OBJECTS} objects\n"), "a pipe gets plain lines");
    let planned =
        format!("{CRD}: {OBJECTS} objects would be rewritten as v1beta1; stored versions: v1alpha1, v1beta1\n");
    assert_eq!((code, stdout), (Some(0), planned));
    assert_eq!((stored(&sandbox).await.len(), versions(&sandbox).await), (2, before.clone()), "nothing is written");

    let (code, stdout, stderr) = migrate(&sandbox, &["--as", "jane"]).await;
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("the right to list customresourcedefinitions"), "{stderr}");

    let (code, stdout, stderr) = migrate(&sandbox, &[]).await;
    assert_eq!((code, stderr), (Some(0), format!("{CRD}: 100 of {OBJECTS} objects\n")));
    assert!(stdout.starts_with(&format!("{CRD}: {OBJECTS} objects rewritten as v1beta1, 0 changed")), "{stdout}");
    assert_eq!(stored(&sandbox).await, ["v1beta1"]);
    let after = versions(&sandbox).await;
    assert!(
        before.iter().zip(&after).all(|(old, new)| old.0 == new.0 && old.1 != new.1),
        "each object is written once"
    );
    // The API server accepts that only because no object needs the former version.
    sandbox.install(vec![with_versions(&["v1beta1"])]).await;

    sandbox.install(vec![with_versions(&["v1beta1", "v1beta2"])]).await;
    a_terminal_counts_in_one_line_that_is_gone_in_the_end(&sandbox).await;
}

async fn a_terminal_counts_in_one_line_that_is_gone_in_the_end(sandbox: &Sandbox) {
    let mut terminal = in_terminal("migrate", sandbox);
    let shown = in_time(terminal.output()).await.expect("it ends").unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let counted = |number: usize| shown.contains(&format!(" {CRD}: {number} of "));
    assert!((1..=OBJECTS).all(counted), "{shown:?}");
    let lines: Vec<_> =
        shown.lines().filter_map(|line| line.rsplit(CLEAR).next()).filter(|it| !it.is_empty()).collect();
    assert!(
        matches!(lines[..], [line] if line.starts_with(&format!("{CRD}: {OBJECTS} objects rewritten"))),
        "{lines:#?}"
    );
}
