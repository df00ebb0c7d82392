//! The `connect-operator` binary.

use std::process::ExitCode;

#[cfg(feature = "local-cluster")]
fn main() -> ExitCode {
    use connect_operator::local_cluster;

    if std::env::args_os().nth(1).is_none_or(|command| command != local_cluster::GUARDIAN_COMMAND) {
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.and_then(|runtime| runtime.block_on(local_cluster::guard())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(feature = "local-cluster"))]
fn main() -> ExitCode {
    ExitCode::SUCCESS
}
