//! Flux as it is released: source-controller, kustomize-controller and helm-controller as processes, which fetch a Git
//! repository and apply it to a real API server. Their versions are those of `tests/tools/flux/`.

mod kustomization;

use kube::api::{ApiResource, GroupVersionKind};
use test_support::git_repository::{BRANCH, Repository};
use test_support::gitops::{FLUX, flux, flux_definitions, flux_module, flux_program, is_requested};

use super::processes::{Processes, install_definitions, version_of};
use super::slow_shop::condition;
use crate::prelude::*;

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
        // Builds what is missing.
        let _programs = tokio::task::spawn_blocking(|| FLUX.map(flux_program)).await.unwrap();
        for controller in FLUX {
            let definitions = tokio::task::spawn_blocking(|| flux_definitions(controller)).await.unwrap();
            install_definitions(sandbox, "--filename", &definitions).await;
        }
        let (mut processes, address) = (Processes::new(), addresses::free().to_string());
        let (kubeconfig, namespace) = (sandbox.kubeconfig(), sandbox.namespace.clone());
        let folder = processes.folder().join("artifacts");
        std::fs::create_dir(&folder).unwrap();
        for controller in FLUX {
            let command = flux(controller, &kubeconfig, &namespace, (&folder, &address));
            processes.start(controller, command.into());
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
    let page = text_of("docs/gitops.md");
    for controller in FLUX {
        let version = version_of(&format!("flux/{controller}"), &flux_module(controller));
        assert!(page.contains(&format!("{controller} {version}")), "docs/gitops.md: {controller} {version}");
    }
}
