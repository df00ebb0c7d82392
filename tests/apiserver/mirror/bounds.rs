//! Thousands of connectors, records that are too large, and their cost.

use std::time::{Duration, Instant};

use clock::Clock;
use dev_server::{Catalogue, Options};

use super::*;

/// A dev server whose registry has this many connectors and no others.
fn large(count: usize) -> Options {
    let connectors: Vec<Value> = (0..count)
        .map(|number| {
            // In an order that helps no algorithm.
            let key = format!("connector-{:04}", number * 7_919 % count);
            let variables: Vec<Value> = (0..8)
                .map(|at| json!({"key": format!("KEY_{at}"), "description": "What this variable is for."}))
                .collect();
            json!({"key": key, "name": format!("Connector {number}"), "integrationTypes": ["tax"],
                "description": "One of many connectors, with a description of the usual length for such things.",
                "configurations": [{"applicationName": "service", "applicationType": "service",
                    "standardConfiguration": variables, "securedConfiguration": variables}]})
        })
        .collect();
    let mut catalogue = Catalogue::built_in();
    catalogue.connectors.clear();
    let catalogue = catalogue.and(Catalogue::parse(&json!({"connectors": connectors}).to_string()).unwrap());
    Options { catalogue, deploy_duration: Duration::from_millis(200), ..Options::default() }
}

#[tokio::test]
async fn two_thousand_connectors_are_cut_to_the_first_by_key_and_the_cut_is_reported() {
    let mut shop = Shop::with(large(2_000), Clock::system()).await;
    shop.stop_operator().await;
    let (requests, client) = Requests::client(&shop.sandbox.client);
    shop.start_operator_as(client);
    let began = Instant::now();
    shop.sandbox.apply(&mirroring(&shop, PROJECT, &everything())).await.unwrap();
    let project = until_mirrored(&shop, "RegistryCut").await;
    eprintln!(
        "500 of 2,000: {:?}, {} calls, {} writes",
        began.elapsed(),
        shop.calls("searchConnectors"),
        requests.writes(CONNECTORS)
    );
    assert_eq!(size(&project), (Some(2_000), Some(500)));
    let (status, _, message) = reported(&project, names::REGISTRY_MIRRORED).unwrap();
    assert_eq!((status.as_str(), message.contains("2000") && message.contains("500")), ("True", true), "{message}");
    let first: Vec<String> = (0..500).map(|number| format!("shop.connector-{number:04}")).collect();
    assert_eq!(names_of(&shop).await, first);
    assert_eq!(
        (shop.calls("searchConnectors"), requests.writes(CONNECTORS)),
        (20, 1_000),
        "a page of 100 a call; object and status"
    );
    shop.until_event("RegistryCut").await;
    assert_eq!(shop.events("RegistryCut").await.len(), 1);

    shop.stop_operator().await;
    let (again, client) = Requests::client(&shop.sandbox.client);
    let before = versions(&shop).await;
    let began = Instant::now();
    // Before the start: the operator reads the registry at once, and then not for some minutes.
    shop.dev.world().raise_connector("connector-0007", false, |_| ()).unwrap();
    shop.start_operator_as(client);
    shop.until_object("shop.connector-0007", "its new version", |object: &Connector| {
        object.status.as_ref().is_some_and(|status| status.version == 2)
    })
    .await;
    eprintln!("restart and one change: {:?}, {} calls", began.elapsed(), shop.calls("searchConnectors") - 20);
    shop.stop_operator().await;
    assert_eq!(again.writes(CONNECTORS), 1);
    let after = versions(&shop).await;
    let written: Vec<_> = after.iter().filter(|(name, version)| before[*name] != **version).collect();
    assert_eq!(written.len(), 1, "{written:?}");
    assert_eq!(shop.events("RegistryCut").await.len(), 1, "a restart does not repeat the Event");
}

#[tokio::test]
async fn hundreds_of_connectors_are_mirrored_and_fewer_once_the_limit_is_lower() {
    let mut shop = Shop::with(large(600), Clock::system()).await;
    shop.stop_operator().await;
    let (requests, client) = Requests::client(&shop.sandbox.client);
    shop.start_operator_as(client);
    let began = Instant::now();
    let all = json!({"private": false, "maxObjects": 10_000});
    shop.sandbox.apply(&mirroring(&shop, PROJECT, &all)).await.unwrap();
    shop.until_object("shop.connector-0300", "half of them", |_: &Connector| true).await;
    let project = until_mirrored(&shop, "Mirrored").await;
    let calls = shop.calls("searchConnectors");
    eprintln!("600 of 600: {:?}, {calls} calls, {} writes", began.elapsed(), requests.writes(CONNECTORS));
    assert_eq!(size(&project), (Some(600), Some(600)));
    assert_eq!(requests.writes(CONNECTORS), 1_200);
    let fewer = json!({"private": false, "maxObjects": 100});
    shop.sandbox.apply(&mirroring(&shop, PROJECT, &fewer)).await.unwrap();
    let project = until_mirrored(&shop, "RegistryCut").await;
    assert_eq!(size(&project), (Some(600), Some(100)));
    assert_eq!(requests.writes(CONNECTORS), 1_200 + 500);
    let first: Vec<String> = (0..100).map(|number| format!("shop.connector-{number:04}")).collect();
    assert_eq!(names_of(&shop).await, first);
}

#[tokio::test]
async fn more_than_fits_in_memory_is_written_after_another_read() {
    let mut shop = Shop::open().await;
    shop.stop_operator().await;
    offer(&shop, &large_records(0..98));
    let (requests, client) = Requests::client(&shop.sandbox.client);
    shop.start_operator_as(client);
    let project = mirror(&shop, everything()).await;
    assert_eq!(size(&project), (Some(98), Some(98)));
    assert_eq!(
        (shop.calls("searchConnectors"), requests.writes(CONNECTORS)),
        (2, 196),
        "of 6 MB, at most 4 MB are in memory at once"
    );
}

/// A list has them in any order, and the limit of a mirror goes by key.
#[tokio::test]
async fn records_that_are_not_mirrored_leave_memory_for_those_that_are() {
    let shop = Shop::open().await;
    offer(&shop, &large_records((0..98).rev()));
    shop.sandbox.apply(&mirroring(&shop, PROJECT, &json!({"private": false, "maxObjects": 10}))).await.unwrap();
    let project = until_mirrored(&shop, "RegistryCut").await;
    assert_eq!(size(&project), (Some(98), Some(10)));
    assert_eq!(shop.calls("searchConnectors"), 2, "the first read has no room for the last records");
}

/// Records of 60 KB each, in this order.
fn large_records(numbers: impl Iterator<Item = u32>) -> Vec<Value> {
    let text = "d".repeat(3_000);
    let variables: Vec<Value> = (0..19).map(|at| json!({"key": format!("KEY_{at}"), "description": text})).collect();
    numbers
        .map(|number| {
            let mut large = record(&format!("c{number:02}"), 1);
            large["configurations"] = json!([{"applicationName": "a", "applicationType": "service",
                "standardConfiguration": [], "securedConfiguration": variables}]);
            large
        })
        .collect()
}

#[tokio::test]
async fn a_record_that_is_far_too_large_is_stored_in_part() {
    let shop = Shop::open().await;
    let mut large = record("large", 1);
    let variables: Vec<Value> = (0..300)
        .map(|at| json!({"key": format!("KEY_{at}"), "description": "ä".repeat(5_000), "default": "x".repeat(5_000)}))
        .collect();
    large["configurations"] = json!(vec![
        json!({"applicationName": "a", "applicationType": "service", "standardConfiguration": variables, "securedConfiguration": variables});
        3
    ]);
    large["name"] = json!("ü".repeat(1_000));
    large["integrationTypes"] = json!(vec!["tax"; 100]);
    large["key"] = json!("k".repeat(300));
    offer(&shop, &[large, record("small", 1)]);
    let project = mirror(&shop, everything()).await;
    assert_eq!(size(&project), (Some(2), Some(2)));
    let objects = objects(&shop).await;
    let status = objects.values().find(|it| it.spec.id == "id-of-large").and_then(|it| it.status.as_ref()).unwrap();
    assert!(status.cut.contains(&"configurations[].description".to_owned()), "{:?}", status.cut);
    assert!(serde_json::to_vec(status).unwrap().len() < 132 * 1024);
    assert_eq!(objects["shop.small"].status.as_ref().unwrap().cut, Vec::<String>::new());
}
