//! `man`: writes a manual page for each command, for `man connect-operator` and packages.

use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  # For one user; then `man connect-operator-wait`
  connect-operator man ~/.local/share/man/man1

  # For a package
  connect-operator man package/usr/share/man/man1";

/// Write a manual page for each command.
///
/// The pages are generated from the help, and match the version of the program.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Args {
    /// Folder for the pages, created if it does not exist; pages of an earlier version are replaced.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes the pages.
///
/// # Errors
/// If the folder cannot be written.
pub(super) fn run(args: &Args) -> Result<(), String> {
    let written =
        std::fs::create_dir_all(&args.folder).and_then(|()| clap_mangen::generate_to(super::command(), &args.folder));
    written.map_err(|error| format!("{}: {error}", args.folder.display()))
}
