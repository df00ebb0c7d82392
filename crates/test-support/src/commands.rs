//! Programs that read their standard input.

use std::process::{Output, Stdio};

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// Runs a program with this text as its standard input, and returns what it printed. It is killed if it is not awaited.
///
/// # Panics
/// If the program does not start, or ends before it has read everything.
pub async fn with_input(command: &mut Command, input: &str) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().expect("the program starts");
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).await.expect("the program reads");
    child.wait_with_output().await.expect("the program ends")
}
