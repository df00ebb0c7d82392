//! Awaits a state of one object, or a condition that no watch reports.

use std::fmt::Debug;
use std::pin::pin;

use kube::runtime::wait::Condition;

use crate::prelude::*;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(20);

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

/// Returns once there is no such object.
pub(crate) async fn until_deleted<K>(api: Api<K>, name: &str)
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let gone = awaited(api.clone(), name, |object: Option<&K>| object.is_none());
    let is_gone = in_time(gone).await.is_ok();
    assert!(is_gone, "still there: {:#?}", api.get_opt(name).await);
}

/// Returns once this holds.
pub(crate) async fn until(what: &str, is: impl AsyncFn() -> bool) {
    let holds = async {
        while !is().await {
            tokio::time::sleep(LOOK).await;
        }
    };
    assert!(in_time(holds).await.is_ok(), "not in time: {what}");
}
