//! Refuses what a foreign web page makes a browser send: the console, `/_dev` and applications need no token, and the
//! credentials of the API are public.
//!
//! A site can let its own name point to this machine (DNS rebinding), and its pages can then read every response. Their
//! requests still have the name of the site as `Host`. A page of any site can write without reading; such a request has
//! the site as `Origin`.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Uri};

use super::refusal::Refusal;
use connect_api::ErrorCode;

/// Suffixes of names that no public DNS server answers for: this machine, services of a cluster, and the private use
/// that ICANN reserved, such as `host.docker.internal`.
const PRIVATE_SUFFIXES: [&str; 4] = [".localhost", ".svc", ".cluster.local", ".internal"];

const FOREIGN_HOST: &str = "The dev server answers for an IP address, localhost, a name without a dot, and names that \
    end in .svc, .cluster.local, .localhost or .internal. Use such an address, or `kubectl port-forward`; a tunnel or \
    proxy must send such a Host.";
const FOREIGN_ORIGIN: &str = "The dev server refuses requests from pages of other sites.";

/// Answers 403 to a request of a foreign page, and passes on any other.
pub(super) async fn guard(request: Request, next: Next) -> Result<Response, Refusal> {
    check(request.uri(), request.headers())?;
    Ok(next.run(request).await)
}

/// Checks `Host` and `Origin` of a request.
fn check(uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    let refused = |text| Err(Refusal::new(ErrorCode::AuthorizationError, text));
    // HTTP/2, and a target in absolute form, replace the header.
    let host = uri.authority().map(Authority::as_str);
    let host = host.or_else(|| headers.get(HOST).and_then(|host| host.to_str().ok()));
    let Some(host) = host.filter(|host| is_private(host)) else { return refused(FOREIGN_HOST) };
    // Only browsers send `Origin`, and they always do when a page of another site writes.
    let is_same = |origin: &http::HeaderValue| origin.to_str().is_ok_and(|origin| is_of(origin, host));
    if headers.get_all(ORIGIN).iter().all(is_same) { Ok(()) } else { refused(FOREIGN_ORIGIN) }
}

/// Whether a `Host`, with or without a port, cannot be the name of a public site.
fn is_private(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    if host.contains('@') {
        return false;
    }
    let name = authority.host().to_ascii_lowercase();
    if let Some(address) = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok();
    }
    let name = name.strip_suffix('.').unwrap_or(&name);
    let is_within = |suffix: &&str| name.strip_suffix(*suffix).is_some_and(|rest| !rest.is_empty());
    name.parse::<Ipv4Addr>().is_ok()
        || (!name.is_empty() && !name.contains('.'))
        || PRIVATE_SUFFIXES.iter().any(is_within)
}

/// Whether an `Origin` is that of the pages of this host. `null`, which sandboxed pages send, is not.
fn is_of(origin: &str, host: &str) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_hosts_that_no_public_site_can_have_are_served() {
        let served = "127.0.0.1:8787 127.0.0.1 192.0.2.7:8787 [::1]:8787 [2001:db8::7] localhost:8787 LOCALHOST \
                      localhost. console.localhost:8787 dev-server dev-server:80 dev-server.shop.svc \
                      dev-server.shop.svc.cluster.local:8787 dev-server.shop.svc.cluster.local. \
                      host.docker.internal:8787";
        let refused = "example.com example.com:8787 example.com. 127.0.0.1.example.com localhost.example.com \
                       dev-server.shop.svc.example.com dev-server.shop mysvc.example printer.local .svc \
                       127.0.0.1@example.com example.com@127.0.0.1 127.1 [::1 [example.com] :8787";
        let refused = refused.split(' ').chain(["", "a b"]).map(|host| (host, false));
        for (host, expected) in served.split(' ').map(|host| (host, true)).chain(refused) {
            assert_eq!(is_private(host), expected, "{host}");
        }
    }

    #[test]
    fn requests_of_foreign_pages_are_refused() {
        const HERE: &str = "127.0.0.1:8787";
        for (case, uri, host, origins, served) in [
            ("the console", "/", Some(HERE), &["http://127.0.0.1:8787"][..], true),
            ("behind a proxy with TLS", "/", Some("console.localhost"), &["https://console.localhost"], true),
            ("two origins", "/", Some(HERE), &["http://127.0.0.1:8787", "http://example.com"], false),
            ("no host", "/", None, &[], false),
            ("absolute form", "http://127.0.0.1:8787/", None, &[], true),
            ("a rebound name in absolute form", "http://example.com/", Some(HERE), &[], false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(host) = host {
                headers.insert(HOST, HeaderValue::from_static(host));
            }
            for origin in origins {
                headers.append(ORIGIN, HeaderValue::from_static(origin));
            }
            let checked = check(&Uri::from_static(uri), &headers);
            assert_eq!(checked.map_err(|refusal| refusal.status), if served { Ok(()) } else { Err(403) }, "{case}");
        }
    }
}
