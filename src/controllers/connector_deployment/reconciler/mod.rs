//! One run: the story in [`Reconciler::reconcile`]; its steps are told by the files beside this one, in this order: `prepare`,
//! `registered`, `permitted`, `inputs`, `claim`, `execute`, `patch_status`, `log`.

mod claim;
mod execute;
mod inputs;
mod log;
mod permitted;
mod prepare;
mod registered;
mod report;
mod verify;

use std::sync::Arc;
use std::time::Duration;

use connect_api::mask::Masker;
use kube::ResourceExt;
use kube::api::Api;

use self::registered::Obstacle;
use super::cache::LocalCache;
use super::decide::{self, Input, Intent, Step, TransientState, Wanted};
use super::desired::{Declared, Desired};
use super::intent::{self, Target};
use super::observe::{self};
use super::persisted::PersistedState;
use super::registered::Registered;
use super::status::WantedIdentity;
use super::status_conversion;
use crate::controllers::conditions::{self, ConditionUpdate};
use crate::controllers::context::Context;
use crate::controllers::keys::ClaimStatus;
use crate::controllers::object::{self, Next};
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::problem;
use crate::controllers::reason::Reason;
use crate::controllers::refusal;
use crate::controllers::remote::{NotAdmitted, Remote};
use crate::crd::ConnectorDeployment;
use crate::crd::connector_deployment_status::ConnectorDeploymentStatus;

/// Pause before a project that is missing or cannot be read is looked for again; its appearance wakes us earlier.
const PROJECT_AGAIN: Duration = Duration::from_mins(1);

/// One run for one resource.
pub(super) struct Reconciler<'a> {
    context: &'a Context,
    object_ref: &'a ObjectRef,
    api: Api<ConnectorDeployment>,
    object: Arc<ConnectorDeployment>,
    cache: LocalCache,
    /// What this run found of what `spec.verify` names; `None`: it has not looked.
    verified: Option<ConditionUpdate>,
}

/// What a run has learned before it decides.
struct Inputs {
    wanted: WantedIdentity,
    /// What the registry says of the connector.
    registered: Registered,
    desired: Result<Desired, ConditionUpdate>,
    payload: Option<Wanted>,
    masker: Masker,
    target: Option<Target>,
    /// What the version declares that runs, or that a move leads to which is due by itself; `None`: not known.
    declared: Option<Declared>,
}

impl<'a> Reconciler<'a> {
    pub(super) fn new(
        context: &'a Context,
        object_ref: &'a ObjectRef,
        object: Arc<ConnectorDeployment>,
        cache: LocalCache,
    ) -> Self {
        let api = Api::namespaced(context.client.clone(), &object_ref.namespace);
        Self { context, object_ref, api, object, cache, verified: None }
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
        self.note_references();
        if self.may_go_at_once() {
            return self.remove_finalizer(None).await;
        }
        // Rule 4, before anything is held or asked for.
        match self.context.keys.claim_status(&*self.object) {
            ClaimStatus::Owner => {}
            claim_status => return self.report_key_conflict(claim_status).await,
        }
        if let Err(error) = self.add_finalizer().await {
            return self.report_kubernetes_error(refusal::FINALIZERS, error).await;
        }
        let project =
            match object::project(self.context, &self.object_ref.namespace, &self.object.spec.project_ref.name).await {
                Ok(project) => project,
                Err(Some(condition)) => return self.report_and_wait(None, condition, Some(PROJECT_AGAIN)).await,
                Err(None) => return Ok(Next::Again(Some(Duration::from_secs(5)))),
            };
        let wanted = intent::wanted_identity(&self.object, &project);
        if let Some(condition) = intent::unfit(&self.object, &wanted) {
            return self.report_and_wait(Some(wanted), condition, Some(self.object.spec.effective_interval())).await;
        }
        let target = match self.target().await {
            Ok(target) => target,
            Err(Some(condition)) => {
                return self
                    .report_and_wait(Some(wanted), condition, Some(self.object.spec.effective_interval()))
                    .await;
            }
            Err(None) => return Ok(Next::Again(Some(Duration::from_secs(5)))),
        };
        let remote = match &project.remote {
            Ok(remote) => Arc::clone(remote),
            Err(condition) => return self.report_outage(wanted, problem::of_project(condition)).await,
        };
        if let Some(pause) = self.paused() {
            return Ok(Next::Again(Some(pause)));
        }
        let turn = match remote.enter(self.object_ref) {
            Ok(turn) => turn,
            Err(NotAdmitted::Queued) => return Ok(Next::Again(None)),
            Err(NotAdmitted::CircuitOpen(outage)) => {
                let condition = problem::condition_of_outage(&outage, &wanted.remote.project_key);
                return self.report_outage(wanted, condition).await;
            }
        };
        // In a box of its own: most runs end before they need its room.
        let next = Box::pin(self.with_remote(&remote, wanted, target)).await;
        drop(turn);
        next
    }

    /// Everything after the remote let us in.
    async fn with_remote(
        &mut self,
        remote: &Arc<Remote>,
        wanted: WantedIdentity,
        target: Option<Target>,
    ) -> Result<Next, kube::Error> {
        let api = remote.api();
        let persisted = self.persisted();
        self.note_login(remote.login());
        self.note_request();
        self.cache.seen.meet(&persisted, self.context.clock.now());
        // Before the look, which can be used once.
        let Some(registered) = self.registered(remote, target.as_ref()) else { return Ok(Next::Again(None)) };
        let read =
            observe::read_remote(self.context, remote, &*api, self.object_ref, &wanted.key, &persisted, &self.cache)
                .await;
        let read = match read {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(Next::Again(None)),
            Err(error) => return self.failed_read(wanted, &error).await,
        };
        self.cache.last_look = Some(read.at);
        let mut inputs = self.inputs(wanted, registered, &read).await?;
        inputs.target.clone_from(&target);
        let observation = observe::observation(&read, &intent::ignored(&self.object));
        let intent = intent::intent(&self.object, &inputs.wanted, target.as_ref(), inputs.registered.latest());
        let intent = Intent { deletion: self.deletion(), ..intent };
        let now = self.context.clock.now();
        let decide = |transient: &TransientState, wanted: Option<&Wanted>| {
            decide::decide(&Input {
                persisted: &persisted,
                intent: &intent,
                wanted,
                observation: &observation,
                transient,
                now,
            })
        };
        let mut decision = decide(&self.cache.seen, inputs.payload.as_ref());
        match self.obstacle(remote, &inputs, target.as_ref(), &read, &decision) {
            Obstacle::None => {}
            Obstacle::Doubt => return Ok(Next::Again(None)),
            // What may not be sent is as good as unknown.
            Obstacle::ConditionUpdate(condition) => {
                decision = decide(&self.cache.seen, None);
                if matches!(decision.step, Step::Send(_)) {
                    return self.withhold(remote, &inputs, &read, &decision, condition).await;
                }
                inputs.desired = Err(condition);
            }
        }
        // Rule 4 once more, in one step with saying so: somebody else may have begun since, or come.
        match self.begin(remote, &inputs.wanted, &persisted, &decision) {
            ClaimStatus::Owner => {}
            claim_status => return self.report_key_conflict(claim_status).await,
        }
        Box::pin(self.execute(remote, &*api, inputs, read, &observation, decision)).await
    }

    fn status(&self) -> ConnectorDeploymentStatus {
        self.object.status.clone().unwrap_or_default()
    }

    fn persisted(&self) -> PersistedState {
        status_conversion::persisted(&self.status())
    }

    /// From here on this is the resource.
    fn wrote(&mut self, object: ConnectorDeployment) {
        self.cache.written = object.resource_version();
        self.context.keys.wrote(&object);
        self.object = Arc::new(object);
    }
}

/// Whether values come from whole objects, so that the connector's declarations count.
fn names_whole_objects(spec: &crate::crd::ConnectorDeploymentSpec) -> bool {
    let all = spec.configurations.iter().map(|application| &application.values).chain(&spec.global_configuration);
    all.into_iter()
        .any(|values| !values.standard_configuration_from.is_empty() || !values.secured_configuration_from.is_empty())
}
