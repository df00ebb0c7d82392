//! What the operator does before its first reconcile is refused, fails, or is not told: it goes on, or waits and says for
//! what. The operator is a process here.

use crate::chart::rights::give;
use crate::gateway::{Failure, Gateway};
use crate::prelude::*;
use crate::storm::operator::Start;

/// The ConfigMap of the outputs.
const OUTPUTS: &str = "tax-urls";
/// Polls what a process has no watch for.
const LOOK: Duration = Duration::from_millis(20);

/// How to start an operator of these namespaces, whose own objects are in `home`.
fn start(kubeconfig: PathBuf, watched: &[&Sandbox], home: &Sandbox, folder: &TempDir, arguments: &[&str]) -> Start {
    let watched: Vec<_> = watched.iter().map(|sandbox| sandbox.namespace.as_str()).collect();
    Start {
        kubeconfig,
        namespace: watched.join(","),
        home: home.namespace.clone(),
        log: folder.path().join("operator.log"),
        elects: true,
        clock: None,
        arguments: ["--health-listen", "127.0.0.1:0"].iter().chain(arguments).map(|it| (*it).to_owned()).collect(),
    }
}

/// Returns the last log line with this text, once there is one.
async fn until_logged(operator: &Operator, text: &str) -> String {
    let logged = async {
        loop {
            if let Some(line) = last_lines(operator.log(), text).lines().last() {
                return line.to_owned();
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    in_time(logged).await.unwrap_or_else(|_| panic!("{text}: {}", last_lines(operator.log(), "")))
}

/// Returns the content of `/readyz` of an operator once it contains this text, with the status.
async fn until_readyz(operator: &Operator, text: &str) -> (u16, String) {
    let line = until_logged(operator, "--health-listen").await;
    let address = line.split_once("address=").and_then(|(_, rest)| rest.split_whitespace().next()).expect("an address");
    let url = format!("http://{address}/readyz");
    let told = async {
        loop {
            let response = reqwest::get(&url).await.expect("the operator listens");
            let (status, page) = (response.status().as_u16(), response.text().await.expect("a page"));
            if page.contains(text) {
                return (status, page);
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    in_time(told).await.unwrap_or_else(|_| panic!("{text}: {}", last_lines(operator.log(), "")))
}

/// Makes the API server refuse objects without the label `team` in these namespaces.
async fn require_labels(home: &Sandbox, shop: &Sandbox) {
    let rule = json!({"apiGroups": ["", "coordination.k8s.io"], "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"], "resources": ["secrets", "configmaps", "leases"]});
    let expression = "has(object.metadata.labels) && 'team' in object.metadata.labels";
    home.forbid(&[&home.namespace, &shop.namespace], &rule, expression, "everything needs the label team").await;
    let probe = ["create", "configmap", "probe", "--dry-run=server"];
    until("the policy takes effect", async || !home.kubectl(&probe, "").await.status.success()).await;
}

/// The labels of every object of a kind in a namespace whose name begins with this.
async fn labels_of<K: Object + Resource<Scope = NamespaceResourceScope>>(
    sandbox: &Sandbox,
    prefix: &str,
) -> Vec<Value> {
    let objects = sandbox.objects::<K>().list_metadata(&ListParams::default()).await.unwrap();
    let ours = objects.items.iter().filter(|object| object.name_any().starts_with(prefix));
    ours.map(|object| json!(object.labels())).collect()
}

#[tokio::test]
async fn a_policy_that_asks_for_labels_is_met_by_those_that_are_given_and_reported_without() {
    let shop = Shop::without_operator(quick(), Clock::system()).await;
    let (home, folder) = (Sandbox::new().await, TempDir::new().unwrap());
    shop.put_project_and_secrets().await;
    require_labels(&home, &shop.sandbox).await;
    let own = |elects: bool, arguments: &[&str]| Start {
        elects,
        ..start(shop.sandbox.kubeconfig(), &[&shop.sandbox], &home, &folder, arguments)
    };

    // The digest key is refused.
    let operator = own(false, &[]).now();
    let (status, page) = until_readyz(&operator, "digest-key failed").await;
    assert_eq!(status, 503, "{page}");
    let line = until_logged(&operator, "with the digest key cannot be read or created").await;
    for word in ["everything needs the label team", "--common-labels", "commonLabels", "kubectl create secret generic"]
    {
        assert!(line.contains(word), "{word}: {line}");
    }
    operator.kill().await;

    // Everything has the labels that were given, and those of the operator.
    shop.sandbox.apply(&shop.project()).await.unwrap();
    let outputs = json!({"outputs": {"configMap": {"name": OUTPUTS}}});
    let mut deployment = with_spec(shop.deployment(), &outputs);
    deployment["metadata"]["labels"] = json!({"tier": "1"});
    shop.sandbox.apply(&deployment).await.unwrap();
    let operator = own(true, &["--common-labels", "team=tax"]).now();
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "Deployed", &[]).await;
    let expected = json!({
        "team": "tax", "app.kubernetes.io/name": "connect-operator", "app.kubernetes.io/managed-by": "connect-operator",
        "app.kubernetes.io/instance": format!("{}.connect-operator", home.namespace),
    });
    let mut of_copy = expected.clone();
    of_copy["connect-operator.io/project-namespace"] = json!(shop.sandbox.namespace);
    let mut of_outputs = expected.clone();
    of_outputs["tier"] = json!("1");
    for (what, found, expected) in [
        ("the digest key", labels_of::<Secret>(&home, "connect-operator-digest-key").await, &expected),
        ("the copy", labels_of::<Secret>(&home, "connect-project-").await, &of_copy),
        ("the Lease", labels_of::<Lease>(&home, "").await, &expected),
        ("the outputs", labels_of::<ConfigMap>(&shop.sandbox, OUTPUTS).await, &of_outputs),
    ] {
        assert_eq!(found, std::slice::from_ref(expected), "{what}");
    }
    operator.kill().await;

    // Without them, each refusal is a condition.
    shop.api::<ConfigMap>().delete(OUTPUTS, &DeleteParams::default()).await.unwrap();
    let copies = ListParams::default().labels(names::PROJECT_NAMESPACE);
    home.objects::<Secret>().delete_collection(&DeleteParams::default(), &copies).await.unwrap();
    let operator = own(false, &[]).now();
    let words = ["everything needs the label team", "--common-labels"];
    until_reported_with::<ConnectProject>(&shop, PROJECT, "CredentialsNotKept", &words).await;
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "KubernetesError", &words).await;
    operator.kill().await;
}

#[tokio::test]
async fn the_digest_key_is_sent_to_no_project() {
    // A shop in the namespace of the operator.
    let shop = Shop::without_operator(quick(), Clock::system()).await;
    let (home, folder) = (&shop.sandbox, TempDir::new().unwrap());
    let operator = start(home.kubeconfig(), &[home], home, &folder, &[]).now();
    until_readyz(&operator, "[+]first-lists ok").await;
    let credentials = json!({"name": names::DIGEST_KEY_SECRET, "clientIdKey": "key", "clientSecretKey": "key"});
    home.apply(&with_spec(shop.project(), &json!({"credentialsSecretRef": credentials}))).await.unwrap();
    until_reported_with::<ConnectProject>(&shop, PROJECT, "ConfigurationInvalid", &["digest key"]).await;
    shop.put_project_and_secrets().await;
    let values = json!([{"secretRef": {"name": names::DIGEST_KEY_SECRET}}]);
    home.apply(&with_spec(shop.deployment(), &json!({"configurationFrom": values}))).await.unwrap();
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "ConfigurationInvalid", &["digest key"]).await;
    assert_eq!(shop.calls("createDeployment"), 0);
    operator.kill().await;
}

async fn holder(home: &Sandbox) -> Option<String> {
    let lease = home.objects::<Lease>().get(names::LEASE).await.unwrap();
    lease.spec.and_then(|spec| spec.holder_identity).filter(|holder| !holder.is_empty())
}

#[tokio::test]
async fn the_first_requests_of_a_leader_that_fail_are_repeated() {
    for (case, failure) in [
        ("refused", Failure::Instead(403, "Forbidden", 0)),
        ("failed", Failure::Instead(500, "InternalError", 0)),
        ("a closed connection", Failure::Closed),
    ] {
        let (home, folder) = (Sandbox::new().await, TempDir::new().unwrap());
        let (gateway, _) = Gateway::before(&home.client).await;
        gateway.fail(move |method, uri| (method == Method::GET && uri.path().contains("/secrets/")).then_some(failure));
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, gateway.kubeconfig().to_string()).unwrap();
        let operator = start(kubeconfig, &[&home], &home, &folder, &[]).now();
        gateway.until_failed(3).await;
        let (status, page) = until_readyz(&operator, "digest-key failed").await;
        assert_eq!(status, 503, "{case}: {page}");
        until_logged(&operator, "with the digest key cannot be read or created").await;
        assert!(holder(&home).await.is_some(), "{case}: it lives, and goes on to hold the Lease");
        gateway.work();
        let (status, page) = until_readyz(&operator, "[+]first-lists ok").await;
        assert_eq!(status, 200, "{case}: {page}");
        operator.kill().await;
    }
}

#[tokio::test]
async fn a_secret_that_holds_no_digest_key_ends_the_process_and_frees_the_lease() {
    let (home, folder) = (Sandbox::new().await, TempDir::new().unwrap());
    let broken = ["create", "secret", "generic", names::DIGEST_KEY_SECRET, "--from-literal=key=short"];
    home.succeed(&broken, "").await;
    let operator = start(home.kubeconfig(), &[&home], &home, &folder, &[]).now();
    let (Start { log, .. }, status) = operator.ended().await;
    let error = last_lines(&log, "does not hold a digest key");
    assert!(!status.success() && error.contains("--digest-key-secret"), "{status}: {}", last_lines(&log, ""));
    assert_eq!(holder(&home).await, None, "another replica need not wait");
}

/// The Deployment of the chart, and the rights that it grants.
async fn install(own: &Sandbox, values: &str) {
    give(own, values).await;
    let render = helm::text_of(["connect-operator", &own.namespace], &["--set", values]).expect("the chart renders");
    for manifest in helm::read(&render).into_iter().filter(|manifest| manifest["kind"] == "Deployment") {
        own.kubectl_apply(&manifest).await;
    }
}

#[tokio::test]
async fn a_cluster_that_tells_nobody_what_it_serves_is_no_obstacle() {
    let own = Sandbox::with_definitions(crd::all()).await;
    own.succeed(&["delete", "clusterrolebinding", "system:discovery", "system:public-info-viewer"], "").await;
    let untold = async || run(&own, &["doctor", "--as", "jane"]).await.1.contains("nonResourceURLs");
    until("the binding is gone", untold).await;
    for (case, values, told) in [
        ("all namespaces", "outputs.enabled=true", true),
        ("some", "outputs.enabled=true,watchNamespaces={WATCHED}", false),
    ] {
        let (home, folder) = (own.another().await, TempDir::new().unwrap());
        let shop = Shop::on(own.another().await, quick(), Clock::system()).await;
        install(&home, &values.replace("WATCHED", &shop.sandbox.namespace)).await;
        let account = format!("system:serviceaccount:{}:connect-operator", home.namespace);
        let operator = start(own.kubeconfig(), &[&shop.sandbox], &home, &folder, &["--as", &account]).now();
        shop.put_project_and_secrets().await;
        shop.sandbox.apply(&shop.deployment()).await.unwrap();
        until_reported_with::<ConnectorDeployment>(&shop, NAME, "Deployed", &[]).await;
        let untold = last_lines(operator.log(), "it is not checked whether the CRDs are those of this version");
        assert_eq!(untold.is_empty(), told, "{case}: {untold}");
        assert!(told || untold.contains("nonResourceURLs"), "{case}: {untold}");
        let place = ["doctor", "--operator-namespace", &home.namespace];
        let (_, found, _) = run(&shop.sandbox, &place).await;
        assert!(found.contains("ok       CRDs"), "{case}: {found}");
        let (_, found, _) = run(&shop.sandbox, &[&place[..], &["--as", "jane"]].concat()).await;
        assert!(found.contains("warning  CRDs: not checked: ") && found.contains("nonResourceURLs"), "{case}: {found}");
        operator.kill().await;
    }
}
