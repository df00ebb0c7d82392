//! `completion`: prints a completion script for a shell.

use std::io;

use clap::Command;
use clap_complete::Shell;

use super::printing::print;

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

/// Print a completion script for a shell: for commands, options and their values.
///
/// Load it when the shell starts, so that it matches the version of the program.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
///
/// # Errors
/// If the script cannot be written.
pub(super) fn run(args: &Args) -> io::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown(&super::command()), env!("CARGO_PKG_NAME"), &mut script);
    // In a script for bash, clap spells the name of a program with a hyphen in two ways, so that no command is found.
    print(&String::from_utf8_lossy(&script).replace("connect__subcmd__operator", "connect__operator"))
}

/// Returns what the help of a command shows: the scripts would offer also what is hidden.
fn shown(command: &Command) -> Command {
    // clap takes only names that live as long as the process, which ends after the script.
    Command::new(&*command.get_name().to_owned().leak())
        .about(command.get_about().cloned().unwrap_or_default())
        .args(command.get_arguments().filter(|it| !it.is_hide_set()))
        .subcommands(command.get_subcommands().filter(|it| !it.is_hide_set()).map(shown))
}
