//! The reconcile of a `ConnectorDeployment`, from an event to one status patch and one requeue.
//!
//! ```text
//! project ─▶ key claim ─▶ circuit breaker ─▶ observe ─▶ decide ─▶ persist the operation ─▶ call ─▶ status
//! ```
//!
//! Before each call that changes something its operation is persisted on the version of the resource that was read; only
//! that yields the [`PersistedOperation`](super::act::PersistedOperation) that a call takes.
//!
//! - `target`: which connector is deployed; `inputs`: what a decision needs; `registered`: what prevents it from being
//!   carried out;
//! - `execute`: carries out a decision; `sent`: describes a call that was sent;
//! - `report`: finalizer, annotation, status and Events; `summary`, `verify`: the content of the status.

mod execute;
mod inputs;
mod registered;
mod report;
mod sent;
mod summary;
mod target;
mod verify;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use clock::between;
use connect_api::ApiError;
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::Api;

use self::inputs::Inputs;
use super::cache::LocalCache;
use super::decide::{self, CallKind, Decision, DesiredPayload, Input, Intent, Outcome, Step};
use super::intent::{self, Target};
use super::observe::RecordRead;
use super::persisted::{OperationState, OperationType, PersistedState};
use super::registered::Registered;
use super::status::DesiredIdentity;
use super::{kind, observe, state, value_from};
use crate::crd::connector_deployment_status::ConnectorDeploymentStatus;
use crate::crd::{ConnectorDeployment, DeletionPolicy, ManagementPolicy};
use crate::names;
use crate::operator::cluster::keys::{Begin, ClaimStatus};
use crate::operator::cluster::queue::backoff::Asked;
use crate::operator::cluster::references::{Reference, Referenced};
use crate::operator::context::Context;
use crate::operator::kinds::managed_kind::object_ref;
use crate::operator::object_ref::{Kind, ObjectRef};
use crate::operator::reconcile::record::{self, Stop};
use crate::operator::reconcile::{self, Next, is_ours, panics};
use crate::operator::remote::{ConcurrencyPermit, Login, PollRate, Remote};
use crate::operator::reporting::conditions::{is_ready, ready_reason};
use crate::operator::reporting::problem;
use crate::operator::reporting::reason::Reason;
use crate::operator::reporting::reconcile_outcome::ReconcileOutcome;
use crate::operator::reporting::refusal;

/// Time for which what is Ready does not report what its values are missing (rule 19).
const MISSING: Duration = Duration::from_secs(30);

/// Reconciles one resource, as it was just read, and returns how it ended.
///
/// # Errors
/// Those of the API server that no status reports: that the status cannot be written, and those that pass by themselves.
pub async fn reconcile(
    object: Arc<ConnectorDeployment>,
    context: Arc<Context>,
) -> Result<ReconcileOutcome, kube::Error> {
    let object_ref = object_ref(&*object);
    context.requeue_timers.set(&object_ref, None);
    // Its labels have moved it to another install, or its deletion waits for others.
    if !context.settings.scope.selects(object.labels()) || !is_ours(&*object) {
        forget(&context, &object_ref);
        return Ok(ReconcileOutcome::Gone);
    }
    let mut reconciler = Reconciler::new(&context, &object_ref, object);
    // Boxed to keep the futures around a reconcile small.
    let outcome = match Box::pin(reconciler.reconcile()).await {
        Ok(next) => Ok(next),
        Err(stop) => Box::pin(reconciler.stop(stop)).await,
    };
    let Reconciler { object, cache, .. } = reconciler;
    let reason = object.status.as_ref().and_then(|status| ready_reason(&status.conditions)).and_then(Reason::parse);
    let ended = outcome.map(|next| reconcile::conclude(&context, &object_ref, &next, reason));
    if matches!(ended, Ok(ReconcileOutcome::Gone)) {
        forget(&context, &object_ref);
    } else {
        context.memory.deployments.insert(&object_ref, Box::new(LocalCache { at: context.clock.now(), ..*cache }));
    }
    ended
}

/// Forgets everything about a resource that does not exist any more, or that is left to others.
pub fn forget(context: &Context, object_ref: &ObjectRef) {
    record::forget(context, object_ref);
    context.memory.deployments.forget(object_ref);
}

/// One reconcile of one resource.
pub(super) struct Reconciler<'a> {
    context: &'a Context,
    object_ref: &'a ObjectRef,
    api: Api<ConnectorDeployment>,
    /// As the API server has it.
    object: Arc<ConnectorDeployment>,
    /// Key, type, region and project of the deployment, once the project is known.
    identity: Option<DesiredIdentity>,
    cache: Box<LocalCache>,
    /// The right to use the remote, from when on it may be called.
    permit: Option<ConcurrencyPermit>,
}

impl<'a> Reconciler<'a> {
    fn new(context: &'a Context, object_ref: &'a ObjectRef, object: Arc<ConnectorDeployment>) -> Self {
        let api = Api::namespaced(context.client.clone(), &object_ref.namespace);
        let uid = object.uid().unwrap_or_default();
        let (kept, at) = (context.memory.deployments.forget(object_ref), context.clock.now());
        let kept = kept.filter(|kept| kept.uid == uid && kept.at <= at);
        let cache = kept.unwrap_or_else(|| Box::new(LocalCache { uid, ..LocalCache::default() }));
        Self { context, object_ref, api, object, identity: None, cache, permit: None }
    }

    /// The reconcile. A deletion takes the same path with another decision.
    async fn reconcile(&mut self) -> Result<Next, Stop> {
        let project = self.project();
        record::note_references(self.context, self.object_ref, &project, self.references());
        // Rules 22 and 23: what was never created, and what is orphaned, goes without asking the remote.
        let begun = self.has_begun();
        if self.is_deleting() && (!begun || self.deletion() == Some(DeletionPolicy::Orphan)) {
            return record::release(self.context, &self.api, &*self.object, false).await;
        }
        if let Err(condition) = state::read(&self.status()) {
            panics::report(&*self.object, self.context, &condition).await?;
            return Ok(Next::Again(Some(self.interval())));
        }
        // Rule 29 before rule 4: a conflict names a resource of another namespace.
        record::must_be_permitted(self.context, self.object_ref, &project)?;
        let claim = self.context.claim(&*self.object, None);
        record::must_own_key(self.context, &self.api, &*self.object, claim).await?;
        // Whoever owns nothing yet gets its finalizer before its first call, or before the status names a record.
        if begun {
            self.add_finalizer().await.map_err(|error| Stop::Refused(refusal::FINALIZERS, error))?;
        }
        let project = record::project(self.context, &*self.object, &project, self.interval()).await?;
        let identity = intent::desired_identity(&self.object, &project);
        self.identity = Some(identity.clone());
        let target = self.find_target().await?;
        let outage = |condition| Stop::Outage(problem::of_project(&self.project(), condition), None);
        let remote = Arc::clone(project.remote.as_ref().map_err(outage)?);
        if let Some(pause) = self.cache.backoff.left(&self.asked_for(), self.context.clock.now()) {
            return Ok(Next::Again(Some(pause)));
        }
        self.note_login(remote.login());
        self.note_request();
        // Without a permit: a registry that does not answer keeps no other resource waiting.
        let registered = self.registered(&remote, target.as_ref()).await;
        self.permit = Some(record::enter(&remote, self.object_ref).await?);
        let registered = registered.map_err(|error| self.pause_after_read(&remote, &error))?;
        // Boxed: most reconciles end before this.
        Box::pin(self.with_remote(&remote, identity, target, registered)).await
    }

    /// Observes the record, decides, and carries out the decision.
    async fn with_remote(
        &mut self,
        remote: &Arc<Remote>,
        wanted: DesiredIdentity,
        target: Option<Target>,
        registered: Registered,
    ) -> Result<Next, Stop> {
        let read = self.observe(remote).await?;
        let mut inputs = self.inputs(wanted, target, registered, read).await?;
        let now = self.context.clock.now();
        if let Some(left) = self.missing_for_an_instant(&inputs, now) {
            return Ok(Next::Again(Some(left)));
        }
        let mut decision = self.decide(&inputs, inputs.payload.as_ref(), now);
        if let Some(condition) = self.obstacle(remote, &inputs, &decision).await? {
            // Decides again as if the values were not known, since they may not be sent.
            decision = self.decide(&inputs, None, now);
            if matches!(decision.step, Step::Send(_)) {
                // It needs no values, as an undeploy does.
                let (persisted, transient) = (self.persisted(), self.cache.transient.clone());
                decision =
                    Decision { persisted, transient, step: Step::NoOp, outcome: Outcome::ValuesUnknown, again: None };
            }
            inputs.desired = Err(condition);
        }
        // Again: the permission may have been withdrawn since, and another resource may have begun, or have appeared.
        record::must_be_permitted(self.context, self.object_ref, &self.project())?;
        let claim = self.claim(&decision);
        record::must_own_key(self.context, &self.api, &*self.object, claim).await?;
        Box::pin(self.execute(remote, inputs, decision)).await
    }

    /// Reads the record.
    ///
    /// # Errors
    /// It cannot be read, or a poll is under way, which enqueues the resource.
    async fn observe(&mut self, remote: &Arc<Remote>) -> Result<RecordRead, Stop> {
        let (api, key, persisted) = (remote.api(), intent::key(&self.object), self.persisted());
        let read =
            observe::read_remote(self.context, remote, &api, self.object_ref, &key, &persisted, &self.cache).await;
        match read {
            Ok(Some(read)) => Ok(read),
            // The poller has its own backoff, and this reconcile has called nothing.
            Ok(None) => Err(match remote.read_error(self.object_ref) {
                Some(error) => Stop::Outage(problem::condition(&error, &remote.settings().project_key), None),
                None => Stop::End(Next::Again(None)),
            }),
            Err(error) => Err(self.pause_after_read(remote, &error)),
        }
    }

    /// Returns for how long what is Ready does not report that a Secret, a ConfigMap or the declarations of its connector are
    /// missing: some tools rotate a Secret by deleting and creating it.
    fn missing_for_an_instant(&mut self, inputs: &Inputs, now: Timestamp) -> Option<Duration> {
        let reason = inputs.desired.as_ref().err().map(|condition| condition.reason);
        let is_missing =
            matches!(reason, Some(Reason::SecretMissing | Reason::ConfigMapMissing | Reason::DeclarationsUnknown));
        // What an optional object gave would be removed.
        let is_missing = is_missing || (inputs.optional_missing && inputs.removes(&self.persisted()));
        self.cache.missing_since = is_missing.then(|| self.cache.missing_since.unwrap_or(now));
        let left = MISSING.saturating_sub(between(self.cache.missing_since?, now));
        let status = self.status();
        let is_ready = is_ready(&status.conditions) && status.observed_generation == self.generation();
        (is_ready && !left.is_zero()).then_some(left)
    }

    /// Pauses after a read of this reconcile that failed.
    fn pause_after_read(&mut self, remote: &Remote, error: &ApiError) -> Stop {
        if error.is_held_back() {
            // The permit is waited for again, or the outage is reported.
            return Stop::End(Next::Again(Some(Duration::ZERO)));
        }
        let pause = self.pause(remote, error);
        Stop::Outage(problem::condition(error, &remote.settings().project_key), Some(pause))
    }

    /// Asks the decision table. `wanted`: the desired values, unless they are not known or may not be sent.
    fn decide(&self, inputs: &Inputs, wanted: Option<&DesiredPayload>, now: Timestamp) -> Decision {
        let (target, latest) = (inputs.target.as_ref(), inputs.registered.latest());
        let intent = intent::intent(&self.object, &inputs.wanted, target, latest);
        let mut decision = decide::decide(&Input {
            persisted: &self.persisted(),
            intent: &Intent { deletion: self.deletion(), ..intent },
            wanted,
            observation: &inputs.observation,
            transient: &self.cache.transient,
            digests: &self.digests(),
            observed_at: inputs.read.at,
            now,
        });
        if let Some(urls) = &inputs.urls {
            decision.persisted.urls.clone_from(urls);
        }
        decision
    }

    /// Rule 4: whether the decision may be carried out. A create, and taking over what exists, are announced to the other
    /// resources first.
    fn claim(&self, decision: &Decision) -> ClaimStatus {
        let before = kind::claim(&self.object);
        let creates = matches!(&decision.step, Step::Send(call) if call.kind == CallKind::Create);
        let gets = decision.persisted.id.is_some() && decision.persisted.id != before.id;
        let create = decision.persisted.operation.as_ref().filter(|operation| operation.kind == OperationType::Create);
        // What a create of its own has left is not taken over.
        let takes_over = create.is_none() && !(before.operation && self.is_deleting());
        let remote = self.identity.as_ref().map(|identity| &identity.remote).filter(|_| creates || gets);
        self.context.claim(&*self.object, remote.map(|remote| Begin { remote, takes_over }))
    }

    /// Returns the objects that enqueue this resource.
    fn references(&self) -> BTreeSet<Reference> {
        let spec = &self.object.spec;
        let mut named = BTreeSet::from([Referenced::project(&spec.project_ref)]);
        if spec.management_policy == ManagementPolicy::Full {
            named.extend(value_from::references(spec));
            named.extend(spec.outputs.iter().map(|outputs| (Referenced::ConfigMap, outputs.config_map.name.clone())));
        }
        named.extend(
            spec.connector
                .staged_ref
                .iter()
                .map(|reference| (Referenced::Object(Kind::Staged), reference.name.clone())),
        );
        named
    }

    /// Returns a reference to the project that the resource names.
    fn project(&self) -> ObjectRef {
        ObjectRef::of_project(&self.object_ref.namespace, &self.object.spec.project_ref)
    }

    /// Whether the resource owns a record, or may own one, which only the finalizer protects. The annotation outlives a
    /// status that was lost with a restored backup.
    fn has_begun(&self) -> bool {
        let claim = kind::claim(&self.object);
        claim.id.is_some() || claim.operation || self.object.annotations().contains_key(names::REMOTE_ID)
    }

    fn is_deleting(&self) -> bool {
        reconcile::is_deleting(&*self.object)
    }

    fn generation(&self) -> i64 {
        self.object.metadata.generation.unwrap_or_default()
    }

    fn interval(&self) -> Duration {
        self.object.spec.effective_interval()
    }

    fn status(&self) -> ConnectorDeploymentStatus {
        self.object.status.clone().unwrap_or_default()
    }

    /// What the status has, and what an accepted call led to if that could not be stored.
    fn persisted(&self) -> PersistedState {
        // What cannot be read has ended the reconcile before.
        let stored = self.object.status.as_ref().map(state::shown).unwrap_or_default();
        let planned = stored.operation.as_ref().filter(|operation| operation.state == OperationState::Planned);
        match (&self.cache.unstored, planned) {
            (Some((started_at, led_to)), Some(operation)) if *started_at == operation.started_at => led_to.clone(),
            _ => stored,
        }
    }

    /// What a pause of the backoff is for; a change ends it.
    fn asked_for(&self) -> Asked {
        let request = if self.is_deleting() { names::RECONCILE_REQUESTED_AT } else { names::REDEPLOY_REQUESTED_AT };
        (self.generation(), reconcile::request(&*self.object, request))
    }

    /// Pauses the calls of this resource, longer with each failure; returns for how long.
    fn pause(&mut self, remote: &Remote, error: &ApiError) -> Duration {
        let (asked, now) = (self.asked_for(), self.context.clock.now());
        // No reconcile uses what is observed during the pause; the one that follows sets the rate again.
        if let Some(id) = self.persisted().id {
            remote.poll(self.object_ref, &id, PollRate::Settled(self.interval()));
        }
        self.cache.backoff.failed(asked, error, now)
    }

    /// What other credentials were refused may be sent again.
    fn note_login(&mut self, login: Login) {
        if self.cache.login.replace(login).is_some_and(|before| before != login) {
            self.cache.refusal = None;
            self.cache.transient.refused = None;
        }
    }

    /// Notes a new reconcile request, which an observation that begins from now on serves (rule 11).
    fn note_request(&mut self) {
        let handled = self.object.status.as_ref().and_then(|status| status.handled_reconcile_request.as_ref());
        let request = reconcile::request(&*self.object, names::RECONCILE_REQUESTED_AT);
        let request = request.filter(|request| handled != Some(request));
        let known = self.cache.reconcile_request.take().filter(|(asked, _)| Some(asked) == request.as_ref());
        self.cache.reconcile_request = known.or_else(|| request.map(|request| (request, self.context.clock.now())));
    }
}
