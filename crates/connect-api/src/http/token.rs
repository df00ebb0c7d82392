//! Access tokens by the client credentials grant (RFC 6749 section 4.4). However many calls wait, the client requests
//! only one token for each lifetime, and one more for each token that the API refused.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method};
use reqwest::{Body, Request};
use secrecy::{ExposeSecret, SecretString};
use tracing::Instrument as _;
use url::Url;

use super::answer::{self, Grant};
use super::settings::Credentials;
use super::wire::{Lost, Reply, Wire};
use crate::error::Failure;
use crate::mask::Masker;
use crate::observer::TokenEnd;
use crate::text::invisible_ends;
use crate::trace;
use clock::Clock;

/// A token is renewed this long before it expires, or a tenth of its lifetime before, whichever is shorter.
const LARGEST_MARGIN: Duration = Duration::from_mins(1);
/// Maximum body of a token response, in bytes.
const LARGEST_ANSWER: usize = 256 << 10;

/// An access token.
pub(super) struct Token {
    /// Distinguishes tokens without comparing secrets.
    serial: u64,
    pub(super) grant: Grant,
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Token({})", self.serial)
    }
}

type Outcome = Result<Arc<Token>, Lost>;
type Renewal = Shared<BoxFuture<'static, Outcome>>;

#[derive(Debug)]
struct Current {
    token: Arc<Token>,
    /// Both as [`Clock::elapsed`] values.
    renew_at: Duration,
    expires_at: Duration,
}

#[derive(Default)]
struct State {
    current: Option<Current>,
    /// The renewal in progress; every caller that needs a token waits for it.
    renewal: Option<Renewal>,
    issued: u64,
    scopes: Option<Vec<String>>,
    /// Whether the token response named the scopes.
    named: bool,
}

/// The tokens of one API client.
pub(super) struct Tokens {
    wire: Arc<Wire>,
    clock: Clock,
    endpoint: Url,
    credentials: Credentials,
    basic: SecretString,
    state: Mutex<State>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Tokens({})", self.endpoint)
    }
}

impl Tokens {
    pub(super) fn new(wire: Arc<Wire>, clock: Clock, endpoint: Url, credentials: Credentials) -> Self {
        // RFC 6749 section 2.3.1: both are form-encoded before they are joined with a colon.
        let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = format!("{}:{}", encode(&credentials.client_id), encode(credentials.client_secret.expose_secret()));
        let basic = SecretString::from(STANDARD.encode(pair));
        Self { wire, clock, endpoint, credentials, basic, state: Mutex::default() }
    }

    /// Returns a token that is not about to expire; requests a new one if necessary.
    pub(super) async fn get(self: &Arc<Self>) -> Outcome {
        let renewal = {
            let mut state = self.state();
            if let Some(current) = state.current.as_ref().filter(|current| self.clock.elapsed() < current.renew_at) {
                return Ok(Arc::clone(&current.token));
            }
            // `settle` removes a renewal that completes. A completed one is still here only if its task was aborted.
            match state.renewal.as_ref().filter(|renewal| renewal.peek().is_none()) {
                Some(renewal) => renewal.clone(),
                None => state.renewal.insert(self.renewal()).clone(),
            }
        };
        renewal.await
    }

    /// Discards `token` because the API refused it. If many calls were refused with the same token, only the first call
    /// of this function has an effect.
    pub(super) fn reject(&self, token: &Token) {
        let mut state = self.state();
        if state.current.as_ref().is_some_and(|current| current.token.serial == token.serial) {
            state.current = None;
        }
    }

    /// Returns the scopes of the newest token; `None` before the first one.
    pub(super) fn scopes(&self) -> Option<Vec<String>> {
        self.state().scopes.clone()
    }

    /// Returns the scopes of the newest token if the token response named them.
    pub(super) fn granted(&self) -> Option<Vec<String>> {
        let state = self.state();
        state.scopes.clone().filter(|_| state.named)
    }

    /// Returns the credentials that every masker has to hide, whatever the call.
    pub(super) fn secrets(&self) -> [&str; 2] {
        [self.credentials.client_secret.expose_secret(), self.basic.expose_secret()]
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a renewal in a separate task, so that a caller that is dropped neither stops it for the other callers nor
    /// loses a token that was already issued.
    fn renewal(self: &Arc<Self>) -> Renewal {
        let tokens = Arc::clone(self);
        let fetching = async move {
            let outcome = tokens.fetch().await;
            tokens.settle(outcome)
        };
        // The task runs with the trace id of the first caller.
        let task = tokio::spawn(trace::carried(fetching).in_current_span());
        async move { task.await.unwrap_or_else(|_| Err(Lost::not_sent("the token request was aborted"))) }
            .boxed()
            .shared()
    }

    /// Stores the outcome of a renewal. If it failed while the old token is still valid, that token is used until it
    /// expires.
    fn settle(&self, outcome: Result<Grant, Lost>) -> Outcome {
        let mut state = self.state();
        state.renewal = None;
        let now = self.clock.elapsed();
        match outcome {
            Ok(grant) => {
                state.issued += 1;
                state.scopes = Some(grant.scopes.clone());
                state.named = grant.named;
                let expires_at = now.saturating_add(grant.life);
                let renew_at = expires_at.saturating_sub(LARGEST_MARGIN.min(grant.life / 10));
                let token = Arc::new(Token { serial: state.issued, grant });
                state.current = Some(Current { token: Arc::clone(&token), renew_at, expires_at });
                Ok(token)
            }
            Err(lost) => match &mut state.current {
                Some(old) if now < old.expires_at && lost.failure != Failure::CredentialsRefused => {
                    old.renew_at = old.expires_at;
                    Ok(Arc::clone(&old.token))
                }
                _ => Err(lost),
            },
        }
    }

    async fn fetch(&self) -> Result<Grant, Lost> {
        let reply = self.wire.exchange("token", self.request(), None, LARGEST_ANSWER, false, || self.masker()).await;
        let outcome = reply.and_then(|reply| self.read(&reply));
        self.wire.observer.token(match &outcome {
            Ok(_) => TokenEnd::Issued,
            Err(lost) if lost.failure == Failure::CredentialsRefused => TokenEnd::Refused,
            Err(_) => TokenEnd::Failed,
        });
        outcome.map_err(|lost| Lost {
            // Whatever the outcome of the token request, nothing was sent to the API.
            failure: if lost.failure == Failure::NoAnswer { Failure::NotSent } else { lost.failure },
            message: format!("token endpoint {}: {}", self.endpoint, lost.message),
            ..lost
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
    fn read(&self, reply: &Reply) -> Result<Grant, Lost> {
        let lost = |failure, message| Lost {
            failure,
            message,
            correlation_id: Some(reply.correlation_id.clone()),
            retry_after: reply.retry_after,
            ended: None,
        };
        if !reply.status.is_success() {
            let failure = if answer::refuses_a_grant(reply.status, &reply.body) {
                Failure::CredentialsRefused
            } else {
                Failure::NotSent
            };
            let message = answer::refusal(reply.status, &reply.body, false, || self.masker()).message;
            let message = format!("status {}: {message}", reply.status.as_u16());
            let hint =
                (failure == Failure::CredentialsRefused).then(|| self.invisible()).filter(|hint| !hint.is_empty());
            let message = hint.map_or(message.clone(), |hint| format!("{}{hint}", message.trim_end_matches('.')));
            return Err(lost(failure, message));
        }
        answer::grant(&reply.body, self.credentials.scopes.as_deref())
            .ok_or_else(|| lost(Failure::NotSent, "the response contains no bearer token".to_owned()))
    }

    /// Names the credentials with invisible characters at an end, which whoever wrote them did not see.
    fn invisible(&self) -> String {
        let Credentials { client_id, client_secret, scopes } = &self.credentials;
        let all = [
            ("client id", client_id.as_str()),
            ("client secret", client_secret.expose_secret()),
            ("scopes", scopes.as_deref().unwrap_or_default()),
        ];
        let described = all.into_iter().filter_map(|(name, value)| Some((name, invisible_ends(value)?)));
        let sentence = |(name, ends)| format!(". Invisible characters are sent with the {name}: {ends}");
        described.map(sentence).collect::<Vec<_>>().concat()
    }

    fn masker(&self) -> Masker {
        Masker::new(self.secrets())
    }
}
