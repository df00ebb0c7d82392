//! Access tokens and their rights (contract section 2; RFC 6749 sections 4.4 and 5, RFC 6750).
//!
//! Pure except for the randomness of tokens: time is an argument. Tokens exist in memory only, so callers need a new
//! one after a restart.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use base64::Engine as _;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::catalogue::Client;
use super::ids::Ids;
use super::path::decode;
use super::refusal::Refusal;
use super::values::hex;
use clock::later;
use connect_api::ErrorCode;
use connect_api::scopes::{self, Right};

/// Maximum number of tokens; beyond it, the token that expires first is removed.
const KEPT: usize = 10_000;

/// The valid tokens.
#[derive(Debug)]
pub(super) struct Tokens {
    ids: Ids,
    live: BTreeMap<String, Grant>,
}

/// The scopes and the end of a token.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    scopes: BTreeSet<String>,
    expires: Timestamp,
}

/// A refusal of the token endpoint (RFC 6749 section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TokenRefusal {
    pub(super) status: u16,
    pub(super) error: &'static str,
    pub(super) description: &'static str,
}

impl Tokens {
    pub(super) fn new() -> Self {
        Self { ids: Ids::new(None), live: BTreeMap::new() }
    }

    /// Handles a token request: returns the body of the answer, or the refusal.
    pub(super) fn grant(
        &mut self,
        clients: &[Client],
        authorization: Option<&str>,
        form: &[(String, String)],
        lifetime: Duration,
        now: Timestamp,
    ) -> Result<Value, TokenRefusal> {
        let invalid_client = TokenRefusal {
            status: 401,
            error: "invalid_client",
            description: "Please provide valid client credentials using HTTP Basic Authentication.",
        };
        let field = |name: &str| form.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let sent = match authorization {
            Some(header) => basic(header),
            None => {
                field("client_id").zip(field("client_secret")).map(|(id, secret)| (id.to_owned(), secret.to_owned()))
            }
        };
        let (id, secret) = sent.ok_or(invalid_client)?;
        let client = clients.iter().find(|client| client.id == id && client.secret == secret).ok_or(invalid_client)?;
        let refused = |error, description| TokenRefusal { status: 400, error, description };
        match field("grant_type") {
            Some("client_credentials") => {}
            Some(_) => return Err(refused("unsupported_grant_type", "Only client_credentials is supported.")),
            None => return Err(refused("invalid_request", "grant_type is required, in a form-encoded body.")),
        }
        let asked: Vec<_> = field("scope").unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let may_ask = |scope: &String| client.scopes.iter().any(|own| scopes::contains(own, scope));
        if !asked.iter().all(may_ask) {
            return Err(refused("invalid_scope", "A scope was asked for that the client does not have."));
        }
        let granted = if asked.is_empty() { client.scopes.clone() } else { asked };
        let token = hex(&self.ids.bytes::<24>());
        let answer = json!({
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": lifetime.as_secs(),
            "scope": granted.join(" "),
        });
        self.keep(token, Grant { scopes: granted.into_iter().collect(), expires: later(now, lifetime) }, now);
        Ok(answer)
    }

    fn keep(&mut self, token: String, grant: Grant, now: Timestamp) {
        self.live.retain(|_, grant| now < grant.expires);
        if self.live.len() >= KEPT {
            let first = self.live.iter().min_by_key(|(_, grant)| grant.expires).map(|(token, _)| token.clone());
            first.and_then(|first| self.live.remove(&first));
        }
        self.live.insert(token, grant);
    }

    /// Returns the grant of the token in an `Authorization` header; `None` if it is missing, unknown or expired.
    pub(super) fn check(&self, authorization: Option<&str>, now: Timestamp) -> Option<Grant> {
        let (scheme, token) = authorization?.split_once(' ')?;
        let grant = scheme.eq_ignore_ascii_case("Bearer").then(|| self.live.get(token.trim()))??;
        (now < grant.expires).then(|| grant.clone())
    }

    /// Revokes all tokens.
    pub(super) fn revoke(&mut self) {
        self.live.clear();
    }
}

impl Grant {
    /// Whether the token has a right in a project: one of the scopes that grant it is enough.
    pub(super) fn allows(&self, right: Right, project: &str) -> bool {
        right.is_granted(self.scopes.iter().map(String::as_str), project)
    }

    /// Returns the projects that the scopes name.
    pub(super) fn projects(&self) -> Vec<String> {
        let named = self.scopes.iter().filter_map(|scope| scope.split_once(':'));
        named.map(|(_, project)| project.to_owned()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the projects in which the token has a right, for a path without a project that can apply to several.
    ///
    /// # Errors
    /// `AuthorizationError` if there is no such project.
    pub(super) fn projects_with(&self, right: Right) -> Result<Vec<String>, Refusal> {
        let mut projects = self.projects();
        projects.retain(|project| self.allows(right, project));
        if projects.is_empty() {
            // Returns an error that names the missing scopes.
            self.project(None, right)?;
        }
        Ok(projects)
    }

    /// Returns the project of a path, or the only project of the scopes if the path has none.
    ///
    /// # Errors
    /// `AuthorizationError` if the right is missing, or if the path names no project and the scopes do not name
    /// exactly one.
    pub(super) fn project(&self, named: Option<&str>, right: Right) -> Result<String, Refusal> {
        let denied = |text: String| Err(Refusal::new(ErrorCode::AuthorizationError, text));
        let projects = self.projects();
        let project = match (named, projects.as_slice()) {
            (Some(project), _) => project,
            (None, [only]) => only,
            (None, _) => return denied("The token must name one project, since the path names none.".to_owned()),
        };
        if self.allows(right, project) {
            return Ok(project.to_owned());
        }
        denied(format!("Insufficient scope. This is needed: {}.", right.needed(project)))
    }
}

/// Returns id and secret of HTTP Basic, which clients form-encode first (RFC 6749 section 2.3.1).
fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    let bytes = scheme
        .eq_ignore_ascii_case("Basic")
        .then(|| base64::engine::general_purpose::STANDARD.decode(encoded.trim()).ok())??;
    let text = String::from_utf8(bytes).ok()?;
    let (id, secret) = text.split_once(':')?;
    let plain = |part: &str| decode(&part.replace('+', " ")).unwrap_or_else(|| part.to_owned());
    Some((plain(id), plain(secret)))
}
