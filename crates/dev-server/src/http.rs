//! Request handling: finds the operation, applies a fault, checks the token, then calls the world.
//!
//! Logs one line for each request, with method, path, status and correlation id, never a query, header or body. Next:
//! `state.rs` for what requests share, `path.rs`, `tokens.rs`, `input.rs` and `query.rs` for the steps,
//! `http/registry.rs` for connectors, `control.rs` for `/_dev`, `console.rs` for the console.

mod registry;

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Form, FromRequest as _, Request, State};
use axum::response::{IntoResponse as _, Response};
use http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use jiff::Timestamp;
use serde::Serialize;

use super::answers;
use super::calls::{Answer, Asked, Call};
use super::connection::{Cut, Scissors};
use super::faults::{FaultAnswer, FaultEffect};
use super::input;
use super::path::{self, Operation, Route};
use super::query;
use super::refusal::Refusal;
use super::state::Shared;
use super::tokens::Grant;
use super::variant::Absent;
use clock::Clock;
use connect_api::ErrorCode;
use connect_api::commerce::ResourceKind;
use connect_api::scopes::Right;

/// Correlation id of a call: the one that the caller sent, or a new one.
const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");
/// Longest request body, in bytes: far more than 64 applications with 100 values need.
const LONGEST_BODY: usize = 32 * 1024 * 1024;

impl Shared {
    /// Sends a copy of an answer to the listener, if there is one.
    async fn heard(
        &self,
        operation: &'static str,
        method: Method,
        uri: &Uri,
        asked: Asked,
        response: Response,
    ) -> Response {
        let Some(listener) = self.listener() else { return response };
        let (head, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.expect("answers without a fault are made in memory");
        // The receiver may have been dropped.
        let _ = listener.send(Answer {
            operation,
            method: method.to_string(),
            target: uri.to_string(),
            asked,
            status: head.status.as_u16(),
            content_type: text_of(&head.headers, &CONTENT_TYPE).map(str::to_owned),
            body: bytes.to_vec(),
        });
        Response::from_parts(head, Body::from(bytes))
    }

    /// Builds a regular answer. If the variant says so, optional members without a value are null; addresses of
    /// applications under development point to the proxy.
    fn shows(&self, status: StatusCode, body: &impl Serialize) -> Response {
        let nulls = self.world().variant.absent == Absent::Null;
        if !nulls && self.applications.is_empty() {
            return answers::json_answer(status, body);
        }
        let mut body = serde_json::to_value(body).expect("types of the contract are JSON");
        if nulls {
            answers::add_nulls(&mut body);
        }
        self.applications.redirect(&mut body);
        answers::json_answer(status, &body)
    }

    fn token_for(&self, headers: &HeaderMap, form: &[(String, String)], now: Timestamp) -> Response {
        let authorization = text_of(headers, &AUTHORIZATION);
        let clients = self.world().catalogue().clients.clone();
        let lifetime = self.options.token_lifetime;
        answers::token(self.tokens().grant(&clients, authorization, form, lifetime, now))
    }
}

fn text_of<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// A call that is logged and counted when this is dropped, so also if the caller disconnects before the answer.
struct Arrived {
    shared: Arc<Shared>,
    call: Call,
    /// Measures its duration.
    since: Clock,
}

impl Drop for Arrived {
    fn drop(&mut self) {
        self.call.duration_ms = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let Call { method, path, status, correlation_id, .. } = &self.call;
        tracing::info!(method, path, status, correlation_id, "request");
        self.shared.calls().add(self.call.clone());
    }
}

/// Answers every request outside the console and `/_dev`.
pub(super) async fn answer(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(scissors): ConnectInfo<Scissors>,
    request: Request,
) -> Response {
    let (at, since) = (shared.clock.now(), Clock::system());
    let (parts, body) = request.into_parts();
    let correlation_id = text_of(&parts.headers, &CORRELATION_ID).filter(|id| !id.is_empty() && id.len() <= 256);
    let correlation_id = correlation_id.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned);
    let (method, path) = (parts.method.to_string(), parts.uri.path().to_owned());
    let user_agent = text_of(&parts.headers, &USER_AGENT).map(str::to_owned);

    let route = path::route(&method, &path);
    let operation = route.as_ref().map_or("none", Route::name);
    let call = Call { at, operation, method, path, status: 0, correlation_id, user_agent, duration_ms: 0 };
    let mut arrived = Arrived { shared: Arc::clone(&shared), call, since };
    let answered = match route {
        Ok(route) => with_faults(&shared, &route, parts, body).await,
        Err(reason) => {
            let (asked, answer) = (asked(&parts, &[]), answers::no_operation(reason));
            Ok(shared.heard(operation, parts.method, &parts.uri, asked, answer).await)
        }
    };
    arrived.call.status = answered.as_ref().map_or(0, |response| response.status().as_u16());
    let correlation_header = HeaderValue::try_from(&arrived.call.correlation_id);
    // Counted before the answer leaves, so that a caller that has the answer finds the call.
    drop(arrived);
    let mut response = answered.unwrap_or_else(|cut| {
        scissors.cut(cut);
        Response::new(Body::empty())
    });
    if let Ok(id) = correlation_header {
        response.headers_mut().insert(CORRELATION_ID, id);
    }
    response
}

/// Returns the regular answer or that of a fault; `Err` closes the connection without an answer.
async fn with_faults(shared: &Shared, route: &Route, parts: Parts, body: Body) -> Result<Response, Cut> {
    let (fault, mut replaced) = {
        let mut faults = shared.faults();
        (faults.take(route.name(), parts.uri.path()), faults.replaced())
    };
    let Some((effect, fault)) = fault else { return Ok(perform(shared, route, parts, body).await) };
    let delay = async {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(fault.delay_ms)) => {}
            _ = replaced.changed() => {}
        }
    };
    let right = match effect {
        FaultEffect::After => {
            let right = perform(shared, route, parts, body).await;
            delay.await;
            Some(right)
        }
        FaultEffect::Before => {
            // Reads the body nevertheless: closing a connection with unread bytes would cause a reset.
            let body = axum::body::to_bytes(body, LONGEST_BODY).await.unwrap_or_default();
            delay.await;
            if fault.is_right() { Some(perform(shared, route, parts, Body::from(body)).await) } else { None }
        }
    };
    match (&fault, right) {
        (FaultAnswer { drop: true, .. }, _) => Err(Cut::Closed),
        (FaultAnswer { reset: true, .. }, _) => Err(Cut::Reset),
        (fault, Some(right)) if fault.is_right() => Ok(answers::spoiled(right, fault)),
        (fault, _) => Ok(answers::spoiled(answers::faulty(fault), fault)),
    }
}

async fn perform(shared: &Shared, route: &Route, parts: Parts, body: Body) -> Response {
    let (method, uri) = (parts.method.clone(), parts.uri.clone());
    let body = axum::body::to_bytes(body, LONGEST_BODY).await.ok();
    let asked = asked(&parts, body.as_deref().unwrap_or_default());
    let response = right(shared, route, parts, body).await;
    shared.heard(route.name(), method, &uri, asked, response).await
}

fn asked(parts: &Parts, body: &[u8]) -> Asked {
    Asked {
        user_agent: text_of(&parts.headers, &USER_AGENT).map(str::to_owned),
        content_type: text_of(&parts.headers, &CONTENT_TYPE).map(str::to_owned),
        body: body.to_vec(),
    }
}

/// Answers without a fault. `body` is `None` if it could not be read.
async fn right(shared: &Shared, route: &Route, parts: Parts, body: Option<Bytes>) -> Response {
    let now = shared.clock.now();
    let Some(bytes) = body else {
        let mut refusal = Refusal::with_details(
            ErrorCode::InvalidJsonInput,
            "The body cannot be read.",
            &format!("It must be complete and have at most {LONGEST_BODY} bytes."),
        );
        refusal.status = 413;
        return refusal.into_response();
    };
    if let Route::Action(action) = route {
        return shared.actions.answer(action, &parts, &bytes);
    }
    let Route::Api(operation) = route else {
        let headers = parts.headers.clone();
        let form =
            Form::<Vec<(String, String)>>::from_request(Request::from_parts(parts, Body::from(bytes)), &()).await;
        return shared.token_for(&headers, &form.map(|Form(pairs)| pairs).unwrap_or_default(), now);
    };
    let Some(grant) = shared.tokens().check(text_of(&parts.headers, &AUTHORIZATION), now) else {
        return answers::invalid_token();
    };
    let answered = done(shared, operation, &parts, &bytes, &grant, now).await;
    if operation.changes()
        && answered.is_ok()
        && let Err(error) = shared.save().await
    {
        tracing::error!(%error, "the change was made, but not saved to the state file");
        return Refusal::new(ErrorCode::General, "The change was made, but could not be saved.").into_response();
    }
    answered.into_response()
}

/// Checks the right of the token, then performs the operation in the world.
async fn done(
    shared: &Shared,
    operation: &Operation,
    parts: &Parts,
    body: &[u8],
    grant: &Grant,
    now: Timestamp,
) -> Result<Response, Refusal> {
    // Locks the world, so it must not be called while the world is locked already.
    let served = |project: String| shared.world().is_served(&project).map(|()| project);
    let view = |project: &String| served(grant.project(Some(project), Right::ViewDeployments)?);
    let manage =
        |project: Option<&String>| served(grant.project(project.map(String::as_str), Right::ManageDeployments)?);
    let ok = StatusCode::OK;
    match operation {
        Operation::Connector(selector) => registry::connector(shared, selector, grant, now),
        Operation::Search => registry::search(shared, parts, grant, now),
        Operation::Staged(operation) => registry::staged(shared, operation, parts, body, grant, now).await,
        Operation::List { project } => {
            let project = view(project)?;
            let query = query::list(&parts.uri)?;
            let page = shared.world().list(&project, &query, now);
            Ok(shared.shows(ok, &page))
        }
        Operation::Read { project, selector } => {
            let project = view(project)?;
            let found = shared.world().read(&project, selector, now)?;
            Ok(shared.shows(ok, &found))
        }
        Operation::Logs { project, selector } => {
            let project = view(project)?;
            let query = query::logs(&parts.uri)?;
            let page = shared.world().logs(&project, selector, &query, now)?;
            Ok(answers::json_answer(ok, &page))
        }
        Operation::Revisions { project } => {
            view(project)?;
            Err(Refusal::new(ErrorCode::ResourceNotFound, "The dev server does not support revisions of deployments."))
        }
        Operation::Resource { project, name } => {
            let right = match name.kind {
                ResourceKind::Extension => Right::ReadExtensions,
                ResourceKind::Subscription => Right::ReadSubscriptions,
            };
            let project = grant.project(Some(project), right)?;
            let found = shared.world().resource(&project, name, now)?;
            Ok(answers::json_answer(ok, &found))
        }
        Operation::Create { project } => {
            let project = manage(project.as_ref())?;
            let draft = input::draft(body)?;
            let created =
                shared.world().create(&project, &draft, grant.allows(Right::GenerateApiClients, &project), now)?;
            Ok(shared.shows(StatusCode::CREATED, &created))
        }
        Operation::Redeploy { project, selector } => {
            let project = manage(project.as_ref())?;
            let update = input::update(body)?;
            let updated = shared.world().update(&project, selector, &update, now)?;
            Ok(shared.shows(StatusCode::CREATED, &updated))
        }
        Operation::Undeploy { project, selector } => {
            let project = manage(Some(project))?;
            let deleted = shared.world().undeploy(&project, selector, now)?;
            Ok(shared.shows(StatusCode::ACCEPTED, &deleted))
        }
    }
}
