//! The commands about resources of the cluster, as processes: what they show, what they change, and what they refuse.

mod awaited;
mod changed;
mod doctor;
mod hostile;
mod plugin;
mod refused;
mod scaffolded;
mod sharing;
mod shown;

use crate::prelude::*;

/// Runs the program in the namespace of a sandbox; returns its exit code, standard output and standard error.
pub(crate) async fn run(sandbox: &Sandbox, arguments: &[&str]) -> (Option<i32>, String, String) {
    let here = ["--namespace", sandbox.namespace.as_str()];
    let everywhere = arguments.iter().any(|it| ["--all-namespaces", "-A", "-n"].contains(it));
    let command = Command::new(env!("CARGO_BIN_EXE_connect-operator"))
        .args(arguments)
        .args(if everywhere { &[][..] } else { &here[..] })
        .env_clear()
        .env("KUBECONFIG", sandbox.kubeconfig())
        .kill_on_drop(true)
        .output();
    ended(in_time(command).await.expect("it ends").unwrap())
}

fn ended(output: Output) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = output;
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
    (status.code(), stdout, stderr)
}

/// Returns what the program prints to standard output; it has to succeed.
pub(crate) async fn printed(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let (code, stdout, stderr) = run(sandbox, arguments).await;
    assert_eq!(code, Some(0), "{arguments:?}: {stdout}{stderr}");
    stdout
}
