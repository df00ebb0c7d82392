//! A create that was accepted, until the status has it: creates that wait come first, and often the remote has finished by
//! then, so that one status is enough.
//!
//! Losing it costs time only: the operation is stored, and the next process finds the record by its key (rule 2).

use std::sync::Arc;
use std::time::Duration;

use clock::between;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::EventType;

use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::context::Context;
use crate::controllers::event_reason::EventReason;
use crate::controllers::event_recorder::NewEvent;
use crate::controllers::object::Next;
use crate::controllers::remote::Remote;

use super::{Reconciler, RemoteKind};

/// From this age on, the remote is observed before the status is written: the first poll of the record is due.
const OBSERVED_AFTER: Duration = Duration::from_secs(3);

/// What the response to a create came to.
#[derive(Clone, Debug)]
pub struct AcceptedCreate<K: RemoteKind> {
    /// The operation that was stored when the call was sent. A status with another one knows more than this.
    pub(super) sent: K::Operation,
    /// The status to write.
    pub(super) status: K::Status,
    /// Its Ready condition.
    pub(super) condition: ConditionUpdate,
    /// When the response arrived.
    pub(super) at: Timestamp,
    /// When to go on after the write.
    pub(super) again: Duration,
    /// The object.
    pub(super) regarding: ObjectReference,
}

impl<K: RemoteKind> AcceptedCreate<K> {
    /// Reports that the object was deleted without its finalizer, so that its record stays. That happens also if no client
    /// removes the finalizer: the API server ignores one that is added after its DELETE has read the object.
    pub(super) fn report_left_behind(&self, context: &Context) {
        let Some(id) = K::record_id(&self.status) else { return };
        let note = format!(
            "The object was deleted without its finalizer while its create was in progress, so {id} stays at the remote: \
             delete it there, or create the object again with adoptionPolicy: Adopt"
        );
        let name = self.regarding.name.as_deref().unwrap_or_default();
        tracing::warn!(namespace = self.regarding.namespace, name, id, "{note}");
        let regarding = self.regarding.clone();
        let reason = EventReason::Orphaned.as_str();
        let event = NewEvent { regarding, type_: EventType::Warning, reason, action: "Reconcile", note };
        context.recorder.take(event, context.clock.now());
    }
}

impl<K: RemoteKind> Reconciler<'_, K> {
    /// Takes the status of the object as if it had the response, as long as it has the operation of that call.
    pub(super) fn take_accepted_create(&mut self) {
        let operation = self.object.status().and_then(K::operation);
        let known = self.cache.accepted_create.take().filter(|accepted| operation == Some(&accepted.sent));
        if let Some(accepted) = known {
            self.stand_in(accepted.status.clone());
            self.cache.accepted_create = Some(accepted);
        }
    }

    /// Takes another status as that of the object, until the next write.
    pub(super) fn stand_in(&mut self, status: K::Status) {
        let stored = self.object.status().cloned().unwrap_or_default();
        self.stored.get_or_insert(stored);
        Arc::make_mut(&mut self.object).set_status(Some(status));
    }

    /// Writes the response to a create, unless an observation says more. `None`: nothing was to be written.
    pub(super) async fn report_accepted_create(&mut self, remote: &Remote) -> Result<Option<Next>, kube::Error> {
        let now = self.context.clock.now();
        let recent = self.cache.accepted_create.as_ref().filter(|accepted| between(accepted.at, now) < OBSERVED_AFTER);
        // What a poll has found enqueues the resource only once, perhaps this time.
        let Some(accepted) = recent.filter(|_| !remote.has_news(self.object_ref)).cloned() else { return Ok(None) };
        self.write(accepted.status, &accepted.condition).await?;
        self.cache.asked = None;
        Ok(Some(Next::Again(Some(accepted.again))))
    }
}
