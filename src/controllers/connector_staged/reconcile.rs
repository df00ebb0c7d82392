//! The path from an event to a status: the gates before the remote is asked, and the decision.

use std::sync::Arc;
use std::time::Duration;

use connect_api::model::ConnectorStaged as Record;
use connect_api::scopes::Right;
use connect_api::{ApiError, ConnectApi};
use kube::ResourceExt;
use kube::api::Api;
use kube::runtime::controller::Action;

use super::decide::{Call, Decision, Input, Outcome, Step, decide};
use super::observed::Observed;
use super::proof::{self, ProofTarget};
use super::state::{CallKind, DeletionPolicy, State};
use super::{intent, observe};
use crate::controllers::context::{Context, Project, StagedMemory};
use crate::controllers::key_ownership::{Begin, ClaimStatus};
use crate::controllers::kinds::managed_kind::object_ref;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::project_access::namespace_permissions::Permission;
use crate::controllers::queue::backoff::Asked;
use crate::controllers::reconcile::record::{self, identity_changed};
use crate::controllers::reconcile::unwritten::Unwritten;
use crate::controllers::reconcile::{self, NOT_YET_RECONCILED_AGAIN, Next, PROJECT_AGAIN, is_deleting, is_ours};
use crate::controllers::references::Named;
use crate::controllers::remote::{Health, NotAdmitted, Remote};
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::observed_record::ObservedRecord;
use crate::controllers::reporting::problem;
use crate::controllers::reporting::reason::Reason;
use crate::controllers::reporting::reconcile_outcome::ReconcileOutcome;
use crate::controllers::reporting::refusal;
use crate::crd::ConnectorStaged;
use crate::crd::shared::RemoteIdentity;
use crate::names;

/// Reconciles one resource, as it was just read, and returns what follows and how it ended. Never fails: an error becomes a
/// condition or a retry.
pub async fn reconcile(object: Arc<ConnectorStaged>, context: Arc<Context>) -> (Action, ReconcileOutcome) {
    let object_ref = object_ref(&*object);
    context.requeue_timers.set(&object_ref, None);
    // Its labels have moved it to another install, or its deletion waits for others.
    if !is_ours(&*object) || !context.scope.selects(object.labels()) {
        forget(&context, &object_ref);
        return (Action::await_change(), ReconcileOutcome::Gone);
    }
    let mut reconciler = Reconciler::new(&context, &object_ref, Arc::unwrap_or_clone(object));
    // Boxed to keep the futures around a reconcile small.
    let outcome = match Box::pin(reconciler.reconcile()).await {
        Err(error) => reconciler.report_kubernetes_error(refusal::ANY, error).await,
        outcome => outcome,
    };
    let pause = |error: &kube::Error| reconciler.pause_after(error);
    let (action, ended) = reconcile::conclude(&context, &object_ref, outcome, reconciler.reason(), pause);
    context.staged.insert(&object_ref, reconciler.memory);
    if ended == ReconcileOutcome::Gone {
        forget(&context, &object_ref);
    }
    (action, ended)
}

/// Forgets everything about a resource that is gone, or left to others.
pub fn forget(context: &Context, object_ref: &ObjectRef) {
    record::forget(context, object_ref);
    if context.staged.forget(object_ref).is_some_and(|memory| memory.result.is_some()) {
        context.enqueue_users(Named::Staged, &object_ref.namespace, &object_ref.name);
    }
}

/// One reconcile of one resource.
pub(super) struct Reconciler<'a> {
    pub(super) context: &'a Context,
    pub(super) object_ref: &'a ObjectRef,
    pub(super) api: Api<ConnectorStaged>,
    /// As the API server has it.
    pub(super) object: ConnectorStaged,
    pub(super) memory: Box<StagedMemory>,
    pub(super) unwritten: Unwritten,
}

/// What a reconcile has read.
pub(super) struct Read {
    pub(super) identity: RemoteIdentity,
    pub(super) record: Option<Record>,
    /// What publishing still waits for.
    pub(super) unproven: Vec<String>,
}

impl<'a> Reconciler<'a> {
    fn new(context: &'a Context, object_ref: &'a ObjectRef, object: ConnectorStaged) -> Self {
        let api = Api::namespaced(context.client.clone(), &object_ref.namespace);
        let uid = object.uid().unwrap_or_default();
        let kept = context.staged.get(object_ref).filter(|memory| memory.uid == uid);
        let memory = kept.unwrap_or_else(|| Box::new(StagedMemory { uid, ..StagedMemory::default() }));
        Self { context, object_ref, api, object, memory, unwritten: Unwritten::default() }
    }

    /// The reconcile. A deletion takes the same path with another decision.
    async fn reconcile(&mut self) -> Result<Next, kube::Error> {
        let state = self.object.remembered();
        // Who waited for more than the project goes on to be enqueued by it until this reconcile decides.
        self.note_references(!self.context.references.uses(self.object_ref, Named::Deployment).is_empty());
        if self.needs_no_remote(state.as_ref().ok()) {
            return self.remove_finalizer(false).await;
        }
        // Rule 29, before rule 4: a conflict names a resource of another namespace.
        if let Permission::Denied(condition) = self.permission() {
            return self.report_not_allowed(condition).await;
        }
        // Rule 4, before the remote is asked.
        match self.context.claim(&self.object, None) {
            ClaimStatus::Owner => {}
            claim_status => return self.report_key_conflict(claim_status).await,
        }
        let state = match state {
            Ok(state) => state,
            Err(why) => {
                let message = format!("{why}. Nothing is sent: run the version of the operator that wrote it");
                return self.report_and_wait(None, ConditionUpdate::new(Reason::InternalError, message), None).await;
            }
        };
        // Only the finalizer protects what the resource owns, or may own.
        if (state.has_begun() || self.object.annotations().contains_key(names::REMOTE_ID))
            && let Err(error) = self.add_finalizer().await
        {
            return self.report_kubernetes_error(refusal::FINALIZERS, error).await;
        }
        let project = match reconcile::project(self.context, &self.project(), &self.object_ref.namespace).await {
            Ok(project) => project,
            Err(Some(condition)) => return self.report_and_wait(None, condition, Some(PROJECT_AGAIN)).await,
            Err(None) => return Ok(Next::Again(Some(NOT_YET_RECONCILED_AGAIN))),
        };
        if let Some(condition) = identity_changed(&self.object, &project.identity) {
            return self.report_and_wait(Some(&project.identity), condition, Some(self.interval())).await;
        }
        self.enter(&project, state).await
    }

    /// Passes the circuit breaker and the concurrency limit of the remote.
    async fn enter(&mut self, project: &Project, state: State) -> Result<Next, kube::Error> {
        let identity = &project.identity;
        let remote = match &project.remote {
            Ok(remote) => remote,
            Err(condition) => {
                let condition = problem::of_project(&self.project(), condition);
                return self.report_outage(identity, &state, condition).await;
            }
        };
        let asked = self.asked_for();
        if let Some(pause) = self.memory.backoff.left(&asked, self.context.clock.now()) {
            return Ok(Next::Again(Some(pause)));
        }
        let permit = match remote.enter(self.object_ref).await {
            Ok(permit) => permit,
            Err(NotAdmitted::Moved) => return Ok(Next::Again(Some(Duration::ZERO))),
            Err(NotAdmitted::CircuitOpen(outage)) => {
                let condition = problem::condition_of_outage(&outage, &identity.project_key);
                return self.report_outage(identity, &state, condition).await;
            }
        };
        let login = remote.login();
        if self.memory.login.replace(login).is_some_and(|before| before != login) {
            // What other credentials were refused may be sent again.
            (self.memory.of_decision.refused, self.memory.refusal) = (None, None);
        }
        // Boxed: most reconciles end before this.
        let next = Box::pin(self.with_remote(remote, identity, &state)).await;
        drop(permit);
        next
    }

    async fn with_remote(
        &mut self,
        remote: &Arc<Remote>,
        identity: &RemoteIdentity,
        state: &State,
    ) -> Result<Next, kube::Error> {
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
                let pause = self.pause(&error);
                self.report_outage(identity, state, condition).await?;
                return Ok(Next::Again(Some(pause)));
            }
        };
        let observed = record.as_ref().map(|record| Observed::of(record, &self.object.spec));
        let mut read = Read { identity: identity.clone(), record, unproven: Vec::new() };
        let mut intent = intent::intent(&self.object);
        let memory = self.memory.of_decision.clone();
        let mut decision = decide(&Input { state, intent: &intent, record: observed.as_ref(), memory: &memory, now });
        let waits = matches!(decision.step, Step::Report(Outcome::AwaitingProof, _));
        // Before the proofs are read: a change of one then enqueues the resource.
        self.note_references(waits);
        if waits {
            read.unproven = self.unproven(&decision.state).await?;
            intent.proven = read.unproven.is_empty();
        }
        let input = Input { state, intent: &intent, record: observed.as_ref(), memory: &memory, now };
        if waits {
            decision = decide(&input);
        }
        let needed: &[Right] = if let Step::Send(_) = decision.step { &[Right::ManageConnectors] } else { &[] };
        let missing = remote.lacking(self.object_ref, needed);
        if !missing.is_empty() {
            let condition = problem::unpermitted(&missing, &identity.project_key);
            self.write(Some(&decision.state), condition, Some(identity), ObservedRecord::of(read.record.as_ref()))
                .await?;
            self.note_result(&decision.state, observed.as_ref());
            return Ok(Next::Again(Some(self.interval())));
        }
        // Rule 29 again: the permission may have been withdrawn since.
        if let Permission::Denied(condition) = self.permission() {
            return self.report_not_allowed(condition).await;
        }
        // Rule 4 again, atomically with announcing it: another resource may have begun since, or have appeared.
        match self.claim(identity, state, &decision) {
            ClaimStatus::Owner => {}
            claim_status => return self.report_key_conflict(claim_status).await,
        }
        self.execute(&api, &read, &input, decision).await
    }

    /// Reads the record. That there is none counts only if the project answers at all (rule 5).
    async fn look(&self, api: &impl ConnectApi, state: &State) -> Result<Option<Record>, ApiError> {
        let record = observe::read(api, &self.object.spec.key, state.id.as_deref()).await?;
        if record.is_none() && (state.id.is_some() || is_deleting(&self.object)) {
            observe::is_there(api).await?;
        }
        Ok(record)
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
        let target = ProofTarget {
            name: &self.object_ref.name,
            id: state.id.as_deref().unwrap_or_default(),
            tag: &spec.repository.tag,
            deployable: state.deployable.as_ref().map(|deployable| deployable.version),
        };
        Ok(proof::missing(after, &target, &objects))
    }

    /// Whether the decision may be carried out. A create, and taking over what exists, are announced to the other
    /// resources first.
    fn claim(&self, remote: &RemoteIdentity, state: &State, decision: &Decision) -> ClaimStatus {
        let creates = matches!(decision.step, Step::Send(Call { kind: CallKind::Create, .. }));
        let gets = decision.state.id.is_some() && decision.state.id != state.id;
        // A record that shows what the resource has sent is its own.
        let begin = Begin { remote, takes_over: !creates && state.call.is_none() };
        self.context.claim(&self.object, (creates || gets).then_some(begin))
    }

    /// Returns a reference to the project that the resource names.
    pub(super) fn project(&self) -> ObjectRef {
        ObjectRef::of_project(&self.object_ref.namespace, &self.object.spec.project_ref)
    }

    /// Returns whether the namespace of the resource may use the project that the resource names.
    fn permission(&self) -> Permission {
        self.context.permissions.permission(&self.project(), &self.object_ref.namespace)
    }

    pub(super) fn interval(&self) -> Duration {
        self.object.spec.effective_interval()
    }

    /// What a pause of the backoff is for; a change ends it.
    pub(super) fn asked_for(&self) -> Asked {
        let generation = self.object.metadata.generation.unwrap_or_default();
        (generation, reconcile::request(&self.object, names::REDEPLOY_REQUESTED_AT))
    }
}
