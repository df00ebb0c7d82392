//! Controller of `ConnectorDeployment`.

pub mod decide;
pub mod desired;
pub mod ledger;
pub mod status;
pub mod stored;
