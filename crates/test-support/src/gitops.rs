//! Controllers of other projects that tests start, in the versions of the modules in `tests/tools/`.
//!
//! Building them takes long, so these tests run with `GITOPS=full` only.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::go_tools;

/// The controllers of Flux, which are the names of their modules too.
pub const FLUX: [&str; 3] = ["source-controller", "kustomize-controller", "helm-controller"];

/// Whether `GITOPS=full` requests these tests.
///
/// # Panics
/// If `GITOPS` has another value.
#[must_use]
pub fn is_requested() -> bool {
    match std::env::var("GITOPS").as_deref() {
        Err(_) | Ok("" | "small") => {
            eprintln!("skipped: GITOPS=full builds Flux and Argo CD, and runs this test");
            false
        }
        Ok("full") => true,
        Ok(other) => panic!("GITOPS is `{other}`: leave it out, or set it to full"),
    }
}

/// The folder of a Go module, in the version that the tool `tool` requires.
///
/// # Panics
/// If Go cannot find it.
#[must_use]
pub fn folder_of(tool: &str, module: &str) -> PathBuf {
    let mut command = go_tools::go(&go_tools::module(tool));
    command.args(["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", module]);
    String::from_utf8(go_tools::succeed(&mut command)).expect("a path is text").trim().into()
}

/// The Go module of a controller of Flux.
#[must_use]
pub fn flux_module(controller: &str) -> String {
    format!("github.com/fluxcd/{controller}")
}

/// The program of a controller of Flux, built if it does not exist yet.
#[must_use]
pub fn flux_program(controller: &str) -> PathBuf {
    go_tools::built(&format!("flux/{controller}"), &flux_module(controller))
}

/// The folder with the CRDs of a controller of Flux, in the version of its program.
#[must_use]
pub fn flux_definitions(controller: &str) -> PathBuf {
    folder_of(&format!("flux/{controller}"), &flux_module(controller)).join("config/crd/bases")
}

/// A controller of Flux that watches one namespace. `artifacts`: folder and address of what source-controller serves.
#[must_use]
pub fn flux(controller: &str, kubeconfig: &Path, namespace: &str, artifacts: (&Path, &str)) -> Command {
    let mut command = Command::new(flux_program(controller));
    command
        .env("KUBECONFIG", kubeconfig)
        .env("RUNTIME_NAMESPACE", namespace)
        .args(["--watch-all-namespaces=false", "--enable-leader-election=false", "--events-addr="])
        .args(["--metrics-addr=0", "--health-addr=0"]);
    if controller == "source-controller" {
        let (folder, address) = artifacts;
        command.arg("--storage-path").arg(folder);
        command.args(["--storage-addr", address, "--storage-adv-addr", address]);
    }
    command
}
