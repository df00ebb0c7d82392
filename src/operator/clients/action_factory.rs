//! Creates the client of a frontend whose actions are checked, for allowed hosts only.

use std::sync::Arc;
use std::time::Duration;

use connect_api::action::ActionApi;
use connect_api::client_context::ClientContext;
use connect_api::hosts::{AllowedHosts, Endpoint, UrlRefused};
use connect_api::http::{ActionClient, Authorities, Limits};

/// Creates clients of frontends.
pub trait ActionFactory: Send + Sync {
    /// Returns the frontend behind a URL, if its host is allowed.
    ///
    /// # Errors
    /// When the host is not allowed; the message names the remedy.
    fn endpoint(&self, url: &str) -> Result<Endpoint, UrlRefused>;

    /// Creates a client for one frontend. An answer that is not complete within `timeout` counts as no answer, and at
    /// most `largest` bytes of its body are kept.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    fn client(&self, endpoint: Endpoint, timeout: Duration, largest: usize) -> Result<Arc<dyn ActionApi>, String>;
}

/// Creates clients that use HTTP.
pub struct HttpActionFactory {
    /// Hosts that may be called.
    pub allowed_hosts: AllowedHosts,
    /// Context of every call.
    pub around: ClientContext,
    /// The authorities to trust.
    pub authorities: Authorities,
}

impl ActionFactory for HttpActionFactory {
    fn endpoint(&self, url: &str) -> Result<Endpoint, UrlRefused> {
        self.allowed_hosts.endpoint(url)
    }

    fn client(&self, endpoint: Endpoint, timeout: Duration, largest: usize) -> Result<Arc<dyn ActionApi>, String> {
        let limits = Limits { call: timeout, body: largest, ..Limits::default() };
        let client = ActionClient::new(endpoint, limits, &self.authorities, self.around.clone());
        Ok(Arc::new(client.map_err(|error| error.to_string())?))
    }
}

#[cfg(test)]
mod tests {
    use clock::Clock;

    use super::*;
    use crate::names::DEFAULT_ACTION_HOSTS;

    #[test]
    fn the_default_hosts_are_those_of_frontends_over_https() {
        let allowed_hosts = AllowedHosts::parse(DEFAULT_ACTION_HOSTS.split(',')).expect("patterns");
        let around = ClientContext::plain(Clock::system());
        let factory = HttpActionFactory { allowed_hosts, around, authorities: Authorities::default() };
        for (url, allowed) in [
            ("https://shop-example.frontastic.live", true),
            ("https://shop-example.frontastic.io", true),
            ("https://shop-example.frontastic.rocks", true),
            ("https://shop-example.service.live", true),
            ("http://shop-example.frontastic.live", false),
            ("https://service.live", false),
            ("https://shop-example.frontastic.live.example.com", false),
            ("https://connect.europe-west1.gcp.commercetools.com", false),
            ("http://127.0.0.1:8787", false),
            ("https://kubernetes.default.svc", false),
        ] {
            assert_eq!(factory.endpoint(url).is_ok(), allowed, "{url}");
        }
    }
}
