//! A local Connect API server, to try the operator with and to run tests against.
//!
//! A real server (HTTP, OAuth tokens, errors) in front of a pure state machine, [`world::World`]. It implements the
//! contract. A [`Variant`] chooses what the contract leaves open; [`Fault`]s make calls fail. The caller binds the
//! listener and owns the clock: a stepped clock advances only when it is stepped. The server does not depend on the
//! controllers. Next: `world.rs` for the state machine, `http.rs` for requests, `catalogue.yaml` for what can be deployed,
//! `openapi.yaml` for the answers.

mod action_route;
mod actions;
mod addresses;
mod answers;
mod applications;
mod build;
mod calls;
mod catalogue;
mod checks;
mod cli_credentials;
mod connection;
mod connector;
mod console;
mod control;
mod faults;
mod foreign;
mod history;
mod http;
mod ids;
mod input;
mod list;
mod logs;
mod names;
mod options;
mod path;
mod query;
mod record;
mod refusal;
mod repositories;
mod resources;
mod retry_policy;
mod server;
mod staged;
mod state;
mod state_file;
#[cfg(test)]
mod testing;
mod tokens;
mod values;
mod variant;
pub mod world;
mod yaml;

pub use actions::{ActionDefinition, ActionFile, ActionHeaders};
pub use applications::{local_url, parse_application};
pub use build::{PlannedEntry, PlannedOutcome};
pub use calls::{Answer, Asked, Call};
pub use catalogue::{Catalogue, CatalogueError, Client, Project};
pub use cli_credentials::CliCredentialsError;
pub use connector::{AllowedValues, Builds, ConnectorDefinition, Scripts};
pub use faults::{Fault, FaultAnswer, FaultEffect, FaultFile};
pub use history::{Happened, Moment};
pub use list::ListQuery;
pub use options::{DEPLOY_DURATION, Options, TOKEN_LIFETIME};
pub use refusal::{ErrorObject, ErrorResponse, Refusal};
pub use resources::{Creation, Resource, ScriptResource};
pub use server::{DESCRIPTION, DESCRIPTION_PATH, DevServer, DevServerError, run};
pub use staged::{KnownRepository, KnownTag, Outcomes, Specification};
pub use state_file::StateError;
pub use values::MASK;
pub use variant::{
    Absent, AddedApplications, BuildIds, Certification, CertifiedAgain, DeleteBusy, DeleteNotFound, FirstStatus,
    LeftOutApplications, Logs, NewDetails, NewTag, Normalise, Partial, PublishingCode, RepositoryCheck, Shown,
    StagedUpdates, UnknownProject, VARIANTS, ValuesShow, Variant, Versions, parse_duration,
};
pub use world::World;
