//! Access tokens by the client credentials grant (RFC 6749 section 4.4). However many calls wait, the client requests
//! only one token for each lifetime, and one more for each token that the API refused.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method};
use reqwest::{Body, Request};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::answer::{self, Grant};
use super::running;
use super::settings::Credentials;
use super::wire::{Reply, Wire};
use crate::error::{ApiError, Failure};
use crate::mask::Masker;
use crate::observer::TokenEnd;
use crate::text::has_invisible_ends;
use clock::Clock;

/// A token is renewed this long before it expires, or a tenth of its lifetime before, whichever is shorter.
const LARGEST_MARGIN: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
struct State {
    newest: Option<Arc<Grant>>,
    /// When the newest token is renewed, and until when it is used if it cannot be, as [`Clock::elapsed`] values.
    renew_at: Duration,
    expires_at: Duration,
    /// Number of renewals that have ended, and why the last one gave no token.
    renewals: u64,
    failed: Option<ApiError>,
}

/// The tokens of one API client.
#[derive(Debug)]
pub(super) struct Tokens {
    wire: Arc<Wire>,
    clock: Clock,
    endpoint: Url,
    credentials: Credentials,
    basic: SecretString,
    state: Mutex<State>,
    /// Held by the renewal in progress; every caller that needs a token waits for it.
    renewal: tokio::sync::Mutex<()>,
}

impl Tokens {
    pub(super) fn new(wire: Arc<Wire>, clock: Clock, endpoint: Url, credentials: Credentials) -> Self {
        // RFC 6749 section 2.3.1: both are form-encoded before they are joined with a colon.
        let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = format!("{}:{}", encode(&credentials.client_id), encode(credentials.client_secret.expose_secret()));
        let basic = SecretString::from(STANDARD.encode(pair));
        Self {
            wire,
            clock,
            endpoint,
            credentials,
            basic,
            state: Mutex::default(),
            renewal: tokio::sync::Mutex::default(),
        }
    }

    /// Returns a token that is not about to expire; requests a new one if necessary, unless a renewal that was waited for
    /// has failed.
    pub(super) async fn get(&self) -> Result<Arc<Grant>, ApiError> {
        let before = self.state().renewals;
        if let Some(token) = self.usable() {
            return Ok(token);
        }
        let _renewal = self.renewal.lock().await;
        if let Some(token) = self.usable() {
            return Ok(token);
        }
        let failed = Some(self.state()).filter(|state| state.renewals != before).and_then(|state| state.failed.clone());
        match failed {
            Some(error) => Err(error),
            None => self.settle(self.fetch().await),
        }
    }

    fn usable(&self) -> Option<Arc<Grant>> {
        let state = self.state();
        state.newest.clone().filter(|_| self.clock.elapsed() < state.renew_at)
    }

    /// Discards `token` because the API refused it. If many calls were refused with the same token, only the first call
    /// of this function has an effect.
    pub(super) fn reject(&self, token: &Arc<Grant>) {
        let mut state = self.state();
        if state.newest.as_ref().is_some_and(|newest| Arc::ptr_eq(newest, token)) {
            (state.renew_at, state.expires_at) = (Duration::ZERO, Duration::ZERO);
        }
    }

    /// Returns the scopes of the newest token; `None` before the first one.
    pub(super) fn scopes(&self) -> Option<Vec<String>> {
        self.state().newest.as_ref().map(|grant| grant.scopes.clone())
    }

    /// Returns the credentials that every masker has to hide, whatever the call.
    pub(super) fn secrets(&self) -> [&str; 2] {
        [self.credentials.client_secret.expose_secret(), self.basic.expose_secret()]
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the outcome of a renewal. If it failed while the old token is valid, that one is used until it expires.
    fn settle(&self, outcome: Result<Grant, ApiError>) -> Result<Arc<Grant>, ApiError> {
        let mut state = self.state();
        state.renewals += 1;
        state.failed = outcome.as_ref().err().cloned();
        let now = self.clock.elapsed();
        let grant = match outcome {
            Ok(grant) => Arc::new(grant),
            Err(error) if now >= state.expires_at || error.failure == Failure::CredentialsRefused => return Err(error),
            Err(error) => {
                state.renew_at = state.expires_at;
                return state.newest.clone().ok_or(error);
            }
        };
        state.expires_at = now.saturating_add(grant.life);
        state.renew_at = state.expires_at.saturating_sub(LARGEST_MARGIN.min(grant.life / 10));
        state.newest = Some(Arc::clone(&grant));
        Ok(grant)
    }

    async fn fetch(&self) -> Result<Grant, ApiError> {
        let masker = || self.masker();
        let reply =
            self.wire.exchange(running::TOKEN, self.request(), None, self.wire.limits.small_body, false, masker).await;
        let outcome = reply.and_then(|reply| self.read(&reply));
        self.wire.observer().token(match &outcome {
            Ok(_) => TokenEnd::Issued,
            Err(error) if error.failure == Failure::CredentialsRefused => TokenEnd::Refused,
            Err(_) => TokenEnd::Failed,
        });
        outcome.map_err(|error| ApiError {
            // Whatever the outcome of the token request, nothing was sent to the API.
            failure: if error.failure == Failure::NoAnswer { Failure::NotSent } else { error.failure },
            message: format!("token endpoint {}: {}", self.endpoint, error.message),
            ..error
        })
    }

    fn request(&self) -> Request {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        if let Some(scopes) = &self.credentials.scopes {
            form.append_pair("scope", scopes);
        }
        let mut request = Request::new(Method::POST, self.endpoint.clone());
        let authorization = HeaderValue::from_str(&format!("Basic {}", self.basic.expose_secret()))
            .expect("base64 consists of characters that a header may contain");
        request.headers_mut().insert(AUTHORIZATION, authorization);
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, form_type);
        *request.body_mut() = Some(Body::from(form.finish()));
        request
    }

    /// Parses a response of the token endpoint (RFC 6749 sections 5.1 and 5.2).
    fn read(&self, reply: &Reply) -> Result<Grant, ApiError> {
        let (status, body) = (reply.status, &reply.body);
        let (failure, message) = if status.is_success() {
            match answer::grant(body, self.credentials.scopes.as_deref()) {
                Some(grant) => return Ok(grant),
                None => (Failure::NotSent, "the response contains no bearer token".to_owned()),
            }
        } else {
            let refusal = answer::refusal(status, body, false, &self.masker());
            let message = format!("status {}: {}", status.as_u16(), refusal.message);
            if answer::refuses_a_grant(status, body) {
                (Failure::CredentialsRefused, self.hinted(message))
            } else {
                (Failure::NotSent, message)
            }
        };
        let correlation_id = Some(reply.correlation_id.clone());
        let retry_after = reply.retry_after;
        Err(ApiError { correlation_id, retry_after, ..ApiError::of(running::TOKEN, failure, message) })
    }

    /// Adds to a message which credentials have invisible characters at an end, which whoever wrote them did not see.
    fn hinted(&self, message: String) -> String {
        let Credentials { client_id, client_secret, scopes } = &self.credentials;
        let all = [
            ("client id", client_id.as_str()),
            ("client secret", client_secret.expose_secret()),
            ("scopes", scopes.as_deref().unwrap_or_default()),
        ];
        all.into_iter().filter(|(_, value)| has_invisible_ends(value)).fold(message, |message, (name, _)| {
            let message = message.trim_end_matches('.');
            format!("{message}. The {name} begins or ends with white space or another invisible character, which is sent with it")
        })
    }

    fn masker(&self) -> Masker {
        Masker::new(self.secrets())
    }
}
