//! The command line: one file for each command. Parses the arguments, runs the command, and reports how it ended.

mod cluster;
mod commands;
mod completion;
mod crds;
#[cfg(feature = "local-cluster")]
mod demo;
mod dev_server;
mod installs;
mod plan;
mod printing;
mod reach;
mod resources;
pub mod run;
mod text;

use crate::cli::printing::tell;
use std::path::Path;
use std::process::{ExitCode, Termination};

use clap::{CommandFactory as _, Parser, Subcommand};
use connect_api::http::{Authorities, BuildError};

use crate::telemetry::{self, LogFormat};

/// What the exit code of every command means.
const EXAMPLES: &str = "\
Examples:
  # Everything on this machine, against a simulated API
  connect-operator demo

  # What runs, what is wanted, and what to do
  connect-operator status tax --namespace shop

Exit codes: 0, success; 1, failure, with the reason on standard error, also for invalid arguments; 2, `plan --exit-code` \
found a change and no problem. A command whose reader closes the pipe (`| head -1`) ends quietly with 0.";

/// Kubernetes operator for commercetools Connect.
// Of an option that is repeated, the last one applies, as with kubectl: so additional arguments of the chart replace its own.
#[derive(Debug, Parser)]
#[command(name = "connect-operator", version, about, propagate_version = true, args_override_self = true, after_long_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the controllers.
    Run(run::Args),
    #[cfg(feature = "local-cluster")]
    Demo(demo::Args),
    /// Serve the Connect API on this machine, for trying things out.
    DevServer(dev_server::Args),
    Scaffold(commands::Scaffold),
    Plan(plan::Args),
    Status(resources::Status),
    Tree(resources::Tree),
    Doctor(resources::Doctor),
    #[command(flatten)]
    Request(resources::Request),
    Wait(resources::Wait),
    Adopt(commands::Adopt),
    /// Look connectors up in the registry.
    Connectors(commands::Connectors),
    Staged(commands::Staged),
    /// Show deployments.
    Deployments(commands::Deployments),
    /// Call an action of a frontend.
    Action(commands::Actions),
    /// Print the CustomResourceDefinitions.
    #[command(after_long_help = crds::EXAMPLES)]
    Crds,
    Completion(completion::Args),
}

/// Returns the clap definition of the command line.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Parses the arguments of the process and runs the command.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe is not an error. The exit code cannot be clap's 2, which has another meaning here.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    match cli.command {
        Command::Crds => ended(crds::run()),
        Command::Completion(args) => ended(completion::run(&args)),
        Command::Run(args) => in_runtime(run::run(args)),
        Command::Status(args) => commands(resources::status(args)),
        Command::Tree(args) => commands(resources::tree(args)),
        Command::Doctor(args) => commands(resources::doctor(args)),
        Command::Request(request) => commands(resources::change(request)),
        Command::Connectors(args) => commands(commands::connectors(args)),
        Command::Staged(args) => commands(commands::staged(args)),
        Command::Deployments(args) => commands(commands::deployments(args)),
        Command::Action(args) => commands(commands::actions(args)),
        Command::Adopt(args) => commands(commands::adopt(args)),
        Command::Wait(args) => commands(resources::wait(args)),
        Command::Scaffold(args) => commands(commands::scaffold(args)),
        Command::Plan(args) => commands(plan::run(args)),
        Command::DevServer(args) => {
            telemetry::start(LogFormat::Text, "info");
            in_runtime(dev_server::run(args, asked_to_end()))
        }
        #[cfg(feature = "local-cluster")]
        Command::Demo(args) => in_runtime(demo::run(args)),
    }
}

/// Runs a command that answers a question.
fn commands<T: Termination, E: std::fmt::Display>(command: impl Future<Output = Result<T, E>>) -> ExitCode {
    telemetry::start(LogFormat::Text, "warn");
    in_runtime(command)
}

fn in_runtime<T: Termination, E: std::fmt::Display>(command: impl Future<Output = Result<T, E>>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    ended(runtime.block_on(command))
}

fn ended<T: Termination, E: std::fmt::Display>(result: Result<T, E>) -> ExitCode {
    match result {
        Ok(done) => done.report(),
        Err(error) => failed(&error),
    }
}

/// Error for a certificate file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("--ca-file: {0}")]
struct CaFileError(BuildError);

fn authorities(ca_file: Option<&Path>) -> Result<Authorities, CaFileError> {
    Authorities::with(ca_file).map_err(CaFileError)
}

fn failed(error: &impl std::fmt::Display) -> ExitCode {
    tell!("Error: {error}");
    ExitCode::FAILURE
}

/// Returns on Ctrl-C or SIGTERM; at once if the process cannot listen for signals.
async fn asked_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        },
        Err(error) => tracing::error!(%error, "cannot listen for signals"),
    }
}
