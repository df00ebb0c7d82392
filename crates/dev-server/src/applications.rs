//! A proxy to applications under development: their address in a deployment points to the dev server, which forwards
//! requests to the local process.
//!
//! It forwards to loopback addresses only, with whole bodies of bounded size, within a bounded time. No operation of
//! the API uses it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName};
use serde_json::{Value, json};
use url::{Host, Url};

use super::names::is_key;
use super::refusal::Refusal;
use connect_api::ErrorCode;

/// Path prefix of the proxy.
pub(super) const PATH: &str = "/_applications";
/// Longest body in either direction: 16 MiB.
const LONGEST_BODY: usize = 16 * 1024 * 1024;
/// Timeout for a connection and the whole answer; applications on the service have 5 minutes (contract section 15.6).
const PATIENCE: Duration = Duration::from_mins(5);
/// Headers that are not forwarded: those of one connection (RFC 9110 section 7.6.1), and those that the client sets
/// again.
const OF_CONNECTION: [HeaderName; 7] = [CONNECTION, CONTENT_LENGTH, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// The applications under development, and the client to call them.
#[derive(Debug)]
pub(super) struct Applications {
    targets: BTreeMap<String, Url>,
    /// `None` if there are no applications.
    client: Option<reqwest::Client>,
    base: String,
}

/// Parses `NAME=http://127.0.0.1:PORT`.
///
/// # Errors
/// If the name is not valid, or the address is not a loopback address; the error says what to write.
pub fn parse_application(text: &str) -> Result<(String, Url), String> {
    let wrong = |what: &str| format!("`{text}`: {what}; write it like service=http://127.0.0.1:3000");
    let (name, address) = text.split_once('=').ok_or_else(|| wrong("a name and an address are needed"))?;
    if !is_key(name, 256) {
        return Err(wrong("the name of an application has 2 to 256 characters of A-Z a-z 0-9 _ -"));
    }
    let mut url: Url = address.parse().map_err(|_| wrong("the address is not a URL"))?;
    if url.host() == Some(Host::Domain("localhost")) {
        // Replaced without a DNS lookup, so that it is this machine whatever the resolver answers.
        url.set_ip_host(IpAddr::V4(Ipv4Addr::LOCALHOST)).map_err(|()| wrong("the address has no host"))?;
    }
    let is_local = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(_)) | None => false,
    };
    let is_plain = url.scheme() == "http" && url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    if !is_local || !is_plain || !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("the address must be http, of this machine, and without a path"));
    }
    Ok((name.to_owned(), url))
}

/// Returns the URL at which programs on this machine reach a server with this listen address.
pub fn local_url(address: SocketAddr) -> String {
    // The name of both loopback addresses: a machine may have only one of them.
    if address.ip().is_unspecified() {
        format!("http://localhost:{}", address.port())
    } else {
        format!("http://{address}")
    }
}

impl Applications {
    /// Creates the proxy. `address` is the listen address of the dev server.
    pub(super) fn new(targets: BTreeMap<String, Url>, address: SocketAddr) -> Result<Self, reqwest::Error> {
        let base = format!("{}{PATH}", local_url(address));
        let client = if targets.is_empty() { None } else { Some(client()?) };
        Ok(Self { targets, client, base })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Replaces the addresses of these applications in an answer by addresses of the proxy. Their paths stay.
    pub(super) fn redirect(&self, value: &mut Value) {
        match value {
            Value::Object(members) => {
                let name = members.get("applicationName").and_then(Value::as_str);
                let name = name.filter(|name| self.targets.contains_key(*name)).map(str::to_owned);
                if let (Some(name), Some(url)) = (name, members.get_mut("url")) {
                    let path = url.as_str().and_then(|url| url.parse::<Url>().ok()).map(|url| url.path().to_owned());
                    let path = path.filter(|path| path != "/").unwrap_or_default();
                    *url = json!(format!("{}/{name}{path}", self.base));
                }
                members.values_mut().for_each(|member| self.redirect(member));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redirect(item)),
            _ => {}
        }
    }
}

fn client() -> Result<reqwest::Client, reqwest::Error> {
    // If a provider is installed already, that one is used. This client never uses TLS.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    builder.referer(false).retry(reqwest::retry::never()).timeout(PATIENCE).tls_certs_only(Vec::new()).build()
}

/// Forwards a request and returns the answer of the application.
pub(super) async fn proxy(
    State(applications): State<Arc<Applications>>,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().trim_start_matches('/');
    let (name, rest) = path.split_once('/').unwrap_or((path, ""));
    let (Some(target), Some(client)) = (applications.targets.get(name), &applications.client) else {
        return Err(Refusal::new(ErrorCode::ResourceNotFound, "There is no application with this name."));
    };
    let gone = |what: &str| {
        let text = format!("The application {name} at {target} {what}.");
        Refusal::new(ErrorCode::BadGateway, text)
    };
    let body = axum::body::to_bytes(body, LONGEST_BODY).await;
    let body = body.map_err(|_| Refusal { status: 413, ..gone("accepts bodies of at most 16 MiB") })?;
    let mut url = target.clone();
    url.set_path(rest);
    url.set_query(parts.uri.query());
    let sending = client.request(parts.method, url).headers(without_connection(&parts.headers)).body(body).send();
    let mut answer = sending.await.map_err(|_| gone("does not answer"))?;
    let mut whole = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(|_| gone("aborted its answer"))? {
        if whole.len() + piece.len() > LONGEST_BODY {
            return Err(gone("answered with more than 16 MiB"));
        }
        whole.extend_from_slice(&piece);
    }
    let mut response = Response::new(Body::from(whole));
    *response.status_mut() = answer.status();
    *response.headers_mut() = without_connection(answer.headers());
    Ok(response)
}

fn without_connection(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    for name in OF_CONNECTION {
        kept.remove(name);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_are_accepted() {
        for (text, expected) in [
            ("service=http://127.0.0.1:3000", Some("http://127.0.0.1:3000/")),
            ("service=http://127.1.2.3:3000/", Some("http://127.1.2.3:3000/")),
            ("service=http://localhost:3000", Some("http://127.0.0.1:3000/")),
            ("service=http://[::1]:3000", Some("http://[::1]:3000/")),
            ("service", None),
            ("s=http://127.0.0.1:3000", None),
            ("service=127.0.0.1:3000", None),
            ("service=https://127.0.0.1:3000", None),
            ("service=http://10.0.0.1:3000", None),
            ("service=http://169.254.169.254", None),
            ("service=http://example.com", None),
            ("service=http://localhost.example.com", None),
            ("service=http://127.0.0.1:3000/path", None),
            ("service=http://me:secret@127.0.0.1:3000", None),
        ] {
            let read = parse_application(text).ok().map(|(_, url)| url.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        }
    }
}
