//! `scripts/bench scale`: compares the figures of two runs. Needs Python 3.

use std::process::{Command, Output};

use serde_json::json;

/// Runs the script; `None`, with a notice, if there is no Python.
fn bench(arguments: &[&str]) -> Option<Output> {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("SKIPPED: python3 is missing");
        return None;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/bench");
    Some(Command::new("python3").arg(script).args(arguments).output().unwrap())
}

#[test]
fn two_runs_are_compared_figure_by_figure() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let run = |commit: &str, seconds: f64, calls: u32| {
        let calls = json!({"createDeployment": calls});
        let ready = json!({"seconds": seconds, "calls": calls, "violations": 0});
        json!({"scale": "deployments", "commit": commit, "until_ready": ready})
    };
    let one = file("one", &format!("seconds: 7\n{}\n{}\n", run("earlier", 1.0, 1), run("abc", 10.0, 100)));
    let other = file("other", &run("def", 2.5, 100).to_string());
    let Some(output) = bench(&["scale", &one, &other]) else { return };
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    for (case, expected) in [
        ("the last run of a file", &["commit", "abc", "def"][..]),
        ("a time", &["until_ready.seconds", "10.0", "2.5", "0.25"]),
        ("a count", &["until_ready.calls.createDeployment", "100", "100", "1.00"]),
        ("no ratio to nothing", &["until_ready.violations", "0", "0"]),
    ] {
        assert!(lines.iter().any(|line| line == expected), "{case}: {text}");
    }
}

#[test]
fn wrong_arguments_are_reported() {
    let nothing = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for (case, arguments, expected) in [
        ("one file", &["scale", nothing][..], "usage: scripts/bench scale FILE FILE"),
        ("no such file", &["scale", "/nonexistent", nothing], "/nonexistent"),
        ("no run in it", &["scale", nothing, nothing], "has no line of JSON"),
        ("no such commit", &["no-such-commit"], "no-such-commit is not a commit"),
        ("no such profile", &["--profile", "dev"], "invalid choice"),
    ] {
        let Some(output) = bench(arguments) else { return };
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(expected), "{case}: {error}");
    }
}
