//! An accepted call until a status has its response: the response in memory.

use std::sync::Arc;
use std::time::Duration;

use clock::between;

use crate::controllers::reconcile::Next;
use crate::controllers::remote::Remote;

use super::{Reconciler, RemoteKind};

/// From this age on, the remote is observed before the status is written: the first poll of the record is due.
const OBSERVED_AFTER: Duration = Duration::from_secs(3);

/// An event that arrives with the response enqueues the object only once, and the reconcile that writes the response may be
/// that one: after this time at most, the object is looked at again.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

impl<K: RemoteKind> Reconciler<'_, K> {
    /// Takes the status of the object as if it had the response, as long as it has the operation of that call.
    pub(super) fn take_accepted_call(&mut self) {
        let Some(accepted) = self.cache.accepted_call.take() else { return };
        let operation = self.object.status().and_then(K::operation);
        // A status with another operation knows more.
        if operation.is_some_and(|operation| accepted.is_of(operation))
            && let Some(status) = accepted.status::<K>()
        {
            self.stand_in(status);
            self.cache.accepted_call = Some(accepted);
        }
    }

    /// Takes another status as that of the object, until the next write.
    pub(super) fn stand_in(&mut self, status: K::Status) {
        let stored = self.object.status().cloned().unwrap_or_default();
        self.stored.get_or_insert(stored);
        Arc::make_mut(&mut self.object).set_status(Some(status));
    }

    /// Returns how long the response to an accepted call still waits, because other changes come first.
    pub(in crate::controllers) fn unreported_response(&self) -> Option<Duration> {
        let accepted = self.cache.accepted_call.as_ref()?;
        Some(accepted.left(self.context.clock.now())).filter(|left| !left.is_zero())
    }

    /// Writes the response to an accepted call, unless an observation says more. `None`: nothing was to be written.
    pub(super) async fn report_accepted(&mut self, remote: &Remote) -> Result<Option<Next>, kube::Error> {
        let now = self.context.clock.now();
        let recent = self.cache.accepted_call.as_ref().filter(|accepted| between(accepted.at, now) < OBSERVED_AFTER);
        let Some(accepted) = recent else { return Ok(None) };
        // What a poll has found enqueues the resource only once, perhaps this time; and another remote than that of the call
        // polls it only once it was observed there.
        let needs_polls = accepted.again > OBSERVED_AFTER;
        if self.is_deleting() || remote.has_news(self.object_ref) || (needs_polls && !remote.is_polled(self.object_ref))
        {
            return Ok(None);
        }
        if accepted.waits {
            return Ok(Some(Next::Again(Some(accepted.left(now)))));
        }
        let (condition, again) = (accepted.condition.clone(), accepted.again);
        // The object has the status to write.
        self.write(self.status(), &condition).await?;
        self.cache.reconcile_request = None;
        Ok(Some(Next::Again(Some(again.min(LONGEST_PAUSE)))))
    }
}
