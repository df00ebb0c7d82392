//! Mirror of the registry: a `Connector` object for each connector that matches `spec.registry` of a project. The objects
//! are in the namespace of a `ConnectProject`, and those of a `ClusterConnectProject` in that of the operator.
//!
//! It runs beside the project's own controller, on the same store, so that reading thousands of connectors delays nothing
//! else. The registry is read at the interval; the objects follow it, and changes by other writers are corrected. No object is
//! removed because of a single read, or of an incomplete one. A failure is reported in a condition of its own and
//! leaves the project ready: deployments do not need the mirror. Next: `decide.rs` for what is written and removed,
//! `names.rs` for the names of the objects, `desired.rs` for their content.

mod act;
pub mod decide;
pub mod desired;
pub mod errors;
pub mod names;
mod observe;
mod project;
pub mod status;
mod wanted;

pub use observe::{project_of, version};
pub use project::reported_state;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use clock::{between, later};
use connect_api::ApiError;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::ResourceExt;
use kube::api::Api;
use kube::runtime::controller::Action;
use kube::runtime::events::EventType;

use self::act::Written;
use self::decide::{Kept, Plan};
use self::desired::{Desired, Owner, Print};
use self::errors::RequestError;
use self::observe::{LONGEST_READ, RegistryRead};
use crate::controllers::context::mirrors::MirrorReport;
use crate::controllers::context::mirrors::{Asked, Outcome, Trigger};
use crate::controllers::context::{Context, Project};
use crate::controllers::kinds::managed_kind;
use crate::controllers::kinds::project_object::ProjectObject;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::queue::backoff;
use crate::controllers::reconcile;
use crate::controllers::reconcile::foreign_leases;
use crate::controllers::remote::Remote;
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::event_reason::EventReason;
use crate::controllers::reporting::problem;
use crate::controllers::reporting::reason::{ConditionState, Reason};
use crate::controllers::reporting::reconcile_outcome::ReconcileOutcome;
use crate::controllers::reporting::refusal;
use crate::crd::Connector;
use crate::error_text::with_causes;
use crate::names::RECONCILE_REQUESTED_AT;

/// Objects that are written concurrently.
const WRITES_AT_ONCE: usize = 4;
/// Objects that get an Event of their own in one read; an Event of the project counts the others.
const EVENTS: usize = 20;

/// Reconciles one mirror; returns the next action and the outcome. Never fails: errors are reported on the project, or
/// retried.
pub async fn reconcile<P: ProjectObject>(object: Arc<P>, context: Arc<Context>) -> (Action, ReconcileOutcome) {
    let object_ref = ObjectRef::mirror_of(&managed_kind::object_ref(&*object));
    let run = Reconciler {
        projects: P::api(context.client.clone(), &object_ref.namespace),
        objects: objects(&context, &*object),
        owner: project::owner(&*object),
        object,
        context: &context,
        object_ref: &object_ref,
    };
    let manages = foreign_leases::is_managed(&context, &object_ref, &*run.object);
    let ended = if manages { run.reconcile().await } else { run.leave().await };
    match ended {
        Ok(again) => {
            context.requeue_timers.set(&object_ref, again);
            if !manages {
                return (Action::await_change(), ReconcileOutcome::Gone);
            }
            let reason = match context.mirrors.outcome(&object_ref) {
                Some(Outcome::MirrorReport(report)) => Some(report.condition.reason),
                Some(Outcome::Cleared) | None => None,
            };
            (Action::await_change(), ReconcileOutcome::Reported(reason))
        }
        Err(error) => {
            let outcome = ReconcileOutcome::refused(&error.error);
            context.requeue_timers.set(&object_ref, Some(run.refused_by_cluster(error, outcome)));
            (Action::await_change(), outcome)
        }
    }
}

/// Removes everything in memory about the mirror of a deleted project.
pub fn gone(context: &Context, object_ref: &ObjectRef) {
    context.requeue_timers.set(object_ref, None);
    context.mirrors.forget(object_ref);
}

/// Removes the objects of a project that is about to be deleted, for clusters without garbage collection, such as one
/// without a controller manager. If the operator may not see them, they do not block the deletion.
///
/// # Errors
/// Those of the API server.
pub async fn clear<P: ProjectObject>(context: &Context, project: &P) -> Result<(), kube::Error> {
    if !project::may_have_objects(project) {
        return Ok(());
    }
    match act::remove_all(&objects(context, project), &project::owner(project)).await.map_err(|refused| refused.error) {
        Err(error) if refusal::cannot_be_seen(&error) => Ok(()),
        answer => answer,
    }
}

/// Records that the mirror has stopped for a reason other than the registry, and enqueues its project, which reports
/// it.
pub(super) fn stopped(context: &Context, object_ref: &ObjectRef, condition: ConditionUpdate) {
    if context.mirrors.stopped(object_ref, MirrorReport::stopped(condition)) {
        context.enqueue(object_ref.object());
    }
}

/// Returns the API for the objects of a project.
fn objects<P: ProjectObject>(context: &Context, project: &P) -> Api<Connector> {
    Api::namespaced(context.client.clone(), &project.own_namespace(context.copies.namespace()))
}

struct Reconciler<'a, P> {
    projects: Api<P>,
    objects: Api<Connector>,
    owner: Owner,
    object: Arc<P>,
    context: &'a Context,
    object_ref: &'a ObjectRef,
}

impl<P: ProjectObject> Reconciler<'_, P> {
    /// Returns when to reconcile again.
    async fn reconcile(&self) -> Result<Option<Duration>, RequestError> {
        let mirrors = &self.context.mirrors;
        if reconcile::is_deleting(&*self.object) {
            // The project's own controller removes the objects.
            mirrors.forget(self.object_ref);
            return Ok(None);
        }
        let Some(filter) = self.object.project().registry.clone() else { return self.clear().await };
        // The project's controller enqueues the mirror once the project is known.
        let Some(Project { remote, login, .. }) = self.context.projects.get(&self.object_ref.object()) else {
            return Ok(None);
        };
        let remote = match remote {
            Ok(remote) => remote,
            Err(condition) => {
                let message = format!("The {} cannot be used: {}", P::kind(&()), condition.message);
                stopped(self.context, self.object_ref, ConditionUpdate::new(Reason::ProjectNotReady, message));
                return Ok(None);
            }
        };
        let requested = reconcile::request(&*self.object, RECONCILE_REQUESTED_AT);
        let asked = Asked { filter, login, requested };
        let now = self.context.clock.now();
        let cause = mirrors.cause(self.object_ref, &asked, now);
        if let Trigger::Rest(pause) = cause {
            return Ok(pause);
        }
        // The status first announces that there may be objects, so that they are found again whatever happens.
        if !self.is_wanted(&asked).await? {
            return Ok(None);
        }
        mirrors.begin(self.object_ref, cause, now);
        let (kept, versions) = observe::objects(&self.objects, &self.owner).await?;
        let known = mirrors.listed(self.object_ref, versions);
        if cause == Trigger::Check && known.iter().eq(kept.keys()) && kept.values().all(|kept| kept.print.intact) {
            return Ok(self.rest(&asked));
        }
        self.follow(asked, &remote, kept, &known).await
    }

    fn rest(&self, asked: &Asked) -> Option<Duration> {
        match self.context.mirrors.cause(self.object_ref, asked, self.context.clock.now()) {
            Trigger::Rest(pause) => pause,
            Trigger::Read | Trigger::Check => Some(Duration::ZERO),
        }
    }

    /// Reads the registry until nothing is left to write, and every connector that the first read lacked was looked for in
    /// another one. What only a later read lacks waits for the interval: a registry that changes would be read for ever.
    /// Begins no third read after [`LONGEST_READ`]: the reads hold the slot for twice as long at most.
    async fn follow(
        &self,
        asked: Asked,
        remote: &Arc<Remote>,
        mut kept: BTreeMap<String, Kept>,
        known: &BTreeSet<String>,
    ) -> Result<Option<Duration>, RequestError> {
        self.context.mirrors.reading(self.object_ref);
        let most = usize::try_from(asked.filter.effective_max_objects()).unwrap_or(usize::MAX);
        let (api, began) = (remote.api(), self.context.clock.now());
        let mut absent_before: Option<BTreeSet<String>> = None;
        let mut needed = BTreeSet::new();
        let mut is_first = true;
        loop {
            let clock = &self.context.clock;
            let looked = observe::look(&api, clock, &asked.filter, &self.owner, &kept, &needed).await;
            let look = match looked {
                Ok(look) => look,
                Err(error) => return Ok(Some(self.failed(asked, &error, &remote.settings().project_key))),
            };
            // What the last read lacked is not needed any more if this one has nothing to write.
            needed.clear();
            let plan = decide::decide(&self.owner.project, &kept, &look.seen, look.extent.whole, most);
            let gone: Vec<String> =
                absent_before.iter().flatten().filter(|name| plan.absent.contains(*name)).cloned().collect();
            if !(plan.write.is_empty() && gone.is_empty()) {
                if !self.is_wanted(&asked).await? {
                    return Ok(None);
                }
                needed = self.write(&plan, &look, &mut kept, known).await?;
                self.remove(&gone, &mut kept).await?;
                if !self.is_wanted(&asked).await? {
                    return self.abandon().await;
                }
            }
            let doubtful = absent_before.is_none() && !plan.absent.is_empty();
            if needed.is_empty() && !doubtful {
                let report = status::looked(look.extent, look.seen.len(), kept.len(), most);
                return Ok(Some(self.done(asked, report)));
            }
            // The rest follows in another reconcile, so that the slot is free for others meanwhile.
            if !std::mem::take(&mut is_first) && between(began, self.context.clock.now()) > LONGEST_READ {
                return Ok(Some(Duration::ZERO));
            }
            absent_before = look.extent.whole.then_some(plan.absent);
        }
    }

    /// Writes what is planned; returns the ids of connectors whose records were not kept, which need another read.
    async fn write(
        &self,
        plan: &Plan,
        look: &RegistryRead,
        kept: &mut BTreeMap<String, Kept>,
        known: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, RequestError> {
        let mut needed = BTreeSet::new();
        let mut ready: Vec<(&String, &Desired)> = Vec::new();
        for (name, at) in &plan.write {
            match look.records.get(at) {
                Some(desired) => ready.push((name, desired)),
                None => drop(needed.insert(look.seen[*at].identity.id.clone())),
            }
        }
        // Collected first: a closure that lives across an await would make the future not `Send`.
        let writes: Vec<_> =
            ready.into_iter().map(|(name, desired)| self.write_one(name, desired, kept.contains_key(name))).collect();
        let mut writes = stream::iter(writes).buffer_unordered(WRITES_AT_ONCE);
        let (mut undone, mut more) = (0, 0);
        while let Some((name, desired, written)) = writes.try_next().await? {
            let print = Print { digest: desired.digest.clone(), intact: true, changed_by_others: false };
            kept.insert(name.clone(), Kept { id: desired.identity.id.clone(), print });
            let Some(Written { object, made, changed_by_others }) = written else { continue };
            let what = match (changed_by_others, made && known.contains(name)) {
                (true, _) => "changed",
                (_, true) => "deleted",
                _ => continue,
            };
            if undone < EVENTS {
                undone += 1;
                self.report_undone(&object, what);
            } else {
                more += 1;
            }
        }
        if more > 0 {
            let note = format!(
                "{more} more Connector objects were changed or deleted by hand, and were restored from the registry"
            );
            self.context.report(&*self.object, EventType::Warning, EventReason::ChangedByHand, "Mirror", &note);
        }
        Ok(needed)
    }

    async fn write_one<'w>(
        &self,
        name: &'w String,
        desired: &'w Desired,
        there: bool,
    ) -> Result<(&'w String, &'w Desired, Option<Written>), RequestError> {
        let written = act::write(&self.objects, name, desired, &self.context.labels, there).await?;
        if let Some(Written { object, .. }) = &written {
            self.context.mirrors.wrote(self.object_ref, name, version(object.resource_version().as_deref()));
        }
        Ok((name, desired, written))
    }

    async fn remove_one<'r>(&self, name: &'r String) -> Result<&'r String, RequestError> {
        self.context.mirrors.removing(self.object_ref, name);
        act::remove(&self.objects, name).await.map(|()| name)
    }

    fn report_undone(&self, object: &Connector, what: &str) {
        let note = format!(
            "This Connector was {what} by hand, and the operator has restored it from the registry. spec.registry \
             of {} {} selects what is mirrored",
            P::kind(&()),
            self.owner.project.name
        );
        self.context.report(object, EventType::Warning, EventReason::ChangedByHand, "Mirror", &note);
    }

    async fn remove(&self, gone: &[String], kept: &mut BTreeMap<String, Kept>) -> Result<(), RequestError> {
        let removed: Vec<_> = gone.iter().map(|name| self.remove_one(name)).collect();
        let mut removed = stream::iter(removed).buffer_unordered(WRITES_AT_ONCE);
        while let Some(name) = removed.try_next().await? {
            kept.remove(name);
        }
        Ok(())
    }

    fn done(&self, asked: Asked, report: MirrorReport) -> Duration {
        let pause = self.spread(asked.filter.effective_interval());
        let next = later(self.context.clock.now(), pause);
        let is_shown = project::reports(&*self.object, &report);
        self.enqueue_project(self.context.mirrors.done(self.object_ref, asked, report, next) || !is_shown);
        pause
    }

    /// Schedules the next read after a failure: at the interval if a user has to act, otherwise sooner, with
    /// exponential backoff.
    fn failed(&self, asked: Asked, error: &ApiError, project: &str) -> Duration {
        let condition = problem::condition(error, project);
        tracing::warn!(%error, "the registry cannot be read");
        let interval = asked.filter.effective_interval();
        let pause = match condition.reason.state() {
            ConditionState::Stalled => interval,
            _ => backoff::pause(self.context.mirrors.failures(self.object_ref) + 1).min(interval),
        };
        let pause = self.spread(pause).max(error.retry_after.unwrap_or_default());
        let next = later(self.context.clock.now(), pause);
        let report = MirrorReport::stopped(condition);
        let is_shown = project::reports(&*self.object, &report);
        self.enqueue_project(self.context.mirrors.failed(self.object_ref, asked, report, next) || !is_shown);
        pause
    }

    /// Reports an error of the API server, unless it passes by itself; returns when to try again. The pauses grow, because
    /// each attempt may read the whole registry.
    fn refused_by_cluster(&self, error: RequestError, outcome: ReconcileOutcome) -> Duration {
        let refusals = self.context.mirrors.refused(self.object_ref);
        if outcome == ReconcileOutcome::Conflict {
            tracing::debug!("an object was changed meanwhile, reconciling again");
        } else {
            tracing::warn!(error = with_causes(&error.error), "a request to the API server failed");
        }
        if let Some(condition) = error.condition() {
            stopped(self.context, self.object_ref, condition);
        }
        backoff::pause(refusals)
    }

    /// Enqueues the project, which reports the outcome, if it is new.
    fn enqueue_project(&self, is_new: bool) {
        if is_new {
            self.context.enqueue(self.object_ref.object());
        }
    }

    /// Returns the pause plus up to a tenth, always the same for one project, so that mirrors that began together
    /// spread out.
    fn spread(&self, pause: Duration) -> Duration {
        let chance = self.owner.uid.bytes().fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
        pause.saturating_add(pause.mul_f64(f64::from(chance) / 2_560.0))
    }
}
