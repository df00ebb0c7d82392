//! Controller of `ConnectorDeployment`.

pub mod decide;
pub mod ledger;
