//! An admission webhook, as policy engines install it, that interferes with the operator's writes of operations.

use std::sync::{Arc, Mutex};

use axum::extract::{Json, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use connect_operator::crd::{ActionCheck, ConnectProject, ConnectorDeployment};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::cluster::{left, until_live};
use super::pace::{FINE, meanwhile, stepped};
use super::until_reported_with;

use crate::manifests::with_spec;
use crate::patience::{brief, in_time};
use crate::shop::{NAME, Shop};
use crate::tls_listener::{self, TlsListener};

/// How the webhook handles writes of a resource and its status.
#[derive(Clone, Copy, Debug)]
enum Policy {
    Allow,
    Deny,
    /// It responds with an error.
    Broken,
    /// It takes longer than the API server waits.
    Silent,
    /// It removes the operation, as a webhook with an older schema does.
    Strip,
}

#[derive(Clone)]
struct Webhook {
    policy: Arc<Mutex<Policy>>,
    asked: watch::Sender<u64>,
}

impl Webhook {
    /// Starts a webhook, and registers it for these resources in the namespace of `shop`, with this timeout in seconds.
    async fn register(shop: &Shop, resources: &[&str], answers_within: u64) -> Self {
        let webhook = Self { policy: Arc::new(Mutex::new(Policy::Allow)), asked: watch::Sender::new(0) };
        let (acceptor, pem) = tls_listener::acceptor(&[b"http/1.1"]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/", listener.local_addr().unwrap());
        let router = axum::Router::new().route("/", post(review)).with_state(webhook.clone());
        tokio::spawn(async move { axum::serve(TlsListener { listener, acceptor }, router).await });
        let namespace = &shop.sandbox.namespace;
        let configuration: MutatingWebhookConfiguration = serde_json::from_value(json!({
            "metadata": {"name": namespace},
            "webhooks": [{
                "name": "status.example.com",
                "clientConfig": {"url": url, "caBundle": ByteString(pem.into_bytes())},
                "rules": [{
                    "operations": ["UPDATE"],
                    "apiGroups": ["connect-operator.io"],
                    "apiVersions": ["*"],
                    "resources": resources,
                }],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "failurePolicy": "Fail",
                "timeoutSeconds": answers_within,
            }],
        }))
        .unwrap();
        let api: Api<MutatingWebhookConfiguration> = Api::all(shop.sandbox.client.clone());
        api.create(&PostParams::default(), &configuration).await.unwrap();
        webhook.until_it_counts(shop).await;
        webhook
    }

    /// The registration takes effect a little later: writes an unrelated status until the API server calls the webhook.
    async fn until_it_counts(&self, shop: &Shop) {
        let mut probe = with_spec(shop.deployment(), &json!({"suspend": true, "projectRef": {"name": "none"}}));
        probe["metadata"]["name"] = json!("probe");
        shop.sandbox.apply(&probe).await.unwrap();
        for number in 0.. {
            shop.sandbox.set_status(&probe, &json!({"message": number.to_string()})).await.unwrap();
            if *self.asked.borrow() > 0 {
                break;
            }
        }
    }

    async fn remove(self, shop: &Shop) {
        let api: Api<MutatingWebhookConfiguration> = Api::all(shop.sandbox.client.clone());
        api.delete(&shop.sandbox.namespace, &DeleteParams::default()).await.unwrap();
    }

    /// Applies this policy from now on.
    fn begin(&self, policy: Policy) {
        *self.policy.lock().unwrap() = policy;
        self.asked.send_replace(0);
    }

    async fn until_asked(&self, times: u64) {
        let mut asked = self.asked.subscribe();
        in_time(asked.wait_for(|asked| *asked >= times))
            .await
            .expect("the API server calls it this many times")
            .unwrap();
    }
}

async fn review(State(webhook): State<Webhook>, Json(review): Json<Value>) -> Response {
    let policy = *webhook.policy.lock().unwrap();
    webhook.asked.send_modify(|asked| *asked += 1);
    let mut response = json!({"uid": review["request"]["uid"], "allowed": true});
    match policy {
        Policy::Deny => {
            response["allowed"] = json!(false);
            response["status"] = json!({"code": 403, "message": "no status today, as the test wants it"});
        }
        Policy::Broken => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Policy::Silent => std::future::pending().await,
        Policy::Strip if review["request"]["object"]["status"]["state"].is_string() => {
            let patch = json!([{"op": "remove", "path": "/status/state"}]);
            response["patchType"] = json!("JSONPatch");
            response["patch"] = json!(STANDARD.encode(patch.to_string()));
        }
        Policy::Allow | Policy::Strip => {}
    }
    Json(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})).into_response()
}

#[tokio::test]
async fn nothing_is_sent_while_a_webhook_prevents_storing_the_operation() {
    let rows = [Policy::Deny, Policy::Broken, Policy::Silent, Policy::Strip].map(|policy| async move {
        let mut shop = Shop::with(super::cluster::options(), stepped()).await;
        shop.put_token("first-token-of-the-shop").await;
        // Only the silent webhook makes the API server wait for that long; 30 s is the maximum.
        let within = if matches!(policy, Policy::Silent) { brief().as_secs().clamp(1, 30) } else { 30 };
        let webhook = Webhook::register(&shop, &["connectordeployments", "connectordeployments/status"], within).await;
        webhook.begin(policy);
        shop.sandbox.apply(&shop.deployment()).await.unwrap();
        meanwhile(&shop.clock, FINE, webhook.until_asked(3)).await;
        assert_eq!(shop.calls("createDeployment"), 0, "{policy:?}");
        webhook.begin(Policy::Allow);
        until_live(&shop).await;
        left(&shop, &format!("{policy:?}"), 0);
        shop.stop_operator().await;
        webhook.remove(&shop).await;
    });
    futures::future::join_all(rows).await;
}

/// Returns the `KubernetesError` Events: their object, note, type and count.
async fn refusals(shop: &Shop) -> Vec<(String, String, String, i32)> {
    let events = shop.api::<Event>().list(&ListParams::default()).await.unwrap().items;
    let refusal = |event: Event| {
        let regarding = event.regarding.unwrap_or_default();
        let object = format!("{} {}", regarding.kind.unwrap_or_default(), regarding.name.unwrap_or_default());
        let count = event.series.map_or(1, |series| series.count);
        (object, event.note.unwrap_or_default(), event.type_.unwrap_or_default(), count)
    };
    let all = events.into_iter().filter(|event| event.reason.as_deref() == Some("KubernetesError"));
    all.map(refusal).collect()
}

#[tokio::test]
async fn a_status_that_a_webhook_denies_is_reported_by_one_event() {
    let shop = Shop::with(super::cluster::options(), stepped()).await;
    let statuses = ["connectordeployments/status", "connectprojects/status", "actionchecks/status"];
    let webhook = Webhook::register(&shop, &statuses, 30).await;
    webhook.begin(Policy::Deny);
    let mut project = with_spec(shop.project(), &json!({"credentialsSecretRef": {"name": "none"}}));
    project["metadata"]["name"] = json!("other");
    let deployment = with_spec(shop.deployment(), &json!({"projectRef": {"name": "none"}}));
    let check = json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": "ActionCheck", "metadata": {"name": "cart"},
        "spec": {"frontend": {"url": shop.dev.url()}, "action": {"namespace": "cart", "name": "getCart"}, "method": "GET",
            "locale": "en-GB", "extensionVersion": "1.4.0", "after": {"deploymentRef": {"name": NAME}}},
    });
    for manifest in [&project, &deployment, &check] {
        shop.sandbox.apply(manifest).await.unwrap();
    }
    let lacking = [
        ("ConnectProject other", "SecretMissing"),
        ("ConnectorDeployment tax", "ProjectMissing"),
        ("ActionCheck cart", "DeploymentNotReady"),
    ];
    let repeated = async {
        let is_reported = |events: &[(String, String, String, i32)], (object, _): &(&str, &str)| {
            events.iter().any(|(regarding, .., count)| regarding == object && *count > 2)
        };
        loop {
            let events = refusals(&shop).await;
            if lacking.iter().all(|row| is_reported(&events, row)) {
                break events;
            }
            shop.clock.sleep(FINE).await;
        }
    };
    let Ok(events) = in_time(meanwhile(&shop.clock, FINE, repeated)).await else {
        panic!("Events about each object, of several reconciles: {:?}", refusals(&shop).await)
    };
    for (object, reason) in lacking {
        let notes: Vec<_> = events.iter().filter(|(regarding, ..)| regarding == object).collect();
        let [(_, note, type_, _)] = notes[..] else { panic!("one Event about {object}: {notes:?}") };
        assert_eq!(type_, "Warning", "{object}");
        let denied = "no status today, as the test wants it. The status would report ";
        assert!(note.contains(&format!("{denied}{reason}: ")), "{object}: {note}");
    }
    webhook.begin(Policy::Allow);
    until_reported_with::<ConnectProject>(&shop, "other", "SecretMissing", &[]).await;
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "ProjectMissing", &[]).await;
    until_reported_with::<ActionCheck>(&shop, "cart", "DeploymentNotReady", &[]).await;
    webhook.remove(&shop).await;
}
