//! Collects what a decision needs: the values, their digests, and what the connector declares.

use connect_api::mask::Masker;
use connect_api::model::{Deployment as Record, DeploymentStatus};
use kube::runtime::events::EventType;
use secrecy::ExposeSecret;

use super::super::application_urls::{self, Urls};
use super::super::applications;
use super::super::decide::{self, DesiredPayload};
use super::super::declared::Declared;
use super::super::desired::{self, Desired};
use super::super::intent::Target;
use super::super::observe::{self, RecordRead};
use super::super::persisted::{Observation, ObservedDeployment, PersistedState};
use super::super::registered::{Registered, undeclared};
use super::super::status::DesiredIdentity;
use super::super::value_from;
use crate::crd::ManagementPolicy;
use crate::operator::reconcile::record::Stop;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::event_reason::EventReason;
use crate::operator::reporting::reason::Reason;
use crate::operator::values::names::{Item, Names, differences};

use super::Reconciler;

/// What a decision is made from.
pub(super) struct Inputs {
    pub(super) wanted: DesiredIdentity,
    /// What the registry has about the connector.
    pub(super) registered: Registered,
    pub(super) desired: Result<Desired, ConditionUpdate>,
    /// Whether an object that the spec names, and that may be missing, does not exist.
    pub(super) optional_missing: bool,
    pub(super) payload: Option<DesiredPayload>,
    pub(super) masker: Masker,
    pub(super) target: Option<Target>,
    /// The declarations of the version that will run: the current one, or the one to which a redeploy is about to move.
    /// `None`: not known.
    pub(super) declared: Option<Declared>,
    /// The URLs that values are made of; `None`: the values are not known.
    pub(super) urls: Option<Urls>,
    pub(super) read: RecordRead,
    pub(super) observation: Observation,
    /// The condition of the resources in `spec.verify`; `None`: they were not looked up.
    pub(super) verified: Option<ConditionUpdate>,
}

impl Inputs {
    pub(super) fn record(&self) -> Option<&Record> {
        self.read.record.as_deref()
    }

    pub(super) fn observed(&self) -> Option<&ObservedDeployment> {
        match &self.observation {
            Observation::Present(observed) => Some(observed),
            Observation::Absent { .. } => None,
        }
    }

    /// Returns the names of the visible values that the remote shows otherwise than they are desired.
    pub(super) fn differing(&self) -> Vec<Item> {
        let both = self.observed().zip(self.payload.as_ref());
        both.map(|(seen, wanted)| differences(&wanted.values, &seen.values).into_keys().cloned().collect())
            .unwrap_or_default()
    }

    /// Returns the names of what the deployment has and the spec does not name; `None`: they are not known.
    pub(super) fn retained(&self, persisted: &PersistedState) -> Option<Names> {
        let (seen, wanted) = (self.observed()?, self.payload.as_ref()?);
        let applied = persisted.applied.as_ref().filter(|applied| applied.names.is_some())?;
        Some(decide::retained(applied, &wanted.payload.names, seen))
    }

    /// Whether values that the deployment has are not desired any more.
    pub(super) fn removes(&self, persisted: &PersistedState) -> bool {
        self.desired.as_ref().is_ok_and(|desired| !desired.reset.is_empty())
            || self.retained(persisted).is_some_and(|names| !names.is_empty())
    }
}

impl Reconciler<'_> {
    /// Reads the values, unless the decision cannot depend on them.
    pub(super) async fn inputs(
        &mut self,
        wanted: DesiredIdentity,
        target: Option<Target>,
        registered: Registered,
        read: RecordRead,
    ) -> Result<Inputs, Stop> {
        let spec = &self.object.spec;
        let record = read.record.clone();
        let record = record.as_deref();
        let mut inputs = Inputs {
            wanted,
            registered,
            desired: Err(ConditionUpdate::new(Reason::Undeploying, "")),
            optional_missing: false,
            payload: None,
            masker: Masker::new([]),
            target,
            declared: None,
            urls: None,
            observation: observe::observation(&read),
            read,
            verified: None,
        };
        // To mask the report of a failed undeploy, the values are read as far as they still exist.
        let failed = record.is_some_and(|record| record.status == DeploymentStatus::UndeployFailed);
        if spec.management_policy == ManagementPolicy::ObserveOnly || (self.is_deleting() && !failed) {
            return Ok(inputs);
        }
        let named = value_from::references(spec);
        let contents = observe::contents(self.context, &self.object_ref.namespace, &named).await?;
        inputs.declared = inputs.registered.declarations(&self.object, record);
        if inputs.declared.is_none() && !spec.configuration_from.is_empty() {
            if let Some(target) = &inputs.target {
                let absent = inputs.registered.is_absent();
                inputs.desired = Err(undeclared(&target.name.selector, absent, &inputs.wanted.remote.project_key));
            }
            return Ok(inputs);
        }
        let mut desired = match desired::from_spec(spec, &contents, inputs.declared.as_ref()) {
            Ok(desired) => desired,
            Err(unready) => {
                let region = &inputs.wanted.region;
                inputs.desired = Err(inputs.registered.condition(&self.object, unready, region, record));
                return Ok(inputs);
            }
        };
        inputs.optional_missing = named.iter().any(|reference| !contents.contains_key(reference));
        let persisted = self.persisted();
        if let Some(record) = record {
            desired.fit(&applications::missing(record), inputs.declared.as_ref(), &persisted);
        }
        let urls = application_urls::urls(record, &persisted);
        desired.resolve(&urls);
        inputs.urls = Some(desired.used(urls));
        inputs.payload = Some(desired.wanted(&self.digests()));
        inputs.masker = Masker::new(desired.values.secured.values().map(ExposeSecret::expose_secret));
        // Rule 14.
        self.report_once(EventType::Normal, EventReason::KeysNotSent, desired.not_sent_note());
        self.report_once(EventType::Warning, EventReason::InvisibleCharacters, desired.invisible_note());
        inputs.desired = Ok(desired);
        Ok(inputs)
    }

    /// Reports a note about the values in one Event, as long as it stays the same.
    fn report_once(&mut self, type_: EventType, reason: EventReason, note: Option<String>) {
        let notes = &mut self.cache.notes;
        let before = notes.remove(reason.as_str());
        let Some(note) = note else { return };
        notes.insert(reason.as_str(), note.clone());
        if before.as_ref() != Some(&note) {
            self.context.report(&*self.object, type_, reason, "Configure", &note);
        }
    }
}
