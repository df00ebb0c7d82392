//! Resources of the Connect API (contract section 4), as they stand in JSON.
//!
//! Reading is lenient (see [`super::lenient`]); what is written keeps the strict shape. Secured values are
//! `SecretString`s, so that neither `Debug` nor an error shows them. Next: [`super::api`] for what can be done.

mod action;
mod commerce;
mod connector;
mod deployment;
mod draft;
mod failure;
mod page;
mod report;
mod staged;
mod staged_update;
mod values;
mod words;

pub use action::ActionError;
pub use commerce::{Destination, Extension, Subscription};
pub use connector::{
    Connector, ConnectorApiClient, Creator, DeclaredApplication, DeclaredGlobal, Repository, SecuredKey, StandardKey,
};
pub use deployment::{
    ApplicationDeployment, Build, DeployedConnector, Deployment, DeploymentApiClient, DeploymentDetails,
};
pub use draft::{ConnectorReference, DeploymentDraft, DeploymentUpdate, DeploymentUpdateAction, RedeployAction};
pub use failure::{ErrorObject, ErrorResponse};
pub use page::{LogEntry, LogPage, Paged};
pub use report::{Report, ReportEntry};
pub use staged::{CertificationInfo, CertificationInfoComment, ConnectorStaged, ConnectorStagedDraft};
pub use staged_update::{ConnectorUpdate, ConnectorUpdateAction, RepositoryChange};
pub use values::{ApplicationConfiguration, ConfigurationValue, GlobalConfiguration, RetryPolicy, SecuredValue};
pub use words::{
    ApplicationType, ConnectorStatus, DeploymentStatus, DeploymentType, EntryType, IntegrationType, IsPreviewable,
    LogSeverity, LogType,
};
