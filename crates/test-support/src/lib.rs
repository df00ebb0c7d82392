//! What tests of several crates share. Nothing that is shipped depends on it.
//!
//! - [`patience`]: how long a test waits before it fails
//! - [`addresses`]: where a server listens later, or never
//! - [`checkout`]: files of the checkout
//! - [`chromium`]: a browser
//! - [`commands`]: programs that read their standard input
//! - [`git_repository`]: a repository over HTTP
//! - [`gitops`]: controllers of other projects
//! - [`go_tools`], [`helm`]: programs in Go that tests call, and the rendered chart
//! - [`merge_keys`]: what kustomize knows of lists
//! - [`reachable`]: visits all states of a model
//! - [`shell`]: the commands of a script
//! - [`tls_listener`]: a TLS server

pub mod addresses;
pub mod checkout;
pub mod chromium;
pub mod commands;
pub mod git_repository;
pub mod gitops;
pub mod go_tools;
pub mod helm;
pub mod merge_keys;
pub mod patience;
pub mod reachable;
pub mod shell;
pub mod tls_listener;

/// The root of the workspace.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
