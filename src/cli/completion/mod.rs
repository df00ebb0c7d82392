//! `completion`: shell completion, computed by this program, with names from the cluster.
//!
//! The printed script calls the program with [`names::COMPLETE`] set; kubectl calls an executable named
//! [`names::KUBECTL_COMPLETE`] to complete a plugin. In both cases [`answer`] runs before anything else. Next:
//! `cluster`, which looks names up.

mod cluster;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap_complete::CompleteEnv;
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::Shells;

use super::printing::print;
use crate::names;

pub(super) use cluster::{MOST, connector_keys, project_among, within, words};
pub(super) use cluster::{contexts, deployments, keys, namespaces, projects, resources, staged};

/// Last line of the response to kubectl: do not complete file names (`ShellCompDirectiveNoFileComp` of Cobra, with
/// which kubectl is built).
const NO_FILES: &str = ":4\n";
/// Last line of the response to kubectl without candidates: complete file names (`ShellCompDirectiveDefault`).
const FILES: &str = ":0\n";

const EXAMPLES: &str = "\
Examples:
  # bash, in ~/.bashrc
  source <(connect-operator completion bash)

  # zsh, in ~/.zshrc after compinit
  source <(connect-operator completion zsh)

  # fish, in ~/.config/fish/config.fish
  connect-operator completion fish | source

  # elvish, in ~/.config/elvish/rc.elv
  eval (connect-operator completion elvish | slurp)

  # PowerShell, in its profile
  connect-operator completion powershell | Out-String | Invoke-Expression";

/// Print a completion script for a shell: for commands, options, and names from the cluster.
///
/// Load it when the shell starts, so that it matches the version of the program. kubectl completes the plugin when the
/// program is also linked as `kubectl_complete-connect`, beside `kubectl-connect`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

impl Shell {
    fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Elvish => "elvish",
            Self::Fish => "fish",
            Self::Powershell => "powershell",
            Self::Zsh => "zsh",
        }
    }
}

/// Prints the script, for the name and path with which this program was called.
///
/// # Errors
/// If the script cannot be written.
pub(super) fn run(args: &Args) -> Result<(), String> {
    let program = program();
    let name = called(&program).unwrap_or_else(|| env!("CARGO_PKG_NAME").to_owned());
    let shell = args.shell.name();
    let shells = Shells::builtins();
    let shell = shells.completer(shell).ok_or_else(|| format!("{shell} is not supported"))?;
    let mut script = Vec::new();
    shell
        .write_registration(names::COMPLETE, &name, &name, &whole(&program).to_string_lossy(), &mut script)
        .and_then(|()| print(&String::from_utf8_lossy(&script)))
        .map_err(|error| error.to_string())
}

/// Answers a completion request of a shell or of kubectl; `None` if there is none. Nothing may be printed before.
pub(super) fn answer() -> Option<ExitCode> {
    let answered = if called(&program()).as_deref() == Some(names::KUBECTL_COMPLETE) {
        to_kubectl(std::env::args_os().skip(1).collect()).map(|()| true)
    } else {
        let current = std::env::current_dir().ok();
        CompleteEnv::with_factory(super::command_to_complete)
            .var(names::COMPLETE)
            .try_complete(std::env::args_os(), current.as_deref())
            .map_err(|error| error.to_string())
    };
    match answered {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
        Err(error) => Some(super::failed(&error)),
    }
}

/// Prints one candidate per line, with its help after a tab, then the directive.
fn to_kubectl(words: Vec<OsString>) -> Result<(), String> {
    use std::fmt::Write as _;
    let current = std::env::current_dir().ok();
    let at = words.len().max(1);
    let words = std::iter::once(OsString::from(env!("CARGO_PKG_NAME"))).chain(words).collect();
    let found = clap_complete::engine::complete(&mut super::command_to_complete(), words, at, current.as_deref())
        .map_err(|error| error.to_string())?;
    let found: Vec<&CompletionCandidate> = found.iter().filter(|candidate| !candidate.is_hide_set()).collect();
    let mut lines = String::new();
    for candidate in &found {
        let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
        let help = help.lines().next().map(|line| format!("\t{line}")).unwrap_or_default();
        writeln!(lines, "{}{help}", candidate.get_value().to_string_lossy()).map_err(|error| error.to_string())?;
    }
    lines += if found.is_empty() { FILES } else { NO_FILES };
    print(&lines).map_err(|error| error.to_string())
}

/// The name with which this program was called.
fn program() -> PathBuf {
    std::env::args_os().next().map(PathBuf::from).unwrap_or_default()
}

fn called(program: &Path) -> Option<String> {
    Some(program.file_name()?.to_str()?.to_owned())
}

/// The shell finds a bare name in the path; a path must also work from other folders.
fn whole(program: &Path) -> PathBuf {
    match std::env::current_dir() {
        Ok(current) if program.components().count() > 1 => current.join(program),
        _ => program.to_owned(),
    }
}
