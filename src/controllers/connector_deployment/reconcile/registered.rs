//! Reads the connector from the registry, and stops a decision that the service would refuse, also for lack of a
//! right.
//! `connector_deployment/registered.rs` concludes what follows from the entry.

use std::sync::Arc;
use std::time::Duration;

use clock::later;
use connect_api::ApiError;
use jiff::Timestamp;

use super::super::decide::{CallKind, Decision, Outcome, Step};
use super::super::intent::{self, Target};
use super::super::persisted::OperationType;
use super::super::registered::{Registered, needs_declarations, not_sent, undeclared};
use super::super::status::Comparison;
use crate::controllers::reconcile::Next;
use crate::controllers::remote::{PollRate, RegistryAnswer, RegistryEntry, Remote};
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::observed_record::ObservedRecord;
use crate::controllers::reporting::problem;
use crate::controllers::reporting::reason::Reason;
use crate::crd::ManagementPolicy;

use super::{Inputs, Reconciler};

/// Pause before a staged connector is read again whose entry is older than the version that its own controller has
/// observed.
const STAGED_AGAIN: Duration = Duration::from_secs(3);

/// Maximum age of the declarations that a create or a move uses, and pause before the registry is read again if it does not
/// report any: a version that adds an application may be published at any time.
const DECLARATIONS_AGE: Duration = Duration::from_mins(1);

/// What prevents a decision from being carried out.
pub(super) enum Obstacle {
    /// Nothing.
    None,
    /// The registry has something else than this reconcile began with, or cannot be asked now: it begins again.
    Changed,
    /// Something that a user has to correct.
    Report(ConditionUpdate),
}

impl Reconciler<'_> {
    /// Returns what the registry has.
    ///
    /// # Errors
    /// The circuit breaker is open.
    pub(super) async fn registered(
        &mut self,
        remote: &Arc<Remote>,
        target: Option<&Target>,
    ) -> Result<Registered, ApiError> {
        let spec = &self.object.spec;
        let concerned = spec.management_policy == ManagementPolicy::Full && !self.is_deleting();
        let Some(target) = target.filter(|_| concerned) else {
            remote.forget_registry_entry(self.object_ref);
            return Ok(Registered::default());
        };
        // The registry is read once per interval; twice that allows for a read that takes its time.
        let oldest = earlier(self.context.clock.now(), 2 * spec.effective_interval());
        // Rule 11: a reconcile request also reads the registry.
        let asked = self.cache.reconcile_request.as_ref().map(|(_, since)| *since);
        let newer_than = [self.doubted(), asked].into_iter().flatten().fold(oldest, Timestamp::max);
        let deployable = target.staged.as_ref().and_then(|staged| staged.as_ref().ok()).copied();
        let mut registry_entry = self.registry_entry(remote, target, newer_than).await?;
        let version = |registry_entry: &RegistryEntry| {
            if let RegistryAnswer::There(offering) = &registry_entry.found { offering.version } else { i64::MAX }
        };
        if deployable.is_some_and(|deployable| version(&registry_entry) < deployable) {
            // The entry is older than what the controller of the staged connector has observed.
            let again = later(registry_entry.at, STAGED_AGAIN);
            self.context.clock.sleep_until(again).await;
            registry_entry = self.registry_entry(remote, target, again).await?;
        }
        let registered = Registered { registry_entry: Some(registry_entry), deployable };
        self.note_registered(&registered);
        Ok(registered)
    }

    async fn registry_entry(
        &self,
        remote: &Arc<Remote>,
        target: &Target,
        newer_than: Timestamp,
    ) -> Result<RegistryEntry, ApiError> {
        let interval = self.object.spec.effective_interval();
        remote.registry_entry(self.object_ref, &target.name, interval, newer_than).await
    }

    /// Forgets a refusal because of a missing connector once the registry has the connector in the requested version,
    /// which it did not have before.
    fn note_registered(&mut self, registered: &Registered) {
        let version = registered.offering().map(|offering| offering.version);
        let refused =
            self.cache.refusal.as_ref().is_some_and(|condition| condition.reason == Reason::ConnectorNotFound);
        if refused && self.cache.registered != version {
            let wanted = self.object.spec.connector.version;
            if version.is_some_and(|version| wanted.is_none_or(|wanted| wanted == version)) {
                self.cache.refusal = None;
                self.cache.transient.refused = None;
            }
        }
        self.cache.registered = version;
    }

    /// Preflight: finds what prevents the first call of an operation, or an outcome that is based on the registry.
    pub(super) async fn obstacle(&mut self, remote: &Arc<Remote>, inputs: &Inputs, decision: &Decision) -> Obstacle {
        let (registered, target) = (&inputs.registered, inputs.target.as_ref());
        let begun = self.persisted().operation.map(|operation| operation.kind);
        // The create after the DELETE of a Recreate is a call of its own, and is checked again.
        let begins = begun.is_none_or(|kind| kind == OperationType::Recreate);
        if let (Some(Err(why)), Step::Send(call)) = (target.and_then(|target| target.staged.as_ref()), &decision.step)
            && call.kind.creates()
        {
            return Obstacle::Report(intent::not_deployable(&self.object, why));
        }
        if let Step::Send(call) = &decision.step
            && let Some(condition) = Self::unpermitted(remote, inputs, &call.kind)
        {
            return Obstacle::Report(condition);
        }
        if let (Step::Send(call), Some(target)) = (&decision.step, target)
            && needs_declarations(&call.kind)
            && let Some(obstacle) = self.without_declarations(remote, inputs, target).await
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
            self.cache.doubted = None;
            return Obstacle::None;
        }
        if by_registry && self.is_outdated(remote, target, registered).await {
            return Obstacle::Changed;
        }
        if problems.is_empty() {
            return Obstacle::None;
        }
        Obstacle::Report(ConditionUpdate::new(Reason::ConfigurationInvalid, not_sent(&problems)))
    }

    /// Prevents a create, and a move to another version, while a recent registry entry with every application that the
    /// connector declares is missing.
    async fn without_declarations(&self, remote: &Arc<Remote>, inputs: &Inputs, target: &Target) -> Option<Obstacle> {
        let known = inputs.registered.registry_entry.as_ref()?;
        let recent = earlier(self.context.clock.now(), DECLARATIONS_AGE);
        let Ok(latest) = self.registry_entry(remote, target, recent).await else { return Some(Obstacle::Changed) };
        if latest.current && latest.found != known.found {
            return Some(Obstacle::Changed);
        }
        if matches!(&latest.found, RegistryAnswer::There(offering) if latest.current && offering.applications.is_some())
        {
            return None;
        }
        let absent = latest.found == RegistryAnswer::Absent && latest.current;
        Some(Obstacle::Report(undeclared(&target.name.selector, absent, &inputs.wanted.remote.project_key)))
    }

    /// Reads the registry once more before a problem is reported to a user: once for each generation. Returns whether that
    /// may solve the problem.
    async fn is_outdated(&mut self, remote: &Arc<Remote>, target: Option<&Target>, registered: &Registered) -> bool {
        let (Some(known), Some(target)) = (&registered.registry_entry, target) else { return false };
        let since = self.doubted().unwrap_or_else(|| self.context.clock.now());
        self.cache.doubted = Some((self.object.metadata.generation.unwrap_or_default(), since));
        let latest = self.registry_entry(remote, target, since).await;
        !latest.is_ok_and(|latest| latest.found == known.found && latest.current == known.current)
    }

    fn doubted(&self) -> Option<Timestamp> {
        let generation = self.object.metadata.generation.unwrap_or_default();
        self.cache.doubted.filter(|(doubted, _)| *doubted == generation).map(|(_, since)| since)
    }

    /// Returns why the service would refuse this call: the token names its scopes, and one is missing.
    pub(super) fn unpermitted(remote: &Remote, inputs: &Inputs, call: &CallKind) -> Option<ConditionUpdate> {
        let missing = remote.lacking(&inputs.registered.rights(call));
        (!missing.is_empty()).then(|| problem::unpermitted(&missing, &inputs.wanted.remote.project_key))
    }

    /// Reports the condition and sends nothing. Used if the decision sends a call even without values, as an undeploy
    /// does.
    pub(super) async fn withhold(
        &mut self,
        remote: &Arc<Remote>,
        inputs: &Inputs,
        decision: &Decision,
        condition: ConditionUpdate,
    ) -> Result<Next, kube::Error> {
        let persisted = self.persisted();
        let record = ObservedRecord::of(inputs.record());
        let again = declarations_again(&condition).unwrap_or(Duration::MAX);
        self.patch_status(inputs, &persisted, condition, record, Comparison::None).await?;
        let again = decision.again.unwrap_or_else(|| self.object.spec.effective_interval()).min(again);
        if let Some(id) = &persisted.id {
            let pace = PollRate::Settled(self.object.spec.effective_interval());
            remote.poll(self.object_ref, id, pace);
        }
        Ok(Next::Again(Some(again)))
    }
}

/// Returns when the registry is read again for what is missing.
pub(super) fn declarations_again(condition: &ConditionUpdate) -> Option<Duration> {
    (condition.reason == Reason::DeclarationsUnknown).then_some(DECLARATIONS_AGE)
}

fn earlier(than: Timestamp, by: Duration) -> Timestamp {
    than.saturating_sub(by).unwrap_or(Timestamp::MIN)
}
