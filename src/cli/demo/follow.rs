//! Follows the cluster and the dev server: prints each change as a line, and keeps the latest state for the steps.
//!
//! Only reads: it uses one watch per object and polls nothing. Next: `observed.rs` for the line about an object.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use dev_server::DevServer;
use futures::stream::{BoxStream, StreamExt, select_all};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::events::v1::Event;
use kube::runtime::watcher::{self, watch_object};
use kube::runtime::{WatchStreamExt, watcher as watch_kind};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::display::Display;
use super::observed::{DEPLOYMENT, LIVE, ObservedObjects, PREVIEW, PROJECT, READING, STAGED, Shown, WRITING};
use crate::crd::{ActionCheck, ConnectProject, ConnectorDeployment, ConnectorStaged};
use crate::names;

enum Change {
    Project(&'static str, Option<Box<ConnectProject>>),
    Deployment(&'static str, Option<Box<ConnectorDeployment>>),
    Staged(&'static str, Option<Box<ConnectorStaged>>),
    Check(&'static str, Option<Box<ActionCheck>>),
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
    let mut streams = Vec::new();
    streams.extend([PROJECT].map(|name| object(client, namespace, name, Change::Project)));
    streams.extend([DEPLOYMENT, PREVIEW, LIVE].map(|name| object(client, namespace, name, Change::Deployment)));
    streams.extend([STAGED].map(|name| object(client, namespace, name, Change::Staged)));
    streams.extend([WRITING, READING].map(|name| object(client, namespace, name, Change::Check)));
    let events = watch_kind(Api::<Event>::namespaced(client.clone(), namespace), watcher::Config::default());
    let events = events.default_backoff().applied_objects();
    streams.push(
        events.map(|event| event.map_or_else(Change::Interrupted, |event| Change::Event(Box::new(event)))).boxed(),
    );
    select_all(streams).boxed()
}

/// Returns a stream of the object with this name after each change, wrapped by `form`.
fn object<K>(
    client: &Client,
    namespace: &str,
    name: &'static str,
    form: fn(&'static str, Option<Box<K>>) -> Change,
) -> BoxStream<'static, Change>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    watch_object(Api::<K>::namespaced(client.clone(), namespace), name)
        .default_backoff()
        .map(move |seen| seen.map_or_else(Change::Interrupted, |seen| form(name, seen.map(Box::new))))
        .boxed()
}

async fn follow(mut changes: BoxStream<'static, Change>, seen: watch::Sender<ObservedObjects>, mut printer: Printer) {
    while let Some(change) = changes.next().await {
        printer.calls();
        match change {
            Change::Project(name, project) => {
                seen.send_modify(|seen| printer.object(&mut seen.projects, name, project));
            }
            Change::Deployment(name, deployment) => {
                seen.send_modify(|seen| printer.object(&mut seen.deployments, name, deployment));
            }
            Change::Staged(name, staged) => seen.send_modify(|seen| printer.object(&mut seen.staged, name, staged)),
            Change::Check(name, check) => seen.send_modify(|seen| printer.object(&mut seen.checks, name, check)),
            Change::Event(event) => {
                let Some(line) = printer.event(&event) else { continue };
                seen.send_modify(|seen| seen.event(line));
            }
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
    /// The last printed line of each object, by kind and name.
    printed: BTreeMap<(&'static str, &'static str), String>,
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

    /// Stores an object, or its deletion, and prints what is new.
    fn object<K: Shown>(&mut self, all: &mut BTreeMap<&'static str, K>, name: &'static str, object: Option<Box<K>>) {
        let Some(object) = object else {
            if all.remove(name).is_some() {
                self.printed.remove(&(K::KIND, name));
                self.display.detail(&format!("{} {name} was deleted", K::KIND));
            }
            return;
        };
        let line = object.line();
        if self.printed.get(&(K::KIND, name)) != Some(&line) {
            self.display.detail(&line);
            if object.condition(names::READY).is_some_and(|ready| ready.status == "False") {
                object.report().iter().for_each(|entry| self.display.detail(entry));
            }
            self.printed.insert((K::KIND, name), line);
        }
        all.insert(name, *object);
    }

    fn event(&mut self, event: &Event) -> Option<String> {
        let about = event.regarding.as_ref()?;
        if !about.api_version.as_ref()?.starts_with(names::GROUP) {
            return None;
        }
        if !self.events.insert((event.uid()?, event.resource_version()?)) {
            return None;
        }
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let line = format!(
            "Event {} {} of {} {}: {}",
            text(&event.type_),
            text(&event.reason),
            text(&about.kind),
            text(&about.name),
            text(&event.note)
        );
        self.display.detail(&line);
        Some(line)
    }
}
