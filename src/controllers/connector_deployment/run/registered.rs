//! What the registry says of the connector: which version is its latest (rule 15), what it declares (rule 14), and
//! whether the service would take what is about to be sent (preflight).

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::super::decide::{CallKind, Decision, Step, Verdict};
use super::super::desired::Declared;
use super::super::observe::{self, Looked};
use super::super::{intent, preflight};
use crate::connect::model::Deployment;
use crate::controllers::conditions::Told;
use crate::controllers::reason::Reason;
use crate::controllers::remote::{Offer, Offered, Offering, Remote};
use crate::crd::{ManagementPolicy, UpdatePolicy};

use super::{Known, Run};

/// What the registry says, as far as it was asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Registered {
    offer: Option<Offer>,
}

impl Registered {
    fn offering(&self) -> Option<&Arc<Offering>> {
        match &self.offer.as_ref()?.found {
            Offered::There(offering) => Some(offering),
            Offered::Absent | Offered::Unreadable => None,
        }
    }

    /// The registry's latest version; a staged connector has none.
    pub(super) fn latest(&self) -> Option<i64> {
        self.offering().filter(|offering| offering.previewable.is_none()).map(|offering| offering.version)
    }

    fn declared(&self) -> Option<Declared> {
        let offering = self.offering()?;
        observe::declared(offering.applications.as_ref(), offering.global.as_ref())
    }
}

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
    pub(super) fn registered(&mut self, remote: &Remote) -> Option<Registered> {
        let spec = &self.object.spec;
        let concerned = spec.management_policy == ManagementPolicy::Full && intent::deletion(&self.object).is_none();
        let Some(name) = intent::connector_name(&self.object).filter(|_| concerned) else {
            remote.forget_offer(self.subject);
            return Some(Registered::default());
        };
        // It is read once an interval; twice that is the age of one whose reading takes its time.
        let interval = spec.effective_interval();
        let oldest = earlier(self.context.clock.now(), 2 * interval);
        // Rule 11: a request to look again is about the registry too.
        let asked = self.remembered.asked.as_ref().map(|(_, since)| *since);
        let newer_than = [self.doubted(), asked].into_iter().flatten().fold(oldest, Timestamp::max);
        let registered = Registered { offer: Some(remote.offer(self.subject, &name, interval, newer_than)?) };
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

    /// The declarations of the version that will run (rule 14): those of the record, unless a redeploy is to move it.
    pub(super) fn declarations(&self, registered: &Registered, looked: &Looked) -> Option<Declared> {
        let recorded = looked.record.as_ref().and_then(|record| {
            observe::declared(record.connector.configurations.as_ref(), record.connector.global_configuration.as_ref())
        });
        let moves = looked.record.as_ref().is_some_and(|record| self.moves(registered, record));
        if moves { registered.declared().or(recorded) } else { recorded.or_else(|| registered.declared()) }
    }

    /// Whether a redeploy would move to the registry's latest version (rule 15).
    fn moves(&self, registered: &Registered, record: &Deployment) -> bool {
        let connector = &self.object.spec.connector;
        let follows = connector.update_policy == UpdatePolicy::Latest;
        registered
            .latest()
            .is_some_and(|latest| latest > record.connector.version && (follows || connector.version == Some(latest)))
    }

    /// Preflight: what stands against the first call of an operation, or against a verdict, that rests on the registry.
    pub(super) fn obstacle(
        &mut self,
        remote: &Remote,
        known: &Known,
        registered: &Registered,
        looked: &Looked,
        decision: &Decision,
    ) -> Obstacle {
        let begins = self.status().operation.is_none();
        let (problems, by_registry) = match &decision.step {
            Step::Send(call) if begins => self.problems(known, registered, looked, &call.kind),
            _ => (Vec::new(), matches!(decision.verdict, Verdict::VersionUnavailable { .. })),
        };
        if problems.is_empty() && !by_registry {
            self.remembered.doubted = None;
            return Obstacle::None;
        }
        if by_registry && self.doubt(remote, registered) {
            return Obstacle::Doubt;
        }
        if problems.is_empty() {
            return Obstacle::None;
        }
        Obstacle::Told(Told::new(Reason::ConfigurationInvalid, format!("Not sent: {}", problems.join("; "))))
    }

    /// What the service would refuse, and whether that is by what the registry said. What is not known is no problem.
    fn problems(
        &self,
        known: &Known,
        registered: &Registered,
        looked: &Looked,
        call: &CallKind,
    ) -> (Vec<String>, bool) {
        let Ok(desired) = &known.desired else { return (Vec::new(), false) };
        let wanted = self.object.spec.connector.version;
        match call {
            CallKind::Create { .. } | CallKind::Redeploy { update_connector: true, .. } => {
                let current = registered.offer.as_ref().is_some_and(|offer| offer.current);
                let will_run = |offering: &&Arc<Offering>| wanted.is_none_or(|wanted| wanted == offering.version);
                let Some(offering) = registered.offering().filter(|_| current).filter(will_run) else {
                    return (Vec::new(), false);
                };
                let problems = preflight::of_offering(&desired.values, &known.wanted.region, offering);
                let by_registry = !problems.is_empty();
                (problems, by_registry)
            }
            CallKind::Redeploy { update_connector: false, .. } => {
                let connector = looked.record.as_ref().map(|record| &record.connector);
                let applications = connector.and_then(|connector| connector.configurations.as_deref());
                let global = connector.and_then(|connector| connector.global_configuration.as_ref());
                (preflight::of_declarations(&desired.values, applications, global), false)
            }
            CallKind::Undeploy { .. } => (Vec::new(), false),
        }
    }

    /// Before a person is bothered the registry is asked past what is remembered, once for each generation; true while it
    /// has not answered.
    fn doubt(&mut self, remote: &Remote, registered: &Registered) -> bool {
        let Some(offer) = &registered.offer else { return false };
        let now = self.context.clock.now();
        let since = self.doubted().unwrap_or(now);
        self.remembered.doubted = Some((self.object.metadata.generation.unwrap_or_default(), since));
        let Some(name) = intent::connector_name(&self.object).filter(|_| offer.at < since) else { return false };
        remote.offer(self.subject, &name, self.object.spec.effective_interval(), since).is_none()
    }

    fn doubted(&self) -> Option<Timestamp> {
        let generation = self.object.metadata.generation.unwrap_or_default();
        self.remembered.doubted.filter(|(doubted, _)| *doubted == generation).map(|(_, since)| since)
    }
}

fn earlier(than: Timestamp, by: Duration) -> Timestamp {
    than.saturating_sub(by).unwrap_or(Timestamp::MIN)
}
