//! Helm, and the rendered chart. Next: `go_tools.rs` for where the program comes from.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::go_tools;

/// The chart, relative to the root of the workspace.
pub const CHART: &str = "charts/connect-operator";
/// Name and namespace of the release in manifests and tests.
pub const RELEASE: [&str; 2] = ["connect-operator", "connect-operator"];
/// The oldest Kubernetes that the chart supports; without a cluster, Helm assumes an even older one.
pub const KUBE_VERSION: &str = "1.30.0";

/// Returns the Helm of `tests/tools/helm`: the one in `PATH` if it has that version, or one that is built once.
///
/// # Panics
/// If it cannot be built.
#[must_use]
pub fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let here = Command::new("helm").args(["version", "--template", "{{.Version}}"]).stdin(Stdio::null()).output();
        let wanted = std::fs::read_to_string(go_tools::module("helm").join("go.mod")).expect("the module of Helm");
        match here {
            Ok(found) if wanted.contains(&format!(" {} ", String::from_utf8_lossy(&found.stdout).trim())) => {
                "helm".into()
            }
            _ => go_tools::built("helm", "helm.sh/helm/v3/cmd/helm"),
        }
    })
}

/// Runs Helm in the root of the workspace, without the user's settings.
///
/// # Panics
/// If it cannot be started.
#[must_use]
pub fn helm(arguments: &[&str]) -> Output {
    let mut command = Command::new(program());
    command.current_dir(crate::ROOT).args(arguments).stdin(Stdio::null());
    for variable in ["HELM_NAMESPACE", "HELM_KUBECONTEXT", "KUBECONFIG"] {
        command.env_remove(variable);
    }
    command.output().expect("Helm runs")
}

/// Renders the manifests of a release with these further arguments, as text.
///
/// # Errors
/// The error output of Helm.
pub fn text(arguments: &[&str]) -> Result<String, String> {
    text_of(RELEASE, arguments)
}

/// Renders the manifests of a release with another name and namespace.
///
/// # Errors
/// The error output of Helm.
///
/// # Panics
/// If the manifests are not text.
pub fn text_of([release, namespace]: [&str; 2], arguments: &[&str]) -> Result<String, String> {
    let mut all = vec!["template", release, CHART, "--namespace", namespace, "--kube-version", KUBE_VERSION];
    all.extend(arguments);
    let output = helm(&all);
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).expect("manifests are text"))
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Renders the manifests, and parses them.
///
/// # Panics
/// If the chart does not render.
#[must_use]
pub fn manifests(arguments: &[&str]) -> Vec<Value> {
    read(&text(arguments).expect("the chart renders"))
}

/// Returns the documents of a YAML stream, without empty ones.
///
/// # Panics
/// If it is not YAML.
#[must_use]
pub fn read(text: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).expect("manifests are YAML");
    documents.into_iter().filter(|document| !document.is_null()).collect()
}

/// Returns `Kind/namespace/name`, by which tests name a manifest.
#[must_use]
pub fn identity(manifest: &Value) -> String {
    let part = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    format!("{}/{}/{}", part("/kind"), part("/metadata/namespace"), part("/metadata/name"))
}
