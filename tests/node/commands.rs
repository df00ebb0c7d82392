//! Commands as users type them, with their output.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Runs a command to its end and returns its output; a failure panics with all of its output.
pub(crate) fn run(command: &mut Command) -> String {
    let output = finish(command, None);
    printed(command, &output)
}

/// Runs a command with this standard input.
pub(crate) fn feed(command: &mut Command, input: &str) -> String {
    let output = finish(command, Some(input));
    printed(command, &output)
}

fn finish(command: &mut Command, input: Option<&str>) -> Output {
    eprintln!("{}", line(command));
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    let process = command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut process = process.unwrap_or_else(|error| panic!("{}: {error}", line(command)));
    if let Some(input) = input {
        process.stdin.take().expect("it is piped").write_all(input.as_bytes()).unwrap();
    }
    process.wait_with_output().unwrap()
}

fn printed(command: &Command, output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {}\n{text}{errors}", line(command), output.status);
    text
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
