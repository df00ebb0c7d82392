//! The custom resource definitions: spec, status, validation rules and printer columns of each kind.
//!
//! The schema validates a manifest first: what it refuses, no controller has to handle. The doc comments of fields are
//! what `kubectl explain` prints, so they address the user who fills in the field. Nothing here does IO or knows the
//! remote API; no field can carry the clear text of a secured value. Next: one file for each kind, [`shared`] for the
//! types that several kinds use, [`schema`] for what the derives cannot express; `operator/` for the reconcilers.

#![allow(clippy::doc_markdown, reason = "the docs of fields are what kubectl explain prints, as plain text")]
#![allow(unreachable_pub, reason = "the KubeSchema derive repeats each public struct inside a function")]

pub mod action_check;
pub mod action_check_state;
pub mod cluster_connect_project;
mod columns;
pub mod connect_project;
pub mod connector_configuration;
pub mod connector_deployment;
pub mod connector_deployment_status;
pub mod connector_staged;
pub mod connector_staged_state;
pub mod connector_staged_status;
pub mod duration;
pub mod frontend;
pub mod generate;
pub mod outputs;
pub mod policies;
pub mod schema;
pub mod shared;
pub mod state;
pub mod verify;

pub use action_check::*;
pub use action_check_state::*;
pub use cluster_connect_project::*;
pub use connect_project::*;
pub use connector_configuration::*;
pub use connector_deployment::*;
pub use connector_deployment_status::*;
pub use connector_staged::*;
pub use connector_staged_state::*;
pub use connector_staged_status::*;
pub use duration::parse_duration;
pub use frontend::*;
pub use generate::{all, resources, yaml};
pub use outputs::*;
pub use policies::*;
pub use shared::*;
pub use verify::*;
