//! Secrets that exist and may not be used: the resource reports which one and why, nothing is sent, and it continues
//! once it may.

use connect_operator::operator::cluster::objects::secret::Policy;

use super::cluster::options;
use crate::checks;
use crate::prelude::*;

/// A check with a header from the Secret of the deployment.
fn check(shop: &Shop) -> Value {
    let headers = json!([{"name": "X-Token", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "token"}}}]);
    with_spec(checks::check(shop), &json!({"headers": headers}))
}

async fn label(shop: &Shop, secret: &str) {
    shop.sandbox.succeed(&["label", "secret", secret, "connect-operator.io/use=true"], "").await;
}

#[tokio::test]
async fn a_service_account_token_is_sent_nowhere() {
    let mut shop = Shop::without_operator(options(), stepped()).await;
    let token = |name: &str, data: Value| -> Secret {
        let account = json!({"kubernetes.io/service-account.name": "default"});
        let secret = json!({"metadata": {"name": name, "annotations": account}, "stringData": data,
            "type": "kubernetes.io/service-account-token"});
        serde_json::from_value(secret).unwrap()
    };
    let secrets = shop.api::<Secret>();
    for (name, data) in [
        (CREDENTIALS, json!({"clientId": "dev-client", "clientSecret": "dev-secret"})),
        (SECRET, json!({"token": "token-of-a-service-account"})),
    ] {
        secrets.create(&PostParams::default(), &token(name, data)).await.unwrap();
    }
    for manifest in [shop.project(), shop.deployment(), check(&shop)] {
        shop.sandbox.apply(&manifest).await.unwrap();
    }
    shop.start_operator();
    let kind = "of type kubernetes.io/service-account-token";
    until_reported_with::<ConnectProject>(&shop, PROJECT, "ConfigurationInvalid", &["Secret shop-credentials", kind])
        .await;
    until_reported_with::<ActionCheck>(&shop, CHECK, "ConfigurationInvalid", &["Secret tax", kind]).await;
    assert_eq!(shop.calls("token"), 0);

    secrets.delete(CREDENTIALS, &DeleteParams::default()).await.unwrap();
    shop.put_credentials("dev-client").await;
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "ConfigurationInvalid", &["Secret tax", kind]).await;
    assert_eq!(shop.calls("createDeployment"), 0);

    secrets.delete(SECRET, &DeleteParams::default()).await.unwrap();
    shop.put_token("first-token-of-the-shop").await;
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "Deployed", &[]).await;
    until_reported_with::<ActionCheck>(&shop, CHECK, "CheckPassed", &[]).await;
}

#[tokio::test]
async fn with_a_required_label_a_secret_is_used_once_it_has_it() {
    let mut shop = Shop::without_operator(options(), stepped()).await;
    shop.secrets = Policy { require_label: true, ..Policy::default() };
    shop.operator_namespace = shop.sandbox.another().await.namespace;
    shop.put_credentials("dev-client").await;
    shop.put_token("first-token-of-the-shop").await;
    for manifest in [shop.project(), shop.deployment(), check(&shop)] {
        shop.sandbox.apply(&manifest).await.unwrap();
    }
    shop.start_operator();
    let lacks = "lacks the label connect-operator.io/use=true";
    until_reported_with::<ConnectProject>(&shop, PROJECT, "ConfigurationInvalid", &["Secret shop-credentials", lacks])
        .await;
    until_reported_with::<ActionCheck>(&shop, CHECK, "ConfigurationInvalid", &["Secret tax", lacks]).await;
    assert_eq!(shop.calls("token"), 0);

    label(&shop, CREDENTIALS).await;
    until_reported_with::<ConnectProject>(&shop, PROJECT, "Available", &[]).await;
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "ConfigurationInvalid", &["Secret tax", lacks]).await;
    assert_eq!(shop.calls("createDeployment"), 0);

    label(&shop, SECRET).await;
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "Deployed", &[]).await;
    until_reported_with::<ActionCheck>(&shop, CHECK, "CheckPassed", &[]).await;

    // Rule 24: the copy needs no label, and suffices for the deletion.
    assert_eq!(shop.copies().await.len(), 1);
    shop.sandbox.succeed(&["delete", "ctp", PROJECT, "--wait=false"], "").await;
    shop.api::<Secret>().delete(CREDENTIALS, &DeleteParams::default()).await.unwrap();
    shop.delete().await;
    meanwhile(&shop.clock, FINE, shop.until_gone()).await;
    assert_eq!(shop.calls("deleteDeploymentById"), 1);
}
