//! Which hosts may be called at all. Pure: names and addresses come in as values; `resolver` applies the
//! same rules to what a name resolves to.
//!
//! People write URLs into resources, and the operator sends credentials to them, so a URL becomes an [`Endpoint`] here
//! or is not called.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use thiserror::Error;
use url::{Host, Url};

/// Hosts that may be called: `*.example.com` (any name below it, HTTPS on port 443, public addresses) or a host written
/// out, with or without port (`127.0.0.1`, `localhost`, `connect.internal:8443`, `[::1]:8080`), which may also be plain
/// HTTP and private.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHosts(Vec<Pattern>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    /// Ends with this, dot included, and has something before it.
    Below(String),
    /// Exactly this host, as [`Url`] writes it; on any port if none is named.
    Literal { host: String, port: Option<u16> },
}

/// A pattern that names no host.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{pattern}` is not a host pattern: write `*.example.com`, `host` or `host:port`")]
pub struct BadPattern {
    pattern: String,
}

/// A URL that is not called. The texts hold neither the user info nor the query of the URL.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UrlRefused {
    /// Not a URL, or one without a host.
    #[error("not a URL: write it as `https://host` or `https://host:port`")]
    NotAUrl,
    /// Neither HTTP nor HTTPS.
    #[error("scheme `{0}` is not called: use https")]
    Scheme(String),
    /// User info, query or fragment.
    #[error("the URL must not have {0}: give only scheme, host, port and path")]
    Extra(&'static str),
    /// Not listed.
    #[error("host `{0}` is not among the allowed hosts: add it to the list, or correct the URL")]
    NotAllowed(String),
    /// Allowed by a wildcard, which allows HTTPS only.
    #[error("host `{0}` is called over https only: use https, or list the host literally")]
    PlainHttp(String),
    /// Allowed by a wildcard, which allows port 443 only.
    #[error("host `{0}` is called on port 443 only: leave the port out, or list `{0}` literally")]
    Port(String),
}

/// Which addresses the name of a host may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Public ones only: the host is allowed by a wildcard.
    Public,
    /// Any: the host is listed literally.
    Any,
}

/// Base URL of a host that may be called. Only [`AllowedHosts::endpoint`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    url: Url,
    reach: Reach,
}

impl AllowedHosts {
    /// The hosts of the service itself (contract section 1).
    pub const DEFAULT: &'static str = "*.commercetools.com";

    /// Reads patterns, one each.
    ///
    /// # Errors
    /// When one of them names no host.
    pub fn parse<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, BadPattern> {
        patterns.into_iter().map(Pattern::from_str).collect::<Result<_, _>>().map(Self)
    }

    /// The endpoint behind `url`, if it may be called.
    ///
    /// # Errors
    /// When it may not; the text says what to do.
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
        let host = url.host_str().ok_or(UrlRefused::NotAUrl)?;
        let port = url.port_or_known_default();
        let listed = self.0.iter().any(|pattern| match pattern {
            Pattern::Literal { host: literal, port: wanted } => {
                literal == host && (wanted.is_none() || *wanted == port)
            }
            Pattern::Below(_) => false,
        });
        if listed {
            return Ok(Endpoint { url, reach: Reach::Any });
        }
        let below = matches!(url.host(), Some(Host::Domain(_)))
            && self.0.iter().any(|pattern| {
                matches!(pattern, Pattern::Below(end) if host.len() > end.len() && host.ends_with(end.as_str()))
            });
        match (below, url.scheme(), port) {
            (false, ..) => Err(UrlRefused::NotAllowed(host.to_owned())),
            (true, "http", _) => Err(UrlRefused::PlainHttp(host.to_owned())),
            (true, _, Some(443)) => Ok(Endpoint { url, reach: Reach::Public }),
            (true, ..) => Err(UrlRefused::Port(host.to_owned())),
        }
    }
}

impl Default for AllowedHosts {
    fn default() -> Self {
        Self(vec![Pattern::Below(".commercetools.com".to_owned())])
    }
}

impl FromStr for Pattern {
    type Err = BadPattern;

    fn from_str(text: &str) -> Result<Self, BadPattern> {
        let bad = || BadPattern { pattern: text.to_owned() };
        if let Some(name) = text.strip_prefix("*.") {
            let host = canonical(name).filter(|_| !name.contains(['*', ':'])).ok_or_else(bad)?;
            return match Host::parse(&host) {
                Ok(Host::Domain(domain)) => Ok(Self::Below(format!(".{domain}"))),
                _ => Err(bad()),
            };
        }
        let (host, port) = match text.rsplit_once(':') {
            // The colons of an IPv6 address stand in brackets.
            Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().map_err(|_| bad())?)),
            _ => (text, None),
        };
        let host = canonical(host).filter(|_| !host.contains('*')).ok_or_else(bad)?;
        Ok(Self::Literal { host, port })
    }
}

/// A host as [`Url`] writes it, so that both sides of a comparison are spelled alike.
fn canonical(host: &str) -> Option<String> {
    if host.is_empty() || host.contains(['/', '?', '#', '@', '\\']) {
        return None;
    }
    let url = Url::parse(&format!("http://{host}/")).ok()?;
    (url.port().is_none() && url.path() == "/").then(|| url.host_str().map(str::to_owned))?
}

impl Endpoint {
    /// The base URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Which addresses its host may have.
    #[must_use]
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Host as a name to be resolved; `None` for an address.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self.url.host() {
            Some(Host::Domain(name)) => Some(name),
            _ => None,
        }
    }

    /// Whether it is this machine, by name or address: no proxy leads there.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self.url.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }

    /// The URL of `path`, which starts with `/`, below the base, without `//`; `None` if the path would lead elsewhere
    /// (an id `..` is a step upwards in every spelling).
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

/// Whether an address belongs to the public internet: not loopback, private, link-local, shared, reserved, nor one of
/// these in an IPv6 disguise (IANA special-purpose address registries, RFC 6890).
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
        // IPv4 in IPv6: mapped (RFC 4291), translated (RFC 6052), 6to4 (RFC 3056).
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => inner(12),
        [0x2002, ..] => inner(2),
        // Teredo, benchmarking and other protocols (RFC 2928), documentation (RFC 3849, RFC 9637).
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Only 2000::/3 is handed out.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
