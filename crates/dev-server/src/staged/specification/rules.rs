//! Rules across several members of a `connect.yaml` (contract section 16, rules 1 to 6): pure.

use std::collections::BTreeSet;

use super::file::{Application, File, Variable, Variables};
use super::findings::Findings;
use crate::refusal::cut;
use connect_api::model::ApplicationType;

/// Variables that the service sets if it generates an API client (contract section 15.9).
const OF_API_CLIENT: [&str; 8] = [
    "CTP_CLIENT_ID",
    "CTP_CLIENT_SECRET",
    "CTP_PROJECT_KEY",
    "CTP_SCOPE",
    "CTP_API_URL",
    "CTP_AUTH_URL",
    "CTP_CLIENT_SCOPE",
    "CTP_CLIENT_REGION",
];
/// Variables that the service sets for scripts (contract section 15.9).
const OF_SCRIPTS: [&str; 5] = [
    "CONNECT_SERVICE_URL",
    "CONNECT_SUBSCRIPTION_DESTINATION",
    "CONNECT_GCP_TOPIC_NAME",
    "CONNECT_GCP_PROJECT_ID",
    "CONNECT_AWS_TOPIC_ARN",
];
/// Variable that Merchant Center applications and views need, of their own or inherited.
const CLOUD: &str = "CLOUD_IDENTIFIER";

/// Checks all rules.
pub(super) fn check(file: &File, findings: &mut Findings) {
    names_are_unique(file, findings);
    let everywhere = file.applications.iter().map(|application| &application.variables).chain(&file.inherited);
    for variables in everywhere.clone() {
        keys_are_unique(variables, findings);
    }
    inherited_keys_are_not_repeated(file, findings);
    for application in &file.applications {
        merchant_center(application, file.inherited.as_ref(), findings);
    }
    for variable in everywhere.flat_map(Variables::all) {
        not_set_by_the_service(variable, file.scopes.is_some(), findings);
    }
}

fn names_are_unique(file: &File, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for application in file.applications.iter().filter(|application| !application.name.is_empty()) {
        if !seen.insert(&application.name) {
            let what = format!("`{}` appears twice", cut(&application.name));
            findings.wrong(&application.path.join("name"), application.line, &what);
        }
    }
}

/// Rule 1: the keys of one configuration are unique.
fn keys_are_unique(variables: &Variables, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for variable in variables.all().filter(|variable| !seen.insert(&variable.key)) {
        findings.wrong(&variable.path, variable.line, &format!("`{}` appears twice", cut(&variable.key)));
    }
}

/// Rule 2: an application does not repeat an inherited key.
fn inherited_keys_are_not_repeated(file: &File, findings: &mut Findings) {
    let inherited: BTreeSet<_> = file.inherited.iter().flat_map(Variables::all).map(|variable| &variable.key).collect();
    for variable in file.applications.iter().flat_map(|application| application.variables.all()) {
        if inherited.contains(&variable.key) {
            let what = format!("`{}` is a key of inheritAs.configuration too", cut(&variable.key));
            findings.wrong(&variable.path, variable.line, &what);
        }
    }
}

/// Rules 3 to 5: the variables of Merchant Center applications and views.
fn merchant_center(application: &Application, inherited: Option<&Variables>, findings: &mut Findings) {
    let needed: &[&str] = match application.kind {
        ApplicationType::MerchantCenterCustomApplication => &["CUSTOM_APPLICATION_ID", "ENTRY_POINT_URI_PATH"],
        ApplicationType::MerchantCenterCustomView => &["CUSTOM_VIEW_ID"],
        _ => return,
    };
    let own = &application.variables;
    let place = application.path.join("configuration");
    for key in needed {
        if !own.plain.iter().any(|variable| variable.key == *key && variable.required) {
            let what = format!("the type {} must declare the plain variable {key}, required", application.kind);
            findings.wrong(&place, application.line, &what);
        }
    }
    let inherits = inherited.into_iter().flat_map(Variables::all).any(|one| one.key == CLOUD && one.required);
    let declares =
        own.plain.iter().any(|variable| variable.key == CLOUD && (variable.required || variable.default.is_some()));
    if !inherits && !declares {
        let what = format!(
            "the type {} needs the variable {CLOUD}: here, required or with a default, or in inheritAs.configuration, \
             required",
            application.kind
        );
        findings.wrong(&place, application.line, &what);
    }
    if let Some(first) = own.secured.first() {
        let what = format!("the type {} must not have secured variables of its own", application.kind);
        findings.wrong(&place.join("securedConfiguration"), first.line, &what);
    }
}

/// Rule 6: a variable does not have the name of one that the service sets. Without a generated API client, a connector
/// may declare the variables of [`OF_API_CLIENT`] itself.
fn not_set_by_the_service(variable: &Variable, has_api_client: bool, findings: &mut Findings) {
    let key = variable.key.as_str();
    if OF_SCRIPTS.contains(&key) || (has_api_client && OF_API_CLIENT.contains(&key)) {
        findings.wrong(&variable.path, variable.line, &format!("`{key}` is set by the service"));
    }
}
