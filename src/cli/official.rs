//! The words of the official client: its names of commands are aliases here, and for a command that is none here an error
//! names the equivalent, as docs/moving.md does.

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command};

use super::resources::program;

/// A command here that has the words of the official client, a word of it, and what to do instead.
type Replaced = (&'static str, &'static str, &'static str);

/// What is done with manifests. `{program}` is this program.
const REPLACED: [Replaced; 13] = [
    ("deployments", "create", "apply a ConnectorDeployment; `{program} scaffold CONNECTOR` prints one"),
    (
        "deployments",
        "redeploy",
        "change a value and apply; for unchanged values, use `{program} redeploy NAME`; for another version of the \
         connector, set `connector.version` or `updatePolicy: Latest`; `skipScripts: true` skips its scripts",
    ),
    (
        "deployments",
        "logs",
        "`status.report` has the report of the service; logs come through Platform Insights, for deployments that were \
         created or redeployed after forwarding was switched on",
    ),
    ("deployments", "delete", "`kubectl delete cdep NAME`"),
    ("staged", "list", "`kubectl get cst`; the official client lists those without a resource, too"),
    ("staged", "describe", "`{program} status staged/NAME`, or `kubectl describe cst NAME`"),
    ("staged", "create", "apply a ConnectorStaged"),
    ("staged", "update", "change `repository.tag` of the ConnectorStaged, and apply"),
    ("staged", "preview", "set `previewable: true`, and apply a ConnectorDeployment with `stagedRef`"),
    ("staged", "deploy", "apply a ConnectorDeployment with `stagedRef` or `staged: true`"),
    ("staged", "publish", "set `publish: Private`, and apply"),
    ("staged", "certify", "set `publish: Certified`, and apply"),
    (
        "staged",
        "validate",
        "not needed: the status of the ConnectorStaged has the findings, as `{program} status staged/NAME` shows",
    ),
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
        let replaced = REPLACED.iter().filter(|(of, ..)| *of == name).map(|(_, word, _)| anything(word));
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
    match REPLACED.iter().find(|(of, replaced, _)| *of == parent && word == Some(*replaced)) {
        Some((_, replaced, instead)) => {
            let instead = instead.replace("{program}", program());
            let why = format!("`{parent} {replaced}` is a command of the official client only; here: {instead}");
            Err(command.error(ErrorKind::InvalidSubcommand, why))
        }
        None => Ok(()),
    }
}
