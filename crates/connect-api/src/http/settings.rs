//! What a client is built from.

use std::time::Duration;

use secrecy::SecretString;
use thiserror::Error;

use crate::Rate;
use crate::api::DeploymentPaths;
use crate::hosts::Endpoint;

/// One project of the Connect API and how to call it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Base URL of the API.
    pub api_url: Endpoint,
    /// Base URL of the authorization server; the token endpoint is `/oauth/token` below it.
    pub auth_url: Endpoint,
    /// Key of the project.
    pub project_key: String,
    /// Which form of create and update to call.
    pub deployment_paths: DeploymentPaths,
    /// Who calls.
    pub credentials: Credentials,
    /// Requests to the API in a second; requests for tokens do not count.
    pub requests_per_second: Rate,
    /// Limits of one request.
    pub limits: Limits,
    /// Certificates in PEM that are trusted beside those of the platform.
    pub extra_ca_pem: Option<Vec<u8>>,
}

/// An API client of the project (RFC 6749 section 2.3.1).
#[derive(Clone, Debug)]
pub struct Credentials {
    /// Its id.
    pub client_id: String,
    /// Its secret.
    pub client_secret: SecretString,
    /// Scopes to ask for, separated by blanks; `None`: those that the client has.
    pub scopes: Option<String>,
}

/// Limits of one request, in real time and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until a connection stands, name and TLS included: 5 s.
    pub connect: Duration,
    /// From the start of the connection to the end of the body: 30 s, and not more, since what is concluded from a lost
    /// answer counts on it.
    pub call: Duration,
    /// Pause within a body: 10 s.
    pub silence: Duration,
    /// Body of a page of a list or of a log: 32 MiB.
    pub page_body: usize,
    /// Any other body of a success: 8 MiB.
    pub body: usize,
    /// Body of an error or of a token: 256 KiB.
    pub small_body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            call: Duration::from_secs(30),
            silence: Duration::from_secs(10),
            page_body: 32 << 20,
            body: 8 << 20,
            small_body: 256 << 10,
        }
    }
}

/// Why no client could be built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The extra certificates are not PEM, or hold no certificate.
    #[error("the extra CA certificates cannot be read: give certificates in PEM")]
    ExtraCa,
    /// The path of the authorization URL cannot be continued.
    #[error("no token endpoint can stand below the authorization URL: give it without a path")]
    AuthUrl,
    /// TLS cannot be set up.
    #[error("TLS cannot be set up ({0}): are the CA certificates of the system installed?")]
    Tls(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<reqwest::Error> for BuildError {
    fn from(error: reqwest::Error) -> Self {
        Self::Tls(Box::new(error))
    }
}

impl From<rustls::Error> for BuildError {
    fn from(error: rustls::Error) -> Self {
        Self::Tls(Box::new(error))
    }
}
