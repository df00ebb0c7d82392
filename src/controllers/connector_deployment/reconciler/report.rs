//! Says what is the case: the one patch of the status, its Event, and the metadata that we own.

use std::sync::Arc;
use std::time::Duration;

use connect_api::ApiError;
use connect_api::model::Deployment;
use kube::ResourceExt;
use kube::runtime::events::EventType;

use super::super::application_urls;
use super::super::decide::{self, Decision, Outcome};
use super::super::desired::{self};
use super::super::intent;
use super::super::observe::{self};
use super::super::persisted::{Applied, OperationKind, PersistedState};
use super::super::status::{self, Comparison, Facts, Newer, ObservedRecord, Release, Texts, WantedIdentity};
use crate::controllers::conditions::{self, ConditionUpdate};
use crate::controllers::object::{self, Next};
use crate::controllers::problem;
use crate::controllers::reason::{ConditionState, Reason};
use crate::controllers::refusal::{self, Access};
use crate::crd::connector_deployment_status::ConnectorDeploymentStatus;
use crate::crd::{ManagementPolicy, UpdatePolicy};
use crate::names;

use super::{Inputs, Reconciler, names_whole_objects};

impl Reconciler<'_> {
    /// What to tell of a decision: what stands in the way of the values comes before what was seen.
    pub(super) fn ready_condition(
        &self,
        inputs: &Inputs,
        decision: &Decision,
        record: Option<&Deployment>,
    ) -> ConditionUpdate {
        let report = record.map(|record| self.report(inputs, record, &decision.persisted)).unwrap_or_default();
        match (&decision.outcome, &inputs.desired) {
            (Outcome::ValuesUnknown, Err(condition)) => condition.clone(),
            (Outcome::Refused, _) => self
                .cache
                .refusal
                .clone()
                .unwrap_or_else(|| status::ready_condition(&decision.outcome, &inputs.wanted.key, record, &report)),
            (Outcome::NotApplied { .. }, _) => {
                let condition = status::ready_condition(&decision.outcome, &inputs.wanted.key, record, &report);
                if condition.reason == Reason::ValuesNotApplied {
                    self.not_applied_condition(inputs, decision, record)
                } else {
                    condition
                }
            }
            (outcome, desired) => {
                let condition = status::ready_condition(outcome, &inputs.wanted.key, record, &report);
                let condition = status::of_redeploy(condition, &decision.persisted);
                let live =
                    matches!(outcome, Outcome::Settled { .. }) && condition.reason.state() == ConditionState::Ready;
                let desired = desired.as_ref().ok().zip(record).filter(|_| live);
                desired.and_then(|(desired, record)| application_urls::waiting(desired, record)).unwrap_or(condition)
            }
        }
    }

    /// Names the values that the remote does not show as they were sent.
    fn not_applied_condition(
        &self,
        inputs: &Inputs,
        decision: &Decision,
        record: Option<&Deployment>,
    ) -> ConditionUpdate {
        let seen = record.map(|record| observe::of_record(record, &intent::ignored(&self.object)));
        let applied = decision.persisted.applied.as_ref();
        let items = seen.zip(inputs.payload.as_ref()).map(|(seen, wanted)| decide::not_applied(applied, &seen, wanted));
        status::not_applied(&items.unwrap_or_default())
    }

    pub(super) fn report(
        &self,
        inputs: &Inputs,
        record: &Deployment,
        persisted: &PersistedState,
    ) -> Vec<crate::crd::connector_deployment_status::ReportEntry> {
        let mut shown = ConnectorDeploymentStatus::default();
        status::show_report(&mut shown, record, &self.texts(inputs, persisted));
        shown.report
    }

    /// Masks with what was sent. If that is not known any more, only titles are kept. While an operation runs, what is seen
    /// may still tell of what was sent before it.
    pub(super) fn texts<'k>(&self, inputs: &'k Inputs, persisted: &PersistedState) -> Texts<'k> {
        let begun = persisted.operation.iter().filter_map(|operation| operation.payload.as_ref());
        let begun = begun.map(|payload| Some(&payload.digest));
        let before = persisted.applied.iter().map(|applied| applied.digest.as_ref());
        let sent: Vec<_> = begun.chain(before).collect();
        // Secured values that were removed from the spec are still in force there, and not known here any more.
        if persisted.applied.as_ref().is_some_and(Applied::retains_secured) {
            return Texts::Titles(&inputs.masker);
        }
        match (&inputs.payload, sent) {
            (Some(wanted), sent)
                if !sent.is_empty() && sent.iter().all(|digest| *digest == Some(&wanted.payload.digest)) =>
            {
                Texts::Masked(&inputs.masker)
            }
            (Some(wanted), _) if !wanted.secured && !had_sources(persisted) => Texts::Masked(&inputs.masker),
            // Nothing is known to mask with.
            (None, _) if intent::is_deleting(&self.object) => Texts::Unchanged,
            _ => Texts::Titles(&inputs.masker),
        }
    }

    /// Writes the status, if it says something else than before.
    pub(super) async fn patch_status(
        &mut self,
        inputs: &Inputs,
        persisted: &PersistedState,
        condition: ConditionUpdate,
        seen: ObservedRecord<'_>,
        lines: Option<Vec<String>>,
        comparison: Comparison,
    ) -> Result<(), kube::Error> {
        let served = self.cache.asked.as_ref().map(|(request, _)| request.clone());
        let facts = Facts {
            generation: self.object.metadata.generation.unwrap_or_default(),
            persisted,
            condition,
            comparison,
            secured: inputs.payload.as_ref().is_none_or(|wanted| wanted.secured),
            suspended: self.object.spec.suspend,
            newer: self.newer(inputs, seen),
            wanted: Some(inputs.wanted.clone()),
            deletion_policy: self.object.spec.deletion_policy_of(self.context.default_deletion_policy),
            seen,
            texts: self.texts(inputs, persisted),
            lines,
            handled_reconcile: served,
            verified: self.verified(persisted),
        };
        let after = status::summarize(&self.status(), &facts, self.context.clock.now());
        self.write(after, &facts.condition).await?;
        self.cache.asked = None;
        Ok(())
    }

    /// Says what an answer came to. That somebody changed the resource during the call does not make it a lost answer, as
    /// long as the operation that is stored is the one that was sent: then nobody has concluded anything from it yet.
    pub(super) async fn patch_response(
        &mut self,
        inputs: &Inputs,
        persisted: &PersistedState,
        condition: &ConditionUpdate,
        seen: Option<&Deployment>,
    ) -> Result<(), kube::Error> {
        loop {
            let sight = seen.map_or(ObservedRecord::NotRead, ObservedRecord::Present);
            match self.patch_status(inputs, persisted, condition.clone(), sight, None, Comparison::None).await {
                Err(kube::Error::Api(status))
                    if status.code == 409 && object::is_still_stored(&self.api, &mut self.object).await? => {}
                answer => return answer,
            }
        }
    }

    fn newer(&self, inputs: &Inputs, seen: ObservedRecord<'_>) -> Newer {
        match (inputs.registered.latest(), seen) {
            _ if self.object.spec.connector.update_policy == UpdatePolicy::Latest => Newer::No,
            (Some(latest), ObservedRecord::Present(record)) if latest > record.connector.version => {
                let running =
                    Release { version: record.connector.version, tag: record.connector.repository.tag.clone() };
                let tag = inputs.registered.offering().map(|offering| offering.tag.clone()).unwrap_or_default();
                Newer::Yes { running, latest: Release { version: latest, tag } }
            }
            (Some(_), ObservedRecord::Present(_)) | (_, ObservedRecord::Absent) => Newer::No,
            (None, ObservedRecord::Present(_)) | (_, ObservedRecord::NotRead) => Newer::Unknown,
        }
    }

    /// Says why nothing can be done, without having looked.
    pub(super) async fn report_and_wait(
        &mut self,
        wanted: Option<WantedIdentity>,
        condition: ConditionUpdate,
        again: Option<Duration>,
    ) -> Result<Next, kube::Error> {
        let persisted = self.persisted();
        let facts = Facts {
            generation: self.object.metadata.generation.unwrap_or_default(),
            persisted: &persisted,
            condition,
            comparison: Comparison::None,
            secured: true,
            suspended: self.object.spec.suspend,
            newer: Newer::Unknown,
            wanted,
            deletion_policy: self.object.spec.deletion_policy_of(self.context.default_deletion_policy),
            seen: ObservedRecord::NotRead,
            texts: Texts::Unchanged,
            lines: None,
            handled_reconcile: None,
            verified: self.verified(&persisted),
        };
        let after = status::summarize(&self.status(), &facts, self.context.clock.now());
        self.write(after, &facts.condition).await?;
        self.context.work.settled(self.object_ref, facts.condition.reason);
        Ok(Next::Again(again))
    }

    /// The API server refused a request. What can be told of that is told; if that cannot be written either, the log has it.
    ///
    /// # Errors
    /// The same, if there is nothing to tell, or it cannot be written.
    pub(in super::super) async fn report_kubernetes_error(
        &mut self,
        request: &str,
        error: kube::Error,
    ) -> Result<Next, kube::Error> {
        let condition = refusal::condition(Access::Write, request, error)?;
        let again = self.cache.kubernetes_error_backoff.again(condition.reason, None);
        // In a box of its own: it is rare, and its room is needed by no other run.
        Box::pin(self.report_and_wait(None, condition, again)).await
    }

    /// Rule 20: the remote cannot be reached. What is settled keeps its status; the project tells.
    pub(super) async fn report_outage(
        &mut self,
        wanted: WantedIdentity,
        condition: ConditionUpdate,
    ) -> Result<Next, kube::Error> {
        let status = self.status();
        let persisted = self.persisted();
        let generation = self.object.metadata.generation.unwrap_or_default();
        let seen = status.observed_generation == generation && !intent::is_deleting(&self.object);
        if seen && persisted.operation.is_none() && is_settled(&status) && self.is_applied(&persisted).await? {
            return Ok(Next::Again(None));
        }
        self.report_and_wait(Some(wanted), condition, None).await
    }

    /// Whether what is desired now is what was applied, as far as that can be told without the remote.
    pub(super) async fn is_applied(&self, persisted: &PersistedState) -> Result<bool, kube::Error> {
        let spec = &self.object.spec;
        if spec.management_policy == ManagementPolicy::ObserveOnly || names_whole_objects(spec) {
            return Ok(true);
        }
        let contents = observe::contents(self.context, &self.object_ref.namespace, &desired::references(spec)).await?;
        let desired = desired::from_spec(spec, &contents, None).ok();
        let wanted = desired.map(|mut desired| {
            desired.resolve(&application_urls::cache(&self.status()));
            desired.wanted(&self.context.digest_key)
        });
        let same =
            wanted.zip(persisted.applied.as_ref()).is_some_and(|(wanted, applied)| decide::holds(applied, &wanted));
        let requested = object::request(&*self.object, names::REDEPLOY_REQUESTED_AT);
        Ok(same && requested.is_none_or(|asked| persisted.handled_redeploy == Some(asked)))
    }

    /// The look failed. Whoever is settled says nothing; others say why they wait.
    pub(super) async fn failed_read(&mut self, wanted: WantedIdentity, error: &ApiError) -> Result<Next, kube::Error> {
        let pause = self.pause(error);
        let condition = problem::condition(error, &wanted.remote.project_key);
        match self.report_outage(wanted, condition).await? {
            Next::Again(_) => Ok(Next::Again(Some(pause))),
            Next::Gone => Ok(Next::Gone),
        }
    }

    pub(super) async fn write(
        &mut self,
        after: ConnectorDeploymentStatus,
        condition: &ConditionUpdate,
    ) -> Result<(), kube::Error> {
        let written = object::write(self.context, &self.api, &*self.object, after, condition).await?;
        written.hand_to(|object| self.wrote(object))
    }

    /// Rule 3: the id where a restored backup keeps it. Rule 5: what was created again has other URLs, which is said.
    pub(super) async fn annotate(&mut self, persisted: &PersistedState) -> Result<(), kube::Error> {
        let Some(id) = &persisted.id else { return Ok(()) };
        let before = self.object.annotations().get(names::REMOTE_ID).cloned();
        if before.as_ref() == Some(id) {
            return Ok(());
        }
        let annotated = object::annotate(self.context, &self.api, &*self.object, id).await?;
        let Some(object) = annotated else { return Ok(()) };
        self.wrote(object);
        if let Some(before) = before {
            let note = format!("The remote deployment is {id} now, in place of {before}: its URLs have changed");
            self.context.report(&*self.object, EventType::Normal, "Replaced", "Reconcile", &note).await;
        }
        Ok(())
    }

    /// Lets the resource go.
    pub(super) async fn remove_finalizer(&mut self, persisted: Option<&PersistedState>) -> Result<Next, kube::Error> {
        if !self.object.finalizers().iter().any(|name| name == names::FINALIZER) {
            return Ok(Next::Gone);
        }
        let undeployed = persisted.is_some_and(|persisted| {
            persisted.operation.as_ref().is_some_and(|operation| operation.kind == OperationKind::Undeploy)
        });
        let object = Arc::clone(&self.object);
        if let Err(error) = object::remove_finalizer(&self.api, &*object).await {
            return self.report_kubernetes_error(refusal::FINALIZERS, error).await;
        }
        let (reason, note) = if undeployed {
            ("Undeployed", "The remote deployment is gone")
        } else {
            ("LetGo", "The remote, if there is one, was left as it is")
        };
        self.context.report(&*object, EventType::Normal, reason, "Reconcile", note).await;
        Ok(Next::Gone)
    }
}

/// Whether the status tells how an operation ended, well or not.
fn is_settled(status: &ConnectorDeploymentStatus) -> bool {
    let ended = [Reason::ApplicationMissing, Reason::ValuesNotApplied, Reason::WaitingForApplicationUrl];
    let reason = conditions::ready_reason(&status.conditions).and_then(Reason::parse);
    conditions::is_ready(&status.conditions)
        || reason.is_some_and(|reason| reason.is_failed() || ended.contains(&reason))
}

/// Whether what was sent, or what is there, may hold values from Secrets.
fn had_sources(persisted: &PersistedState) -> bool {
    let applied = persisted.applied.as_ref().is_some_and(|applied| !applied.sources.is_empty());
    let payload = persisted.operation.as_ref().and_then(|operation| operation.payload.as_ref());
    persisted.unverified || applied || payload.is_some_and(|payload| !payload.sources.is_empty())
}
