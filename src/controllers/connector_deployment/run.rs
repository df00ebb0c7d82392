//! One run: the story in [`Run::story`], its steps below it in the order in which they are told.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::Api;
use kube::runtime::events::EventType;
use secrecy::ExposeSecret;

use super::act::{self, Done};
use super::decide::{self, Call, CallKind, Case, Decision, Deletion, Outcome, Step, Verdict, Wanted};
use super::desired::{self, Desired};
use super::ledger::{Ledger, Look, OperationKind, OperationState, Payload};
use super::memory::Remembered;
use super::observe::{self, Looked, Registered};
use super::status::{self, Facts, Texts, WantedIdentity};
use super::{Next, intent, logs, outputs, stored};
use crate::connect::mask::Masker;
use crate::connect::model::Deployment;
use crate::connect::{ApiError, ConnectApi};
use crate::controllers::conditions::{self, Told};
use crate::controllers::context::{Context, Project};
use crate::controllers::digest::VisibleDigest;
use crate::controllers::patch::write_status;
use crate::controllers::problem;
use crate::controllers::reason::Reason;
use crate::controllers::references::Named;
use crate::controllers::remote::{NotNow, Pace, Remote};
use crate::controllers::subject::Subject;
use crate::crd::connector_deployment_status::ConnectorDeploymentStatus;
use crate::crd::{ConnectorDeployment, ManagementPolicy};
use crate::names;

/// One run for one resource.
pub(super) struct Run<'a> {
    context: &'a Context,
    subject: &'a Subject,
    api: Api<ConnectorDeployment>,
    object: Arc<ConnectorDeployment>,
    remembered: Remembered,
}

/// What a run has learned before it decides.
struct Known {
    wanted: WantedIdentity,
    desired: Result<Desired, Told>,
    payload: Option<Wanted>,
    masker: Masker,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        context: &'a Context,
        subject: &'a Subject,
        object: Arc<ConnectorDeployment>,
        remembered: Remembered,
    ) -> Self {
        let api = Api::namespaced(context.client.clone(), &subject.namespace);
        Self { context, subject, api, object, remembered }
    }

    pub(super) fn into_remembered(self) -> Remembered {
        self.remembered
    }

    /// The whole run. Deleting is the same story with another end.
    pub(super) async fn story(&mut self) -> Result<Next, kube::Error> {
        self.note_references();
        if self.may_go_at_once() {
            return self.release(None).await;
        }
        self.hold().await?;
        let project = match observe::project(self.context, &self.object).await {
            Ok(project) => project,
            Err(Some(told)) => return self.halt(None, told, None).await,
            Err(None) => return Ok(Next::Again(Some(Duration::from_secs(5)))),
        };
        let wanted = intent::wanted_identity(&self.object, &project);
        if let Some(told) = self.unfit(&wanted) {
            return self.halt(Some(wanted), told, Some(self.object.spec.effective_interval())).await;
        }
        let remote = match &project.remote {
            Ok(remote) => Arc::clone(remote),
            Err(told) => return self.without_remote(wanted, not_ready(told)).await,
        };
        if let Some(pause) = self.paused() {
            return Ok(Next::Again(Some(pause)));
        }
        let turn = match remote.enter(self.subject) {
            Ok(turn) => turn,
            Err(NotNow::Queued) => return Ok(Next::Again(None)),
            Err(NotNow::Closed(trouble)) => {
                return self.without_remote(wanted, problem::told_of_trouble(&trouble)).await;
            }
        };
        let next = self.with_remote(&project, &remote, wanted).await;
        drop(turn);
        next
    }

    /// Everything after the remote let us in.
    async fn with_remote(
        &mut self,
        _project: &Project,
        remote: &Arc<Remote>,
        wanted: WantedIdentity,
    ) -> Result<Next, kube::Error> {
        let api = remote.api();
        let ledger = self.ledger();
        self.note_request();
        let looked =
            observe::look(self.context, remote, &*api, self.subject, &wanted.key, &ledger, &self.remembered).await;
        let looked = match looked {
            Ok(Some(looked)) => looked,
            Ok(None) => return Ok(Next::Again(None)),
            Err(error) => return self.failed_look(wanted, &error).await,
        };
        self.remembered.last_look = Some(looked.at);
        let registered = self.registered(&*api, &looked).await;
        let known = self.known(wanted, &registered, &looked).await?;
        let look = observe::seen(&looked, &self.ignored());
        let intent = intent::intent(&self.object, &known.wanted, registered.latest);
        let decision = decide::decide(&Case {
            ledger: &ledger,
            intent: &intent,
            wanted: known.payload.as_ref(),
            look: &look,
            memory: &self.remembered.seen,
            now: self.context.clock.now(),
        });
        self.carry_out(remote, &*api, known, looked, &look, decision).await
    }

    // ---------------------------------------------------------------- before the remote

    /// Remembers who is to wake us.
    fn note_references(&self) {
        let mut named = BTreeSet::new();
        if self.object.spec.management_policy == ManagementPolicy::Full {
            named = desired::references(&self.object.spec);
            named.extend(
                self.object.spec.outputs.iter().map(|outputs| (Named::ConfigMap, outputs.config_map_name.clone())),
            );
        }
        let project = self.object.spec.project_ref.name.clone();
        named.insert((Named::Project, project.clone()));
        if self.context.references.uses(self.subject, Named::Project) != [project.clone()] {
            // Its status counts its users.
            self.context.wake(Subject::project(&self.subject.namespace, &project));
        }
        self.context.references.set(self.subject, named);
    }

    /// Rules 22 and 23: what was never created, and what is to stay, needs no remote to go.
    fn may_go_at_once(&self) -> bool {
        let ledger = self.ledger();
        match intent::deletion(&self.object) {
            Some(Deletion::LetGo) => true,
            Some(Deletion::Undeploy) => ledger.id.is_none() && ledger.operation.is_none(),
            None => false,
        }
    }

    /// Sets the finalizer before anything is created.
    async fn hold(&mut self) -> Result<(), kube::Error> {
        let held = self.object.finalizers().iter().any(|name| name == names::FINALIZER);
        if held || self.object.spec.management_policy == ManagementPolicy::ObserveOnly {
            return Ok(());
        }
        let object = act::hold(&self.api, &self.object).await?;
        self.wrote(object);
        Ok(())
    }

    /// What cannot be worked with, whatever the remote says.
    fn unfit(&self, wanted: &WantedIdentity) -> Option<Told> {
        let ledger = self.ledger();
        let before = self.status().remote.filter(|_| ledger.id.is_some() || ledger.operation.is_some());
        if let Some(before) = before.filter(|before| *before != wanted.remote) {
            let message = format!(
                "This deployment was created in project {} at {}, and the ConnectProject now names project {} at {}: set it back",
                before.project_key, before.api_url, wanted.remote.project_key, wanted.remote.api_url
            );
            return Some(Told::new(Reason::IdentityChanged, message));
        }
        if intent::deletion(&self.object).is_some() {
            return None;
        }
        intent::connector(&self.object).err()
    }

    /// Whether calls of this resource are held back after failures; a change of what is asked for ends that.
    fn paused(&mut self) -> Option<Duration> {
        let asked = self.asked_for();
        if self.remembered.paused_for.as_ref() != Some(&asked) {
            self.remembered.not_before = None;
        }
        let until = self.remembered.not_before?;
        let now = self.context.clock.now();
        (now < until).then(|| crate::clock::between(now, until))
    }

    fn asked_for(&self) -> (i64, Option<String>) {
        let generation = self.object.metadata.generation.unwrap_or_default();
        (generation, intent::request(&self.object, names::REDEPLOY_REQUESTED_AT))
    }

    // ---------------------------------------------------------------- what is known

    /// A new reconcile request is served by a look that begins from now on (rule 11).
    fn note_request(&mut self) {
        let request = intent::request(&self.object, names::RECONCILE_REQUESTED_AT);
        let handled = self.status().handled_reconcile_request;
        match request {
            Some(request) if Some(&request) != handled.as_ref() => {
                if self.remembered.asked.as_ref().is_none_or(|(asked, _)| *asked != request) {
                    self.remembered.asked = Some((request, self.context.clock.now()));
                }
            }
            _ => self.remembered.asked = None,
        }
    }

    /// Asks the registry only if something depends on it: `…From` lists of a create, or a version.
    async fn registered(&self, api: &dyn ConnectApi, looked: &Looked) -> Registered {
        let spec = &self.object.spec;
        if intent::deletion(&self.object).is_some() || spec.management_policy == ManagementPolicy::ObserveOnly {
            return Registered::default();
        }
        let running = looked.record.as_ref().map(|record| record.connector.version);
        let follows = spec.connector.update_policy == crate::crd::UpdatePolicy::Latest;
        let moves = running.is_some_and(|running| spec.connector.version.is_some_and(|wanted| wanted > running));
        let recorded = looked.record.as_ref().is_some_and(|record| record.connector.configurations.is_some());
        let declared = names_whole_objects(spec) && !recorded;
        let refused = self.remembered.refusal.as_ref().is_some_and(|told| told.reason == Reason::ConnectorNotFound);
        if moves || declared || refused || (follows && running.is_some()) {
            return observe::registered(api, &self.object).await;
        }
        Registered::default()
    }

    /// Reads the values, unless nothing can depend on them.
    async fn known(
        &mut self,
        wanted: WantedIdentity,
        registered: &Registered,
        looked: &Looked,
    ) -> Result<Known, kube::Error> {
        if registered.exists == Some(true)
            && self.remembered.refusal.as_ref().is_some_and(|told| told.reason == Reason::ConnectorNotFound)
        {
            // What was refused for want of a connector may be sent again.
            self.remembered.refusal = None;
            self.remembered.seen.refused = None;
        }
        let spec = &self.object.spec;
        let unread =
            intent::deletion(&self.object).is_some() || spec.management_policy == ManagementPolicy::ObserveOnly;
        if unread {
            let told = Told::new(Reason::Undeploying, "");
            return Ok(Known { wanted, desired: Err(told), payload: None, masker: Masker::new([]) });
        }
        let named = desired::references(spec);
        let contents = observe::contents(self.context, &self.subject.namespace, &named).await?;
        let recorded = looked.record.as_ref().and_then(|record| {
            observe::declared(record.connector.configurations.as_ref(), record.connector.global_configuration.as_ref())
        });
        let declared = recorded.or_else(|| registered.declared.clone());
        let desired = desired::from_spec(spec, &contents, declared.as_ref());
        let payload = desired.as_ref().ok().map(|desired| self.payload(desired));
        let masker = match &desired {
            Ok(desired) => Masker::new(desired.values.secrets().map(ExposeSecret::expose_secret)),
            Err(_) => Masker::new([]),
        };
        if let Ok(desired) = &desired {
            self.tell_undeclared(&desired.undeclared).await;
        }
        Ok(Known { wanted, desired, payload, masker })
    }

    fn payload(&self, desired: &Desired) -> Wanted {
        let visible = VisibleDigest::of(&desired.values.visible().ignoring(self.ignored()));
        let digest = self.context.digest_key.digest(&desired.values);
        Wanted {
            payload: Payload { digest, visible, sources: desired.sources.clone() },
            secured: desired.values.secrets().next().is_some(),
        }
    }

    /// Rule 14: the keys that are not sent are named in one event.
    async fn tell_undeclared(&mut self, undeclared: &[String]) {
        if self.remembered.undeclared == undeclared {
            return;
        }
        self.remembered.undeclared = undeclared.to_vec();
        if !undeclared.is_empty() {
            let note = format!("Not sent, because the connector does not declare them: {}", undeclared.join(", "));
            self.context.report(&*self.object, EventType::Normal, "KeysNotDeclared", "Configure", &note).await;
        }
    }

    fn ignored(&self) -> BTreeSet<(String, String)> {
        let ignored = self.object.spec.drift.ignore.iter();
        ignored.map(|value| (value.application_name.clone().unwrap_or_default(), value.key.clone())).collect()
    }

    // ---------------------------------------------------------------- doing it

    async fn carry_out(
        &mut self,
        remote: &Arc<Remote>,
        api: &dyn ConnectApi,
        known: Known,
        looked: Looked,
        look: &Look,
        decision: Decision,
    ) -> Result<Next, kube::Error> {
        self.remembered.seen = decision.memory.clone();
        match &decision.step {
            Step::Release => self.release(Some(&decision.ledger)).await,
            Step::Rest => self.rest(remote, api, &known, &looked, look, &decision).await,
            Step::Send(call) => {
                let told = status::tell(&decision.verdict, &known.wanted.key, None, &[]);
                self.say(&known, &decision.ledger, told, None, None, false).await?;
                self.send(remote, api, &known, &looked, call.clone(), decision).await
            }
        }
    }

    /// Nothing to send: says what is the case, and when to look again.
    async fn rest(
        &mut self,
        remote: &Arc<Remote>,
        api: &dyn ConnectApi,
        known: &Known,
        looked: &Looked,
        look: &Look,
        decision: &Decision,
    ) -> Result<Next, kube::Error> {
        let record = looked.record.as_deref();
        let before = self.status();
        let lines = logs::after_failure(api, &self.object, &before, &known.masker, record, &decision.verdict).await;
        let mut told = self.tell(known, decision, record);
        let drifted = matches!(decision.verdict, Verdict::Settled { drifted: true, .. });
        if matches!(decision.verdict, Verdict::Settled { .. })
            && let Some(record) = record
            && let Err(problem) = outputs::write(self.context, &self.object, record).await?
        {
            told = problem;
        }
        self.say(known, &decision.ledger, told, Some(record), lines, drifted).await?;
        self.annotate(&decision.ledger).await?;
        Ok(Next::Again(self.watch(remote, look, decision)))
    }

    /// What to tell of a decision: what stands in the way of the values comes before what was seen.
    fn tell(&self, known: &Known, decision: &Decision, record: Option<&Deployment>) -> Told {
        let report = record.map(|record| self.report(known, record, &decision.ledger)).unwrap_or_default();
        match (&decision.verdict, &known.desired) {
            (Verdict::ValuesUnknown, Err(told)) => told.clone(),
            (Verdict::Refused, _) => self
                .remembered
                .refusal
                .clone()
                .unwrap_or_else(|| status::tell(&decision.verdict, &known.wanted.key, record, &report)),
            (verdict, _) => status::tell(verdict, &known.wanted.key, record, &report),
        }
    }

    fn report(
        &self,
        known: &Known,
        record: &Deployment,
        ledger: &Ledger,
    ) -> Vec<crate::crd::connector_deployment_status::ReportEntry> {
        let mut shown = ConnectorDeploymentStatus::default();
        status::show_report(&mut shown, record, &self.texts(known, ledger));
        shown.report
    }

    /// Masks with what was sent. If that is not known any more, only titles are kept.
    fn texts<'k>(&self, known: &'k Known, ledger: &Ledger) -> Texts<'k> {
        let sent = ledger
            .operation
            .as_ref()
            .and_then(|operation| operation.payload.as_ref().map(|payload| &payload.digest))
            .or_else(|| ledger.applied.as_ref().and_then(|applied| applied.digest.as_ref()));
        match (&known.payload, sent) {
            (Some(wanted), Some(sent)) if *sent == wanted.payload.digest => Texts::Masked(&known.masker),
            (Some(wanted), _) if !wanted.secured && !ledger.unverified => Texts::Masked(&known.masker),
            _ => Texts::Titles(&known.masker),
        }
    }

    /// The pace of looks; and the time after which to run again whatever is seen.
    fn watch(&self, remote: &Arc<Remote>, look: &Look, decision: &Decision) -> Option<Duration> {
        let interval = self.object.spec.effective_interval();
        let Some(id) = &decision.ledger.id else { return Some(decision.again.unwrap_or(interval)) };
        let busy = matches!(look, Look::Present(seen) if seen.phase.is_busy());
        if !busy {
            remote.watch(self.subject, id, Pace::Settled(interval));
            // A decision that waits for something has to look then; the view tells of everything else.
            return decision.again;
        }
        let now = self.context.clock.now();
        let since = decision.ledger.operation.as_ref().map(|operation| operation.started_at);
        let since = since.or(decision.memory.busy_since).unwrap_or(now);
        remote.watch(self.subject, id, Pace::Busy { since });
        // Only time can change what is told of something that stays busy (rule 18).
        let left = crate::clock::between(now, crate::clock::later(since, decide::TOO_LONG));
        (!left.is_zero()).then_some(left)
    }

    /// The operation is written; now its one call.
    async fn send(
        &mut self,
        remote: &Arc<Remote>,
        api: &dyn ConnectApi,
        known: &Known,
        looked: &Looked,
        call: Call,
        decision: Decision,
    ) -> Result<Next, kube::Error> {
        let started =
            decision.ledger.operation.as_ref().map_or_else(Timestamp::default, |operation| operation.started_at);
        let mut values = known.desired.as_ref().map(|desired| desired.values.clone()).unwrap_or_default();
        if let (CallKind::Redeploy { .. }, Some(record)) = (&call.kind, &looked.record) {
            for application in &record.applications {
                values.applications.entry(application.application_name.clone()).or_default();
            }
        }
        let done = act::send(api, &self.object, &known.wanted, &call, &values, started).await;
        let now = self.context.clock.now();
        self.remembered.last_call = Some(now);
        let cause = known.payload.as_ref().map(|wanted| self.cause(wanted));
        let cause = cause.filter(|_| !matches!(call.kind, CallKind::Undeploy { .. }));
        let outcome = decide::answered(&decision.ledger, &decision.memory, &call, cause, &done.answer, now);
        self.after_call(remote, known, &call, done, outcome).await
    }

    fn cause(&self, wanted: &Wanted) -> decide::Cause {
        let (generation, request) = self.asked_for();
        decide::Cause { digest: wanted.payload.digest.clone(), generation, request }
    }

    async fn after_call(
        &mut self,
        remote: &Arc<Remote>,
        known: &Known,
        call: &Call,
        done: Done,
        outcome: Outcome,
    ) -> Result<Next, kube::Error> {
        if outcome.release {
            return self.release(Some(&outcome.ledger)).await;
        }
        self.remembered.seen = outcome.memory.clone();
        let kind = match call.kind {
            CallKind::Create { .. } => OperationKind::Create,
            CallKind::Redeploy { .. } => OperationKind::Redeploy,
            CallKind::Undeploy { .. } => OperationKind::Undeploy,
        };
        let verdict = if outcome.key_taken { Verdict::KeyTaken } else { Verdict::Running(kind) };
        let mut told =
            act::told(&done).unwrap_or_else(|| status::tell(&verdict, &known.wanted.key, done.record.as_ref(), &[]));
        if outcome.key_taken {
            told = status::tell(&verdict, &known.wanted.key, None, &[]);
        }
        self.remembered.refusal = outcome.memory.refused.as_ref().map(|_| told.clone());
        let seen = done.record.as_ref().map(Some);
        self.say(known, &outcome.ledger, told, seen, None, false).await?;
        self.annotate(&outcome.ledger).await?;
        Ok(Next::Again(self.after_answer(remote, &done, &outcome)))
    }

    /// When to go on after a call.
    fn after_answer(&mut self, remote: &Arc<Remote>, done: &Done, outcome: &Outcome) -> Option<Duration> {
        let interval = self.object.spec.effective_interval();
        let accepted =
            outcome.ledger.operation.as_ref().is_some_and(|operation| operation.state == OperationState::Accepted);
        if accepted {
            self.remembered.failures = 0;
            self.remembered.not_before = None;
            let now = self.context.clock.now();
            if let Some(id) = &outcome.ledger.id {
                remote.watch(self.subject, id, Pace::Busy { since: now });
            }
            // Whatever the view says, look once more soon: it may be over before the first look.
            return Some(Duration::from_secs(1));
        }
        if outcome.key_taken || outcome.memory.refused.as_ref().is_some_and(|refused| refused.cause.is_some()) {
            return Some(interval);
        }
        Some(match &done.error {
            Some(error) => self.pause(error),
            None => Duration::from_secs(5),
        })
    }

    /// Holds the calls of this resource back, longer with each failure.
    fn pause(&mut self, error: &ApiError) -> Duration {
        self.remembered.failures = self.remembered.failures.saturating_add(1);
        let pause = problem::pause(self.remembered.failures).max(error.retry_after.unwrap_or_default());
        self.remembered.not_before = Some(crate::clock::later(self.context.clock.now(), pause));
        self.remembered.paused_for = Some(self.asked_for());
        pause
    }

    // ---------------------------------------------------------------- saying it

    /// Writes the status, if it says something else than before.
    async fn say(
        &mut self,
        known: &Known,
        ledger: &Ledger,
        told: Told,
        seen: Option<Option<&Deployment>>,
        lines: Option<Vec<String>>,
        drifted: bool,
    ) -> Result<(), kube::Error> {
        let served = self.remembered.asked.take().map(|(request, _)| request);
        let facts = Facts {
            generation: self.object.metadata.generation.unwrap_or_default(),
            ledger,
            told,
            drifted,
            secured: known.payload.as_ref().is_none_or(|wanted| wanted.secured),
            suspended: self.object.spec.suspend,
            wanted: Some(known.wanted.clone()),
            deletion_policy: self.object.spec.effective_deletion_policy(),
            seen,
            texts: self.texts(known, ledger),
            lines,
            handled_reconcile: served,
        };
        let after = status::summarize(&self.status(), &facts, self.context.clock.now());
        self.write(after, &facts.told).await
    }

    /// Says why nothing can be done, without having looked.
    async fn halt(
        &mut self,
        wanted: Option<WantedIdentity>,
        told: Told,
        again: Option<Duration>,
    ) -> Result<Next, kube::Error> {
        let ledger = self.ledger();
        let facts = Facts {
            generation: self.object.metadata.generation.unwrap_or_default(),
            ledger: &ledger,
            told,
            drifted: false,
            secured: true,
            suspended: self.object.spec.suspend,
            wanted,
            deletion_policy: self.object.spec.effective_deletion_policy(),
            seen: None,
            texts: Texts::Unchanged,
            lines: None,
            handled_reconcile: None,
        };
        let after = status::summarize(&self.status(), &facts, self.context.clock.now());
        self.write(after, &facts.told).await?;
        Ok(Next::Again(again))
    }

    /// Rule 20: the remote cannot be reached. What is settled keeps its status; the project tells.
    async fn without_remote(&mut self, wanted: WantedIdentity, told: Told) -> Result<Next, kube::Error> {
        let status = self.status();
        let ledger = self.ledger();
        let generation = self.object.metadata.generation.unwrap_or_default();
        let seen = status.observed_generation == generation && intent::deletion(&self.object).is_none();
        if seen
            && ledger.operation.is_none()
            && conditions::is_ready(&status.conditions)
            && self.is_applied(&ledger).await?
        {
            return Ok(Next::Again(None));
        }
        self.halt(Some(wanted), told, None).await
    }

    /// Whether what is desired now is what was applied, as far as that can be told without the remote.
    async fn is_applied(&self, ledger: &Ledger) -> Result<bool, kube::Error> {
        let spec = &self.object.spec;
        if spec.management_policy == ManagementPolicy::ObserveOnly || names_whole_objects(spec) {
            return Ok(true);
        }
        let contents = observe::contents(self.context, &self.subject.namespace, &desired::references(spec)).await?;
        let applied = ledger.applied.as_ref().and_then(|applied| applied.digest.as_ref());
        let desired = desired::from_spec(spec, &contents, None).ok();
        let wanted = desired.map(|desired| self.context.digest_key.digest(&desired.values));
        let requested = intent::request(&self.object, names::REDEPLOY_REQUESTED_AT);
        Ok(applied.is_some()
            && applied == wanted.as_ref()
            && requested.is_none_or(|asked| ledger.handled_redeploy == Some(asked)))
    }

    /// The look failed. Whoever is settled says nothing; others say why they wait.
    async fn failed_look(&mut self, wanted: WantedIdentity, error: &ApiError) -> Result<Next, kube::Error> {
        let pause = self.pause(error);
        match self.without_remote(wanted, problem::told(error)).await? {
            Next::Again(_) => Ok(Next::Again(Some(pause))),
            Next::Gone => Ok(Next::Gone),
        }
    }

    async fn write(&mut self, after: ConnectorDeploymentStatus, told: &Told) -> Result<(), kube::Error> {
        let before = self.status();
        let Some(object) = write_status(&self.api, &*self.object, &before, &after).await? else { return Ok(()) };
        let kept = object.status.as_ref().and_then(|status| status.operation.as_ref()) == after.operation.as_ref();
        self.wrote(object);
        if !kept {
            // Rule 1: a CRD of an older version drops fields silently; without them nothing may be sent.
            let message =
                "the served CustomResourceDefinition drops fields of the status: apply the CRDs of this version";
            return Err(kube::Error::Service(message.into()));
        }
        let earlier = conditions::ready_reason(&before.conditions);
        if earlier != Some(told.reason.as_str()) && told.reason != Reason::Queued {
            self.context.event(&*self.object, "Reconcile", told).await;
        }
        Ok(())
    }

    /// Rule 3: the id where a restored backup keeps it.
    async fn annotate(&mut self, ledger: &Ledger) -> Result<(), kube::Error> {
        let Some(id) = &ledger.id else { return Ok(()) };
        if self.object.annotations().get(names::REMOTE_ID) != Some(id) {
            let object = act::annotate(&self.api, &self.object, id).await?;
            self.wrote(object);
        }
        Ok(())
    }

    /// Lets the resource go.
    async fn release(&mut self, ledger: Option<&Ledger>) -> Result<Next, kube::Error> {
        if !self.object.finalizers().iter().any(|name| name == names::FINALIZER) {
            return Ok(Next::Gone);
        }
        let undeployed = ledger.is_some_and(|ledger| {
            ledger.operation.as_ref().is_some_and(|operation| operation.kind == OperationKind::Undeploy)
        });
        let object = Arc::clone(&self.object);
        act::release(&self.api, &object).await?;
        let (reason, note) = if undeployed {
            ("Undeployed", "The remote deployment is gone")
        } else {
            ("LetGo", "The remote, if there is one, was left as it is")
        };
        self.context.report(&*object, EventType::Normal, reason, "Reconcile", note).await;
        Ok(Next::Gone)
    }

    // ---------------------------------------------------------------- small things

    fn status(&self) -> ConnectorDeploymentStatus {
        self.object.status.clone().unwrap_or_default()
    }

    fn ledger(&self) -> Ledger {
        stored::ledger(&self.status())
    }

    /// From here on this is the resource.
    fn wrote(&mut self, object: ConnectorDeployment) {
        self.remembered.written = object.resource_version();
        self.object = Arc::new(object);
    }
}

fn not_ready(told: &Told) -> Told {
    match told.reason {
        // Who has to act is the same person.
        Reason::CredentialsRejected | Reason::PermissionMissing => told.clone(),
        _ => Told::new(Reason::ProjectNotReady, format!("The ConnectProject cannot be used: {}", told.message)),
    }
}

/// Whether values come from whole objects, so that the connector's declarations count.
fn names_whole_objects(spec: &crate::crd::ConnectorDeploymentSpec) -> bool {
    let all = spec.configurations.iter().map(|application| &application.values).chain(&spec.global_configuration);
    all.into_iter()
        .any(|values| !values.standard_configuration_from.is_empty() || !values.secured_configuration_from.is_empty())
}
