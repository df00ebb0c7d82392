//! Flux installs the chart on the node. Unlike `tests/apiserver/gitops/flux`, there are pods to wait
//! for: a release whose pods do not become ready is rolled back.
//!
//! The controllers are processes beside the node. With `GITOPS=full` only, since building them takes minutes.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use test_support::addresses;
use test_support::git_repository::{BRANCH, Repository};
use test_support::gitops::{FLUX, flux, flux_definitions};
use test_support::patience::{brief, patience, timeout_option};
use tokio::runtime::Runtime;

use crate::node::Node;

/// Namespace of Flux's objects and of the release, as in `examples/flux/operator.yaml`.
const NAMESPACE: &str = "connect-operator";
const CHART: &str = "charts/connect-operator";
/// Name of the object of each kind of Flux.
const NAME: &str = "flux";
/// Annotation of the pods that an upgrade changes.
const ANNOTATION: &str = "example.com/upgrade";

/// The controllers of Flux, and the repository that they follow.
struct Flux<'a> {
    node: &'a Node,
    runtime: Runtime,
    repository: Repository,
    controllers: Vec<Child>,
    _folder: TempDir,
}

impl Drop for Flux<'_> {
    fn drop(&mut self) {
        for controller in &mut self.controllers {
            let _ = controller.kill();
            let _ = controller.wait();
        }
    }
}

/// From the installation to the removal of the release.
pub(crate) fn installs_the_chart(node: &Node) {
    node.make_restricted_namespace(NAMESPACE);
    let flux = Flux::start(node);
    flux.installs();
    flux.rolls_back_what_does_not_start();
    flux.removes_everything();
    node.kubectl(&["delete", "namespace", NAMESPACE]);
    node.kubectl(&["delete", "crd", "--selector=app.kubernetes.io/name=connect-operator"]);
}

impl<'a> Flux<'a> {
    fn start(node: &'a Node) -> Self {
        for controller in FLUX {
            let folder = flux_definitions(controller);
            node.kubectl(&["apply", "--server-side", "--filename", folder.to_str().expect("a path is text")]);
        }
        node.kubectl(&["wait", "crd", "--all", "--for=condition=Established", &timeout_option()]);
        let folder = tempfile::tempdir().unwrap();
        let address = addresses::free().to_string();
        let controllers = FLUX.map(|controller| {
            let mut command = flux(controller, node.kubeconfig(), NAMESPACE, (folder.path(), &address));
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        });
        let runtime = Runtime::new().unwrap();
        let repository = runtime.block_on(Repository::serve());
        Self { node, runtime, repository, controllers: controllers.into(), _folder: folder }
    }

    fn apply(&self, kind: &str, version: &str, spec: &Value) {
        let metadata = json!({"name": NAME});
        let object = json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec});
        self.node.apply(NAMESPACE, &object.to_string());
    }

    /// Applies the release with this tag of the image, annotation of its pods, and timeout of an upgrade, after which it
    /// is rolled back.
    fn release(&self, tag: &str, annotation: &str, timeout: Duration) {
        let spec = json!({
            "interval": "1h",
            "releaseName": NAMESPACE,
            "chart": {"spec": {"chart": CHART, "sourceRef": {"kind": "GitRepository", "name": NAME}}},
            "upgrade": {"timeout": format!("{}s", timeout.as_secs().max(1)), "remediation": {"remediateLastFailure": true}},
            "values": {
                "image": {"repository": self.node.repository, "tag": tag},
                "podAnnotations": {ANNOTATION: annotation},
            },
        });
        self.apply("HelmRelease", "helm.toolkit.fluxcd.io/v2", &spec);
    }

    /// It is Ready once both pods are.
    fn installs(&self) {
        self.repository.copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(CHART), CHART);
        self.runtime.block_on(self.repository.commit(&[]));
        let url = self.repository.url();
        let source = json!({"interval": "1h", "url": url, "ref": {"branch": BRANCH}});
        self.apply("GitRepository", "source.toolkit.fluxcd.io/v1", &source);
        self.release(&self.node.tag, "first", patience());
        self.until("helmrelease", "Ready");
        assert_eq!(self.operator()["status"]["readyReplicas"], 2, "Flux waited for them");
    }

    /// An image that does not exist: the old pods serve all the time, and the rollback is Ready.
    fn rolls_back_what_does_not_start(&self) {
        self.release("does-not-exist", "failed", brief() * 5);
        self.until("helmrelease", "Remediated");
        assert_eq!(self.installed(), (format!("{}:{}", self.node.repository, self.node.tag), "first".to_owned()));
        self.release(&self.node.tag, "second", patience());
        self.until("helmrelease", "Ready");
        assert_eq!(self.installed().1, "second");
    }

    fn removes_everything(&self) {
        for kind in ["helmrelease", "gitrepository"] {
            self.kubectl(&["delete", kind, NAME, &timeout_option()]);
        }
        let label = "--selector=app.kubernetes.io/name=connect-operator";
        let left = self.node.get(NAMESPACE, &["deployments,services,serviceaccounts", label]);
        assert_eq!(left["items"], json!([]));
        for controller in FLUX {
            let folder = flux_definitions(controller);
            self.node.kubectl(&["delete", "--filename", folder.to_str().expect("a path is text")]);
        }
    }

    /// Waits for a condition that was observed for the current spec.
    fn until(&self, kind: &str, condition: &str) {
        self.node.until(&format!("{kind} that is {condition}"), |node| {
            let object = node.get(NAMESPACE, &[kind, NAME]);
            let generation = &object["metadata"]["generation"];
            let conditions = object["status"]["conditions"].as_array()?;
            let is = |seen: &&Value| {
                seen["type"] == condition && seen["status"] == "True" && seen["observedGeneration"] == *generation
            };
            conditions.iter().find(is).map(|_| ())
        });
    }

    /// Image and annotation of the pods.
    fn installed(&self) -> (String, String) {
        let pod = &self.operator()["spec"]["template"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&pod["spec"]["containers"][0]["image"]), text(&pod["metadata"]["annotations"][ANNOTATION]))
    }

    fn operator(&self) -> Value {
        self.node.get(NAMESPACE, &["deployment", NAMESPACE])
    }

    fn kubectl(&self, arguments: &[&str]) {
        self.node.kubectl(&[&["--namespace", NAMESPACE], arguments].concat());
    }
}
