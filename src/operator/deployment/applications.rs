//! Which applications a call has to name, and which ones a deployment lacks (contract sections 4.4 and 6.1). Pure.
//!
//! A create names every application that the connector declares, because one that is left out is never deployed and
//! cannot be added later. A redeploy names those that the deployment has. A redeploy that moves to a newer version of
//! the connector also names those that this version adds.

use std::collections::BTreeSet;

use connect_api::model::{ApplicationType, Deployment, DeploymentStatus};

use super::decide::CallKind;
use super::declared::Declared;
use crate::operator::values::Values;

/// Returns the applications that the connector of a deployment declares and that the deployment lacks, because it was
/// created without them.
///
/// The record need not list such an application; if it does, the application has no URL. Only services can be
/// recognized by a missing URL: service is the only type for which the API reference promises one, and if no service of
/// a deployment has a URL, its record shows no URLs at all.
pub fn missing(record: &Deployment) -> BTreeSet<String> {
    let declared = record.connector.configurations.as_deref().unwrap_or_default();
    // The record of a busy deployment is not complete yet, and one that lists no applications proves nothing.
    if record.status.is_busy() || record.applications.is_empty() {
        return BTreeSet::new();
    }
    let url = |name: &str| {
        let listed = record.applications.iter().find(|application| application.application_name == name)?;
        Some(listed.url.is_some())
    };
    let service = |kind: &ApplicationType| *kind == ApplicationType::Service;
    let shows_urls = record.status == DeploymentStatus::Deployed
        && declared.iter().any(|it| service(&it.application_type) && url(&it.application_name) == Some(true));
    let lacks = declared.iter().filter(|it| match url(&it.application_name) {
        None => true,
        Some(has_url) => shows_urls && service(&it.application_type) && !has_url,
    });
    lacks.map(|it| it.application_name.clone()).collect()
}

/// Returns the values with each application that the call has to name, and no other. `declared`: what
/// the connector declares in the version that will run; `record`: the deployment before the call.
pub fn named(values: &Values, call: CallKind, declared: Option<&Declared>, record: Option<&Deployment>) -> Values {
    let declared = || declared.into_iter().flat_map(|declared| declared.applications.keys().cloned());
    let given = || values.applications.iter().cloned();
    let names = match (call, record) {
        (CallKind::Redeploy, Some(record)) if !record.applications.is_empty() => {
            let lacks = missing(record);
            let has = record.applications.iter().map(|application| application.application_name.clone());
            has.filter(|name| !lacks.contains(name)).collect()
        }
        (CallKind::Redeploy | CallKind::Move, Some(record)) => {
            let lacks = missing(record);
            declared().chain(given()).filter(|name| !lacks.contains(name)).collect()
        }
        (CallKind::Create | CallKind::Redeploy | CallKind::Move, _) => declared().chain(given()).collect(),
        (CallKind::Undeploy | CallKind::Recreate, _) => BTreeSet::new(),
    };
    Values { applications: names, ..values.clone() }
}

/// Returns the condition message for a deployment that lacks applications.
pub fn message(missing: &BTreeSet<String>) -> String {
    let names = missing.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    format!(
        "The deployment lacks applications that its connector declares: {names}. It was created without them, and no \
         redeploy can add them: delete this resource and create it again, which changes its URLs"
    )
}
