//! The settings of one remote project, and the factory of its clients. Makes no calls.

use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use connect_api::registry::StagedApi;
use connect_api::{CommerceApi, ConnectApi, Rate};

/// What is needed to reach one remote project. `Debug` does not show the secret.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Base address of the Connect API.
    pub api_url: String,
    /// Base address of the authorization host.
    pub auth_url: String,
    /// Key of the project.
    pub project_key: String,
    /// Id of the API client.
    pub client_id: String,
    /// Its secret.
    pub client_secret: SecretString,
    /// Scopes to request, separated by blanks; `None`: all that the API client has.
    pub scopes: Option<String>,
    /// Maximum number of requests per second.
    pub requests_per_second: Rate,
}

impl Settings {
    /// Whether all but the rate of the calls is equal.
    pub(super) fn is_same_login(&self, other: &Self) -> bool {
        // Destructured, so that a new field cannot be forgotten.
        let Self { api_url, auth_url, project_key, client_id, client_secret, scopes, requests_per_second: _ } = self;
        *api_url == other.api_url
            && *auth_url == other.auth_url
            && *project_key == other.project_key
            && *client_id == other.client_id
            && client_secret.expose_secret() == other.client_secret.expose_secret()
            && *scopes == other.scopes
    }
}

impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        self.is_same_login(other) && self.requests_per_second == other.requests_per_second
    }
}

impl Eq for Settings {}

/// A client of one remote project, with a token cache and a rate limiter of its own.
pub trait Connection: ConnectApi + StagedApi {
    /// Returns the scopes of the newest token; `None` before the first one.
    fn scopes(&self) -> Option<Vec<String>>;
}

/// Makes clients of remote projects.
pub trait ConnectFactory: Send + Sync {
    /// Returns a client that has made no call yet.
    ///
    /// # Errors
    /// A sentence that names the wrong setting, such as a host that is not allowed.
    fn connect(&self, settings: &Settings) -> Result<Arc<dyn Connection>, String>;

    /// Returns a client of the HTTP API at `url`, with the credentials and the project of `settings`. It has made no
    /// call yet.
    ///
    /// # Errors
    /// The same as [`ConnectFactory::connect`].
    fn commerce(&self, settings: &Settings, url: &str) -> Result<Arc<dyn CommerceApi>, String>;
}
