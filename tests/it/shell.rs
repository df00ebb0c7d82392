//! What shells request from the program, as processes: completion, exit codes, closed pipes.

use crate::prelude::*;

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

#[test]
fn every_shell_gets_a_script_without_what_is_hidden() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&["completion", shell]);
        let script = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{shell}");
        assert!(script.contains("connectors") && script.contains("timeout"), "{shell}: {script}");
        assert!(!script.contains("certify"), "{shell}");
    }
    assert_eq!(run(&["completion", "tcsh"]).status.code(), Some(1));
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
