//! Controllers, a folder for each kind, and what they share.

pub mod action_check;
pub mod action_factory;
pub mod alarms;
pub mod conditions;
pub mod connect_factory;
pub mod connect_project;
pub mod connector_deployment;
pub mod context;
pub mod digest;
pub mod digest_key;
pub mod events;
pub mod keys;
pub mod manager;
pub mod patch;
pub mod problem;
pub mod reason;
pub mod references;
pub mod remote;
pub mod secret;
pub mod served_crds;
pub mod subject;
pub mod values;
