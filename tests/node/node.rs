//! The cluster that the environment names, and the image that is tested on it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::commands::{feed, run};
use crate::patience::seen_in_time;

/// A real cluster.
pub(crate) struct Node {
    kubeconfig: PathBuf,
    /// Repository of the image.
    pub(crate) repository: String,
    /// Its tag.
    pub(crate) tag: String,
}

impl Node {
    /// Returns the cluster that `NODE_KUBECONFIG` names.
    pub(crate) fn of_the_environment() -> Option<Self> {
        let kubeconfig = std::env::var_os("NODE_KUBECONFIG")?.into();
        let image = std::env::var("NODE_IMAGE").expect("NODE_IMAGE names an image that the nodes have");
        let (repository, tag) = image.rsplit_once(':').expect("NODE_IMAGE has a tag");
        Some(Self { kubeconfig, repository: repository.to_owned(), tag: tag.to_owned() })
    }

    /// Path of its kubeconfig.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Runs `kubectl` with these arguments.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        run(&mut self.command("kubectl", arguments))
    }

    /// Returns one object or a list, as `kubectl get` shows it.
    pub(crate) fn get(&self, namespace: &str, what: &[&str]) -> Value {
        let text = self.kubectl(&[&["--namespace", namespace, "get", "--output=json"], what].concat());
        serde_json::from_str(&text).unwrap()
    }

    /// Applies manifests.
    pub(crate) fn apply(&self, namespace: &str, manifests: &str) {
        let arguments = ["--namespace", namespace, "apply", "--server-side", "--filename=-"];
        feed(&mut self.command("kubectl", &arguments), manifests);
    }

    /// Runs `helm` with these arguments.
    pub(crate) fn helm(&self, arguments: &[&str]) -> String {
        run(&mut self.command("helm", arguments))
    }

    /// Returns a command with the kubeconfig of the cluster.
    pub(crate) fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env("KUBECONFIG", &self.kubeconfig);
        command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")));
        command
    }

    /// Creates a namespace that enforces the Pod Security Standard `restricted`.
    pub(crate) fn make_restricted_namespace(&self, name: &str) {
        self.kubectl(&["create", "namespace", name]);
        self.kubectl(&["label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted"]);
    }

    /// Waits until `look` returns something, and returns it; fails with `what` otherwise.
    pub(crate) fn until<T>(&self, what: &str, mut look: impl FnMut(&Self) -> Option<T>) -> T {
        seen_in_time(|| look(self)).unwrap_or_else(|hung| panic!("no {what}: {hung:?}"))
    }
}
