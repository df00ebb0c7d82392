//! Connectors and staged connectors: checks rights, and reads the repositories that a request names before it calls the
//! world, which does no IO.

use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use jiff::Timestamp;

use crate::input;
use crate::path::StagedOperation;
use crate::query;
use crate::refusal::Refusal;
use crate::state::Shared;
use crate::tokens::Grant;
use crate::variant::DeleteNotFound;
use connect_api::Selector;
use connect_api::scopes::Right;

/// Reads a published connector.
pub(super) fn connector(
    shared: &Shared,
    selector: &Selector,
    grant: &Grant,
    now: Timestamp,
) -> Result<Response, Refusal> {
    let projects = grant.projects_with(Right::ViewConnectors)?;
    let found = shared.world().read_connector(&projects, selector, now)?;
    Ok(shared.shows(StatusCode::OK, &found))
}

/// Searches the published connectors.
pub(super) fn search(shared: &Shared, parts: &Parts, grant: &Grant, now: Timestamp) -> Result<Response, Refusal> {
    let projects = grant.projects_with(Right::ViewConnectors)?;
    let query = query::search(&parts.uri)?;
    let page = shared.world().search(&projects, &query, now);
    Ok(shared.shows(StatusCode::OK, &page))
}

/// Performs an operation on staged connectors.
pub(super) async fn staged(
    shared: &Shared,
    operation: &StagedOperation,
    parts: &Parts,
    body: &[u8],
    grant: &Grant,
    now: Timestamp,
) -> Result<Response, Refusal> {
    match operation {
        StagedOperation::List => {
            let projects = grant.projects_with(Right::ViewConnectors)?;
            let query = query::staged(&parts.uri)?;
            let page = shared.world().list_staged(&projects, &query, now);
            Ok(shared.shows(StatusCode::OK, &page))
        }
        StagedOperation::Read(selector) => {
            let projects = grant.projects_with(Right::ViewConnectors)?;
            let found = shared.world().read_staged(&projects, selector, now)?;
            Ok(shared.shows(StatusCode::OK, &found))
        }
        StagedOperation::Create => {
            let project = grant.project(None, Right::ManageConnectors)?;
            let draft = input::staged_draft(body)?;
            let found = shared.specifications(vec![draft.repository.clone()]).await;
            let created = shared.world().stage(&project, draft, &found, now)?;
            Ok(shared.shows(StatusCode::CREATED, &created))
        }
        StagedOperation::Update(selector) => {
            let projects = grant.projects_with(Right::ManageConnectors)?;
            let update = input::staged_update(body)?;
            let named = shared.world().repositories_of(selector, &update);
            let found = shared.specifications(named).await;
            let updated = shared.world().update_staged(&projects, selector, &update, &found, now)?;
            Ok(shared.shows(StatusCode::CREATED, &updated))
        }
        StagedOperation::Delete(selector) => {
            let projects = grant.projects_with(Right::ManageConnectors)?;
            let (deleted, not_found) = {
                let mut world = shared.world();
                (world.delete_staged(&projects, selector, now), world.variant.delete_not_found)
            };
            match deleted {
                Err(Refusal { status: 404, .. }) if not_found == DeleteNotFound::Empty => {
                    let mut empty = Response::new(Body::empty());
                    *empty.status_mut() = StatusCode::NOT_FOUND;
                    Ok(empty)
                }
                deleted => Ok(shared.shows(StatusCode::OK, &deleted?)),
            }
        }
    }
}
