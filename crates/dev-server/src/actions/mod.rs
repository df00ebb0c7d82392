//! Frontend actions (contract section 11): the built-in cart and the actions of a file.
//!
//! They share only the port with the Connect API: they need no token and have their own error format. Next: `cart.rs`
//! for the example of the contract, `file.rs` for user-defined actions, `request.rs` for what a request must contain.

mod cart;
mod file;
mod query;
mod request;
mod template;

use std::sync::{Mutex, PoisonError};

use axum::body::Body;
use axum::response::Response;
use http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{HeaderName, StatusCode};
use serde_json::{Value, json};

use self::cart::Carts;
pub use self::file::{ActionDefinition, ActionFile, ActionHeaders};
use self::request::Asked;
use super::action_route::ActionRoute;
use super::answers::json_answer;
use super::ids::Ids;

/// Session header of a frontend: each answer of the cart sends it, and the official client sends it back.
const SESSION: HeaderName = HeaderName::from_static("frontastic-session");
/// Id of a request, which the official client reads from each answer.
const REQUEST_ID: HeaderName = HeaderName::from_static("frontastic-request-id");

/// The available actions and their state.
#[derive(Debug)]
pub(super) struct Actions {
    file: ActionFile,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    ids: Ids,
    carts: Carts,
}

/// Why a call fails: status and message of an `ActionError`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unanswered {
    status: StatusCode,
    message: String,
    allowed: Option<String>,
}

impl Unanswered {
    fn bad(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into(), allowed: None }
    }
}

/// The answer of a built-in action.
struct Answered {
    status: StatusCode,
    body: Value,
    session: Option<String>,
}

impl Actions {
    pub(super) fn new(file: ActionFile, seed: Option<u64>) -> Self {
        Self { file, state: Mutex::new(State { ids: Ids::new(seed), carts: Carts::default() }) }
    }

    /// Removes all carts.
    pub(super) fn reset(&self) {
        self.state().carts = Carts::default();
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // A poisoned lock is safe to use: no change to a cart is visible half-done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a call of an action.
    pub(super) fn answer(&self, route: &ActionRoute, parts: &Parts, body: &[u8]) -> Response {
        let answered = Asked::read(route, parts, body).and_then(|asked| self.perform(&asked));
        let mut response = answered.unwrap_or_else(|refused| {
            let body = json!({"ok": false, "message": refused.message});
            let mut response = json_answer(refused.status, &body);
            if let Some(allowed) = refused.allowed.and_then(|text| HeaderValue::try_from(text).ok()) {
                response.headers_mut().insert(ALLOW, allowed);
            }
            response
        });
        let number = HeaderValue::try_from(self.state().ids.next()).expect("a UUID is ASCII");
        response.headers_mut().entry(REQUEST_ID).or_insert(number);
        response
    }

    fn perform(&self, asked: &Asked) -> Result<Response, Unanswered> {
        if let Some(defined) = self.file.find(&asked.namespace, &asked.name) {
            return defined.answer(asked);
        }
        let answered = match (asked.namespace.as_str(), asked.name.as_str(), asked.method) {
            ("cart", "addToCart", "POST" | "PUT") => self.add_to_cart(asked)?,
            ("cart", "getCart", "GET") => self.read_cart(asked)?,
            ("cart", "addToCart", _) => return Err(request::wrong_method("POST, PUT".to_owned())),
            ("cart", "getCart", _) => return Err(request::wrong_method("GET".to_owned())),
            (namespace, name, _) => {
                return Err(Unanswered::bad(format!("Action '{}' is not registered.", request::cut(namespace, name))));
            }
        };
        let mut response = json_answer(answered.status, &answered.body);
        if let Some(session) = answered.session.and_then(|session| HeaderValue::try_from(session).ok()) {
            response.headers_mut().insert(SESSION, session);
        }
        Ok(response)
    }

    fn add_to_cart(&self, asked: &Asked) -> Result<Answered, Unanswered> {
        let (sku, count) = cart::addition(asked.body.as_ref()).map_err(Unanswered::bad)?;
        let mut state = self.state();
        let State { ids, carts } = &mut *state;
        let cart = carts.of(asked.session(), asked.currency(), ids);
        cart.add(&sku, count, ids).map_err(Unanswered::bad)?;
        Ok(Answered { status: StatusCode::OK, body: cart.shown(), session: Some(cart.id.clone()) })
    }

    /// Reads a cart. A cart that the query names must exist; without a name, the call uses the cart of the session or
    /// creates an empty one.
    fn read_cart(&self, asked: &Asked) -> Result<Answered, Unanswered> {
        let mut state = self.state();
        let State { ids, carts } = &mut *state;
        if let Some(id) = asked.cart_id()
            && !carts.has(id)
        {
            let message = "There is no cart with this cartId.".to_owned();
            return Err(Unanswered { status: StatusCode::NOT_FOUND, message, allowed: None });
        }
        let cart = carts.of(asked.session(), asked.currency(), ids);
        Ok(Answered { status: StatusCode::OK, body: cart.shown(), session: Some(cart.id.clone()) })
    }
}

/// Answers with a text, unchanged.
fn text_answer(status: StatusCode, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
