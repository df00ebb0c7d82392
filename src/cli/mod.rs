//! Command line.

pub mod dev_server;
