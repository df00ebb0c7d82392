//! Validation of a create or a redeploy: the mistakes that the API refuses immediately (contract sections 5.3 and 7).
//!
//! Pure checks. Each returns every error that it finds, so that one answer reports them all. Missing and empty values
//! of applications are not checked here: such a deployment is accepted, and its build fails (`build.rs`).

use std::collections::BTreeSet;

use super::catalogue::Project;
use super::connector::ConnectorDefinition;
use super::logs::LogQuery;
use super::record::Record;
use super::refusal::{ErrorObject, Refusal, cut, error, with_details};
use super::retry_policy::wrong_retry_policy;
use super::values::Values;
use super::variant::{AddedApplications, Logs, UnknownProject};
use connect_api::ErrorCode;
use connect_api::model::{
    ApplicationConfiguration, ApplicationType, DeclaredApplication, DeclaredGlobal, DeploymentStatus, DeploymentType,
    GlobalConfiguration, IsPreviewable, RetryPolicy,
};

/// Returns the type of the deployment.
///
/// # Errors
/// `ConnectorStagedNotPreviewable`, `DeploymentInvalidType`, `DeploymentProductionDeactivated`.
pub(super) fn deployment_type(
    asked: Option<&DeploymentType>,
    connector: &ConnectorDefinition,
    project: &Project,
) -> Result<DeploymentType, ErrorObject> {
    let invalid = |text: &str| Err(error(ErrorCode::DeploymentInvalidType, text));
    if connector.staged {
        if connector.is_previewable != IsPreviewable::Yes {
            let text = format!("The staged connector '{}' is not previewable.", connector.key);
            return Err(error(ErrorCode::ConnectorStagedNotPreviewable, text));
        }
        return match asked {
            None | Some(DeploymentType::Preview) => Ok(DeploymentType::Preview),
            Some(_) => invalid("A staged connector can be deployed with the type preview only."),
        };
    }
    match asked {
        None | Some(DeploymentType::Sandbox) => Ok(DeploymentType::Sandbox),
        Some(DeploymentType::Production) if project.production => Ok(DeploymentType::Production),
        Some(DeploymentType::Production) => Err(error(
            ErrorCode::DeploymentProductionDeactivated,
            format!("Production deployments are not activated for the project '{}'.", project.key),
        )),
        Some(DeploymentType::Preview | DeploymentType::Other(_)) => {
            invalid("A published connector can be deployed with the types sandbox and production only.")
        }
    }
}

/// Checks the region of the deployment: `DeploymentUnsupportedRegion`.
pub(super) fn region(region: &str, connector: &ConnectorDefinition) -> Option<ErrorObject> {
    (!connector.supports(region)).then(|| {
        let text = format!("The connector '{}' cannot be deployed in the region '{}'.", connector.key, cut(region));
        error(ErrorCode::DeploymentUnsupportedRegion, text)
    })
}

/// The deployment that a redeploy changes.
#[derive(Clone, Copy)]
pub(super) struct Deployed<'a> {
    /// The record before the redeploy.
    pub(super) old: &'a Record,
    /// What happens to applications that a newer connector adds.
    pub(super) added: AddedApplications,
}

impl Deployed<'_> {
    /// Whether a redeploy may name this application, which the connector now declares: the deployment has the
    /// application already, or the previous version of the connector did not declare it and the variant accepts it.
    fn takes(self, name: &str) -> bool {
        let added = self.old.connector.application(name).is_none();
        self.old.values.application(name).is_some() || (added && self.added == AddedApplications::Accept)
    }
}

/// Checks the names of applications and variables that were sent. `deployed` is `None` for a create.
pub(super) fn names(
    sent: &[ApplicationConfiguration],
    connector: &ConnectorDefinition,
    deployed: Option<Deployed<'_>>,
) -> Vec<ErrorObject> {
    if sent.is_empty() && (deployed.is_some() || !connector.configurations.is_empty()) {
        return vec![error(ErrorCode::DeploymentApplicationRequired, "At least one application is required.")];
    }
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for application in sent {
        let name = &application.application_name;
        if !seen.insert(name) {
            errors.push(twice(&format!("application '{}'", cut(name))));
        }
        let Some(declared) = connector.application(name) else {
            let belongs = deployed.is_none_or(|deployed| deployed.old.connector.application(name).is_some());
            errors.push(unknown_application(name, belongs));
            continue;
        };
        if deployed.is_some_and(|deployed| !deployed.takes(name)) {
            errors.push(unknown_application(name, false));
            continue;
        }
        if application.schedule.is_some() && declared.application_type != ApplicationType::Job {
            let text = format!("Application '{name}' is not a job, so it cannot have a schedule.");
            errors.push(with_details(
                ErrorCode::InvalidJsonInput,
                "Request body does not have the expected form.",
                &text,
            ));
        }
        errors.extend(application.retry_policy.as_ref().and_then(|policy| retry_policy(policy, declared)));
        let standard = declared.standard_configuration.iter().map(|variable| variable.key.as_str()).collect();
        let secured = declared.secured_configuration.iter().map(|variable| variable.key.as_str()).collect();
        let unknown = |kind: &str, key: &str| {
            let text = format!("Application '{name}' has no {kind} configuration key '{}'.", cut(key));
            error(ErrorCode::DeploymentUnknownApplicationConfigurationKey, text)
        };
        let plain = application.standard_configuration.iter().map(|value| value.key.as_str());
        errors.extend(keys(plain, &standard, "standard", &unknown));
        let secret = application.secured_configuration.iter().map(|value| value.key.as_str());
        errors.extend(keys(secret, &secured, "secured", &unknown));
    }
    errors
}

/// Checks a retry policy that was sent: `DeploymentRetryPolicyOverrideNotAllowed`, `DeploymentInvalidRetryPolicy`.
fn retry_policy(policy: &RetryPolicy, declared: &DeclaredApplication) -> Option<ErrorObject> {
    let name = &declared.application_name;
    if declared.application_type != ApplicationType::Event {
        let text = format!("Application '{name}' is not an event application, so it cannot have a retry policy.");
        return Some(error(ErrorCode::DeploymentRetryPolicyOverrideNotAllowed, text));
    }
    let wrong = wrong_retry_policy(policy).into_iter().next();
    wrong.map(|(member, what)| {
        let text = format!("The retry policy of application '{name}' is not valid: {member} {what}.");
        error(ErrorCode::DeploymentInvalidRetryPolicy, text)
    })
}

fn unknown_application(name: &str, belongs: bool) -> ErrorObject {
    let name = cut(name);
    if belongs {
        let text = format!("The connector has no application '{name}'.");
        error(ErrorCode::DeploymentUnknownApplicationConfiguration, text)
    } else {
        let text = format!("The deployment does not include the application '{name}'.");
        error(ErrorCode::DeploymentApplicationDoNotBelong, text)
    }
}

/// Checks the names of global variables that were sent.
pub(super) fn global_names(sent: Option<&GlobalConfiguration>, declared: Option<&DeclaredGlobal>) -> Vec<ErrorObject> {
    let Some(sent) = sent else { return Vec::new() };
    let nothing = DeclaredGlobal::default();
    let declared = declared.unwrap_or(&nothing);
    let standard = declared.standard_configuration.iter().map(|variable| variable.key.as_str()).collect();
    let secured = declared.secured_configuration.iter().map(|variable| variable.key.as_str()).collect();
    let unknown = |kind: &str, key: &str| {
        let text = format!("The connector has no {kind} global configuration key '{}'.", cut(key));
        error(ErrorCode::DeploymentUnknownGlobalConfigurationKey, text)
    };
    let plain = sent.standard_configuration.iter().map(|value| value.key.as_str());
    let secret = sent.secured_configuration.iter().map(|value| value.key.as_str());
    let mut errors = keys(plain, &standard, "standard", &unknown);
    errors.extend(keys(secret, &secured, "secured", &unknown));
    errors
}

fn keys<'a>(
    sent: impl Iterator<Item = &'a str>,
    declared: &BTreeSet<&str>,
    kind: &str,
    unknown: &dyn Fn(&str, &str) -> ErrorObject,
) -> Vec<ErrorObject> {
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for key in sent {
        if !declared.contains(key) {
            errors.push(unknown(kind, key));
        } else if !seen.insert(key) {
            errors.push(twice(&format!("{kind} configuration key '{key}'")));
        }
    }
    errors
}

fn twice(what: &str) -> ErrorObject {
    let text = format!("The {what} appears twice.");
    with_details(ErrorCode::InvalidJsonInput, "Request body does not have the expected form.", &text)
}

/// Checks the required global variables in the values that the deployment would have.
pub(super) fn global_values(values: &Values, declared: Option<&DeclaredGlobal>) -> Vec<ErrorObject> {
    let Some(declared) = declared else { return Vec::new() };
    let global = values.global.as_ref();
    let missing = |kind: &str, key: &str| {
        let text = format!("The required {kind} global configuration key '{key}' is missing.");
        error(ErrorCode::DeploymentMissingGlobalConfigurationKey, text)
    };
    let empty = |kind: &str, key: &str| {
        let text = format!("The required {kind} global configuration key '{key}' has an empty value.");
        error(ErrorCode::DeploymentEmptyRequiredGlobalConfigurationKey, text)
    };
    let mut errors = Vec::new();
    for variable in declared.standard_configuration.iter().filter(|variable| variable.required) {
        match global.and_then(|global| global.plain(&variable.key)).or(variable.default.as_deref()) {
            None => errors.push(missing("standard", &variable.key)),
            Some("") => errors.push(empty("standard", &variable.key)),
            Some(_) => {}
        }
    }
    for variable in declared.secured_configuration.iter().filter(|variable| variable.required) {
        match global.and_then(|global| global.secured(&variable.key)) {
            None => errors.push(missing("secured", &variable.key)),
            Some(value) if value.empty => errors.push(empty("secured", &variable.key)),
            Some(_) => {}
        }
    }
    errors
}

/// Checks the application of a log query: `DeploymentApplicationDoesNotExist`, `DeploymentLogMissingApplicationName`.
pub(super) fn log_question(query: &LogQuery, connector: &ConnectorDefinition, region: &str) -> Result<(), Refusal> {
    match &query.application_name {
        Some(name) if connector.application(name).is_none() => Err(Refusal::new(
            ErrorCode::DeploymentApplicationDoesNotExist,
            format!("The connector has no application '{}'.", cut(name)),
        )),
        // The provider is the last part of a region (contract section 1).
        None if region.rsplit('.').next() == Some("aws") => Err(Refusal::new(
            ErrorCode::DeploymentLogMissingApplicationName,
            "Logs of a deployment on AWS need applicationName.",
        )),
        _ => Ok(()),
    }
}

/// Checks whether the log endpoints still exist (contract section 3).
pub(super) fn logs_are_served(logs: Logs) -> Result<(), Refusal> {
    let (status, code) = match logs {
        Logs::Served => return Ok(()),
        Logs::BadRequest => (400, ErrorCode::InvalidPathParam),
        Logs::NotFound => (404, ErrorCode::ResourceNotFound),
        Logs::Gone => (410, ErrorCode::ResourceNotFound),
        Logs::Broken => (500, ErrorCode::General),
    };
    let text = "Logs of deployments are not available here any more.";
    Err(Refusal { status, ..Refusal::with_details(code, text, text) })
}

/// Checks whether the server answers for a project that the catalogue does not list.
pub(super) fn unknown_project_is_served(choice: UnknownProject, key: &str) -> Result<(), Refusal> {
    let code = match choice {
        UnknownProject::Served => return Ok(()),
        UnknownProject::Invalid => ErrorCode::InvalidPathParam,
        UnknownProject::Forbidden => ErrorCode::AuthorizationError,
        UnknownProject::NotFound => ErrorCode::ResourceNotFound,
    };
    let text = format!("There is no project {} with Connect.", cut(key));
    Err(Refusal::with_details(code, &text, &text))
}

/// Returns the refusal of a redeploy while the deployment is busy.
pub(super) fn busy(status: &DeploymentStatus) -> Refusal {
    let text = format!("Already {}.", status.as_str().to_lowercase());
    Refusal::new(ErrorCode::DeploymentInvalidStatusTransition, text)
}
