//! Follows the cluster and the dev server: prints each change as a line, and keeps the latest state for the steps.
//!
//! Only reads: it uses one watch per object and polls nothing. Next: `observed.rs` for the line about an object.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dev_server::DevServer;
use futures::stream::{BoxStream, StreamExt, select_all};
use k8s_openapi::api::events::v1::Event;
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, watch_object};
use kube::runtime::{WatchStreamExt, watcher as watch_kind};
use kube::{Api, Client, ResourceExt};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::display::Display;
use super::observed::{OBJECTS, ObservedObjects, line, report};
use crate::cli::resources::{Resource, ResourceType};
use crate::names;

enum Change {
    Object(ResourceType, &'static str, Option<Box<DynamicObject>>),
    Event(Box<Event>),
    Interrupted(watcher::Error),
}

/// Follows until it is dropped.
pub(super) struct Follower {
    seen: watch::Receiver<ObservedObjects>,
    _looking: JoinSet<()>,
}

impl Follower {
    /// Starts to watch the objects of the demo in `namespace` and to print their changes.
    pub(super) fn start(client: &Client, namespace: &str, remote: Arc<DevServer>, display: Display) -> Self {
        let (sender, seen) = watch::channel(ObservedObjects::default());
        let printer = Printer { display, remote, last_call: None, events: BTreeSet::new(), printed: BTreeMap::new() };
        let mut looking = JoinSet::new();
        looking.spawn(follow(changes(client, namespace), sender, printer));
        Self { seen, _looking: looking }
    }

    /// Returns a receiver of the latest state, which is notified of each change.
    pub(super) fn seen(&self) -> watch::Receiver<ObservedObjects> {
        self.seen.clone()
    }
}

fn changes(client: &Client, namespace: &str) -> BoxStream<'static, Change> {
    let objects = OBJECTS.map(|(resource_type, name)| {
        watch_object(resource_type.api(client.clone(), namespace), name)
            .default_backoff()
            .map(move |seen| {
                let object = |seen: Option<DynamicObject>| Change::Object(resource_type, name, seen.map(Box::new));
                seen.map_or_else(Change::Interrupted, object)
            })
            .boxed()
    });
    let events = watch_kind(Api::<Event>::namespaced(client.clone(), namespace), watcher::Config::default());
    let events = events.default_backoff().applied_objects();
    let events =
        events.map(|event| event.map_or_else(Change::Interrupted, |event| Change::Event(Box::new(event)))).boxed();
    select_all(objects.into_iter().chain([events])).boxed()
}

async fn follow(mut changes: BoxStream<'static, Change>, seen: watch::Sender<ObservedObjects>, mut printer: Printer) {
    while let Some(change) = changes.next().await {
        printer.calls();
        match change {
            Change::Object(resource_type, name, object) => {
                match object.map(|object| Resource::of(resource_type, *object)).transpose() {
                    Ok(object) => seen.send_modify(|seen| {
                        printer.object(resource_type, name, object.as_ref());
                        seen.put(name, object);
                    }),
                    Err(error) => printer.display.detail(&format!("{name} cannot be read: {error}")),
                }
            }
            Change::Event(event) => printer.event(&event),
            Change::Interrupted(error) => printer.display.detail(&format!("the watch was interrupted: {error}")),
        }
    }
}

/// Prints changes, each once.
struct Printer {
    display: Display,
    remote: Arc<DevServer>,
    /// Correlation id of the newest call of the dev server that was printed or skipped.
    last_call: Option<String>,
    /// Printed Events, by uid and resourceVersion.
    events: BTreeSet<(String, String)>,
    /// The last printed line of each object, by name.
    printed: BTreeMap<&'static str, String>,
}

impl Printer {
    /// Prints new calls to the dev server that change something.
    fn calls(&mut self) {
        let calls = self.remote.calls();
        let known = calls.iter().rposition(|call| Some(&call.correlation_id) == self.last_call.as_ref());
        let new = calls.iter().skip(known.map_or(0, |known| known + 1));
        for call in new.filter(|call| call.method != "GET" && call.operation != "token") {
            self.display.detail(&format!("dev server: {} {} answered {}", call.method, call.path, call.status));
        }
        self.last_call = calls.last().map(|call| call.correlation_id.clone());
    }

    /// Prints what is new about an object, or that it was deleted.
    fn object(&mut self, resource_type: ResourceType, name: &'static str, object: Option<&Resource>) {
        let Some(object) = object else {
            if self.printed.remove(name).is_some() {
                self.display.detail(&format!("{} {name} was deleted", resource_type.kind()));
            }
            return;
        };
        let line = line(object);
        if self.printed.get(name) != Some(&line) {
            self.display.detail(&line);
            if object.ready().is_some_and(|ready| ready.status == "False") {
                for entry in report(object) {
                    self.display.detail(&entry);
                }
            }
            self.printed.insert(name, line);
        }
    }

    /// Prints an Event about a resource of ours.
    fn event(&mut self, event: &Event) {
        let about = event.regarding.clone().unwrap_or_default();
        let is_ours = about.api_version.is_some_and(|version| version.starts_with(names::GROUP));
        let identity = (event.uid().unwrap_or_default(), event.resource_version().unwrap_or_default());
        if !is_ours || !self.events.insert(identity) {
            return;
        }
        let [kind, reason, of, name, note] = [&event.type_, &event.reason, &about.kind, &about.name, &event.note]
            .map(|text| text.as_deref().unwrap_or_default());
        self.display.detail(&format!("Event {kind} {reason} of {of} {name}: {note}"));
    }
}
