//! The words of the official client: its names of commands are aliases here, and for a command that is none here an error
//! names the page with the equivalent.

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command};

/// The commands of the official client that are done with manifests here, by the command here that has its words.
const REPLACED: [(&str, &[&str]); 2] = [
    ("deployments", &["create", "redeploy", "logs", "delete"]),
    ("staged", &["list", "describe", "create", "update", "preview", "deploy", "publish", "certify", "validate"]),
];

/// Other names of commands: those of the official client.
const ALIASES: [(&str, &str); 3] =
    [("connectors", "connector"), ("staged", "connectorstaged"), ("deployments", "deployment")];

/// Returns the command line with the names of the official client as aliases, and with the replaced words as hidden
/// commands that accept anything.
pub(super) fn with_words(command: Command) -> Command {
    each(command, |parent| {
        let name = parent.get_name().to_owned();
        let Some((_, official)) = ALIASES.iter().find(|(ours, _)| *ours == name) else { return parent };
        let parent =
            each(parent, |inner| if inner.get_name() == "get" { inner.visible_alias("describe") } else { inner });
        let replaced =
            REPLACED.iter().filter(|(of, _)| *of == name).flat_map(|(_, words)| *words).map(|word| anything(word));
        parent.subcommands(replaced).visible_alias(*official)
    })
}

/// Changes each command below a command. All are replaced, so that their order stays.
fn each(command: Command, change: impl Fn(Command) -> Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, &change))
}

fn anything(word: &'static str) -> Command {
    let arguments = Arg::new("anything").num_args(0..).trailing_var_arg(true).allow_hyphen_values(true);
    Command::new(word).hide(true).disable_help_flag(true).arg(arguments)
}

/// Refuses one of these words.
///
/// # Errors
/// What to do instead.
pub(super) fn check(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((parent, inner)) = matches.subcommand() else { return Ok(()) };
    let word = inner.subcommand_name();
    match word.filter(|word| REPLACED.iter().any(|(of, words)| *of == parent && words.contains(word))) {
        Some(word) => {
            let why = format!(
                "`{parent} {word}` is a command of the official client only; docs/moving.md has what takes its place"
            );
            Err(command.error(ErrorKind::InvalidSubcommand, why))
        }
        None => Ok(()),
    }
}
