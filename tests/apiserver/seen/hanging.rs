//! A reconcile that does not end is given up.

use connect_api::ActionApi;
use connect_api::action::{ActionAnswer, ActionRequest};
use connect_api::api::Answer;
use connect_api::hosts::{AllowedHosts, Endpoint, UrlRefused};
use connect_operator::operator::manager::TIME_LIMIT;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::prelude::*;

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
async fn a_reconcile_whose_call_never_ends_is_given_up_and_repeated() {
    let mut shop = Shop::without_operator(Options::default(), stepped()).await;
    let (called, mut calls) = unbounded_channel();
    shop.actions = Some(Arc::new(Never(called)));
    shop.start_operator();
    // A read is repeated, unlike a write.
    let reads = json!({"frontend": {"url": "http://127.0.0.1:1"}, "method": "GET", "body": null});
    let check = with_spec(check(&shop), &reads);
    shop.sandbox.apply(&check).await.unwrap();
    meanwhile(&shop.clock, SLOW, calls.recv()).await.expect("the call is sent");
    pass(&shop.clock, COARSE, TIME_LIMIT.saturating_sub(Duration::from_mins(1))).await;
    assert!(calls.try_recv().is_err(), "it may still end");
    let metrics = shop.metrics.clone().expect("an operator runs");
    let given_up = "connect_operator_reconciles_total{kind=\"ActionCheck\",reason=\"Timeout\"}";
    let counted = super::until(&metrics, "given up", |samples| super::value(samples, given_up) > 0.0);
    meanwhile(&shop.clock, COARSE, counted).await;
    // Not as fast as before, or the limit of the next reconcile could be over before its call.
    meanwhile(&shop.clock, FINE, calls.recv()).await.expect("the call is repeated");
}
