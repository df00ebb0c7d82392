//! Carries out a decision, each step written at once: the finalizer, the operation on the version of the resource that was
//! read (rule 1), the one call, and its response. If a write fails, nothing is sent.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::events::EventType;

use super::operations::{AppliedResponse, Decision, Response, Step};
use crate::controllers::reconcile::{Next, is_ours};
use crate::controllers::remote::Remote;
use crate::controllers::reporting::event_reason::EventReason;
use crate::controllers::reporting::refusal;

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
        if let Err(error) = self.add_finalizer().await {
            return self.report_kubernetes_error(refusal::FINALIZERS, error).await;
        }
        let condition = K::begun_condition(self, &observed, &decision);
        let reason = condition.reason;
        let record = K::record(&observed);
        self.patch_status(&observed, &decision.persisted, condition, record, K::Details::default()).await?;
        self.cache.transient = decision.transient.clone();
        K::note_written(self, &observed, &decision.persisted);
        let Some(operation) = PersistedOperation::of(&*self.object) else { return Ok(Next::Again(None)) };
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

    /// Reports what a create has left at the remote if somebody removed the finalizer meanwhile, so that the object is gone.
    async fn report_left_behind(&self, id: Option<&str>) {
        let found = self.api.get_metadata_opt(&self.object_ref.name).await;
        let leaves = |meta: &ObjectMeta| {
            let is_kept = meta.finalizers.iter().flatten().any(|name| name == K::KIND.finalizer());
            meta.uid != self.object.meta().uid || (meta.deletion_timestamp.is_some() && !is_kept)
        };
        let is_gone = found.is_ok_and(|found| found.is_none_or(|found| leaves(&found.metadata)));
        let Some(id) = id.filter(|_| is_gone) else { return };
        let note = format!(
            "The object was deleted without its finalizer while it was created at the remote, so {id} stays there: delete it, \
             or create the object again with adoptionPolicy: Adopt"
        );
        tracing::warn!("{note}");
        self.context.report(&*self.object, EventType::Warning, EventReason::Orphaned, "Reconcile", &note);
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
        let condition = K::response_condition(self, observed, call, &result, applied.key_taken);
        self.cache.refusal = K::is_refused(&applied.transient).then(|| condition.clone());
        let record = result.record.as_ref().map_or(ObservedRecord::NotRead, ObservedRecord::Present);
        let written =
            self.patch_response(observed, &applied.persisted, &condition, record, K::Details::default()).await;
        if K::creates(call) && (written.is_err() || !is_ours(&*self.object)) {
            self.report_left_behind(K::id(&applied.persisted)).await;
        }
        written?;
        Ok(Next::Again(Some(K::after_response(self, remote, &result, &applied))))
    }
}
