//! The mirror of a `ClusterConnectProject`: its objects are in the operator's namespace, which the operator does not watch
//! otherwise.

use connect_operator::crd::ClusterConnectProject;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::runtime::wait;

use super::*;
use crate::chart::rights::give;
use crate::leading::shards::Install;
use crate::rules::sharing::{SHARED, closed, put_secret, shared, until_shared};
use crate::security::client_of;
use crate::shop::CREDENTIALS;

/// Returns the object once this holds.
async fn until(api: &Api<Connector>, name: &str, holds: impl Fn(&Connector) -> bool) {
    let seen =
        in_time(wait::await_condition(api.clone(), name, |object: Option<&Connector>| object.is_some_and(&holds)));
    seen.await.unwrap_or_else(|_| panic!("{name} not in time")).unwrap();
}

#[tokio::test]
async fn a_shared_project_mirrors_into_the_operators_namespace() {
    let (mut shop, own) = closed().await;
    // With exactly the rights of the chart.
    give(&own, &format!("watchNamespaces={{{}}},clusterProjects.enabled=true", shop.sandbox.namespace)).await;
    offer(&shop, &[record("a", 1), record("b", 1)]);
    shop.start_operator_as(client_of(&own).await);
    let without = shared(&shop, &json!({}));
    let mirroring = with_spec(without.clone(), &json!({"registry": everything()}));
    // No namespace may use the project, on which its mirror does not depend.
    shop.sandbox.apply(&mirroring).await.unwrap();
    let api = Api::<Connector>::namespaced(own.client.clone(), &own.namespace);
    let (a, b) = ("shared.a--cluster", "shared.b--cluster");
    until_exactly(api.clone(), &[a, b]).await;
    let written = |object: &Connector| object.status.as_ref().is_some_and(|status| status.digest.is_some());
    until(&api, a, written).await;
    until(&api, b, written).await;
    let before = objects_of(&api).await;
    assert_eq!(before[a].spec.project_ref.name, SHARED);
    let project = until_shared(&shop, "Available", "").await;
    let owner = |owner: &OwnerReference| (owner.kind.clone(), owner.name.clone(), owner.uid.clone());
    let owners: Vec<_> = before[a].owner_references().iter().map(owner).collect();
    assert_eq!(owners, [("ClusterConnectProject".to_owned(), SHARED.to_owned(), project.uid().unwrap())]);
    assert!(names_of(&shop).await.is_empty(), "nothing is in the namespaces that use it");

    // Changes by other clients are noticed there, and restored.
    let change = Patch::Merge(json!({"status": {"version": 7}}));
    api.patch_status(a, &PatchParams::default(), &change).await.unwrap();
    until(&api, a, |object| object.status == before[a].status).await;
    api.delete(b, &DeleteParams::default()).await.unwrap();
    until(&api, b, |object| object.uid() != before[b].uid() && object.status == before[b].status).await;

    // Another process writes nothing.
    let versions = async || -> BTreeMap<String, Option<String>> {
        objects_of(&api).await.into_iter().map(|(name, object)| (name, object.resource_version())).collect()
    };
    let settled = versions().await;
    shop.stop_operator().await;
    offer(&shop, &[record("a", 1), record("b", 1), record("c", 1)]);
    shop.start_operator_as(client_of(&own).await);
    until_exactly(api.clone(), &[a, b, "shared.c--cluster"]).await;
    let now = versions().await;
    assert!(settled.iter().all(|(name, version)| now[name] == *version), "{settled:?} {now:?}");

    // Without `registry`, nothing stays, and neither does the project's report of it.
    shop.sandbox.apply(&without).await.unwrap();
    until_exactly(api.clone(), &[]).await;
    let reports = |object: Option<&ClusterConnectProject>| {
        object.and_then(|object| object.status.as_ref()).is_some_and(|status| status.registry.is_none())
    };
    let projects = Api::<ClusterConnectProject>::all(shop.sandbox.client.clone());
    in_time(wait::await_condition(projects.clone(), SHARED, reports)).await.expect("the report goes").unwrap();

    // A deletion removes the objects too.
    shop.sandbox.apply(&mirroring).await.unwrap();
    until_exactly(api.clone(), &[a, b, "shared.c--cluster"]).await;
    let uid = project.uid().unwrap();
    let gone = wait::conditions::is_deleted(&uid);
    projects.delete(SHARED, &DeleteParams::default()).await.unwrap();
    in_time(wait::await_condition(projects, SHARED, gone)).await.expect("the project goes").unwrap();
    until_exactly(api, &[]).await;
}

#[tokio::test]
async fn an_install_that_hands_a_shared_project_over_removes_its_objects() {
    let (shop, one) = closed().await;
    let other = one.another().await;
    put_secret(&other, CREDENTIALS, &json!({"clientId": "dev-client", "clientSecret": "dev-secret"})).await;
    offer(&shop, &[record("a", 1)]);
    let installs =
        [Install::start(&shop, &one, "one", "team=a").await, Install::start(&shop, &other, "other", "team=b").await];
    let mirroring = |team: &str| {
        let mut project = with_spec(shared(&shop, &json!({})), &json!({"registry": everything()}));
        project["metadata"]["labels"] = json!({"team": team});
        project
    };
    let objects = [&one, &other].map(|home| Api::<Connector>::namespaced(home.client.clone(), &home.namespace));
    for (team, here, there) in [("a", 0, 1), ("b", 1, 0), ("a", 0, 1)] {
        shop.sandbox.apply(&mirroring(team)).await.unwrap();
        until_exactly(objects[here].clone(), &["shared.a--cluster"]).await;
        until_exactly(objects[there].clone(), &[]).await;
    }
    for install in installs {
        install.end().await;
    }
}

#[tokio::test]
async fn a_shutdown_waits_for_a_mirror_in_progress() {
    let mut shop = Shop::open().await;
    shop.dev.clear_faults();
    answer(&shop, page(&[record("a", 1)], 2), Some(1));
    let body = json!({"limit": 1, "offset": 1, "count": 1, "total": 2, "results": [record("b", 1)]});
    let slow = FaultAnswer { delay_ms: 2_000, status: Some(200), body: Some(body), ..FaultAnswer::default() };
    shop.dev.fault(Fault { count: Some(1), ..Fault::of("searchConnectors", slow) }).unwrap();
    shop.sandbox.apply(&mirroring(&shop, PROJECT, &everything())).await.unwrap();
    let arrived = async {
        while shop.calls("searchConnectors") == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    in_time(arrived).await.expect("a first page is read");
    shop.stop_operator().await;
    assert_eq!(names_of(&shop).await, ["shop.a", "shop.b"]);
}
