//! The content of the status: the Ready condition, and how much of the service's texts the status may show.

use connect_api::model::Deployment as Record;

use super::super::application_urls;
use super::super::decide::{self, Decision, DesiredPayload, Outcome};
use super::super::declared::{Declared, DeclaredKey};
use super::super::persisted::PersistedState;
use super::super::status::{self, Comparison, DeploymentFacts, Newer, Release, Texts};
use super::super::{desired, observe, value_from};
use crate::crd::connector_deployment_status::ConnectorDeploymentStatus;
use crate::crd::{ManagementPolicy, UpdatePolicy};
use crate::names;
use crate::operator::reconcile;
use crate::operator::reporting::conditions::{self, ConditionUpdate};
use crate::operator::reporting::observed_record::ObservedRecord;
use crate::operator::reporting::reason::{ConditionState, Reason};
use crate::operator::reporting::remedy;

use super::{Inputs, Reconciler};

impl Reconciler<'_> {
    /// Returns the Ready condition for a decision. A problem with the values is reported before what was observed.
    pub(super) fn ready_condition(&self, inputs: &Inputs, decision: &Decision) -> ConditionUpdate {
        let record = inputs.record();
        let report = record.and_then(|record| status::report(record, &self.texts(inputs, &decision.persisted)));
        let report = report.unwrap_or_default();
        let ready = || status::ready_condition(&decision.outcome, &inputs.wanted.key, record, &report);
        let condition = match (&decision.outcome, &inputs.desired) {
            (Outcome::ValuesUnknown, Err(condition)) => condition.clone(),
            (Outcome::Refused, _) => self.cache.refusal.clone().unwrap_or_else(ready),
            (Outcome::NotApplied { .. }, _) if ready().reason == Reason::ValuesNotApplied => {
                status::not_applied(&inputs.differing())
            }
            (outcome, desired) => {
                let condition = status::of_redeploy(ready(), &decision.persisted);
                let live =
                    matches!(outcome, Outcome::Settled { .. }) && condition.reason.state() == ConditionState::Ready;
                let desired = desired.as_ref().ok().zip(record).filter(|_| live);
                desired.and_then(|(desired, record)| application_urls::waiting(desired, record)).unwrap_or(condition)
            }
        };
        // A resource that only observes sends nothing.
        match self.object.spec.management_policy {
            ManagementPolicy::Full => {
                let desired = inputs.desired.as_ref().ok();
                let origins = |text: &str| desired.map(|desired| desired.origins_of(text)).unwrap_or_default();
                remedy::of_failure(condition, self.object_ref, origins)
            }
            ManagementPolicy::ObserveOnly => condition,
        }
    }

    /// Decides how texts of the service are shown: masked with the values that were sent, or not at all if these values
    /// are no longer known. While an operation runs, a text may still be about the values that were sent before it.
    fn texts<'k>(&self, inputs: &'k Inputs, persisted: &PersistedState) -> Texts<'k> {
        let begun = persisted.operation.iter().filter_map(|operation| operation.payload.as_ref());
        let begun = begun.map(|payload| Some(&payload.digest));
        let before = persisted.applied.iter().map(|applied| applied.digest.as_ref());
        let sent: Vec<_> = begun.chain(before).collect();
        // Secured values that were removed from the spec are still in force, and are no longer known here.
        let retained = inputs.retained(persisted);
        let retained = retained.or_else(|| persisted.applied.as_ref().map(|applied| applied.retained.clone()));
        if retained.is_some_and(|retained| retained.has_secured()) {
            return Texts::LeftOut;
        }
        match (&inputs.payload, sent) {
            (Some(wanted), sent)
                if !persisted.unverified
                    && !sent.is_empty()
                    && sent.iter().all(|digest| *digest == Some(&wanted.payload.digest)) =>
            {
                Texts::Masked(&inputs.masker)
            }
            (Some(wanted), _) if !wanted.has_secured() && !had_sources(persisted) => Texts::Masked(&inputs.masker),
            // There are no values to mask with.
            (None, _) if self.is_deleting() => Texts::Unchanged,
            _ => Texts::LeftOut,
        }
    }

    /// Returns the new status, from the one before. `inputs`: `None` without an observation.
    pub(super) fn summarize(
        &self,
        inputs: Option<&Inputs>,
        persisted: &PersistedState,
        condition: &ConditionUpdate,
        record: ObservedRecord<'_, Record>,
        comparison: Comparison,
    ) -> ConnectorDeploymentStatus {
        let spec = &self.object.spec;
        let observes = spec.management_policy == ManagementPolicy::ObserveOnly;
        let record = record.only(|record| observes || persisted.id.as_ref() == Some(&record.id));
        let payload = inputs.and_then(|inputs| inputs.payload.as_ref());
        let request = self.cache.reconcile_request.as_ref().filter(|_| inputs.is_some());
        let facts = DeploymentFacts {
            object_ref: self.object_ref,
            generation: self.generation(),
            persisted,
            condition: condition.clone(),
            comparison,
            retained: inputs.and_then(|inputs| inputs.retained(persisted)),
            secured: payload.is_none_or(DesiredPayload::has_secured),
            suspended: spec.suspend,
            newer: inputs.map_or(Newer::Unknown, |inputs| self.newer(inputs, record)),
            wanted: self.identity.clone(),
            deletion_policy: spec.deletion_policy_of(self.context.settings.default_deletion_policy),
            record,
            texts: inputs.map_or(Texts::Unchanged, |inputs| self.texts(inputs, persisted)),
            handled_reconcile: request.map(|(request, _)| request.clone()),
            verified: self.verified(inputs.and_then(|inputs| inputs.verified.as_ref()), persisted),
        };
        status::summarize(&self.status(), &facts, self.context.clock.now())
    }

    fn newer(&self, inputs: &Inputs, record: ObservedRecord<'_, Record>) -> Newer {
        match (inputs.registered.latest(), record) {
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

    /// Whether the desired values were applied, as far as that can be determined without the remote.
    pub(super) async fn is_applied(&self) -> Result<bool, kube::Error> {
        let persisted = self.persisted();
        let spec = &self.object.spec;
        if spec.management_policy == ManagementPolicy::ObserveOnly {
            return Ok(true);
        }
        let contents =
            observe::contents(self.context, &self.object_ref.namespace, &value_from::references(spec)).await?;
        // The declarations are not known here: of whole objects, what was applied before is compared.
        let names = persisted.applied.as_ref().and_then(|applied| applied.names.as_ref());
        let declared = names.map(|names| names.iter().map(|item| (item.clone(), DeclaredKey::default())).collect());
        let declared = declared.map(|keys| Declared { keys, ..Declared::default() });
        let desired = desired::from_spec(spec, &contents, declared.as_ref()).ok();
        let wanted = desired.map(|mut desired| {
            desired.resolve(&persisted.urls);
            desired.wanted(&self.digests())
        });
        let same =
            wanted.zip(persisted.applied.as_ref()).is_some_and(|(wanted, applied)| decide::holds(applied, &wanted));
        let requested = reconcile::request(&*self.object, names::REDEPLOY_REQUESTED_AT);
        Ok(same && requested.is_none_or(|asked| persisted.handled_redeploy == Some(asked)))
    }
}

/// Whether the status reports the end of an operation, successful or not.
pub(super) fn reports_an_end(status: &ConnectorDeploymentStatus) -> bool {
    let ended = [Reason::ApplicationMissing, Reason::ValuesNotApplied, Reason::WaitingForApplicationUrl];
    let reason = conditions::ready_reason(&status.conditions).and_then(Reason::parse);
    conditions::is_ready(&status.conditions)
        || reason.is_some_and(|reason| reason.is_failed() || ended.contains(&reason))
}

/// Whether what was sent, or what the deployment has, may contain values from Secrets.
fn had_sources(persisted: &PersistedState) -> bool {
    let applied = persisted.applied.as_ref().is_some_and(|applied| !applied.sources.is_empty());
    let payload = persisted.operation.as_ref().and_then(|operation| operation.payload.as_ref());
    persisted.unverified || applied || payload.is_some_and(|payload| !payload.sources.is_empty())
}
