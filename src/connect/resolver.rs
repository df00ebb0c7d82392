//! Names to addresses, with the rules of [`super::hosts`] applied to the very addresses that are then connected to, so
//! that a name cannot show one address to a check and another to the connection.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::hosts::{Endpoint, Reach, is_public};

/// Resolves through the system; names that only a wildcard allows keep their public addresses only. Other names are
/// literal hosts or the proxy of the environment: redirects are not followed, so nothing else is ever asked for.
#[derive(Debug)]
pub(super) struct GuardedResolver {
    public_only: Arc<BTreeSet<String>>,
}

impl GuardedResolver {
    /// Guards the names of those endpoints that are allowed by a wildcard.
    pub(super) fn new<'a>(endpoints: impl IntoIterator<Item = &'a Endpoint>) -> Self {
        let guarded = endpoints.into_iter().filter(|endpoint| endpoint.reach() == Reach::Public);
        Self { public_only: Arc::new(guarded.filter_map(Endpoint::name).map(str::to_owned).collect()) }
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

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let public_only = Arc::clone(&self.public_only);
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Self::permitted(&public_only, name.as_str(), found)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::hosts::AllowedHosts;
    use super::*;

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
