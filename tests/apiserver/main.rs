//! Everything that needs a real API server, in one binary that starts one cluster; each test has a namespace of its
//! own.
#![cfg(feature = "local-cluster")]
#![allow(clippy::unwrap_used, reason = "tests may panic")]
#![allow(clippy::large_futures, reason = "stack size does not matter in tests")]
#![allow(clippy::single_match_else, reason = "the expected case comes first")]

mod chart;
mod checks;
mod cluster;
mod commands;
mod completion;
mod control_plane;
mod demo;
mod ending;
mod examples;
mod gitops;
#[path = "../common/go_tools.rs"]
#[allow(dead_code, reason = "each test binary uses other parts of it")]
mod go_tools;
#[path = "../common/helm.rs"]
#[allow(dead_code, reason = "each test binary uses other parts of it")]
mod helm;
mod leading;

mod main_job;
mod manifests;
mod mirror;
mod pages;
#[path = "../common/patience.rs"]
#[allow(dead_code, reason = "each test binary uses other parts of it")]
mod patience;
mod plan;
mod requests;
mod rules;
mod schema;
mod security;
mod seen;
mod shop;
mod skew;
mod staged;
mod storm;
mod tenants;
#[path = "../common/tls_listener.rs"]
mod tls_listener;
mod trouble;
mod unreliable;
mod waiting;
mod written;
