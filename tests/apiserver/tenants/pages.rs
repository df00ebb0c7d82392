//! One page of a list fits into memory, whatever users write into their objects.

use connect_operator::operator::cluster::initial_lists::{LARGEST_PAGE, PAGE};

use crate::gateway::Gateway;
use crate::prelude::*;

/// The page size of each list of this namespace that was requested, by resource; `None`: no limit.
fn lists(gateway: &Gateway, namespace: &str) -> BTreeMap<String, Option<u32>> {
    let place = format!("/namespaces/{namespace}/");
    let list = |request: String| {
        let (path, query) = request.strip_prefix("GET ")?.split_once('?')?;
        let kind = path.split_once(&place)?.1;
        let limit = query.split('&').find_map(|pair| pair.strip_prefix("limit="));
        (!kind.contains('/') && !query.contains("watch=true"))
            .then(|| (kind.to_owned(), limit.and_then(|limit| limit.parse().ok())))
    };
    gateway.requests().into_iter().filter_map(list).collect()
}

#[tokio::test]
async fn all_watched_kinds_are_listed_in_small_pages() {
    const { assert!(LARGEST_PAGE <= 80 << 20, "a third of the memory that the chart allows") };
    let mut shop = Shop::without_operator(Options::default(), fast()).await;
    let (gateway, client) = Gateway::before(&shop.sandbox.client).await;
    shop.start_operator_as(client);
    let watched =
        ["actionchecks", "configmaps", "connectordeployments", "connectorstageds", "connectprojects", "secrets"];
    let expected: BTreeMap<_, _> = watched.map(|kind| (kind.to_owned(), Some(PAGE))).into();
    let asked = || lists(&gateway, &shop.sandbox.namespace);
    until("a list of each kind", async || watched.iter().all(|kind| asked().contains_key(*kind))).await;
    assert_eq!(asked(), expected);
}
