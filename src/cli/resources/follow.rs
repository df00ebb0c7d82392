//! Waits until the operator has handled a request, and the resource is ready or a user has to act.

use std::pin::Pin;
use std::time::Duration;

use clock::Clock;
use futures::StreamExt as _;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};

use crate::cli::printing::print;

use super::change::Change;
use super::failure::Failed;
use super::progress::{Progress, progress};
use super::selection::{Found, read};

/// The request that is followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Followed<'a> {
    /// What was requested.
    pub(super) change: Change,
    /// The value of the annotation.
    pub(super) value: &'a str,
    /// Maximum time for all resources.
    pub(super) timeout: Duration,
}

/// Follows each resource, and prints each change of its state to standard error.
///
/// # Errors
/// The first resource that is not ready in the end.
pub(super) async fn follow(
    client: &Client,
    clock: &Clock,
    resources: &[Found],
    followed: &Followed<'_>,
) -> Result<(), Failed> {
    let mut over = std::pin::pin!(clock.sleep(followed.timeout));
    let mut failed = Vec::new();
    for found in resources {
        match one(client, found, followed, over.as_mut()).await {
            Ok(text) => print(&format!("{text}\n"))?,
            Err(Failed::Unfinished(why)) => failed.push(why),
            Err(error) => return Err(error),
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Failed::Unfinished(failed.join("\n"))) }
}

async fn one(
    client: &Client,
    (resource_type, object): &Found,
    followed: &Followed<'_>,
    mut over: Pin<&mut impl Future<Output = ()>>,
) -> Result<String, Failed> {
    let name = format!("{}/{}", resource_type.alias(), object.name_any());
    let unfinished = |why: &str| Failed::Unfinished(format!("{name}: {why}"));
    let api = resource_type.api(client.clone(), &object.namespace().unwrap_or_default());
    let mut states = std::pin::pin!(watcher::watch_object(api, &object.name_any()).default_backoff());
    let mut state = "its status was not read yet".to_owned();
    loop {
        let seen = tokio::select! {
            () = over.as_mut() => {
                return Err(unfinished(&format!("not finished after {:?}: {state}", followed.timeout)));
            }
            seen = states.next() => seen,
        };
        match seen {
            Some(Ok(Some(object))) => {
                match progress(&read((*resource_type, object))?, followed.change, followed.value) {
                    Progress::Ready(text) => return Ok(format!("{name}: {text}")),
                    Progress::Failed(text) => return Err(unfinished(&text)),
                    Progress::Running(text) if text != state => {
                        eprintln!("{name}: {text}");
                        state = text;
                    }
                    Progress::Running(_) => {}
                }
            }
            Some(Ok(None)) => return Err(unfinished("it was deleted")),
            // The watcher retries after a backoff.
            Some(Err(error)) => tracing::debug!(%error, "the watch was interrupted"),
            None => return Err(unfinished("the watch has ended")),
        }
    }
}
