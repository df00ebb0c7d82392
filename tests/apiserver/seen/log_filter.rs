//! The filter of the log in a file, which changes while the operator runs.

use std::time::Duration;

use clock::Clock;
use connect_operator::names;

use super::traced::{command, deploy, end};
use crate::patience::in_time;
use crate::security::quick;
use crate::shop::Shop;

/// Replaces the file at once, as the kubelet does with a mounted ConfigMap.
fn write(path: &std::path::Path, text: &str) {
    let next = path.with_extension("next");
    std::fs::write(&next, text).unwrap();
    std::fs::rename(&next, path).unwrap();
}

#[tokio::test]
async fn another_filter_in_the_file_applies_without_a_restart() {
    let shop = Shop::without_operator(quick(), Clock::system()).await;
    let folder = tempfile::tempdir().unwrap();
    let filter = folder.path().join("filter");
    write(&filter, "info\n");
    let log = tempfile::NamedTempFile::new().unwrap();
    let operator =
        command(&shop, log.as_file()).arg("--log-filter-file").arg(&filter).spawn().expect("the operator starts");
    let logged = |text: &str| std::fs::read_to_string(log.path()).unwrap().contains(text);
    let until_logged = async |text: &str| {
        let there = async {
            while !logged(text) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        in_time(there).await.unwrap_or_else(|_| panic!("not logged in time: {text}"));
    };
    deploy(&shop, "first-token-of-the-shop").await;
    assert!(!logged("the reconcile ended"), "the file comes before RUST_LOG");

    write(&filter, "connect_operator=loud");
    until_logged("is invalid").await;
    write(&filter, "info,connect_operator=debug");
    until_logged("\"filter\":\"info,connect_operator=debug\"").await;
    shop.annotate(names::RECONCILE_REQUESTED_AT, "now").await;
    until_logged("the reconcile ended").await;
    end(operator).await;
}
