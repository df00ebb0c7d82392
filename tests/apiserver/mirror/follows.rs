//! Objects are created, changed and deleted with the registry, and with the filter of the project.

use connect_operator::crd::{ConnectProject, Connector};
use kube::api::DeleteParams;

use super::*;
use crate::patience::in_time;

#[tokio::test]
async fn the_registry_can_be_browsed_with_kubectl() {
    let shop = Shop::open().await;
    let project = mirror(&shop, everything()).await;
    let there = names_of(&shop).await;
    assert_eq!(there, *BUILT_IN);
    let count = u32::try_from(there.len()).unwrap();
    assert_eq!(size(&project), (Some(count), Some(count)));
    assert_eq!(reported(&project, "Ready").map(|reported| reported.1), Some("Available".into()));
    let table = shop.sandbox.succeed(&["get", "connectors"], "").await;
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "KEY", "VERSION", "TYPES", "CERTIFIED", "REGIONS"]);
    let demo = rows.iter().find(|row| row[0] == "shop.demo-connector").expect("the demo connector");
    assert_eq!(demo[1..3], ["demo-connector", "1"], "{table}");
    assert_eq!(demo.len(), 6, "nothing is empty:\n{table}");
    let all = shop.sandbox.succeed(&["get", "connect"], "").await;
    assert!(all.contains("connector.connect-operator.io/shop.demo-connector"), "{all}");
    assert!(shop.sandbox.succeed(&["get", "ccon", "--output", "wide"], "").await.contains("COMPANY"));
}

#[tokio::test]
async fn objects_are_created_changed_and_deleted_with_the_registry() {
    let shop = Shop::open().await;
    offer(&shop, &[record("a", 1), record("b", 1)]);
    mirror(&shop, everything()).await;
    assert_eq!(names_of(&shop).await, ["shop.a", "shop.b"]);
    let before = versions(&shop).await;

    offer(&shop, &[record("c", 1), record("b", 2), record("a", 1)]);
    look(&shop).await;
    until_there_are(&shop, &["shop.a", "shop.b", "shop.c"]).await;
    let second = |object: &Connector| object.status.as_ref().is_some_and(|status| status.version == 2);
    shop.until_object("shop.b", "the second version", second).await;
    assert_eq!(versions(&shop).await["shop.a"], before["shop.a"], "an unchanged object is not written");

    offer(&shop, &[record("c", 1)]);
    look(&shop).await;
    until_there_are(&shop, &["shop.c"]).await;
    offer(&shop, &[]);
    look(&shop).await;
    until_there_are(&shop, &[]).await;
    shop.until_project("none fits", |project| size(project) == (Some(0), Some(0))).await;
}

#[tokio::test]
async fn nothing_is_written_if_nothing_changed_not_even_by_another_operator() {
    let mut shop = Shop::open().await;
    let project = mirror(&shop, everything()).await;
    shop.stop_operator().await;
    let before = versions(&shop).await;
    let (requests, client) = Requests::client(&shop.sandbox.client);
    let calls = shop.calls("searchConnectors");
    shop.start_operator_as(client);
    until_so(&shop, "another read of the registry", async || shop.calls("searchConnectors") > calls).await;
    // Reconciles that are under way end first.
    shop.stop_operator().await;
    assert_eq!(requests.writes(CONNECTORS), 0);
    assert_eq!(versions(&shop).await, before);
    let now = shop.api::<ConnectProject>().get(PROJECT).await.unwrap();
    let of_mirror = |project: &ConnectProject| {
        let status = project.status.clone().unwrap();
        (status.registry, status.conditions.into_iter().find(|it| it.type_ == names::REGISTRY_MIRRORED))
    };
    assert_eq!(of_mirror(&now), of_mirror(&project));
}

#[tokio::test]
async fn projects_whose_filters_overlap_have_objects_of_their_own() {
    let mut shop = Shop::open().await;
    offer(&shop, &[record("a", 1), record("My_Key", 1)]);
    mirror(&shop, everything()).await;
    shop.sandbox.apply(&mirroring(&shop, "other", &everything())).await.unwrap();
    let all = ["other.a", "other.my-key--31e15662", "shop.a", "shop.my-key--31e15662"];
    until_there_are(&shop, &all).await;
    shop.until_object("other", "it is mirrored", |project: &ConnectProject| {
        reported(project, names::REGISTRY_MIRRORED).is_some_and(|reported| reported.1 == "Mirrored")
    })
    .await;
    shop.stop_operator().await;
    let before = versions(&shop).await;
    shop.start_operator();
    shop.sandbox.change(&mirroring(&shop, "other", &everything()), &json!({"spec": {"registry": null}})).await.unwrap();
    until_there_are(&shop, &["shop.a", "shop.my-key--31e15662"]).await;
    let after = versions(&shop).await;
    assert!(
        after.iter().all(|(name, version)| before[name] == *version),
        "objects of the other project are not written"
    );
}

#[tokio::test]
async fn objects_are_deleted_and_created_again_with_the_filter() {
    let shop = Shop::open().await;
    mirror(&shop, everything()).await;
    shop.sandbox.change(&shop.project(), &json!({"spec": {"registry": null}})).await.unwrap();
    let project =
        shop.until_project("no mirror", |project| reported(project, names::REGISTRY_MIRRORED).is_none()).await;
    assert_eq!(project.status.unwrap().registry, None);
    assert_eq!(names_of(&shop).await, Vec::<String>::new());
    mirror(&shop, json!({"text": "warn"})).await;
    let some = names_of(&shop).await;
    assert!(!some.is_empty() && some.len() < BUILT_IN.len(), "{some:?}");
}

#[tokio::test]
async fn objects_are_deleted_with_the_project() {
    let shop = Shop::open().await;
    mirror(&shop, everything()).await;
    let object = objects(&shop).await.into_values().next().expect("an object");
    let owner = &object.owner_references()[0];
    assert_eq!((owner.kind.as_str(), owner.name.as_str(), owner.controller), ("ConnectProject", PROJECT, Some(true)));
    shop.api::<ConnectProject>().delete(PROJECT, &DeleteParams::default()).await.unwrap();
    // This cluster has no garbage collector that would remove them.
    until_there_are(&shop, &[]).await;
    let gone =
        kube::runtime::wait::await_condition(shop.api::<ConnectProject>(), PROJECT, |it: Option<&ConnectProject>| {
            it.is_none()
        });
    in_time(gone).await.expect("it is deleted").unwrap();
    assert_eq!(names_of(&shop).await, Vec::<String>::new());
}

#[tokio::test]
async fn after_a_kill_during_writes_the_next_operator_continues() {
    let mut shop = Shop::open().await;
    let all: Vec<Value> = (0..90).map(|number| record(&format!("c{number:02}"), 1)).collect();
    offer(&shop, &all);
    shop.sandbox.apply(&mirroring(&shop, PROJECT, &everything())).await.unwrap();
    shop.until_object("shop.c20", "some objects exist", |_: &Connector| true).await;
    shop.kill_operator().await;
    let between = objects(&shop).await;
    shop.start_operator();
    until_mirrored(&shop, "Mirrored").await;
    let after = objects(&shop).await;
    assert_eq!(after.len(), 90);
    assert!(after.values().all(|object| object.status.is_some()));
    for (name, object) in between.iter().filter(|(_, object)| object.status.is_some()) {
        assert_eq!(after[name].resource_version(), object.resource_version(), "{name} is not written again");
    }
    assert_eq!(shop.events("ChangedByHand").await, Vec::<String>::new());
}
