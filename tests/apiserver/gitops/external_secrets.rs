//! External Secrets as it is released: its controller as a process, which writes the Secrets of the example from a store
//! with fixed values. Its version is that of `tests/tools/external-secrets/`.

use std::path::Path;

use connect_operator::crd::{self, ConnectProject, ConnectorDeployment};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};
use test_support::gitops::{folder_of, is_requested};
use tokio::process::Command;

use super::processes::{Processes, install_definitions, version_of};
use super::{dev_server_in, seen_by};
use crate::cluster::Sandbox;
use crate::go_tools;
use crate::shop::{SECRET, Shop};

const TOOL: &str = "external-secrets";
const MODULE: &str = "github.com/external-secrets/external-secrets";
const RESOURCES: &str = include_str!("../../../examples/secrets/resources.yaml");
const EXAMPLE: &str = include_str!("../../../examples/secrets/external-secrets.yaml");
/// Names of the `ExternalSecret`s in the example.
const CREDENTIALS: &str = "shop-credentials";
const TOKEN: &str = "tax";

/// An operator and a remote, and External Secrets in the same cluster.
struct Setup {
    shop: Shop,
    processes: Processes,
}

#[tokio::test]
async fn a_deployment_waits_for_external_secrets_and_is_redeployed_once_for_a_new_value() {
    if !is_requested() {
        return;
    }
    let program = tokio::task::spawn_blocking(|| go_tools::built(TOOL, MODULE)).await.unwrap();
    let shop = dev_server_in(Sandbox::with_definitions(crd::all()).await).await;
    let folder = tokio::task::spawn_blocking(|| folder_of(TOOL, MODULE).join("config/crds/bases")).await.unwrap();
    install_definitions(&shop.sandbox, "--kustomize", &folder).await;
    let mut processes = Processes::new();
    processes.start("external-secrets", controller(&program, &shop.sandbox));
    let setup = Setup { shop, processes };
    setup.waits_for_the_credentials().await;
    setup.waits_for_the_value().await;
    setup.redeploys_once().await;
    setup.keeps_the_secret().await;
}

impl Setup {
    /// Applies the resources and the `ExternalSecret`s of the examples, whose store does not exist.
    async fn waits_for_the_credentials(&self) {
        self.apply(&RESOURCES.replace(crate::written::USUAL, &self.shop.dev.url())).await;
        self.apply(EXAMPLE).await;
        self.until_synced(TOKEN, "False").await;
        let waits = |object: &ConnectProject| {
            let conditions = object.status.as_ref().map(|status| &status.conditions);
            conditions.into_iter().flatten().any(|it| it.type_ == "Reconciling" && it.reason == "SecretMissing")
        };
        self.shop.until_project("it waits for its Secret", waits).await;
    }

    /// Creates the store with the credentials only.
    async fn waits_for_the_value(&self) {
        self.store(None).await;
        self.synchronize(CREDENTIALS).await;
        self.shop.until_reason("SecretMissing").await;
        let seen = seen_by(&self.shop.sandbox, "connectordeployment").await;
        assert_eq!(seen, [("InProgress".to_owned(), "Progressing".to_owned())]);
        assert_eq!(self.shop.calls("createDeployment"), 0);

        self.put("first-token-of-the-shop").await;
        self.shop.until_reason("Deployed").await;
        assert_eq!(self.sent(), [1, 0]);
    }

    /// A new value in the store causes one redeploy, and a synchronization without one none.
    async fn redeploys_once(&self) {
        self.put("second-token-of-the-shop").await;
        self.shop.until("the value is live", |object| is_live(object, 2)).await;
        self.synchronize(TOKEN).await;
        assert_eq!(self.sent(), [1, 1]);

        // A redeploy that were still to come would be sent before this one.
        self.put("third-token-of-the-shop").await;
        self.shop.until("the value is live", |object| is_live(object, 3)).await;
        assert_eq!(self.sent(), [1, 2]);
    }

    /// The example sets `creationPolicy: Orphan`: no owner, so nothing deletes the Secret with the `ExternalSecret`.
    async fn keeps_the_secret(&self) {
        self.shop.sandbox.succeed(&["delete", "externalsecret", TOKEN], "").await;
        self.processes.until_gone(&self.api(), TOKEN).await;
        assert_eq!(self.secret().await.metadata.owner_references, None);
    }

    async fn apply(&self, manifests: &str) {
        self.shop.sandbox.succeed(&["apply", "--server-side", "--filename", "-"], manifests).await;
    }

    /// Applies the store that the example names, with the credentials and this value.
    async fn store(&self, token: Option<&str>) {
        let credentials = json!({"clientId": "dev-client", "clientSecret": "dev-secret"});
        let mut data = vec![json!({"key": "shop/connect", "value": credentials.to_string()})];
        data.extend(token.map(|token| json!({"key": "shop/tax", "value": json!({"token": token}).to_string()})));
        let store = json!({
            "apiVersion": "external-secrets.io/v1",
            "kind": "ClusterSecretStore",
            "metadata": {"name": "company"},
            "spec": {"provider": {"fake": {"data": data}}},
        });
        self.apply(&store.to_string()).await;
    }

    /// Puts this value into the store, and returns once it is in the Secret.
    async fn put(&self, token: &str) {
        self.store(Some(token)).await;
        self.synchronize(TOKEN).await;
        // The controller may have read the store before it saw the change.
        while self.secret().await.data.is_none_or(|data| data["token"].0 != token.as_bytes()) {
            self.synchronize(TOKEN).await;
        }
    }

    /// Requests a synchronization as users do, and returns after it succeeded.
    async fn synchronize(&self, name: &str) {
        let before = json!(self.api().get(name).await.unwrap());
        let annotation = format!("force-sync={}", before["metadata"]["resourceVersion"].as_str().expect("a version"));
        self.shop.sandbox.succeed(&["annotate", "--overwrite", "externalsecret", name, &annotation], "").await;
        // It depends on the annotations.
        let synchronized = |object: &Value| object["status"]["syncedResourceVersion"].clone();
        let is = |object: &Value| ready(object) == "True" && synchronized(object) != synchronized(&before);
        self.processes.until(&self.api(), name, "the Secret is written", is).await;
    }

    async fn until_synced(&self, name: &str, status: &str) {
        let is = |object: &Value| ready(object) == status;
        self.processes.until(&self.api(), name, &format!("Ready is {status}"), is).await;
    }

    async fn secret(&self) -> Secret {
        self.shop.api::<Secret>().get(SECRET).await.unwrap()
    }

    /// The numbers of creates and redeploys that were sent.
    fn sent(&self) -> [u64; 2] {
        ["createDeployment", "updateDeploymentById"].map(|call| self.shop.calls(call))
    }

    fn api(&self) -> Api<DynamicObject> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("external-secrets.io", "v1", "ExternalSecret"));
        Api::namespaced_with(self.shop.sandbox.client.clone(), &self.shop.sandbox.namespace, &kind)
    }
}

fn ready(object: &Value) -> &str {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let ready = conditions.into_iter().find(|condition| condition["type"] == "Ready");
    ready.and_then(|condition| condition["status"].as_str()).unwrap_or_default()
}

/// Whether this version of the deployment is live.
fn is_live(object: &ConnectorDeployment, version: u64) -> bool {
    let object = json!(object);
    object["status"]["version"] == version && super::slow_shop::condition(&object, "Ready").0 == "True"
}

/// The controller, as the administrator. It synchronizes when it is asked to, and when a store changes.
fn controller(program: &Path, sandbox: &Sandbox) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--metrics-addr=0", "--live-addr=0", "--enable-push-secret-reconciler=false"])
        .args(["--enable-cluster-external-secret-reconciler=false", "--enable-cluster-push-secret-reconciler=false"])
        .env("KUBECONFIG", sandbox.kubeconfig());
    command
}

#[test]
fn the_page_has_the_version_of_external_secrets() {
    let page = std::fs::read_to_string(format!("{}/docs/gitops.md", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let version = format!("External Secrets {}", version_of(TOOL, MODULE));
    assert!(page.contains(&version), "docs/gitops.md: {version}");
}
