//! DNS resolution with the rules of [`super::hosts`] applied to the very addresses that the client then connects to, so
//! that a name cannot resolve to one address for the check and to another for the connection (DNS rebinding).

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use dns_lookup::{AddrFamily, AddrInfoHints, SockType};
use futures::future::{self, BoxFuture, Either};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::hosts::{Endpoint, Reach, is_public};

/// How long the addresses of the other family are waited for once those of one have arrived (RFC 8305 section 3).
const OTHER_FAMILY: Duration = Duration::from_millis(50);

/// Resolves through the system. Names that only a wildcard allows keep only their public addresses. All other names are
/// literal hosts or the proxy of the environment: redirects are not followed, so the client resolves no other name.
pub(super) struct GuardedResolver {
    public_only: Arc<BTreeSet<String>>,
    lookup: Lookup,
}

/// Resolves a name once.
type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

impl GuardedResolver {
    /// Creates a resolver that restricts the endpoints allowed by a wildcard to public addresses.
    pub(super) fn new<'a>(endpoints: impl IntoIterator<Item = &'a Endpoint>) -> Self {
        Self::asking(endpoints, Arc::new(|name| Box::pin(system(name))))
    }

    fn asking<'a>(endpoints: impl IntoIterator<Item = &'a Endpoint>, lookup: Lookup) -> Self {
        let guarded = endpoints.into_iter().filter(|endpoint| endpoint.reach() == Reach::Public);
        let public_only = Arc::new(guarded.filter_map(Endpoint::name).map(str::to_owned).collect());
        Self { public_only, lookup }
    }

    fn permitted(public_only: &BTreeSet<String>, name: &str, found: Vec<SocketAddr>) -> Result<Addrs, String> {
        if !public_only.contains(&name.to_ascii_lowercase()) {
            return Ok(Box::new(found.into_iter()));
        }
        let public: Vec<_> = found.into_iter().filter(|address| is_public(address.ip())).collect();
        if public.is_empty() {
            return Err(format!("`{name}` has no public address: list the host literally if a private one is meant"));
        }
        Ok(Box::new(public.into_iter()))
    }
}

/// Asks the system for IPv4 and IPv6 addresses at once, and takes what arrives first: some DNS servers never answer one of
/// the two questions, and the system's own lookup of both would wait for it longer than a connection may take.
async fn system(name: String) -> io::Result<Vec<SocketAddr>> {
    let ask = |family: AddrFamily| {
        let name = name.clone();
        Box::pin(async move { tokio::task::spawn_blocking(move || addresses(&name, family)).await? })
    };
    let (first, other) = match future::select(ask(AddrFamily::Inet6), ask(AddrFamily::Inet)).await {
        Either::Left(answered) | Either::Right(answered) => answered,
    };
    match first {
        Ok(mut found) if !found.is_empty() => {
            let other = tokio::time::timeout(OTHER_FAMILY, other).await;
            found.extend(other.ok().and_then(Result::ok).unwrap_or_default());
            // The client tries the family of the first address first.
            found.sort_by_key(SocketAddr::is_ipv4);
            Ok(found)
        }
        // A name without addresses of one family is an error or an empty list, depending on the system.
        first => match other.await {
            Err(_) => first,
            found => found,
        },
    }
}

/// Asks the system for the addresses of one family.
fn addresses(name: &str, family: AddrFamily) -> io::Result<Vec<SocketAddr>> {
    let hints = AddrInfoHints { address: family.into(), socktype: SockType::Stream.into(), ..AddrInfoHints::default() };
    dns_lookup::getaddrinfo(Some(name), None, Some(hints))?.map(|found| found.map(|found| found.sockaddr)).collect()
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let public_only = Arc::clone(&self.public_only);
        let found = (self.lookup)(name.as_str().to_owned());
        Box::pin(async move {
            let found = found.await?;
            Ok(Self::permitted(&public_only, name.as_str(), found)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::super::hosts::AllowedHosts;
    use super::*;

    /// A DNS server that returns each answer once in order, and the last one from then on.
    fn changing(answers: Vec<Vec<SocketAddr>>) -> (Lookup, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let lookup: Lookup = Arc::new(move |_| {
            let answer = answers[count.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1)].clone();
            Box::pin(async move { Ok(answer) })
        });
        (lookup, asked)
    }

    fn client(resolver: GuardedResolver) -> reqwest::Client {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).dns_resolver(Arc::new(resolver));
        client.build().expect("a client without certificates")
    }

    /// Starts a server that responds with `name`.
    async fn server(name: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback is available");
        let bound = listener.local_addr().expect("it is bound");
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let _ = connection.read(&mut [0; 1024]).await;
                let answer =
                    format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{name}", name.len());
                let _ = connection.write_all(answer.as_bytes()).await;
            }
        });
        bound
    }

    #[tokio::test]
    async fn the_address_that_was_checked_is_the_one_that_is_connected_to() {
        let first = server("checked").await;
        let second = server("another").await;
        let (lookup, asked) = changing(vec![vec![first], vec![second]]);
        let client = client(GuardedResolver::asking([], lookup));
        for (name, count) in [("checked", 1), ("another", 2)] {
            let answer =
                client.get("http://changing.test/").send().await.expect("it responds").text().await.expect("a text");
            assert_eq!((answer.as_str(), asked.load(Ordering::SeqCst)), (name, count), "one lookup, one connection");
        }
    }

    #[tokio::test]
    async fn a_name_that_turns_private_after_it_was_checked_is_not_connected_to() {
        let private = server("private").await;
        let hosts = AllowedHosts::default();
        let endpoint = hosts.endpoint("https://connect.x.commercetools.com").expect("allowed");
        let public = "8.8.8.8:0".parse().expect("an address");
        let (lookup, asked) = changing(vec![vec![public], vec![private]]);
        let resolver = GuardedResolver::asking([&endpoint], Arc::clone(&lookup));
        let name = || "connect.x.commercetools.com".parse().expect("a name");
        let found: Vec<_> = resolver.resolve(name()).await.expect("public").collect();
        assert_eq!(found, [public]);
        let error =
            client(resolver).get("http://connect.x.commercetools.com/").send().await.expect_err("it is private now");
        assert!(error.is_connect(), "{error:?}");
        assert_eq!(asked.load(Ordering::SeqCst), 2, "the name was resolved again and refused");
    }

    #[test]
    fn a_name_that_a_wildcard_allows_keeps_its_public_addresses_only() {
        let hosts = AllowedHosts::parse(["*.commercetools.com", "connect.internal"]).expect("patterns");
        let endpoints = ["https://connect.commercetools.com", "https://connect.internal"]
            .map(|url| hosts.endpoint(url).expect("allowed"));
        let resolver = GuardedResolver::new(&endpoints);
        let addresses = |texts: &[&str]| texts.iter().map(|text| text.parse().expect("address")).collect::<Vec<_>>();
        for (case, name, found, expected) in [
            ("public", "connect.commercetools.com", &["8.8.8.8:0"][..], Some(&["8.8.8.8:0"][..])),
            ("private", "connect.commercetools.com", &["10.0.0.1:0", "[::1]:0"], None),
            ("upper case", "CONNECT.commercetools.com", &["127.0.0.1:0"], None),
            ("both", "connect.commercetools.com", &["10.0.0.1:0", "8.8.4.4:0"], Some(&["8.8.4.4:0"])),
            ("literal", "connect.internal", &["10.0.0.1:0"], Some(&["10.0.0.1:0"])),
            ("proxy", "proxy.example", &["10.0.0.2:0"], Some(&["10.0.0.2:0"])),
        ] {
            let permitted = GuardedResolver::permitted(&resolver.public_only, name, addresses(found));
            assert_eq!(permitted.ok().map(Iterator::collect::<Vec<_>>), expected.map(addresses), "{case}");
        }
    }
}
