//! Resources of the Connect API (contract section 4), as they stand in JSON.
//!
//! Reading is lenient (see [`super::lenient`]); what is written keeps the strict shape. Secured values are
//! `SecretString`s, so that neither `Debug` nor an error shows them. Next: [`super::api`] for what can be done.

mod connector;
mod deployment;
mod draft;
mod failure;
mod page;
mod values;
mod words;

pub use connector::{
    Connector, ConnectorApiClient, Creator, DeclaredApplication, DeclaredGlobal, Repository, SecuredKey, StandardKey,
};
pub use deployment::{
    ApplicationDeployment, Build, DeployedConnector, Deployment, DeploymentApiClient, DeploymentDetails, Report,
    ReportEntry,
};
pub use draft::{ConnectorReference, DeploymentDraft, DeploymentUpdate, DeploymentUpdateAction, RedeployAction};
pub use failure::{ErrorObject, ErrorResponse};
pub use page::{LogEntry, LogPage, Paged};
pub use values::{ApplicationConfiguration, ConfigurationValue, GlobalConfiguration, SecuredValue};
pub use words::{ApplicationType, DeploymentStatus, DeploymentType, EntryType, LogSeverity, LogType};
