//! Metrics after each possible event have exactly the expected values.

use super::{scrape, until, value};
use crate::prelude::*;

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

#[tokio::test]
async fn the_lifecycle_of_a_deployment_is_counted_exactly() {
    let mut shop = Shop::live().await;
    let metrics = shop.metrics.clone().expect("an operator runs");
    let deployed = "connect_operator_reconciles_total{kind=\"ConnectorDeployment\",reason=\"Deployed\"}";
    let created = until(&metrics, "created", |samples| value(samples, deployed) > 0.0).await;
    assert_eq!(value(&created, "connect_operator_token_requests_total{result=\"issued\"}"), 1.0);

    shop.put_token("another-token-of-the-shop").await;
    let named = |operation: &str, code: u16| {
        format!("connect_operator_remote_requests_total{{operation=\"{operation}\",code=\"{code}\"}}")
    };
    let redeployed = until(&metrics, "redeployed", |samples| {
        value(samples, &named("updateDeploymentById", 201)) == 1.0
            && value(samples, deployed) > value(&created, deployed)
    })
    .await;
    assert_eq!(value(&redeployed, &named("createDeployment", 201)), 1.0, "{:?}", requests(&redeployed));
    let durations = "connect_operator_reconcile_duration_seconds_count{kind=\"ConnectorDeployment\"}";
    let reconciles = redeployed
        .iter()
        .filter(|(name, _)| name.starts_with("connect_operator_reconciles_total{kind=\"ConnectorDeployment\""));
    assert_eq!(value(&redeployed, durations), reconciles.map(|(_, count)| count).sum::<f64>());

    shop.delete_wholly().await;
    shop.api::<ConnectProject>().delete(PROJECT, &DeleteParams::default()).await.unwrap();
    let gone = "connect_operator_reconciles_total{kind=\"ConnectProject\",reason=\"Gone\"}";
    until(&metrics, "the project is gone", |samples| value(samples, gone) > 0.0).await;
    shop.stop_operator().await;
    let counted = scrape(&metrics);
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
    let metrics = shop.metrics.clone().expect("an operator runs");
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
        until(&metrics, label, |samples| value(samples, &code(label)) == 1.0).await;
        until(&metrics, "served in the end", |samples| value(samples, &code("201")) == f64::from(number)).await;
    }
    let headers = [("Retry-After".to_owned(), "1".to_owned())].into();
    fault(FaultAnswer { headers, ..FaultAnswer::text(429, "later") });
    shop.annotate(connect_operator::names::REDEPLOY_REQUESTED_AT, "3").await;
    let end = until(&metrics, "throttled", |samples| value(samples, "connect_operator_throttled_total") == 1.0).await;
    assert_eq!(value(&end, &code("429")), 1.0);
    until(&metrics, "served in the end", |samples| value(samples, &code("201")) == 3.0).await;
}
