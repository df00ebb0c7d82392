//! How connections are made, for the Connect API and for actions: TLS, names, proxies, no redirects, nothing repeated.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::HeaderValue;
use http::header::ACCEPT;
use reqwest::{Client, ClientBuilder, redirect};

use super::settings::BuildError;
use super::trust;
use crate::hosts::Endpoint;
use crate::mask::Masker;
use crate::observer::RequestEnd;
use crate::resolver::GuardedResolver;

/// Name and version of the caller.
const USER_AGENT: &str = concat!("connect-operator/", env!("CARGO_PKG_VERSION"));

/// A client that calls these endpoints and no other host.
///
/// # Errors
/// When the extra certificates cannot be read.
pub(super) fn builder(
    endpoints: &[&Endpoint],
    connect: Duration,
    extra_ca_pem: Option<&[u8]>,
) -> Result<ClientBuilder, BuildError> {
    // Someone may have installed a provider already; then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(USER_AGENT)
        .default_headers(HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]))
        .redirect(redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .connect_timeout(connect)
        .dns_resolver(Arc::new(GuardedResolver::new(endpoints.iter().copied())));
    // Without TLS the certificates of the platform need not be there, nor take memory.
    builder = if endpoints.iter().any(|endpoint| endpoint.url().scheme() == "https") {
        builder.tls_backend_preconfigured(trust::tls(extra_ca_pem)?)
    } else {
        trust::roots(extra_ca_pem)?;
        builder.tls_certs_only([])
    };
    if endpoints.iter().any(|endpoint| endpoint.is_local()) {
        builder = builder.no_proxy();
    }
    Ok(builder)
}

/// Whether anything can have been sent, how it ended, and for people why no answer came. `masker` knows what must not come back.
pub(super) fn why(
    error: &reqwest::Error,
    connect: Duration,
    call: Duration,
    masker: impl FnOnce() -> Masker,
) -> (Sent, RequestEnd, String) {
    let unconnected = error.is_connect() || error.is_builder();
    match (unconnected, error.is_timeout()) {
        (true, true) => (Sent::Nothing, RequestEnd::Timeout, format!("no connection within {connect:?}")),
        (true, false) => (Sent::Nothing, RequestEnd::Connection, format!("no connection: {}", innermost(error))),
        (false, true) => (Sent::Perhaps, RequestEnd::Timeout, format!("no answer within {call:?}")),
        (false, false) => {
            let why = format!("the connection broke: {}", masker().mask(&innermost(error)));
            (Sent::Perhaps, RequestEnd::Broken, why)
        }
    }
}

/// What a request that failed had sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// There was no connection.
    Nothing,
    /// A part of it, or all.
    Perhaps,
}

/// The text of the first cause; those around it only repeat that something failed, and may name the URL.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    let mut text = String::new();
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    text
}
