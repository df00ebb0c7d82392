//! Tests over real interfaces, in one binary.

mod dev_server;
mod official_client;
