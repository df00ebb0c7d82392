//! Says what is the case: the one patch of the status, its Event, and the metadata that we own.

use std::sync::Arc;
use std::time::Duration;

use connect_api::ApiError;
use connect_api::model::Deployment;
use kube::ResourceExt;
use kube::runtime::events::EventType;

use super::super::application_urls;
use super::super::decide::{self, Decision, Verdict};
use super::super::desired::{self};
use super::super::intent;
use super::super::ledger::{Applied, Ledger, OperationKind};
use super::super::observe::{self};
use super::super::status::{self, Comparison, Facts, Newer, Release, Sight, Texts, WantedIdentity};
use crate::controllers::conditions::{self, Told};
use crate::controllers::object::{self, Next};
use crate::controllers::problem;
use crate::controllers::reason::{Reason, Stance};
use crate::controllers::refusal::{self, Access};
use crate::crd::connector_deployment_status::ConnectorDeploymentStatus;
use crate::crd::{ManagementPolicy, UpdatePolicy};
use crate::names;

use super::{Known, Run, names_whole_objects};

impl Run<'_> {
    /// What to tell of a decision: what stands in the way of the values comes before what was seen.
    pub(super) fn tell(&self, known: &Known, decision: &Decision, record: Option<&Deployment>) -> Told {
        let report = record.map(|record| self.report(known, record, &decision.ledger)).unwrap_or_default();
        match (&decision.verdict, &known.desired) {
            (Verdict::ValuesUnknown, Err(told)) => told.clone(),
            (Verdict::Refused, _) => self
                .remembered
                .refusal
                .clone()
                .unwrap_or_else(|| status::tell(&decision.verdict, &known.wanted.key, record, &report)),
            (Verdict::NotApplied { .. }, _) => {
                let told = status::tell(&decision.verdict, &known.wanted.key, record, &report);
                if told.reason == Reason::ValuesNotApplied {
                    self.tell_not_applied(known, decision, record)
                } else {
                    told
                }
            }
            (verdict, desired) => {
                let told = status::tell(verdict, &known.wanted.key, record, &report);
                let told = status::of_redeploy(told, &decision.ledger);
                let live = matches!(verdict, Verdict::Settled { .. }) && told.reason.stance() == Stance::Ready;
                let desired = desired.as_ref().ok().zip(record).filter(|_| live);
                desired.and_then(|(desired, record)| application_urls::waiting(desired, record)).unwrap_or(told)
            }
        }
    }

    /// Names the values that the remote does not show as they were sent.
    fn tell_not_applied(&self, known: &Known, decision: &Decision, record: Option<&Deployment>) -> Told {
        let seen = record.map(|record| observe::of_record(record, &intent::ignored(&self.object)));
        let applied = decision.ledger.applied.as_ref();
        let items = seen.zip(known.payload.as_ref()).map(|(seen, wanted)| decide::not_applied(applied, &seen, wanted));
        status::not_applied(&items.unwrap_or_default())
    }

    pub(super) fn report(
        &self,
        known: &Known,
        record: &Deployment,
        ledger: &Ledger,
    ) -> Vec<crate::crd::connector_deployment_status::ReportEntry> {
        let mut shown = ConnectorDeploymentStatus::default();
        status::show_report(&mut shown, record, &self.texts(known, ledger));
        shown.report
    }

    /// Masks with what was sent. If that is not known any more, only titles are kept. While an operation runs, what is seen
    /// may still tell of what was sent before it.
    pub(super) fn texts<'k>(&self, known: &'k Known, ledger: &Ledger) -> Texts<'k> {
        let begun = ledger.operation.iter().filter_map(|operation| operation.payload.as_ref());
        let begun = begun.map(|payload| Some(&payload.digest));
        let before = ledger.applied.iter().map(|applied| applied.digest.as_ref());
        let sent: Vec<_> = begun.chain(before).collect();
        // Secured values that were removed from the spec are still in force there, and not known here any more.
        if ledger.applied.as_ref().is_some_and(Applied::retains_secured) {
            return Texts::Titles(&known.masker);
        }
        match (&known.payload, sent) {
            (Some(wanted), sent)
                if !sent.is_empty() && sent.iter().all(|digest| *digest == Some(&wanted.payload.digest)) =>
            {
                Texts::Masked(&known.masker)
            }
            (Some(wanted), _) if !wanted.secured && !had_sources(ledger) => Texts::Masked(&known.masker),
            // Nothing is known to mask with.
            (None, _) if intent::is_deleting(&self.object) => Texts::Unchanged,
            _ => Texts::Titles(&known.masker),
        }
    }

    /// Writes the status, if it says something else than before.
    pub(super) async fn say(
        &mut self,
        known: &Known,
        ledger: &Ledger,
        told: Told,
        seen: Sight<'_>,
        lines: Option<Vec<String>>,
        comparison: Comparison,
    ) -> Result<(), kube::Error> {
        let served = self.remembered.asked.as_ref().map(|(request, _)| request.clone());
        let facts = Facts {
            generation: self.object.metadata.generation.unwrap_or_default(),
            ledger,
            told,
            comparison,
            secured: known.payload.as_ref().is_none_or(|wanted| wanted.secured),
            suspended: self.object.spec.suspend,
            newer: self.newer(known, seen),
            wanted: Some(known.wanted.clone()),
            deletion_policy: self.object.spec.deletion_policy_of(self.context.default_deletion_policy),
            seen,
            texts: self.texts(known, ledger),
            lines,
            handled_reconcile: served,
            verified: self.verified(ledger),
        };
        let after = status::summarize(&self.status(), &facts, self.context.clock.now());
        self.write(after, &facts.told).await?;
        self.remembered.asked = None;
        Ok(())
    }

    /// Says what an answer came to. That somebody changed the resource during the call does not make it a lost answer, as
    /// long as the operation that is stored is the one that was sent: then nobody has concluded anything from it yet.
    pub(super) async fn say_answer(
        &mut self,
        known: &Known,
        ledger: &Ledger,
        told: &Told,
        seen: Option<&Deployment>,
    ) -> Result<(), kube::Error> {
        loop {
            let sight = seen.map_or(Sight::NotLooked, Sight::Record);
            match self.say(known, ledger, told.clone(), sight, None, Comparison::None).await {
                Err(kube::Error::Api(status))
                    if status.code == 409 && object::is_still_stored(&self.api, &mut self.object).await? => {}
                answer => return answer,
            }
        }
    }

    fn newer(&self, known: &Known, seen: Sight<'_>) -> Newer {
        match (known.registered.latest(), seen) {
            _ if self.object.spec.connector.update_policy == UpdatePolicy::Latest => Newer::No,
            (Some(latest), Sight::Record(record)) if latest > record.connector.version => {
                let running =
                    Release { version: record.connector.version, tag: record.connector.repository.tag.clone() };
                let tag = known.registered.offering().map(|offering| offering.tag.clone()).unwrap_or_default();
                Newer::Yes { running, latest: Release { version: latest, tag } }
            }
            (Some(_), Sight::Record(_)) | (_, Sight::Nothing) => Newer::No,
            (None, Sight::Record(_)) | (_, Sight::NotLooked) => Newer::Unknown,
        }
    }

    /// Says why nothing can be done, without having looked.
    pub(super) async fn halt(
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
            comparison: Comparison::None,
            secured: true,
            suspended: self.object.spec.suspend,
            newer: Newer::Unknown,
            wanted,
            deletion_policy: self.object.spec.deletion_policy_of(self.context.default_deletion_policy),
            seen: Sight::NotLooked,
            texts: Texts::Unchanged,
            lines: None,
            handled_reconcile: None,
            verified: self.verified(&ledger),
        };
        let after = status::summarize(&self.status(), &facts, self.context.clock.now());
        self.write(after, &facts.told).await?;
        self.context.work.settled(self.subject, facts.told.reason);
        Ok(Next::Again(again))
    }

    /// The API server refused a request. What can be told of that is told; if that cannot be written either, the log has it.
    ///
    /// # Errors
    /// The same, if there is nothing to tell, or it cannot be written.
    pub(in super::super) async fn refused(&mut self, request: &str, error: kube::Error) -> Result<Next, kube::Error> {
        let told = refusal::told(Access::Write, request, error)?;
        let again = self.remembered.refusals.again(told.reason, None);
        // In a box of its own: it is rare, and its room is needed by no other run.
        Box::pin(self.halt(None, told, again)).await
    }

    /// Rule 20: the remote cannot be reached. What is settled keeps its status; the project tells.
    pub(super) async fn without_remote(&mut self, wanted: WantedIdentity, told: Told) -> Result<Next, kube::Error> {
        let status = self.status();
        let ledger = self.ledger();
        let generation = self.object.metadata.generation.unwrap_or_default();
        let seen = status.observed_generation == generation && !intent::is_deleting(&self.object);
        if seen && ledger.operation.is_none() && is_settled(&status) && self.is_applied(&ledger).await? {
            return Ok(Next::Again(None));
        }
        self.halt(Some(wanted), told, None).await
    }

    /// Whether what is desired now is what was applied, as far as that can be told without the remote.
    pub(super) async fn is_applied(&self, ledger: &Ledger) -> Result<bool, kube::Error> {
        let spec = &self.object.spec;
        if spec.management_policy == ManagementPolicy::ObserveOnly || names_whole_objects(spec) {
            return Ok(true);
        }
        let contents = observe::contents(self.context, &self.subject.namespace, &desired::references(spec)).await?;
        let desired = desired::from_spec(spec, &contents, None).ok();
        let wanted = desired.map(|mut desired| {
            desired.resolve(&application_urls::remembered(&self.status()));
            desired.wanted(&self.context.digest_key)
        });
        let same = wanted.zip(ledger.applied.as_ref()).is_some_and(|(wanted, applied)| decide::holds(applied, &wanted));
        let requested = object::request(&*self.object, names::REDEPLOY_REQUESTED_AT);
        Ok(same && requested.is_none_or(|asked| ledger.handled_redeploy == Some(asked)))
    }

    /// The look failed. Whoever is settled says nothing; others say why they wait.
    pub(super) async fn failed_look(&mut self, wanted: WantedIdentity, error: &ApiError) -> Result<Next, kube::Error> {
        let pause = self.pause(error);
        let told = problem::told(error, &wanted.remote.project_key);
        match self.without_remote(wanted, told).await? {
            Next::Again(_) => Ok(Next::Again(Some(pause))),
            Next::Gone => Ok(Next::Gone),
        }
    }

    pub(super) async fn write(&mut self, after: ConnectorDeploymentStatus, told: &Told) -> Result<(), kube::Error> {
        let written = object::write(self.context, &self.api, &*self.object, after, told).await?;
        written.hand_to(|object| self.wrote(object))
    }

    /// Rule 3: the id where a restored backup keeps it. Rule 5: what was created again has other URLs, which is said.
    pub(super) async fn annotate(&mut self, ledger: &Ledger) -> Result<(), kube::Error> {
        let Some(id) = &ledger.id else { return Ok(()) };
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
    pub(super) async fn release(&mut self, ledger: Option<&Ledger>) -> Result<Next, kube::Error> {
        if !self.object.finalizers().iter().any(|name| name == names::FINALIZER) {
            return Ok(Next::Gone);
        }
        let undeployed = ledger.is_some_and(|ledger| {
            ledger.operation.as_ref().is_some_and(|operation| operation.kind == OperationKind::Undeploy)
        });
        let object = Arc::clone(&self.object);
        if let Err(error) = object::release(&self.api, &*object).await {
            return self.refused(refusal::FINALIZERS, error).await;
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
fn had_sources(ledger: &Ledger) -> bool {
    let applied = ledger.applied.as_ref().is_some_and(|applied| !applied.sources.is_empty());
    let payload = ledger.operation.as_ref().and_then(|operation| operation.payload.as_ref());
    ledger.unverified || applied || payload.is_some_and(|payload| !payload.sources.is_empty())
}
