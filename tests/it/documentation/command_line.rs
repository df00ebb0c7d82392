//! The help of the command line: every command has examples, and its parser accepts them, as it does what pages mention.

use clap::Command;
use clap::error::ErrorKind;
use test_support::shell;

use crate::prelude::*;

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

/// A page may mention a command without its arguments, or with placeholders for them.
#[test]
fn commands_that_pages_mention_exist() {
    let command = connect_operator::cli::command();
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in files(&["docs", "README.md", "CHANGELOG.md"], &["md"]) {
        let text = text_of(&page);
        let prose: String = text.split("\n```").step_by(2).collect();
        for mentioned in prose.split('`').skip(1).step_by(2).filter(|span| span.starts_with("connect-operator ")) {
            seen += 1;
            let typed = shell::commands(&mentioned.replace('\n', " "));
            for words in typed.into_iter().filter(|words| words[0] == "connect-operator") {
                if let Err(error) = command.clone().try_get_matches_from(&words)
                    && !matches!(
                        error.kind(),
                        ErrorKind::MissingRequiredArgument
                            | ErrorKind::DisplayHelp
                            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                    )
                {
                    wrong.push(format!("{}: {mentioned}: {error}", page.display()));
                }
            }
        }
    }
    assert!(seen >= 20, "{seen} commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
