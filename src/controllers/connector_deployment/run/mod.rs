//! One run: the story in [`Run::story`]; its steps are told by the files beside this one, in this order: `prepare`,
//! `registered`, `permitted`, `known`, `claim`, `carry_out`, `say`, `log`.

mod carry_out;
mod claim;
mod known;
mod log;
mod permitted;
mod prepare;
mod registered;
mod say;
mod verify;

use std::sync::Arc;
use std::time::Duration;

use connect_api::mask::Masker;
use kube::ResourceExt;
use kube::api::Api;

use self::registered::Obstacle;
use super::decide::{self, Case, Intent, Memory, Step, Wanted};
use super::desired::{Declared, Desired};
use super::intent::{self, Target};
use super::ledger::Ledger;
use super::memory::Remembered;
use super::observe::{self};
use super::registered::Registered;
use super::status::WantedIdentity;
use super::stored;
use crate::controllers::conditions::{self, Told};
use crate::controllers::context::Context;
use crate::controllers::keys::Standing;
use crate::controllers::object::{self, Next};
use crate::controllers::problem;
use crate::controllers::reason::Reason;
use crate::controllers::refusal;
use crate::controllers::remote::{NotNow, Remote};
use crate::controllers::subject::Subject;
use crate::crd::ConnectorDeployment;
use crate::crd::connector_deployment_status::ConnectorDeploymentStatus;

/// Pause before a project that is missing or cannot be read is looked for again; its appearance wakes us earlier.
const PROJECT_AGAIN: Duration = Duration::from_mins(1);

/// One run for one resource.
pub(super) struct Run<'a> {
    context: &'a Context,
    subject: &'a Subject,
    api: Api<ConnectorDeployment>,
    object: Arc<ConnectorDeployment>,
    remembered: Remembered,
    /// What this run found of what `spec.verify` names; `None`: it has not looked.
    verified: Option<Told>,
}

/// What a run has learned before it decides.
struct Known {
    wanted: WantedIdentity,
    /// What the registry says of the connector.
    registered: Registered,
    desired: Result<Desired, Told>,
    payload: Option<Wanted>,
    masker: Masker,
    target: Option<Target>,
    /// What the version declares that runs, or that a move leads to which is due by itself; `None`: not known.
    declared: Option<Declared>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        context: &'a Context,
        subject: &'a Subject,
        object: Arc<ConnectorDeployment>,
        remembered: Remembered,
    ) -> Self {
        let api = Api::namespaced(context.client.clone(), &subject.namespace);
        Self { context, subject, api, object, remembered, verified: None }
    }

    pub(super) fn into_remembered(self) -> Remembered {
        self.remembered
    }

    /// The reason of the Ready condition, as far as this run knows.
    pub(super) fn reason(&self) -> Option<Reason> {
        let status = self.object.status.as_ref()?;
        conditions::ready_reason(&status.conditions).and_then(Reason::parse)
    }

    /// The whole run. Deleting is the same story with another end.
    pub(super) async fn story(&mut self) -> Result<Next, kube::Error> {
        self.note_references();
        if self.may_go_at_once() {
            return self.release(None).await;
        }
        // Rule 4, before anything is held or asked for.
        match self.context.keys.standing(&*self.object) {
            Standing::First => {}
            standing => return self.step_aside(standing).await,
        }
        if let Err(error) = self.hold().await {
            return self.refused(refusal::FINALIZERS, error).await;
        }
        let project =
            match object::project(self.context, &self.subject.namespace, &self.object.spec.project_ref.name).await {
                Ok(project) => project,
                Err(Some(told)) => return self.halt(None, told, Some(PROJECT_AGAIN)).await,
                Err(None) => return Ok(Next::Again(Some(Duration::from_secs(5)))),
            };
        let wanted = intent::wanted_identity(&self.object, &project);
        if let Some(told) = intent::unfit(&self.object, &wanted) {
            return self.halt(Some(wanted), told, Some(self.object.spec.effective_interval())).await;
        }
        let target = match self.target().await {
            Ok(target) => target,
            Err(Some(told)) => {
                return self.halt(Some(wanted), told, Some(self.object.spec.effective_interval())).await;
            }
            Err(None) => return Ok(Next::Again(Some(Duration::from_secs(5)))),
        };
        let remote = match &project.remote {
            Ok(remote) => Arc::clone(remote),
            Err(told) => return self.without_remote(wanted, problem::of_project(told)).await,
        };
        if let Some(pause) = self.paused() {
            return Ok(Next::Again(Some(pause)));
        }
        let turn = match remote.enter(self.subject) {
            Ok(turn) => turn,
            Err(NotNow::Queued) => return Ok(Next::Again(None)),
            Err(NotNow::Closed(trouble)) => {
                let told = problem::told_of_trouble(&trouble, &wanted.remote.project_key);
                return self.without_remote(wanted, told).await;
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
        let ledger = self.ledger();
        self.note_login(remote.login());
        self.note_request();
        self.remembered.seen.meet(&ledger, self.context.clock.now());
        // Before the look, which can be used once.
        let Some(registered) = self.registered(remote, target.as_ref()) else { return Ok(Next::Again(None)) };
        let looked =
            observe::look(self.context, remote, &*api, self.subject, &wanted.key, &ledger, &self.remembered).await;
        let looked = match looked {
            Ok(Some(looked)) => looked,
            Ok(None) => return Ok(Next::Again(None)),
            Err(error) => return self.failed_look(wanted, &error).await,
        };
        self.remembered.last_look = Some(looked.at);
        let mut known = self.known(wanted, registered, &looked).await?;
        known.target.clone_from(&target);
        let look = observe::seen(&looked, &intent::ignored(&self.object));
        let intent = intent::intent(&self.object, &known.wanted, target.as_ref(), known.registered.latest());
        let intent = Intent { deletion: self.deletion(), ..intent };
        let now = self.context.clock.now();
        let decide = |memory: &Memory, wanted: Option<&Wanted>| {
            decide::decide(&Case { ledger: &ledger, intent: &intent, wanted, look: &look, memory, now })
        };
        let mut decision = decide(&self.remembered.seen, known.payload.as_ref());
        match self.obstacle(remote, &known, target.as_ref(), &looked, &decision) {
            Obstacle::None => {}
            Obstacle::Doubt => return Ok(Next::Again(None)),
            // What may not be sent is as good as unknown.
            Obstacle::Told(told) => {
                decision = decide(&self.remembered.seen, None);
                if matches!(decision.step, Step::Send(_)) {
                    return self.withhold(remote, &known, &looked, &decision, told).await;
                }
                known.desired = Err(told);
            }
        }
        // Rule 4 once more, in one step with saying so: somebody else may have begun since, or come.
        match self.begin(remote, &known.wanted, &ledger, &decision) {
            Standing::First => {}
            standing => return self.step_aside(standing).await,
        }
        Box::pin(self.carry_out(remote, &*api, known, looked, &look, decision)).await
    }

    fn status(&self) -> ConnectorDeploymentStatus {
        self.object.status.clone().unwrap_or_default()
    }

    fn ledger(&self) -> Ledger {
        stored::ledger(&self.status())
    }

    /// From here on this is the resource.
    fn wrote(&mut self, object: ConnectorDeployment) {
        self.remembered.written = object.resource_version();
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
