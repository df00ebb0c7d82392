//! Awaits a state of one object.

use std::fmt::Debug;
use std::pin::pin;

use futures::StreamExt as _;
use kube::runtime::wait::Condition;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

/// Returns an object, or that there is none, once that meets the condition. A watch that fails begins again, as every client
/// has to expect: the API server ends watches when a kind changes, and may not continue them.
pub(crate) async fn awaited<K>(api: Api<K>, name: &str, condition: impl Condition<K>) -> Option<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let mut versions = pin!(watcher::watch_object(api, name).default_backoff());
    loop {
        let version = versions.next().await.expect("a watch has no end");
        if let Ok(object) = version
            && condition.matches_object(object.as_ref())
        {
            return object;
        }
    }
}
