//! Bugs that panic: each stops only the resource that triggers it, which recovers once the bug is fixed.

use std::sync::atomic::AtomicBool;

use connect_api::CommerceApi;
use connect_api::action::ActionApi;
use connect_api::hosts::{Endpoint, UrlRefused};
use connect_operator::operator::clients::action_factory::HttpActionFactory;
use connect_operator::operator::remote::{ConnectFactory, Connection, Settings};
use kube::client::Body;

use super::cluster::options;
use super::pace::until;
use crate::operators::http_factories;
use crate::prelude::*;

/// Factories that panic for some resources while the bug exists, with a text that must not be shown.
struct Buggy {
    bug: AtomicBool,
    remotes: HttpFactory,
    actions: HttpActionFactory,
}

impl Buggy {
    fn new(clock: &Clock) -> Arc<Self> {
        let (remotes, actions) = http_factories(ClientContext::plain(clock.clone()));
        Arc::new(Self { bug: AtomicBool::new(true), remotes, actions })
    }

    fn panic_if(&self, it_is_so: bool) {
        assert!(!(it_is_so && self.bug.load(Ordering::SeqCst)), "first-token-of-the-shop");
    }
}

impl ConnectFactory for Buggy {
    fn connect(&self, settings: &Settings) -> Result<Arc<dyn Connection>, String> {
        self.panic_if(settings.project_key == "other");
        self.remotes.connect(settings)
    }

    /// Called for deployments that are verified.
    fn commerce(&self, settings: &Settings, url: &str) -> Result<Arc<dyn CommerceApi>, String> {
        self.panic_if(true);
        self.remotes.commerce(settings, url)
    }
}

impl ActionFactory for Buggy {
    fn endpoint(&self, url: &str) -> Result<Endpoint, UrlRefused> {
        self.panic_if(true);
        self.actions.endpoint(url)
    }

    fn client(&self, endpoint: Endpoint, timeout: Duration, largest: usize) -> Result<Arc<dyn ActionApi>, String> {
        self.actions.client(endpoint, timeout, largest)
    }
}

/// Returns a client whose requests that write these objects panic while the bug exists: the future of a request runs in
/// the reconcile that sends it. Writes of a status succeed, because they report the panic.
fn buggy_client(client: &Client, buggy: &Arc<Buggy>, kind: &'static str) -> Client {
    let (inner, buggy) = (client.clone(), Arc::clone(buggy));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (inner, buggy) = (inner.clone(), Arc::clone(&buggy));
        async move {
            let mut segments = request.uri().path().split('/');
            let is_of_kind = segments.any(|segment| segment == kind) && !request.uri().path().ends_with("/status");
            buggy.panic_if(request.method() != Method::GET && is_of_kind);
            inner.send(request).await
        }
    });
    Client::new(service, client.default_namespace())
}

/// Whether it reports this reason; asserts that its message contains no value.
fn says(object: &impl Serialize, wanted: &str) -> bool {
    assert!(!message(object).contains("first-token"), "{}", message(object));
    reason(object) == wanted
}

#[tokio::test]
async fn a_reconcile_that_panics_is_reported_and_repeated_and_all_others_continue() {
    let mut shop = Shop::without_operator(options(), stepped()).await;
    let buggy = Buggy::new(&shop.clock);
    shop.remotes = Some(buggy.clone());
    shop.actions = Some(buggy.clone());
    let client = buggy_client(&shop.sandbox.client, &buggy, "connectorstageds");
    shop.start_operator_as(client);
    shop.put_project_and_secrets().await;
    let other = with_spec(shop.project(), &json!({"projectKey": "other"}));
    let of_other = with_spec(shop.deployment(), &json!({"projectRef": {"name": "other"}}));
    let extension = json!({"key": "demo-cart-check", "applicationName": "service"});
    let verified = with_spec(shop.deployment(), &json!({"verify": {"extensions": [extension]}}));
    let (other, of_other, verified) = (named(other, "other"), named(of_other, "of-other"), named(verified, "verified"));
    for manifest in [other, of_other, verified, check(&shop), kit(), shop.deployment()] {
        shop.sandbox.apply(&manifest).await.unwrap();
    }

    let panicked = async {
        shop.until_object("other", "panicked", |object: &ConnectProject| says(object, "InternalError")).await;
        shop.until_object("of-other", "not usable", |object: &ConnectorDeployment| says(object, "ProjectNotReady"))
            .await;
        shop.until_object("verified", "panicked", |object: &ConnectorDeployment| says(object, "InternalError")).await;
        shop.until_object(CHECK, "panicked", |object: &ActionCheck| says(object, "InternalError")).await;
        shop.until_object(KIT, "panicked", |object: &ConnectorStaged| says(object, "InternalError")).await;
        shop.until_reason("Deployed").await;
    };
    meanwhile(&shop.clock, FINE, panicked).await;
    // A reconcile is counted after the write of the status that reports it.
    for kind in ["ActionCheck", "ConnectProject", "ConnectorDeployment", "ConnectorStaged"] {
        let lines = [
            format!("connect_operator_panics_total{{kind=\"{kind}\"}}"),
            format!("connect_operator_reconciles_total{{kind=\"{kind}\",reason=\"Panic\"}}"),
        ];
        let page = || shop.metrics.as_ref().unwrap().encode();
        until(&shop, FINE, &lines.concat(), async || lines.iter().all(|line| page().contains(line))).await;
    }
    assert_eq!(shop.calls("createConnectorStaged"), 0, "nothing is sent before it is persisted");

    buggy.bug.store(false, Ordering::SeqCst);
    let over = async {
        shop.until_object("other", "over", |object: &ConnectProject| !says(object, "InternalError")).await;
        shop.until_object("verified", "over", |object: &ConnectorDeployment| says(object, "Deployed")).await;
        shop.until_object(CHECK, "over", |object: &ActionCheck| says(object, "CheckPassed")).await;
        shop.until_object(KIT, "over", |object: &ConnectorStaged| !says(object, "InternalError")).await;
    };
    meanwhile(&shop.clock, FINE, over).await;
    assert_eq!(shop.calls("createDeployment"), 2, "one create each, whatever panicked");
    shop.stop_operator().await;
}
