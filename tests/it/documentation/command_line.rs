//! `docs/cli.md`: the help of every command; and the examples in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use clap::{Arg, Command};
use test_support::shell;

use crate::golden::assert_golden;

/// Width of the help in columns, whatever terminal the test runs in.
const WIDTH: usize = 100;

const INTRODUCTION: &str = "\
# Command line

<!-- Generated from the help of the program: `UPDATE_GOLDEN=1 cargo test` rewrites this page. -->

The help of every command, as `connect-operator COMMAND --help` prints it. Options that several commands have are described once, in
[Shared options](#shared-options). As a plugin, the program is called `kubectl connect`.
";

const SHARED: &str = "
## Shared options

Each command names the groups of options that it has. Of the project options, `logs` and `plan` lack `--project`: their resources name the
project. Every command also has `-h` and `--help`. The cluster options may stand before the name of the command, as with kubectl:
`connect-operator -n shop status tax`.
";

#[test]
fn the_page_of_the_command_line_is_the_help_of_every_command() {
    let mut page = Page { text: INTRODUCTION.to_owned(), shared: BTreeMap::new() };
    let mut command = same_everywhere(connect_operator::cli::command());
    command.build();
    page.help_of(&command);
    page.text.push_str(SHARED);
    for (heading, options) in &page.shared {
        let group = Command::new("group").term_width(WIDTH).disable_help_flag(true).help_template("{all-args}");
        let help = lines(&group.args(options.values()).render_long_help().to_string());
        let help = help.trim_start().trim_start_matches(heading.as_str()).trim_start_matches(":\n");
        write!(page.text, "\n### {heading}\n\n```text\n{help}\n```\n").unwrap();
    }
    assert_golden("docs/cli.md", &page.text);
}

/// The page so far.
struct Page {
    text: String,
    /// The options with a heading, by heading and place in the help.
    shared: BTreeMap<String, BTreeMap<usize, Arg>>,
}

impl Page {
    fn help_of(&mut self, command: &Command) {
        let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
        let usage = command.clone().render_usage().to_string();
        let (command, groups) = self.without_shared(command.clone());
        // Options that are not shown here count, too.
        let command = command.override_usage(usage.trim_start_matches("Usage: ").to_owned());
        let help = lines(&command.clone().render_long_help().to_string());
        write!(self.text, "\n## `{name}`\n\n```text\n{help}\n```\n").unwrap();
        if !groups.is_empty() && !command.has_subcommands() {
            let link = |heading: &String| {
                let name = heading.to_lowercase();
                format!("[{name}](#{})", name.replace(' ', "-"))
            };
            let links: Vec<_> = groups.iter().map(link).collect();
            writeln!(self.text, "\nAlso: {}.", links.join(", ")).unwrap();
        }
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
            self.help_of(inner);
        }
    }

    /// Hides what `SHARED` describes; returns the headings of the hidden options.
    fn without_shared(&mut self, command: Command) -> (Command, BTreeSet<String>) {
        let mut groups = BTreeSet::new();
        let top = command.get_bin_name().is_none_or(|name| name == command.get_name());
        let command = command.mut_args(|option| match option.get_help_heading().map(ToOwned::to_owned) {
            Some(heading) if !option.is_hide_set() => {
                let known = self.shared.entry(heading.clone()).or_default();
                let help = |option: &Arg| option.get_long_help().or(option.get_help()).map(ToString::to_string);
                match known.values().find(|other| other.get_id() == option.get_id()) {
                    Some(other) => assert_eq!(help(other), help(&option), "two texts below {heading}"),
                    None => drop(known.insert(known.len(), option.clone())),
                }
                groups.insert(heading);
                option.hide(true)
            }
            _ if !top && ["help", "version"].contains(&option.get_id().as_str()) => option.hide(true),
            _ => option,
        });
        (command, groups)
    }
}

fn lines(help: &str) -> String {
    help.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Removes what depends on the environment: the width of the terminal, and values of variables.
fn same_everywhere(command: Command) -> Command {
    let names: Vec<_> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let command = command.term_width(WIDTH).mut_args(|argument| argument.hide_env_values(true));
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, same_everywhere))
}

#[test]
fn every_command_has_examples_and_its_parser_accepts_them() {
    let command = connect_operator::cli::command();
    let mut wrong = Vec::new();
    for (name, each) in all(&command, "connect-operator") {
        let text = each.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        let Some((_, examples)) = text.split_once("Examples:\n") else {
            wrong.push(format!("{name} has no examples"));
            continue;
        };
        let typed = shell::commands(examples);
        let ours = |words: &&Vec<String>| words.first().is_some_and(|word| word == "connect-operator");
        if !typed.iter().any(|words| words.join(" ").starts_with(&name)) {
            wrong.push(format!("{name} is not among its examples"));
        }
        for words in typed.iter().filter(ours) {
            if let Err(error) = command.clone().try_get_matches_from(words) {
                wrong.push(format!("{name}: {}: {error}", words.join(" ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A command and those below it, by what is typed.
fn all<'a>(command: &'a Command, name: &str) -> Vec<(String, &'a Command)> {
    let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    let below = inner.flat_map(|inner| all(inner, &format!("{name} {}", inner.get_name())));
    std::iter::once((name.to_owned(), command)).chain(below).collect()
}
