//! A registry that cannot be read, or only in part: nothing is removed, and deployments continue.

use clock::Clock;
use dev_server::{Catalogue, Options};
use std::time::Duration;

use super::*;
use crate::shop::{CREDENTIALS, SECRET};

#[tokio::test]
async fn deployments_continue_without_permission_to_read_the_registry() {
    let client = json!({"clients": [
        {"id": "deployer", "secret": "deployer-secret", "scopes": ["manage_connectors_deployments:demo"]},
    ]});
    let catalogue = Catalogue::built_in().and(Catalogue::parse(&client.to_string()).unwrap());
    let options = Options { catalogue, deploy_duration: Duration::from_millis(200), ..Options::default() };
    let shop = Shop::with(options, Clock::system()).await;
    // A create needs the declarations in the registry; a redeploy does not.
    shop.put_secret(CREDENTIALS, &[("clientId", "dev-client"), ("clientSecret", "dev-secret")]).await;
    shop.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    shop.until_reason("Deployed").await;
    shop.put_secret(CREDENTIALS, &[("clientId", "deployer"), ("clientSecret", "deployer-secret")]).await;
    // The mirror must not begin with the former credentials.
    let renewed = |project: &ConnectProject| {
        project.status.as_ref().is_some_and(|status| status.scopes == ["manage_connectors_deployments:demo"])
    };
    shop.until_project("its new credentials", renewed).await;
    shop.sandbox.apply(&mirroring(&shop, PROJECT, &everything())).await.unwrap();
    let project = until_mirrored(&shop, "PermissionMissing").await;
    let (status, _, message) = reported(&project, names::REGISTRY_MIRRORED).unwrap();
    assert_eq!(status, "False");
    assert!(message.contains("searchConnectors"), "{message}");

    shop.put_secret(SECRET, &[("token", "second-token-of-the-shop")]).await;
    shop.until("the second token is live", |object| {
        let applied = object.status.as_ref().and_then(|status| status.applied.as_ref());
        applied.is_some_and(|applied| applied.from_version.is_some())
    })
    .await;
    let project =
        shop.until_project("ready", |project| reported(project, "Ready").is_some_and(|it| it.1 == "Available")).await;
    assert_eq!(reported(&project, "Stalled"), None);
    assert_eq!(reported(&project, names::REGISTRY_MIRRORED).map(|it| it.1), Some("PermissionMissing".into()));
    assert_eq!(names_of(&shop).await, Vec::<String>::new());

    // With credentials that have the permission, it continues at once.
    shop.put_secret(CREDENTIALS, &[("clientId", "dev-client"), ("clientSecret", "dev-secret")]).await;
    until_mirrored(&shop, "Mirrored").await;
}

#[tokio::test]
async fn an_error_between_pages_removes_nothing_and_opens_no_circuit_breaker() {
    let shop = Shop::open().await;
    let all: Vec<Value> = (0..150).map(|number| record(&format!("c{number:03}"), 1)).collect();
    answer(&shop, page(&all[..100], 150), Some(1));
    answer(&shop, page(&all[100..], 150), Some(1));
    let project = mirror(&shop, everything()).await;
    assert_eq!(size(&project), (Some(150), Some(150)));
    let before = versions(&shop).await;

    // A first page that lacks some connectors, and a second one that fails.
    answer(&shop, page(&all[20..100], 150), Some(1));
    shop.dev.fault(Fault::of("searchConnectors", FaultAnswer::text(503, "down"))).unwrap();
    look(&shop).await;
    let project = until_mirrored(&shop, "ServiceUnavailable").await;
    assert_eq!(reported(&project, names::REGISTRY_MIRRORED).map(|it| it.0), Some("False".into()));
    assert_eq!(reported(&project, "Ready").map(|it| it.1), Some("Available".into()));
    assert_eq!(size(&project), (Some(150), Some(150)));
    assert_eq!(versions(&shop).await, before);
    shop.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    shop.until_reason("Deployed").await;
}

#[tokio::test]
async fn an_object_is_not_removed_after_an_incomplete_read() {
    let shop = Shop::open().await;
    let all = ["a", "b", "c"].map(|key| record(key, 1));
    offer(&shop, &all);
    mirror(&shop, everything()).await;
    let before = versions(&shop).await;
    let unreadable = json!({"id": 7});
    for (case, body) in [
        ("fewer came than were announced", page(&all[..2], 3)),
        ("more than lists reach", page(&all[..2], 20_000)),
        ("one cannot be read", page(&[all[0].clone(), all[1].clone(), unreadable], 3)),
    ] {
        shop.dev.clear_faults();
        answer(&shop, body, Some(1));
        // No further page arrives.
        answer(&shop, page(&[], 3), None);
        look(&shop).await;
        until_mirrored(&shop, "RegistryReadInPart").await;
        assert_eq!(versions(&shop).await, before, "{case}");
        offer(&shop, &all);
        look(&shop).await;
        until_mirrored(&shop, "Mirrored").await;
    }
    // Two connectors swap places between the pages: the result seems complete, and lacks an existing connector.
    shop.dev.clear_faults();
    answer(&shop, page(&[all[0].clone(), all[1].clone(), record("d", 1)], 3), Some(1));
    answer(&shop, page(&[all[0].clone(), all[1].clone(), all[2].clone(), record("d", 1)], 4), None);
    look(&shop).await;
    shop.until_project("all four", |project| size(project) == (Some(4), Some(4))).await;
    let after = versions(&shop).await;
    assert!(before.iter().all(|(name, version)| after.get(name) == Some(version)), "{after:?}");
}
