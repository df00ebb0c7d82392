//! Settings of a client.

use std::time::Duration;

use secrecy::SecretString;

use super::trust::Authorities;
use crate::Rate;
use crate::hosts::Endpoint;

/// A project of the Connect API and how to call it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Base URL of the API.
    pub api_url: Endpoint,
    /// Base URL of the authorization server; the token endpoint is `/oauth/token` below it.
    pub auth_url: Endpoint,
    /// The project key.
    pub project_key: String,
    /// Credentials of the API client.
    pub credentials: Credentials,
    /// Maximum number of requests to the API per second; token requests do not count.
    pub requests_per_second: Rate,
    /// Limits of one request.
    pub limits: Limits,
    /// The authorities to trust.
    pub authorities: Authorities,
}

/// Credentials of an API client of the project (RFC 6749 section 2.3.1).
#[derive(Clone, Debug)]
pub struct Credentials {
    /// Id of the API client.
    pub client_id: String,
    /// Secret of the API client.
    pub client_secret: SecretString,
    /// Scopes to request, separated by spaces; `None` requests all scopes of the API client.
    pub scopes: Option<String>,
}

/// Limits of one request: real time and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time to establish a connection, including DNS and TLS: 5 s.
    pub connect: Duration,
    /// Time from the start of the connection to the end of the body: 30 s. It must not be longer, because conclusions
    /// from a lost response rely on it.
    pub call: Duration,
    /// Maximum body of a page of a list: 32 MiB.
    pub page_body: usize,
    /// Maximum body of any other success: 8 MiB.
    pub body: usize,
    /// Maximum body of an error or a token response: 256 KiB.
    pub small_body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            call: Duration::from_secs(30),
            page_body: 32 << 20,
            body: 8 << 20,
            small_body: 256 << 10,
        }
    }
}
