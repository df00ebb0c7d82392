//! Everything that needs no cluster, in one binary.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod client;
mod crds;
mod dev_server;
mod golden;
mod official_client;
