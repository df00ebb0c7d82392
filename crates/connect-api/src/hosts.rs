//! The allowlist of hosts that may be called. Pure: names and addresses are passed in as values; `resolver` applies the
//! same rules to the addresses that a name resolves to.
//!
//! Users write URLs into resources, and the operator sends credentials to them. A URL must therefore become an
//! [`Endpoint`] here before it can be called.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use thiserror::Error;
use url::{Host, Url};

/// A list of patterns of hosts that may be called:
///
/// | Pattern | What it allows |
/// |---|---|
/// | `*.example.com`, `connect.*.example.com` | `*` is one or more labels: HTTPS on port 443, public addresses |
/// | `connect.internal` | this host, HTTPS on port 443, any address |
/// | `connect.internal:8443`, `[::1]:8443` | the same on this port |
/// | `http://connect.internal`, `http://connect.internal:8080` | this host over plain HTTP, on port 80 or this one |
/// | `http://127.0.0.1:*`, `127.0.0.1:*` | the same on any port |
///
/// The prefix `https://` is optional and changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHosts(Vec<Pattern>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    /// A name with these parts, dots included, before and after the labels that `*` matches; HTTPS on port 443.
    Wildcard { before: String, after: String },
    /// Exactly this host, as [`Url`] writes it, with this scheme; any port if `port` is `None`.
    Literal { scheme: &'static str, host: String, port: Option<u16> },
}

/// A pattern that does not name a host.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{pattern}` is not a host pattern: write `*.example.com`, `host` or `host:port` for HTTPS, `http://host` or \
     `http://host:port` for plain HTTP"
)]
pub struct BadPattern {
    pattern: String,
}

/// Why a URL may not be called. The messages contain neither the user info nor the query of the URL.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UrlRefused {
    /// The text is not a URL, or the URL has no host.
    #[error("not a URL: write it as `https://host` or `https://host:port`")]
    NotAUrl,
    /// The scheme is neither HTTP nor HTTPS.
    #[error("scheme `{0}` is not supported: use https")]
    Scheme(String),
    /// The URL has user info, a query or a fragment.
    #[error("the URL must not have {0}: give only scheme, host, port and path")]
    Extra(&'static str),
    /// The host is not in the list, or not with this scheme or port. With the pattern that would allow the URL.
    #[error(
        "`{0}` is not among the allowed hosts, which are called over https on port 443 unless the list says otherwise: \
         correct the URL, or add `{0}` to the list"
    )]
    NotAllowed(String),
}

impl UrlRefused {
    /// Returns the pattern that would allow the URL; `None`: the URL itself has to be corrected.
    #[must_use]
    pub fn pattern(&self) -> Option<&str> {
        match self {
            Self::NotAllowed(pattern) => Some(pattern),
            Self::NotAUrl | Self::Scheme(_) | Self::Extra(_) => None,
        }
    }
}

/// Which addresses the name of a host may resolve to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Public addresses only, because a wildcard pattern allows the host.
    Public,
    /// Any address, because a pattern lists the host literally.
    Any,
}

/// Base URL of a host that may be called. Only [`AllowedHosts::endpoint`] creates one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    url: Url,
    reach: Reach,
}

impl AllowedHosts {
    /// The hosts of the service in any region: the Connect API and its authorization service (contract section 1), and
    /// the HTTP API, which the operator reads for `spec.verify`. One list holds for all three URLs of a project: who runs a gateway
    /// in front of them names it once, and all hosts of the default list have the same owner.
    pub const DEFAULT: &'static str = "connect.*.commercetools.com,auth.*.commercetools.com,api.*.commercetools.com";

    /// Parses a list of patterns.
    ///
    /// # Errors
    /// Fails if one of them does not name a host.
    pub fn parse<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, BadPattern> {
        patterns.into_iter().map(Pattern::from_str).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the endpoint for `url` if it may be called.
    ///
    /// # Errors
    /// Fails if the URL may not be called; the message tells users how to correct it.
    pub fn endpoint(&self, url: &str) -> Result<Endpoint, UrlRefused> {
        let url = Url::parse(url).map_err(|_| UrlRefused::NotAUrl)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(UrlRefused::Scheme(url.scheme().to_owned()));
        }
        for (there, what) in [
            (!url.username().is_empty() || url.password().is_some(), "user info"),
            (url.query().is_some(), "a query"),
            (url.fragment().is_some(), "a fragment"),
        ] {
            if there {
                return Err(UrlRefused::Extra(what));
            }
        }
        if self.0.iter().any(|pattern| pattern.allows_literally(&url)) {
            return Ok(Endpoint { url, reach: Reach::Any });
        }
        let wildcard = self.0.iter().any(|pattern| matches!(pattern, Pattern::Wildcard { .. }) && pattern.names(&url));
        if wildcard && url.scheme() == "https" && url.port().is_none() {
            return Ok(Endpoint { url, reach: Reach::Public });
        }
        Err(pattern_of(&url).map_or(UrlRefused::NotAUrl, UrlRefused::NotAllowed))
    }
}

/// Returns the pattern that allows this URL and nothing else, or `None` if the URL has no host.
#[must_use]
pub fn pattern_of(url: &Url) -> Option<String> {
    let scheme = if url.scheme() == "http" { "http://" } else { "" };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{scheme}{}{port}", url.host_str()?))
}

impl Default for AllowedHosts {
    fn default() -> Self {
        Self(Self::DEFAULT.split(',').filter_map(|pattern| pattern.parse().ok()).collect())
    }
}

impl Pattern {
    /// Returns whether the pattern matches the host of `url`, independent of scheme and port.
    fn names(&self, url: &Url) -> bool {
        match (self, url.host()) {
            (Self::Literal { host, .. }, Some(_)) => url.host_str() == Some(host),
            (Self::Wildcard { before, after }, Some(Host::Domain(name))) => {
                let middle = name.strip_prefix(before.as_str()).and_then(|rest| rest.strip_suffix(after.as_str()));
                middle.is_some_and(|middle| middle.split('.').all(|label| !label.is_empty()))
            }
            _ => false,
        }
    }

    /// Returns whether a literal pattern allows `url`.
    fn allows_literally(&self, url: &Url) -> bool {
        let Self::Literal { scheme, port, .. } = self else { return false };
        let fits = port.is_none_or(|port| url.port_or_known_default() == Some(port));
        self.names(url) && url.scheme() == *scheme && fits
    }
}

impl FromStr for Pattern {
    type Err = BadPattern;

    fn from_str(text: &str) -> Result<Self, BadPattern> {
        let bad = || BadPattern { pattern: text.to_owned() };
        let (scheme, rest) = match text.split_once("://") {
            Some(("http", rest)) => ("http", rest),
            Some(("https", rest)) => ("https", rest),
            Some(_) => return Err(bad()),
            None => ("https", text),
        };
        let (host, port) = match rest.rsplit_once(':') {
            // The colons of an IPv6 address are inside brackets.
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (rest, None),
        };
        if let Some((before, after)) = host.split_once('*') {
            let whole = (before.is_empty() || before.ends_with('.'))
                && after.starts_with('.')
                && after.len() > 1
                && !after.contains('*');
            // Parses the host with a label in place of the star, so that both parts get the spelling that is compared
            // later.
            let name = canonical(&format!("{before}x{after}")).filter(|_| whole && scheme == "https" && port.is_none());
            let at = canonical(&format!("{before}x")).map(|name| name.len() - 1);
            return match name.as_deref().map(Host::parse).zip(at) {
                Some((Ok(Host::Domain(name)), at)) => {
                    Ok(Self::Wildcard { before: name[..at].to_owned(), after: name[at + 1..].to_owned() })
                }
                _ => Err(bad()),
            };
        }
        let default = if scheme == "http" { 80 } else { 443 };
        let port = match port {
            None => Some(default),
            Some("*") => None,
            Some(port) => Some(port.parse().map_err(|_| bad())?),
        };
        Ok(Self::Literal { scheme, host: canonical(host).ok_or_else(bad)?, port })
    }
}

/// Returns a host as [`Url`] writes it, so that both sides of a comparison use the same spelling.
fn canonical(host: &str) -> Option<String> {
    if host.is_empty() || host.contains(['/', '?', '#', '@', '\\']) {
        return None;
    }
    let url = Url::parse(&format!("http://{host}/")).ok()?;
    (url.port().is_none() && url.path() == "/").then(|| url.host_str().map(str::to_owned))?
}

impl Endpoint {
    /// Returns the base URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns which addresses the host may resolve to.
    #[must_use]
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Returns the host name to resolve, or `None` if the host is an IP address.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self.url.host() {
            Some(Host::Domain(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns whether the host is this machine, by name or address; such calls bypass the proxy.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self.url.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }

    /// Returns the URL of `path`, which starts with `/`, below the base URL and without `//`. Returns `None` if the
    /// path would escape the base, for example with an id `..`, which is a parent directory in every spelling.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<Url> {
        let path = format!("{}{path}", self.url.path().trim_end_matches('/'));
        let mut url = self.url.clone();
        url.set_path(&path);
        (url.path() == path && !path.contains("//")).then_some(url)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.url.as_str().trim_end_matches('/'))
    }
}

/// Returns whether an address is public: not loopback, private, link-local, shared or reserved, nor an IPv6 form of
/// such an address (IANA special-purpose address registries, RFC 6890).
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 198 && (b == 18 || b == 19))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let octets = address.octets();
    let inner = |start: usize| {
        is_public_v4(Ipv4Addr::new(octets[start], octets[start + 1], octets[start + 2], octets[start + 3]))
    };
    match address.segments() {
        // IPv4 embedded in IPv6: mapped (RFC 4291), translated (RFC 6052), 6to4 (RFC 3056).
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => inner(12),
        [0x2002, ..] => inner(2),
        // Teredo, benchmarking and other protocols (RFC 2928), documentation (RFC 3849, RFC 9637).
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Only 2000::/3 is allocated.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
