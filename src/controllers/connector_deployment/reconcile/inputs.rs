//! Collects what a decision needs: the values, their digests, and what the connector declares.

use std::collections::BTreeMap;

use connect_api::mask::Masker;
use connect_api::model::{Deployment as Record, DeploymentStatus};
use kube::runtime::events::EventType;
use secrecy::ExposeSecret;

use super::super::application_urls;
use super::super::applications;
use super::super::decide::DesiredPayload;
use super::super::declared::Declared;
use super::super::desired::{self, Desired};
use super::super::intent::{self, Target};
use super::super::observe::{self, RecordRead};
use super::super::registered::Registered;
use super::super::status::DesiredIdentity;
use super::super::value_from;
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::event_reason::EventReason;
use crate::controllers::reporting::reason::Reason;
use crate::controllers::values::names::Item;
use crate::crd::ManagementPolicy;

use super::Reconciler;

/// What a decision is made from.
pub(super) struct Inputs {
    pub(super) wanted: DesiredIdentity,
    /// What the registry has about the connector.
    pub(super) registered: Registered,
    pub(super) desired: Result<Desired, ConditionUpdate>,
    pub(super) payload: Option<DesiredPayload>,
    pub(super) masker: Masker,
    pub(super) target: Option<Target>,
    /// The declarations of the version that will run: the current one, or the one to which a redeploy is about to move.
    /// `None`: not known.
    pub(super) declared: Option<Declared>,
    pub(super) read: RecordRead,
    /// The condition of the resources in `spec.verify`; `None`: they were not looked up.
    pub(super) verified: Option<ConditionUpdate>,
}

impl Inputs {
    pub(super) fn record(&self) -> Option<&Record> {
        self.read.record.as_deref()
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
    ) -> Result<Inputs, kube::Error> {
        let spec = &self.object.spec;
        let record = read.record.clone();
        let record = record.as_deref();
        let mut inputs = Inputs {
            wanted,
            registered,
            desired: Err(ConditionUpdate::new(Reason::Undeploying, "")),
            payload: None,
            masker: Masker::new([]),
            target,
            declared: None,
            read,
            verified: None,
        };
        // To mask the report of a failed undeploy, the values are read as far as they still exist.
        let failed = record.is_some_and(|record| record.status == DeploymentStatus::UndeployFailed);
        if spec.management_policy == ManagementPolicy::ObserveOnly || (self.is_deleting() && !failed) {
            return Ok(inputs);
        }
        let contents = observe::contents(self.context, self.object_ref, &value_from::references(spec)).await?;
        inputs.declared = inputs.registered.declarations(&self.object, record);
        let mut desired = match desired::from_spec(spec, &contents, inputs.declared.as_ref()) {
            Ok(desired) => desired,
            Err(unready) => {
                let region = &inputs.wanted.region;
                inputs.desired = Err(inputs.registered.condition(&self.object, unready, region, record));
                return Ok(inputs);
            }
        };
        if let Some(record) = record {
            desired.fit(&applications::missing(record), inputs.declared.as_ref(), &self.persisted());
        }
        desired.resolve(&application_urls::urls(record, &self.status()));
        inputs.payload = Some(desired.wanted(&self.digests(), &intent::ignored(&self.object)));
        inputs.masker = Masker::new(desired.values.secrets().map(ExposeSecret::expose_secret));
        self.report_undeclared(&desired.undeclared);
        self.report_invisible(&desired.invisible);
        inputs.desired = Ok(desired);
        Ok(inputs)
    }

    /// Rule 14: names the keys that are not sent in one Event.
    fn report_undeclared(&mut self, undeclared: &[String]) {
        if self.cache.undeclared == undeclared {
            return;
        }
        self.cache.undeclared = undeclared.to_vec();
        if !undeclared.is_empty() {
            let note = format!("Not sent, because the connector does not declare them: {}", undeclared.join(", "));
            self.context.report(&*self.object, EventType::Normal, EventReason::KeysNotDeclared, "Configure", &note);
        }
    }

    /// Names the values with invisible characters at an end in one Event.
    fn report_invisible(&mut self, invisible: &BTreeMap<Item, String>) {
        let note = value_from::invisible_note(invisible);
        if self.cache.invisible_note == note {
            return;
        }
        self.cache.invisible_note.clone_from(&note);
        if let Some(note) = note {
            let reason = EventReason::InvisibleCharacters;
            self.context.report(&*self.object, EventType::Warning, reason, "Configure", &note);
        }
    }
}
