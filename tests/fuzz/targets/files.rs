//! What users write into files and resources: catalogues and faults of the dev server, hosts, addresses, manifests.

use std::collections::BTreeMap;
use std::net::IpAddr;

use connect_api::hosts::{AllowedHosts, Reach, is_public};
use connect_api::routes;
use connect_operator::crd::{
    AllowedNamespaces, ClusterConnectProject, ConnectProject, ConnectorDeployment, NamespacesFrom,
};
use dev_server::{Catalogue, FaultFile, Specification, Variant, parse_duration};
use kube::core::{Selector, SelectorExt as _};
use url::Host;

/// A file in YAML or JSON.
pub(crate) fn files(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(catalogue) = Catalogue::parse(text) {
        let written = serde_json::to_string(&catalogue).expect("a catalogue can be encoded");
        Catalogue::parse(&written).expect("an encoded catalogue can be decoded");
        let _ = Catalogue::built_in().and(catalogue);
    }
    let _ = FaultFile::parse(text);
    let _ = (Variant::default().set(text), parse_duration(text));
    let _ = serde_saphyr::from_str::<ConnectProject>(text);
    if let Ok(object) = serde_saphyr::from_str::<ClusterConnectProject>(text) {
        check_allowed(&object.spec.allowed_namespaces.unwrap_or_default());
    }
    if let Ok(object) = serde_saphyr::from_str::<ConnectorDeployment>(text) {
        let _ = (object.spec.effective_interval(), object.spec.deletion_policy_of(None));
    }
}

/// Whatever a project allows: a name is enough, labels that are not known are not, and nothing allows a namespace that is
/// neither named nor selected.
fn check_allowed(allowed: &AllowedNamespaces) {
    let written = serde_json::to_string(&allowed).expect("it can be encoded");
    let read: AllowedNamespaces = serde_json::from_str(&written).expect("what was encoded can be decoded");
    assert_eq!(read, *allowed);
    let labels = BTreeMap::from([("connect".to_owned(), "my-shop".to_owned())]);
    let from = |from| allowed.from == from;
    for name in allowed.names.iter().map(String::as_str).chain(["shop"]) {
        let named = from(NamespacesFrom::Names) && allowed.names.iter().any(|it| it == name);
        let selected = allowed.selector.clone().and_then(|selector| Selector::try_from(selector).ok());
        let selected = selected.is_some_and(|selector| !selector.selects_all() && selector.matches(&labels));
        let selected = from(NamespacesFrom::Selector) && selected;
        assert_eq!(allowed.allow(name, None), named || from(NamespacesFrom::All), "{allowed:?}");
        assert_eq!(allowed.allow(name, Some(&labels)), named || selected || from(NamespacesFrom::All), "{allowed:?}");
    }
}

/// A `connect.yaml`.
pub(crate) fn specifications(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Specification::parse(text) {
        Ok(read) => {
            let written = serde_json::to_string(&read).expect("a specification can be encoded");
            let again: Specification = serde_json::from_str(&written).expect("an encoded specification can be decoded");
            assert_eq!(again, read);
        }
        Err(what) => assert!(!what.is_empty() && what.len() < 4_096 && !what.contains('\n'), "{what}"),
    }
}

/// The first line has patterns of hosts, separated by commas; then follow an address and an id.
pub(crate) fn addresses(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.splitn(3, '\n');
    let (patterns, url, id) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    if let Ok(address) = url.parse::<IpAddr>() {
        let _ = is_public(address);
    }
    let written: Vec<_> = patterns.split(',').collect();
    let lists = [Ok(AllowedHosts::default()), AllowedHosts::parse(written.iter().copied())];
    for (default, hosts) in [true, false].into_iter().zip(lists) {
        let Ok(hosts) = hosts else { continue };
        let Ok(endpoint) = hosts.endpoint(url) else { continue };
        let called = endpoint.url();
        assert!(matches!(called.scheme(), "http" | "https"));
        assert!(called.username().is_empty() && called.password().is_none(), "{called}");
        assert!(called.query().is_none() && called.fragment().is_none(), "{called}");
        if endpoint.reach() == Reach::Public {
            assert_eq!((called.scheme(), called.port_or_known_default()), ("https", Some(443)), "{called}");
            assert!(matches!(called.host(), Some(Host::Domain(_))), "{called}");
        }
        if default {
            let host = called.host_str().expect("an endpoint has a host");
            assert!(host.ends_with(".commercetools.com") && host.len() > ".commercetools.com".len(), "{host}");
            assert_eq!(endpoint.reach(), Reach::Public);
        }
        let path = routes::path("getDeploymentById", "demo", id);
        if let Some(below) = endpoint.at(&path) {
            assert_eq!(below.origin(), called.origin(), "no id changes the host");
            assert!(below.path().starts_with(called.path().trim_end_matches('/')), "no id leaves the base path");
            assert!(below.query().is_none() && below.fragment().is_none(), "{below}");
        }
    }
}
