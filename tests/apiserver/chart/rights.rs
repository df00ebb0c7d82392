//! The operator with the rights that the chart gives it and no others: everything works, nothing is refused, and it can do
//! nothing else.

use std::sync::{Arc, Mutex};

use connect_operator::clock::Clock;
use connect_operator::crd;
use http::{Request, StatusCode};
use kube::Client;
use tower::BoxError;

use crate::cluster::Sandbox;
use crate::helm;
use crate::security::{a_whole_life, client_of, quick};
use crate::shop::Shop;

/// Gives the operator's account in `own` what the chart gives it with these values.
async fn give(own: &Sandbox, values: &str) {
    let release = ["connect-operator", own.namespace.as_str()];
    let render = helm::text_of(release, &["--set", values]).expect("the chart renders");
    for manifest in helm::read(&render) {
        let kind = manifest["kind"].as_str().unwrap();
        if kind.contains("Role") || kind == "ServiceAccount" {
            own.succeed(&["apply", "--namespace", "", "--filename", "-"], &manifest.to_string()).await;
        }
    }
}

/// The same client, and what was refused to it.
fn noting(client: Client) -> (Client, Arc<Mutex<Vec<String>>>) {
    let refused: Arc<Mutex<Vec<String>>> = Arc::default();
    let (namespace, noted) = (client.default_namespace().to_owned(), Arc::clone(&refused));
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (client, noted) = (client.clone(), Arc::clone(&noted));
        async move {
            let what = format!("{} {}", request.method(), request.uri().path());
            let response = client.send(request).await?;
            if response.status() == StatusCode::FORBIDDEN {
                noted.lock().unwrap().push(what);
            }
            Ok::<_, BoxError>(response)
        }
    });
    (Client::new(service, namespace), refused)
}

#[tokio::test]
async fn roles_in_named_namespaces_are_enough_for_a_whole_life() {
    let shop = Shop::without_operator(quick(), Clock::system()).await;
    let own = Sandbox::new().await;
    let watched = shop.sandbox.namespace.clone();
    give(&own, &format!("watchNamespaces={{{watched}}}")).await;
    let (client, refused) = noting(client_of(&own).await);
    a_whole_life(&shop, &own, client, &[&watched]).await;
    assert_eq!(*refused.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn the_cluster_role_is_enough_for_a_whole_life_in_any_namespace() {
    // An operator of all namespaces works on what other tests make, so it has a cluster for itself.
    let own = Sandbox::with_definitions(crd::all()).await;
    let shop = Shop::on(own.another().await, quick(), Clock::system()).await;
    give(&own, "replicaCount=2").await;
    let (client, refused) = noting(client_of(&own).await);
    a_whole_life(&shop, &own, client, &[]).await;
    assert_eq!(*refused.lock().unwrap(), Vec::<String>::new());
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
        ("delete outputs", &watched, "delete", "configmaps", false),
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
