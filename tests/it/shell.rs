//! What shells request from the program, as processes: completion, exit codes, closed pipes.

use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_connect-operator");

/// Returns the program in an environment without a cluster.
fn program(name: &std::path::Path) -> Command {
    let mut command = Command::new(name);
    command.env_clear().env("KUBECONFIG", "/nonexistent").stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    program(PROGRAM.as_ref()).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Returns the completions in bash for the last of these words.
fn candidates(words: &[&str]) -> Vec<String> {
    let output = program(PROGRAM.as_ref())
        .args(["--", "connect-operator"])
        .args(words)
        .env("CONNECT_OPERATOR_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_IFS", "\n")
        .output()
        .unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{words:?}");
    text(&output.stdout).lines().map(ToOwned::to_owned).collect()
}

#[test]
fn every_shell_gets_a_script_that_calls_this_program() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&["completion", shell]);
        let script = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{shell}");
        assert!(script.contains("CONNECT_OPERATOR_COMPLETE") && script.contains(PROGRAM), "{shell}: {script}");
    }
    assert_eq!(run(&["completion", "tcsh"]).status.code(), Some(1));
}

#[test]
fn commands_options_and_values_are_completed() {
    for (case, words, expected) in [
        ("a command, and not its alias", &["conn"][..], &["connectors"][..]),
        ("a command of an alias", &["deployment", "ex"], &["export"]),
        ("a command of a command", &["deployments", "ex"], &["export"]),
        ("an option", &["wait", "--time"], &["--timeout"]),
        ("a value", &["connectors", "search", "-o", "js"], &["json"]),
        ("a shell", &["completion", "ba"], &["bash"]),
    ] {
        assert_eq!(candidates(words), expected, "{case}");
    }
}

#[test]
fn without_a_cluster_names_are_not_completed_and_nothing_is_printed() {
    for words in [&["wait", "deployment/"][..], &["deployments", "list", "--project", "s"], &["wait", "-n", "sh"]] {
        assert_eq!(candidates(words), <[&str; 0]>::default(), "{words:?}");
    }
}

#[test]
fn kubectl_gets_completions_in_its_own_format() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("kubectl_complete-connect");
    std::os::unix::fs::symlink(PROGRAM, &link).unwrap();
    let asked = |words: &[&str]| {
        let output = program(&link).args(words).output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{words:?}");
        text(&output.stdout).to_owned()
    };
    assert_eq!(asked(&["conn"]), "connectors\tLook connectors up in the registry\n:4\n");
    assert_eq!(asked(&["wait", "deployment/x"]), ":0\n");
}

#[test]
fn invalid_arguments_exit_with_1_because_2_means_a_change() {
    for (case, arguments, code) in [
        ("no command", &[][..], 1),
        ("an unknown command", &["deploy"], 1),
        ("an unknown option", &["wait", "deployment/tax", "--forever"], 1),
        ("help", &["--help"], 0),
        ("version", &["--version"], 0),
    ] {
        assert_eq!(run(arguments).status.code(), Some(code), "{case}");
    }
}

#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    for arguments in [&["crds"][..], &["completion", "bash"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = program(PROGRAM.as_ref()).args(arguments).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{arguments:?}");
    }
}
