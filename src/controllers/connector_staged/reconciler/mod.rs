//! One run: the story in [`Reconciler::reconcile`]; `execute` does what was decided, `patch_status` tells people.

mod execute;
mod report;

use std::sync::Arc;
use std::time::Duration;

use connect_api::model::ConnectorStaged as Record;
use connect_api::scopes::Right;
use kube::ResourceExt;
use kube::api::Api;

use super::act::Apis;
use super::cache::LocalCache;
use super::decide::{self, CallKind, Decision, Deletion, Input, Outcome, Step, TransientState};
use super::persisted::PersistedState;
use super::status::ObservedRecord;
use super::{intent, observe, proof, status_conversion};
use crate::controllers::backoff::Asked;
use crate::controllers::conditions;
use crate::controllers::context::Context;
use crate::controllers::keys::{ClaimReason, ClaimStatus, RemoteKey};
use crate::controllers::object::{self, Next, request};
use crate::controllers::object_ref::{Kind, ObjectRef};
use crate::controllers::problem;
use crate::controllers::reason::Reason;
use crate::controllers::references::Named;
use crate::controllers::refusal;
use crate::controllers::remote::{Login, NotAdmitted, Remote};
use crate::crd::shared::RemoteIdentity;
use crate::crd::{ConnectorStaged, ConnectorStagedStatus};
use crate::names;

/// Pause before a project that is missing or cannot be read is looked for again; its appearance wakes us earlier.
const PROJECT_AGAIN: Duration = Duration::from_mins(1);

/// One run for one resource.
pub(super) struct Reconciler<'a> {
    context: &'a Context,
    object_ref: &'a ObjectRef,
    api: Api<ConnectorStaged>,
    object: Arc<ConnectorStaged>,
    cache: LocalCache,
}

impl<'a> Reconciler<'a> {
    pub(super) fn new(
        context: &'a Context,
        object_ref: &'a ObjectRef,
        object: Arc<ConnectorStaged>,
        cache: LocalCache,
    ) -> Self {
        let api = Api::namespaced(context.client.clone(), &object_ref.namespace);
        Self { context, object_ref, api, object, cache }
    }

    pub(super) fn into_cache(self) -> LocalCache {
        self.cache
    }

    /// The reason of the Ready condition, as far as this run knows.
    pub(super) fn reason(&self) -> Option<Reason> {
        let status = self.object.status.as_ref()?;
        conditions::ready_reason(&status.conditions).and_then(Reason::parse)
    }

    /// The whole run. Deleting is the same story with another end.
    pub(super) async fn reconcile(&mut self) -> Result<Next, kube::Error> {
        // Whoever waited for a proof goes on to be woken by it until this run knows better.
        self.note_references(!self.context.references.uses(self.object_ref, Named::Deployment).is_empty());
        if self.may_go_at_once() {
            return self.remove_finalizer(None).await;
        }
        // Rule 4, before anything is held or asked for.
        match self.context.keys.claim_status(&*self.object) {
            ClaimStatus::Owner => {}
            claim_status => return self.report_key_conflict(claim_status).await,
        }
        if !object::has_finalizer(&*self.object) {
            match object::add_finalizer(&self.api, &*self.object).await {
                Ok(object) => self.wrote(object),
                Err(error) => return self.report_kubernetes_error(refusal::FINALIZERS, error).await,
            }
        }
        let project = &self.object.spec.project_ref.name;
        let project = match object::project(self.context, &self.object_ref.namespace, project).await {
            Ok(project) => project,
            Err(Some(condition)) => return self.report_and_wait(None, condition, Some(PROJECT_AGAIN)).await,
            Err(None) => return Ok(Next::Again(Some(Duration::from_secs(5)))),
        };
        let identity = project.identity.clone();
        if let Some(condition) = intent::unfit(&self.object, &identity) {
            return self.report_and_wait(Some(identity), condition, Some(self.object.spec.effective_interval())).await;
        }
        let remote = match &project.remote {
            Ok(remote) => Arc::clone(remote),
            Err(condition) => return self.report_outage(identity, problem::of_project(condition)).await,
        };
        let asked = self.asked_for();
        if let Some(pause) = self.cache.backoff.left(&asked, self.context.clock.now()) {
            return Ok(Next::Again(Some(pause)));
        }
        let turn = match remote.enter(self.object_ref) {
            Ok(turn) => turn,
            Err(NotAdmitted::Queued) => return Ok(Next::Again(None)),
            Err(NotAdmitted::CircuitOpen(outage)) => {
                let condition = problem::condition_of_outage(&outage, &identity.project_key);
                return self.report_outage(identity, condition).await;
            }
        };
        // In a box of its own: most runs end before they need its room.
        let next = Box::pin(self.with_remote(&remote, identity)).await;
        drop(turn);
        next
    }

    /// Everything after the remote let us in.
    async fn with_remote(&mut self, remote: &Arc<Remote>, identity: RemoteIdentity) -> Result<Next, kube::Error> {
        self.note_login(remote.login());
        self.note_request();
        let (reads, changes) = (remote.api(), remote.staged());
        let apis = Apis { reads: &*reads, changes: &*changes };
        let persisted = self.persisted();
        let now = self.context.clock.now();
        let record = match observe::read_remote(apis.reads, &self.object.spec.key, &persisted).await {
            Ok(record) => record,
            Err(error) => {
                let asked = self.asked_for();
                let pause = self.cache.backoff.failed(asked, &error, self.context.clock.now());
                let condition = problem::condition(&error, &identity.project_key);
                self.report_outage(identity, condition).await?;
                return Ok(Next::Again(Some(pause)));
            }
        };
        let mut intent = intent::intent(&self.object);
        let observation = observe::observation(&self.object.spec, record.as_ref());
        let transient = &self.cache.seen;
        let mut decision = decide::decide(&Input {
            persisted: &persisted,
            intent: &intent,
            observation: &observation,
            transient,
            now,
        });
        let mut waits = Vec::new();
        // Before it is read, so that no change is missed.
        self.note_references(decision.outcome == Outcome::AwaitingProof);
        if decision.outcome == Outcome::AwaitingProof {
            waits = self.unproven(&decision.persisted).await?;
            intent.proven = waits.is_empty();
            decision = decide::decide(&Input {
                persisted: &persisted,
                intent: &intent,
                observation: &observation,
                transient,
                now,
            });
        }
        if matches!(decision.step, Step::Send(_)) {
            let missing = remote.lacking(self.object_ref, &[Right::ManageConnectors]);
            if !missing.is_empty() {
                return self.withhold(identity, record, &missing).await;
            }
        }
        // Rule 4 once more, in one step with saying so: somebody else may have begun since, or come.
        match self.begin(remote, &identity, &persisted, &decision) {
            ClaimStatus::Owner => {}
            claim_status => return self.report_key_conflict(claim_status).await,
        }
        Box::pin(self.execute(apis, identity, record, decision, &waits)).await
    }

    /// Sends nothing: the token names its scopes, and lacks these rights. A token with other scopes wakes us.
    async fn withhold(
        &mut self,
        identity: RemoteIdentity,
        record: Option<Record>,
        missing: &[Right],
    ) -> Result<Next, kube::Error> {
        let persisted = self.persisted();
        let condition = problem::unpermitted(missing, &identity.project_key);
        self.patch_status(
            &identity,
            &persisted,
            condition,
            record.as_ref().map_or(ObservedRecord::Absent, ObservedRecord::Present),
        )
        .await?;
        self.note_state(&persisted, record.as_ref());
        Ok(Next::Again(Some(self.object.spec.effective_interval())))
    }

    /// What publishing still waits for.
    async fn unproven(&self, persisted: &PersistedState) -> Result<Vec<String>, kube::Error> {
        let spec = &self.object.spec;
        let Some(after) = &spec.publish_after else { return Ok(Vec::new()) };
        let objects = observe::proofs(&self.context.client, &self.object_ref.namespace, after).await?;
        let object_ref = proof::ProofTarget {
            name: &self.object_ref.name,
            id: persisted.id.as_deref().unwrap_or_default(),
            tag: &spec.repository.tag,
            deployable: persisted.deployable.as_ref().map(|deployable| deployable.version),
        };
        Ok(proof::missing(after, &object_ref, &objects))
    }

    /// Remembers who is to wake us. `waits`: publishing waits for what has to be proven.
    fn note_references(&self, waits: bool) {
        let project = self.object.spec.project_ref.name.clone();
        let before = self.context.references.uses(self.object_ref, Named::Project);
        self.context.references.set(self.object_ref, observe::references(&self.object.spec, waits));
        if before != [project.clone()] {
            // A project that is being deleted waits for its users.
            for project in before.into_iter().chain([project]) {
                self.context.enqueue(ObjectRef::project(&self.object_ref.namespace, &project));
            }
        }
    }

    /// Rules 22 and 23: what was never created, and what is to stay, needs no remote to go.
    fn may_go_at_once(&self) -> bool {
        let persisted = self.persisted();
        match intent::deletion(&self.object) {
            Some(Deletion::Orphan) => true,
            Some(Deletion::Delete) => {
                let inputs = self.object.annotations().contains_key(names::REMOTE_ID);
                persisted.id.is_none() && persisted.operation.is_none() && !inputs
            }
            None => false,
        }
    }

    /// Whether what was decided may be done: a create, and taking over what exists, are announced to the others first.
    fn begin(
        &self,
        remote: &Remote,
        identity: &RemoteIdentity,
        persisted: &PersistedState,
        decision: &Decision,
    ) -> ClaimStatus {
        let creates = matches!(&decision.step, Step::Send(call) if call.kind == CallKind::Create);
        if !creates && decision.persisted.id == persisted.id {
            return ClaimStatus::Owner;
        }
        let place = RemoteKey { kind: Kind::Staged, remote: identity.clone(), key: self.object.spec.key.clone() };
        let taken_over = decision.persisted.id.as_deref().filter(|_| !creates && persisted.operation.is_none());
        let what = taken_over.map_or(ClaimReason::Create, ClaimReason::TakeOver);
        if remote.has_answered() {
            // Its project may not have run since, and would have to wake us.
            let project = ObjectRef::project(&self.object_ref.namespace, &self.object.spec.project_ref.name);
            self.context.keys.admitted(&project, identity, true);
        }
        self.context.keys.begin(&*self.object, &place, what)
    }

    /// Leaves the key to who is before us. Whatever changes about that wakes us.
    async fn report_key_conflict(&mut self, claim_status: ClaimStatus) -> Result<Next, kube::Error> {
        let winner = match claim_status {
            ClaimStatus::HeldBy(winner) => winner,
            ClaimStatus::Unlisted => {
                return self.report_and_wait(None, problem::unlisted(&self.object.spec.key), None).await;
            }
            ClaimStatus::Owner | ClaimStatus::Unknown => return Ok(Next::Again(None)),
        };
        self.cache.seen = TransientState::default();
        if intent::deletion(&self.object).is_some() {
            return self.remove_finalizer(None).await;
        }
        let condition = problem::key_conflict("ConnectorStaged", &winner, &self.object.spec.key);
        self.report_and_wait(None, condition, None).await
    }

    fn asked_for(&self) -> Asked {
        let generation = self.object.metadata.generation.unwrap_or_default();
        (generation, request(&*self.object, names::REDEPLOY_REQUESTED_AT))
    }

    /// What was refused with other credentials may be sent again.
    fn note_login(&mut self, login: Login) {
        if self.cache.login.replace(login).is_some_and(|before| before != login) {
            self.cache.refusal = None;
            self.cache.seen.refused = None;
        }
    }

    /// A new reconcile request is served by the look of this run (rule 11).
    fn note_request(&mut self) {
        let asked = request(&*self.object, names::RECONCILE_REQUESTED_AT);
        self.cache.asked = asked.filter(|asked| self.status().handled_reconcile_request.as_ref() != Some(asked));
    }

    fn status(&self) -> ConnectorStagedStatus {
        self.object.status.clone().unwrap_or_default()
    }

    fn persisted(&self) -> PersistedState {
        status_conversion::persisted(&self.status())
    }

    /// From here on this is the resource.
    fn wrote(&mut self, object: ConnectorStaged) {
        self.cache.written = object.resource_version();
        self.context.keys.wrote(&object);
        self.object = Arc::new(object);
    }
}
