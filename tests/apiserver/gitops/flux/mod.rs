//! Flux as it is released: source-controller, kustomize-controller and helm-controller as processes, which fetch a Git
//! repository and apply it to a real API server. Their versions are those of `tests/tools/flux/`.

mod kustomization;
mod operator_chart;

use std::path::{Path, PathBuf};

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};
use tokio::process::Command;

use super::processes::{Processes, folder_of, install_definitions, is_requested, version_of};
use super::repository::{BRANCH, Repository};
use super::slow_shop::condition;
use crate::cluster::Sandbox;
use crate::go_tools;
use crate::seen::free_address;

/// The controllers, which are the names of their modules too.
const CONTROLLERS: [&str; 3] = ["source-controller", "kustomize-controller", "helm-controller"];
/// The annotation that requests a reconcile, as `flux reconcile` does.
const REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";
/// Name of the object of each kind.
const NAME: &str = "flux";
/// How often Flux looks by itself: never, in a test. It looks when it is asked to, and when a source has changed.
const INTERVAL: &str = "10h";

/// The controllers of Flux for one namespace, and the repository that they follow.
struct Flux {
    sandbox: Sandbox,
    repository: Repository,
    processes: Processes,
}

impl Flux {
    /// Builds and starts the controllers, after their CRDs are installed.
    async fn start(sandbox: &Sandbox) -> Self {
        let programs = tokio::task::spawn_blocking(|| CONTROLLERS.map(program)).await.unwrap();
        for controller in CONTROLLERS {
            let definitions = tokio::task::spawn_blocking(|| definitions(controller)).await.unwrap();
            install_definitions(sandbox, "--filename", &definitions).await;
        }
        let (mut processes, artifacts) = (Processes::new(), free_address().to_string());
        for (controller, program) in CONTROLLERS.into_iter().zip(programs) {
            let mut command = command(sandbox, &program);
            if controller == "source-controller" {
                let folder = processes.folder().join("artifacts");
                std::fs::create_dir(&folder).unwrap();
                command.arg("--storage-path").arg(folder);
                command.args(["--storage-addr", &artifacts, "--storage-adv-addr", &artifacts]);
            }
            processes.start(controller, command);
        }
        let repository = Repository::serve().await;
        Self { sandbox: sandbox.clone(), repository, processes }
    }

    /// Applies an object of Flux under [`NAME`].
    async fn apply(&self, kind: &str, spec: &Value) {
        let resource = resource(kind);
        let (version, metadata) = (resource.api_version, json!({"name": NAME}));
        let object = json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec});
        self.sandbox.succeed(&["apply", "--server-side", "--filename", "-"], &object.to_string()).await;
    }

    /// Applies the source: the repository, at the end of its branch.
    async fn apply_source(&self) {
        let spec = json!({"interval": INTERVAL, "url": self.repository.url(), "ref": {"branch": BRANCH}});
        self.apply("GitRepository", &spec).await;
    }

    /// Commits these files, and returns the revision in Flux's notation.
    async fn commit(&self, files: &[(&str, Option<&str>)]) -> String {
        format!("{BRANCH}@sha1:{}", self.repository.commit(files).await)
    }

    /// Commits these files, and returns the revision once Flux has fetched it.
    async fn publish(&self, files: &[(&str, Option<&str>)]) -> String {
        let revision = self.commit(files).await;
        self.request("GitRepository", &revision).await;
        let fetched = |object: &Value| object["status"]["artifact"]["revision"] == revision;
        self.until("GitRepository", "the commit is fetched", fetched).await;
        revision
    }

    /// Requests a reconcile; `token` differs from that of the last request.
    async fn request(&self, kind: &str, token: &str) {
        self.sandbox.succeed(&["annotate", "--overwrite", kind, NAME, &format!("{REQUESTED_AT}={token}")], "").await;
    }

    /// Requests a reconcile, and returns the object after it.
    async fn reconcile(&self, kind: &str, token: &str) -> Value {
        self.request(kind, token).await;
        let handled = |object: &Value| {
            object["status"]["lastHandledReconcileAt"] == token && condition(object, "Ready").0 == "True"
        };
        self.until(kind, "a requested reconcile", handled).await
    }

    /// Returns an object of Flux once it satisfies `is`.
    async fn until(&self, kind: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        self.processes.until(&self.api(kind), NAME, what, is).await
    }

    /// Returns once an object of Flux is deleted.
    async fn until_gone(&self, kind: &str) {
        self.processes.until_gone(&self.api(kind), NAME).await;
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.sandbox.client.clone(), &self.sandbox.namespace, &resource(kind))
    }
}

fn program(controller: &str) -> PathBuf {
    go_tools::built(&format!("flux/{controller}"), &module(controller))
}

fn module(controller: &str) -> String {
    format!("github.com/fluxcd/{controller}")
}

/// The folder with the CRDs of a controller, in the version of its program.
fn definitions(controller: &str) -> PathBuf {
    folder_of(&format!("flux/{controller}"), &module(controller)).join("config/crd/bases")
}

/// A controller that watches the namespace of the sandbox only, as the administrator.
fn command(sandbox: &Sandbox, program: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env("KUBECONFIG", sandbox.kubeconfig())
        .env("RUNTIME_NAMESPACE", &sandbox.namespace)
        .args(["--watch-all-namespaces=false", "--enable-leader-election=false", "--events-addr="])
        .args(["--metrics-addr=0", "--health-addr=0"]);
    command
}

fn resource(kind: &str) -> ApiResource {
    let (group, version) = match kind {
        "GitRepository" => ("source", "v1"),
        "Kustomization" => ("kustomize", "v1"),
        "HelmRelease" => ("helm", "v2"),
        _ => panic!("{kind} is not a kind of Flux that is used here"),
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(&format!("{group}.toolkit.fluxcd.io"), version, kind))
}

#[test]
fn the_page_has_the_versions_of_the_controllers() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/gitops.md")).unwrap();
    for controller in CONTROLLERS {
        let version = version_of(&format!("flux/{controller}"), &module(controller));
        assert!(page.contains(&format!("{controller} {version}")), "docs/gitops.md: {controller} {version}");
    }
}
