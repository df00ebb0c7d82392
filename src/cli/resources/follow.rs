//! Watches resources until each has reached a goal, or cannot reach it unless a user acts.

use std::time::Duration;

use clock::{Clock, later};
use futures::StreamExt as _;
use futures::stream::{BoxStream, select_all};
use jiff::Timestamp;
use kube::api::DynamicObject;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};

use crate::cli::live::{Live, TICK};
use crate::cli::printing::print;

use super::advice;
use super::failure::Failed;
use super::kind::Resource;
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

/// How long a resource may stay in a state that a user may have to end, until the next step is printed.
const PATIENCE: Duration = Duration::from_secs(10);

/// A resource that has not reached its goal.
struct Pending {
    name: String,
    /// The last state that was observed.
    state: String,
    /// The next step, and when it is printed.
    advice: Option<(Timestamp, Vec<String>)>,
}

impl Pending {
    fn new(name: String) -> Self {
        Self { name, state: "its status was not read yet".to_owned(), advice: None }
    }

    /// Notes a state; returns whether it is a new one.
    fn note(&mut self, state: String, resource: Option<&Resource>, now: Timestamp) -> bool {
        if self.state == state {
            return false;
        }
        self.state = state;
        let steps = resource.map(|resource| advice::while_waiting(resource, super::program())).unwrap_or_default();
        self.advice = (!steps.is_empty()).then(|| (later(now, PATIENCE), steps));
        true
    }

    /// Takes the next step if it is due.
    fn due(&mut self, now: Timestamp) -> Option<Vec<String>> {
        self.advice.take_if(|(due, _)| *due <= now).map(|(_, steps)| steps)
    }
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
    let mut pending: Vec<Option<Pending>> = names(resources).into_iter().map(|name| Some(Pending::new(name))).collect();
    let mut changes = select_all(resources.iter().enumerate().map(|(at, found)| changes(client, at, found)));
    let live = Live::start(clock);
    let (mut ready, mut failed) = (vec![None; resources.len()], Vec::new());
    let mut over = std::pin::pin!(clock.sleep(followed.timeout));
    while pending.iter().any(Option::is_some) {
        advise(&live, pending.iter_mut().flatten(), clock.now());
        live.show(pending.iter().flatten().map(|it| (it.name.as_str(), it.state.as_str())));
        let advice = pending.iter().flatten().filter_map(|it| Some(it.advice.as_ref()?.0)).min();
        let (at, seen) = tokio::select! {
            () = over.as_mut() => {
                let late = pending.iter_mut().filter_map(Option::take);
                failed.extend(late.map(|it| format!("{}: not ready after {:?}: {}", it.name, followed.timeout, it.state)));
                break;
            }
            () = clock.sleep(TICK), if live.is_shown() => continue,
            () = clock.sleep_until(advice.unwrap_or(Timestamp::MAX)), if advice.is_some() => continue,
            change = changes.next() => match change {
                Some(change) => change,
                None => return Err(Failed::Unfinished("the watches have ended".to_owned())),
            },
        };
        let Some(it) = pending[at].as_mut() else { continue };
        let object = seen.as_ref().ok().and_then(Clone::clone);
        let (progress, resource) = outcome(&resources[at], seen, followed.goal)?;
        match progress {
            Some(Progress::Ready(_)) if followed.output.is_of_objects() => {
                ready[at] = object.map(|object| (resources[at].0, object));
            }
            Some(Progress::Ready(text)) => live.result(&format!("{}: {text}\n", it.name))?,
            Some(Progress::Failed(text)) => failed.push(format!("{}: {text}", it.name)),
            Some(Progress::Running(text)) => {
                if it.note(text, resource.as_ref(), clock.now()) {
                    live.change(&format!("{}: {}", it.name, it.state));
                }
                continue;
            }
            None => continue,
        }
        pending[at] = None;
    }
    live.clear();
    let ready: Vec<Found> = ready.into_iter().flatten().collect();
    print_objects(&ready, followed.output)?;
    if failed.is_empty() { Ok(()) } else { Err(Failed::Unfinished(failed.join("\n"))) }
}

/// Prints the next steps that are due.
fn advise<'p>(live: &Live<'_>, pending: impl Iterator<Item = &'p mut Pending>, now: Timestamp) {
    for it in pending {
        for step in it.due(now).into_iter().flatten() {
            live.change(&format!("{}: {step}", it.name));
        }
    }
}

/// Prints the objects in the format that was asked for; nothing if there are none.
fn print_objects(objects: &[Found], output: Output) -> Result<(), Failed> {
    if objects.is_empty() {
        return Ok(());
    }
    let text = output.objects(objects).map_err(Failed::Argument)?;
    Ok(print(&text.unwrap_or_default())?)
}

/// Returns what a change means, and the resource as it is now; no progress: nothing, because the watch was interrupted and
/// is retried after a backoff.
fn outcome(
    (resource_type, _): &Found,
    seen: WatchResult,
    goal: Goal<'_>,
) -> Result<(Option<Progress>, Option<Resource>), Failed> {
    Ok(match seen {
        Ok(Some(object)) => {
            let resource = read((*resource_type, object))?;
            (Some(goal.progress(&resource)), Some(resource))
        }
        Ok(None) => (Some(Progress::Failed("it was deleted".to_owned())), None),
        Err(error) => {
            tracing::debug!(%error, "the watch was interrupted");
            (None, None)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::resources::samples::{conditions, deployment};

    #[test]
    fn a_state_that_a_user_may_have_to_end_is_explained_once_after_a_while() {
        let status = |main| json!({"status": {"observedGeneration": 3, "conditions": conditions(main)}});
        let missing = deployment(&status(("False", "SecretMissing", "Reconciling")));
        let running = deployment(&status(("Unknown", "Creating", "Reconciling")));
        let unread = deployment(&json!({"status": null}));
        let now = Timestamp::UNIX_EPOCH;
        let after = later(now, PATIENCE);
        for (case, resource, expected) in [
            ("a Secret is missing", &missing, Some("create it, and the operator continues")),
            ("no operator has read it", &unread, Some("Check that an operator runs and watches the namespace shop")),
            ("it is being created", &running, None),
        ] {
            let mut pending = Pending::new("deployment/tax".to_owned());
            assert!(pending.note("state".to_owned(), Some(resource), now), "{case}");
            assert_eq!(pending.due(now), None, "{case}: not at once");
            assert!(!pending.note("state".to_owned(), Some(resource), after), "{case}: the same state");
            let steps = pending.due(after).map(|steps| steps.join("\n"));
            assert_eq!(steps.is_some(), expected.is_some(), "{case}: {steps:?}");
            assert!(steps.unwrap_or_default().contains(expected.unwrap_or_default()), "{case}");
            assert_eq!(pending.due(after), None, "{case}: once");
        }
        let mut pending = Pending::new("deployment/tax".to_owned());
        assert!(pending.note("state".to_owned(), Some(&missing), now));
        assert!(pending.note("another one".to_owned(), Some(&running), now));
        assert_eq!(pending.due(after), None, "the state has ended");
    }
}
