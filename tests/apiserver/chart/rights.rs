//! The operator with exactly the rights that the chart grants: everything works, nothing is refused, and the account
//! can do nothing else.

use crate::prelude::*;
use crate::security::a_whole_lifecycle;

/// Granted rights that these tests do not use, each with the reason.
const UNSEEN: [(&str, &str); 9] = [
    ("connect-operator.io/connectprojects get", "only while the watch has not shown the operator's last write"),
    ("connect-operator.io/connectordeployments get", "only while the watch has not shown the operator's last write"),
    ("connect-operator.io/connectorstageds get", "only while the watch has not shown the operator's last write"),
    ("connect-operator.io/actionchecks get", "only when a response could not be written at once"),
    ("coordination.k8s.io/leases create", "only with an election"),
    ("coordination.k8s.io/leases get", "only with an election"),
    ("coordination.k8s.io/leases update", "only with an election"),
    (
        "connect-operator.io/connectordeployments/finalizers update",
        "required by an admission plugin that is off by default",
    ),
    ("core/namespaces get", "only while credentials are missing"),
];

/// Grants the operator's account in `own` the rights of the chart with these values. Returns each right with the
/// namespaces in which it holds, once the API server grants all of them.
pub(crate) async fn give(own: &Sandbox, values: &str) -> BTreeSet<String> {
    let release = ["connect-operator", own.namespace.as_str()];
    let render = helm::text_of(release, &["--set", values]).expect("the chart renders");
    let manifests = helm::read(&render);
    let mut given = BTreeSet::new();
    for manifest in &manifests {
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
    for binding in manifests.iter().filter(|it| it["kind"].as_str().unwrap().ends_with("RoleBinding")) {
        own.until_granted(binding).await;
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

/// The requests of a client.
#[derive(Default)]
struct Asked {
    /// Rights that were used, with the namespaces.
    used: BTreeSet<String>,
    /// Requests that were refused.
    refused: Vec<String>,
}

/// Returns a client that records its requests; `own` is the namespace of the operator.
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

/// Asserts that nothing was refused, and that each right was used, apart from those that need a special situation.
fn all_were_needed(given: &BTreeSet<String>, asked: &Asked) {
    assert_eq!(asked.refused, Vec::<String>::new());
    let unused = given.difference(&asked.used).filter(|right| !UNSEEN.iter().any(|(known, _)| right.ends_with(known)));
    assert_eq!(unused.collect::<Vec<_>>(), Vec::<&String>::new(), "granted and never used");
}

#[tokio::test]
async fn roles_in_named_namespaces_suffice_for_a_whole_lifecycle_and_each_right_is_used() {
    let shop = Shop::without_operator(quick(), Clock::system()).await;
    let own = Sandbox::new().await;
    let watched = shop.sandbox.namespace.clone();
    let given = give(&own, &format!("watchNamespaces={{{watched}}},outputs.enabled=true")).await;
    let (client, asked) = noting(client_of(&own).await, &own.namespace);
    a_whole_lifecycle(&shop, &own, client, &[&watched]).await;
    all_were_needed(&given, &asked.lock().unwrap());
}

#[tokio::test]
async fn the_cluster_role_suffices_for_a_whole_lifecycle_in_any_namespace_and_each_right_is_used() {
    // An operator of all namespaces reconciles the objects of other tests, so it has a cluster of its own.
    let own = Sandbox::with_definitions(crd::all()).await;
    let shop = Shop::on(own.another().await, quick(), Clock::system()).await;
    let given = give(&own, "outputs.enabled=true").await;
    let (client, asked) = noting(client_of(&own).await, &own.namespace);
    a_whole_lifecycle(&shop, &own, client, &[]).await;
    all_were_needed(&given, &asked.lock().unwrap());
}

#[tokio::test]
async fn the_account_can_do_nothing_else() {
    let (own, watched, other) = (Sandbox::new().await, Sandbox::new().await, Sandbox::new().await);
    give(&own, &format!("watchNamespaces={{{}}}", watched.namespace)).await;
    for (case, namespace, verb, resource, expected) in [
        ("its kinds", &watched, "list", "connectordeployments.connect-operator.io", true),
        ("their status", &watched, "patch", "connectordeployments.connect-operator.io/status", true),
        ("Secrets that it watches", &watched, "watch", "secrets", true),
        ("change Secrets of users", &watched, "patch", "secrets", false),
        ("create Secrets in watched namespaces", &watched, "create", "secrets", false),
        ("read ConfigMaps", &watched, "get", "configmaps", true),
        ("create ConfigMaps", &watched, "create", "configmaps", false),
        ("change ConfigMaps", &watched, "patch", "configmaps", false),
        ("delete ConfigMaps", &watched, "delete", "configmaps", false),
        ("create objects of its kinds", &watched, "create", "connectordeployments.connect-operator.io", false),
        ("delete objects of users", &watched, "delete", "connectordeployments.connect-operator.io", false),
        ("Leases in watched namespaces", &watched, "get", "leases.coordination.k8s.io", false),
        ("run pods", &watched, "create", "pods", false),
        ("exec into pods", &watched, "create", "pods/exec", false),
        ("read logs", &watched, "get", "pods/log", false),
        ("tokens of other accounts", &watched, "create", "serviceaccounts/token", false),
        ("grant rights", &watched, "create", "rolebindings.rbac.authorization.k8s.io", false),
        ("grant itself rights", &own, "patch", "roles.rbac.authorization.k8s.io", false),
        ("impersonate users", &own, "impersonate", "users", false),
        ("create its own Secrets", &own, "create", "secrets", true),
        ("create its Lease", &own, "create", "leases.coordination.k8s.io", true),
        ("renew its Lease", &own, "update", "leases.coordination.k8s.io/connect-operator", true),
        ("take the Lease of others", &own, "update", "leases.coordination.k8s.io/another", false),
        ("end the Lease of others", &own, "delete", "leases.coordination.k8s.io", false),
        ("change its own Deployment", &own, "patch", "deployments.apps", false),
        ("Secrets of other namespaces", &other, "get", "secrets", false),
        ("its kinds in other namespaces", &other, "list", "connectordeployments.connect-operator.io", false),
        ("whether another namespace is being deleted", &other, "get", "namespaces", false),
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
