//! The official clients against the dev server: the command line client (npm package `@commercetools/cli`) and the SDK
//! (`@commercetools-connect/sdk`).
//!
//! They run if Node is installed; otherwise the tests are skipped with a notice, or fail if `REQUIRE_NODE` is set. They
//! are installed from the lock file in `tests/clients`, without scripts, once for each state of that file.

mod cli;
mod sdk;

use std::fs::File;
use std::io::Write as _;

use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::prelude::*;

/// Runs a command to its end.
async fn run(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = in_time(output).await.expect("the command ends in time");
    output.expect("the command starts")
}

async fn is_there(program: &str) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().await;
    version.is_ok_and(|status| status.success())
}

/// Installs the clients, unless that was done before with the same lock file; returns the folder.
async fn installed() -> PathBuf {
    let source = in_checkout("tests/clients");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients");
    let lock = std::fs::read(source.join("package-lock.json")).expect("the lock file is part of the project");
    let mark = folder.join("installed-from.json");
    // Another test run in this folder may be installing them.
    let only_one = File::create(folder.with_extension("lock")).expect("the target folder can be written");
    only_one.lock().expect("the file can be locked");
    if std::fs::read(&mark).ok().as_ref() != Some(&lock) {
        std::fs::create_dir_all(&folder).expect("the target folder can be written");
        for name in ["package.json", "package-lock.json"] {
            std::fs::copy(source.join(name), folder.join(name)).expect("the target folder can be written");
        }
        let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        let output = run(Command::new("npm").args(arguments).current_dir(&folder)).await;
        assert!(output.status.success(), "npm ci: {}", String::from_utf8_lossy(&output.stderr));
        std::fs::write(mark, lock).expect("the target folder can be written");
    }
    folder
}

/// Returns the folder with the clients, unless Node is missing.
async fn clients() -> Option<PathBuf> {
    if is_there("node").await && is_there("npm").await {
        // Only once, even if several tests begin at the same time.
        static INSTALLED: OnceCell<PathBuf> = OnceCell::const_new();
        return Some(INSTALLED.get_or_init(installed).await.clone());
    }
    assert!(std::env::var_os("REQUIRE_NODE").is_none(), "REQUIRE_NODE is set, but node or npm is missing");
    // Bypasses the capture of the test harness, so that it is visible.
    let _ = std::io::stderr().write_all(b"official clients: skipped, node or npm is missing\n");
    None
}
