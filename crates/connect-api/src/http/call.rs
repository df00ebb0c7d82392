//! Sends one operation with a valid token and evaluates the response.

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use jiff::Timestamp;
use reqwest::{Body, Request};
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;

use super::HttpConnect;
use super::answer::{self, Grant};
use super::wire::{Reply, held_back};
use crate::api::PageRequest;
use crate::error::{ApiError, ErrorCode, Failure, Reaction};
use crate::mask::Masker;
use crate::model::Paged;
use crate::routes::{CONNECTOR_SEARCH, CONNECTORS_STAGED, KEY_PREFIX};

/// Query parameters, in the order in which they are sent.
pub type Query = Vec<(&'static str, String)>;

/// One operation, ready to be sent; an attempt does not consume it.
pub(super) struct Call<'a> {
    pub(super) operation: &'static str,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: Query,
    pub(super) body: Option<Vec<u8>>,
    /// Secured values in the body, to be masked in the response.
    pub(super) secrets: Vec<&'a str>,
    pub(super) send_before: Option<Timestamp>,
    pub(super) largest_body: usize,
    /// Whether nothing else depends on the call: a pause that its response asks for affects only its caller.
    pub(super) optional: bool,
    /// Whether the caller accepts that the resource does not exist.
    pub(super) may_be_absent: bool,
}

impl HttpConnect {
    /// Sends a call, and sends it once more if the token was refused.
    async fn call(&self, call: &Call<'_>) -> Result<Reply, ApiError> {
        let of_call = |error| ApiError { operation: call.operation, ..error };
        let mut refused = false;
        loop {
            // First the token, then the rate limiter, so that waiting for a token does not use up a permit. Then the
            // token again, because it may have expired while the call waited for the rate limiter.
            self.tokens.get().await.map_err(of_call)?;
            let asked = self.clock.elapsed();
            self.wire.pace.turn().await.map_err(|left| held_back(call.operation, left))?;
            self.wire.observer().waited(self.clock.elapsed().saturating_sub(asked));
            let token = self.tokens.get().await.map_err(of_call)?;
            match self.attempt(call, &token).await {
                Err(error) if !refused && needs_token(&error) => {
                    refused = true;
                    self.tokens.reject(&token);
                }
                outcome => return outcome,
            }
        }
    }

    async fn attempt(&self, call: &Call<'_>, token: &Grant) -> Result<Reply, ApiError> {
        let Call { operation, send_before, largest_body, optional, .. } = *call;
        let request = self.request(call, token)?;
        let masker = || {
            let own = self.tokens.secrets().into_iter().chain([token.value.expose_secret()]);
            Masker::new(own.chain(call.secrets.iter().copied()))
        };
        let reply = self.wire.exchange(operation, request, send_before, largest_body, optional, masker).await?;
        if reply.status.is_success() {
            return Ok(reply);
        }
        let answer::Refusal { codes, message } =
            answer::refusal(reply.status, &reply.body, call.may_be_absent, &masker());
        Err(ApiError {
            operation,
            failure: Failure::Answered { status: reply.status.as_u16(), codes },
            message,
            correlation_id: Some(reply.correlation_id.clone()),
            retry_after: reply.retry_after,
        })
    }

    fn request(&self, call: &Call<'_>, token: &Grant) -> Result<Request, ApiError> {
        // Without an id or key, the path would be the path of the list.
        let named = !call.path.ends_with('/') && !call.path.ends_with(&format!("/{KEY_PREFIX}"));
        // With the ids `search` and `drafts`, the path would be the path of a list. No connector can have these ids.
        let listed = [CONNECTOR_SEARCH, CONNECTORS_STAGED].contains(&call.path.as_str());
        let named = named && !(listed && call.operation == "getConnectorById");
        let url = named.then(|| self.settings.api_url.at(&call.path)).flatten();
        let mut url = url.ok_or_else(|| {
            let why = "project, id or key is empty or cannot be part of a path";
            ApiError::of(call.operation, Failure::NotSent, why)
        })?;
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&call.query);
        }
        let mut request = Request::new(call.method.clone(), url);
        request.headers_mut().insert(AUTHORIZATION, token.authorization.clone());
        if let Some(body) = &call.body {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            *request.body_mut() = Some(Body::from(body.clone()));
        }
        Ok(request)
    }

    /// Sends a call whose resource must exist.
    pub(super) async fn one<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, ApiError> {
        self.call(&call).await?.read(|body| serde_json::from_slice(body))
    }

    /// Sends a call whose resource may be absent.
    pub(super) async fn maybe<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<Option<T>, ApiError> {
        match self.one(Call { may_be_absent: true, ..call }).await {
            Err(error) if error.status() == Some(404) && error.code() == Some(&ErrorCode::ResourceNotFound) => Ok(None),
            outcome => outcome.map(Some),
        }
    }

    /// Reads one page of a list, and logs the records that were omitted.
    pub(super) async fn listed<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        mut query: Query,
        request: PageRequest,
    ) -> Result<Paged<T>, ApiError> {
        query.extend([("limit", request.limit.to_string()), ("offset", request.offset.to_string())]);
        let largest_body = self.settings.limits.page_body;
        let reply = self.call(&Call { query, largest_body, ..self.get(operation, "") }).await?;
        let (page, left_out) = reply.read(answer::paged)?;
        if left_out > 0 {
            tracing::warn!(operation, left_out, "omitted records of a page that cannot be decoded or are too many");
        }
        Ok(page)
    }
}

/// Returns whether a call was refused because of its token, so that it had no other effect.
fn needs_token(error: &ApiError) -> bool {
    let status = error.status().unwrap_or_default();
    status == StatusCode::UNAUTHORIZED.as_u16() || (status < 500 && error.reaction() == Reaction::Token)
}
