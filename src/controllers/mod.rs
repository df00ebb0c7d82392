//! Controllers, a folder for each kind, and what they share.

pub mod connector_deployment;
pub mod digest;
pub mod subject;
pub mod values;
