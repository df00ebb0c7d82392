//! Resources of the Connect API (contract section 4) as written in JSON.
//!
//! Decoding is lenient (see [`super::lenient`]); encoding follows the strict form of the contract. Secured values are
//! `SecretString`s, so that neither `Debug` nor an error shows them. See [`super::api`] for the operations.

mod commerce;
mod connector;
mod deployment;
mod draft;
mod page;
mod report;
mod staged;
mod staged_update;
mod values;
mod words;

pub use commerce::Destination;
pub use connector::{
    Connector, ConnectorApiClient, Creator, DeclaredApplication, DeclaredGlobal, Repository, SecuredKey, StandardKey,
};
pub use deployment::{
    ApplicationDeployment, Build, DeployedConnector, Deployment, DeploymentApiClient, DeploymentDetails,
};
pub use draft::{ConnectorReference, DeploymentDraft, DeploymentUpdate, DeploymentUpdateAction, RedeployAction};
pub use page::Paged;
pub use report::{Report, ReportEntry};
pub use staged::{CertificationInfo, CertificationInfoComment, ConnectorStaged, ConnectorStagedDraft};
pub use staged_update::{ConnectorUpdate, ConnectorUpdateAction, RepositoryChange};
pub use values::{ApplicationConfiguration, ConfigurationValue, GlobalConfiguration, RetryPolicy, SecuredValue};
pub use words::{
    ApplicationType, ConnectorStatus, DeploymentStatus, DeploymentType, EntryType, IntegrationType, IsPreviewable,
};

/// The regions (contract section 1). Others may be added.
pub const REGIONS: [&str; 5] =
    ["europe-west1.gcp", "us-central1.gcp", "australia-southeast1.gcp", "us-east-2.aws", "eu-central-1.aws"];
