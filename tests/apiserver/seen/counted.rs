//! Metrics after each possible event have exactly the expected values.

use std::collections::BTreeMap;
use std::time::Duration;

use clock::Clock;
use connect_operator::controllers::object_ref::Kind;
use connect_operator::crd::ConnectProject;
use dev_server::{Fault, FaultAnswer, Options, PlannedOutcome};
use kube::api::DeleteParams;

use super::{scrape, until, value};
use crate::shop::{PROJECT, SECRET, Shop};

fn requests(samples: &BTreeMap<String, f64>) -> BTreeMap<&str, f64> {
    let prefix = "connect_operator_remote_requests_total{operation=\"";
    let of = samples.iter().filter_map(|(name, count)| Some((name.strip_prefix(prefix)?, count)));
    let mut by_operation = BTreeMap::new();
    for (labels, count) in of {
        *by_operation.entry(labels.split('"').next().expect("an operation")).or_default() += count;
    }
    by_operation
}

/// Number of calls by operation that the remote received, without token requests.
fn calls(shop: &Shop) -> BTreeMap<&'static str, f64> {
    let counts = shop.dev.counts().into_iter().filter(|(operation, _)| *operation != "token");
    counts.map(|(operation, count)| (operation, f64::from(u32::try_from(count).expect("few calls")))).collect()
}

fn resources(kind: &str, state: &str, reason: &str) -> String {
    format!("connect_operator_resources{{kind=\"{kind}\",state=\"{state}\",reason=\"{reason}\"}}")
}

#[tokio::test]
async fn the_lifecycle_of_a_deployment_is_counted_exactly() {
    let mut shop = Shop::live().await;
    let tracker = shop.tracker.clone().expect("an operator runs");
    let deployed = resources("ConnectorDeployment", "Ready", "Deployed");
    let available = resources("ConnectProject", "Ready", "Available");
    let created = until(&tracker, "created", |samples| {
        value(samples, &deployed) == 1.0 && value(samples, "connect_operator_sent_to_live_seconds_count") == 1.0
    })
    .await;
    assert_eq!(value(&created, &available), 1.0);
    assert_eq!(value(&created, "connect_operator_change_to_sent_seconds_count"), 1.0);
    assert_eq!(value(&created, "connect_operator_token_requests_total{result=\"issued\"}"), 1.0);
    let kinds = created.keys().filter(|name| name.starts_with("connect_operator_resources{")).count();
    assert_eq!(kinds, 2, "one deployment and one project: {created:#?}");

    shop.put_secret(SECRET, &[("token", "another-token-of-the-shop")]).await;
    let redeployed = until(&tracker, "redeployed", |samples| {
        value(samples, "connect_operator_sent_to_live_seconds_count") == 2.0 && value(samples, &deployed) == 1.0
    })
    .await;
    assert_eq!(value(&redeployed, "connect_operator_change_to_sent_seconds_count"), 2.0);
    let named = |operation: &str, code: u16| {
        format!("connect_operator_remote_requests_total{{operation=\"{operation}\",code=\"{code}\"}}")
    };
    assert_eq!(value(&redeployed, &named("createDeployment", 201)), 1.0, "{:?}", requests(&redeployed));
    assert_eq!(value(&redeployed, &named("updateDeploymentById", 201)), 1.0, "{:?}", requests(&redeployed));

    shop.delete().await;
    shop.until_gone().await;
    let counted = |name: &String| name.starts_with("connect_operator_resources{kind=\"ConnectorDeployment\"");
    let gone = until(&tracker, "gone", |samples| !samples.keys().any(counted)).await;
    assert_eq!(value(&gone, "connect_operator_sent_to_live_seconds_count"), 2.0, "an undeploy is no deployment");
    assert_eq!(value(&gone, "connect_operator_change_to_sent_seconds_count"), 2.0);
    assert_eq!(value(&gone, "connect_operator_oldest_operation_seconds{kind=\"ConnectorDeployment\"}"), 0.0);
    assert!(gone.contains_key(&available));

    let since = format!(
        "connect_operator_project_seconds_since_response{{namespace=\"{}\",project=\"{PROJECT}\"}}",
        shop.sandbox.namespace
    );
    assert!(value(&gone, &since) < 60.0 && gone.contains_key(&since));
    shop.api::<ConnectProject>().delete(PROJECT, &DeleteParams::default()).await.unwrap();
    // The project is given up by the reconcile of its deletion, and counted until the watch shows that it is gone.
    let is_left = |name: &String| *name == since || name.starts_with("connect_operator_resources{");
    until(&tracker, "no project left", |samples| !samples.keys().any(is_left)).await;
    let depths = |samples: &BTreeMap<String, f64>| -> Vec<f64> {
        let depths = samples.iter().filter(|(name, _)| name.starts_with("connect_operator_workqueue_depth"));
        depths.map(|(_, depth)| *depth).collect()
    };
    until(&tracker, "nothing waits", |samples| depths(samples) == [0.0; Kind::ALL.len()]).await;
    shop.stop_operator().await;
    let counted = scrape(&tracker);
    let canceled: f64 = counted.iter().filter(|(name, _)| name.ends_with("code=\"canceled\"}")).map(|(_, n)| n).sum();
    let (requests, received) = (requests(&counted), calls(&shop));
    let of = |calls: &BTreeMap<&str, f64>, operation| calls.get(operation).copied().unwrap_or_default();
    // The remote may or may not have received a call that was canceled.
    for operation in requests.keys().chain(received.keys()) {
        let difference = of(&requests, operation) - of(&received, operation);
        assert!((0.0..=canceled).contains(&difference), "{operation}: {requests:?}, the remote received {received:?}");
    }
}

#[tokio::test]
async fn refusals_throttling_and_lost_responses_are_counted_by_code() {
    let shop = Shop::live().await;
    let tracker = shop.tracker.clone().expect("an operator runs");
    let code = |code: &str| {
        format!("connect_operator_remote_requests_total{{operation=\"updateDeploymentById\",code=\"{code}\"}}")
    };
    let fault = |answer| {
        let operation = Some("updateDeploymentById".to_owned());
        shop.dev.fault(Fault { operation, count: Some(1), answer, ..Fault::default() }).unwrap();
    };
    for (number, answer, label) in [
        (1, FaultAnswer::text(503, "away"), "503"),
        (2, FaultAnswer { drop: true, ..FaultAnswer::default() }, "broken"),
    ] {
        fault(answer);
        shop.annotate(connect_operator::names::REDEPLOY_REQUESTED_AT, &number.to_string()).await;
        until(&tracker, label, |samples| value(samples, &code(label)) == 1.0).await;
        until(&tracker, "served in the end", |samples| value(samples, &code("201")) == f64::from(number)).await;
    }
    let headers = [("Retry-After".to_owned(), "1".to_owned())].into();
    fault(FaultAnswer { headers, ..FaultAnswer::text(429, "later") });
    shop.annotate(connect_operator::names::REDEPLOY_REQUESTED_AT, "3").await;
    let end = until(&tracker, "throttled", |samples| value(samples, "connect_operator_throttled_total") == 1.0).await;
    assert_eq!(value(&end, &code("429")), 1.0);
    until(&tracker, "served in the end", |samples| value(samples, &code("201")) == 3.0).await;
}

#[tokio::test]
async fn a_failed_deployment_counts_as_stalled_also_right_after_a_restart() {
    let options = Options { deploy_duration: Duration::from_millis(200), ..Options::default() };
    let mut shop = Shop::with(options, Clock::system()).await;
    shop.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    let id = shop.until_reason("Deployed").await.status.unwrap().id.unwrap();
    let outcome = PlannedOutcome::failure("service", "It did not start", "of itself");
    shop.dev.world().plan_outcome(&id, outcome, shop.dev.now()).unwrap();
    shop.annotate(connect_operator::names::REDEPLOY_REQUESTED_AT, "1").await;
    shop.until_reason("RedeployFailed").await;
    let stalled = resources("ConnectorDeployment", "Stalled", "RedeployFailed");
    let tracker = shop.tracker.clone().expect("an operator runs");
    let failed = until(&tracker, "failed", |samples| value(samples, &stalled) == 1.0).await;
    assert_eq!(value(&failed, "connect_operator_sent_to_live_seconds_count"), 1.0, "only the live deployment");
    shop.stop_operator().await;
    shop.start_operator();
    let tracker = shop.tracker.clone().expect("an operator runs");
    let again = until(&tracker, "found again", |samples| value(samples, &stalled) == 1.0).await;
    assert_eq!(value(&again, "connect_operator_sent_to_live_seconds_count"), 0.0);
}
