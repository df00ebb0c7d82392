//! The rights of the operator's account, and what a user of one namespace can reach through it: nothing of another
//! namespace.

use connect_api::Fence;
use connect_operator::leader::{Election, LeaseName, Timing};
use connect_operator::operator::clients::served_crds;
use connect_operator::operator::cluster::objects::digest_key;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use secrecy::SecretString;

use crate::manifests::{deployment, project};
use crate::prelude::*;

const PAGE: &str = include_str!("../../docs/security.md");

/// The operator's namespace in the manifests of the page, and the name of its account.
const OWN_OF_THE_PAGE: &str = "namespace: connect-operator}";
const ACCOUNT: &str = "connect-operator";
/// The watched namespace there.
const WATCHED_OF_THE_PAGE: &str = "namespace: shop}";

pub(crate) fn quick() -> Options {
    Options { deploy_duration: Duration::from_millis(200), ..Options::default() }
}

/// The manifests of the page, with the namespaces of a test.
fn manifests(own: &str, watched: &str) -> Vec<Value> {
    assert!(PAGE.contains(OWN_OF_THE_PAGE) && PAGE.contains(WATCHED_OF_THE_PAGE));
    let fenced = PAGE.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("yaml\n"));
    let here = |yaml: &str| {
        let namespace = |name: &str| format!("namespace: {name}}}");
        yaml.replace(OWN_OF_THE_PAGE, &namespace(own)).replace(WATCHED_OF_THE_PAGE, &namespace(watched))
    };
    fenced.flat_map(|yaml| documents(&here(yaml))).collect()
}

/// Creates the operator's account in `own` with exactly the rights of the page.
async fn account(own: &Sandbox, watched: &Sandbox) -> Client {
    own.succeed(&["create", "serviceaccount", ACCOUNT], "").await;
    let manifests = manifests(&own.namespace, &watched.namespace);
    for manifest in &manifests {
        let namespace = manifest["metadata"]["namespace"].as_str();
        let sandbox = if namespace == Some(&watched.namespace) { watched } else { own };
        // Two tests may create what belongs to the whole cluster at once.
        let apply = ["apply", "--server-side", "--force-conflicts", "--filename", "-"];
        sandbox.succeed(&apply, &manifest.to_string()).await;
    }
    for binding in manifests.iter().filter(|it| it["kind"] == "RoleBinding") {
        own.until_granted(binding).await;
    }
    client_of(own).await
}

/// A client with the token of the operator's account in `own`.
pub(crate) async fn client_of(own: &Sandbox) -> Client {
    let token = own.succeed(&["create", "token", ACCOUNT], "").await;
    let kubeconfig = Kubeconfig::read_from(own.kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.auth_info = kube::config::AuthInfo { token: Some(SecretString::from(token.trim())), ..Default::default() };
    Client::try_from(config).unwrap()
}

#[tokio::test]
async fn the_rights_of_the_page_suffice_for_a_whole_lifecycle_in_a_watched_namespace() {
    let shop = Shop::without_operator(quick(), Clock::system()).await;
    let own = Sandbox::new().await;
    let client = account(&own, &shop.sandbox).await;
    a_whole_lifecycle(&shop, &own, client, &[&shop.sandbox.namespace]).await;
}

/// Runs the operator as `client` with its own objects in `own`: from its start, over everything that it does for a
/// shop, to the deletion of its project. `watched`: empty for all namespaces.
pub(crate) async fn a_whole_lifecycle(shop: &Shop, own: &Sandbox, client: Client, watched: &[&str]) {
    let served = async {
        while !served_crds::missing(&client).await.unwrap().is_empty() {
            Clock::system().sleep(Duration::from_millis(100)).await;
        }
    };
    in_time(served).await.expect("the kinds are served");
    let labels = Scope::default().labels();
    let key =
        digest_key::load_or_create(&client, &own.namespace, names::DIGEST_KEY_SECRET, &labels).await.unwrap().unwrap();
    digest_key::load_or_create(&client, &own.namespace, names::DIGEST_KEY_SECRET, &labels).await.unwrap();
    let clock = Clock::system();
    let lease = LeaseName { namespace: own.namespace.clone(), name: "connect-operator".to_owned() };
    let fence = Fence::closed(clock.clone());
    let mut election = Election::start(client.clone(), &lease, labels, "me".into(), Timing::default(), &clock, &fence);
    election.won().await.expect("it leads");
    let scope =
        Scope::new(&watched.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), "").expect("no selector");
    let mut options = operators::options(client, clock, scope, &own.namespace);
    options.settings.digest_key = key;
    let _operator = Running::start(options);

    shop.put_project_and_secrets().await;
    shop.put_config_map("settings", &[("level", "info")]).await;
    let mut manifest = with_spec(shop.deployment(), &json!({"outputs": {"configMap": {"name": "outputs"}}}));
    manifest["spec"]["configurations"][0]["standardConfiguration"] =
        json!([{"key": "LOG_LEVEL", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "level"}}}]);
    shop.apply_until(&manifest, "Deployed").await;

    shop.put_token("second-token-of-the-shop").await;
    shop.until("the second token is live", |object| {
        let applied = state(object).applied;
        applied.is_some_and(|applied| applied.from_version.is_some())
    })
    .await;
    assert!(shop.api::<ConfigMap>().get_opt("outputs").await.unwrap().is_some());
    assert!(!shop.api::<Event>().list(&ListParams::default()).await.unwrap().items.is_empty(), "Events are written");
    let emptied = json!({"data": null});
    shop.sandbox.succeed(&["patch", "configmap", "outputs", "--type=merge", "--patch", &emptied.to_string()], "").await;
    shop.annotate(names::RECONCILE_REQUESTED_AT, "now").await;
    shop.until_object("outputs", "written again", |outputs: &ConfigMap| outputs.data.is_some()).await;
    stages_and_checks(shop).await;
    shop.delete_wholly().await;

    // Other credentials change the copy, and the deletion of the project deletes it.
    let copies =
        || async { secrets_of(own).await.into_iter().filter(|name| name.starts_with("connect-project-")).count() };
    assert_eq!(copies().await, 1);
    shop.put_secret(CREDENTIALS, &[("clientId", "api-clients-client"), ("clientSecret", "dev-secret")]).await;
    let scoped =
        |project: &ConnectProject| project.status.as_ref().is_some_and(|status| status.last_response_at.is_some());
    shop.until_project("the project works", scoped).await;
    shop.sandbox.succeed(&["delete", "ctp,cst,acheck", "--all", &timeout_option()], "").await;
    assert_eq!(copies().await, 0);
}

async fn secrets_of(own: &Sandbox) -> Vec<String> {
    let secrets = Api::<Secret>::namespaced(own.client.clone(), &own.namespace);
    secrets.list(&ListParams::default()).await.unwrap().items.iter().map(ResourceExt::name_any).collect()
}

/// Applies a staged connector and a check of an action.
async fn stages_and_checks(shop: &Shop) {
    shop.sandbox.apply(&kit()).await.unwrap();
    shop.until_reason_of::<ConnectorStaged>(KIT, "Staged").await;
    shop.sandbox.apply(&check(shop)).await.unwrap();
    shop.until_reason_of::<ActionCheck>(CHECK, "CheckPassed").await;
}

#[tokio::test]
async fn the_rights_of_the_page_grant_nothing_else() {
    let (own, watched, other) = (Sandbox::new().await, Sandbox::new().await, Sandbox::new().await);
    let client = account(&own, &watched).await;
    for (case, namespace, verb, resource, expected) in [
        ("its own kinds", &watched, "list", "connectordeployments.connect-operator.io", true),
        ("Secrets that it watches", &watched, "get", "secrets", true),
        ("delete objects of users", &watched, "delete", "connectordeployments.connect-operator.io", false),
        ("create its own kinds", &watched, "create", "connectordeployments.connect-operator.io", false),
        ("change Secrets", &watched, "patch", "secrets", false),
        ("delete ConfigMaps", &watched, "delete", "configmaps", false),
        ("run pods", &watched, "create", "pods", false),
        ("create tokens of other accounts", &watched, "create", "serviceaccounts/token", false),
        ("grant rights", &watched, "create", "rolebindings.rbac.authorization.k8s.io", false),
        ("create its own Secrets", &own, "create", "secrets", true),
        ("its Lease", &own, "update", "leases.coordination.k8s.io/connect-operator", true),
        ("another Lease beside it", &own, "update", "leases.coordination.k8s.io/another", false),
        ("Leases of watched namespaces", &watched, "get", "leases.coordination.k8s.io", false),
        ("watch its own namespace", &own, "watch", "secrets", false),
        ("ConfigMaps beside it", &own, "get", "configmaps", false),
        ("Secrets of other namespaces", &other, "get", "secrets", false),
        ("ConfigMaps of other namespaces", &other, "list", "configmaps", false),
        ("its own kinds in other namespaces", &other, "get", "connectordeployments.connect-operator.io", false),
        ("Events of other namespaces", &other, "create", "events.events.k8s.io", false),
    ] {
        let account = format!("system:serviceaccount:{}:{ACCOUNT}", own.namespace);
        let may = namespace.kubectl(&["auth", "can-i", verb, resource, "--as", &account], "").await;
        assert_eq!(may.status.success(), expected, "{case}: {verb} {resource}");
    }
    let elsewhere = Api::<Secret>::namespaced(client, &other.namespace);
    let refused = elsewhere.list(&ListParams::default()).await.expect_err("no right in that namespace");
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 403), "{refused}");
}

#[tokio::test]
async fn a_reference_resolves_only_within_its_namespace() {
    let mut shop = Shop::without_operator(quick(), fast()).await;
    let poor = Sandbox::new().await;
    shop.put_credentials("dev-client").await;
    shop.put_token("token-of-the-shop").await;
    shop.put_config_map("settings", &[("level", "debug")]).await;
    shop.sandbox.apply(&shop.project()).await.unwrap();
    shop.also_watched = vec![poor.namespace.clone()];
    shop.start_operator();
    shop.until_project("it is ready", |project| {
        project.status.as_ref().is_some_and(|it| it.last_response_at.is_some())
    })
    .await;

    let manifest = with_spec(shop.deployment(), &json!({"key": "taken-from-the-neighbour"}));
    poor.apply(&manifest).await.unwrap();
    poor.until_reason(NAME, "ProjectMissing").await;
    let mut own = shop.project();
    own["spec"]["credentialsSecretRef"] = json!({"name": CREDENTIALS});
    poor.apply(&own).await.unwrap();
    poor.until_reason(NAME, "ProjectNotReady").await;
    poor.put_credentials("dev-client").await;
    poor.until_reason(NAME, "SecretMissing").await;
    poor.put_secret(SECRET, &[("token", "token-of-the-poor")]).await;
    poor.until_reason(NAME, "Deployed").await;
    let settings = json!([{"applicationName": "service", "standardConfiguration": [{"key": "LOG_LEVEL",
        "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "level"}}}]}]);
    poor.change(&manifest, &json!({"spec": {"configurations": settings}})).await.unwrap();
    poor.until_reason(NAME, "ConfigMapMissing").await;
    assert_eq!(shop.calls("createDeployment"), 1, "only the resource whose objects are all in its namespace");
}

#[tokio::test]
async fn a_client_id_without_its_secret_does_not_use_the_credentials_of_others() {
    let mut shop = Shop::without_operator(quick(), fast()).await;
    let thief = Sandbox::new().await;
    shop.also_watched = vec![thief.namespace.clone()];
    shop.start_operator();
    shop.put_project_and_secrets().await;
    shop.deploy().await;

    thief.put_secret(CREDENTIALS, &[("clientId", "dev-client"), ("clientSecret", "a guess")]).await;
    thief.put_secret(SECRET, &[("token", "token-of-the-thief")]).await;
    thief.apply(&shop.project()).await.unwrap();
    thief.apply(&with_spec(shop.deployment(), &json!({"adoptionPolicy": "Adopt"}))).await.unwrap();
    thief.until_reason(NAME, "CredentialsRejected").await;

    // The project that knows the client secret re-applies its spec, and both continue as before.
    shop.sandbox.change(&shop.project(), &json!({"spec": {"requestsPerSecond": 500}})).await.unwrap();
    shop.put_token("next-token-of-the-shop").await;
    shop.until("the next token is live", |object| {
        let applied = state(object).applied;
        applied.is_some_and(|applied| applied.from_version.is_some())
    })
    .await;
    let theirs = thief.objects::<ConnectorDeployment>().get(NAME).await.unwrap();
    assert!(theirs.status.is_some_and(|status| status.id.is_none()), "nothing was created or adopted");
    assert_eq!(shop.calls("createDeployment"), 1);
}

#[tokio::test]
async fn names_that_leave_the_namespace_are_refused() {
    let sandbox = Sandbox::new().await;
    let key = |name: &str, from: &str| {
        let (list, reference) = match from {
            "Secret" => ("securedConfiguration", "secretKeyRef"),
            _ => ("standardConfiguration", "configMapKeyRef"),
        };
        let reference = json!({reference: {"name": name, "key": "token"}});
        json!({"configurations": [{"applicationName": "service", list: [{"key": "A", "valueFrom": reference}]}]})
    };
    let whole = |name: &str| json!({"configurationFrom": [{"secretRef": {"name": name}}]});
    for name in ["other/tax", "../other/tax", "..", ".", "../../secrets/tax", "tax?x=1", "tax#x", "tax%2Fx", "", "Tax"]
    {
        for (field, manifest) in [
            ("a key of a Secret", with_spec(deployment("refused"), &key(name, "Secret"))),
            ("a key of a ConfigMap", with_spec(deployment("refused"), &key(name, "ConfigMap"))),
            ("a whole Secret", with_spec(deployment("refused"), &whole(name))),
            ("a project", with_spec(deployment("refused"), &json!({"projectRef": {"name": name}}))),
            ("outputs", with_spec(deployment("refused"), &json!({"outputs": {"configMap": {"name": name}}}))),
            ("credentials", with_spec(project("refused"), &json!({"credentialsSecretRef": {"name": name}}))),
        ] {
            let refusal = sandbox.apply(&manifest).await.expect_err(field);
            assert!(
                refusal.contains("should match") || refusal.contains("at least 1 chars"),
                "{field} {name}: {refusal}"
            );
        }
    }
    for (field, spec) in [
        ("projectRef", json!({"projectRef": {"name": PROJECT, "namespace": "other"}})),
        ("outputs", json!({"outputs": {"configMap": {"name": "outputs", "namespace": "other"}}})),
    ] {
        let refusal = sandbox.apply(&with_spec(deployment("refused"), &spec)).await.expect_err(field);
        assert!(refusal.contains("field not declared in schema"), "{field}: {refusal}");
    }
}
