//! The console: a page for browsers that shows connectors, staged connectors, deployments, logs and recent calls.
//!
//! The page polls a [`Snapshot`]. It needs no token, so configuration values are left out. With `--control` it also has
//! switches, which call `/_dev`. Its requests are not counted among the calls, and faults do not affect them. Next:
//! `console/console.js` for the page, `world/overview.rs` for what it shows, `foreign.rs` for who may read it.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Path, Request, State};
use axum::response::Response;
use axum::routing::get;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, VARY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderName, HeaderValue, StatusCode};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use super::answers::json_answer;
use super::calls::Call;
use super::connection::Scissors;
use super::faults::Fault;
use super::http::answer;
use super::state::Shared;
use super::world::Overview;
use connect_api::routes::OPERATIONS;

const PAGE: &str = include_str!("console/index.html");
/// Path, media type and content of each file that the page loads.
const FILES: [(&str, &str, &str); 3] = [
    ("/_console/console.css", "text/css; charset=utf-8", include_str!("console/console.css")),
    ("/_console/console.js", "text/javascript; charset=utf-8", include_str!("console/console.js")),
    ("/_console/icon.svg", "image/svg+xml", include_str!("console/icon.svg")),
];
/// Number of calls and of lines of a log that the page shows: the last ones.
const SHOWN: usize = 100;

/// Headers of every response. The page runs its own script only, loads nothing from elsewhere, and cannot be framed.
const HEADERS: [(HeaderName, HeaderValue); 5] = [
    (
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    ),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (HeaderName::from_static("referrer-policy"), HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// What the page shows, as one JSON object.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Snapshot<'a> {
    now: Timestamp,
    /// Whether the switches work.
    control: bool,
    #[serde(flatten)]
    overview: Overview,
    /// Newest first.
    calls: Vec<&'a Call>,
    faults: &'a [Fault],
    /// What a fault can name.
    operations: &'a [&'a str],
}

/// Returns the routes below `/_console`.
pub(super) fn router() -> Router<Arc<Shared>> {
    let mut router = Router::new()
        .route("/_console/state", get(snapshot))
        .route("/_console/logs/{deployment}", get(deployment_logs));
    for (path, media_type, content) in FILES {
        router = router.route(path, get(move || async move { file(media_type, content) }));
    }
    router
}

/// Answers `GET /`: with the page to browsers, and to others as the API does.
pub(super) async fn root(shared: State<Arc<Shared>>, connection: ConnectInfo<Scissors>, request: Request) -> Response {
    let accepted = request.headers().get(ACCEPT).and_then(|accepted| accepted.to_str().ok());
    if !accepted.is_some_and(|accepted| accepted.contains("text/html")) {
        return answer(shared, connection, request).await;
    }
    let mut page = file("text/html; charset=utf-8", PAGE);
    page.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    page
}

async fn snapshot(State(shared): State<Arc<Shared>>) -> Response {
    let now = shared.clock.now();
    let overview = shared.world().overview(now);
    let (calls, faults) = (shared.calls(), shared.faults());
    with_headers(json_answer(
        StatusCode::OK,
        &Snapshot {
            now,
            control: shared.options.control,
            overview,
            calls: calls.kept().rev().take(SHOWN).collect(),
            faults: faults.set(),
            operations: &OPERATIONS,
        },
    ))
}

async fn deployment_logs(State(shared): State<Arc<Shared>>, Path(deployment): Path<String>) -> Response {
    let now = shared.clock.now();
    let lines = shared.world().log_tail(&deployment, SHOWN, now);
    with_headers(json_answer(StatusCode::OK, &json!({"lines": lines})))
}

fn file(media_type: &'static str, content: &'static str) -> Response {
    let mut response = Response::new(Body::from(content));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    with_headers(response)
}

fn with_headers(mut response: Response) -> Response {
    response.headers_mut().extend(HEADERS);
    response
}
