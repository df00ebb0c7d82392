//! A create that was accepted, until the status has it: creates that wait come first, and often the remote has finished by
//! then, so that one status is enough.
//!
//! Losing it costs time only: the operation is stored, and the next process finds the record by its key (rule 2).

use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use clock::between;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::EventType;
use serde::Serialize;

use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::context::Context;
use crate::controllers::event_reason::EventReason;
use crate::controllers::event_recorder::NewEvent;
use crate::controllers::object::Next;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::remote::Remote;

use super::{Reconciler, RemoteKind};

/// From this age on, the remote is observed before the status is written: the first poll of the record is due.
const OBSERVED_AFTER: Duration = Duration::from_secs(3);

/// As long after the response, its status waits if other changes come first and nothing but the create is to be reported.
const REPORTED_AFTER: Duration = Duration::from_secs(5);

/// An event that arrives with the response enqueues the object only once, and the reconcile that writes the response may be
/// that one: after this time at most, the object is looked at again.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// How long it waits for the watch to show the write before it; then the object is read.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// What the response to a create came to.
#[derive(Clone, Debug)]
pub struct AcceptedCreate {
    /// Hash of the operation that was stored when the call was sent.
    sent: u64,
    /// JSON of the status to write: a thousand may wait.
    status: Box<[u8]>,
    /// The Ready condition of that status.
    condition: ConditionUpdate,
    /// When the response arrived.
    at: Timestamp,
    /// When to go on after the write.
    again: Duration,
    /// Other changes came first, so that it waits until the remote is observed.
    waits: bool,
}

impl AcceptedCreate {
    /// Packs the response to a call whose operation is `sent`. `waits`: other changes come first.
    ///
    /// # Errors
    /// If the status cannot be serialized, which is a bug.
    pub(super) fn new<K: RemoteKind>(
        (sent, status): (&K::Operation, &K::Status),
        condition: ConditionUpdate,
        at: Timestamp,
        again: Duration,
        waits: bool,
    ) -> Result<Self, serde_json::Error> {
        Ok(Self { sent: hash(sent)?, status: serde_json::to_vec(status)?.into(), condition, at, again, waits })
    }

    /// How long its status waits.
    pub(super) fn left(&self, now: Timestamp) -> Duration {
        if self.waits { REPORTED_AFTER.saturating_sub(between(self.at, now)) } else { Duration::ZERO }
    }

    /// Whether it can wait for the watch.
    pub(super) fn is_new(&self, now: Timestamp) -> bool {
        between(self.at, now) < LONGEST_WAIT
    }

    fn status<K: RemoteKind>(&self) -> Option<K::Status> {
        serde_json::from_slice(&self.status).ok()
    }

    /// Reports that the object was deleted without its finalizer, so that its record stays. That happens also if no client
    /// removes the finalizer: the API server ignores one that is added after its DELETE has read the object.
    pub(super) fn report_left_behind<K: RemoteKind>(&self, context: &Context, object_ref: &ObjectRef, uid: &str) {
        let Some(status) = self.status::<K>() else { return };
        let Some(id) = K::record_id(&status) else { return };
        let note = format!(
            "The object was deleted without its finalizer while its create was in progress, so {id} stays at the remote: \
             delete it there, or create the object again with adoptionPolicy: Adopt"
        );
        tracing::warn!(object = %object_ref, id, "{note}");
        let regarding = ObjectReference {
            api_version: Some(K::api_version(&()).into_owned()),
            kind: Some(K::kind(&()).into_owned()),
            namespace: Some(object_ref.namespace.clone()),
            name: Some(object_ref.name.clone()),
            uid: Some(uid.to_owned()),
            ..ObjectReference::default()
        };
        let reason = EventReason::Orphaned.as_str();
        let event = NewEvent { regarding, type_: EventType::Warning, reason, action: "Reconcile", note };
        context.recorder.take(event, context.clock.now());
    }
}

fn hash(operation: &impl Serialize) -> Result<u64, serde_json::Error> {
    let mut hasher = DefaultHasher::new();
    hasher.write(&serde_json::to_vec(operation)?);
    Ok(hasher.finish())
}

impl<K: RemoteKind> Reconciler<'_, K> {
    /// Takes the status of the object as if it had the response, as long as it has the operation of that call.
    pub(super) fn take_accepted_create(&mut self) {
        let Some(accepted) = self.cache.accepted_create.take() else { return };
        let operation = self.object.status().and_then(K::operation).and_then(|operation| hash(operation).ok());
        // A status with another operation knows more.
        if operation == Some(accepted.sent)
            && let Some(status) = accepted.status::<K>()
        {
            self.stand_in(status);
            self.cache.accepted_create = Some(accepted);
        }
    }

    /// Takes another status as that of the object, until the next write.
    pub(super) fn stand_in(&mut self, status: K::Status) {
        let stored = self.object.status().cloned().unwrap_or_default();
        self.stored.get_or_insert(stored);
        Arc::make_mut(&mut self.object).set_status(Some(status));
    }

    /// Returns how long the status of a create that was accepted still waits, because other changes come first.
    pub(in crate::controllers) fn unreported_create(&self) -> Option<Duration> {
        let accepted = self.cache.accepted_create.as_ref()?;
        Some(accepted.left(self.context.clock.now())).filter(|left| !left.is_zero())
    }

    /// Writes the response to a create, unless an observation says more. `None`: nothing was to be written.
    pub(super) async fn report_accepted_create(&mut self, remote: &Remote) -> Result<Option<Next>, kube::Error> {
        let now = self.context.clock.now();
        let recent = self.cache.accepted_create.as_ref().filter(|accepted| between(accepted.at, now) < OBSERVED_AFTER);
        let Some(accepted) = recent else { return Ok(None) };
        // What a poll has found enqueues the resource only once, perhaps this time; and another remote than that of the call
        // polls it only once it was observed there.
        let needs_polls = accepted.again > OBSERVED_AFTER;
        if self.is_deleting()
            || remote.has_news(self.object_ref)
            || (needs_polls && !remote.is_watched(self.object_ref))
        {
            return Ok(None);
        }
        if accepted.waits {
            return Ok(Some(Next::Again(Some(accepted.left(now)))));
        }
        let (condition, again) = (accepted.condition.clone(), accepted.again);
        // The object has the status to write.
        self.write(self.status(), &condition).await?;
        self.cache.asked = None;
        Ok(Some(Next::Again(Some(again.min(LONGEST_PAUSE)))))
    }
}
