//! Resources of the Connect API (contract section 4), as they stand in JSON.
//!
//! Reading is lenient (see [`super::lenient`]); what is written keeps the strict shape. Secured values are
//! [`SecretString`]s, so that neither `Debug` nor an error shows them. Next: [`super::api`] for what can be done.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::lenient::nullable;
use crate::open_enum;

open_enum! {
    /// Where a deployment is in its life (contract section 7).
    DeploymentStatus {
        /// Not described by the contract; idle and not live.
        Draft = "Draft",
        /// Waits for its turn.
        Queued = "Queued",
        /// Is being deployed.
        Deploying = "Deploying",
        /// Live.
        Deployed = "Deployed",
        /// Deploying did not work.
        Failed = "Failed",
        /// Is being taken down.
        Undeploying = "Undeploying",
        /// Taking it down did not work; something may still run.
        UndeployFailed = "UndeployFailed",
    }
}

impl DeploymentStatus {
    /// Whether something moves by itself, so that looking again makes sense and a redeploy is refused (contract
    /// section 7). A word that is not listed counts as busy: nothing may be concluded from it.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        match self {
            Self::Queued | Self::Deploying | Self::Undeploying | Self::Other(_) => true,
            Self::Draft | Self::Deployed | Self::Failed | Self::UndeployFailed => false,
        }
    }
}

open_enum! {
    /// Kind of a deployment (contract section 4.1).
    DeploymentType {
        /// Of a staged connector.
        Preview = "preview",
        /// Of a published connector, for trying.
        Sandbox = "sandbox",
        /// Of a published connector; the project must be marked as production.
        Production = "production",
    }
}

open_enum! {
    /// Weight of an entry of a report.
    EntryType {
        /// To know.
        Information = "Information",
        /// To look at.
        Warning = "Warning",
        /// The deployment broke off.
        Error = "Error",
    }
}

open_enum! {
    /// Kind of an application (contract section 4.1).
    ApplicationType {
        /// Answers over HTTP.
        Service = "service",
        /// Answers messages of a topic.
        Event = "event",
        /// Runs on a schedule.
        Job = "job",
        /// An application of the Merchant Center.
        MerchantCenterCustomApplication = "merchant-center-custom-application",
        /// A view of the Merchant Center.
        MerchantCenterCustomView = "merchant-center-custom-view",
        /// Static files.
        Assets = "assets",
    }
}

open_enum! {
    /// Weight of a log entry.
    LogSeverity {
        /// None was given.
        Default = "DEFAULT",
        /// For developers.
        Debug = "DEBUG",
        /// Routine.
        Info = "INFO",
        /// Normal but significant.
        Notice = "NOTICE",
        /// Might cause trouble.
        Warning = "WARNING",
        /// Likely causes trouble.
        Error = "ERROR",
        /// Causes severe trouble.
        Critical = "CRITICAL",
        /// A person must act at once.
        Alert = "ALERT",
        /// Unusable.
        Emergency = "EMERGENCY",
    }
}

open_enum! {
    /// Origin and form of a log entry.
    LogType {
        /// A request that was served.
        HttpRequest = "HTTP_REQUEST",
        /// A line of text.
        ApplicationText = "APPLICATION_TEXT",
        /// A JSON object.
        ApplicationJson = "APPLICATION_JSON",
    }
}

/// A plain value of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ConfigurationValue {
    /// Name of the variable.
    pub key: String,
    /// Its value.
    #[serde(default, deserialize_with = "nullable")]
    pub value: String,
}

/// A secured value of a configuration. What stands in a record is not the value (contract section 4.4).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SecuredValue {
    /// Name of the variable.
    pub key: String,
    /// Its value; sent in clear text, shown by nothing else.
    #[serde(default = "no_secret", serialize_with = "expose", deserialize_with = "secret_or_null")]
    pub value: SecretString,
}

fn no_secret() -> SecretString {
    SecretString::from(String::new())
}

fn expose<S: Serializer>(value: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(value.expose_secret())
}

fn secret_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SecretString, D::Error> {
    Ok(SecretString::from(nullable::<_, String>(deserializer)?))
}

/// Values of one application (contract section 4.4, `DeploymentConfigurationApplication`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationConfiguration {
    /// As in the connector.
    pub application_name: String,
    /// Plain values; the list is always sent.
    #[serde(default, deserialize_with = "nullable")]
    pub standard_configuration: Vec<ConfigurationValue>,
    /// Secured values; the list is always sent.
    #[serde(default, deserialize_with = "nullable")]
    pub secured_configuration: Vec<SecuredValue>,
    /// Cron expression of a job application instead of the one in its `connect.yaml`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
}

/// Values for all applications (contract section 4.4).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GlobalConfiguration {
    /// Plain values.
    #[serde(default, deserialize_with = "nullable")]
    pub standard_configuration: Vec<ConfigurationValue>,
    /// Secured values.
    #[serde(default, deserialize_with = "nullable")]
    pub secured_configuration: Vec<SecuredValue>,
}

/// Names a connector in a draft: `id` or `key` must be there (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorReference {
    /// Connector by id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Connector by key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The staged connector instead of the published one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged: Option<bool>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
}

/// What is sent to create a deployment (contract section 4.4).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentDraft {
    /// The user's own unique name; always sent by the operator (contract section 8.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Kind of deployment.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<DeploymentType>,
    /// What to deploy.
    pub connector: ConnectorReference,
    /// Values of each application; the list is always sent.
    pub configurations: Vec<ApplicationConfiguration>,
    /// Values for all applications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_configuration: Option<GlobalConfiguration>,
    /// Where to deploy.
    pub region: String,
}

/// The only update action of a deployment (contract section 6.1).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RedeployAction {
    /// Scripts do not run this time.
    #[serde(default, deserialize_with = "nullable")]
    pub skip_scripts: bool,
    /// New values; left out: the old ones stay. Whether a part merges is unspecified, so everything is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration_values: Option<Vec<ApplicationConfiguration>>,
    /// New values for all applications; left out: the old ones stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_configuration: Option<GlobalConfiguration>,
    /// Also move to the latest state of the connector.
    #[serde(default, deserialize_with = "nullable")]
    pub update_connector: bool,
}

/// An action of an update of a deployment; the member `action` tells which (contract section 6).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "camelCase")]
pub enum DeploymentUpdateAction {
    /// Deploys again.
    Redeploy(RedeployAction),
}

/// Update of a deployment (contract section 4.4).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeploymentUpdate {
    /// The version that the caller has seen.
    pub version: i64,
    /// The changes.
    pub actions: Vec<DeploymentUpdateAction>,
}

/// A deployment as the service shows it (contract section 4.4).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deployment {
    /// Unique id.
    pub id: String,
    /// The user's own unique name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Version now; goes into the next update. Compared for equality only (contract section 10).
    pub version: i64,
    /// Kind of deployment.
    #[serde(rename = "type", default = "sandbox")]
    pub kind: DeploymentType,
    /// What is deployed.
    #[serde(default, deserialize_with = "nullable")]
    pub connector: DeployedConnector,
    /// Values for all applications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_configuration: Option<GlobalConfiguration>,
    /// API client that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_client: Option<DeploymentApiClient>,
    /// Build and its outcome.
    #[serde(default, deserialize_with = "nullable")]
    pub details: DeploymentDetails,
    /// Where.
    #[serde(default, deserialize_with = "nullable")]
    pub deployed_region: String,
    /// Its applications.
    #[serde(default, deserialize_with = "nullable")]
    pub applications: Vec<ApplicationDeployment>,
    /// Is a preview.
    #[serde(default, deserialize_with = "nullable")]
    pub preview: bool,
    /// Where it is in its life.
    pub status: DeploymentStatus,
}

fn sandbox() -> DeploymentType {
    DeploymentType::Sandbox
}

impl Deployment {
    /// Id of the build run; absent before a build can exist (contract section 13, row 12).
    #[must_use]
    pub fn build_id(&self) -> Option<&str> {
        self.details.build.as_ref().map(|build| build.id.as_str()).filter(|id| !id.is_empty())
    }

    /// Findings of the last build, in the order of the service.
    #[must_use]
    pub fn report(&self) -> &[ReportEntry] {
        self.details.build.as_ref().and_then(|build| build.report.as_ref()).map_or(&[], |report| &report.entries)
    }
}

/// The connector inside a deployment (contract section 4.4).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeployedConnector {
    /// Id of the connector.
    #[serde(default, deserialize_with = "nullable")]
    pub id: String,
    /// Key of the connector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Version of the connector.
    #[serde(default, deserialize_with = "nullable")]
    pub version: i64,
    /// For people.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it integrates with.
    #[serde(default, deserialize_with = "nullable")]
    pub integration_types: Vec<String>,
    /// Who owns it.
    #[serde(default, deserialize_with = "nullable")]
    pub creator: Creator,
    /// Where its source is.
    #[serde(default, deserialize_with = "nullable")]
    pub repository: Repository,
    /// Variables that its applications want; absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configurations: Option<Vec<DeclaredApplication>>,
    /// Variables that all its applications want.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_configuration: Option<DeclaredGlobal>,
    /// Passed certification.
    #[serde(default, deserialize_with = "nullable")]
    pub certified: bool,
    /// Where it may be deployed; empty: anywhere.
    #[serde(default, deserialize_with = "nullable")]
    pub supported_regions: Vec<String>,
    /// Its documentation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
}

/// A published connector (contract section 4.2).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Connector {
    /// Unique id.
    pub id: String,
    /// The user's own unique name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Version now.
    pub version: i64,
    /// For people.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it integrates with.
    #[serde(default, deserialize_with = "nullable")]
    pub integration_types: Vec<String>,
    /// Who owns it.
    #[serde(default, deserialize_with = "nullable")]
    pub creator: Creator,
    /// Where its source is.
    #[serde(default, deserialize_with = "nullable")]
    pub repository: Repository,
    /// Variables that its applications want; absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configurations: Option<Vec<DeclaredApplication>>,
    /// Describes the API client whose credentials are generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_client: Option<ConnectorApiClient>,
    /// Only some projects may use it.
    #[serde(default, deserialize_with = "nullable")]
    pub private: bool,
    /// Variables that all its applications want.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_configuration: Option<DeclaredGlobal>,
    /// Where it may be deployed; empty: anywhere.
    #[serde(default, deserialize_with = "nullable")]
    pub supported_regions: Vec<String>,
    /// Passed certification.
    #[serde(default, deserialize_with = "nullable")]
    pub certified: bool,
    /// Its documentation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
}

/// Who owns a connector (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Creator {
    /// Person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Title of that person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Contact.
    #[serde(default, deserialize_with = "nullable")]
    pub email: String,
    /// Company.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub company: Option<String>,
    /// Logo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logo_url: Option<String>,
    /// People working on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_of_contributors: Option<i64>,
    /// Support site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support_url: Option<String>,
}

/// Where the source of a connector is (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Address.
    #[serde(default, deserialize_with = "nullable")]
    pub url: String,
    /// Git tag.
    #[serde(default, deserialize_with = "nullable")]
    pub tag: String,
}

/// Scopes of the API client that is generated (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectorApiClient {
    /// Its scopes.
    #[serde(default, deserialize_with = "nullable")]
    pub scopes: Vec<String>,
}

/// Variables that an application declares (contract section 4.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeclaredApplication {
    /// Application.
    pub application_name: String,
    /// Kind of application.
    #[serde(default = "service")]
    pub application_type: ApplicationType,
    /// Plain variables.
    #[serde(default, deserialize_with = "nullable")]
    pub standard_configuration: Vec<StandardKey>,
    /// Secured variables.
    #[serde(default, deserialize_with = "nullable")]
    pub secured_configuration: Vec<SecuredKey>,
}

fn service() -> ApplicationType {
    ApplicationType::Service
}

/// Variables that a connector declares for all its applications (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeclaredGlobal {
    /// Plain variables.
    #[serde(default, deserialize_with = "nullable")]
    pub standard_configuration: Vec<StandardKey>,
    /// Secured variables.
    #[serde(default, deserialize_with = "nullable")]
    pub secured_configuration: Vec<SecuredKey>,
}

/// Declaration of a plain variable (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandardKey {
    /// Variable.
    pub key: String,
    /// What it is for.
    #[serde(default, deserialize_with = "nullable")]
    pub description: String,
    /// Value if none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Must have a value.
    #[serde(default, deserialize_with = "nullable")]
    pub required: bool,
}

/// Declaration of a secured variable (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecuredKey {
    /// Variable.
    pub key: String,
    /// What it is for.
    #[serde(default, deserialize_with = "nullable")]
    pub description: String,
    /// Must have a value.
    #[serde(default, deserialize_with = "nullable")]
    pub required: bool,
}

/// API client of a deployment (contract section 4.4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentApiClient {
    /// Holds the client id, despite its name.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    /// Its scopes.
    #[serde(default, deserialize_with = "nullable")]
    pub scopes: Vec<String>,
}

/// An application of a deployment (contract section 4.4).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationDeployment {
    /// Unique id.
    #[serde(default, deserialize_with = "nullable")]
    pub id: String,
    /// As in `connect.yaml`.
    pub application_name: String,
    /// Plain values.
    #[serde(default, deserialize_with = "nullable")]
    pub standard_configuration: Vec<ConfigurationValue>,
    /// Secured values; what stands here is unspecified and never compared.
    #[serde(default, deserialize_with = "nullable")]
    pub secured_configuration: Vec<SecuredValue>,
    /// Address of a service, once deployed; may lack a scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Topic of an event application, once deployed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// Cron schedule of a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
}

/// Build of a deployment and its outcome (contract section 4.4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentDetails {
    /// The build; absent before one can exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
}

/// A build run (contract section 4.4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Id of the run.
    #[serde(default, deserialize_with = "nullable")]
    pub id: String,
    /// Its findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
}

/// Findings of a build (contract section 4.4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// In no particular order.
    #[serde(default, deserialize_with = "nullable")]
    pub entries: Vec<ReportEntry>,
}

/// A finding (contract section 4.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportEntry {
    /// Weight.
    #[serde(rename = "type", default = "information")]
    pub kind: EntryType,
    /// What, in short.
    #[serde(default, deserialize_with = "nullable")]
    pub title: String,
    /// What, in more words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Application that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// When, RFC 3339; kept as it came.
    #[serde(default, deserialize_with = "nullable")]
    pub created_at: String,
}

fn information() -> EntryType {
    EntryType::Information
}

/// A page of a list (contract section 3).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub struct Paged<T> {
    /// Largest size of this page.
    #[serde(default, deserialize_with = "nullable")]
    pub limit: i64,
    /// Results before this page.
    #[serde(default, deserialize_with = "nullable")]
    pub offset: i64,
    /// Results in this page.
    #[serde(default, deserialize_with = "nullable")]
    pub count: i64,
    /// Results in all pages.
    #[serde(default, deserialize_with = "nullable")]
    pub total: i64,
    /// This page.
    pub results: Vec<T>,
}

/// An entry of a log (contract section 4.5).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEntry {
    /// Origin and form.
    #[serde(rename = "type", default = "application_text")]
    pub kind: LogType,
    /// Deployment.
    #[serde(default, deserialize_with = "nullable")]
    pub deployment_id: String,
    /// Application.
    #[serde(default, deserialize_with = "nullable")]
    pub application_name: String,
    /// Weight.
    #[serde(default = "default_severity")]
    pub severity: LogSeverity,
    /// When, RFC 3339; kept as it came.
    #[serde(default, deserialize_with = "nullable")]
    pub timestamp: String,
    /// The entry itself, any JSON.
    #[serde(default)]
    pub details: serde_json::Value,
}

fn application_text() -> LogType {
    LogType::ApplicationText
}

fn default_severity() -> LogSeverity {
    LogSeverity::Default
}

/// A page of logs (contract section 4.5).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogPage {
    /// This page.
    #[serde(default, deserialize_with = "nullable")]
    pub data: Vec<LogEntry>,
    /// Token of the next page; absent, null or empty at the end (contract section 13, row 13).
    #[serde(default)]
    pub next: Option<String>,
}

/// Body of an error (contract section 8.1).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorResponse {
    /// The HTTP status again.
    #[serde(default, deserialize_with = "nullable")]
    pub status_code: u16,
    /// Text of the first error.
    #[serde(default, deserialize_with = "nullable")]
    pub message: String,
    /// All errors; may be missing.
    #[serde(default, deserialize_with = "nullable")]
    pub errors: Vec<ErrorObject>,
}

/// One of the errors of an answer (contract section 8.1).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorObject {
    /// For programs.
    pub code: super::ErrorCode,
    /// For people.
    #[serde(default, deserialize_with = "nullable")]
    pub message: String,
    /// Further members, which depend on the code.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}
