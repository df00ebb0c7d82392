//! An accepted call until a status has its response: the response in memory.

use std::sync::Arc;
use std::time::Duration;

use clock::between;
use futures::{StreamExt as _, future, stream};
use kube::ResourceExt as _;
use kube::api::Api;

use crate::controllers::context::Context;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::reconcile::{Next, is_ours};
use crate::controllers::remote::Remote;
use crate::controllers::reporting::conditions;
use crate::controllers::reporting::refusal;

use super::cache::local_cache;
use super::{Reconciler, RemoteKind, forget};

/// From this age on, the remote is observed before the status is written: the first poll of the record is due.
const OBSERVED_AFTER: Duration = Duration::from_secs(3);

/// An event that arrives with the response enqueues the object only once, and the reconcile that writes the response may be
/// that one: after this time at most, the object is looked at again. An edit or a request is seen without that.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Attempts to write a response in one reconcile, while others change the object.
const ATTEMPTS: u32 = 3;

/// Number of responses that are written at the same time before the process ends.
const AT_ONCE: usize = 16;

/// Pause before a response is written again before the process ends.
const WRITTEN_AGAIN: Duration = Duration::from_millis(500);

/// Time for the first attempt before the process ends: its connection may be dead, and another one is not.
const FIRST_ATTEMPT: Duration = Duration::from_secs(3);

/// Writes the responses that are in memory, at the end of the process: the next one treats as lost what is not written. Each is
/// tried once before one is tried again: a webhook may refuse all of one namespace.
pub async fn report_all_accepted<K: RemoteKind>(context: &Context) {
    let mut waiting: Vec<ObjectRef> = K::caches(context).with(|caches| {
        let waiting = caches.iter().filter(|(_, cache)| cache.accepted_call.is_some());
        waiting.map(|(object_ref, _)| object_ref.clone()).collect()
    });
    let mut longest = FIRST_ATTEMPT;
    loop {
        let attempts = stream::iter(waiting).map(|object_ref| report_at_the_end::<K>(context, object_ref, longest));
        waiting = attempts.buffer_unordered(AT_ONCE).filter_map(future::ready).collect().await;
        if waiting.is_empty() {
            return;
        }
        context.clock.sleep(WRITTEN_AGAIN).await;
        // A slow API server needs it; the caller ends all of them.
        longest = Duration::MAX;
    }
}

/// Returns the object if it is to be tried again.
async fn report_at_the_end<K: RemoteKind>(
    context: &Context,
    object_ref: ObjectRef,
    longest: Duration,
) -> Option<ObjectRef> {
    let written = tokio::select! {
        written = write_at_the_end::<K>(context, &object_ref) => written,
        () = context.clock.sleep(longest) => return Some(object_ref),
    };
    let error = written.err()?;
    // As for a read, a 500 may pass by itself: also a webhook is restarted.
    if refusal::definite(refusal::Access::Read, &error).is_some() {
        tracing::warn!(object = %object_ref, %error, "the response to a call is lost with this process");
        return None;
    }
    Some(object_ref)
}

async fn write_at_the_end<K: RemoteKind>(context: &Context, object_ref: &ObjectRef) -> Result<(), kube::Error> {
    let api = Api::<K>::namespaced(context.client.clone(), &object_ref.namespace);
    let Some(object) = api.get_opt(&object_ref.name).await? else {
        if let Some(kept) = forget::<K>(context, object_ref) {
            kept.report_left_behind(context, object_ref, true);
        }
        return Ok(());
    };
    if !context.scope.selects(object.labels()) {
        return Ok(());
    }
    let cache = local_cache::<K>(context, object_ref, object.meta().uid.as_deref().unwrap_or_default());
    if !is_ours(&object) {
        cache.report_left_behind(context, object_ref, false);
        return Ok(());
    }
    Reconciler::new(context, object_ref, Arc::new(object), cache).write_accepted().await
}

impl<K: RemoteKind> Reconciler<'_, K> {
    /// Takes the status of the object as if it had the response, as long as it has the operation of that call.
    pub(super) fn take_accepted_call(&mut self) {
        let Some(accepted) = self.cache.accepted_call.take() else { return };
        let operation = self.object.status().and_then(K::operation);
        // A status with another operation knows more.
        if operation.is_some_and(|operation| accepted.is_of(operation))
            && let Some(mut status) = accepted.status::<K>()
        {
            // Others may have written theirs since.
            let stored = self.object.status().map(K::conditions).unwrap_or_default();
            conditions::keep_others(K::conditions_mut(&mut status), stored);
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
        Some(accepted.left(self.context.clock.now(), self.context.own_writes.is_busy())).filter(|left| !left.is_zero())
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
            return Ok(Some(Next::Again(Some(accepted.left(now, self.context.own_writes.is_busy())))));
        }
        let (again, asked) = (accepted.again, accepted.asked.clone());
        self.write_accepted().await?;
        self.cache.reconcile_request = None;
        let is_asked_for_more = asked != self.asked_for() || self.unhandled_request().is_some();
        let pause = if is_asked_for_more { Duration::ZERO } else { again.min(LONGEST_PAUSE) };
        Ok(Some(Next::Again(Some(pause))))
    }

    /// Writes the response to an accepted call, which the object has already. If somebody changed the object meanwhile, the
    /// response is still that of its operation, unless the status has another one by now.
    ///
    /// # Errors
    /// Those of the API server; 409 if others change the object all the time. The response stays in memory.
    pub(super) async fn write_accepted(&mut self) -> Result<(), kube::Error> {
        let mut attempts = 0;
        while let Some(accepted) = &self.cache.accepted_call {
            let condition = accepted.condition.clone();
            attempts += 1;
            match self.write(self.status(), &condition).await {
                Err(kube::Error::Api(status))
                    if status.code == 409 && attempts < ATTEMPTS && self.is_still_stored().await? => {}
                Ok(()) => self.cache.accepted_call = None,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
