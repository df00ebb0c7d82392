//! What the API server refuses is reported with its request, and tried again.

use super::*;
use crate::trouble::pace::{FINE, meanwhile, stepped};
use crate::unreliable::{Unreliable, Which, Wrong};

#[tokio::test]
async fn a_refused_write_is_reported_with_its_request_and_repeated_until_it_succeeds() {
    let mut shop = Shop::with(dev_server::Options::default(), stepped()).await;
    shop.stop_operator().await;
    let (cluster, client) = Unreliable::client(&shop.sandbox.client, &shop.clock);
    shop.start_operator_as(client);
    offer(&shop, &[record("a", 1)]);
    // A webhook that cannot be called.
    cluster.begin(Which::Connectors, Wrong::Refused(500, "InternalError"));
    shop.sandbox.apply(&mirroring(&shop, PROJECT, &everything())).await.unwrap();
    let project = meanwhile(&shop.clock, FINE, until_mirrored(&shop, "KubernetesError")).await;
    let (status, _, message) = reported(&project, names::REGISTRY_MIRRORED).unwrap();
    assert_eq!(
        (status.as_str(), message.as_str()),
        ("False", "The Kubernetes API server refused to create Connector shop.a: refused, as the test wants it")
    );
    assert_eq!(reported(&project, "Ready").map(|it| it.1), Some("Available".into()));
    // The pauses grow, so that a registry of thousands is not read every few seconds.
    let (reads, from) = (shop.calls("searchConnectors"), shop.clock.now());
    meanwhile(&shop.clock, FINE, shop.clock.sleep(Duration::from_mins(2))).await;
    let (reads, passed) = (shop.calls("searchConnectors") - reads, clock::between(from, shop.clock.now()));
    assert!(reads <= 4, "{reads} reads within {passed:?}, although the pauses are 8, 16, 32 and 64 s");
    cluster.end();
    meanwhile(&shop.clock, FINE, until_mirrored(&shop, "Mirrored")).await;
    assert_eq!(names_of(&shop).await, ["shop.a"]);
}
