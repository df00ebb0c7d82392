//! Carries a decision out: writes the operation, sends its one call, and says when to go on.

use std::time::Duration;

use clock::between;
use connect_api::model::ConnectorStaged as Record;
use connect_api::scopes::Right;
use jiff::Timestamp;

use super::super::act::{self, Apis, Done};
use super::super::decide::{self, AppliedResponse, Call, Cause, Decision, Outcome, Response, Step};
use super::super::desired;
use super::super::persisted::OperationKind;
use super::super::status::{self, ObservedRecord};
use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::foreign_installs::FOREIGN_AGAIN;
use crate::controllers::object::Next;
use crate::controllers::problem;
use crate::controllers::refusal::KubernetesErrorBackoff;
use crate::crd::shared::RemoteIdentity;

use super::Reconciler;

/// Shortest pause between two looks that find nothing to send: each is a call.
const SHORTEST_PAUSE: Duration = Duration::from_secs(3);
/// Pause before the look that follows an answer.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Reconciler<'_> {
    pub(super) async fn execute(
        &mut self,
        apis: Apis<'_>,
        identity: RemoteIdentity,
        record: Option<Record>,
        decision: Decision,
        waits: &[String],
    ) -> Result<Next, kube::Error> {
        match &decision.step {
            Step::RemoveFinalizer => self.remove_finalizer(Some(&decision.persisted)).await,
            Step::NoOp => {
                let condition = self.ready_condition(&decision, record.as_ref(), waits);
                let sight = record.as_ref().map_or(ObservedRecord::Absent, ObservedRecord::Present);
                self.patch_status(&identity, &decision.persisted, condition, sight).await?;
                // Not before: what is forgotten because of a decision is still needed if that could not be written.
                self.cache.seen = decision.transient.clone();
                self.cache.backoff.worked();
                self.cache.kubernetes_error_backoff = KubernetesErrorBackoff::default();
                self.annotate(&decision.persisted).await?;
                self.note_state(&decision.persisted, record.as_ref());
                let mut interval = self.object.spec.effective_interval();
                if decision.outcome == Outcome::AwaitingProof && self.context.foreign_installs.is_shard() {
                    // Another install may work on what it waits for, which then wakes nobody here.
                    interval = interval.min(FOREIGN_AGAIN);
                }
                let again = decision.again.map_or(interval, |again| again.max(SHORTEST_PAUSE).min(interval));
                Ok(Next::Again(Some(again)))
            }
            Step::Send(call) => {
                let condition = status::ready_condition(decision.outcome, &self.object.spec.key, record.as_ref(), &[]);
                let sight = record.as_ref().map_or(ObservedRecord::NotRead, ObservedRecord::Present);
                self.patch_status(&identity, &decision.persisted, condition, sight).await?;
                self.cache.seen = decision.transient.clone();
                self.note_state(&decision.persisted, record.as_ref());
                self.send(apis, &identity, record, call, &decision).await
            }
        }
    }

    /// What to tell of a decision. `waits`: what publishing waits for.
    fn ready_condition(&self, decision: &Decision, record: Option<&Record>, waits: &[String]) -> ConditionUpdate {
        let refusal = self.cache.refusal.clone().filter(|_| decision.outcome == Outcome::Refused);
        refusal.unwrap_or_else(|| {
            let impossible = record.map(|record| desired::changes(&self.object.spec, record).impossible);
            let details = if waits.is_empty() { impossible.unwrap_or_default() } else { waits.to_vec() };
            status::ready_condition(decision.outcome, &self.object.spec.key, record, &details)
        })
    }

    /// The operation is written; now its one call.
    async fn send(
        &mut self,
        apis: Apis<'_>,
        identity: &RemoteIdentity,
        record: Option<Record>,
        call: &Call,
        decision: &Decision,
    ) -> Result<Next, kube::Error> {
        let Some(operation) = &decision.persisted.operation else { return Ok(Next::Again(None)) };
        let started: Timestamp = operation.started_at;
        let cause = (operation.kind != OperationKind::Delete).then(|| Cause {
            kind: operation.kind,
            digest: operation.digest.clone().unwrap_or_default(),
            generation: operation.generation,
            version: record.as_ref().map(|record| record.version),
            request: operation.request.clone(),
        });
        let kind = operation.kind;
        let done = act::send(apis, &self.object.spec, call, record.as_ref(), started).await;
        let now = self.context.clock.now();
        let applied = decide::apply_response(&decision.persisted, &decision.transient, call, cause, &done.answer, now);
        self.after_call(identity, kind, done, applied).await
    }

    async fn after_call(
        &mut self,
        identity: &RemoteIdentity,
        kind: OperationKind,
        done: Done,
        applied: AppliedResponse,
    ) -> Result<Next, kube::Error> {
        if applied.remove_finalizer {
            return self.remove_finalizer(Some(&applied.persisted)).await;
        }
        self.cache.seen = applied.transient.clone();
        let outcome = if applied.key_taken { Outcome::KeyTaken } else { Outcome::Running(kind) };
        let exists = done.answer == Response::Duplicate;
        let failed = done.error.as_ref().and_then(|error| {
            problem::condition_of_call(error, exists, &[Right::ManageConnectors], &identity.project_key)
        });
        let failed = failed.filter(|_| !applied.key_taken);
        let condition = failed
            .unwrap_or_else(|| status::ready_condition(outcome, &self.object.spec.key, done.record.as_ref(), &[]));
        self.cache.refusal = applied.transient.refused.as_ref().map(|_| condition.clone());
        self.patch_response(identity, &applied.persisted, &condition, done.record.as_ref()).await?;
        self.annotate(&applied.persisted).await?;
        let now = self.context.clock.now();
        let Some(error) = &done.error else {
            self.cache.backoff.worked();
            let interval = self.object.spec.effective_interval();
            return Ok(Next::Again(Some(if applied.key_taken { interval } else { LOOK_AGAIN })));
        };
        let again = match (&applied.transient.refused, &applied.transient.pause) {
            (Some(report_kubernetes_error), _) => {
                between(now, report_kubernetes_error.until).min(self.object.spec.effective_interval())
            }
            (None, Some(pause)) => between(now, pause.until),
            (None, None) => {
                let asked = self.asked_for();
                self.cache.backoff.failed(asked, error, now)
            }
        };
        Ok(Next::Again(Some(again)))
    }
}
