//! Asks the registry for the connector, through what is remembered of it, and holds back what stands against a decision.
//! What follows from its answer is for `connector_deployment/registered.rs`.

use std::time::Duration;

use clock::later;
use connect_api::scopes::{self, Right};
use jiff::Timestamp;

use super::super::decide::{CallKind, Decision, Outcome, Step};
use super::super::intent::{self, Target};
use super::super::registered::{Registered, not_sent};
use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::reason::Reason;
use crate::controllers::remote::{RegistryAnswer, RegistryEntry, Remote};
use crate::crd::ManagementPolicy;
use crate::crd::connector_deployment_status::OperationType;

use super::{Deployment, Inputs};

/// Pause before a staged connector is read again that shows an older version than its own controller has seen.
const STAGED_AGAIN: Duration = Duration::from_secs(3);

/// How old the declarations may be that a create or a move goes by: a version that adds an application may be published
/// at any time.
const DECLARATIONS_AGE: Duration = Duration::from_mins(1);
/// Pause before the registry is asked again that did not say what a connector declares.
const DECLARATIONS_AGAIN: Duration = Duration::from_mins(1);

/// What stands against a decision.
pub(super) enum Obstacle {
    /// Nothing.
    None,
    /// Something that the registry said earlier: it is asked once more, and wakes us.
    Doubt,
    /// What a person has to put right.
    Report(ConditionUpdate),
}

impl Deployment<'_> {
    /// What the registry says; `None`: it is being asked, and wakes us.
    pub(super) fn registered(&mut self, remote: &Remote, target: Option<&Target>) -> Option<Registered> {
        let spec = &self.object.spec;
        let concerned = spec.management_policy == ManagementPolicy::Full && !self.is_deleting();
        let Some(target) = target.filter(|_| concerned) else {
            remote.forget_registry_entry(self.object_ref);
            return Some(Registered::default());
        };
        // It is read once an interval; twice that is the age of one whose reading takes its time.
        let interval = spec.effective_interval();
        let oldest = earlier(self.context.clock.now(), 2 * interval);
        // Rule 11: a request to look again is about the registry too.
        let asked = self.cache.asked.as_ref().map(|(_, since)| *since);
        let newer_than = [self.doubted(), asked].into_iter().flatten().fold(oldest, Timestamp::max);
        let deployable = target.staged.as_ref().and_then(|staged| staged.as_ref().ok()).copied();
        let mut registry_entry = remote.registry_entry(self.object_ref, &target.name, interval, newer_than)?;
        let version = |registry_entry: &RegistryEntry| {
            if let RegistryAnswer::There(offering) = &registry_entry.found { offering.version } else { i64::MAX }
        };
        if deployable.is_some_and(|deployable| version(&registry_entry) < deployable) {
            // What is known of it is older than what its own controller has seen.
            registry_entry = remote.registry_entry(
                self.object_ref,
                &target.name,
                interval,
                later(registry_entry.at, STAGED_AGAIN),
            )?;
        }
        let registered = Registered { registry_entry: Some(registry_entry), deployable };
        self.note_registered(&registered);
        Some(registered)
    }

    /// What was refused for want of a connector may be sent again once the registry has it, in the version that is wanted
    /// and that it did not have before.
    fn note_registered(&mut self, registered: &Registered) {
        let version = registered.offering().map(|offering| offering.version);
        let refused =
            self.cache.refusal.as_ref().is_some_and(|condition| condition.reason == Reason::ConnectorNotFound);
        if refused && self.cache.own.registered != version {
            let wanted = self.object.spec.connector.version;
            if version.is_some_and(|version| wanted.is_none_or(|wanted| wanted == version)) {
                self.cache.refusal = None;
                self.cache.transient.refused = None;
            }
        }
        self.cache.own.registered = version;
    }

    /// Preflight: what stands against the first call of an operation, or against a verdict, that rests on the registry.
    pub(super) fn obstacle(
        &mut self,
        remote: &Remote,
        inputs: &Inputs,
        target: Option<&Target>,
        decision: &Decision,
    ) -> Obstacle {
        let registered = &inputs.registered;
        let begun = self.status().operation.map(|operation| operation.operation_type);
        // What follows the DELETE of a Recreate is another call.
        let begins = begun.is_none_or(|kind| kind == OperationType::Recreate);
        if let (Some(Err(why)), Step::Send(call)) = (target.and_then(|target| target.staged.as_ref()), &decision.step)
            && call.kind.creates()
        {
            return Obstacle::Report(intent::not_deployable(&self.object, why));
        }
        if let Step::Send(call) = &decision.step
            && let Some(condition) = self.unpermitted(remote, inputs, &call.kind)
        {
            return Obstacle::Report(condition);
        }
        if let (Step::Send(call), Some(target)) = (&decision.step, target)
            && needs_declarations(&call.kind)
            && let Some(obstacle) = self.without_declarations(remote, inputs, target)
        {
            return obstacle;
        }
        let (problems, by_registry) = match &decision.step {
            Step::Send(call) if begins => inputs.desired.as_ref().map_or_else(
                |_| (Vec::new(), false),
                |desired| {
                    let record = inputs.record();
                    registered.problems(&self.object, desired, &inputs.wanted.region, record, &call.kind)
                },
            ),
            _ => (Vec::new(), matches!(decision.outcome, Outcome::VersionUnavailable { .. })),
        };
        if problems.is_empty() && !by_registry {
            self.cache.own.doubted = None;
            return Obstacle::None;
        }
        if by_registry && self.doubt(remote, target, registered) {
            return Obstacle::Doubt;
        }
        if problems.is_empty() {
            return Obstacle::None;
        }
        Obstacle::Report(ConditionUpdate::new(Reason::ConfigurationInvalid, not_sent(&problems)))
    }

    /// What a create and a move to another version need to know, and do not: every application that the connector declares,
    /// as the registry says it now. It is asked again soon, and wakes us.
    fn without_declarations(&self, remote: &Remote, inputs: &Inputs, target: &Target) -> Option<Obstacle> {
        let project = &inputs.wanted.remote.project_key;
        let registry_entry = inputs.registered.registry_entry.as_ref()?;
        let now = self.context.clock.now();
        let interval = self.object.spec.effective_interval();
        let ask = |newer_than| remote.registry_entry(self.object_ref, &target.name, interval, newer_than);
        let declared =
            matches!(&registry_entry.found, RegistryAnswer::There(offering) if offering.applications.is_some());
        let fresh = earlier(now, DECLARATIONS_AGE);
        if declared
            && registry_entry.current
            && (registry_entry.at >= fresh || ask(fresh).is_some_and(|registry_entry| registry_entry.current))
        {
            return None;
        }
        if declared && registry_entry.current {
            return Some(Obstacle::Doubt);
        }
        let absent = registry_entry.found == RegistryAnswer::Absent && registry_entry.current;
        if !absent {
            ask(later(registry_entry.at, DECLARATIONS_AGAIN));
        }
        let (reason, message) = match &registry_entry.found {
            // Whoever names it is woken once it is there.
            _ if absent => (
                Reason::ConnectorNotFound,
                "The registry has no such connector for this project: correct spec.connector".to_owned(),
            ),
            _ => (
                Reason::DeclarationsUnknown,
                format!(
                    "Nothing is sent: the registry does not say which applications the connector declares, and each of them \
                     has to be named. The registry is asked again until it does. The API client needs {}",
                    scopes::explain(&[Right::ViewConnectors], project)
                ),
            ),
        };
        Some(Obstacle::Report(ConditionUpdate::new(reason, message)))
    }

    /// Before a person is bothered the registry is asked past what is remembered, once for each generation; true while it
    /// has not answered.
    fn doubt(&mut self, remote: &Remote, target: Option<&Target>, registered: &Registered) -> bool {
        let Some(registry_entry) = &registered.registry_entry else { return false };
        let now = self.context.clock.now();
        let since = self.doubted().unwrap_or(now);
        self.cache.own.doubted = Some((self.object.metadata.generation.unwrap_or_default(), since));
        let Some(target) = target.filter(|_| registry_entry.at < since) else { return false };
        remote.registry_entry(self.object_ref, &target.name, self.object.spec.effective_interval(), since).is_none()
    }

    fn doubted(&self) -> Option<Timestamp> {
        let generation = self.object.metadata.generation.unwrap_or_default();
        self.cache.own.doubted.filter(|(doubted, _)| *doubted == generation).map(|(_, since)| since)
    }
}

/// Whether a call has to name every application that the connector declares.
pub(super) fn needs_declarations(call: &CallKind) -> bool {
    call.creates() || matches!(call, CallKind::Redeploy { update_connector: true, .. })
}

fn earlier(than: Timestamp, by: Duration) -> Timestamp {
    than.saturating_sub(by).unwrap_or(Timestamp::MIN)
}
