//! Publishes Events (`events.k8s.io/v1`) beside the reconciles, one after the other.
//!
//! An Event that repeats the one before, with the same object, reason and note, is counted in its series. Events are for
//! users only: one that cannot be written, or for which there is no room, is only logged.

use std::collections::BTreeMap;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::events::EventType;
use serde_json::json;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::leader::scope::Labels;
use crate::names;
use crate::operator::reporting::conditions::cut;

/// Longest note (Kubernetes API: `note` of `events.k8s.io/v1`), in bytes.
const LONGEST_NOTE: usize = 1024;
/// Longest name of an object (Kubernetes API conventions), in bytes.
const LONGEST_NAME: usize = 253;
/// Longest `reportingInstance` (Kubernetes API: `events.k8s.io/v1`), in bytes.
const LONGEST_INSTANCE: usize = 128;
/// Events that may wait, of all objects: 5 MB, or 15 MB with the longest notes.
const WAITING: usize = 10_000;
/// Time after its last Event at which a series ends. The API server keeps an Event for an hour unless told otherwise.
const CONTINUES_WITHIN: Duration = Duration::from_mins(6);
/// Pause between two sweeps of ended series: thousands of objects may report Events at once.
const SWEPT_AGAIN: Duration = Duration::from_mins(1);

/// An Event to publish.
#[derive(Debug)]
pub struct NewEvent {
    /// The object that it is about.
    pub regarding: ObjectReference,
    /// Whether a user should look.
    pub type_: EventType,
    /// Why, in one word.
    pub reason: &'static str,
    /// What the operator was doing, in one word.
    pub action: &'static str,
    /// A sentence; what exceeds 1024 bytes is cut off.
    pub note: String,
}

/// Takes Events at once, and publishes them later.
#[derive(Debug)]
pub struct EventRecorder {
    sender: Sender<(NewEvent, Timestamp)>,
    receiver: Mutex<Receiver<(NewEvent, Timestamp)>>,
}

impl Default for EventRecorder {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        Self { sender, receiver: Mutex::new(receiver) }
    }
}

impl EventRecorder {
    /// Takes an Event that happened at `now`.
    pub fn record(&self, event: NewEvent, now: Timestamp) {
        let reason = event.reason;
        let event = NewEvent { note: cut(&event.note, LONGEST_NOTE), ..event };
        if self.sender.try_send((event, now)).is_err() {
            tracing::debug!(reason, "the Event was dropped, because too many others wait");
        }
    }

    /// Publishes what was taken, and what is taken until `end`, with these labels.
    pub async fn publish(&self, client: Client, labels: Labels, end: impl Future<Output = ()>) {
        let mut receiver = self.receiver.lock().await;
        let mut end = pin!(end);
        let mut publisher = Publisher { client, labels, instance: instance(), series: Series::default(), named: 0 };
        loop {
            tokio::select! {
                biased;
                Some((event, at)) = receiver.recv() => publisher.publish(event, at).await,
                () = &mut end => return,
            }
        }
    }
}

/// Returns the name of this pod or machine.
fn instance() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { names::EVENT_REPORTER.to_owned() } else { cut(&name, LONGEST_INSTANCE) }
}

/// Writes Events to the API server.
struct Publisher {
    client: Client,
    labels: Labels,
    instance: String,
    series: Series,
    /// Time in the name of the last Event, in nanoseconds since 1970.
    named: i128,
}

impl Publisher {
    async fn publish(&mut self, event: NewEvent, at: Timestamp) {
        let reason = event.reason;
        if let Err(error) = self.write(event, at).await {
            tracing::debug!(%error, reason, "the Event could not be written");
        }
    }

    async fn write(&mut self, event: NewEvent, at: Timestamp) -> Result<(), kube::Error> {
        // An Event about a cluster-scoped object is in this namespace (Kubernetes API: `events.k8s.io/v1`).
        let namespace = event.regarding.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let api = Api::<Event>::namespaced(self.client.clone(), &namespace);
        if let Some(last) = self.series.continued(&event, at) {
            let series = EventSeries { count: last.count + 1, last_observed_time: MicroTime(at) };
            let patch = Patch::Merge(json!({ "series": series }));
            match api.patch_metadata(&last.name, &PatchParams::default(), &patch).await {
                Ok(_) => {
                    (last.count, last.at) = (series.count, at);
                    return Ok(());
                }
                // It was deleted or has expired, so that another one begins.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(error),
            }
        }
        // Two Events about one object may have the same time, and the API server would refuse the second one.
        self.named = at.as_nanosecond().max(self.named + 1);
        let name = name(event.regarding.name.as_deref().unwrap_or(names::EVENT_REPORTER), self.named);
        api.create(&PostParams::default(), &self.body(&event, &namespace, &name, at)).await?;
        self.series.begin(&event, name, at);
        Ok(())
    }

    fn body(&self, event: &NewEvent, namespace: &str, name: &str, at: Timestamp) -> Event {
        let type_ = match event.type_ {
            EventType::Normal => "Normal",
            EventType::Warning => "Warning",
        };
        Event {
            metadata: ObjectMeta {
                namespace: Some(namespace.to_owned()),
                name: Some(name.to_owned()),
                labels: Some(self.labels.clone()),
                ..ObjectMeta::default()
            },
            action: Some(event.action.to_owned()),
            event_time: Some(MicroTime(at)),
            note: Some(event.note.clone()),
            reason: Some(event.reason.to_owned()),
            regarding: Some(event.regarding.clone()),
            reporting_controller: Some(names::EVENT_REPORTER.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            type_: Some(type_.to_owned()),
            ..Event::default()
        }
    }
}

/// Returns the name of an Event: that of the object, as far as there is room, and the time in nanoseconds since 1970.
fn name(object: &str, at: i128) -> String {
    let time = format!(".{at:x}");
    let length = object.floor_char_boundary(LONGEST_NAME - time.len());
    format!("{}{time}", object[..length].trim_end_matches(['.', '-']))
}

/// The last Event of each object and reason.
#[derive(Default)]
struct Series {
    last: BTreeMap<(String, &'static str), LastEvent>,
    hasher: RandomState,
    swept: Timestamp,
}

struct LastEvent {
    /// Name of the Event.
    name: String,
    /// Hash of the note.
    note: u64,
    count: i32,
    at: Timestamp,
}

impl LastEvent {
    fn continues(&self, now: Timestamp) -> bool {
        now.duration_since(self.at).unsigned_abs() <= CONTINUES_WITHIN
    }
}

impl Series {
    /// Returns the last Event if this one repeats it.
    fn continued(&mut self, event: &NewEvent, at: Timestamp) -> Option<&mut LastEvent> {
        let note = self.hasher.hash_one(&event.note);
        self.last.get_mut(&key(event)).filter(|last| last.note == note && last.continues(at))
    }

    /// Records an Event that was created.
    fn begin(&mut self, event: &NewEvent, name: String, at: Timestamp) {
        if at.duration_since(self.swept).unsigned_abs() > SWEPT_AGAIN {
            self.last.retain(|_, last| last.continues(at));
            self.swept = at;
        }
        let note = self.hasher.hash_one(&event.note);
        self.last.insert(key(event), LastEvent { name, note, count: 1, at });
    }
}

fn key(event: &NewEvent) -> (String, &'static str) {
    (event.regarding.uid.clone().unwrap_or_default(), event.reason)
}

#[cfg(test)]
#[path = "event_recorder_tests.rs"]
mod tests;
