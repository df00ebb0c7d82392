//! The path from an event to a status: the gates before the remote is asked, and the decision.

use std::sync::Arc;
use std::time::Duration;

use connect_api::model::ConnectorStaged as Record;
use connect_api::scopes::Right;
use connect_api::{ApiError, ConnectApi};
use kube::ResourceExt;
use kube::api::Api;

use super::decide::{Decision, Input, Step, decide};
use super::observed::Observed;
use super::outcome::Outcome;
use super::state::{CallKind, DeletionPolicy, State};
use super::{desired, intent, observe, outcome, proof};
use crate::crd::ConnectorStaged;
use crate::crd::shared::RemoteIdentity;
use crate::names;
use crate::operator::cluster::keys::{Begin, ClaimStatus};
use crate::operator::cluster::queue::backoff::Asked;
use crate::operator::cluster::references::Referenced;
use crate::operator::context::{Context, OTHER_SHARD_AGAIN, StagedMemory};
use crate::operator::kinds::managed_kind::object_ref;
use crate::operator::object_ref::{Kind, ObjectRef};
use crate::operator::reconcile::record::{self, Stop};
use crate::operator::reconcile::{self, Next, is_deleting, is_ours};
use crate::operator::remote::{Health, Remote};
use crate::operator::reporting::conditions::{ConditionUpdate, ready_reason};
use crate::operator::reporting::observed_record::ObservedRecord;
use crate::operator::reporting::problem;
use crate::operator::reporting::reason::Reason;
use crate::operator::reporting::reconcile_outcome::ReconcileOutcome;

/// Shortest pause between two looks that find nothing to send: each is a call.
const SHORTEST_PAUSE: Duration = Duration::from_secs(3);

/// Reconciles one resource, as it was just read, and returns how it ended.
///
/// # Errors
/// Those of the API server that no status reports: that the status cannot be written, and those that pass by themselves.
pub async fn reconcile(object: Arc<ConnectorStaged>, context: Arc<Context>) -> Result<ReconcileOutcome, kube::Error> {
    let object_ref = object_ref(&*object);
    context.requeue_timers.set(&object_ref, None);
    // Its labels have moved it to another install, or its deletion waits for others.
    if !is_ours(&*object) || !context.settings.scope.selects(object.labels()) {
        forget(&context, &object_ref);
        return Ok(ReconcileOutcome::Gone);
    }
    let mut reconciler = Reconciler::new(&context, &object_ref, Arc::unwrap_or_clone(object));
    // Boxed to keep the futures around a reconcile small.
    let outcome = match Box::pin(reconciler.reconcile()).await {
        Ok(next) => Ok(next),
        Err(stop) => Box::pin(reconciler.stop(stop)).await,
    };
    let Reconciler { object, memory, .. } = reconciler;
    let reason = object.status.as_ref().and_then(|status| ready_reason(&status.conditions)).and_then(Reason::parse);
    let ended = outcome.map(|next| reconcile::conclude(&context, &object_ref, &next, reason));
    context.memory.staged.insert(&object_ref, memory);
    if matches!(ended, Ok(ReconcileOutcome::Gone)) {
        forget(&context, &object_ref);
    }
    ended
}

/// Forgets everything about a resource that is gone, or left to others.
pub fn forget(context: &Context, object_ref: &ObjectRef) {
    record::forget(context, object_ref);
    if context.memory.staged.forget(object_ref).is_some() {
        context.enqueue_users(Referenced::Object(Kind::Staged), &object_ref.namespace, &object_ref.name);
    }
}

/// One reconcile of one resource.
pub(super) struct Reconciler<'a> {
    pub(super) context: &'a Context,
    pub(super) object_ref: &'a ObjectRef,
    pub(super) api: Api<ConnectorStaged>,
    /// As the API server has it.
    pub(super) object: ConnectorStaged,
    /// The remote project, once it is known.
    pub(super) identity: Option<RemoteIdentity>,
    pub(super) memory: Box<StagedMemory>,
}

/// What a reconcile has read.
pub(super) struct Read {
    pub(super) record: Option<Record>,
    /// What publishing still waits for.
    pub(super) unproven: Vec<String>,
}

impl<'a> Reconciler<'a> {
    fn new(context: &'a Context, object_ref: &'a ObjectRef, object: ConnectorStaged) -> Self {
        let api = Api::namespaced(context.client.clone(), &object_ref.namespace);
        let uid = object.uid().unwrap_or_default();
        let kept = context.memory.staged.get(object_ref).filter(|memory| memory.uid == uid);
        let memory = kept.unwrap_or_else(|| Box::new(StagedMemory { uid, ..StagedMemory::default() }));
        Self { context, object_ref, api, object, identity: None, memory }
    }

    /// The reconcile. A deletion takes the same path with another decision.
    async fn reconcile(&mut self) -> Result<Next, Stop> {
        let (context, project) = (self.context, self.project());
        // Who waited for more than the project goes on to be enqueued by it until this reconcile decides.
        self.note_references(
            !context.references.uses(self.object_ref, Referenced::Object(Kind::Deployment)).is_empty(),
        );
        let state = self.object.remembered();
        if self.needs_no_remote(state.as_ref().ok()) {
            return record::release(context, &self.api, &self.object, false).await;
        }
        // Rule 29 before rule 4: a conflict names a resource of another namespace.
        record::must_be_permitted(context, self.object_ref, &project)?;
        record::must_own_key(context, &self.api, &self.object, context.claim(&self.object, None)).await?;
        let state = state.map_err(|why| Stop::Report(ConditionUpdate::new(Reason::InternalError, why), None))?;
        // Only the finalizer protects what the resource owns, or may own.
        if state.has_begun() || self.object.annotations().contains_key(names::REMOTE_ID) {
            self.add_finalizer().await?;
        }
        let project = record::project(context, &self.object, &project, self.interval()).await?;
        self.identity = Some(project.identity.clone());
        let outage = |condition| Stop::Outage(problem::of_project(&self.project(), condition), None);
        let remote = Arc::clone(project.remote.as_ref().map_err(outage)?);
        if let Some(pause) = self.memory.backoff.left(&self.asked_for(), context.clock.now()) {
            return Ok(Next::Again(Some(pause)));
        }
        let permit = record::enter(&remote, self.object_ref).await?;
        let login = remote.login();
        if self.memory.login.replace(login).is_some_and(|before| before != login) {
            // What other credentials were refused may be sent again.
            self.memory.of_decision.refused = None;
        }
        // Boxed: most reconciles end before this.
        let next = Box::pin(self.with_remote(&remote, &project.identity, &state)).await;
        drop(permit);
        next
    }

    /// Reads the record, compares it with the spec, and takes one step.
    async fn with_remote(
        &mut self,
        remote: &Arc<Remote>,
        identity: &RemoteIdentity,
        state: &State,
    ) -> Result<Next, Stop> {
        let (api, now) = (remote.api(), self.context.clock.now());
        let record = match self.look(&api, state).await {
            Ok(record) => record,
            Err(error) => {
                // What was not found before proves nothing by now.
                self.memory.of_decision.absent_since = None;
                let condition = match remote.health() {
                    Health::Failing(outage) => problem::condition_of_outage(&outage, &identity.project_key),
                    Health::Good { .. } | Health::Unknown => problem::condition(&error, &identity.project_key),
                };
                return Err(Stop::Outage(condition, Some(self.pause(&error))));
            }
        };
        let seen = record.as_ref().map(|record| Observed::of(record, &self.object.spec));
        let mut read = Read { record, unproven: Vec::new() };
        let mut intent = intent::intent(&self.object);
        let memory = self.memory.of_decision.clone();
        let mut decision = decide(&Input { state, intent: &intent, record: seen.as_ref(), memory: &memory, now });
        let waits = matches!(decision.step, Step::Report(Outcome::AwaitingProof, _));
        // Before the proofs are read: a change of one then enqueues the resource.
        self.note_references(waits);
        if waits {
            read.unproven = self.unproven(&decision.state).await?;
            intent.proven = read.unproven.is_empty();
            decision = decide(&Input { state, intent: &intent, record: seen.as_ref(), memory: &memory, now });
        }
        let needed: &[Right] = if let Step::Send(_) = decision.step { &[Right::ManageConnectors] } else { &[] };
        let missing = remote.lacking(needed);
        if !missing.is_empty() {
            let condition = problem::unpermitted(&missing, &identity.project_key);
            // Not the state of the decision: it may take over a record.
            self.write(state, condition, ObservedRecord::of(read.record.as_ref())).await?;
            return Ok(Next::Again(Some(self.interval())));
        }
        // Again: the permission may have been withdrawn since, and another resource may have begun, or have appeared.
        record::must_be_permitted(self.context, self.object_ref, &self.project())?;
        let claim = self.claim(identity, state, &decision);
        record::must_own_key(self.context, &self.api, &self.object, claim).await?;
        match decision.step {
            Step::Release => {
                let is_gone = decision.state.call.is_some_and(|call| call.kind == CallKind::Delete);
                record::release(self.context, &self.api, &self.object, is_gone).await
            }
            Step::Report(outcome, again) => self.report(&read, decision, (outcome, again)).await,
            // Boxed: most reconciles send nothing.
            Step::Send(kind) => Box::pin(self.send(&api, &read, &intent, seen.as_ref(), decision, kind)).await,
        }
    }

    /// Reads the record. That there is none counts only if the project answers at all (rule 5).
    async fn look(&self, api: &impl ConnectApi, state: &State) -> Result<Option<Record>, ApiError> {
        let record = observe::read(api, &self.object.spec.key, state.id.as_deref()).await?;
        if record.is_none() && (state.id.is_some() || is_deleting(&self.object)) {
            observe::is_there(api).await?;
        }
        Ok(record)
    }

    /// Reports an outcome, and says when to look again.
    async fn report(
        &mut self,
        read: &Read,
        decision: Decision,
        (outcome, again): (Outcome, Option<Duration>),
    ) -> Result<Next, Stop> {
        let condition = self.condition(outcome, read);
        self.write(&decision.state, condition, ObservedRecord::of(read.record.as_ref())).await?;
        // Only after the write: what a decision forgets is still needed if it could not be written.
        self.memory.of_decision = decision.memory;
        self.memory.backoff.worked();
        self.annotate(&decision.state).await?;
        let mut interval = self.interval();
        if outcome == Outcome::AwaitingProof && self.context.settings.scope.is_shard() {
            // Another install may reconcile the objects that it waits for, and does not enqueue this resource.
            interval = interval.min(OTHER_SHARD_AGAIN);
        }
        Ok(Next::Again(Some(again.map_or(interval, |again| again.max(SHORTEST_PAUSE).min(interval)))))
    }

    /// Returns the Ready condition of an outcome.
    pub(super) fn condition(&self, outcome: Outcome, read: &Read) -> ConditionUpdate {
        if let (Outcome::Refused, Some(refused)) = (outcome, &self.memory.of_decision.refused) {
            return refused.condition.clone();
        }
        let (spec, record) = (&self.object.spec, read.record.as_ref());
        let impossible = record.map(|record| desired::changes(spec, record).impossible).unwrap_or_default();
        let details = if read.unproven.is_empty() { &impossible } else { &read.unproven };
        outcome::ready_condition(outcome, &spec.key, record, details)
    }

    /// Remembers which objects enqueue this resource. `waits`: it waits for more than its project.
    fn note_references(&self, waits: bool) {
        let named = observe::references(&self.object.spec, waits);
        record::note_references(self.context, self.object_ref, &self.project(), named);
    }

    /// Rules 22 and 23: what was never created, and what is orphaned, goes without asking the remote.
    fn needs_no_remote(&self, state: Option<&State>) -> bool {
        let orphans = self.object.spec.effective_deletion_policy() == DeletionPolicy::Orphan;
        // The annotation outlives a status that was lost with a restored backup.
        let annotated = self.object.annotations().contains_key(names::REMOTE_ID);
        is_deleting(&self.object) && (orphans || (state.is_some_and(|state| !state.has_begun()) && !annotated))
    }

    /// Returns what publishing still waits for.
    async fn unproven(&self, state: &State) -> Result<Vec<String>, kube::Error> {
        let spec = &self.object.spec;
        let Some(after) = &spec.publish_after else { return Ok(Vec::new()) };
        let objects = observe::proofs(&self.context.client, &self.object_ref.namespace, after).await?;
        Ok(proof::missing(&self.object_ref.name, spec, state, &objects))
    }

    /// Whether the decision may be carried out. A create, and taking over what exists, are announced to the other
    /// resources first.
    fn claim(&self, remote: &RemoteIdentity, state: &State, decision: &Decision) -> ClaimStatus {
        let creates = decision.step == Step::Send(CallKind::Create);
        let gets = decision.state.id.is_some() && decision.state.id != state.id;
        // A record that shows what the resource has sent is its own.
        let begin = Begin { remote, takes_over: !creates && decision.state.call.is_none() };
        self.context.claim(&self.object, (creates || gets).then_some(begin))
    }

    /// Returns a reference to the project that the resource names.
    fn project(&self) -> ObjectRef {
        ObjectRef::of_project(&self.object_ref.namespace, &self.object.spec.project_ref)
    }

    pub(super) fn interval(&self) -> Duration {
        self.object.spec.effective_interval()
    }

    /// What a pause of the backoff is for; a change ends it.
    fn asked_for(&self) -> Asked {
        let generation = self.object.metadata.generation.unwrap_or_default();
        (generation, reconcile::request(&self.object, names::RETRY_REQUESTED_AT))
    }

    /// Pauses the calls of this resource, longer with each failure; returns for how long.
    pub(super) fn pause(&mut self, error: &ApiError) -> Duration {
        let (asked, now) = (self.asked_for(), self.context.clock.now());
        self.memory.backoff.failed(asked, error, now)
    }
}
