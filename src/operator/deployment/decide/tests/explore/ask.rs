//! Asks the real `decide`, and converts its decision to numbers.

use super::Explorer;
use super::broken_rules;
use super::settings::Second;
use super::world::{ConditionUpdate, Deployment, Resource, Status, Verb};
use crate::operator::cluster::references::Source;
use crate::operator::deployment::decide::tests::build::{self, Fixture, identity, intent, visible};
use crate::operator::deployment::decide::{Call, CallKind, DesiredPayload, Intent, Outcome, Step};
use crate::operator::deployment::persisted::{
    DeletionPolicy, Observation, ObservedDeployment, Operation, PersistedState, Phase, Sources,
};
use crate::operator::values::digest::{Digest, DigestKey, KEY_LENGTH};
use crate::operator::values::names::{Item, Names};

/// What one observation leads to; the same question always has the same answer.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct Decided {
    pub(super) persisted: u32,
    pub(super) transient: u32,
    pub(super) condition: ConditionUpdate,
    pub(super) step: Verb,
    pub(super) remove_finalizer: bool,
    pub(super) extra: bool,
    pub(super) version: u8,
    pub(super) gone: u8,
}

/// Everything that a decision depends on here.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Question {
    pub(super) resource: Resource,
    pub(super) transient: u32,
    pub(super) secret: u8,
    /// Number of the digest key.
    pub(super) key: u8,
    /// What the observation finds by id or key, and another id under the key.
    pub(super) found: Deployment,
    pub(super) other: u8,
}

pub(super) fn name(id: u8) -> String {
    format!("id-{id}")
}

pub(super) fn number(id: &str) -> u8 {
    id.strip_prefix("id-").and_then(|digits| digits.parse().ok()).expect("name() makes the ids here")
}

pub(super) fn phase(status: Status) -> Phase {
    match status {
        Status::Busy => Phase::Deploying,
        Status::Deployed => Phase::Deployed,
        Status::Failed => Phase::Failed,
        Status::Undeploying => Phase::Undeploying,
        Status::UndeployFailed => Phase::UndeployFailed,
    }
}

/// A digest key of the operator.
pub(super) fn digests(key: u8) -> DigestKey {
    DigestKey::new([key; KEY_LENGTH])
}

impl Explorer {
    /// `second`: whether the second value is desired.
    pub(super) fn wanted(&self, (value, second): (u8, bool), secret: u8, key: u8) -> DesiredPayload {
        let mut wanted = build::wanted(&value.to_string(), &secret.to_string());
        let digests = digests(key);
        let more = if second { "-second" } else { "" };
        wanted.payload.digest = Digest::parse(&format!("key-{key}:{value}-{secret}{more}"));
        if second {
            match self.settings.second {
                Second::None => {}
                Second::Plain => {
                    let plain = [("A", value.to_string()), ("B", "second".to_owned())];
                    let plain: Vec<_> = plain.iter().map(|(key, value)| (*key, value.as_str())).collect();
                    wanted = DesiredPayload { payload: wanted.payload, ..build::wanting(&plain, &[("T", "")]) };
                    wanted.payload.names.insert(self.second());
                }
                Second::Secured | Second::Hidden => wanted.payload.names.insert(self.second()),
            }
        }
        wanted.payload.visible = digests.of_visible(&wanted.payload.names, &wanted.values);
        if self.settings.sources {
            let (kind, name, uid) = ("Secret".into(), "secret".into(), "uid".into());
            wanted.payload.sources = Sources::of(&[Source { kind, name, uid, resource_version: secret.to_string() }]);
        }
        wanted
    }

    /// The name of the second value.
    pub(super) fn second(&self) -> Item {
        match self.settings.second {
            Second::None | Second::Plain => Item::standard("service", "B"),
            Second::Secured | Second::Hidden => Item::secured("service", "U"),
        }
    }

    /// Returns a visible value as the remote shows it.
    pub(super) fn shown(&self, value: u8) -> String {
        let otherwise = if self.settings.normalises { " " } else { "" };
        format!("{value}{otherwise}")
    }

    pub(super) fn observed(&self, found: &Deployment) -> ObservedDeployment {
        let old = self.settings.late_values && (found.pending > 0 || found.status == Status::Busy);
        let value = if old { found.visible_before } else { found.visible };
        let mut observed = build::observed(phase(found.status));
        observed.id = name(found.id);
        observed.version = found.version.into();
        observed.build = Some(format!("build-{}", found.build));
        let shown = self.shown(value);
        let mut values = vec![("A", shown.as_str())];
        match self.settings.second {
            Second::Plain if found.second => values.push(("B", "second")),
            Second::Secured if found.second => observed.secured.insert(Item::secured("service", "U")),
            Second::Hidden => observed.secured = Names::default(),
            _ => {}
        }
        observed.values = visible(&values);
        observed
    }

    fn intent(&self, resource: &Resource) -> Intent {
        let stays = resource.orphan || resource.observed;
        Intent {
            generation: resource.generation.into(),
            identity: identity(),
            remote_id: (resource.annotation != 0).then(|| name(resource.annotation)),
            redeploy_request: (resource.request != 0).then(|| resource.request.to_string()),
            deletion: resource.deleting.then_some(if stays { DeletionPolicy::Orphan } else { DeletionPolicy::Delete }),
            adopt: self.settings.adopt,
            observe_only: resource.observed,
            suspended: resource.suspended,
            correct_drift: self.settings.correct,
            ..intent()
        }
    }

    pub(super) fn ask(&mut self, mut question: Question) -> Decided {
        // Conditions and labels do not influence a decision.
        question.resource =
            Resource { condition: ConditionUpdate::Unknown, reported_generation: 0, labels: 0, ..question.resource };
        if let Some(decided) = self.decisions.get(&question) {
            return *decided;
        }
        let decided = self.decided(&question);
        self.decisions.insert(question, decided);
        decided
    }

    fn decided(&mut self, question: &Question) -> Decided {
        let resource = question.resource;
        let mut persisted = self.persisted_states.get(resource.persisted).clone();
        let mut intent = self.intent(&resource);
        let mut transient = self.local_caches.get(question.transient).clone();
        let observation = if question.found.id == 0 {
            Observation::Absent { key_held_by: (question.other != 0).then(|| name(question.other)) }
        } else {
            Observation::Present(self.observed(&question.found))
        };
        // Values are not read if the decision cannot depend on them.
        let reads = !resource.observed && !resource.deleting;
        let wanted = reads.then(|| self.wanted((resource.value, resource.second), question.secret, question.key));
        if let Some(rule) = self.settings.without {
            let (wanted, digests) = (wanted.as_ref(), &digests(question.key));
            broken_rules::before(rule, &mut persisted, &mut intent, &mut transient, &observation, wanted, digests);
        }
        let fixture = Fixture { persisted, intent, wanted, observation, transient };
        let mut decision = fixture.decide_with(&digests(question.key));
        let Fixture { persisted, intent, observation, .. } = fixture;
        if let Some(rule) = self.settings.without {
            broken_rules::after(rule, &persisted, &intent, &observation, &mut decision);
        }
        let from =
            |persisted: &PersistedState| persisted.operation.as_ref().and_then(|operation| operation.from_version);
        let (step, version, gone) = match &decision.step {
            Step::Send(Call { kind: CallKind::Create, .. }) => (Verb::Create, 0, decision.persisted.id.clone()),
            Step::Send(Call { kind: CallKind::Redeploy | CallKind::Move, .. }) => {
                let version = from(&decision.persisted).expect("a redeploy starts from a version");
                (Verb::Redeploy, u8::try_from(version).expect("versions here are small"), None)
            }
            Step::Send(Call { kind: CallKind::Undeploy | CallKind::Recreate, .. }) => (Verb::Undeploy, 0, None),
            Step::NoOp | Step::RemoveFinalizer => (Verb::None, 0, None),
        };
        let first = decision.persisted.operation.as_ref().is_none_or(Operation::is_first);
        Decided {
            condition: condition(decision.outcome, decision.persisted.unverified),
            persisted: self.number_persisted(decision.persisted.clone()),
            transient: self.number_memory(decision.transient.clone()),
            step,
            remove_finalizer: decision.step == Step::RemoveFinalizer,
            extra: step == Verb::Redeploy && !first && from(&persisted) != from(&decision.persisted),
            version,
            gone: gone.as_deref().map_or(0, number),
        }
    }
}

fn condition(outcome: Outcome, unverified: bool) -> ConditionUpdate {
    match outcome {
        Outcome::Settled { phase: Phase::Deployed, drifted: true } => ConditionUpdate::ReadyDrifted,
        Outcome::Settled { phase: Phase::Deployed, .. } if unverified => ConditionUpdate::ReadyUnverified,
        Outcome::Settled { phase: Phase::Deployed, .. } => ConditionUpdate::Ready,
        Outcome::Settled { phase: Phase::UndeployFailed, .. } => ConditionUpdate::UndeployFailed,
        Outcome::Settled { .. } => ConditionUpdate::Failed,
        Outcome::NotApplied { .. } => ConditionUpdate::NotApplied,
        Outcome::KeyTaken | Outcome::NotAdoptable => ConditionUpdate::KeyTaken,
        Outcome::Disappeared => ConditionUpdate::Disappeared,
        Outcome::HeldBySuspend => ConditionUpdate::Suspended,
        Outcome::Observed(phase) if !phase.is_busy() => ConditionUpdate::Observed,
        Outcome::NothingToObserve => ConditionUpdate::NothingToObserve,
        _ => ConditionUpdate::Unknown,
    }
}
