//! Resources that use a `ClusterConnectProject`.

use super::*;
use crate::prelude::*;
use crate::rules::sharing::{SHARED, closed, label, of_team, shared, sharing};

async fn planned(shop: &Shop, own: &Sandbox, manifests: &[Value], more: &[&str]) -> (Option<i32>, Value) {
    let more = [&["-o", "json", "--operator-namespace", &own.namespace], more].concat();
    let planned = plan_as(shop, &shop.sandbox.kubeconfig(), manifests, &more).await;
    (planned.code, planned.json())
}

/// Returns the exit code, and what would happen to the only deployment.
async fn of_one(shop: &Shop, own: &Sandbox, manifests: &[Value], more: &[&str]) -> (Option<i32>, String, String) {
    let (code, plan) = planned(shop, own, manifests, more).await;
    let [deployment] = plan["deployments"].as_array().unwrap().as_slice() else { panic!("{plan:#}") };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let reason = text(&deployment["problem"]["reason"]);
    let what = if reason.is_empty() { text(&deployment["action"]) } else { reason };
    (code, what, text(&deployment["problem"]["message"]))
}

#[tokio::test]
async fn rule_29_a_plan_predicts_who_may_use_a_shared_project() {
    let (mut shop, own) = closed().await;
    let nobody = shared(&shop, &json!({}));
    let by_label = shared(&shop, &of_team("tax"));
    let by_name = shared(&shop, &json!({"from": "Names", "names": [shop.sandbox.namespace]}));
    let deployment = sharing(&shop, &json!({}));
    let name = &shop.sandbox.namespace.clone();
    let namespace =
        |labels: Value| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
    let tax = || namespace(json!({"team": "tax"}));
    let (missing, denied) = ("ProjectMissing", "ProjectNotAllowed");
    for (case, manifests, code, expected) in [
        ("no such project", vec![deployment.clone()], 1, missing),
        ("nobody may use it", vec![nobody, deployment.clone()], 1, denied),
        ("by its name", vec![by_name.clone(), deployment.clone()], 2, "create"),
        ("without the label", vec![by_label.clone(), deployment.clone()], 1, denied),
        ("with the label", vec![by_label.clone(), tax(), deployment.clone()], 2, "create"),
        ("with another one", vec![by_label.clone(), namespace(json!({"team": "oms"})), deployment.clone()], 1, denied),
    ] {
        let (found, what, message) = of_one(&shop, &own, &manifests, &[]).await;
        assert_eq!((found, what.as_str()), (Some(code), expected), "{case}: {message}");
    }

    // What is in the cluster counts, too: the project, the label, and the deployment that the manifests do not name.
    shop.sandbox.apply(&by_label).await.unwrap();
    shop.sandbox.apply(&deployment).await.unwrap();
    for (case, manifest) in [("it gets the label", tax()), ("it is named", by_name)] {
        let (found, what, message) = of_one(&shop, &own, &[manifest], &[]).await;
        assert_eq!((found, what.as_str()), (Some(2), "create"), "{case}: {message}");
    }
    label(&shop.sandbox, Some("tax")).await;
    shop.start_operator();
    shop.until_reason("Deployed").await;
    shop.stop_operator().await;
    let nowhere = with_spec(by_label.clone(), &json!({"credentialsSecretRef": {"name": "nowhere"}}));
    let elsewhere = shared(&shop, &of_team("oms"));
    let level = with_spec(shop.with_level("debug"), &json!({"projectRef": deployment["spec"]["projectRef"]}));
    for (case, manifests, code, expected, words) in [
        ("nothing changes", vec![deployment.clone()], 0, "none", ""),
        ("a value", vec![level], 2, "redeploy", ""),
        (
            "other credentials",
            vec![nowhere, deployment.clone()],
            1,
            "ProjectNotReady",
            "shared cannot be used (SecretMissing)",
        ),
        (
            "it may not any more",
            vec![elsewhere, deployment.clone()],
            1,
            denied,
            "spec.allowedNamespaces does not include",
        ),
    ] {
        let (found, what, message) = of_one(&shop, &own, &manifests, &[]).await;
        assert_eq!((found, what.as_str()), (Some(code), expected), "{case}: {message}");
        assert!(message.contains(words), "{case}: {message}");
    }
    as_a_user(&shop, &own, &deployment).await;
}

/// Users of a namespace may read neither the project nor its credentials, unless they are given the right.
async fn as_a_user(shop: &Shop, own: &Sandbox, deployment: &Value) {
    let sandbox = &shop.sandbox;
    let every = "--resource=connectordeployments,connectorstageds,connectprojects,secrets,configmaps";
    sandbox.succeed(&["create", "role", "user", "--verb=get,list,patch,create", every], "").await;
    let bind = ["create", "rolebinding", "user", "--role=user", "--user=jane", "--output=json"];
    let binding = sandbox.succeed(&bind, "").await;
    sandbox.until_granted(&serde_json::from_str(&binding).unwrap()).await;
    let jane = ["--as", "jane"];
    let (code, what, message) = of_one(shop, own, std::slice::from_ref(deployment), &jane).await;
    assert_eq!((code, what.as_str()), (Some(1), "KubernetesError"), "{message}");
    assert!(message.starts_with("you may not read what it needs") && message.contains(SHARED), "{message}");

    let named = format!("--resource-name={SHARED}");
    sandbox
        .succeed(&["create", "clusterrole", "user", "--verb=get", "--resource=clusterconnectprojects", &named], "")
        .await;
    sandbox.succeed(&["create", "clusterrolebinding", "user", "--clusterrole=user", "--user=jane"], "").await;
    let secret = format!("cannot get resource \"secrets\" in API group \"\" in the namespace \"{}\"", own.namespace);
    // The API server evaluates a new binding within moments.
    let evaluated = async {
        loop {
            let (code, plan) = planned(shop, own, std::slice::from_ref(deployment), &jane).await;
            let message = plan["deployments"][0]["problem"]["message"].as_str().unwrap_or_default();
            if message.contains(&secret) {
                return (code, plan);
            }
        }
    };
    let (code, plan) = crate::patience::in_time(evaluated).await.expect("the binding takes effect");
    assert_eq!(code, Some(1));
    let notes = plan["notes"].to_string();
    assert!(notes.contains("you may not read the Namespace"), "{notes}");
}
