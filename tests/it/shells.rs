//! Completion scripts in the shells themselves.
//!
//! A program that is not installed is skipped with a notice, or is a failure if `REQUIRE_SHELLS` is set.

use std::io::Write as _;

use tokio::process::Command;

use crate::prelude::*;

const PROGRAM: &str = env!("CARGO_BIN_EXE_connect-operator");

/// Loads the script of the program `$1`, and prints the completions of the last word of the command `$2`.
const BASH: &str = r#"
source <("$1" completion bash)
function=$(complete -p connect-operator)
function=${function#*-F }
read -ra COMP_WORDS <<< "$2"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_TYPE=9
"${function%% *}" connect-operator "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// The same for fish, which prints a description after each completion.
const FISH: &str = r#"
$argv[1] completion fish | source
complete --do-complete "$argv[2]"
"#;

/// zsh completes in a terminal only. A function with the name of the program prints what was typed in the end.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= ; autoload -U compinit; compinit -u -D; source <('$1' completion zsh)"
zpty -w shell 'connect-operator() { print -r -- "typed<$*>" }; print -r -- "loaded<>"'
zpty -r shell text $'*\nloaded<>*'
zpty -w shell "$2"$'\t'
zpty -r shell text $'*typed<[^$]*>*'
print -r -- "$text"
zpty -d shell
"#;

/// Returns whether a program is installed; reports it if it is not.
fn is_installed(program: &str, package: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !found {
        assert!(std::env::var_os("REQUIRE_SHELLS").is_none(), "REQUIRE_SHELLS is set; install `{package}`");
        // Bypasses the capture of the test harness, so that it is visible.
        let notice = format!("shells: skipped, {program} is missing; install `{package}`\n");
        let _ = std::io::stderr().write_all(notice.as_bytes());
    }
    found
}

/// Runs a program with the usual places of programs, and no cluster; it has to succeed and report nothing.
async fn printed(program: &str, arguments: &[&str]) -> String {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(std::env::vars_os().filter(|(name, _)| name == "PATH"));
    command.env("HOME", home.path()).env("LC_ALL", "C.UTF-8").env("TERM", "dumb").env("KUBECONFIG", "/nonexistent");
    let ended = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let Output { status, stdout, stderr } = in_time(ended).await.expect("it ends").unwrap();
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(status.success() && stderr.is_empty(), "{program} {arguments:?}: {status}\n{stdout}\n{stderr}");
    stdout
}

#[tokio::test]
async fn shells_load_the_script_and_complete_words() {
    for (shell, options, script) in
        [("bash", &["--norc", "-c"][..], BASH), ("fish", &["--no-config", "-c"], FISH), ("zsh", &["-f", "-c"], ZSH)]
    {
        if !is_installed(shell, shell) {
            continue;
        }
        for (typed, completed) in [
            ("connect-operator wa", "wait"),
            ("connect-operator connectors se", "search"),
            ("connect-operator status -n shop --out", "--output"),
            ("connect-operator wait --time", "--timeout"),
        ] {
            // fish has no name for a script beside its arguments.
            let name = if shell == "fish" { &[][..] } else { &[shell] };
            let printed = printed(shell, &[options, &[script], name, &[PROGRAM, typed]].concat()).await;
            if shell == "zsh" {
                let start = typed.strip_prefix("connect-operator ").unwrap_or_default();
                let words: Vec<_> = start.split(' ').collect();
                let line = [&words[..words.len() - 1], &[completed]].concat().join(" ");
                assert!(printed.contains(&format!("typed<{line}>")), "{shell}, {typed}: {printed:?}");
            } else {
                let found: Vec<_> = printed.lines().filter_map(|line| line.split('\t').next()).collect();
                assert_eq!(found, [completed], "{shell}, {typed}");
            }
        }
    }
}
