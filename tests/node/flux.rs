//! Flux installs the chart on the node and deploys with it. Unlike `tests/apiserver/gitops/flux`, there are pods to wait
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
use crate::shop::Shop;

/// Namespace of Flux's objects and of the release, as in `examples/flux/operator.yaml`.
const NAMESPACE: &str = "connect-operator";
const CHART: &str = "charts/connect-operator";
/// Namespace of the shop.
const SHOP: &str = "shop";
/// Folder of the manifests of the shop in the repository.
const FOLDER: &str = "shop";
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

/// From the installation to the removal of the release, with a deployment in between.
pub(crate) fn installs_the_chart_and_deploys(node: &Node) {
    node.make_restricted_namespace(NAMESPACE);
    let shop = Shop::open(node, SHOP);
    let flux = Flux::start(node);
    flux.installs();
    flux.deploys(&shop);
    flux.rolls_back_what_does_not_start();
    flux.redeploys_and_prunes(&shop);
    flux.removes_everything();
    node.kubectl(&["delete", "namespace", shop.namespace, NAMESPACE]);
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

    /// Commits these files, without those that have no content, and lets Flux fetch them.
    fn publish(&self, files: &[(&str, Option<&str>)]) {
        let hash = self.runtime.block_on(self.repository.commit(files));
        self.kubectl(&["annotate", "--overwrite", "gitrepository", NAME, &requested(&hash)]);
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
                "allowedApiHosts": [format!("http://{}", Shop::host(SHOP))],
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

    /// A `Kustomization` with `wait: true` is Ready once the deployment is live.
    fn deploys(&self, shop: &Shop<'_>) {
        self.publish(&[(&manifest(), Some(&shop.manifests()))]);
        let spec = json!({
            "interval": "1h", "path": format!("./{FOLDER}"), "targetNamespace": shop.namespace, "prune": true,
            "wait": true, "timeout": "40m", "deletionPolicy": "WaitForTermination",
            "sourceRef": {"kind": "GitRepository", "name": NAME},
        });
        self.apply("Kustomization", "kustomize.toolkit.fluxcd.io/v1", &spec);
        self.until("kustomization", "Ready");
        assert_eq!((shop.creates(), shop.redeploys()), (1, 0));
        let live = self.node.get(shop.namespace, &["cdep", "tax"]);
        assert_eq!(live["status"]["deploymentStatus"], "Deployed", "Flux waited for it");
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

    /// A commit is one redeploy; a deployment that is removed from the repository is undeployed.
    fn redeploys_and_prunes(&self, shop: &Shop<'_>) {
        let manifests = shop.manifests();
        let changed = manifests.replace("value: info", "value: debug");
        assert_ne!(changed, manifests);
        self.publish(&[(&manifest(), Some(&changed))]);
        shop.redeployed(1);
        let (kept, _) = manifests.split_once("kind: ConnectorDeployment").expect("the last one");
        let kept = kept.rsplit_once("---").expect("a separator").0;
        self.publish(&[(&manifest(), Some(kept))]);
        self.node.until("pruned deployment", |_| (shop.deployments() == 0).then_some(()));
        assert_eq!((shop.creates(), shop.redeploys()), (1, 1));
    }

    /// Deleted as a person would: what was deployed first.
    fn removes_everything(&self) {
        for kind in ["kustomization", "helmrelease", "gitrepository"] {
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

fn manifest() -> String {
    format!("{FOLDER}/quickstart.yaml")
}

/// The annotation that requests a reconcile, as `flux reconcile` does.
fn requested(token: &str) -> String {
    format!("reconcile.fluxcd.io/requestedAt={token}")
}
