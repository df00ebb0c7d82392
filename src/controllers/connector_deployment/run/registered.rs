//! Asks the registry for the connector, through what is remembered of it, and holds back what stands against a decision.
//! What follows from its answer is for `connector_deployment/registered.rs`.

use std::time::Duration;

use jiff::Timestamp;

use super::super::decide::{CallKind, Decision, Step, Verdict};
use super::super::intent::{self, Target};
use super::super::observe::Looked;
use super::super::registered::{Registered, not_sent};
use crate::clock::later;
use crate::controllers::conditions::Told;
use crate::controllers::reason::Reason;
use crate::controllers::remote::{Offer, Offered, Remote};
use crate::crd::ManagementPolicy;

use super::{Known, Run};

/// Pause before a staged connector is read again that shows an older version than its own controller has seen.
const STAGED_AGAIN: Duration = Duration::from_secs(3);

/// What stands against a decision.
pub(super) enum Obstacle {
    /// Nothing.
    None,
    /// Something that the registry said earlier: it is asked once more, and wakes us.
    Doubt,
    /// What a person has to put right.
    Told(Told),
}

impl Run<'_> {
    /// What the registry says; `None`: it is being asked, and wakes us.
    pub(super) fn registered(&mut self, remote: &Remote, target: Option<&Target>) -> Option<Registered> {
        let spec = &self.object.spec;
        let concerned = spec.management_policy == ManagementPolicy::Full && !intent::is_deleting(&self.object);
        let Some(target) = target.filter(|_| concerned) else {
            remote.forget_offer(self.subject);
            return Some(Registered::default());
        };
        // It is read once an interval; twice that is the age of one whose reading takes its time.
        let interval = spec.effective_interval();
        let oldest = earlier(self.context.clock.now(), 2 * interval);
        // Rule 11: a request to look again is about the registry too.
        let asked = self.remembered.asked.as_ref().map(|(_, since)| *since);
        let newer_than = [self.doubted(), asked].into_iter().flatten().fold(oldest, Timestamp::max);
        let deployable = target.staged.as_ref().and_then(|staged| staged.as_ref().ok()).copied();
        let mut offer = remote.offer(self.subject, &target.name, interval, newer_than)?;
        let version =
            |offer: &Offer| if let Offered::There(offering) = &offer.found { offering.version } else { i64::MAX };
        if deployable.is_some_and(|deployable| version(&offer) < deployable) {
            // What is known of it is older than what its own controller has seen.
            offer = remote.offer(self.subject, &target.name, interval, later(offer.at, STAGED_AGAIN))?;
        }
        let registered = Registered { offer: Some(offer), deployable };
        self.note_registered(&registered);
        Some(registered)
    }

    /// What was refused for want of a connector may be sent again once the registry has it, in the version that is wanted
    /// and that it did not have before.
    fn note_registered(&mut self, registered: &Registered) {
        let version = registered.offering().map(|offering| offering.version);
        let refused = self.remembered.refusal.as_ref().is_some_and(|told| told.reason == Reason::ConnectorNotFound);
        if refused && self.remembered.registered != version {
            let wanted = self.object.spec.connector.version;
            if version.is_some_and(|version| wanted.is_none_or(|wanted| wanted == version)) {
                self.remembered.refusal = None;
                self.remembered.seen.refused = None;
            }
        }
        self.remembered.registered = version;
    }

    /// Preflight: what stands against the first call of an operation, or against a verdict, that rests on the registry.
    pub(super) fn obstacle(
        &mut self,
        remote: &Remote,
        known: &Known,
        target: Option<&Target>,
        registered: &Registered,
        looked: &Looked,
        decision: &Decision,
    ) -> Obstacle {
        let begins = self.status().operation.is_none();
        if let (Some(Err(why)), Step::Send(call)) = (target.and_then(|target| target.staged.as_ref()), &decision.step)
            && matches!(call.kind, CallKind::Create { .. })
        {
            return Obstacle::Told(intent::not_deployable(&self.object, why));
        }
        let (problems, by_registry) = match &decision.step {
            Step::Send(call) if begins => known.desired.as_ref().map_or_else(
                |_| (Vec::new(), false),
                |desired| {
                    let record = looked.record.as_deref();
                    registered.problems(&self.object, desired, &known.wanted.region, record, &call.kind)
                },
            ),
            _ => (Vec::new(), matches!(decision.verdict, Verdict::VersionUnavailable { .. })),
        };
        if problems.is_empty() && !by_registry {
            self.remembered.doubted = None;
            return Obstacle::None;
        }
        if by_registry && self.doubt(remote, target, registered) {
            return Obstacle::Doubt;
        }
        if problems.is_empty() {
            return Obstacle::None;
        }
        Obstacle::Told(Told::new(Reason::ConfigurationInvalid, not_sent(&problems)))
    }

    /// Before a person is bothered the registry is asked past what is remembered, once for each generation; true while it
    /// has not answered.
    fn doubt(&mut self, remote: &Remote, target: Option<&Target>, registered: &Registered) -> bool {
        let Some(offer) = &registered.offer else { return false };
        let now = self.context.clock.now();
        let since = self.doubted().unwrap_or(now);
        self.remembered.doubted = Some((self.object.metadata.generation.unwrap_or_default(), since));
        let Some(target) = target.filter(|_| offer.at < since) else { return false };
        remote.offer(self.subject, &target.name, self.object.spec.effective_interval(), since).is_none()
    }

    fn doubted(&self) -> Option<Timestamp> {
        let generation = self.object.metadata.generation.unwrap_or_default();
        self.remembered.doubted.filter(|(doubted, _)| *doubted == generation).map(|(_, since)| since)
    }
}

fn earlier(than: Timestamp, by: Duration) -> Timestamp {
    than.saturating_sub(by).unwrap_or(Timestamp::MIN)
}
