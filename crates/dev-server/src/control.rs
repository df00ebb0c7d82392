//! The control API below `/_dev`, with `--control` only: faults, calls, clock, changes by others, reset.
//!
//! It needs no token and is not counted among the calls. Web pages of other sites are refused (`foreign.rs`), but do not
//! expose the listener to untrusted clients.

mod staged;

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::answers::json_answer;
use super::build::PlannedOutcome;
use super::connector::ConnectorDefinition;
use super::faults::Fault;
use super::logs::{LogSeverity, LogType};
use super::refusal::Refusal;
use super::resources::Creation;
use super::state::Shared;
use super::variant::{Variant, parse_duration};
use connect_api::ErrorCode;
use connect_api::commerce::ResourceKind;
use connect_api::model::{DeclaredApplication, DeclaredGlobal, DeploymentStatus, RedeployAction};

type Answer = Result<Response, Refusal>;

/// Returns the routes below `/_dev`.
pub(super) fn router() -> Router<Arc<Shared>> {
    Router::new()
        .route("/faults", get(list_faults).post(add_fault).delete(clear_faults))
        .route("/calls", get(list_calls).delete(clear_calls))
        .route("/clock", get(read_clock).post(step_clock))
        .route("/variant", get(read_variant).put(set_variant))
        .route("/tokens", axum::routing::delete(revoke_tokens))
        .route("/deployments", get(list_deployments))
        .route("/deployments/{id}", post(act))
        .route("/resources", get(list_resources).delete(remove_resource))
        .route("/connectors/{key}/versions", post(raise))
        .route("/staged", get(staged::list))
        .route("/staged/{id}", post(staged::act))
        .route("/reset", post(reset))
        .method_not_allowed_fallback(wrong_method)
}

fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| bad(&error.to_string()))
}

fn bad(details: &str) -> Refusal {
    Refusal::with_details(ErrorCode::InvalidJsonInput, details, details)
}

fn ok(body: &Value) -> Response {
    json_answer(StatusCode::OK, body)
}

async fn wrong_method() -> Refusal {
    let text = "The method is not allowed here.";
    Refusal { status: 405, ..Refusal::new(ErrorCode::ResourceNotFound, text) }
}

async fn list_faults(State(shared): State<Arc<Shared>>) -> Response {
    ok(&json!(shared.faults().set()))
}

async fn add_fault(State(shared): State<Arc<Shared>>, body: Bytes) -> Answer {
    let fault: Fault = read(&body)?;
    fault.check().map_err(|text| bad(&text))?;
    shared.faults().add(fault);
    Ok(json_answer(StatusCode::CREATED, &json!({})))
}

async fn clear_faults(State(shared): State<Arc<Shared>>) -> Response {
    shared.faults().replace(Vec::new());
    ok(&json!({}))
}

async fn list_calls(State(shared): State<Arc<Shared>>) -> Response {
    let calls = shared.calls();
    let kept: Vec<_> = calls.kept().collect();
    ok(&json!({"counts": calls.counts(), "calls": kept}))
}

async fn clear_calls(State(shared): State<Arc<Shared>>) -> Response {
    *shared.calls() = super::calls::Calls::default();
    ok(&json!({}))
}

async fn read_clock(State(shared): State<Arc<Shared>>) -> Response {
    ok(&json!({"now": shared.clock.now()}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// Duration such as `5s`.
    step: String,
}

async fn step_clock(State(shared): State<Arc<Shared>>, body: Bytes) -> Answer {
    let step: Step = read(&body)?;
    let by = parse_duration(&step.step).map_err(|text| bad(&text))?;
    let before = shared.clock.now();
    shared.clock.step(by);
    let now = shared.clock.now();
    // A system clock cannot be stepped: it has advanced only by the time since `before`.
    if now < clock::later(before, by) {
        return Err(bad("The system clock cannot be stepped; start the dev server with --stepped-clock."));
    }
    Ok(ok(&json!({"now": now})))
}

async fn read_variant(State(shared): State<Arc<Shared>>) -> Response {
    ok(&json!(shared.world().variant))
}

async fn set_variant(State(shared): State<Arc<Shared>>, body: Bytes) -> Answer {
    let variant: Variant = read(&body)?;
    shared.world().variant = variant;
    Ok(ok(&json!({})))
}

async fn revoke_tokens(State(shared): State<Arc<Shared>>) -> Response {
    shared.tokens().revoke();
    ok(&json!({}))
}

async fn list_deployments(State(shared): State<Arc<Shared>>) -> Response {
    let now = shared.clock.now();
    ok(&json!(shared.world().all(now)))
}

async fn reset(State(shared): State<Arc<Shared>>) -> Answer {
    shared.reset();
    saved(&shared).await
}

/// A change to a deployment by someone else, or by the platform.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "camelCase", deny_unknown_fields)]
enum Act {
    /// Plans the outcome of the running or next build.
    PlanOutcome { outcome: PlannedOutcome },
    /// Makes the running or next undeploy fail.
    FailUndeploy,
    /// Ends the running operation now.
    Finish,
    /// Redeploys, as someone else.
    Redeploy { redeploy: Option<RedeployAction> },
    /// Rolls back to the previous revision, as someone else.
    Rollback,
    /// Removes the deployment immediately.
    Remove,
    /// Increments the version.
    BumpVersion,
    /// Sets any status, even one that the contract does not list.
    SetStatus { status: DeploymentStatus },
    /// Plans what the scripts do with resources, from the running or next build on; null: as in the catalogue.
    PlanResources { creation: Option<Creation> },
    /// Runs the scripts again now, with this effect.
    CreateResources { creation: Creation },
    /// Writes a line to the log of an application.
    #[serde(rename_all = "camelCase")]
    WriteLog {
        application_name: String,
        severity: LogSeverity,
        text: String,
        #[serde(rename = "type")]
        kind: Option<LogType>,
    },
}

async fn act(State(shared): State<Arc<Shared>>, Path(id): Path<String>, body: Bytes) -> Answer {
    let act: Act = read(&body)?;
    let now = shared.clock.now();
    let done = {
        let mut world = shared.world();
        match act {
            Act::PlanOutcome { outcome } => world.plan_outcome(&id, outcome, now),
            Act::FailUndeploy => world.fail_undeploy(&id, now),
            Act::Finish => world.finish(&id, now),
            Act::Redeploy { redeploy } => world.redeploy_elsewhere(&id, &redeploy.unwrap_or_default(), now).map(|_| ()),
            Act::Rollback => world.rollback_elsewhere(&id, now).map(|_| ()),
            Act::Remove => world.remove(&id, now),
            Act::BumpVersion => world.bump_version(&id, now),
            Act::SetStatus { status } => world.set_status(&id, status, now),
            Act::PlanResources { creation } => world.plan_resources(&id, creation, now),
            Act::CreateResources { creation } => world.create_resources(&id, creation, now),
            Act::WriteLog { application_name, severity, text, kind } => {
                let kind = kind.unwrap_or(LogType::ApplicationText);
                world.write_log(&id, &application_name, kind, &severity, &text, now)
            }
        }
    };
    done?;
    saved(&shared).await
}

async fn list_resources(State(shared): State<Arc<Shared>>) -> Response {
    let now = shared.clock.now();
    ok(&json!(shared.world().resources(now)))
}

/// Identifies a resource to remove.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Removed {
    project: String,
    #[serde(rename = "type")]
    kind: ResourceKind,
    key: String,
}

async fn remove_resource(State(shared): State<Arc<Shared>>, body: Bytes) -> Answer {
    let Removed { project, kind, key } = read(&body)?;
    shared.world().remove_resource(&project, kind, &key)?;
    saved(&shared).await
}

/// Changes of a new version of a connector; by default only its number changes.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct NewVersion {
    staged: bool,
    configurations: Option<Vec<DeclaredApplication>>,
    global_configuration: Option<DeclaredGlobal>,
    supported_regions: Option<Vec<String>>,
}

async fn raise(State(shared): State<Arc<Shared>>, Path(key): Path<String>, body: Bytes) -> Answer {
    let new: NewVersion = if body.is_empty() { NewVersion::default() } else { read(&body)? };
    let staged = new.staged;
    let change = |connector: &mut ConnectorDefinition| {
        if let Some(configurations) = new.configurations {
            connector.configurations = configurations;
        }
        if new.global_configuration.is_some() {
            connector.global_configuration = new.global_configuration;
        }
        if let Some(regions) = new.supported_regions {
            connector.supported_regions = regions;
        }
    };
    let version = shared.world().raise_connector(&key, staged, change)?;
    saved(&shared).await?;
    Ok(json_answer(StatusCode::CREATED, &json!({"version": version})))
}

async fn saved(shared: &Shared) -> Answer {
    let saved = shared.save().await;
    saved.map_err(|error| Refusal::new(ErrorCode::General, error.to_string()))?;
    Ok(ok(&json!({})))
}
