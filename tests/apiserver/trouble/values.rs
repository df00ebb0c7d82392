//! Values that are large, many, or unusual: they arrive unchanged, or are refused before anything is sent.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use connect_operator::operator::reporting::conditions::ready_message;
use dev_server::{Catalogue, Options};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::condition;
use crate::shop::{NAME, SECRET, Shop, fast};

#[tokio::test]
async fn a_large_value_with_special_characters_arrives_unchanged() {
    let shop = Shop::open().await;
    let strange =
        " \"quoted\", 'single', back\\slash, {\"json\": [1, 2]}\r\n\ttab, ünïcödé ✓ 𝄞, $(x) ${y} %20 &amp; \n\n ";
    let value = strange.repeat(30 * 1024 / strange.len() + 1);
    assert!(value.len() >= 30 * 1024);
    shop.put_token(&value).await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    let id = shop.until_reason("Deployed").await.status.and_then(|status| status.id).unwrap();
    let world = shop.dev.world();
    assert_eq!(world.secured_is(&id, Some("service"), "API_TOKEN", &value), Some(true));
    assert_eq!(world.secured_is(&id, Some("service"), "API_TOKEN", value.trim()), Some(false), "blanks count");
}

#[tokio::test]
async fn invisible_characters_at_an_end_of_a_value_are_sent_and_reported_by_one_event() {
    let shop = Shop::open().await;
    shop.put_token("\u{feff}first-token-of-the-shop\n").await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    let id = shop.until_reason("Deployed").await.status.and_then(|status| status.id).unwrap();
    let sent = shop.dev.world().secured_is(&id, Some("service"), "API_TOKEN", "\u{feff}first-token-of-the-shop\n");
    assert_eq!(sent, Some(true), "the value stays as it is");
    shop.until_event("InvisibleCharacters").await;
    let notes = shop.events("InvisibleCharacters").await;
    assert_eq!(notes.len(), 1, "{notes:?}");
    let named = "service/API_TOKEN (secured) (U+FEFF at the start, line break at the end)";
    assert!(notes[0].contains(named) && !notes[0].contains("first-token"), "{notes:?}");

    shop.put_token("second-token-of-the-shop").await;
    let changed = || shop.dev.world().secured_is(&id, Some("service"), "API_TOKEN", "second-token-of-the-shop");
    shop.until("the other value is sent", |_| changed() == Some(true)).await;
    assert_eq!(shop.events("InvisibleCharacters").await.len(), 1, "the other value has none");
}

#[tokio::test]
async fn a_value_that_is_not_utf_8_is_reported_and_nothing_is_sent() {
    let shop = Shop::open().await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET},
        "data": {"token": STANDARD.encode([0x66, 0xff, 0xfe])}});
    let parameters = PatchParams::apply("tester").force();
    shop.api::<Secret>().patch(SECRET, &parameters, &Patch::Apply(secret)).await.unwrap();
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    let object = shop.until_reason("ConfigurationInvalid").await;
    assert_eq!(condition(&object, "Stalled"), Some("True"));
    let message = object.status.as_ref().and_then(|status| ready_message(&status.conditions)).unwrap_or_default();
    assert!(message.contains("key token of Secret tax is not UTF-8"), "{message}");
    assert_eq!(shop.calls("createDeployment"), 0);

    shop.put_token("first-token-of-the-shop").await;
    shop.until_reason("Deployed").await;
    assert_eq!(shop.calls("createDeployment"), 1);
}

/// The most applications that the schema allows, with a hundred values each, half of them secured.
const APPLICATIONS: usize = 64;
const VALUES: usize = 50;

fn application_name(application: usize) -> String {
    format!("application-{application:02}")
}

fn key(value: usize) -> String {
    format!("VALUE_{value:03}")
}

/// A catalogue whose connector declares all of them.
fn catalogue() -> Catalogue {
    let keys = |from: usize, to: usize| (from..to).map(|value| json!({"key": key(value)})).collect::<Vec<_>>();
    let configurations: Vec<Value> = (0..APPLICATIONS)
        .map(|application| {
            json!({"applicationName": application_name(application), "applicationType": "service",
                "standardConfiguration": keys(0, VALUES), "securedConfiguration": keys(VALUES, 2 * VALUES)})
        })
        .collect();
    let large = json!({"connectors": [{"key": "large", "name": "Large", "configurations": configurations}]});
    Catalogue::built_in().and(Catalogue::parse(&large.to_string()).unwrap())
}

fn value(application: usize, value: usize) -> String {
    format!("value {value} of application {application}")
}

#[tokio::test]
async fn sixty_four_applications_with_a_hundred_values_each_are_one_create_and_one_redeploy() {
    let options = Options {
        catalogue: catalogue(),
        deploy_duration: std::time::Duration::from_millis(200),
        ..Options::default()
    };
    let shop = Shop::with(options, fast()).await;
    let mut data = String::new();
    let mut configurations = Vec::new();
    for application in 0..APPLICATIONS {
        let mut standard = Vec::new();
        let mut secured = Vec::new();
        for number in 0..VALUES {
            standard.push(json!({"key": key(number), "value": value(application, number)}));
            let name = format!("{application}.{number}");
            write!(data, "{}{:?}: {:?}", if data.is_empty() { "" } else { "," }, name, value(application, number))
                .unwrap();
            let reference = json!({"secretKeyRef": {"name": SECRET, "key": name}});
            secured.push(json!({"key": key(VALUES + number), "valueFrom": reference}));
        }
        configurations.push(json!({"applicationName": application_name(application),
            "standardConfiguration": standard, "securedConfiguration": secured}));
    }
    let secret = format!(
        r#"{{"apiVersion": "v1", "kind": "Secret", "metadata": {{"name": "{SECRET}"}}, "stringData": {{{data}}}}}"#
    );
    let mut deployment = shop.deployment();
    deployment["spec"]["connector"] = json!({"key": "large"});
    deployment["spec"]["configurations"] = json!(configurations);
    for manifest in [&secret, &deployment.to_string()] {
        // The annotation of a client-side apply would be too large.
        let arguments = ["apply", "--server-side", "--filename", "-"];
        let output = shop.sandbox.kubectl(&arguments, manifest).await;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let id = shop.until_reason("Deployed").await.status.and_then(|status| status.id).unwrap();
    {
        let world = shop.dev.world();
        for application in 0..APPLICATIONS {
            for number in 0..VALUES {
                let (name, key) = (application_name(application), key(VALUES + number));
                let arrived = world.secured_is(&id, Some(&name), &key, &value(application, number));
                assert_eq!(arrived, Some(true), "{name} {key}");
            }
        }
    }
    let change =
        json!([{"op": "replace", "path": "/spec/configurations/63/standardConfiguration/49/value", "value": "new"}]);
    let patch = Patch::<()>::Json(serde_json::from_value(change).unwrap());
    let deployments = shop.api::<connect_operator::crd::ConnectorDeployment>();
    deployments.patch(NAME, &PatchParams::default(), &patch).await.unwrap();
    // For the generation of the change, so after its redeploy.
    shop.until_reason("Deployed").await;
    assert_eq!((shop.calls("createDeployment"), shop.calls("updateDeploymentById")), (1, 1));
}
