//! Secrets that are created later than the resources that need them, as by External Secrets or Sealed Secrets.

use super::{dev_server_of, foreign, seen_by};
use crate::prelude::*;

#[tokio::test]
async fn resources_wait_for_secrets_of_another_controller_and_continue_without_a_change() {
    let shop = dev_server_of().await;
    foreign::install(&shop.sandbox).await;
    for file in ["resources.yaml", "external-secrets.yaml", "sealed-secrets.yaml"] {
        let text = text_of(format!("examples/secrets/{file}"));
        let text = text.replace(crate::written::USUAL, &shop.dev.url());
        shop.sandbox.succeed(&["apply", "--server-side", "--validate=strict", "--filename", "-"], &text).await;
    }
    shop.until_project("it waits for its Secret", |project| reason(project) == "SecretMissing").await;
    assert_eq!(seen_by(&shop.sandbox, "connectproject").await, [("InProgress".into(), "Progressing".into())]);

    // The Secrets that the other controllers would create, by name and keys.
    let names = |file: &str| {
        let text = text_of(format!("examples/secrets/{file}"));
        let keys = |manifest: &Value| match manifest["spec"]["data"].as_array() {
            Some(data) => data.iter().map(|entry| entry["secretKey"].as_str().unwrap().to_owned()).collect::<Vec<_>>(),
            None => manifest["spec"]["encryptedData"].as_object().unwrap().keys().cloned().collect(),
        };
        documents(&text).iter().map(|one| (one["metadata"]["name"].clone(), keys(one))).collect::<Vec<_>>()
    };
    let expected = [
        (json!(CREDENTIALS), vec!["clientId".to_owned(), "clientSecret".to_owned()]),
        (json!(SECRET), vec!["API_TOKEN".to_owned()]),
    ];
    assert_eq!(names("external-secrets.yaml"), expected);
    assert_eq!(names("sealed-secrets.yaml"), expected);
    shop.put_credentials("dev-client").await;
    shop.until_reason("SecretMissing").await;
    assert_eq!(seen_by(&shop.sandbox, "connectordeployment").await, [("InProgress".into(), "Progressing".into())]);
    assert_eq!(shop.calls("createDeployment"), 0);
    shop.put_secret(SECRET, &[("API_TOKEN", "first-token-of-the-shop")]).await;
    shop.until_reason("Deployed").await;
    assert_eq!(seen_by(&shop.sandbox, "connectordeployment").await, [("Current".into(), "Healthy".into())], "{NAME}");
    assert_eq!(shop.calls("createDeployment"), 1);
}
