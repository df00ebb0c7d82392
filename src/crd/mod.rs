//! What people write into the cluster and what the operator answers there: the kinds, their schemas and their columns.
//!
//! The schema is the first to judge a manifest: what it can refuse, no controller has to. Its field docs are what
//! `kubectl explain` prints, so they speak to the person who types it. Nothing here does IO or knows the remote API;
//! no field can carry the clear text of a secured value. Next: a file for each kind, [`shared`] for what they have in
//! common, [`schema`] for what the derives leave to do; `controllers/` for what is done with it.

#![allow(clippy::doc_markdown, reason = "the docs of fields are what kubectl explain prints, as plain text")]
#![allow(clippy::duplicated_attributes, reason = "several printer columns have the same type")]
#![allow(unreachable_pub, reason = "the KubeSchema derive repeats each public struct inside a function")]

pub mod action_check;
pub mod action_check_expect;
pub mod connect_project;
pub mod connector;
pub mod connector_configuration;
pub mod connector_deployment;
pub mod connector_deployment_status;
pub mod connector_staged;
pub mod connector_staged_status;
pub mod duration;
pub mod frontend;
pub mod outputs;
pub mod schema;
pub mod shared;
pub mod verify;

pub use action_check::{
    ActionCheck, ActionCheckMethod, ActionCheckSpec, ActionCheckStatus, ActionName, After, CheckOutcome, CheckedFor,
    HeaderFrom,
};
pub use action_check_expect::{BodyAssertion, Expectation, HeaderAssertion};
pub use connect_project::{
    ConnectProject, ConnectProjectSpec, ConnectProjectStatus, CredentialsRef, DeploymentPaths, MirrorStatus,
    RegistryMirror,
};
pub use connector::{Connector, ConnectorSpec, ConnectorStatus};
pub use connector_configuration::{
    ApplicationConfiguration, ApplicationUrl, ConfigMapSource, ConfigurationValues, RetryPolicy, RetryStrategy,
    SecretSource, SecuredValue, SecuredValueSource, StandardValue, StandardValueSource,
};
pub use connector_deployment::{
    AdoptionPolicy, ConnectorDeployment, ConnectorDeploymentSpec, DeletionPolicy, DeploymentType, Drift, DriftPolicy,
    IgnoredValue, ManagementPolicy, RemovedValues, UpdatePolicy, WantedConnector,
};
pub use connector_deployment_status::{
    Applied, ConnectorDeploymentStatus, DeployedApplication, DeployedConnector, Inputs, Operation, OperationState,
    OperationType, Outcome, ReportEntry, Source,
};
pub use connector_staged::{
    ConnectorStaged, ConnectorStagedSpec, Publish, PublishAfter, StagedCreator, StagedRepository,
};
pub use connector_staged_status::{
    CertificationComment, ConnectorStagedStatus, PreviewPermission, Publication, StagedApplication, StagedApplied,
    StagedDeployable, StagedOperation, StagedOperationType, StagedVariable,
};
pub use duration::{InvalidDuration, parse_duration};
pub use frontend::{Frontend, FrontendPreset};
pub use outputs::{Output, OutputConfigMap, OutputKey, Outputs};
pub use schema::{all, yaml};
pub use shared::{ConfigMapKeyRef, NamedRef, ProjectKind, ProjectRef, RemoteIdentity, SecretKeyRef};
pub use verify::{ReadyWhen, VerifiedResource, Verify};
