//! Failures of the remote, at each operation in turn: nothing is lost, nothing is done twice, and the call rate stays
//! bounded.

use connect_api::model::Deployment;

use super::pace::{call_lines, most_in_10_seconds, until};
use crate::patience::brief;
use crate::prelude::*;

/// How long the remote fails.
const WHILE: Duration = Duration::from_secs(30);

/// Slow enough for a pause that is compared with another one: ten times as fast as real time.
const TENTH: Duration = Duration::from_millis(100);

/// Maximum number of calls for one resource in 10 s: the first one lists the project and reads the connector, two reads precede a
/// call, a list follows one that failed, and what is busy is read every three seconds.
const BEARABLE: usize = 10;

/// The limits of the operator, except for responses that never come or never end: their time limit must expire before
/// that of the test.
fn limits(answer: &FaultAnswer) -> Limits {
    if answer.delay_ms > 0 || answer.endless {
        Limits { call: brief() / 3, ..Limits::default() }
    } else {
        Limits::default()
    }
}

/// A failure of the remote, before or after the effect of the call.
pub(super) type Row<'a> = (&'a str, FaultEffect, FaultAnswer);

fn json_text(status: u16, text: &str) -> FaultAnswer {
    FaultAnswer::text(status, text).with_header("Content-Type", "application/json")
}

/// Runs a whole lifecycle with this failure at each of its operations. Returns the calls.
pub(super) async fn lifecycle_with((case, effect, answer): Row<'_>) -> Vec<Call> {
    let options = Options { deploy_duration: Duration::from_secs(5), seed: Some(1), ..Options::default() };
    let mut shop = Shop::within(limits(&answer), options, stepped()).await;
    shop.put_token("first-token-of-the-shop").await;
    let clock = shop.clock.clone();

    let trouble = Outage { case, effect, answer };
    trouble.at(&shop, &["createDeployment"]).await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    trouble.is_over(&shop, "createDeployment", BEARABLE).await;
    meanwhile(&clock, FINE, shop.until_reason("Deployed")).await;
    trouble.left(&shop, "create", 1);

    trouble.at(&shop, &["updateDeploymentById"]).await;
    shop.put_token("second-token-of-the-shop").await;
    trouble.is_over(&shop, "updateDeploymentById", BEARABLE).await;
    until_redeployed(&shop, 2).await;
    trouble.left(&shop, "redeploy", 2);

    trouble.at(&shop, &["getDeploymentById", "getDeploymentByKey", "queryDeployments"]).await;
    shop.put_token("third-token-of-the-shop").await;
    trouble.is_over(&shop, "getDeploymentById", BEARABLE).await;
    until_redeployed(&shop, 3).await;
    trouble.left(&shop, "read", 3);

    trouble.at(&shop, &["token"]).await;
    // Not earlier: a poll in between would get a token before the failure begins.
    shop.dev.revoke_tokens();
    shop.put_token("fourth-token-of-the-shop").await;
    trouble.is_over(&shop, "token", BEARABLE).await;
    until_redeployed(&shop, 4).await;
    trouble.left(&shop, "token", 4);

    trouble.at(&shop, &["deleteDeploymentById"]).await;
    shop.delete().await;
    trouble.is_over(&shop, "deleteDeploymentById", BEARABLE).await;
    meanwhile(&clock, FINE, shop.until_gone()).await;
    assert!(shop.there().is_empty(), "{case}: nothing remains at the remote");
    shop.stop_operator().await;
    shop.dev.calls()
}

/// The create never arrives, so the operator looks for its deployment; in each round one look fails, and the next works.
#[tokio::test]
async fn failures_with_successes_in_between_do_not_add_up() {
    let options = Options { seed: Some(1), ..Options::default() };
    let shop = Shop::within(Limits::default(), options, stepped()).await;
    shop.put_token("first-token-of-the-shop").await;
    shop.dev.fault(Fault::of("createDeployment", FaultAnswer::dropped())).unwrap();
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    until_called(&shop, "createDeployment", 1).await;
    for round in 1..=7 {
        let look = Fault::of("getDeploymentByKey", FaultAnswer::text(503, "no healthy upstream"));
        shop.dev.fault(Fault { count: Some(1), ..look }).unwrap();
        let started = shop.clock.now();
        let looks = || {
            let calls = shop.dev.calls().into_iter();
            calls.filter(|call| call.operation == "getDeploymentByKey" && call.at >= started).collect::<Vec<_>>()
        };
        let recovered = async || looks().last().is_some_and(|last| last.status != 503);
        until(&shop, TENTH, "a look that works", recovered).await;
        let looks = looks();
        let failed = looks.iter().find(|call| call.status == 503).expect("one look fails");
        let pause = between(failed.at, looks.last().expect("the one that works").at);
        // Added up, the fifth pause would be 128 s. While the API server is busy, the clock is stepped on.
        assert!(pause <= Duration::from_secs(100), "round {round}: {pause:?}\n{}", call_lines(&looks, started));
    }
}

async fn until_redeployed(shop: &Shop, version: i64) {
    let what = format!("live again in version {version}");
    let live = shop.until(&what, |object| {
        let is_live = |live: &Deployment| live.version >= version && live.status == DeploymentStatus::Deployed;
        has(object, "Ready") && state(object).operation.is_none() && shop.there().iter().all(is_live)
    });
    meanwhile(&shop.clock, FINE, live).await;
}

struct Outage<'a> {
    case: &'a str,
    effect: FaultEffect,
    answer: FaultAnswer,
}

impl Outage<'_> {
    /// Starts the failure of these operations.
    async fn at(&self, shop: &Shop, operations: &[&str]) {
        // Earlier calls do not count.
        pass(&shop.clock, FINE, Duration::from_secs(10)).await;
        for operation in operations {
            let fault = Fault { effect: self.effect, ..Fault::of(operation, self.answer.clone()) };
            shop.dev.fault(fault).unwrap();
        }
    }

    /// Ends the failure, after it occurred and some time has passed.
    async fn is_over(&self, shop: &Shop, met: &str, bearable: usize) {
        let started = shop.clock.now();
        until_called(shop, met, shop.calls(met) + 1).await;
        pass(&shop.clock, FINE, WHILE).await;
        let calls = shop.dev.calls();
        let most = most_in_10_seconds(&calls, started);
        assert!(most <= bearable, "{} at {met}: {most} calls in 10 s\n{}", self.case, call_lines(&calls, started));
        shop.dev.clear_faults();
    }

    /// Asserts that there is one deployment in this version.
    fn left(&self, shop: &Shop, stage: &str, version: i64) {
        let versions: Vec<_> = shop.there().iter().map(|deployment| deployment.version).collect();
        assert_eq!(versions, [version], "{} at {stage}: {:?}", self.case, shop.dev.counts());
    }
}

async fn lifecycles_with(rows: Vec<Row<'_>>) {
    futures::future::join_all(rows.into_iter().map(lifecycle_with)).await;
}

#[tokio::test]
async fn a_service_that_fails_before_or_after_the_effect_harms_nothing() {
    lifecycles_with(vec![
        ("500 before", FaultEffect::Before, FaultAnswer::error(500, "General")),
        ("500 after", FaultEffect::After, FaultAnswer::error(500, "General")),
        ("502", FaultEffect::Before, FaultAnswer::text(502, "<html><h1>Bad Gateway</h1></html>")),
        ("502 after", FaultEffect::After, FaultAnswer::text(502, "<html><h1>Bad Gateway</h1></html>")),
        ("503", FaultEffect::Before, FaultAnswer::text(503, "")),
        ("503 after", FaultEffect::After, FaultAnswer::text(503, "")),
        ("unknown code", FaultEffect::Before, FaultAnswer::error(500, "SurprisinglyNew")),
    ])
    .await;
}

#[tokio::test]
async fn responses_that_cannot_be_decoded_harm_nothing() {
    lifecycles_with(vec![
        ("malformed JSON", FaultEffect::Before, json_text(200, r#"{"id": "#)),
        ("malformed JSON after", FaultEffect::After, json_text(201, r#"{"id": "#)),
        ("HTML", FaultEffect::Before, FaultAnswer::text(200, "<html><h1>Please log in</h1></html>")),
        ("another JSON", FaultEffect::After, FaultAnswer { body: Some(json!([1, 2])), ..FaultAnswer::default() }),
        ("no such status", FaultEffect::Before, json_text(599, r#"{"statusCode": 599, "errors": 5}"#)),
    ])
    .await;
}

#[tokio::test]
async fn transient_and_unusual_responses_harm_nothing() {
    let conflict = FaultAnswer::error(409, "ConcurrentModification");
    let busy = FaultAnswer::error(400, "DeploymentInvalidStatusTransition");
    let odd = FaultAnswer::with_the_right_body(200).with_header("Content-Type", "text/html");
    lifecycles_with(vec![
        ("conflict", FaultEffect::Before, conflict),
        ("busy", FaultEffect::Before, busy),
        ("another status and type", FaultEffect::Before, odd),
        ("reset after", FaultEffect::After, FaultAnswer::reset()),
        ("broken off", FaultEffect::After, FaultAnswer { cut_at: Some(20), ..FaultAnswer::default() }),
    ])
    .await;
}

#[tokio::test]
async fn responses_that_are_too_large_or_cut_harm_nothing() {
    let big = FaultAnswer { status: Some(200), body_bytes: Some(100_000_000), ..FaultAnswer::default() };
    lifecycles_with(vec![
        ("100 MB", FaultEffect::Before, big.clone()),
        ("100 MB after", FaultEffect::After, big),
        ("cut", FaultEffect::Before, FaultAnswer::dropped()),
        ("cut after", FaultEffect::After, FaultAnswer::dropped()),
    ])
    .await;
}

/// Separate from the responses of a hundred megabytes: here a time limit expires, which must be due to the remote.
#[tokio::test]
async fn responses_that_never_end_or_never_arrive_harm_nothing() {
    let endless = FaultAnswer { status: Some(200), endless: true, ..FaultAnswer::default() };
    let never = FaultAnswer { delay_ms: 3_600_000, ..FaultAnswer::default() };
    lifecycles_with(vec![
        ("endless", FaultEffect::Before, endless.clone()),
        ("endless after", FaultEffect::After, endless),
        ("time-out", FaultEffect::Before, never),
    ])
    .await;
}
