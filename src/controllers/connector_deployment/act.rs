//! Does what was decided: the one call that a run may send, and the metadata that we own.
//!
//! Decides nothing. What an answer means is for `decide::apply_response`.

use clock::later;
use connect_api::error::ErrorCode;
use connect_api::model::{
    ApplicationConfiguration, ConfigurationValue, Deployment, DeploymentDraft, GlobalConfiguration, RedeployAction,
    SecuredValue,
};
use connect_api::scopes::Right;
use connect_api::{ApiError, ConnectApi, Selector};
use jiff::Timestamp;

use super::decide::{Accepted, Call, CallKind, LIMIT, Response};
use super::intent::{self, Target};
use super::observe::phase;
use super::status::DesiredIdentity;
use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::driver::PersistedOperation;
use crate::controllers::operations::CallResult;
use crate::controllers::problem;
use crate::controllers::values::{ApplicationValues, Values};
use crate::crd::ConnectorDeployment;

/// What came of a call.
pub type Done = CallResult<Accepted, Deployment>;

/// A move to another version was rejected because it names an application that this version adds, which some services may
/// take and others not (contract section 6.1): the same call for the applications that the deployment has. Nothing has
/// happened yet, so it is not a second change.
#[must_use]
pub fn without_added(done: &Done, call: &CallKind) -> Option<CallKind> {
    let CallKind::Redeploy { id, version, update_connector: true } = call else { return None };
    let code = done.error.as_ref().and_then(ApiError::code);
    let added = done.response == Response::Refused && code == Some(&ErrorCode::DeploymentApplicationDoNotBelong);
    added.then(|| CallKind::Redeploy { id: id.clone(), version: *version, update_connector: false })
}

/// Sends the call that was decided on. `values`: what it carries; an undeploy needs none. `operation`: it is
/// persisted, and the call leaves within [`LIMIT`] of its start or not at all.
pub async fn send(
    api: &dyn ConnectApi,
    object: &ConnectorDeployment,
    wanted: &DesiredIdentity,
    target: Option<&Target>,
    call: &Call,
    values: &Values,
    operation: &PersistedOperation,
) -> Done {
    let send_before = later(operation.started_at(), LIMIT);
    let answer = match &call.kind {
        CallKind::Create { gone } => {
            let creation = Creation { object, wanted, target, values };
            return create(api, creation, gone.as_deref(), call.first, send_before).await;
        }
        CallKind::Redeploy { id, version, update_connector } => {
            let action = RedeployAction {
                skip_scripts: object.spec.skip_scripts,
                configuration_values: Some(applications(values)),
                global_configuration: Some(global(values)),
                update_connector: *update_connector,
            };
            api.redeploy(&Selector::Id(id.clone()), *version, &action, send_before).await
        }
        CallKind::Undeploy { id } | CallKind::Recreate { id } => {
            api.undeploy(&Selector::Id(id.clone()), send_before).await
        }
    };
    match answer {
        Ok(Some(record)) => accepted(record),
        Ok(None) => Done::without_record(Response::NotFound, None),
        Err(error) => Done::failed(error, false),
    }
}

/// What a draft is made of.
struct Creation<'a> {
    object: &'a ConnectorDeployment,
    wanted: &'a DesiredIdentity,
    target: Option<&'a Target>,
    values: &'a Values,
}

/// Rule 1: the key is looked up once more, then one POST.
async fn create(
    api: &dyn ConnectApi,
    creation: Creation<'_>,
    gone: Option<&str>,
    first: bool,
    send_before: Timestamp,
) -> Done {
    let Creation { object, wanted, target, values } = creation;
    let Some(connector) = target.map(Target::reference) else {
        return Done::without_record(Response::Retryable, None);
    };
    match api.deployment(&Selector::Key(wanted.key.clone())).await {
        Ok(Some(found)) if gone != Some(found.id.as_str()) => {
            // For an operation from before it may be ours: the next look decides.
            let answer = if first { Response::Duplicate } else { Response::Unknown };
            return Done::without_record(answer, None);
        }
        Ok(_) => {}
        // Nothing was sent yet in this attempt.
        Err(error) => return Done::without_record(Response::Retryable, Some(error)),
    }
    let draft = DeploymentDraft {
        key: Some(wanted.key.clone()),
        kind: Some(intent::kind(object).into()),
        connector,
        configurations: applications(values),
        global_configuration: Some(global(values)),
        region: wanted.region.clone(),
    };
    match api.create(&draft, send_before).await {
        Ok(record) => accepted(record),
        Err(error) => Done::failed(error, true),
    }
}

fn accepted(record: Deployment) -> Done {
    let response = Response::Accepted(Accepted { id: record.id.clone(), phase: phase(&record.status) });
    Done { response, record: Some(record), error: None }
}

/// What to tell people of a call that did not work. `suspects`: the rights whose lack explains a refusal, the likeliest
/// first; `project`: key of the remote project.
#[must_use]
pub fn condition(done: &Done, suspects: &[Right], project: &str) -> Option<ConditionUpdate> {
    problem::condition_of_call(done.error.as_ref()?, done.response == Response::Duplicate, suspects, project)
}

/// Rule 8: every value of every application.
fn applications(values: &Values) -> Vec<ApplicationConfiguration> {
    let configuration = |(name, application): (&String, &ApplicationValues)| ApplicationConfiguration {
        application_name: name.clone(),
        standard_configuration: standard(application),
        secured_configuration: secured(application),
        schedule: application.schedule.clone(),
        retry_policy: application.retry_policy.clone(),
    };
    values.applications.iter().map(configuration).collect()
}

/// Sent even if there is nothing: leaving it out would keep old values (contract section 6.1).
fn global(values: &Values) -> GlobalConfiguration {
    let global = &values.global;
    GlobalConfiguration { standard_configuration: standard(global), secured_configuration: secured(global) }
}

fn standard(values: &ApplicationValues) -> Vec<ConfigurationValue> {
    let value = |(key, value): (&String, &String)| ConfigurationValue { key: key.clone(), value: value.clone() };
    values.standard.iter().map(value).collect()
}

fn secured(values: &ApplicationValues) -> Vec<SecuredValue> {
    values.secured.iter().map(|(key, value)| SecuredValue { key: key.clone(), value: value.clone() }).collect()
}
