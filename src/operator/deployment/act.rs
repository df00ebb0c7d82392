//! Carries out a decision: sends the one call that a reconcile may send.
//!
//! Decides nothing. `decide::apply_response` concludes what a response means.

use clock::later;
use connect_api::api::PageRequest;
use connect_api::error::ErrorCode;
use connect_api::model::{
    ApplicationConfiguration, ConfigurationValue, Deployment, DeploymentDraft, GlobalConfiguration, RedeployAction,
    SecuredValue,
};
use connect_api::scopes::Right;
use connect_api::{ApiError, ConnectApi, Reaction, Selector};
use jiff::Timestamp;

use super::decide::{Accepted, CallKind, LIMIT, Response};
use super::intent::{self, Target};
use super::observe::phase;
use super::persisted::{Operation, PersistedState};
use super::state;
use super::status::DesiredIdentity;
use crate::crd::ConnectorDeployment;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::problem;
use crate::operator::values::Values;
use crate::operator::values::names::{GLOBAL, Item, Kind};

/// Proof that the API server stored an operation: what a call takes, so that none is sent without (rule 1).
#[derive(Debug)]
pub struct PersistedOperation {
    operation: Operation,
    /// Of the deployment; that of one that is known to be gone, which a stale read may still show, if it is created again.
    id: Option<String>,
}

impl PersistedOperation {
    /// The operation in `stored`, an object as the API server returned it; `None`: it has none.
    pub fn of(stored: &ConnectorDeployment) -> Option<Self> {
        let PersistedState { id, operation, .. } = state::shown(stored.status.as_ref()?);
        Some(Self { operation: operation?, id })
    }
}

/// The result of a call.
#[derive(Debug)]
pub struct Done {
    /// What it means.
    pub response: Response,
    /// The record in the response.
    pub record: Option<Deployment>,
    /// The error, if it was one.
    pub error: Option<ApiError>,
}

impl Done {
    /// The result of a call that failed.
    fn failed(error: ApiError) -> Self {
        Self { response: classify(&error), record: None, error: Some(error) }
    }

    /// The result of a call that was answered without a record, or not sent at all.
    fn without_record(response: Response, error: Option<ApiError>) -> Self {
        Self { response, record: None, error }
    }
}

/// Classifies an error by what it says about the change that was asked for; never as accepted.
fn classify(error: &ApiError) -> Response {
    match error.reaction_to_change() {
        Reaction::Fix | Reaction::Token => Response::Refused,
        Reaction::Retry | Reaction::Refetch | Reaction::Wait => Response::Retryable,
        Reaction::Gone => Response::NotFound,
        Reaction::Verify => Response::Unknown,
    }
}

/// Whether the service rejected a move because it names an application that the new version adds: some services take such
/// an application and others do not (contract section 6.1). The rejection proves that nothing has happened, so the same move
/// without it is not a second change.
pub fn rejects_added(done: &Done) -> bool {
    let code = done.error.as_ref().and_then(ApiError::code);
    done.response == Response::Refused && code == Some(&ErrorCode::DeploymentApplicationDoNotBelong)
}

/// Sends the call that was decided on. `values`: what it carries; an undeploy needs none. `operation`: it is
/// persisted, and the call leaves within [`LIMIT`] of its start or not at all.
pub async fn send(
    api: &dyn ConnectApi,
    object: &ConnectorDeployment,
    wanted: &DesiredIdentity,
    target: Option<&Target>,
    call: CallKind,
    values: &Values,
    operation: &PersistedOperation,
) -> Done {
    let PersistedOperation { operation, id } = operation;
    let send_before = later(operation.started_at, LIMIT);
    let selector = Selector::Id(id.clone().unwrap_or_default());
    let answer = match call {
        CallKind::Create => {
            let Some(connector) = target.map(Target::reference) else {
                return Done::without_record(Response::Retryable, None);
            };
            let draft = DeploymentDraft {
                key: Some(wanted.key.clone()),
                kind: Some(intent::kind(object).into()),
                connector,
                configurations: applications(values),
                global_configuration: Some(global(values)),
                region: wanted.region.clone(),
            };
            return create(api, &draft, &wanted.key, id.as_deref(), operation, send_before).await;
        }
        CallKind::Redeploy | CallKind::Move => {
            let action = RedeployAction {
                skip_scripts: object.spec.skip_scripts,
                configuration_values: Some(applications(values)),
                global_configuration: Some(global(values)),
                update_connector: call == CallKind::Move,
            };
            api.redeploy(&selector, operation.from_version.unwrap_or_default(), &action, send_before).await
        }
        CallKind::Undeploy | CallKind::Recreate => return undeploy(api, &selector, send_before).await,
    };
    match answer {
        Ok(Some(record)) => accepted(record),
        Ok(None) => Done::without_record(Response::NotFound, None),
        Err(error) => Done::failed(error),
    }
}

/// Sends a DELETE. Once it is accepted, the record is read at once: often it is gone already.
async fn undeploy(api: &dyn ConnectApi, selector: &Selector, send_before: Timestamp) -> Done {
    let record = match api.undeploy(selector, send_before).await {
        Ok(Some(record)) => record,
        // Only a project that answers proves that the deployment is gone (rule 5).
        Ok(None) => match api.deployments(PageRequest { limit: 1, offset: 0 }).await {
            Ok(_) => return Done::without_record(Response::NotFound, None),
            Err(error) => return Done::without_record(Response::Retryable, Some(error)),
        },
        Err(error) => return Done::failed(error),
    };
    match api.deployment(selector).await {
        Ok(None) => Done::without_record(Response::NotFound, None),
        Ok(Some(record)) => accepted(record),
        Err(_) => accepted(record),
    }
}

/// Rule 1: looks the key up once more, then sends one POST.
async fn create(
    api: &dyn ConnectApi,
    draft: &DeploymentDraft,
    key: &str,
    gone: Option<&str>,
    operation: &Operation,
    send_before: Timestamp,
) -> Done {
    match api.deployment(&Selector::Key(key.to_owned())).await {
        Ok(Some(found)) if gone != Some(found.id.as_str()) => {
            // A repeated create may find the deployment that an earlier attempt created: the next observation decides.
            let answer = if operation.is_first() { Response::Duplicate } else { Response::Unknown };
            return Done::without_record(answer, None);
        }
        Ok(_) => {}
        // This attempt has not sent anything yet.
        Err(error) => return Done::without_record(Response::Retryable, Some(error)),
    }
    match api.create(draft, send_before).await {
        Ok(record) => accepted(record),
        Err(error) => Done::failed(error),
    }
}

fn accepted(record: Deployment) -> Done {
    let response = Response::Accepted(Accepted { id: record.id.clone(), phase: phase(&record.status) });
    Done { response, record: Some(record), error: None }
}

/// Returns the condition for a call that failed; `None`: the failure passes by itself. `suspects`: the rights whose
/// lack explains a refusal, the likeliest first; `project`: key of the remote project.
pub fn condition(done: &Done, suspects: &[Right], project: &str) -> Option<ConditionUpdate> {
    let error = done.error.as_ref()?;
    // The next observation tells whose key it is.
    let key_exists = error.code() == Some(&ErrorCode::DuplicateField);
    problem::condition_of_call(error, key_exists, suspects, project)
}

/// Rule 8: returns every value of every application.
fn applications(values: &Values) -> Vec<ApplicationConfiguration> {
    let configuration = |name: &String| ApplicationConfiguration {
        application_name: name.clone(),
        standard_configuration: standard(values, name),
        secured_configuration: secured(values, name),
        schedule: values.visible.get(&Item::schedule(name)).cloned(),
        retry_policy: values.retry_policy(name),
    };
    values.applications.iter().map(configuration).collect()
}

/// Returns the global values. They are sent even if there are none: leaving them out would keep old values (contract
/// section 6.1).
fn global(values: &Values) -> GlobalConfiguration {
    let (standard_configuration, secured_configuration) = (standard(values, GLOBAL), secured(values, GLOBAL));
    GlobalConfiguration { standard_configuration, secured_configuration }
}

fn standard(values: &Values, application: &str) -> Vec<ConfigurationValue> {
    let own = |item: &Item| item.kind == Kind::Standard && item.application == application;
    let all = values.visible.iter().filter(|(item, _)| own(item));
    all.map(|(item, value)| ConfigurationValue { key: item.key.clone(), value: value.clone() }).collect()
}

fn secured(values: &Values, application: &str) -> Vec<SecuredValue> {
    let all = values.secured.iter().filter(|(item, _)| item.application == application);
    all.map(|(item, value)| SecuredValue { key: item.key.clone(), value: value.clone() }).collect()
}
