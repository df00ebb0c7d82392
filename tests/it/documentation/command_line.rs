//! The help of the command line: every command has examples, and its parser accepts them.

use clap::Command;
use test_support::shell;

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
