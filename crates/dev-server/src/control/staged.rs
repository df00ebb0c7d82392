//! Staged connectors as someone else, or whoever certifies, would change them.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use super::{Answer, bad, ok, read, saved};
use crate::http::Shared;
use crate::input;
use crate::staged::Outcomes;
use connect_api::Selector;
use connect_api::model::{ConnectorStatus, ConnectorUpdate};

/// What happens to a staged connector.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Act {
    /// How what runs ends, or what comes next.
    Plan { outcomes: Outcomes },
    /// What runs ends now: a preview request, publishing, a certification.
    Finish,
    /// A remark from certification.
    Comment { user_id: String, comment: String },
    /// Someone else changes it.
    Update { actions: serde_json::Value },
    /// It is gone at once.
    Remove,
    /// The version grows.
    BumpVersion,
    /// Any status, also one that the contract does not list.
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
            // Read like the body of a request, in the version that the connector has.
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
