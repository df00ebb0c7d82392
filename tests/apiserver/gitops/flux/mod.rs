//! Flux as it is released: source-controller, kustomize-controller and helm-controller as processes, which fetch a Git
//! repository and apply it to a real API server. Their versions are those of `tests/tools/flux/`.
//!
//! Building them takes long, so these tests run with `GITOPS=full` only.

mod kustomization;
mod operator_chart;
mod repository;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::wait;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use self::repository::{BRANCH, Repository};
use crate::cluster::Sandbox;
use crate::go_tools;
use crate::patience::{in_time, timeout_option};
use crate::seen::free_address;

/// The controllers, which are the names of their modules too.
const CONTROLLERS: [&str; 3] = ["source-controller", "kustomize-controller", "helm-controller"];
/// The annotation that requests a reconcile, as `flux reconcile` does.
const REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";
/// Name of the object of each kind.
const NAME: &str = "flux";
/// How often Flux looks by itself: never, in a test. It looks when it is asked to, and when a source has changed.
const INTERVAL: &str = "10h";

/// Whether `GITOPS=full` requests these tests.
fn is_requested() -> bool {
    match std::env::var("GITOPS").as_deref() {
        Err(_) | Ok("" | "small") => {
            eprintln!("skipped: GITOPS=full builds the controllers of Flux and runs this test");
            false
        }
        Ok("full") => true,
        Ok(other) => panic!("GITOPS is `{other}`: leave it out, or set it to full"),
    }
}

/// The controllers of Flux for one namespace, and the repository that they follow.
struct Flux {
    sandbox: Sandbox,
    repository: Repository,
    logs: TempDir,
    _processes: Vec<Child>,
}

impl Flux {
    /// Builds and starts the controllers, after their CRDs are installed.
    async fn start(sandbox: &Sandbox) -> Self {
        let programs = tokio::task::spawn_blocking(|| CONTROLLERS.map(program)).await.unwrap();
        for controller in CONTROLLERS {
            let definitions = tokio::task::spawn_blocking(|| definitions(controller)).await.unwrap();
            let definitions = definitions.to_str().expect("a path is text");
            sandbox.succeed(&["apply", "--server-side", "--filename", definitions], "").await;
        }
        sandbox.succeed(&["wait", "crd", "--all", "--for=condition=Established", &timeout_option()], "").await;
        let (logs, artifacts) = (tempfile::tempdir().unwrap(), free_address().to_string());
        let start = |(controller, program): (&str, PathBuf)| {
            let mut command = command(sandbox, &program, &logs.path().join(controller));
            if controller == "source-controller" {
                let folder = logs.path().join("artifacts");
                std::fs::create_dir(&folder).unwrap();
                command.arg("--storage-path").arg(folder);
                command.args(["--storage-addr", &artifacts, "--storage-adv-addr", &artifacts]);
            }
            command.spawn().expect("the controller starts")
        };
        let processes = CONTROLLERS.into_iter().zip(programs).map(start).collect();
        let repository = Repository::serve().await;
        Self { sandbox: sandbox.clone(), repository, logs, _processes: processes }
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

    /// Commits these files, and returns the revision once Flux has fetched it.
    async fn publish(&self, files: &[(&str, Option<&str>)]) -> String {
        let revision = self.repository.commit(files).await;
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
        let api = self.api(kind);
        let seen = wait::await_condition(api.clone(), NAME, |object: Option<&DynamicObject>| {
            object.is_some_and(|object| is(&json!(object)))
        });
        let Ok(found) = in_time(seen).await else {
            panic!("not in time: {what}\n{:#}\n{}", json!(api.get_opt(NAME).await.unwrap()), self.logs());
        };
        json!(found.expect("watching works"))
    }

    /// Returns once an object of Flux is deleted.
    async fn until_gone(&self, kind: &str) {
        let api = self.api(kind);
        let gone = wait::await_condition(api.clone(), NAME, |object: Option<&DynamicObject>| object.is_none());
        let is_gone = in_time(gone).await.is_ok();
        assert!(is_gone, "still exists: {:#}\n{}", json!(api.get_opt(NAME).await.unwrap()), self.logs());
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.sandbox.client.clone(), &self.sandbox.namespace, &resource(kind))
    }

    /// The last lines of the log of each controller.
    fn logs(&self) -> String {
        let last = |controller: &str| {
            let log = std::fs::read_to_string(self.logs.path().join(controller)).unwrap_or_default();
            let lines: Vec<_> = log.lines().rev().take(15).collect();
            format!("{controller}:\n{}", lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
        };
        CONTROLLERS.map(last).join("\n")
    }
}

/// The status, reason and message of a condition that belongs to the current generation; empty texts without one.
fn condition<'a>(object: &'a Value, type_: &str) -> (&'a str, &'a str, &'a str) {
    let current = |condition: &&Value| {
        condition["type"] == type_ && condition["observedGeneration"] == object["metadata"]["generation"]
    };
    let found = object["status"]["conditions"].as_array().into_iter().flatten().find(current);
    let text = |name: &str| found.and_then(|condition| condition[name].as_str()).unwrap_or_default();
    (text("status"), text("reason"), text("message"))
}

fn program(controller: &str) -> PathBuf {
    go_tools::built(&format!("flux/{controller}"), &module(controller))
}

fn module(controller: &str) -> String {
    format!("github.com/fluxcd/{controller}")
}

/// The folder with the CRDs of a controller, in the version of its program.
fn definitions(controller: &str) -> PathBuf {
    let mut command = go_tools::go(&go_tools::module(&format!("flux/{controller}")));
    command.args(["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", &module(controller)]);
    let folder = String::from_utf8(go_tools::succeed(&mut command)).unwrap();
    Path::new(folder.trim()).join("config/crd/bases")
}

/// A controller that watches the namespace of the sandbox only, as the administrator.
fn command(sandbox: &Sandbox, program: &Path, log: &Path) -> Command {
    let log = std::fs::File::create(log).unwrap();
    let mut command = Command::new(program);
    command
        .env("KUBECONFIG", sandbox.kubeconfig())
        .env("RUNTIME_NAMESPACE", &sandbox.namespace)
        .args(["--watch-all-namespaces=false", "--enable-leader-election=false", "--events-addr="])
        .args(["--metrics-addr=0", "--health-addr=0"])
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .kill_on_drop(true);
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
        let file = go_tools::module(&format!("flux/{controller}")).join("go.mod");
        let text = std::fs::read_to_string(file).unwrap();
        let required = format!("\t{} v", module(controller));
        let version = text.split(&required).nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a version");
        assert!(page.contains(&format!("{controller} {version}")), "docs/gitops.md: {controller} {version}");
    }
}
