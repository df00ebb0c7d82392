//! The outcome of a build, computed from the connector and its values (contract section 7): pure.
//!
//! It depends on missing and empty required values, on values that the connector does not allow, and on scripts. A
//! failed build ends as `Failed`; a failed script does not (contract section 15.2).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::connector::{Builds, ConnectorDefinition, Scripts};
use super::values::Values;
use connect_api::model::{ApplicationType, DeploymentStatus, EntryType, ReportEntry};

/// Observed titles of entries about `postDeploy` scripts (contract section 15.2).
const SCRIPT_FAILED: &str = "Failed during the execution of 'postDeploy' script";
const SCRIPT_MISSING: &str = "Script for \"postDeploy\" not defined";
const SCRIPTS_DONE: &str = "Post-deployment setup succeeded";
/// Title of every entry about a failed build.
const BUILD_FAILED: &str = "Application build failed";
/// Title of every entry about a missing or empty value.
const VALUE_MISSING: &str = "Required configuration value is missing";

/// A planned outcome of a build, or of another operation with a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlannedOutcome {
    /// `true` ends as `Failed`, `false` as `Deployed`, or as the equivalents of another operation.
    #[serde(default)]
    pub fails: bool,
    /// Entries of the report.
    #[serde(default)]
    pub entries: Vec<PlannedEntry>,
}

/// An entry in the report of a planned outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlannedEntry {
    /// Severity.
    #[serde(rename = "type")]
    pub kind: EntryType,
    /// Short description.
    pub title: String,
    /// Details.
    #[serde(default)]
    pub message: Option<String>,
    /// Application that the entry is about.
    #[serde(default)]
    pub application: Option<String>,
}

impl PlannedOutcome {
    /// Returns a failure with one `Error` entry.
    pub fn failure(application: &str, title: &str, message: &str) -> Self {
        let entry = PlannedEntry {
            kind: EntryType::Error,
            title: title.to_owned(),
            message: Some(message.to_owned()),
            application: Some(application.to_owned()),
        };
        Self { fails: true, entries: vec![entry] }
    }
}

/// Returns the status and the report with which a build of these values ends.
pub(super) fn outcome(
    connector: &ConnectorDefinition,
    values: &Values,
    skip_scripts: bool,
    now: Timestamp,
) -> (DeploymentStatus, Vec<ReportEntry>) {
    let mut findings = missing_values(connector, values);
    findings.extend(wrong_schedules(connector, values));
    findings.extend(wrong_values(connector, values));
    if findings.is_empty() && connector.builds == Builds::Fail {
        let message = "npm run build ended with exit code 1.".to_owned();
        findings.push(finding(EntryType::Error, BUILD_FAILED, message, first_application(connector)));
    }
    let failed = !findings.is_empty();
    if !failed && !skip_scripts {
        findings = scripts(connector);
    }
    written(&PlannedOutcome { fails: failed, entries: findings }, now)
}

/// Converts a planned outcome to the status and report of a record.
pub(super) fn written(planned: &PlannedOutcome, now: Timestamp) -> (DeploymentStatus, Vec<ReportEntry>) {
    let entries = planned.entries.iter().map(|entry| ReportEntry {
        kind: entry.kind.clone(),
        title: entry.title.clone(),
        message: entry.message.clone(),
        application: entry.application.clone(),
        created_at: in_milliseconds(now),
    });
    (if planned.fails { DeploymentStatus::Failed } else { DeploymentStatus::Deployed }, entries.collect())
}

/// Formats a time as the service does: with milliseconds and `Z`.
pub(super) fn in_milliseconds(time: Timestamp) -> String {
    format!("{time:.3}")
}

fn finding(kind: EntryType, title: &str, message: String, application: Option<&str>) -> PlannedEntry {
    let application = application.map(str::to_owned);
    PlannedEntry { kind, title: title.to_owned(), message: Some(message), application }
}

/// Returns a finding for each required variable of an application without a value. Missing global values are refused
/// by the request itself (`checks.rs`).
fn missing_values(connector: &ConnectorDefinition, values: &Values) -> Vec<PlannedEntry> {
    let mut findings = Vec::new();
    for declared in &connector.configurations {
        let name = &declared.application_name;
        // An application that the create left out is not deployed, so it cannot fail.
        let Some(given) = values.application(name) else { continue };
        let mut missing = |kind: &str, key: &str, sent: bool| {
            let state = if sent { "is empty" } else { "was not given" };
            let message = format!("{kind} variable {key} of application {name} is required, but its value {state}.");
            findings.push(finding(EntryType::Error, VALUE_MISSING, message, Some(name)));
        };
        for variable in declared.standard_configuration.iter().filter(|variable| variable.required) {
            let value = given.values.plain(&variable.key);
            if value.or(variable.default.as_deref()).unwrap_or_default().is_empty() {
                missing("Plain", &variable.key, value.is_some());
            }
        }
        for variable in declared.secured_configuration.iter().filter(|variable| variable.required) {
            let value = given.values.secured(&variable.key);
            if value.is_none_or(|value| value.empty) {
                missing("Secured", &variable.key, value.is_some());
            }
        }
    }
    findings
}

/// Returns a finding for each schedule that does not have the five fields of a cron expression.
fn wrong_schedules(connector: &ConnectorDefinition, values: &Values) -> Vec<PlannedEntry> {
    let jobs = connector.configurations.iter().filter(|declared| declared.application_type == ApplicationType::Job);
    jobs.filter_map(|declared| {
        let name = &declared.application_name;
        let schedule = values.application(name)?.schedule.as_ref()?;
        (schedule.split_whitespace().count() != 5).then(|| {
            let message = format!("The schedule of application {name} must have five fields, as in `0 5 * * *`.");
            finding(EntryType::Error, "Schedule is not valid", message, Some(name))
        })
    })
    .collect()
}

/// Returns a finding for each plain value that the connector does not allow.
fn wrong_values(connector: &ConnectorDefinition, values: &Values) -> Vec<PlannedEntry> {
    let mut findings = Vec::new();
    for allowed in &connector.allowed_values {
        let (name, key) = (&allowed.application_name, &allowed.key);
        let default = connector.application(name).and_then(|declared| {
            declared.standard_configuration.iter().find(|variable| variable.key == *key)?.default.as_deref()
        });
        let Some(given) = values.application(name) else { continue };
        let Some(value) = given.values.plain(key).or(default) else { continue };
        if !allowed.one_of.iter().any(|one| one == value) {
            let message = format!("{key} of application {name} must be one of {}.", allowed.one_of.join(", "));
            findings.push(finding(EntryType::Error, BUILD_FAILED, message, Some(name)));
        }
    }
    findings
}

fn first_application(connector: &ConnectorDefinition) -> Option<&str> {
    connector.configurations.first().map(|declared| declared.application_name.as_str())
}

fn scripts(connector: &ConnectorDefinition) -> Vec<PlannedEntry> {
    let entry = |title: &str, application: Option<&str>| PlannedEntry {
        kind: EntryType::Information,
        title: title.to_owned(),
        message: None,
        application: application.map(str::to_owned),
    };
    match connector.scripts {
        Scripts::NotDefined => {
            let with_scripts =
                connector.configurations.iter().filter(|declared| declared.application_type != ApplicationType::Assets);
            with_scripts.map(|declared| entry(SCRIPT_MISSING, Some(&declared.application_name))).collect()
        }
        Scripts::Succeed | Scripts::FailSilently => vec![entry(SCRIPTS_DONE, None)],
        Scripts::Warn => {
            let message = "The script ended with exit code 1; the application runs.".to_owned();
            vec![finding(EntryType::Warning, SCRIPT_FAILED, message, first_application(connector))]
        }
    }
}
