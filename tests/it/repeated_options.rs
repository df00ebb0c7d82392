//! Options that are given twice, as additional arguments of the chart do, and in the environment.

use std::net::TcpListener;

use crate::prelude::*;

const PROGRAM: &str = env!("CARGO_BIN_EXE_connect-operator");

/// Names a cluster that nobody reaches.
pub(crate) const KUBECONFIG: &str = r#"{"apiVersion": "v1", "kind": "Config", "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}], "users": [{"name": "u", "user": {}}]}"#;

/// Starts the operator with arguments of which one is wrong or names an address that is in use, so that it ends and
/// names it.
fn run(arguments: &[String], environment: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, KUBECONFIG).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env_clear().env("KUBECONFIG", kubeconfig).envs(environment.iter().copied());
    command.output().unwrap()
}

#[test]
fn the_last_of_repeated_options_applies_and_lists_get_longer() {
    let held: Vec<_> = (0..2).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let taken: Vec<_> = held.iter().map(|held| held.local_addr().unwrap().to_string()).collect();
    let listen = |taken: &str| format!("--health-listen={taken}");
    let (one, other) = (&*listen(&taken[0]), &*listen(&taken[1]));
    let in_use = |taken: &str| format!("--health-listen {taken}: Address already in use");
    let (hosts, wrong) = ("--allowed-api-hosts=a.example", "--allowed-api-hosts=*");
    let in_environment = ("HEALTH_LISTEN", taken[0].as_str());
    for (case, arguments, environment, expected) in [
        ("one", &[one][..], &[][..], in_use(&taken[0])),
        ("two", &[one, other], &[], in_use(&taken[1])),
        ("three", &[one, other, one], &[], in_use(&taken[0])),
        ("in the environment", &[], &[in_environment], in_use(&taken[0])),
        ("in the environment and as an option", &[other], &[in_environment], in_use(&taken[1])),
        ("in the environment and as two options", &[one, other], &[in_environment], in_use(&taken[1])),
        ("a switch twice", &["--leader-elect", other, "--leader-elect"], &[], in_use(&taken[1])),
        ("a list, wrong first", &[wrong, hosts, one], &[], "--allowed-api-hosts:".to_owned()),
        ("a list, wrong last", &[hosts, wrong, one], &[], "--allowed-api-hosts:".to_owned()),
        ("a list, twice", &[hosts, hosts, one], &[], in_use(&taken[0])),
        ("a list instead of that of the environment", &[hosts, one], &[("ALLOWED_API_HOSTS", "*")], in_use(&taken[0])),
    ] {
        let arguments: Vec<_> = ["run"].iter().chain(arguments).map(|argument| (*argument).to_owned()).collect();
        let output = run(&arguments, environment);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(&expected), "{case}: {error}");
    }
}
