//! `docs/cli.md`: the help of every command.

use std::fmt::Write as _;

use clap::Command;

use crate::golden::assert_golden;

/// Width of the help in columns, whatever terminal the test runs in.
const WIDTH: usize = 100;

#[test]
fn the_page_of_the_command_line_is_the_help_of_every_command() {
    let mut page = String::from(
        "# Command line\n\nThe help of every command, as `connect-operator COMMAND --help` prints it. This page is \
         generated: `UPDATE_GOLDEN=1 cargo test` rewrites it.\n",
    );
    let mut command = same_everywhere(connect_operator::cli::command());
    command.build();
    help_of(&command, &mut page);
    assert_golden("docs/cli.md", &page);
}

fn help_of(command: &Command, page: &mut String) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let help = command.clone().render_long_help().to_string();
    let help: Vec<_> = help.trim_end().lines().map(str::trim_end).collect();
    writeln!(page, "\n## `{name}`\n\n```text\n{}\n```", help.join("\n")).unwrap();
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
        help_of(inner, page);
    }
}

/// Removes what depends on the environment: the width of the terminal, and values of variables.
fn same_everywhere(command: Command) -> Command {
    let names: Vec<_> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let command = command.term_width(WIDTH).mut_args(|argument| argument.hide_env_values(true));
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, same_everywhere))
}
