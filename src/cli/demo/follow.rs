//! Prints what changes: the states of the resources, their Events, and the calls of the dev server.
//!
//! Only reads, with one watch for each kind. Next: `steps/` for what is waited for.

use std::collections::BTreeMap;
use std::convert::Infallible;

use dev_server::DevServer;
use futures::stream::{StreamExt, select_all};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DynamicObject};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use serde_json::Value;

use super::NAMESPACE;
use super::display::detail;
use crate::cli::resources::ResourceType;
use crate::names;

/// Prints changes until it is dropped.
pub(super) async fn follow(client: &Client, remote: &DevServer) -> Infallible {
    let objects = ResourceType::ALL.into_iter().filter(|it| !it.is_cluster_scoped()).map(|resource_type| {
        let api = resource_type.api(client.clone(), NAMESPACE);
        let objects = watcher(api, watcher::Config::default()).default_backoff().applied_objects();
        objects.map(move |object| object.map(|object| state(resource_type.kind(), &object))).boxed()
    });
    let events = watcher(Api::<Event>::namespaced(client.clone(), NAMESPACE), watcher::Config::default());
    let events = events.default_backoff().applied_objects().map(|event| event.map(|event| reported(&event))).boxed();
    let mut changes = select_all(objects.chain([events]));
    let (mut printed, mut last_call) = (BTreeMap::new(), None);
    while let Some(change) = changes.next().await {
        print_calls(remote, &mut last_call);
        let (what, line) =
            change.unwrap_or_else(|error| (String::new(), format!("the watch was interrupted: {error}")));
        if printed.insert(what, line.clone()).as_ref() != Some(&line) {
            detail(&line);
        }
    }
    std::future::pending().await
}

/// Prints the calls since the last one that change something. `last`: the correlation id of the newest one.
fn print_calls(remote: &DevServer, last: &mut Option<String>) {
    let calls = remote.calls();
    let known = calls.iter().rposition(|call| Some(&call.correlation_id) == last.as_ref());
    let new = calls.iter().skip(known.map_or(0, |known| known + 1));
    for call in new.filter(|call| call.method != "GET" && call.operation != "token") {
        detail(&format!("dev server: {} {} answered {}", call.method, call.path, call.status));
    }
    *last = calls.last().map(|call| call.correlation_id.clone());
}

/// Returns the name of an object, and a line about its state.
fn state(kind: &str, object: &DynamicObject) -> (String, String) {
    let name = format!("{kind} {}", object.name_any());
    let status = &object.data["status"];
    let conditions = || status["conditions"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ready = conditions().find(|it| it["type"] == names::READY);
    let ready = ready.map(|it| format!("Ready={} {}", text(&it["status"]), text(&it["reason"])));
    let remote = status["remote"]["state"].as_str();
    let remote = remote.map(|remote| format!(", remote {remote}")).unwrap_or_default();
    let update = conditions().any(|it| it["type"] == names::UPDATE_AVAILABLE && it["status"] == "True");
    let update = if update { ", UpdateAvailable" } else { "" };
    let line = format!("{name}: {}{remote}{update}", ready.as_deref().unwrap_or("no condition yet"));
    (name, line)
}

/// Returns what an Event is about, and a line about it.
fn reported(event: &Event) -> (String, String) {
    let about = event.regarding.clone().unwrap_or_default();
    let [kind, reason, of, name, note] = [&event.type_, &event.reason, &about.kind, &about.name, &event.note]
        .map(|text| text.as_deref().unwrap_or_default());
    (event.name_any(), format!("Event {kind} {reason} of {of} {name}: {note}"))
}
