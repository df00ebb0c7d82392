//! The operator with the rights that the chart gives it and no others: everything works, nothing is refused, and it can do
//! nothing else.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use clock::Clock;
use connect_operator::crd;
use http::{Method, Request, StatusCode, Uri};
use kube::Client;
use serde_json::Value;
use tower::BoxError;

use crate::cluster::Sandbox;
use crate::helm;
use crate::security::{a_whole_life, client_of, quick};
use crate::shop::Shop;

/// Rights that are given and not seen to be used here, each with why.
const UNSEEN: [(&str, &str); 6] = [
    ("connect-operator.io/actionchecks get", "only when an answer could not be written at once"),
    ("coordination.k8s.io/leases create", "only with an election"),
    ("coordination.k8s.io/leases get", "only with an election"),
    ("coordination.k8s.io/leases update", "only with an election"),
    (
        "connect-operator.io/connectordeployments/finalizers update",
        "asked for by an admission plugin that is off by default",
    ),
    ("core/namespaces get", "only while credentials are missing"),
];

/// Gives the operator's account in `own` what the chart gives it with these values. Returns each right with where it holds.
async fn give(own: &Sandbox, values: &str) -> BTreeSet<String> {
    let release = ["connect-operator", own.namespace.as_str()];
    let render = helm::text_of(release, &["--set", values]).expect("the chart renders");
    let mut given = BTreeSet::new();
    for manifest in helm::read(&render) {
        let kind = manifest["kind"].as_str().unwrap();
        if kind.contains("Role") || kind == "ServiceAccount" {
            own.succeed(&["apply", "--namespace", "", "--filename", "-"], &manifest.to_string()).await;
        }
        let of_people = manifest["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"] == "true";
        if !of_people && manifest["rules"].is_array() {
            let place = if manifest["metadata"]["namespace"] == own.namespace.as_str() { "own" } else { "watched" };
            given.extend(rights(&manifest["rules"]).into_iter().map(|right| format!("{place} {right}")));
        }
    }
    given
}

/// The rules of a role, as `group/resource verb`.
fn rights(rules: &Value) -> BTreeSet<String> {
    let list = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(|it| it.as_str().unwrap().to_owned()).collect()
    };
    let mut rights = BTreeSet::new();
    for rule in rules.as_array().unwrap() {
        for group in list(&rule["apiGroups"]) {
            for resource in list(&rule["resources"]) {
                let group = if group.is_empty() { "core" } else { &group };
                rights.extend(list(&rule["verbs"]).iter().map(|verb| format!("{group}/{resource} {verb}")));
            }
        }
    }
    rights
}

/// What a client asked for.
#[derive(Default)]
struct Asked {
    /// Rights that were used, with where.
    used: BTreeSet<String>,
    /// Requests that were refused.
    refused: Vec<String>,
}

/// The same client, and what it asks for from now on; `own` is the namespace of the operator.
fn noting(client: Client, own: &str) -> (Client, Arc<Mutex<Asked>>) {
    let asked: Arc<Mutex<Asked>> = Arc::default();
    let (namespace, noted, own) = (client.default_namespace().to_owned(), Arc::clone(&asked), own.to_owned());
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (client, noted) = (client.clone(), Arc::clone(&noted));
        let (method, uri) = (request.method().clone(), request.uri().clone());
        noted.lock().unwrap().used.extend(needed(&method, &uri, &own));
        async move {
            let response = client.send(request).await?;
            if response.status() == StatusCode::FORBIDDEN {
                noted.lock().unwrap().refused.push(format!("{method} {uri}"));
            }
            Ok::<_, BoxError>(response)
        }
    });
    (Client::new(service, namespace), asked)
}

/// The right that a request needs (Kubernetes API, "Determine the Request Verb"); none for what everybody may read.
fn needed(method: &Method, uri: &Uri, own: &str) -> Option<String> {
    let mut path = uri.path().trim_start_matches('/').split('/');
    let group = match path.next()? {
        "api" => "core",
        "apis" => path.next()?,
        _ => return None,
    };
    let mut rest: Vec<_> = path.skip(1).collect();
    let namespaced = rest.first() == Some(&"namespaces") && rest.len() > 2;
    let place = if namespaced && rest[1] == own { "own" } else { "watched" };
    if namespaced {
        rest.drain(..2);
    }
    let (resource, name) = (*rest.first()?, rest.get(1));
    let subresource = rest.get(2).map(|name| format!("/{name}")).unwrap_or_default();
    let watches = uri.query().is_some_and(|query| query.contains("watch=true"));
    let verb = match (method.as_str(), name) {
        ("GET", None) if watches => "watch",
        ("GET", None) => "list",
        ("GET", Some(_)) => "get",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", Some(_)) => "delete",
        _ => "deletecollection",
    };
    Some(format!("{place} {group}/{resource}{subresource} {verb}"))
}

/// Nothing was refused, and each right was used but those that only come with something else.
fn all_were_needed(given: &BTreeSet<String>, asked: &Asked) {
    assert_eq!(asked.refused, Vec::<String>::new());
    let unused = given.difference(&asked.used).filter(|right| !UNSEEN.iter().any(|(known, _)| right.ends_with(known)));
    assert_eq!(unused.collect::<Vec<_>>(), Vec::<&String>::new(), "given, and never used");
}

#[tokio::test]
async fn roles_in_named_namespaces_are_enough_for_a_whole_life_and_each_right_is_used() {
    let shop = Shop::without_operator(quick(), Clock::system()).await;
    let own = Sandbox::new().await;
    let watched = shop.sandbox.namespace.clone();
    let given = give(&own, &format!("watchNamespaces={{{watched}}},outputs.enabled=true")).await;
    let (client, asked) = noting(client_of(&own).await, &own.namespace);
    a_whole_life(&shop, &own, client, &[&watched]).await;
    all_were_needed(&given, &asked.lock().unwrap());
}

#[tokio::test]
async fn the_cluster_role_is_enough_for_a_whole_life_in_any_namespace_and_each_right_is_used() {
    // An operator of all namespaces works on what other tests make, so it has a cluster for itself.
    let own = Sandbox::with_definitions(crd::all()).await;
    let shop = Shop::on(own.another().await, quick(), Clock::system()).await;
    let given = give(&own, "outputs.enabled=true").await;
    let (client, asked) = noting(client_of(&own).await, &own.namespace);
    a_whole_life(&shop, &own, client, &[]).await;
    all_were_needed(&given, &asked.lock().unwrap());
}

#[tokio::test]
async fn the_account_can_do_nothing_else() {
    let (own, watched, other) = (Sandbox::new().await, Sandbox::new().await, Sandbox::new().await);
    give(&own, &format!("watchNamespaces={{{}}}", watched.namespace)).await;
    for (case, namespace, verb, resource, expected) in [
        ("its kinds", &watched, "list", "connectordeployments.connect-operator.io", true),
        ("what it remembers", &watched, "patch", "connectordeployments.connect-operator.io/status", true),
        ("Secrets that it watches", &watched, "watch", "secrets", true),
        ("change Secrets of others", &watched, "patch", "secrets", false),
        ("make Secrets for others", &watched, "create", "secrets", false),
        ("read ConfigMaps", &watched, "get", "configmaps", true),
        ("make ConfigMaps", &watched, "create", "configmaps", false),
        ("change ConfigMaps", &watched, "patch", "configmaps", false),
        ("delete ConfigMaps", &watched, "delete", "configmaps", false),
        ("make its kinds", &watched, "create", "connectordeployments.connect-operator.io", false),
        ("delete what people made", &watched, "delete", "connectordeployments.connect-operator.io", false),
        ("Leases that it has no business with", &watched, "get", "leases.coordination.k8s.io", false),
        ("run something", &watched, "create", "pods", false),
        ("enter something", &watched, "create", "pods/exec", false),
        ("read logs", &watched, "get", "pods/log", false),
        ("tokens of other accounts", &watched, "create", "serviceaccounts/token", false),
        ("give rights", &watched, "create", "rolebindings.rbac.authorization.k8s.io", false),
        ("give itself rights", &own, "patch", "roles.rbac.authorization.k8s.io", false),
        ("be somebody else", &own, "impersonate", "users", false),
        ("keep what is its own", &own, "create", "secrets", true),
        ("lead", &own, "create", "leases.coordination.k8s.io", true),
        ("lead on", &own, "update", "leases.coordination.k8s.io/connect-operator", true),
        ("take the Lease of others", &own, "update", "leases.coordination.k8s.io/another", false),
        ("end the Lease of others", &own, "delete", "leases.coordination.k8s.io", false),
        ("change its own Deployment", &own, "patch", "deployments.apps", false),
        ("Secrets elsewhere", &other, "get", "secrets", false),
        ("its kinds elsewhere", &other, "list", "connectordeployments.connect-operator.io", false),
        ("whether another namespace goes", &other, "get", "namespaces", false),
        ("nodes", &own, "list", "nodes", false),
        ("the definitions of kinds", &own, "get", "customresourcedefinitions.apiextensions.k8s.io", false),
    ] {
        let account = format!("system:serviceaccount:{}:connect-operator", own.namespace);
        let (resource, name) = match resource.split_once("coordination.k8s.io/") {
            Some((_, name)) => ("leases.coordination.k8s.io", format!("/{name}")),
            None => (resource, String::new()),
        };
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let what = format!("{resource}{name}");
        let subresource = format!("--subresource={subresource}");
        let may = namespace.kubectl(&["auth", "can-i", verb, &what, &subresource, "--as", &account], "").await;
        assert_eq!(may.status.success(), expected, "{case}: {verb} {resource}");
    }
}
