//! The parts of a reconcile that only a `ConnectorStaged` has; [`driver`](crate::controllers::driver) has the rest.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use clock::between;
use connect_api::model::ConnectorStaged as Record;
use connect_api::scopes::Right;

use super::act::{self, Done};
use super::decide::{self, CallKind, Cause, Input, Intent, Outcome, Response, Step, TransientState};
use super::persisted::{ObservedConnector, OperationType, PersistedState};
use super::status::{self, StagedFacts};
use super::{desired, intent, observe, proof, status_conversion};
use crate::controllers::context::OTHER_SHARD_AGAIN;
use crate::controllers::context::local_cache::LocalCaches;
use crate::controllers::context::{Context, Project, StagedConnector};
use crate::controllers::driver::{
    Decided, ObservedRecord, Observing, PersistedOperation, Reconciler, RemoteKind, SentCall, StatusInputs, Unready,
    Versions,
};
use crate::controllers::kinds::remote_object::RemoteObject as _;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::queue::backoff::KubernetesErrorBackoff;
use crate::controllers::reconcile::Next;
use crate::controllers::references::{Named, Reference};
use crate::controllers::remote::Remote;
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::event_reason::EventReason;
use crate::controllers::reporting::problem;
use crate::crd::shared::RemoteIdentity;
use crate::crd::{ConnectorStaged, ConnectorStagedStatus, DeletionPolicy};

/// Shortest pause between two observations that find nothing to send: each is a call.
const SHORTEST_PAUSE: Duration = Duration::from_secs(3);
/// Pause before the observation that follows a response.
const OBSERVE_AGAIN: Duration = Duration::from_secs(1);

type Staged<'a> = Reconciler<'a, ConnectorStaged>;

/// What one observation yields.
pub struct Observed {
    identity: RemoteIdentity,
    record: Option<Record>,
    /// What publishing still waits for.
    unproven: Vec<String>,
}

impl RemoteKind for ConnectorStaged {
    type Persisted = PersistedState;
    type CallKind = CallKind;
    type Outcome = Outcome;
    type Accepted = ObservedConnector;
    type Record = Record;
    type Identity = RemoteIdentity;
    type Target = ();
    type Observed = Observed;
    type Details = ();

    fn read_status(status: &ConnectorStagedStatus) -> Result<PersistedState, ConditionUpdate> {
        Ok(status_conversion::persisted(status))
    }

    fn is_orphaned(&self, _: &Context) -> bool {
        intent::deletion(self) == Some(DeletionPolicy::Orphan)
    }

    fn identity(&self, project: &Project) -> RemoteIdentity {
        project.identity.clone()
    }

    fn remote_identity(identity: &RemoteIdentity) -> &RemoteIdentity {
        identity
    }

    fn identity_of(observed: &Observed) -> &RemoteIdentity {
        &observed.identity
    }

    fn record(observed: &Observed) -> ObservedRecord<'_, Record> {
        observed.record.as_ref().map_or(ObservedRecord::NotRead, ObservedRecord::Present)
    }

    fn id(persisted: &PersistedState) -> Option<&str> {
        persisted.id.as_deref()
    }

    fn creates(call: &CallKind) -> bool {
        *call == CallKind::Create
    }

    fn deletes(call: &CallKind) -> bool {
        matches!(call, CallKind::Delete { .. })
    }

    fn is_refused(transient: &TransientState) -> bool {
        transient.refused.is_some()
    }

    fn forget_refusal(transient: &mut TransientState) {
        transient.refused = None;
    }

    fn caches(context: &Context) -> &LocalCaches<Self> {
        &context.staged_caches
    }

    fn forget(context: &Context, object_ref: &ObjectRef) {
        if context.staged.forget(object_ref).is_some() {
            context.enqueue_users(Named::Staged, &object_ref.namespace, &object_ref.name);
        }
    }

    fn is_waiting(context: &Context, object_ref: &ObjectRef) -> bool {
        !context.references.uses(object_ref, Named::Deployment).is_empty()
    }

    fn references(object: &Self, waits: bool) -> BTreeSet<Reference> {
        observe::references(&object.spec, waits)
    }

    async fn target(_: &mut Staged<'_>) -> Result<(), Unready> {
        Ok(())
    }

    async fn observe(
        reconciler: &mut Staged<'_>,
        remote: &Arc<Remote>,
        identity: RemoteIdentity,
        (): (),
    ) -> Result<Observing<Self>, kube::Error> {
        let key = &reconciler.object.spec.key;
        let read = observe::read_remote(&remote.api(), key, &reconciler.persisted()).await;
        Ok(match read {
            Ok(record) => Observing::Done(Observed { identity, record, unproven: Vec::new() }),
            Err(error) => Observing::Failed(identity, error),
        })
    }

    async fn decide(
        reconciler: &mut Staged<'_>,
        remote: &Arc<Remote>,
        observed: &mut Observed,
    ) -> Result<Decided<Self>, kube::Error> {
        let now = reconciler.context.clock.now();
        let persisted = reconciler.persisted();
        let mut intent = intent::intent(&reconciler.object);
        let observation = observe::observation(&reconciler.object.spec, observed.record.as_ref());
        let decide = |intent: &Intent, transient: &TransientState| {
            decide::decide(&Input { persisted: &persisted, intent, observation: &observation, transient, now })
        };
        let mut decision = decide(&intent, &reconciler.cache.transient);
        let waits = decision.outcome == Outcome::AwaitingProof;
        // Before the proofs are read: a change of one then enqueues the resource.
        reconciler.note_references(waits);
        if waits {
            observed.unproven = reconciler.unproven(&decision.persisted).await?;
            intent.proven = observed.unproven.is_empty();
            decision = decide(&intent, &reconciler.cache.transient);
        }
        if matches!(decision.step, Step::Send(_)) {
            let missing = remote.lacking(reconciler.object_ref, &[Right::ManageConnectors]);
            if !missing.is_empty() {
                return reconciler.withhold(observed, &missing).await.map(Decided::Ended);
            }
        }
        Ok(Decided::Decision(decision))
    }

    async fn no_op(
        reconciler: &mut Staged<'_>,
        _: &Arc<Remote>,
        observed: &mut Observed,
        decision: &decide::Decision,
    ) -> Result<Next, kube::Error> {
        let condition = reconciler.ready_condition(decision, observed);
        let record = ObservedRecord::of(observed.record.as_ref());
        reconciler.patch_status(observed, &decision.persisted, condition, record, ()).await?;
        // Only after the write: what a decision forgets is still needed if the decision could not be written.
        reconciler.cache.transient = decision.transient.clone();
        reconciler.cache.kubernetes_error_backoff = KubernetesErrorBackoff::default();
        // Otherwise at the next observation.
        let _ = reconciler.annotate(&decision.persisted).await?;
        Self::note_written(reconciler, observed, &decision.persisted);
        let mut interval = reconciler.object.interval();
        if decision.outcome == Outcome::AwaitingProof && reconciler.context.scope.is_shard() {
            // Another install may reconcile the objects that it waits for, and does not enqueue this resource.
            interval = interval.min(OTHER_SHARD_AGAIN);
        }
        let again = decision.again.map_or(interval, |again| again.max(SHORTEST_PAUSE).min(interval));
        Ok(Next::Again(Some(again)))
    }

    async fn call(
        reconciler: &mut Staged<'_>,
        remote: &Arc<Remote>,
        observed: &Observed,
        call: &decide::Call,
        decision: &decide::Decision,
        operation: PersistedOperation,
    ) -> (Done, decide::AppliedResponse) {
        let record = observed.record.as_ref();
        let cause = decision.persisted.operation.as_ref().filter(|operation| operation.kind != OperationType::Delete);
        let cause = cause.map(|operation| Cause::of(operation, record.map(|record| record.version)));
        let done = act::send(&remote.api(), &reconciler.object.spec, call, record, &operation).await;
        let now = reconciler.context.clock.now();
        let applied =
            decide::apply_response(&decision.persisted, &decision.transient, call, cause, &done.response, now);
        (done, applied)
    }

    fn after_response(
        reconciler: &mut Staged<'_>,
        remote: &Arc<Remote>,
        done: &Done,
        applied: &decide::AppliedResponse,
    ) -> Duration {
        let (now, interval) = (reconciler.context.clock.now(), reconciler.object.interval());
        let Some(error) = &done.error else {
            return if applied.key_taken { interval } else { OBSERVE_AGAIN };
        };
        // What earlier responses left says nothing about this one: their pauses were over before this call.
        let refused = applied.transient.refused.as_ref().filter(|_| done.response == Response::Refused);
        match (refused, applied.transient.pause.and_then(|pause| pause.left(now))) {
            (Some(refused), _) => between(now, refused.until).min(interval),
            (None, Some(pause)) => pause,
            (None, None) => {
                let needless_until = applied.persisted.operation.as_ref().and_then(decide::needless_until);
                reconciler.pause(remote, error, needless_until)
            }
        }
    }

    fn begun_condition(reconciler: &Staged<'_>, observed: &Observed, decision: &decide::Decision) -> ConditionUpdate {
        status::ready_condition(decision.outcome, &reconciler.object.spec.key, observed.record.as_ref(), &[])
    }

    fn sent_call(reconciler: &Staged<'_>, observed: &Observed, call: &CallKind, done: &Done) -> SentCall {
        let versions = |record: &Record| Versions { record: record.version, connector: None };
        SentCall {
            operation: match call {
                CallKind::Create => "create",
                CallKind::Update { .. } => "update",
                CallKind::Preview { .. } => "preview request",
                CallKind::Publish { .. } => "publication",
                CallKind::Delete { .. } => "delete",
            },
            record: "staged connector",
            key: reconciler.object.spec.key.clone(),
            before: observed.record.as_ref().map(versions),
            after: done.record.as_ref().map(versions),
        }
    }

    fn response_condition(
        reconciler: &Staged<'_>,
        observed: &Observed,
        call: &CallKind,
        done: &Done,
        key_taken: bool,
    ) -> ConditionUpdate {
        let exists = done.response == Response::Duplicate;
        let project = &observed.identity.project_key;
        let failed = |error| problem::condition_of_call(error, exists, &[Right::ManageConnectors], project);
        let failed = done.error.as_ref().filter(|_| !key_taken).and_then(failed);
        let outcome = if key_taken { Outcome::KeyTaken } else { Outcome::Running(call.operation()) };
        failed
            .unwrap_or_else(|| status::ready_condition(outcome, &reconciler.object.spec.key, done.record.as_ref(), &[]))
    }

    fn summarize(reconciler: &Staged<'_>, inputs: StatusInputs<'_, Self>) -> ConnectorStagedStatus {
        let facts = StagedFacts {
            generation: reconciler.generation(),
            persisted: inputs.persisted,
            condition: inputs.condition.clone(),
            suspended: reconciler.object.spec.suspend,
            key: &reconciler.object.spec.key,
            remote: inputs.identity.cloned(),
            record: inputs.record,
            handled_reconcile: inputs.handled_reconcile_request,
        };
        status::summarize(&reconciler.status(), &facts, reconciler.context.clock.now())
    }

    /// Keeps the state of the connector for its deployments, and enqueues these if it has changed.
    fn note_written(reconciler: &Staged<'_>, observed: &Observed, persisted: &PersistedState) {
        let spec = &reconciler.object.spec;
        let seen = observed.record.as_ref().map(|record| observe::held_against(spec, record));
        let deployable = status::deployable(persisted, seen.as_ref(), spec);
        reconciler.note(&StagedConnector { id: persisted.id.clone(), deployable });
    }

    fn note_reported(reconciler: &Staged<'_>, condition: &ConditionUpdate) {
        let before = reconciler.context.staged.get(reconciler.object_ref);
        if before.is_none_or(|before| before.id.is_none()) {
            let id = reconciler.persisted().id;
            reconciler.note(&StagedConnector { id, deployable: Err(condition.message.clone()) });
        }
    }

    async fn is_settled(reconciler: &Staged<'_>) -> Result<bool, kube::Error> {
        Ok(reconciler.status().observed_generation == reconciler.generation() && reconciler.is_ready())
    }

    fn replacement_note(_: &str, _: &str) -> Option<String> {
        None
    }

    fn deletion_event(persisted: &PersistedState) -> Option<(EventReason, &'static str)> {
        let deleted = persisted.operation.as_ref().is_some_and(|operation| operation.kind == OperationType::Delete);
        deleted.then_some((EventReason::Deleted, "The staged connector is gone"))
    }
}

impl Staged<'_> {
    /// Reports the rights that the token lacks, and sends nothing. A token with other scopes enqueues the resource.
    async fn withhold(&mut self, observed: &Observed, missing: &[Right]) -> Result<Next, kube::Error> {
        let persisted = self.persisted();
        let condition = problem::unpermitted(missing, &observed.identity.project_key);
        let record = ObservedRecord::of(observed.record.as_ref());
        self.patch_status(observed, &persisted, condition, record, ()).await?;
        ConnectorStaged::note_written(self, observed, &persisted);
        Ok(Next::Again(Some(self.object.interval())))
    }

    /// Returns what publishing still waits for.
    async fn unproven(&self, persisted: &PersistedState) -> Result<Vec<String>, kube::Error> {
        let spec = &self.object.spec;
        let Some(after) = &spec.publish_after else { return Ok(Vec::new()) };
        let objects = observe::proofs(&self.context.client, &self.object_ref.namespace, after).await?;
        let target = proof::ProofTarget {
            name: &self.object_ref.name,
            id: persisted.id.as_deref().unwrap_or_default(),
            tag: &spec.repository.tag,
            deployable: persisted.deployable.as_ref().map(|deployable| deployable.version),
        };
        Ok(proof::missing(after, &target, &objects))
    }

    fn ready_condition(&self, decision: &decide::Decision, observed: &Observed) -> ConditionUpdate {
        let refusal = self.cache.refusal.clone().filter(|_| decision.outcome == Outcome::Refused);
        refusal.unwrap_or_else(|| {
            let record = observed.record.as_ref();
            let impossible = record.map(|record| desired::changes(&self.object.spec, record).impossible);
            let details =
                if observed.unproven.is_empty() { impossible.unwrap_or_default() } else { observed.unproven.clone() };
            status::ready_condition(decision.outcome, &self.object.spec.key, record, &details)
        })
    }

    fn note(&self, state: &StagedConnector) {
        if self.context.staged.insert(self.object_ref, state.clone()).as_ref() != Some(state) {
            self.context.enqueue_users(Named::Staged, &self.object_ref.namespace, &self.object_ref.name);
        }
    }
}
