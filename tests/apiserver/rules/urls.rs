//! Rule 8: a value that is the URL of an application of the same deployment, which exists only once it is deployed.

use connect_api::model::{ApplicationDeployment, ApplicationType, DeclaredApplication, Deployment};

use crate::prelude::*;

/// After this time no effect of the last write is expected any more.
const LATE: Duration = Duration::from_mins(5);
/// Longer than the minimum time between two 404s that count.
const APART: Duration = Duration::from_secs(31);
const PLACEHOLDER: &str = "https://placeholder.example.com";

fn url_of(key: &str, application: &str, path: &str) -> Value {
    json!({"key": key, "valueFrom": {"applicationUrl": {
        "applicationName": application, "path": path, "placeholder": PLACEHOLDER,
    }}})
}

/// The application of the connector and another one, each with the URL of the other as a value.
fn peers() -> Value {
    let token = json!({"key": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "token"}}});
    json!({"configurations": [
        {
            "applicationName": "service",
            "standardConfiguration": [url_of("PEER_URL", "admin", "/")],
            "securedConfiguration": [token],
        },
        {"applicationName": "admin", "standardConfiguration": [url_of("HOOK_URL", "service", "/hook")]},
    ]})
}

/// The connector of the tests with another application of this type.
fn with_admin(kind: &ApplicationType) -> impl Fn(&mut ConnectorDefinition) {
    let key = |key: &str| StandardKey { key: key.to_owned(), ..StandardKey::default() };
    let admin = DeclaredApplication {
        application_name: "admin".into(),
        application_type: kind.clone(),
        standard_configuration: vec![key("HOOK_URL")],
        secured_configuration: Vec::new(),
    };
    move |connector| {
        connector.configurations[0].standard_configuration.push(key("PEER_URL"));
        connector.configurations.push(admin.clone());
    }
}

async fn open(kind: ApplicationType, variant: Variant) -> Leaping {
    let shop = Leaping::with(Options { variant, ..Options::default() }).await;
    shop.dev.world().raise_connector("demo-connector", false, with_admin(&kind)).unwrap();
    shop
}

fn there(shop: &Leaping) -> Deployment {
    shop.there().remove(0)
}

fn application<'a>(record: &'a Deployment, name: &str) -> &'a ApplicationDeployment {
    record.applications.iter().find(|it| it.application_name == name).expect("the application exists")
}

/// A plain value of an application at the remote.
fn value(record: &Deployment, name: &str, key: &str) -> String {
    let found = application(record, name).standard_configuration.iter().find(|value| value.key == key);
    found.map(|found| found.value.clone()).unwrap_or_default()
}

fn url(record: &Deployment, name: &str) -> String {
    application(record, name).url.clone().expect("a URL")
}

/// Asserts that each application has the URL of the other.
fn assert_resolved(shop: &Leaping) {
    let record = there(shop);
    assert_eq!(value(&record, "service", "PEER_URL"), format!("{}/", url(&record, "admin")));
    assert_eq!(value(&record, "admin", "HOOK_URL"), format!("{}/hook", url(&record, "service")));
}

/// Waits for the create with placeholders, then for one redeploy.
async fn resolves(shop: &Leaping) {
    shop.until("an operation is accepted", is_accepted).await;
    assert_eq!(value(&there(shop), "service", "PEER_URL"), PLACEHOLDER);
    let between = shop.finish("Redeploying").await;
    assert_ne!(ready(&between).0, "True", "placeholders are not the values of the spec");
    shop.redeployed("Deployed").await;
    assert_resolved(shop);
}

#[tokio::test]
async fn rule_08_applications_get_the_urls_of_each_other_with_one_redeploy_also_over_restarts() {
    for urls_while_busy in [Shown::Shown, Shown::Hidden] {
        let mut shop = open(ApplicationType::Assets, Variant { urls_while_busy, ..Variant::default() }).await;
        let mut spec = peers();
        spec["driftPolicy"] = json!("Correct");
        shop.apply_deployment(&spec).await;
        resolves(&shop).await;
        let live = shop.pass(LATE).await;
        assert_eq!(ready(&live), ("True", "Deployed"));
        assert_eq!(shop.sent(), [1, 1, 0], "{urls_while_busy:?}");

        shop.restart_operator().await;
        shop.pass(LATE).await;
        assert_eq!(shop.sent(), [1, 1, 0], "{urls_while_busy:?}: a restart sends nothing");

        // A redeploy for another reason sends the same URLs, and so does one that a restart interrupts.
        shop.put_token("second-token-of-the-shop").await;
        shop.gathered().await;
        shop.until("an operation is accepted", is_accepted).await;
        let known = status(&shop.get().await).applications.iter().filter(|it| it.url.is_some()).count();
        assert_eq!(known, 2, "{urls_while_busy:?}: URLs that a read does not return are kept");
        shop.restart_operator().await;
        shop.finish("Deployed").await;
        assert_resolved(&shop);
        shop.pass(LATE).await;
        assert_eq!(shop.sent(), [1, 2, 0], "{urls_while_busy:?}");

        // It is deleted outside the operator and created again: other URLs, one redeploy.
        let first = there(&shop);
        shop.dev.world().remove(&first.id, shop.dev.now()).unwrap();
        shop.reconcile_again().await;
        shop.pass(APART).await;
        resolves(&shop).await;
        assert_ne!(url(&there(&shop), "service"), url(&first, "service"));
        shop.pass(LATE).await;
        assert_eq!(shop.sent(), [2, 3, 0], "{urls_while_busy:?}");
    }
}

#[tokio::test]
async fn rule_08_an_application_without_a_url_keeps_it_unready_and_sends_nothing() {
    // It is not known whether such an application ever gets a URL.
    let shop = open(ApplicationType::Other("satellite".into()), Variant::default()).await;
    shop.apply_deployment(&peers()).await;
    shop.finish("Redeploying").await;
    let waits = shop.redeployed("WaitingForApplicationUrl").await;
    assert_eq!(ready(&waits).0, "False");
    let why = "service/PEER_URL (the URL of application admin, which shows none yet";
    assert!(message(&waits).contains(why), "{}", message(&waits));
    assert!(!message(&waits).contains("HOOK_URL"), "that URL is known: {}", message(&waits));
    let after = shop.pass(LATE).await;
    assert_eq!(ready(&after), ("False", "WaitingForApplicationUrl"));
    assert_eq!(shop.sent(), [1, 1, 0]);

    // Another value replaces the URL.
    let mut spec = peers();
    spec["configurations"][0]["standardConfiguration"] =
        json!([{"key": "PEER_URL", "value": "https://peer.example.com"}]);
    shop.redeploy(&json!({"spec": spec}), "Deployed").await;
    assert_eq!(value(&there(&shop), "service", "PEER_URL"), "https://peer.example.com");
    assert_eq!(shop.sent(), [1, 2, 0]);
}

#[tokio::test]
async fn rule_08_the_url_of_an_application_that_never_has_one_is_rejected_before_anything_is_sent() {
    let shop = open(ApplicationType::Event, Variant::default()).await;
    shop.apply_deployment(&peers()).await;
    let reported = shop.until_reason("ConfigurationInvalid").await;
    let why = "service/PEER_URL takes the URL of application admin, which is of type event and never has one";
    assert!(message(&reported).contains(why), "{}", message(&reported));
    assert_eq!(shop.sent(), [0, 0, 0]);
}
