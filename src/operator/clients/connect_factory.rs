//! Creates the client of a remote project, for allowed hosts only.

use std::sync::Arc;

use connect_api::CommerceApi;
use connect_api::client_context::ClientContext;
use connect_api::hosts::AllowedHosts;
use connect_api::http::{self, Authorities, Credentials, HttpConnect, Limits};

use crate::operator::remote::{ConnectFactory, Connection, Settings};
use crate::operator::reporting::remedy::{self, HostList};

/// Creates clients that use HTTP.
pub struct HttpFactory {
    /// Hosts that may be called.
    pub allowed_hosts: AllowedHosts,
    /// Context of every call.
    pub around: ClientContext,
    /// Limits of one request.
    pub limits: Limits,
    /// The authorities to trust.
    pub authorities: Authorities,
}

impl HttpFactory {
    /// Creates a client. It makes no call.
    ///
    /// # Errors
    /// A message that names the wrong setting, such as a host that is not allowed.
    pub fn client(&self, settings: &Settings) -> Result<HttpConnect, String> {
        self.client_of("apiUrl", &settings.api_url, settings)
    }

    /// Creates a client for the API at `url`, which comes from the field `name`.
    fn client_of(&self, name: &str, url: &str, settings: &Settings) -> Result<HttpConnect, String> {
        let endpoint = |name: &str, url: &str| {
            self.allowed_hosts.endpoint(url).map_err(|refused| remedy::of_host(name, &refused, HostList::Api))
        };
        let settings = http::Settings {
            api_url: endpoint(name, url)?,
            auth_url: endpoint("authUrl", &settings.auth_url)?,
            project_key: settings.project_key.clone(),
            credentials: Credentials {
                client_id: settings.client_id.clone(),
                client_secret: settings.client_secret.clone(),
                scopes: settings.scopes.clone(),
            },
            requests_per_second: settings.requests_per_second,
            limits: self.limits,
            authorities: self.authorities.clone(),
        };
        HttpConnect::new(settings, self.around.clone()).map_err(|error| error.to_string())
    }
}

impl ConnectFactory for HttpFactory {
    fn connect(&self, settings: &Settings) -> Result<Arc<dyn Connection>, String> {
        Ok(Arc::new(self.client(settings)?))
    }

    fn commerce(&self, settings: &Settings, url: &str) -> Result<Arc<dyn CommerceApi>, String> {
        Ok(Arc::new(self.client_of("httpApi.url", url, settings)?))
    }
}

impl Connection for HttpConnect {
    fn scopes(&self) -> Option<Vec<String>> {
        Self::scopes(self)
    }
}
