//! The mirror of the registry: `Connector` objects follow it, and nothing is written or removed without a cause.

mod bounds;
mod by_hand;
mod follows;
mod refused;
mod shared;
mod trouble;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use connect_operator::crd::{ConnectProject, Connector};
use connect_operator::names;
use dev_server::{Fault, FaultAnswer};
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use crate::manifests::with_spec;
use crate::patience::in_time;
use crate::requests::Requests;
use crate::shop::{PROJECT, Shop};

/// What a mirror writes, as `Requests` names it.
const CONNECTORS: &str = "connectors";

/// A ConnectProject with this name and this registry filter.
fn mirroring(shop: &Shop, name: &str, filter: &Value) -> Value {
    let mut manifest = with_spec(shop.project(), &json!({"registry": filter}));
    manifest["metadata"]["name"] = json!(name);
    manifest
}

/// Sets the filter of the shop's project, and returns once the mirror is complete.
async fn mirror(shop: &Shop, filter: Value) -> ConnectProject {
    shop.sandbox.apply(&mirroring(shop, PROJECT, &filter)).await.unwrap();
    until_mirrored(shop, "Mirrored").await
}

/// A filter that matches every connector.
fn everything() -> Value {
    json!({"private": false})
}

/// Returns the project once `RegistryMirrored` has this reason.
async fn until_mirrored(shop: &Shop, reason: &str) -> ConnectProject {
    shop.until_project(reason, |project| {
        reported(project, names::REGISTRY_MIRRORED).is_some_and(|reported| reported.1 == reason)
    })
    .await
}

/// Status, reason and message of a condition.
fn reported(project: &ConnectProject, type_: &str) -> Option<(String, String, String)> {
    let conditions = &project.status.as_ref()?.conditions;
    let found = conditions.iter().find(|condition| condition.type_ == type_)?;
    Some((found.status.clone(), found.reason.clone(), found.message.clone()))
}

/// Number of matching connectors and of objects, from the status of the project.
fn size(project: &ConnectProject) -> (Option<u32>, Option<u32>) {
    let registry = project.status.as_ref().and_then(|status| status.registry.clone()).unwrap_or_default();
    (registry.found, registry.objects)
}

/// A record of the registry.
fn record(key: &str, version: i64) -> Value {
    json!({
        "id": format!("id-of-{key}"), "key": key, "version": version, "name": format!("Connector {key}"),
        "integrationTypes": ["tax"], "creator": {"email": "dev@example.com"},
        "repository": {"url": "https://example.com/tax.git", "tag": "v1"}, "private": false,
        "supportedRegions": ["europe-west1.gcp"], "certified": true,
    })
}

/// One page with these records, which states this total.
fn page(records: &[Value], total: usize) -> Value {
    json!({"limit": 100, "offset": 0, "count": records.len(), "total": total, "results": records})
}

/// Replaces the connectors of the registry.
fn offer(shop: &Shop, records: &[Value]) {
    shop.dev.clear_faults();
    answer(shop, page(records, records.len()), None);
}

/// Answers this many searches, or all, with this page.
fn answer(shop: &Shop, body: Value, times: Option<u64>) {
    let answer = FaultAnswer { status: Some(200), body: Some(body), ..FaultAnswer::default() };
    shop.dev.fault(Fault { count: times, ..Fault::of("searchConnectors", answer) }).unwrap();
}

/// Requests a reconcile now.
async fn look(shop: &Shop) {
    static TIMES: AtomicU64 = AtomicU64::new(0);
    let request = TIMES.fetch_add(1, Ordering::Relaxed).to_string();
    let change = json!({"metadata": {"annotations": {names::RECONCILE_REQUESTED_AT: request}}});
    shop.sandbox.change(&shop.project(), &change).await.unwrap();
}

/// The objects by name.
async fn objects(shop: &Shop) -> BTreeMap<String, Connector> {
    objects_of(&shop.api()).await
}

async fn objects_of(api: &Api<Connector>) -> BTreeMap<String, Connector> {
    let list = api.list(&ListParams::default()).await.unwrap();
    list.items.into_iter().map(|object| (object.name_any(), object)).collect()
}

/// The names of the objects.
async fn names_of(shop: &Shop) -> Vec<String> {
    objects(shop).await.into_keys().collect()
}

/// The resource version of each object.
async fn versions(shop: &Shop) -> BTreeMap<String, String> {
    objects(shop).await.into_iter().map(|(name, object)| (name, object.resource_version().unwrap())).collect()
}

/// Returns once exactly these objects exist in the shop's namespace.
async fn until_there_are(shop: &Shop, names: &[&str]) {
    until_exactly(shop.api(), names).await;
}

/// Returns once exactly these objects exist.
async fn until_exactly(api: Api<Connector>, names: &[&str]) {
    let wanted: BTreeSet<_> = names.iter().map(|name| (*name).to_owned()).collect();
    let listed = api.clone();
    let seen = async {
        use futures::TryStreamExt as _;
        use kube::runtime::{WatchStreamExt as _, reflector, watcher};
        let (reader, writer) = reflector::store::<Connector>();
        let mut events = Box::pin(watcher(api, watcher::Config::default()).default_backoff().reflect(writer));
        let mut listed = false;
        loop {
            match events.try_next().await {
                // Until the first list is complete, the store is empty.
                Ok(Some(watcher::Event::InitDone)) => listed = true,
                // The watch retries after an error.
                _ if !listed => continue,
                _ => {}
            }
            let there: BTreeSet<_> = reader.state().iter().map(|object| object.name_any()).collect();
            if there == wanted {
                return;
            }
        }
    };
    let seen = in_time(seen).await;
    assert!(seen.is_ok(), "not in time: {wanted:?}, but {:?}", objects_of(&listed).await.into_keys());
}

/// Returns once a condition outside the watched objects holds.
async fn until_so(shop: &Shop, what: &str, is: impl AsyncFn() -> bool) {
    let so = async {
        while !is().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let so = in_time(so).await;
    assert!(so.is_ok(), "not in time: {what}\ncalls: {:?}", shop.dev.counts());
}

/// The object names for the connectors of the dev server's built-in catalogue.
static BUILT_IN: LazyLock<Vec<String>> = LazyLock::new(|| {
    let catalogue = dev_server::Catalogue::built_in();
    let published = catalogue.connectors.iter().filter(|connector| !connector.staged);
    let names: BTreeSet<_> = published.map(|connector| format!("{PROJECT}.{}", connector.key)).collect();
    names.into_iter().collect()
});
