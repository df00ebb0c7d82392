//! Sends one operation with a valid token and evaluates the response.

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use jiff::Timestamp;
use reqwest::{Body, Request};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::HttpConnect;
use super::answer::{self, LeftOut};
use super::token::Token;
use super::wire::{Lost, Reply};
use crate::error::{ApiError, Failure, Reaction};
use crate::mask::Masker;
use crate::observer::{Observer, RequestEnd, Unfinished};
use crate::routes::{CONNECTOR_SEARCH, CONNECTORS_STAGED, KEY_PREFIX};

/// One operation, ready to be sent; an attempt does not consume it.
pub(super) struct Call<'a> {
    pub(super) operation: &'static str,
    /// Notified how each request ended.
    pub(super) observer: &'a dyn Observer,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) body: Option<Vec<u8>>,
    /// Secured values in the body, to be masked in the response.
    pub(super) secrets: Vec<&'a str>,
    pub(super) send_before: Option<Timestamp>,
    pub(super) largest_body: usize,
    /// Whether nothing else depends on the call: a pause that its response asks for affects only its caller.
    pub(super) optional: bool,
    /// Whether the caller accepts that the resource does not exist; it does not use the text of such a response.
    pub(super) may_be_absent: bool,
}

/// The error of a failed call, and whether the service itself reported that the resource does not exist.
pub(super) struct Failed {
    pub(super) error: ApiError,
    pub(super) absent: bool,
}

impl HttpConnect {
    /// Sends a call, and sends it once more if the token was refused.
    pub(super) async fn call(&self, call: &Call<'_>) -> Result<Reply, Failed> {
        let lost = |lost: Lost| Failed::from_lost(call, lost);
        let mut refused = false;
        loop {
            // First the token, then the rate limiter, so that waiting for a token does not use up a permit. Then the
            // token again, because it may have expired while the call waited for the rate limiter.
            self.tokens.get().await.map_err(lost)?;
            let asked = self.clock.elapsed();
            self.wire.pace.turn().await.map_err(|left| lost(Lost::held_back(left)))?;
            call.observer.waited(self.clock.elapsed().saturating_sub(asked));
            let token = self.tokens.get().await.map_err(lost)?;
            match self.attempt(call, &token).await {
                Err(failed) if !refused && failed.needs_token() => {
                    refused = true;
                    self.tokens.reject(&token);
                }
                outcome => return outcome,
            }
        }
    }

    async fn attempt(&self, call: &Call<'_>, token: &Token) -> Result<Reply, Failed> {
        let request = self.request(call, token).map_err(|lost| Failed::from_lost(call, lost))?;
        let masker = || {
            let own = self.tokens.secrets().into_iter().chain([token.grant.value.expose_secret()]);
            Masker::new(own.chain(call.secrets.iter().copied()))
        };
        let start = self.clock.elapsed();
        let unfinished = Unfinished::start(call.observer, &self.clock, call.operation);
        let outcome = self
            .wire
            .exchange(call.operation, request, call.send_before, call.largest_body, call.optional, masker)
            .await;
        unfinished.finished();
        let duration_ms = u64::try_from(self.clock.elapsed().saturating_sub(start).as_millis()).unwrap_or(u64::MAX);
        let operation = call.operation;
        match outcome {
            Ok(reply) => {
                let (status, correlation_id) = (reply.status.as_u16(), &reply.correlation_id);
                tracing::debug!(operation, status, duration_ms, correlation_id, "the Connect API answered");
                if reply.status.is_success() {
                    // The code that decodes the body reports to the observer how the request ended.
                    return Ok(reply);
                }
                call.observer.request(operation, RequestEnd::Status(status), reply.duration);
                Err(Failed::from_reply(call, &reply, masker))
            }
            Err(lost) => {
                let correlation_id = &lost.correlation_id;
                tracing::debug!(operation, duration_ms, correlation_id, "the Connect API gave no answer");
                if let Some((end, duration)) = lost.ended {
                    call.observer.request(operation, end, duration);
                }
                Err(Failed::from_lost(call, lost))
            }
        }
    }

    fn request(&self, call: &Call<'_>, token: &Token) -> Result<Request, Lost> {
        // Without an id or key, the path would be the path of the list.
        let named = !call.path.ends_with('/') && !call.path.ends_with(&format!("/{KEY_PREFIX}"));
        // With the ids `search` and `drafts`, the path would be the path of a list. No connector can have these ids.
        let listed = [CONNECTOR_SEARCH, CONNECTORS_STAGED].contains(&call.path.as_str());
        let named = named && !(listed && call.operation == "getConnectorById");
        let url = named.then(|| self.settings.api_url.at(&call.path)).flatten();
        let mut url = url.ok_or_else(|| Lost::not_sent("project, id or key is empty or cannot be part of a path"))?;
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&call.query);
        }
        let mut request = Request::new(call.method.clone(), url);
        request.headers_mut().insert(AUTHORIZATION, token.grant.authorization.clone());
        if let Some(body) = &call.body {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            *request.body_mut() = Some(Body::from(body.clone()));
        }
        Ok(request)
    }

    /// Sends a call whose resource must exist.
    pub(super) async fn one<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, ApiError> {
        let reply = self.call(&call).await.map_err(|failed| failed.error)?;
        decode(&call, &reply)
    }

    /// Sends a call whose resource may be absent.
    pub(super) async fn maybe<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<Option<T>, ApiError> {
        let call = Call { may_be_absent: true, ..call };
        match self.call(&call).await {
            Ok(reply) => decode(&call, &reply).map(Some),
            Err(failed) if failed.absent => Ok(None),
            Err(failed) => Err(failed.error),
        }
    }
}

/// Decodes the body of a success.
pub(super) fn decode<'r, T: Deserialize<'r>>(call: &Call<'_>, reply: &'r Reply) -> Result<T, ApiError> {
    let read = serde_json::from_slice(&reply.body);
    observe(call, reply, read.is_ok());
    read.map_err(|error| unreadable(call, reply, &error))
}

/// Reports to the observer how a request with a success status ended.
fn observe(call: &Call<'_>, reply: &Reply, read: bool) {
    let end = if read { RequestEnd::Status(reply.status.as_u16()) } else { RequestEnd::Undecodable };
    call.observer.request(call.operation, end, reply.duration);
}

/// Builds the error for a body that cannot be decoded. It omits serde's message, because that quotes the body.
fn unreadable(call: &Call<'_>, reply: &Reply, error: &serde_json::Error) -> ApiError {
    ApiError {
        operation: call.operation,
        failure: Failure::Unreadable,
        message: format!(
            "status {} with {} bytes that do not match the contract ({:?} error at line {}, column {})",
            reply.status.as_u16(),
            reply.body.len(),
            error.classify(),
            error.line(),
            error.column(),
        ),
        correlation_id: Some(reply.correlation_id.clone()),
        retry_after: None,
    }
}

/// Returns the decodable part of a page, and logs the records that were omitted.
pub(super) fn page<T>(
    call: &Call<'_>,
    reply: &Reply,
    read: Result<(T, LeftOut), serde_json::Error>,
) -> Result<T, ApiError> {
    observe(call, reply, read.is_ok());
    let (page, left_out) = read.map_err(|error| unreadable(call, reply, &error))?;
    let LeftOut { count, ids } = left_out;
    if count > 0 {
        tracing::warn!(
            operation = call.operation,
            left_out = count,
            ids = ids.join(" "),
            "omitted records of a page that cannot be decoded or are too many"
        );
    }
    Ok(page)
}

impl Failed {
    fn from_lost(call: &Call<'_>, lost: Lost) -> Self {
        let Lost { failure, message, correlation_id, retry_after, ended: _ } = lost;
        Self {
            error: ApiError { operation: call.operation, failure, message, correlation_id, retry_after },
            absent: false,
        }
    }

    fn from_reply(call: &Call<'_>, reply: &Reply, masker: impl FnOnce() -> Masker) -> Self {
        let answer::Refusal { codes, message, absent } =
            answer::refusal(reply.status, &reply.body, call.may_be_absent, masker);
        let error = ApiError {
            operation: call.operation,
            failure: Failure::Answered { status: reply.status.as_u16(), codes },
            message,
            correlation_id: Some(reply.correlation_id.clone()),
            retry_after: reply.retry_after,
        };
        Self { error, absent }
    }

    /// Returns whether the call was refused because of its token, so that it had no other effect.
    fn needs_token(&self) -> bool {
        let status = self.error.status().unwrap_or_default();
        status == StatusCode::UNAUTHORIZED.as_u16() || (status < 500 && self.error.reaction() == Reaction::Token)
    }
}
