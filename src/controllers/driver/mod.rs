//! The reconcile that every kind with a remote record shares, from an event to one status patch and one requeue.
//!
//! ```text
//! project ─▶ key claim ─▶ circuit breaker ─▶ observe ─▶ decide ─▶ persist the operation ─▶ call ─▶ status
//! ```
//!
//! [`Reconciler::reconcile`] is the whole of it. What differs between kinds stands in [`RemoteKind`]: what is observed, the
//! decision table, the calls, and the words of the status. Before each call that changes something its operation is
//! persisted on the version of the resource that was read; only that yields the [`PersistedOperation`] that a call takes.
//!
//! - `kind`: the trait, and what its methods exchange; `operations`: what all decision tables share;
//! - `claim`: who may use a key (rule 4);
//! - `execute`: carries out a decision; `sent`: describes a call that was sent;
//! - `metadata`: the finalizer, and the annotation with the id; `report`: the status and Events.

mod claim;
mod execute;
mod kind;
mod metadata;
pub mod operations;
mod report;
mod sent;

use std::sync::Arc;
use std::time::Duration;

use clock::between;
use connect_api::ApiError;
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::Api;
use kube::runtime::controller::Action;

pub use self::kind::{
    AppliedOf, CallResult, Decided, DecisionOf, ObservedRecord, Observing, PersistedOperation, RemoteKind,
    StatusInputs, Unready, identity_changed,
};
pub use self::sent::{SentCall, Versions};
use crate::controllers::context::local_cache::LocalCache;
use crate::controllers::context::{Context, Project};
use crate::controllers::key_ownership::ClaimStatus;
use crate::controllers::kinds::managed_kind::object_ref;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::project_access::namespace_permissions::Permission;
use crate::controllers::queue::backoff::Asked;
use crate::controllers::reconcile::panics;
use crate::controllers::reconcile::unwritten::Unwritten;
use crate::controllers::reconcile::{self, Next, is_ours};
use crate::controllers::references::Named;
use crate::controllers::remote::{Login, NotAdmitted, Outage, Remote};
use crate::controllers::reporting::conditions;
use crate::controllers::reporting::problem;
use crate::controllers::reporting::reason::Reason;
use crate::controllers::reporting::reconcile_outcome::ReconcileOutcome;
use crate::controllers::reporting::refusal;
use crate::names;

/// Pause before a project that is missing or cannot be read is looked up again; its appearance enqueues earlier.
const PROJECT_AGAIN: Duration = Duration::from_mins(1);
/// Pause before a project, or a connector, is looked up again whose own controller has not reconciled it yet.
const NOT_YET_RECONCILED_AGAIN: Duration = Duration::from_secs(5);

/// Reconciles one resource, as it was just read, and returns what follows and how it ended. Never fails: an error becomes a
/// condition or a retry.
pub async fn reconcile<K: RemoteKind>(object: Arc<K>, context: Arc<Context>) -> (Action, ReconcileOutcome) {
    let object_ref = object_ref(&*object);
    context.requeue_timers.set(&object_ref, None);
    // Its labels have moved it to another install, or its deletion waits for others.
    if !context.scope.selects(object.labels()) || !is_ours(&*object) {
        forget::<K>(&context, &object_ref);
        return (Action::await_change(), ReconcileOutcome::Gone);
    }
    let uid = object.meta().uid.as_deref().unwrap_or_default();
    let kept = K::caches(&context).forget(&object_ref).filter(|kept| kept.uid == uid);
    let cache = kept.unwrap_or_else(|| Box::new(LocalCache { uid: uid.to_owned(), ..LocalCache::default() }));
    let mut reconciler = Reconciler::new(&context, &object_ref, object, cache);
    // Boxed to keep the futures around a reconcile small.
    let outcome = match Box::pin(reconciler.reconcile()).await {
        Err(error) => reconciler.report_kubernetes_error(refusal::ANY, error).await,
        outcome => outcome,
    };
    let pause = outcome.as_ref().err().map_or(reconcile::AFTER_CLUSTER_ERROR, |error| reconciler.pause_after(error));
    let ended = reconcile::ended(&outcome, reconciler.reason());
    let cache = reconciler.cache;
    let Some(action) = reconcile::conclude(&context, &object_ref, outcome, pause) else {
        forget::<K>(&context, &object_ref);
        return (Action::await_change(), ended);
    };
    K::caches(&context).insert(&object_ref, cache);
    (action, ended)
}

/// Forgets everything about a resource that does not exist any more, or that is left to others.
pub fn forget<K: RemoteKind>(context: &Context, object_ref: &ObjectRef) {
    context.requeue_timers.set(object_ref, None);
    context.remotes.forget(object_ref);
    K::caches(context).forget(object_ref);
    let projects = context.references.projects(object_ref);
    context.references.forget(object_ref);
    for project in &projects {
        context.users_changed(project);
    }
    K::forget(context, object_ref);
}

/// One reconcile of one resource.
pub struct Reconciler<'a, K: RemoteKind> {
    pub(super) context: &'a Context,
    pub(super) object_ref: &'a ObjectRef,
    api: Api<K>,
    pub(super) object: Arc<K>,
    unwritten: Unwritten,
    pub(super) cache: Box<LocalCache<K>>,
}

impl<'a, K: RemoteKind> Reconciler<'a, K> {
    fn new(context: &'a Context, object_ref: &'a ObjectRef, object: Arc<K>, cache: Box<LocalCache<K>>) -> Self {
        let api = Api::namespaced(context.client.clone(), &object_ref.namespace);
        context.keys.wrote(&*object);
        Self { context, object_ref, api, object, unwritten: Unwritten::default(), cache }
    }

    /// The reconcile. A deletion takes the same path with another decision.
    async fn reconcile(&mut self) -> Result<Next, kube::Error> {
        // Who waited for more than the project goes on to be enqueued by it until this reconcile decides.
        self.note_references(K::is_waiting(self.context, self.object_ref));
        if self.needs_no_remote() {
            return self.remove_finalizer(None).await;
        }
        if let Some(Err(condition)) = self.object.status().map(K::read_status) {
            panics::report(&*self.object, self.context, &condition).await?;
            return Ok(Next::Again(Some(self.object.interval())));
        }
        // Rule 29, before rule 4: a conflict names a resource of another namespace.
        if let Permission::Denied(condition) = self.permission() {
            return self.report_not_allowed(condition).await;
        }
        // Rule 4, before a finalizer is added and before the remote is asked.
        match self.context.keys.claim_status(&*self.object) {
            ClaimStatus::Owner => {}
            claim_status => return self.report_key_conflict(claim_status).await,
        }
        // Whoever owns nothing yet gets its finalizer before its first call, or before the status names a record.
        if self.is_protected()
            && let Err(error) = self.add_finalizer().await
        {
            return self.report_kubernetes_error(refusal::FINALIZERS, error).await;
        }
        let project = match reconcile::project(self.context, &self.project(), &self.object_ref.namespace).await {
            Ok(project) => project,
            Err(Some(condition)) => return self.report_and_wait(None, condition, Some(PROJECT_AGAIN)).await,
            Err(None) => return Ok(Next::Again(Some(NOT_YET_RECONCILED_AGAIN))),
        };
        let identity = self.object.identity(&project);
        if let Some(condition) = identity_changed(&*self.object, &project.identity) {
            return self.report_and_wait(Some(&identity), condition, Some(self.object.interval())).await;
        }
        let target = match K::target(self).await {
            Ok(target) => target,
            Err(Unready::Report(condition)) => {
                return self.report_and_wait(Some(&identity), condition, Some(self.object.interval())).await;
            }
            Err(Unready::NotYet) => return Ok(Next::Again(Some(NOT_YET_RECONCILED_AGAIN))),
        };
        self.enter(&project, identity, target).await
    }

    /// Passes the circuit breaker and the concurrency limit of the remote.
    async fn enter(
        &mut self,
        project: &Project,
        identity: K::Identity,
        target: K::Target,
    ) -> Result<Next, kube::Error> {
        let remote = match &project.remote {
            Ok(remote) => Arc::clone(remote),
            Err(condition) => {
                return self.report_outage(&identity, problem::of_project(&self.project(), condition)).await;
            }
        };
        let asked = self.asked_for();
        if let Some(pause) = self.cache.backoff.left(&asked, self.context.clock.now()) {
            return Ok(Next::Again(Some(pause)));
        }
        let permit = match remote.enter(self.object_ref) {
            Ok(permit) => permit,
            Err(NotAdmitted::Queued) => return Ok(Next::Again(None)),
            Err(NotAdmitted::Paused(Outage { kind, error, until, .. })) => {
                tracing::debug!(outage = ?kind, %error, %until, "the reconcile waits for the end of a short pause");
                return Ok(Next::Again(None));
            }
            Err(NotAdmitted::CircuitOpen(outage)) => {
                let condition = problem::condition_of_outage(&outage, &project.identity.project_key);
                return self.report_outage(&identity, condition).await;
            }
        };
        // Boxed: most reconciles end before this.
        let next = Box::pin(self.with_remote(&remote, identity, target)).await;
        drop(permit);
        next
    }

    async fn with_remote(
        &mut self,
        remote: &Arc<Remote>,
        identity: K::Identity,
        target: K::Target,
    ) -> Result<Next, kube::Error> {
        self.note_login(remote.login());
        self.note_request();
        let mut observed = match K::observe(self, remote, identity, target).await? {
            Observing::Done(observed) => observed,
            Observing::Pending => return Ok(Next::Again(None)),
            // The poller has its own backoff, and this reconcile has called nothing.
            Observing::Failing(identity, error) => return self.report_failed_read(&identity, &error).await,
            Observing::Failed(identity, error) => {
                let pause = self.pause(remote, &error, None);
                self.report_failed_read(&identity, &error).await?;
                return Ok(Next::Again(Some(pause)));
            }
        };
        let decision = match K::decide(self, remote, &mut observed).await? {
            Decided::Decision(decision) => decision,
            Decided::Ended(next) => return Ok(next),
        };
        // Rule 29 again: the permission may have been withdrawn since.
        if let Permission::Denied(condition) = self.permission() {
            return self.report_not_allowed(condition).await;
        }
        // Rule 4 again, atomically with announcing it: another resource may have begun since, or have appeared.
        match self.claim(remote, &observed, &decision) {
            ClaimStatus::Owner => {}
            claim_status => return self.report_key_conflict(claim_status).await,
        }
        Box::pin(self.execute(remote, observed, decision)).await
    }

    /// Remembers which objects enqueue this resource. `waits`: it waits for more than its project.
    pub(super) fn note_references(&self, waits: bool) {
        let project = self.project();
        let before = self.context.references.projects(self.object_ref);
        let mut named = K::references(&self.object, waits);
        named.insert(Named::project(self.object.project()));
        self.context.references.set(self.object_ref, named);
        if before != [project.clone()] {
            before.iter().chain([&project]).for_each(|project| self.context.users_changed(project));
        }
    }

    /// Returns a reference to the project that the resource names.
    pub(in crate::controllers) fn project(&self) -> ObjectRef {
        ObjectRef::of_project(&self.object_ref.namespace, self.object.project())
    }

    /// Returns whether the namespace of the resource may use the project that the resource names.
    fn permission(&self) -> Permission {
        self.context.permissions.permission(&self.project(), &self.object_ref.namespace)
    }

    /// Rules 22 and 23: what was never created, and what is orphaned, goes without asking the remote.
    fn needs_no_remote(&self) -> bool {
        if !self.is_deleting() {
            return false;
        }
        // The annotation outlives a status that was lost with a restored backup.
        let annotated = self.object.annotations().contains_key(names::REMOTE_ID);
        let claim = self.object.claim_request();
        self.object.is_orphaned(self.context) || (claim.id.is_none() && !claim.operation && !annotated)
    }

    /// Whether the resource owns a record, or may own one, which only the finalizer protects.
    fn is_protected(&self) -> bool {
        let claim = self.object.claim_request();
        claim.id.is_some() || claim.operation || self.object.annotations().contains_key(names::REMOTE_ID)
    }

    pub(super) fn is_deleting(&self) -> bool {
        reconcile::is_deleting(&*self.object)
    }

    pub(super) fn generation(&self) -> i64 {
        self.object.meta().generation.unwrap_or_default()
    }

    pub(super) fn status(&self) -> K::Status {
        self.object.status().cloned().unwrap_or_default()
    }

    pub(super) fn persisted(&self) -> K::Persisted {
        // What cannot be read has ended the reconcile before.
        self.object.status().and_then(|status| K::read_status(status).ok()).unwrap_or_default()
    }

    /// What a pause of the backoff is for; a change ends it.
    pub(super) fn asked_for(&self) -> Asked {
        (self.generation(), reconcile::request(&*self.object, names::REDEPLOY_REQUESTED_AT))
    }

    /// Pauses the calls of this resource, longer with each failure; returns for how long. `needless_until`: no
    /// observation before that time leads to anything.
    pub(super) fn pause(&mut self, remote: &Remote, error: &ApiError, needless_until: Option<Timestamp>) -> Duration {
        let (asked, now) = (self.asked_for(), self.context.clock.now());
        // No reconcile uses what is observed during the pause; the one that follows sets the rate again.
        remote.poll_at_interval(self.object_ref, self.object.interval());
        let needless = needless_until.map_or(Duration::ZERO, |until| between(now, until));
        self.cache.backoff.failed(asked, error, needless, now)
    }

    /// The reason of the Ready condition.
    fn reason(&self) -> Option<Reason> {
        conditions::ready_reason(K::conditions(self.object.status()?)).and_then(Reason::parse)
    }

    /// What other credentials were refused may be sent again.
    fn note_login(&mut self, login: Login) {
        if self.cache.login.replace(login).is_some_and(|before| before != login) {
            self.cache.refusal = None;
            K::forget_refusal(&mut self.cache.transient);
        }
    }

    /// Notes a new reconcile request, which an observation that begins from now on serves (rule 11).
    fn note_request(&mut self) {
        let request = self.unhandled_request();
        let known = self.cache.reconcile_request.take().filter(|(asked, _)| Some(asked) == request.as_ref());
        self.cache.reconcile_request = known.or_else(|| request.map(|request| (request, self.context.clock.now())));
    }

    /// Returns the reconcile request that no status says to be served.
    pub(super) fn unhandled_request(&self) -> Option<String> {
        let handled = self.object.status().and_then(K::handled_reconcile_request);
        reconcile::request(&*self.object, names::RECONCILE_REQUESTED_AT).filter(|request| handled != Some(request))
    }

    /// Takes what the API server stored as the resource from here on.
    pub(super) fn wrote(&mut self, object: K) {
        self.context.keys.wrote(&object);
        self.object = Arc::new(object);
    }
}
