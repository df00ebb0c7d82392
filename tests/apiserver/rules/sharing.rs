//! Rule 29: who may use a `ClusterConnectProject`. Every operator with shared projects works on all of them, so each of these
//! tests has a cluster of its own.

use connect_operator::crd::ClusterConnectProject;

use crate::chart::rights::give;
use crate::prelude::*;
use crate::reported;
use crate::requests::Requests;

pub(crate) const SHARED: &str = "shared";

/// A shop without a project in a cluster of its own, and the namespace of its operator, which the operator does not watch.
pub(crate) async fn closed() -> (Shop, Sandbox) {
    let sandbox = Sandbox::with_definitions(crd::all()).await;
    let own = sandbox.another().await;
    let mut shop = Shop::on(sandbox, quick(), fast()).await;
    shop.operator_namespace.clone_from(&own.namespace);
    shop.cluster_projects = true;
    own.put_credentials("dev-client").await;
    shop.put_token("first-token-of-the-shop").await;
    (shop, own)
}

/// The shared projects of the cluster.
pub(crate) fn shared_projects(shop: &Shop) -> Api<ClusterConnectProject> {
    Api::all(shop.sandbox.client.clone())
}

/// Those that have a label `team` with this value.
pub(crate) fn of_team(team: &str) -> Value {
    json!({"from": "Selector", "selector": {"matchLabels": {"team": team}}})
}

/// A shared project that allows these namespaces.
pub(crate) fn shared(shop: &Shop, allowed: &Value) -> Value {
    let mut manifest = named(shop.project(), SHARED);
    manifest["kind"] = json!("ClusterConnectProject");
    with_spec(manifest, &json!({"allowedNamespaces": allowed}))
}

/// A deployment that uses the shared project.
pub(crate) fn sharing(shop: &Shop, change: &Value) -> Value {
    let project = json!({"projectRef": {"kind": "ClusterConnectProject", "name": SHARED}});
    with_spec(with_spec(shop.deployment(), &project), change)
}

pub(crate) async fn label(sandbox: &Sandbox, team: Option<&str>) {
    let patch = Patch::Merge(json!({"metadata": {"labels": {"team": team}}}));
    let namespaces = Api::<Namespace>::all(sandbox.client.clone());
    namespaces.patch(&sandbox.namespace, &PatchParams::default(), &patch).await.unwrap();
}

/// Returns the message of the shared project once it has this reason.
pub(crate) async fn until_shared(shop: &Shop, reason: &str, words: &str) -> ClusterConnectProject {
    let is = |object: Option<&ClusterConnectProject>| {
        object.is_some_and(|object| reported::reason(object) == reason && message(object).contains(words))
    };
    let api = shared_projects(shop);
    let seen = in_time(awaited(api.clone(), SHARED, is)).await;
    let Ok(found) = seen else { panic!("not in time: {reason} {words}\n{:#?}", api.get_opt(SHARED).await) };
    found.expect("it exists")
}

/// Calls of the remote, without those that the shared project needs itself: its token, and the LIST that proves that its
/// credentials are valid.
fn calls(shop: &Shop) -> BTreeMap<String, u64> {
    let counts = shop.dev.counts().into_iter().map(|(operation, count)| (operation.to_string(), count));
    counts.filter(|(operation, _)| !["token", "queryDeployments"].contains(&operation.as_str())).collect()
}

#[tokio::test]
async fn rule_29_a_namespace_uses_a_shared_project_only_while_it_is_allowed() {
    let (mut shop, own) = closed().await;
    // With exactly the rights of the chart.
    give(&own, &format!("watchNamespaces={{{}}},clusterProjects.enabled=true", shop.sandbox.namespace)).await;
    shop.start_operator_as(client_of(&own).await);
    // Not the credentials of the project, although the name is the same.
    shop.put_secret(CREDENTIALS, &[("clientId", "dev-client"), ("clientSecret", "a guess")]).await;
    shop.sandbox.apply(&shared(&shop, &json!({}))).await.unwrap();
    until_shared(&shop, "Available", "").await;

    // By default, nobody is allowed.
    shop.sandbox.apply(&sharing(&shop, &json!({}))).await.unwrap();
    let reference = json!({"projectRef": {"kind": "ClusterConnectProject", "name": SHARED}});
    for manifest in [kit(), check(&shop)] {
        shop.sandbox.apply(&with_spec(manifest, &reference)).await.unwrap();
    }
    let denied = shop.until_reason("ProjectNotAllowed").await;
    shop.until_reason_of::<ConnectorStaged>(KIT, "ProjectNotAllowed").await;
    shop.until_reason_of::<ActionCheck>(CHECK, "ProjectNotAllowed").await;
    assert_eq!(denied.finalizers(), [""; 0], "there is nothing that a finalizer would protect");
    for (kind, name) in [("connectorstaged", KIT), ("actioncheck", CHECK)] {
        shop.sandbox.succeed(&["delete", kind, name], "").await;
    }
    assert_eq!(calls(&shop), BTreeMap::new(), "not a single call");

    // A selector that does not match changes nothing; the label of the namespace does.
    shop.sandbox.apply(&shared(&shop, &of_team("tax"))).await.unwrap();
    label(&shop.sandbox, Some("tax")).await;
    shop.until_reason("Deployed").await;
    assert_eq!(shop.calls("createDeployment"), 1);

    // Without the label, nothing is sent: neither a change nor the deletion.
    label(&shop.sandbox, None).await;
    shop.until_reason("ProjectNotAllowed").await;
    let before = calls(&shop);
    shop.put_token("second-token-of-the-shop").await;
    shop.change_until(&json!({"spec": {"interval": "10m"}}), "ProjectNotAllowed").await;
    shop.delete().await;
    shop.until("its deletion waits", |object| {
        let observed = object.status.as_ref().map(|status| status.observed_generation);
        object.metadata.deletion_timestamp.is_some() && observed == object.metadata.generation
    })
    .await;
    assert_eq!(calls(&shop), before, "not a single call");

    // Deleted before everything else is: the project stays as long as something exists that it created.
    shared_projects(&shop).delete(SHARED, &DeleteParams::default()).await.unwrap();
    until_shared(&shop, "InUse", "1 ConnectorDeployment that names it").await;
    // Its credentials are followed in the namespace of the operator, which this install does not watch otherwise.
    own.put_secret(CREDENTIALS, &[("clientId", "dev-client"), ("clientSecret", "wrong")]).await;
    until_shared(&shop, "CredentialsRejected", "").await;
    own.put_credentials("dev-client").await;
    until_shared(&shop, "InUse", "").await;
    let every = json!({"spec": {"allowedNamespaces": {"from": "All", "selector": null}}});
    shop.sandbox.change(&shared(&shop, &json!({})), &every).await.unwrap();
    shop.until_gone().await;
    assert_eq!(shop.calls("deleteDeploymentById"), 1);
    until_deleted(shared_projects(&shop), SHARED).await;
}

/// What is not known to have been created holds the project as well, also for a namespace that may not use it any more.
#[tokio::test]
async fn rule_24_a_shared_project_stays_for_a_create_that_may_have_arrived() {
    let (mut shop, _own) = closed().await;
    shop.start_operator();
    shop.sandbox.apply(&shared(&shop, &of_team("tax"))).await.unwrap();
    label(&shop.sandbox, Some("tax")).await;
    until_shared(&shop, "Available", "").await;
    let lost = Fault::of("createDeployment", FaultAnswer { delay_ms: 600_000, ..FaultAnswer::default() });
    shop.dev.fault(lost.after_the_effect().times(1)).unwrap();
    shop.sandbox.apply(&sharing(&shop, &json!({}))).await.unwrap();
    let begun = |object: &ConnectorDeployment| object.status.is_some() && state(object).operation.is_some();
    let object = shop.until("its create has begun", begun).await;
    assert_eq!(object.status.unwrap().id, None, "nobody knows what became of it");

    label(&shop.sandbox, None).await;
    shared_projects(&shop).delete(SHARED, &DeleteParams::default()).await.unwrap();
    until_shared(&shop, "InUse", "1 ConnectorDeployment that names it").await;

    label(&shop.sandbox, Some("tax")).await;
    shop.delete_wholly().await;
    assert_eq!(shop.sent(), [1, 0, 1]);
    until_deleted(shared_projects(&shop), SHARED).await;
}

#[tokio::test]
async fn rule_29_keys_are_compared_across_shared_projects_and_a_namespace_that_is_not_allowed_claims_none() {
    let (mut shop, _own) = closed().await;
    let (allowed, denied) = (shop.sandbox.another().await, shop.sandbox.another().await);
    shop.also_watched = vec![allowed.namespace.clone(), denied.namespace.clone()];
    shop.start_operator();
    for sandbox in [&allowed, &denied] {
        sandbox.put_secret(SECRET, &[("token", "token-of-another-team")]).await;
    }
    shop.put_credentials("dev-client").await;
    shop.sandbox.apply(&shop.project()).await.unwrap();
    shop.sandbox.apply(&shared(&shop, &json!({"from": "Names", "names": [allowed.namespace]}))).await.unwrap();

    // One remote project, through a project of a namespace and through the shared one.
    shop.apply_until(&with_spec(shop.deployment(), &json!({"key": "same"})), "Deployed").await;
    allowed.apply(&sharing(&shop, &json!({"key": "same"}))).await.unwrap();
    allowed.until_reason(NAME, "KeyConflict").await;

    // The older resource is not allowed: it learns nothing of the others, and the key is free.
    denied.apply(&sharing(&shop, &json!({"key": "same"}))).await.unwrap();
    denied.until_reason(NAME, "ProjectNotAllowed").await;
    let second = named(sharing(&shop, &json!({"key": "wanted"})), "second");
    denied.apply(&second).await.unwrap();
    denied.until_reason("second", "ProjectNotAllowed").await;
    allowed.apply(&second).await.unwrap();
    allowed.until_reason("second", "Deployed").await;
    assert_eq!(shop.calls("createDeployment"), 2);

    // Those that are not allowed do not keep the project from being deleted.
    shared_projects(&shop).delete(SHARED, &DeleteParams::default()).await.unwrap();
    until_shared(&shop, "InUse", "waits for 2 ConnectorDeployments that name it").await;
    for name in [NAME, "second"] {
        allowed.objects::<ConnectorDeployment>().delete(name, &DeleteParams::default()).await.unwrap();
    }
    until_deleted(shared_projects(&shop), SHARED).await;
    assert_eq!(shop.calls("deleteDeploymentById"), 1);
    denied.until_reason(NAME, "ProjectMissing").await;
    assert_eq!(shop.get().await.spec.project_ref.name, PROJECT);
    shop.until_reason("Deployed").await;
}

#[tokio::test]
async fn rule_29_an_install_without_shared_projects_reports_it_and_reads_none() {
    let mut shop = Shop::without_operator(quick(), fast()).await;
    let (requests, client) = Requests::client(&shop.sandbox.client);
    shop.start_operator_as(client);
    let object = shop.apply_until(&sharing(&shop, &json!({})), "ProjectNotAllowed").await;
    assert!(message(&object).contains("--cluster-projects"), "{}", message(&object));
    // It may have no right to.
    let sent = requests.take();
    assert!(!sent.keys().any(|request| request.contains("clusterconnectprojects")), "{sent:?}");
}
