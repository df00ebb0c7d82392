//! Commands of the official client for which this program has no command: an error names the equivalent, as
//! docs/moving.md does.

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command};

use super::resources::program;

/// A command here that has the words of the official client, a word of it, and what to do instead.
type Replaced = (&'static str, &'static str, &'static str);

/// What is done with manifests. `{program}` is this program.
const REPLACED: [Replaced; 10] = [
    ("deployments", "create", "apply a ConnectorDeployment; `{program} scaffold CONNECTOR` prints one"),
    (
        "deployments",
        "redeploy",
        "change a value and apply; for unchanged values, use `{program} redeploy NAME`; for another version of the \
         connector, set `connector.version` or `updatePolicy: Latest`; `skipScripts: true` skips its scripts",
    ),
    ("deployments", "delete", "`kubectl delete cdep NAME`"),
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

/// Returns the command line with these words as hidden commands that accept anything.
pub(super) fn with_replaced(command: Command) -> Command {
    REPLACED.iter().fold(command, |command, (parent, word, _)| {
        let anything = Arg::new("anything").num_args(0..).trailing_var_arg(true).allow_hyphen_values(true);
        let inner = Command::new(*word).hide(true).disable_help_flag(true).arg(anything);
        command.mut_subcommand(*parent, |parent| parent.subcommand(inner))
    })
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
