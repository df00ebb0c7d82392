//! /livez fails when the process hangs, and does not fail while it waits for an unavailable service.

use std::sync::Arc;
use std::time::Duration;

use connect_api::ActionApi;
use connect_api::action::{ActionAnswer, ActionRequest};
use connect_api::api::Answer;
use connect_api::hosts::{AllowedHosts, Endpoint, UrlRefused};
use connect_operator::cli::run::health::{Health, Stage};
use connect_operator::cli::run::listen::{Addresses, listen};
use connect_operator::controllers::clients::action_factory::ActionFactory;
use connect_operator::controllers::tracking::tracker::LONGEST_SILENCE;
use dev_server::{Fault, FaultAnswer, Options};
use jiff::Timestamp;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::shop::{SECRET, Shop};
use crate::trouble::pace::{COARSE, FINE, meanwhile, pass, stepped};

/// Makes clients whose calls never end.
struct Never(UnboundedSender<()>);

impl ActionFactory for Never {
    fn endpoint(&self, url: &str) -> Result<Endpoint, UrlRefused> {
        AllowedHosts::parse(["http://127.0.0.1:*"]).expect("a host").endpoint(url)
    }

    fn client(&self, _: Endpoint, _: Duration, _: usize) -> Result<Arc<dyn ActionApi>, String> {
        Ok(Arc::new(Self(self.0.clone())))
    }
}

impl ActionApi for Never {
    fn send(&self, _: ActionRequest, _: Option<Timestamp>) -> Answer<'_, ActionAnswer> {
        self.0.send(()).expect("the test listens");
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_reconcile_whose_call_never_ends_fails_only_livez() {
    let mut shop = Shop::without_operator(Options::default(), stepped()).await;
    let (called, mut calls) = unbounded_channel();
    shop.actions = Some(Arc::new(Never(called)));
    shop.start_operator();
    let tracker = shop.tracker.clone().expect("an operator runs");
    let health = Health::new(tracker);
    health.set_stage(Stage::Leads);
    let check = json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": "ActionCheck", "metadata": {"name": "hangs"},
        "spec": {
            "frontend": {"url": "http://127.0.0.1:1"}, "action": {"namespace": "cart", "name": "getCart"},
            "method": "GET", "locale": "en-GB", "extensionVersion": "1.4.0",
            "expect": {"status": 200},
        },
    });
    shop.sandbox.apply(&check).await.unwrap();
    meanwhile(&shop.clock, FINE, calls.recv()).await.expect("the call is sent");
    pass(&shop.clock, COARSE, LONGEST_SILENCE.saturating_sub(Duration::from_mins(1))).await;
    assert!(health.livez().passed, "{}", health.livez().text);
    pass(&shop.clock, COARSE, Duration::from_mins(2)).await;
    let expected =
        format!("[-]runs failed: the reconcile of ActionCheck {}/hangs has been waiting for ", shop.sandbox.namespace);
    assert!(!health.livez().passed && health.livez().text.contains(&expected), "{}", health.livez().text);
    assert!(health.readyz().passed, "{}", health.readyz().text);

    let address = "127.0.0.1:0".parse().ok();
    let metrics = connect_operator::metrics::Metrics::new(shop.clock.now());
    let listening = listen(Addresses { metrics: None, health: address }, &metrics, &health).unwrap();
    let answer = super::get(listening.addresses[0], "/livez").await;
    assert!(answer.contains(" 503 ") && answer.contains(&expected), "{answer}");
}

#[tokio::test]
async fn hours_without_the_remote_do_not_fail_livez() {
    let options = Options { deploy_duration: Duration::from_secs(1), ..Options::default() };
    let shop = Shop::with(options, stepped()).await;
    shop.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;
    shop.dev.fault(Fault { answer: FaultAnswer { drop: true, ..FaultAnswer::default() }, ..Fault::default() }).unwrap();
    let tracker = shop.tracker.clone().expect("an operator runs");
    let health = Health::new(Arc::clone(&tracker));
    health.set_stage(Stage::Leads);
    shop.annotate(connect_operator::names::REDEPLOY_REQUESTED_AT, "1").await;
    for _ in 0..24 {
        pass(&shop.clock, COARSE, Duration::from_mins(5)).await;
        assert!(health.livez().passed && health.readyz().passed, "{}{}", health.livez().text, health.readyz().text);
    }
    let since = super::scrape(&tracker);
    let since = since.iter().find(|(name, _)| name.starts_with("connect_operator_project_seconds_since_response{"));
    assert!(since.is_some_and(|(_, seconds)| *seconds > 7_000.0), "{since:?}");
}
