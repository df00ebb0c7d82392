//! Argo CD as it is released: its application controller and its repository server as processes, which fetch a Git
//! repository and apply it to a real API server. Their version is that of `tests/tools/argo-cd/`.

mod application;
pub(super) mod health;

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use kube::api::{ApiResource, GroupVersionKind};
use test_support::git_repository::{BRANCH, Repository};
use test_support::gitops::{folder_of, is_requested};

use super::processes::{Processes, install_definitions, version_of};
use crate::prelude::*;

const TOOL: &str = "argo-cd";
const MODULE: &str = "github.com/argoproj/argo-cd/v3";
/// Name of the Application.
const NAME: &str = "shop";
/// Requests a comparison with the end of the branch; Argo CD removes it when that is done.
const REFRESH: &str = "argocd.argoproj.io/refresh";
/// Deleting the Application deletes its resources first. Not in the foreground, as in the example: this cluster has no
/// garbage collector, which would have to remove the finalizer of such a deletion.
const FINALIZER: &str = "resources-finalizer.argocd.argoproj.io/background";
const IN_BACKGROUND: &str = "PrunePropagationPolicy=background";

/// Argo CD in one namespace, and the repository that it follows.
struct ArgoCd {
    sandbox: Sandbox,
    repository: Repository,
    processes: Processes,
}

impl ArgoCd {
    /// Starts a cluster with the operator's CRDs if they are wanted, and Argo CD in it.
    async fn start(with_definitions: bool) -> Self {
        let program = tokio::task::spawn_blocking(|| go_tools::built(TOOL, ".")).await.unwrap();
        let definitions = if with_definitions { crd::all() } else { Vec::new() };
        let sandbox = Sandbox::with_definitions(definitions).await;
        let released = tokio::task::spawn_blocking(|| folder_of(TOOL, MODULE)).await.unwrap();
        configure(&sandbox, &released).await;
        let mut processes = Processes::new();
        let [redis, server, metrics, of_controller] = [(); 4].map(|()| addresses::free());
        let mut command = Command::new(&program);
        command.args(["redis", &redis.to_string()]);
        processes.start("redis", command);
        let path = programs(&processes.folder().join("bin"), &released);
        let mut command = repo_server(&program, processes.folder(), [redis, server, metrics]);
        command.env("PATH", path);
        processes.start("repo-server", command);
        for address in [redis, server] {
            in_time(until_listening(address)).await.unwrap_or_else(|_| panic!("not in time\n{}", processes.logs()));
        }
        processes.start("controller", controller(&program, &sandbox, [redis, server, of_controller]));
        Self { repository: Repository::serve().await, sandbox, processes }
    }

    /// Applies the Application of an example with this folder of the repository and these changes of its `spec`.
    async fn apply(&self, example: &str, path: &str, changes: &Value) {
        let for_this_cluster = json!({
            "source": {"repoURL": self.repository.url(), "targetRevision": BRANCH, "path": path},
            "destination": {"namespace": self.sandbox.namespace},
        });
        let mut application = with_spec(with_spec(documents(example).remove(0), &for_this_cluster), changes);
        application["metadata"] = json!({"name": NAME, "finalizers": [FINALIZER]});
        self.sandbox.succeed(&["apply", "--server-side", "--filename", "-"], &application.to_string()).await;
    }

    /// Commits these files, and returns the Application once it has applied them.
    async fn publish(&self, files: &[(&str, Option<&str>)]) -> Value {
        let revision = self.commit(files).await;
        self.until_applied(&revision).await
    }

    /// Commits these files, and returns the revision once Argo CD has compared it with the cluster.
    async fn commit(&self, files: &[(&str, Option<&str>)]) -> String {
        let revision = self.repository.commit(files).await;
        self.refresh("normal").await;
        revision
    }

    /// Returns the Application once it has applied this revision.
    async fn until_applied(&self, revision: &str) -> Value {
        let applied = |object: &Value| {
            let operation = &object["status"]["operationState"];
            operation["phase"] == "Succeeded" && operation["syncResult"]["revision"] == revision
        };
        self.until("the commit is applied", applied).await
    }

    /// Requests a comparison, `normal` or `hard`: without any cache. Returns the Application after it.
    async fn refresh(&self, how: &str) -> Value {
        self.annotate(&format!("{REFRESH}={how}")).await;
        self.until("a requested refresh", |object| object["metadata"]["annotations"][REFRESH].is_null()).await
    }

    /// Adds an annotation to the Application.
    async fn annotate(&self, annotation: &str) {
        self.sandbox.succeed(&["annotate", "--overwrite", "application", NAME, annotation], "").await;
    }

    /// Returns the Application once it satisfies `is`.
    async fn until(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        self.processes.until(&self.api(), NAME, what, is).await
    }

    /// Returns the Application once the cluster is as the repository, and this is its health.
    async fn until_health(&self, health: &str) -> Value {
        let is = |object: &Value| [sync_of(object), health_of(object)] == ["Synced", health];
        self.until(&format!("the Application is {health}"), is).await
    }

    /// Deletes the Application, and returns before its resources are gone.
    async fn delete(&self) {
        self.api().delete(NAME, &DeleteParams::default()).await.unwrap();
    }

    async fn until_gone(&self) {
        self.processes.until_gone(&self.api(), NAME).await;
    }

    fn api(&self) -> Api<DynamicObject> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("argoproj.io", "v1alpha1", "Application"));
        Api::namespaced_with(self.sandbox.client.clone(), &self.sandbox.namespace, &kind)
    }
}

fn sync_of(application: &Value) -> &str {
    application["status"]["sync"]["status"].as_str().unwrap_or_default()
}

fn health_of(application: &Value) -> &str {
    application["status"]["health"]["status"].as_str().unwrap_or_default()
}

/// How often the Application was applied.
fn syncs_of(application: &Value) -> usize {
    application["status"]["history"].as_array().map_or(0, Vec::len)
}

/// Installs the CRDs of Argo CD, its configuration with the health checks of the example, and its project.
async fn configure(sandbox: &Sandbox, released: &Path) {
    install_definitions(sandbox, "--kustomize", &released.join("manifests/crds")).await;
    let mut configuration = documents(health::PATCH).remove(0);
    configuration["metadata"].as_object_mut().unwrap().remove("namespace");
    let labels = &configuration["metadata"]["labels"];
    let anything = json!([{"group": "*", "kind": "*"}]);
    let others = [
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "argocd-secret", "labels": labels}}),
        json!({
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "AppProject",
            "metadata": {"name": "default"},
            "spec": {
                "sourceRepos": ["*"],
                "destinations": [{"server": "*", "namespace": "*"}],
                "clusterResourceWhitelist": anything,
            },
        }),
    ];
    for object in others.iter().chain([&configuration]) {
        sandbox.succeed(&["apply", "--server-side", "--filename", "-"], &object.to_string()).await;
    }
}

/// Creates a folder with the programs that the repository server calls. Returns the value of `PATH`.
fn programs(folder: &Path, released: &Path) -> OsString {
    std::fs::create_dir(folder).unwrap();
    symlink(helm::program(), folder.join("helm")).unwrap();
    // The files of a module are not executable.
    let wrapper = folder.join("git-verify-wrapper.sh");
    std::fs::write(&wrapper, std::fs::read(released.join("hack/git-verify-wrapper.sh")).unwrap()).unwrap();
    std::fs::set_permissions(&wrapper, Permissions::from_mode(0o755)).unwrap();
    let mut path = OsString::from(folder);
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    path
}

/// The repository server, with its files in `folder`.
fn repo_server(program: &Path, folder: &Path, [redis, address, metrics]: [SocketAddr; 3]) -> Command {
    let mut command = Command::new(program);
    command
        .args(["repo-server", "--disable-tls", "--client-ca-path=", "--redis", &redis.to_string()])
        .args(["--address=127.0.0.1", "--port", &address.port().to_string()])
        .args(["--metrics-address=127.0.0.1", "--metrics-port", &metrics.port().to_string()])
        .env("TMPDIR", folder)
        .env("HOME", folder)
        .env("ARGOCD_ASK_PASS_SOCK", folder.join("ask-pass.sock"))
        .env("ARGOCD_GPG_ENABLED", "false");
    command
}

/// The application controller, as the administrator. It compares when it is asked to, and when a resource changes.
fn controller(program: &Path, sandbox: &Sandbox, [redis, server, metrics]: [SocketAddr; 3]) -> Command {
    let mut command = Command::new(program);
    command
        .args(["application-controller", "--namespace", &sandbox.namespace])
        .args(["--repo-server-plaintext", "--repo-server", &server.to_string(), "--redis", &redis.to_string()])
        .args(["--app-resync=0", "--app-resync-jitter=0", "--persist-resource-health"])
        .args(["--metrics-port", &metrics.port().to_string()])
        .env("KUBECONFIG", sandbox.kubeconfig())
        .env("ARGOCD_FAKE_IN_CLUSTER", "true");
    command
}

async fn until_listening(address: SocketAddr) {
    while TcpStream::connect(address).await.is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn the_page_has_the_version_of_argo_cd() {
    let page = text_of("docs/gitops.md");
    let version = format!("Argo CD {}", version_of(TOOL, MODULE));
    assert!(page.contains(&version), "docs/gitops.md: {version}");
}
