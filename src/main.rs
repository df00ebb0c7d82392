//! The `connect-operator` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    connect_operator::cli::main()
}
