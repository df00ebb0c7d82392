//! The API server refuses requests of the operator: the resource reports which one, and continues once it is granted.

use connect_operator::operator::deployment::state::shown;

use super::cluster::options;
use crate::prelude::*;

const ACCOUNT: &str = "connect-operator";
const OUTPUTS: &str = "outputs";

/// Rules that grant everything on the operator's kinds, and what every reconcile needs.
fn first_rules() -> Vec<Value> {
    let ours = ["actionchecks", "connectordeployments", "connectorstageds", "connectprojects"];
    let all: Vec<String> = ours.iter().flat_map(|it| [(*it).to_owned(), format!("{it}/status")]).collect();
    vec![
        json!({"apiGroups": [names::GROUP], "resources": all, "verbs": ["get", "list", "watch", "patch", "update"]}),
        json!({"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["list", "watch"]}),
        json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}),
    ]
}

fn getting(resource: &str, name: &str) -> Value {
    json!({"apiGroups": [""], "resources": [resource], "resourceNames": [name], "verbs": ["get"]})
}

/// Grants the account exactly these rights.
async fn grant(sandbox: &Sandbox, rules: &[Value]) {
    sandbox.grant(&json!({"kind": "ServiceAccount", "name": ACCOUNT, "namespace": sandbox.namespace}), rules).await;
}

async fn account(sandbox: &Sandbox, rules: &[Value]) -> Client {
    sandbox.succeed(&["create", "serviceaccount", ACCOUNT], "").await;
    grant(sandbox, rules).await;
    client_of(sandbox).await
}

/// A shop whose operator has not started yet, on a stepped clock.
async fn closed() -> Shop {
    let shop = Shop::without_operator(options(), stepped()).await;
    shop.put_credentials("dev-client").await;
    shop.put_token("first-token-of-the-shop").await;
    shop
}

fn with_outputs(shop: &Shop) -> Value {
    with_spec(shop.deployment(), &json!({"outputs": {"configMap": {"name": OUTPUTS}}}))
}

#[tokio::test]
async fn a_missing_right_is_reported_and_used_once_it_is_granted() {
    let mut shop = closed().await;
    let mut rules = first_rules();
    let client = account(&shop.sandbox, &rules).await;
    shop.sandbox.apply(&shop.project()).await.unwrap();
    shop.start_operator_as(client);

    let refused = "cannot get resource \"secrets\"";
    until_reported_with::<ConnectProject>(&shop, PROJECT, "KubernetesError", &["get Secret shop-credentials", refused])
        .await;
    rules.push(getting("secrets", CREDENTIALS));
    grant(&shop.sandbox, &rules).await;
    // The copy of the credentials cannot be written, which does not stop the project.
    until_reported_with::<ConnectProject>(&shop, PROJECT, "CredentialsNotKept", &[]).await;

    shop.sandbox.apply(&with_outputs(&shop)).await.unwrap();
    let headers = json!([{"name": "X-Token", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "token"}}}]);
    shop.sandbox.apply(&with_spec(check(&shop), &json!({"headers": headers}))).await.unwrap();
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "KubernetesError", &["get Secret tax", refused]).await;
    until_reported_with::<ActionCheck>(&shop, CHECK, "KubernetesError", &["get Secret tax", refused]).await;
    assert_eq!(shop.calls("createDeployment"), 0, "no create without its values");

    rules.extend([getting("secrets", SECRET), getting("configmaps", OUTPUTS)]);
    grant(&shop.sandbox, &rules).await;
    until_reported_with::<ActionCheck>(&shop, CHECK, "CheckPassed", &[]).await;
    let words = ["create ConfigMap outputs", "cannot create resource \"configmaps\""];
    let live = until_reported_with::<ConnectorDeployment>(&shop, NAME, "KubernetesError", &words).await.status.unwrap();
    let live = shown(&live);
    assert!(live.applied.is_some() && live.operation.is_none(), "the rest of the status is written: {live:?}");

    rules.push(json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch"]}));
    grant(&shop.sandbox, &rules).await;
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "Deployed", &[]).await;
    assert!(shop.api::<ConfigMap>().get_opt(OUTPUTS).await.unwrap().is_some());
    assert_eq!(shop.calls("createDeployment"), 1);
}

/// A policy that refuses every finalizer in the namespace of `shop`, but not that of its project.
async fn refuse_finalizers(shop: &Shop) {
    let rule = json!({"apiGroups": [names::GROUP], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"],
        "resources": ["connectordeployments", "connectorstageds", "connectprojects"]});
    let expression = format!("object.metadata.name == '{PROJECT}' || !has(object.metadata.finalizers)");
    shop.sandbox.forbid(&[&shop.sandbox.namespace], &rule, &expression, "no finalizers here").await;
    // The policy takes effect a little later.
    let mut probe = named(shop.project(), "probe");
    probe["metadata"]["finalizers"] = json!(["example.com/probe"]);
    until("the policy takes effect", async || {
        if shop.sandbox.apply(&probe).await.is_err() {
            return true;
        }
        let none = json!({"metadata": {"finalizers": null}});
        let _ = shop.sandbox.change(&probe, &none).await;
        shop.sandbox.succeed(&["delete", "ctp", "probe"], "").await;
        false
    })
    .await;
}

#[tokio::test]
async fn a_policy_that_refuses_the_finalizer_is_reported_on_every_kind_and_nothing_is_sent() {
    let mut shop = closed().await;
    refuse_finalizers(&shop).await;
    let other = named(shop.project(), "other");
    let of_other = named(with_spec(shop.deployment(), &json!({"projectRef": {"name": "other"}})), "of-other");
    for manifest in [shop.project(), other, with_outputs(&shop), of_other, kit()] {
        shop.sandbox.apply(&manifest).await.unwrap();
    }
    shop.start_operator();
    let words = ["patch the finalizers", "no finalizers here"];
    until_reported_with::<ConnectProject>(&shop, "other", "KubernetesError", &words).await;
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "KubernetesError", &words).await;
    until_reported_with::<ConnectorDeployment>(&shop, "of-other", "ProjectNotReady", &words).await;
    until_reported_with::<ConnectorStaged>(&shop, KIT, "KubernetesError", &words).await;
    assert_eq!((shop.calls("createDeployment"), shop.calls("createConnectorStaged")), (0, 0));
    let binding = ["delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", &shop.sandbox.namespace];
    shop.sandbox.succeed(&binding, "").await;
    until_reported_with::<ConnectProject>(&shop, "other", "Available", &[]).await;
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "Deployed", &[]).await;
    until_reported_with::<ConnectorDeployment>(&shop, "of-other", "Deployed", &[]).await;
    until_reported_with::<ConnectorStaged>(&shop, KIT, "Staged", &[]).await;
}
