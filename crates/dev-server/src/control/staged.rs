//! Control of staged connectors: changes by someone else, or by the certification team.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use super::{Answer, bad, ok, read, saved};
use crate::input;
use crate::staged::Outcomes;
use crate::state::Shared;
use connect_api::Selector;
use connect_api::model::{ConnectorStatus, ConnectorUpdate};

/// A change to a staged connector.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Act {
    /// Plans the outcome of the running or next operation.
    Plan { outcomes: Outcomes },
    /// Ends what runs now: a preview request, publishing, a certification.
    Finish,
    /// Adds a comment of the certification.
    Comment { user_id: String, comment: String },
    /// Applies update actions, as someone else.
    Update { actions: serde_json::Value },
    /// Removes the connector immediately.
    Remove,
    /// Increments the version.
    BumpVersion,
    /// Sets any status, even one that the contract does not list.
    SetStatus { status: ConnectorStatus },
}

pub(super) async fn list(State(shared): State<Arc<Shared>>) -> Response {
    let now = shared.clock.now();
    ok(&json!(shared.world().all_staged(now)))
}

pub(super) async fn act(State(shared): State<Arc<Shared>>, Path(id): Path<String>, body: Bytes) -> Answer {
    let act: Act = read(&body)?;
    let now = shared.clock.now();
    match act {
        Act::Plan { outcomes } => shared.world().plan_staged(&id, outcomes, now)?,
        Act::Finish => shared.world().finish_staged(&id, now)?,
        Act::Comment { user_id, comment } => shared.world().comment_on_staged(&id, &user_id, &comment, now)?,
        Act::Update { actions } => {
            // Parsed like the body of a request, with the current version of the connector.
            let version = shared.world().staged_by_id(&id, now)?.version;
            let update = serde_json::to_vec(&json!({"version": version, "actions": actions}));
            let update: ConnectorUpdate = input::staged_update(&update.map_err(|error| bad(&error.to_string()))?)?;
            let selector = Selector::Id(id);
            let named = shared.world().repositories_of(&selector, &update);
            let found = shared.specifications(named).await;
            shared.world().update_staged_elsewhere(&selector, &update, &found, now)?;
        }
        Act::Remove => shared.world().remove_staged(&id, now)?,
        Act::BumpVersion => shared.world().bump_staged_version(&id, now)?,
        Act::SetStatus { status } => shared.world().set_staged_status(&id, status, now)?,
    }
    saved(&shared).await
}
