//! Reads the connector from the registry, and stops a decision that the service would refuse, also for lack of a
//! right.
//! `deployment/registered.rs` concludes what follows from the entry.

use std::sync::Arc;
use std::time::Duration;

use clock::later;
use connect_api::ApiError;
use jiff::Timestamp;

use super::super::decide::{Call, Decision, Outcome, Step};
use super::super::intent::{self, Target};
use super::super::persisted::OperationType;
use super::super::registered::{Registered, not_sent, undeclared};
use crate::crd::ManagementPolicy;
use crate::operator::reconcile::Next;
use crate::operator::reconcile::record::Stop;
use crate::operator::remote::{RegistryAnswer, RegistryEntry, Remote};
use crate::operator::reporting::conditions::{ConditionUpdate, ready_reason};
use crate::operator::reporting::problem;
use crate::operator::reporting::reason::Reason;

use super::{Inputs, Reconciler};

/// Pause before a staged connector is read again whose entry is older than the version that its own controller has
/// observed.
const STAGED_AGAIN: Duration = Duration::from_secs(3);

/// Maximum age of the declarations that a create or a move uses, and pause before the registry is read again if it does not
/// report any: a version that adds an application may be published at any time.
const DECLARATIONS_AGE: Duration = Duration::from_mins(1);

/// The reconcile begins again.
const AT_ONCE: Stop = Stop::End(Next::Again(Some(Duration::ZERO)));

impl Reconciler<'_> {
    /// Returns what the registry has.
    ///
    /// # Errors
    /// The circuit breaker is open.
    pub(super) async fn registered(
        &self,
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
        if ready_reason(&self.status().conditions) == Some(Reason::DeclarationsUnknown.as_str()) {
            let recent = earlier(self.context.clock.now(), DECLARATIONS_AGE);
            registry_entry = self.registry_entry(remote, target, recent).await?;
        }
        Ok(Registered { registry_entry: Some(registry_entry), deployable })
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

    /// Preflight: returns what a user has to correct before the decision is carried out.
    ///
    /// # Errors
    /// The registry has something else than this reconcile began with, or cannot be asked now: it begins again.
    pub(super) async fn obstacle(
        &mut self,
        remote: &Arc<Remote>,
        inputs: &Inputs,
        decision: &Decision,
    ) -> Result<Option<ConditionUpdate>, Stop> {
        let (mut problems, mut by_registry) =
            (Vec::new(), matches!(decision.outcome, Outcome::VersionUnavailable { .. }));
        if let Step::Send(Call { kind, .. }) = &decision.step {
            let target = inputs.target.as_ref();
            if let Some(Err(why)) = target.and_then(|target| target.staged.as_ref())
                && kind.creates()
            {
                return Ok(Some(intent::not_deployable(&self.object, why)));
            }
            let missing = remote.lacking(&inputs.registered.rights(*kind));
            if !missing.is_empty() {
                return Ok(Some(problem::unpermitted(&missing, &inputs.wanted.remote.project_key)));
            }
            if kind.deploys_latest()
                && let Some(condition) = self.without_declarations(remote, inputs).await?
            {
                return Ok(Some(condition));
            }
            let begun = self.persisted().operation.map(|operation| operation.kind);
            // The create after the DELETE of a Recreate is a call of its own, and is checked again.
            if let (None | Some(OperationType::Recreate), Ok(desired)) = (begun, &inputs.desired) {
                let (region, record) = (&inputs.wanted.region, inputs.record());
                (problems, by_registry) = inputs.registered.problems(&self.object, desired, region, record, *kind);
            }
        }
        if by_registry {
            // A mistake is not reported because of an outdated entry: the registry is read once more for each generation.
            let since = self.doubted().unwrap_or_else(|| self.context.clock.now());
            self.cache.doubted = Some((self.generation(), since));
            self.confirmed(remote, inputs, since).await?;
        } else if problems.is_empty() {
            self.cache.doubted = None;
        }
        Ok((!problems.is_empty()).then(|| ConditionUpdate::new(Reason::ConfigurationInvalid, not_sent(&problems))))
    }

    /// Prevents a create, and a move to another version, while a recent registry entry with every application that the
    /// connector declares is missing.
    async fn without_declarations(
        &self,
        remote: &Arc<Remote>,
        inputs: &Inputs,
    ) -> Result<Option<ConditionUpdate>, Stop> {
        let recent = earlier(self.context.clock.now(), DECLARATIONS_AGE);
        let Some((target, latest)) = self.confirmed(remote, inputs, recent).await? else { return Ok(None) };
        if latest.current && latest.declares() {
            return Ok(None);
        }
        Ok(Some(undeclared(&target.name.selector, latest.is_absent(), &inputs.wanted.remote.project_key)))
    }

    /// Returns what the registry has at `newer_than` or later; `None`: this reconcile has not read it.
    ///
    /// # Errors
    /// That differs from what this reconcile began with, or cannot be read now: it begins again.
    async fn confirmed<'i>(
        &self,
        remote: &Arc<Remote>,
        inputs: &'i Inputs,
        newer_than: Timestamp,
    ) -> Result<Option<(&'i Target, RegistryEntry)>, Stop> {
        let (Some(known), Some(target)) = (&inputs.registered.registry_entry, &inputs.target) else { return Ok(None) };
        let latest = self.registry_entry(remote, target, newer_than).await.map_err(|_| AT_ONCE)?;
        let is_same = latest.found == known.found && latest.current == known.current;
        if is_same { Ok(Some((target, latest))) } else { Err(AT_ONCE) }
    }

    fn doubted(&self) -> Option<Timestamp> {
        self.cache.doubted.filter(|(doubted, _)| *doubted == self.generation()).map(|(_, since)| since)
    }
}

/// Returns when the registry is read again for what is missing.
pub(super) fn declarations_again(condition: &ConditionUpdate) -> Option<Duration> {
    (condition.reason == Reason::DeclarationsUnknown).then_some(DECLARATIONS_AGE)
}

fn earlier(than: Timestamp, by: Duration) -> Timestamp {
    than.saturating_sub(by).unwrap_or(Timestamp::MIN)
}
