//! Objects that a resource needs do not exist yet: each has a reason, a message that names it, and the resource
//! continues within seconds of its creation.

use crate::prelude::*;
use crate::reported::condition;

/// Maximum time from the event in the cluster to its result, on a clock that hardly advances: a reconcile that waits for
/// a timer instead of the event never starts.
const HEALS_WITHIN: Duration = Duration::from_secs(5);
/// Step of the clock in each beat, because the rate limiter uses it. The sum stays below [`HEALS_WITHIN`] while a test
/// waits.
const HARDLY: Duration = Duration::from_micros(100);

/// What appears, one after the other, and what the deployment reports then.
#[derive(Clone, Copy, Debug)]
enum Appears {
    Project,
    /// Credentials with this id and secret.
    Credentials(Option<&'static str>, &'static str),
    /// A Secret with this key.
    Secret(&'static str),
    ConfigMap,
}

const ROWS: [(Appears, &str, &[&str]); 7] = [
    (Appears::Project, "ProjectNotReady", &[CREDENTIALS]),
    (Appears::Credentials(None, "dev-secret"), "ProjectNotReady", &[CREDENTIALS, "clientId"]),
    (Appears::Credentials(Some("dev-client"), ""), "ProjectNotReady", &[CREDENTIALS, "clientSecret"]),
    (
        Appears::Credentials(Some("dev-client"), "dev-secret"),
        "SecretMissing",
        &["Secret tax", "; ConfigMap settings does not exist in this namespace"],
    ),
    (
        Appears::Secret("other"),
        "SecretMissing",
        &["Secret tax has no key token (needed by API_TOKEN of application service)"],
    ),
    (Appears::Secret("token"), "ConfigMapMissing", &["ConfigMap settings"]),
    (Appears::ConfigMap, "Deployed", &[]),
];

impl Appears {
    async fn create(self, shop: &Shop) {
        match self {
            Self::Project => drop(shop.sandbox.apply(&shop.project()).await.unwrap()),
            Self::Credentials(id, secret) => {
                let id = id.map(|id| ("clientId", id));
                let data: Vec<_> = id.into_iter().chain([("clientSecret", secret)]).collect();
                shop.put_secret(CREDENTIALS, &data).await;
            }
            Self::Secret(key) => shop.put_secret(SECRET, &[(key, "first-token-of-the-shop")]).await,
            Self::ConfigMap => shop.put_config_map("settings", &[("level", "info")]).await,
        }
    }
}

#[tokio::test]
async fn what_is_missing_is_named_and_its_creation_is_noticed_within_seconds() {
    let mut shop = Shop::without_operator(quick(), stepped()).await;
    shop.start_operator();
    let mut manifest = shop.deployment();
    manifest["spec"]["configurations"][0]["standardConfiguration"] =
        json!([{"key": "LOG_LEVEL", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "level"}}}]);
    shop.sandbox.apply(&manifest).await.unwrap();
    let object = meanwhile(&shop.clock, HARDLY, shop.until_reason("ProjectMissing")).await;
    assert!(message(&object).contains("ConnectProject shop"), "{}", message(&object));
    for (appears, reason, words) in ROWS {
        let started = shop.clock.elapsed();
        appears.create(&shop).await;
        let reported = |object: &ConnectorDeployment| {
            let created = object.status.as_ref().is_some_and(|status| status.id.is_some());
            let named = ready(object).1 == reason && words.iter().all(|word| message(object).contains(word));
            if reason == "Deployed" { created } else { named }
        };
        let object = meanwhile(&shop.clock, HARDLY, shop.until(&format!("{appears:?}"), reported)).await;
        let took = shop.clock.elapsed().saturating_sub(started);
        assert!(took < HEALS_WITHIN, "{appears:?}: it took {took:?}");
        if reason == "Deployed" {
            break;
        }
        let found = ["Reconciling", "Stalled"].map(|kind| has(&object, kind));
        assert_eq!(found, [true, false], "{reason} may pass without a change");
        assert_eq!(shop.calls("createDeployment"), 0, "{reason}: nothing is sent");
        if reason == "ProjectNotReady" {
            let named = |project: &ConnectProject| {
                condition(project, "Ready").is_some_and(|ready| {
                    ready.reason == "SecretMissing" && words.iter().all(|word| ready.message.contains(word))
                })
            };
            meanwhile(&shop.clock, HARDLY, shop.until_project(&format!("{appears:?}"), named)).await;
        }
    }
    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;
    assert_eq!(shop.sent(), [1, 0, 0]);

    // A Secret that is deleted while it is used does not affect the live deployment.
    shop.api::<Secret>().delete(SECRET, &DeleteParams::default()).await.unwrap();
    let object = meanwhile(&shop.clock, FINE, shop.until_reason("SecretMissing")).await;
    assert_eq!(object.status.and_then(|status| status.remote?.state).as_deref(), Some("Deployed"));
    shop.put_token("first-token-of-the-shop").await;
    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;
    assert_eq!(shop.sent(), [1, 0, 0], "the sent value has not changed");
}

#[tokio::test]
async fn wrong_names_are_reported_together_with_what_is_missing() {
    let shop = Shop::open().await;
    let mut deployment = shop.deployment();
    let lists = deployment["spec"]["configurations"].as_array_mut().expect("they are a list");
    lists[0]["standardConfiguration"] = json!([{"key": "LOG_LEVLE", "value": "info"}]);
    lists.push(json!({"applicationName": "servcie"}));
    shop.sandbox.apply(&deployment).await.unwrap();
    let reported = shop.until_object(NAME, "all of it", |object: &ConnectorDeployment| {
        let named = ["Secret tax", "no application servcie", "no key LOG_LEVLE (it has "];
        ready(object).1 == "SecretMissing" && named.iter().all(|word| message(object).contains(word))
    });
    let reported = reported.await;
    assert!(!message(&reported).contains("requires a value"), "the Secret may contain it: {}", message(&reported));
}
