//! Rules 2 and 16 with more values than anybody would list one by one: nothing that a decision reads is cut.

use dev_server::Normalise;

use crate::prelude::*;

/// Longer than the poll interval.
const INTERVAL: Duration = Duration::from_mins(6);
/// Name of the ConfigMap that has all values.
const FILES: &str = "files";

fn key(number: usize) -> String {
    format!("FILE_{number:03}")
}

/// A remote whose connector declares so many plain values.
fn options(values: usize, variant: Variant) -> Options {
    let declared: Vec<_> = (0..values).map(|number| json!({"key": key(number)})).collect();
    let wide = json!({"key": "wide", "name": "Wide", "configurations": [
        {"applicationName": "service", "applicationType": "service", "standardConfiguration": declared}]});
    let catalogue = Catalogue::parse(&json!({"connectors": [wide]}).to_string()).unwrap();
    Options { catalogue: Catalogue::built_in().and(catalogue), variant, ..Options::default() }
}

/// Applies a deployment that takes so many values from a ConfigMap; each is `text` of its number.
async fn apply(shop: &Leaping, values: usize, text: impl Fn(usize) -> String, change: &Value) {
    let data: Vec<_> = (0..values).map(|number| (key(number), text(number))).collect();
    let data: Vec<_> = data.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    shop.put_config_map(FILES, &data).await;
    let files = json!([{"configMapRef": {"name": FILES}}]);
    let spec = json!({"connector": {"key": "wide"}, "configurations": [], "configurationFrom": files});
    shop.sandbox.apply(&with_spec(with_spec(shop.deployment(), &spec), change)).await.unwrap();
}

/// A ConfigMap of files: each ends with a line break, which the service trims.
#[tokio::test]
async fn rule_16_sixty_values_that_the_service_trims_are_sent_once_more_and_then_left() {
    let variant = Variant { normalise: Normalise::Trim, ..Variant::default() };
    let shop = Leaping::with(options(60, variant)).await;
    let correct = json!({"driftPolicy": "Correct"});
    apply(&shop, 60, |number| format!("content of file {number}\n"), &correct).await;
    shop.until("created", is_accepted).await;
    shop.pass(DEPLOYING).await;
    shop.redeployed("ValuesNotApplied").await;
    for interval in 0..5 {
        let seen = shop.pass(INTERVAL).await;
        assert_eq!(ready(&seen), ("False", "ValuesNotApplied"), "interval {interval}");
        assert_eq!(shop.sent(), [1, 1, 0], "interval {interval}");
    }
}

#[tokio::test]
async fn rule_02_a_deployment_with_two_hundred_values_is_recognized_after_a_lost_response() {
    let shop = Leaping::with(options(200, Variant::default())).await;
    let lost = Fault::of("createDeployment", FaultAnswer::dropped()).after_the_effect().times(1);
    shop.dev.fault(lost).unwrap();
    apply(&shop, 200, |number| format!("value {number}"), &json!({})).await;
    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;
    shop.pass(INTERVAL).await;
    assert_eq!(shop.sent(), [1, 0, 0]);
    shop.delete().await;
    meanwhile(&shop.clock, FINE, shop.until_gone()).await;
    assert!(shop.there().is_empty(), "nothing is left behind");
    assert_eq!(shop.sent(), [1, 0, 1]);
}
