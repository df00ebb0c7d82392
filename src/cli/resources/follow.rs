//! Watches resources until each has reached a goal, or cannot reach it unless a user acts.

use std::time::Duration;

use clock::Clock;
use futures::StreamExt as _;
use futures::stream::{BoxStream, select_all};
use kube::api::DynamicObject;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};

use crate::cli::printing::{print, tell};

use super::failure::Failed;
use super::output::Output;
use super::progress::{Goal, Progress};
use super::selection::{Found, read};

/// Default of `--timeout`: longer than a deployment usually takes, which is up to half an hour.
pub(in crate::cli) const TIMEOUT: &str = "40m";

/// What is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Followed<'a> {
    /// The goal of each resource.
    pub(super) goal: Goal<'a>,
    /// Maximum time for all resources.
    pub(super) timeout: Duration,
    /// How to print the resources that reached the goal.
    pub(super) output: Output,
}

/// A resource that has not reached its goal.
struct Pending {
    name: String,
    /// The last state that was observed.
    state: String,
}

type WatchResult = Result<Option<DynamicObject>, watcher::Error>;

/// Follows the resources, and prints each change of their states to standard error, and each that reached its goal to
/// standard output: with an output format, all of these objects in the end.
///
/// # Errors
/// The resources that did not reach their goal, each with its report.
pub(super) async fn follow(
    client: &Client,
    clock: &Clock,
    resources: &[Found],
    followed: &Followed<'_>,
) -> Result<(), Failed> {
    let new = |name| Some(Pending { name, state: "its status was not read yet".to_owned() });
    let mut pending: Vec<Option<Pending>> = names(resources).into_iter().map(new).collect();
    let mut changes = select_all(resources.iter().enumerate().map(|(at, found)| changes(client, at, found)));
    let (mut ready, mut failed) = (vec![None; resources.len()], Vec::new());
    let mut over = std::pin::pin!(clock.sleep(followed.timeout));
    while pending.iter().any(Option::is_some) {
        let (at, seen) = tokio::select! {
            () = over.as_mut() => {
                let late = pending.iter_mut().filter_map(Option::take);
                failed.extend(late.map(|it| format!("{}: not ready after {:?}: {}", it.name, followed.timeout, it.state)));
                break;
            }
            change = changes.next() => match change {
                Some(change) => change,
                None => return Err(Failed::Unfinished("the watches have ended".to_owned())),
            },
        };
        let Some(it) = pending[at].as_mut() else { continue };
        let object = seen.as_ref().ok().and_then(Clone::clone);
        match outcome(&resources[at], seen, followed.goal)? {
            Some(Progress::Ready(_)) if followed.output.is_of_objects() => {
                ready[at] = object.map(|object| (resources[at].0, object));
            }
            Some(Progress::Ready(text)) => print(&format!("{}: {text}\n", it.name))?,
            Some(Progress::Failed(text)) => failed.push(format!("{}: {text}", it.name)),
            Some(Progress::Running(text)) => {
                if it.state != text {
                    it.state = text;
                    tell!("{}: {}", it.name, it.state);
                }
                continue;
            }
            None => continue,
        }
        pending[at] = None;
    }
    let ready: Vec<Found> = ready.into_iter().flatten().collect();
    print_objects(&ready, followed.output)?;
    if failed.is_empty() { Ok(()) } else { Err(Failed::Unfinished(failed.join("\n"))) }
}

/// Prints the objects in the format that was asked for; nothing if there are none.
fn print_objects(objects: &[Found], output: Output) -> Result<(), Failed> {
    if objects.is_empty() {
        return Ok(());
    }
    let text = output.objects(objects).map_err(Failed::Argument)?;
    Ok(print(&text.unwrap_or_default())?)
}

/// Returns what a change means; `None`: nothing, because the watch was interrupted and is retried after a backoff.
fn outcome((resource_type, _): &Found, seen: WatchResult, goal: Goal<'_>) -> Result<Option<Progress>, Failed> {
    Ok(match seen {
        Ok(Some(object)) => Some(goal.progress(&read((*resource_type, object))?)),
        Ok(None) => Some(Progress::Failed("it was deleted".to_owned())),
        Err(error) => {
            tracing::debug!(%error, "the watch was interrupted");
            None
        }
    })
}

fn changes(client: &Client, at: usize, (resource_type, object): &Found) -> BoxStream<'static, (usize, WatchResult)> {
    let api = resource_type.api(client.clone(), &object.namespace().unwrap_or_default());
    watcher::watch_object(api, &object.name_any()).default_backoff().map(move |seen| (at, seen)).boxed()
}

/// Returns how the resources are called: with their namespace if there are several.
fn names(resources: &[Found]) -> Vec<String> {
    let namespace = |(_, object): &Found| object.namespace().unwrap_or_default();
    let several = resources.windows(2).any(|pair| namespace(&pair[0]) != namespace(&pair[1]));
    let name = |found: &Found| {
        let place = if several { format!(" in {}", namespace(found)) } else { String::new() };
        format!("{}/{}{place}", found.0.alias(), found.1.name_any())
    };
    resources.iter().map(name).collect()
}
