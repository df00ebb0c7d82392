//! One run: the story in [`Run::story`]; `carry_out` does what was decided, `say` tells people.

mod carry_out;
mod say;

use std::sync::Arc;
use std::time::Duration;

use connect_api::model::ConnectorStaged as Record;
use connect_api::scopes::Right;
use kube::ResourceExt;
use kube::api::Api;

use super::act::Apis;
use super::decide::{self, CallKind, Case, Decision, Deletion, Memory, Step, Verdict};
use super::ledger::Ledger;
use super::memory::Remembered;
use super::status::Sight;
use super::{intent, observe, proof, stored};
use crate::controllers::backoff::Asked;
use crate::controllers::conditions;
use crate::controllers::context::Context;
use crate::controllers::keys::{Beginning, Place, Standing};
use crate::controllers::object::{self, Next, request};
use crate::controllers::problem;
use crate::controllers::reason::Reason;
use crate::controllers::references::Named;
use crate::controllers::refusal;
use crate::controllers::remote::{Login, NotNow, Remote};
use crate::controllers::subject::{Kind, Subject};
use crate::crd::shared::RemoteIdentity;
use crate::crd::{ConnectorStaged, ConnectorStagedStatus};
use crate::names;

/// Pause before a project that is missing or cannot be read is looked for again; its appearance wakes us earlier.
const PROJECT_AGAIN: Duration = Duration::from_mins(1);

/// One run for one resource.
pub(super) struct Run<'a> {
    context: &'a Context,
    subject: &'a Subject,
    api: Api<ConnectorStaged>,
    object: Arc<ConnectorStaged>,
    remembered: Remembered,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        context: &'a Context,
        subject: &'a Subject,
        object: Arc<ConnectorStaged>,
        remembered: Remembered,
    ) -> Self {
        let api = Api::namespaced(context.client.clone(), &subject.namespace);
        Self { context, subject, api, object, remembered }
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
        // Whoever waited for a proof goes on to be woken by it until this run knows better.
        self.note_references(!self.context.references.uses(self.subject, Named::Deployment).is_empty());
        if self.may_go_at_once() {
            return self.release(None).await;
        }
        // Rule 4, before anything is held or asked for.
        match self.context.keys.standing(&*self.object) {
            Standing::First => {}
            standing => return self.step_aside(standing).await,
        }
        if !object::is_held(&*self.object) {
            match object::hold(&self.api, &*self.object).await {
                Ok(object) => self.wrote(object),
                Err(error) => return self.refused(refusal::FINALIZERS, error).await,
            }
        }
        let project = &self.object.spec.project_ref.name;
        let project = match object::project(self.context, &self.subject.namespace, project).await {
            Ok(project) => project,
            Err(Some(told)) => return self.halt(None, told, Some(PROJECT_AGAIN)).await,
            Err(None) => return Ok(Next::Again(Some(Duration::from_secs(5)))),
        };
        let identity = project.identity.clone();
        if let Some(told) = intent::unfit(&self.object, &identity) {
            return self.halt(Some(identity), told, Some(self.object.spec.effective_interval())).await;
        }
        let remote = match &project.remote {
            Ok(remote) => Arc::clone(remote),
            Err(told) => return self.without_remote(identity, problem::of_project(told)).await,
        };
        let asked = self.asked_for();
        if let Some(pause) = self.remembered.backoff.left(&asked, self.context.clock.now()) {
            return Ok(Next::Again(Some(pause)));
        }
        let turn = match remote.enter(self.subject) {
            Ok(turn) => turn,
            Err(NotNow::Queued) => return Ok(Next::Again(None)),
            Err(NotNow::Closed(trouble)) => {
                let told = problem::told_of_trouble(&trouble, &identity.project_key);
                return self.without_remote(identity, told).await;
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
        let ledger = self.ledger();
        let now = self.context.clock.now();
        let record = match observe::look(apis.reads, &self.object.spec.key, &ledger).await {
            Ok(record) => record,
            Err(error) => {
                let asked = self.asked_for();
                let pause = self.remembered.backoff.failed(asked, &error, self.context.clock.now());
                let told = problem::told(&error, &identity.project_key);
                self.without_remote(identity, told).await?;
                return Ok(Next::Again(Some(pause)));
            }
        };
        let mut intent = intent::intent(&self.object);
        let look = observe::seen(&self.object.spec, record.as_ref());
        let memory = &self.remembered.seen;
        let mut decision = decide::decide(&Case { ledger: &ledger, intent: &intent, look: &look, memory, now });
        let mut waits = Vec::new();
        // Before it is read, so that no change is missed.
        self.note_references(decision.verdict == Verdict::AwaitingProof);
        if decision.verdict == Verdict::AwaitingProof {
            waits = self.unproven(&decision.ledger).await?;
            intent.proven = waits.is_empty();
            decision = decide::decide(&Case { ledger: &ledger, intent: &intent, look: &look, memory, now });
        }
        if matches!(decision.step, Step::Send(_)) {
            let missing = remote.lacking(self.subject, &[Right::ManageConnectors]);
            if !missing.is_empty() {
                return self.withhold(identity, record, &missing).await;
            }
        }
        // Rule 4 once more, in one step with saying so: somebody else may have begun since, or come.
        match self.begin(remote, &identity, &ledger, &decision) {
            Standing::First => {}
            standing => return self.step_aside(standing).await,
        }
        Box::pin(self.carry_out(apis, identity, record, decision, &waits)).await
    }

    /// Sends nothing: the token names its scopes, and lacks these rights. A token with other scopes wakes us.
    async fn withhold(
        &mut self,
        identity: RemoteIdentity,
        record: Option<Record>,
        missing: &[Right],
    ) -> Result<Next, kube::Error> {
        let ledger = self.ledger();
        let told = problem::unpermitted(missing, &identity.project_key);
        self.say(&identity, &ledger, told, record.as_ref().map_or(Sight::Nothing, Sight::Record)).await?;
        self.note_state(&ledger, record.as_ref());
        Ok(Next::Again(Some(self.object.spec.effective_interval())))
    }

    /// What publishing still waits for.
    async fn unproven(&self, ledger: &Ledger) -> Result<Vec<String>, kube::Error> {
        let spec = &self.object.spec;
        let Some(after) = &spec.publish_after else { return Ok(Vec::new()) };
        let objects = observe::proofs(&self.context.client, &self.subject.namespace, after).await?;
        let subject = proof::Subject {
            name: &self.subject.name,
            id: ledger.id.as_deref().unwrap_or_default(),
            tag: &spec.repository.tag,
            deployable: ledger.deployable.as_ref().map(|deployable| deployable.version),
        };
        Ok(proof::missing(after, &subject, &objects))
    }

    /// Remembers who is to wake us. `waits`: publishing waits for what has to be proven.
    fn note_references(&self, waits: bool) {
        let project = self.object.spec.project_ref.name.clone();
        let before = self.context.references.uses(self.subject, Named::Project);
        self.context.references.set(self.subject, observe::references(&self.object.spec, waits));
        if before != [project.clone()] {
            // A project that is being deleted waits for its users.
            for project in before.into_iter().chain([project]) {
                self.context.wake(Subject::project(&self.subject.namespace, &project));
            }
        }
    }

    /// Rules 22 and 23: what was never created, and what is to stay, needs no remote to go.
    fn may_go_at_once(&self) -> bool {
        let ledger = self.ledger();
        match intent::deletion(&self.object) {
            Some(Deletion::LetGo) => true,
            Some(Deletion::Delete) => {
                let known = self.object.annotations().contains_key(names::REMOTE_ID);
                ledger.id.is_none() && ledger.operation.is_none() && !known
            }
            None => false,
        }
    }

    /// Whether what was decided may be done: a create, and taking over what exists, are announced to the others first.
    fn begin(&self, remote: &Remote, identity: &RemoteIdentity, ledger: &Ledger, decision: &Decision) -> Standing {
        let creates = matches!(&decision.step, Step::Send(call) if call.kind == CallKind::Create);
        if !creates && decision.ledger.id == ledger.id {
            return Standing::First;
        }
        let place = Place { kind: Kind::Staged, remote: identity.clone(), key: self.object.spec.key.clone() };
        let taken_over = decision.ledger.id.as_deref().filter(|_| !creates && ledger.operation.is_none());
        let what = taken_over.map_or(Beginning::Create, Beginning::TakeOver);
        if remote.has_answered() {
            // Its project may not have run since, and would have to wake us.
            let project = Subject::project(&self.subject.namespace, &self.object.spec.project_ref.name);
            self.context.keys.admitted(&project, identity, true);
        }
        self.context.keys.begin(&*self.object, &place, what)
    }

    /// Leaves the key to who is before us. Whatever changes about that wakes us.
    async fn step_aside(&mut self, standing: Standing) -> Result<Next, kube::Error> {
        let winner = match standing {
            Standing::After(winner) => winner,
            Standing::Unlisted => return self.halt(None, problem::unlisted(&self.object.spec.key), None).await,
            Standing::First | Standing::Unknown => return Ok(Next::Again(None)),
        };
        self.remembered.seen = Memory::default();
        if intent::deletion(&self.object).is_some() {
            return self.release(None).await;
        }
        let told = problem::key_conflict("ConnectorStaged", &winner, &self.object.spec.key);
        self.halt(None, told, None).await
    }

    fn asked_for(&self) -> Asked {
        let generation = self.object.metadata.generation.unwrap_or_default();
        (generation, request(&*self.object, names::REDEPLOY_REQUESTED_AT))
    }

    /// What was refused with other credentials may be sent again.
    fn note_login(&mut self, login: Login) {
        if self.remembered.login.replace(login).is_some_and(|before| before != login) {
            self.remembered.refusal = None;
            self.remembered.seen.refused = None;
        }
    }

    /// A new reconcile request is served by the look of this run (rule 11).
    fn note_request(&mut self) {
        let asked = request(&*self.object, names::RECONCILE_REQUESTED_AT);
        self.remembered.asked = asked.filter(|asked| self.status().handled_reconcile_request.as_ref() != Some(asked));
    }

    fn status(&self) -> ConnectorStagedStatus {
        self.object.status.clone().unwrap_or_default()
    }

    fn ledger(&self) -> Ledger {
        stored::ledger(&self.status())
    }

    /// From here on this is the resource.
    fn wrote(&mut self, object: ConnectorStaged) {
        self.remembered.written = object.resource_version();
        self.context.keys.wrote(&object);
        self.object = Arc::new(object);
    }
}
