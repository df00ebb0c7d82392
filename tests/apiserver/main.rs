//! Everything that needs a real API server, in one binary that starts one cluster; each test has a namespace of its
//! own.
#![cfg(feature = "local-cluster")]
#![allow(clippy::unwrap_used, reason = "tests may panic")]
#![allow(clippy::large_futures, reason = "stack size does not matter in tests")]
#![allow(clippy::single_match_else, reason = "the expected case comes first")]

mod at_the_remote;
mod chart;
mod checks;
mod cluster;
mod collector;
mod commands;
mod control_plane;
mod demo;
mod ending;
mod examples;
mod gateway;
mod gitops;
mod leading;
mod main_job;
mod manifests;
mod operators;
mod pages;
mod plan;
mod prelude;
mod proxies;
mod recording;
mod reported;
mod requests;
mod rewriting;
mod rules;
mod schema;
mod security;
mod seen;
mod shop;
mod skew;
mod staged;
mod storm;
mod tasks;
mod tenants;
mod trouble;
mod unreliable;
mod verbs;
mod waiting;
mod watching;
mod written;

use test_support::{addresses, go_tools, helm, patience, shell, tls_listener};
