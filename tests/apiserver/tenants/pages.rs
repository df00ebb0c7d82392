//! One page of a list fits into memory, whatever users write into their objects.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use connect_operator::operator::cluster::initial_lists::{LARGEST_PAGE, PAGE};
use dev_server::Options;
use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use tower::BoxError;

use crate::patience::in_time;
use crate::shop::{Shop, fast};

/// Page size of each requested list, by resource; `None`: no limit.
type Asked = Arc<Mutex<BTreeMap<String, Option<u32>>>>;

/// Returns a client that records the page size of each list of this namespace.
fn noting(client: &Client, namespace: &str) -> (Asked, Client) {
    let path = format!("/namespaces/{namespace}/");
    let asked = Asked::default();
    let (inner, noted) = (client.clone(), Arc::clone(&asked));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (inner, noted, path) = (inner.clone(), Arc::clone(&noted), path.clone());
        async move {
            let query = request.uri().query().unwrap_or_default();
            let mut parts = request.uri().path().rsplit('/');
            let is_list = request.method() == Method::GET
                && request.uri().path().contains(&path)
                && parts.clone().nth(2) == Some("namespaces");
            if is_list && !query.contains("watch=true") {
                let limit = query.split('&').find_map(|pair| pair.strip_prefix("limit="));
                let limit = limit.and_then(|limit| limit.parse().ok());
                noted.lock().unwrap().insert(parts.next().unwrap_or_default().to_owned(), limit);
            }
            inner.send(request).await.map_err(BoxError::from)
        }
    });
    (asked, Client::new(service, client.default_namespace()))
}

#[tokio::test]
async fn all_watched_kinds_are_listed_in_small_pages() {
    const { assert!(LARGEST_PAGE <= 80 << 20, "a third of the memory that the chart allows") };
    let mut shop = Shop::without_operator(Options::default(), fast()).await;
    let (asked, client) = noting(&shop.sandbox.client, &shop.sandbox.namespace);
    shop.start_operator_as(client);
    let watched =
        ["actionchecks", "configmaps", "connectordeployments", "connectorstageds", "connectprojects", "secrets"];
    let expected: BTreeMap<_, _> = watched.map(|kind| (kind.to_owned(), Some(PAGE))).into();
    let all = async {
        while !watched.iter().all(|kind| asked.lock().unwrap().contains_key(*kind)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    in_time(all).await.unwrap_or_else(|_| panic!("not in time: {asked:?}"));
    assert_eq!(*asked.lock().unwrap(), expected);
}
