//! Carries out a decision: persists the operation, sends its one call, and reports the response.

use std::sync::Arc;

use kube::runtime::events::EventType;

use super::operations::{AppliedResponse, Decision, Response, Step};
use crate::controllers::context::accepted_call::AcceptedCall;
use crate::controllers::kinds::managed_kind::has_finalizer;
use crate::controllers::reconcile::Next;
use crate::controllers::remote::Remote;
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::refusal;

use super::cache::keep_meanwhile;
use super::kind::{CallResult, PersistedOperation};
use super::{ObservedRecord, Reconciler, RemoteKind};

impl<K: RemoteKind> Reconciler<'_, K> {
    pub(super) async fn execute(
        &mut self,
        remote: &Arc<Remote>,
        mut observed: K::Observed,
        decision: Decision<K::Persisted, K::Transient, K::CallKind, K::Outcome>,
    ) -> Result<Next, kube::Error> {
        let call = match &decision.step {
            Step::RemoveFinalizer => return self.remove_finalizer(Some(&decision.persisted)).await,
            Step::NoOp => {
                let next = K::no_op(self, remote, &mut observed, &decision).await?;
                // An observation that calls for nothing ends a row of failures: those of a week are none.
                self.cache.backoff.worked();
                return Ok(next);
            }
            Step::Send(call) => call.clone(),
        };
        let condition = K::begun_condition(self, &observed, &decision);
        let reason = condition.reason;
        // Nothing has begun for an object without finalizer, so both are written at once.
        let first = K::creates(&call.kind) && !has_finalizer(&*self.object);
        let operation = match self.persist_operation(&observed, &decision, condition, first).await {
            Ok(Some(operation)) => operation,
            Ok(None) => return Ok(Next::Again(None)),
            Err(error) if first => return self.report_kubernetes_error(refusal::FINALIZERS, error).await,
            Err(error) => return Err(error),
        };
        // Boxed: most reconciles send nothing.
        let (result, applied) = Box::pin(K::call(self, remote, &observed, &call, &decision, operation)).await;
        let note = K::sent_call(self, &observed, &call.kind, &result).note(&result);
        if let Some(note) = &note {
            tracing::info!(reason = reason.as_str(), "{note}");
        }
        let accepted = matches!(result.response, Response::Accepted(_));
        if accepted {
            self.cache.backoff.worked();
        }
        // What begins or ends a record is reported with its outcome.
        let note = note.filter(|_| !(accepted && (K::creates(&call.kind) || K::deletes(&call.kind))));
        // The status comes first: it has what a restart needs.
        let next = self.apply(remote, &observed, &call.kind, result, applied).await;
        if let Some(note) = note {
            self.context.report(&*self.object, EventType::Normal, reason.into(), "Reconcile", &note);
        }
        next
    }

    /// Writes the operation, on the version of the resource that was read (rule 1): into the status, or, if this is the
    /// `first` create, into an annotation together with the finalizer. If that fails, nothing is sent. `None`: the decision
    /// has no operation.
    async fn persist_operation(
        &mut self,
        observed: &K::Observed,
        decision: &Decision<K::Persisted, K::Transient, K::CallKind, K::Outcome>,
        condition: ConditionUpdate,
        first: bool,
    ) -> Result<Option<PersistedOperation>, kube::Error> {
        let (record, details) = (K::record(observed), K::Details::default());
        if first {
            let status = self.summarize(observed, &decision.persisted, &condition, record, details);
            let Some(operation) = K::operation(&status).cloned() else { return Ok(None) };
            self.write_pending_create(K::remote_identity(K::identity_of(observed)).clone(), operation).await?;
        } else {
            self.patch_status(observed, &decision.persisted, condition, record, details).await?;
        }
        self.cache.transient = decision.transient.clone();
        K::note_written(self, observed, &decision.persisted);
        Ok(PersistedOperation::of(&*self.object))
    }

    /// Reports what the response to the call means, and when to go on.
    async fn apply(
        &mut self,
        remote: &Arc<Remote>,
        observed: &K::Observed,
        call: &K::CallKind,
        result: CallResult<K>,
        applied: AppliedResponse<K::Persisted, K::Transient>,
    ) -> Result<Next, kube::Error> {
        if applied.remove_finalizer {
            return self.remove_finalizer(Some(&applied.persisted)).await;
        }
        self.cache.transient = applied.transient.clone();
        if K::deletes(call) && matches!(result.response, Response::Accepted(_)) {
            // The status shows it already, and often the next observation finds that the record is gone.
            return Ok(Next::Again(Some(K::after_response(self, remote, &result, &applied))));
        }
        let condition = K::response_condition(self, observed, call, &result, applied.key_taken);
        self.cache.refusal = K::is_refused(&applied.transient).then(|| condition.clone());
        let record = result.record.as_ref().map_or(ObservedRecord::NotRead, ObservedRecord::Present);
        if matches!(result.response, Response::Accepted(_))
            && let Some(sent) = self.object.status().and_then(K::operation).cloned()
        {
            let status = self.summarize(observed, &applied.persisted, &condition, record, K::Details::default());
            let is_busy = self.context.own_writes.is_busy();
            let waits = is_busy || remote.has_queued_changes();
            let at = self.context.clock.now();
            let again = K::after_response(self, remote, &result, &applied);
            let accepted = AcceptedCall::new::<K>((&sent, &status), condition, self.asked_for(), at, again, waits);
            let accepted = accepted.map_err(kube::Error::SerdeError)?;
            let pause = accepted.left(at, is_busy);
            // From here on it is kept until a status has it.
            self.cache.accepted_call = Some(Box::new(accepted));
            self.take_accepted_call();
            keep_meanwhile(self.context, self.object_ref, &self.cache);
            if K::creates(call) || (waits && K::may_report_later(call)) {
                return Ok(Next::Again(Some(pause)));
            }
            self.write_accepted().await?;
            self.cache.reconcile_request = None;
            return Ok(Next::Again(Some(again)));
        }
        self.patch_response(observed, &applied.persisted, &condition, record, K::Details::default()).await?;
        Ok(Next::Again(Some(K::after_response(self, remote, &result, &applied))))
    }
}
