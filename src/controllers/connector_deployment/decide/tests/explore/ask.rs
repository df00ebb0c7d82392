//! A question to the real `decide`, and its answer in numbers.

use super::world::{Deployment, Resource, Status, Told, Verb};
use super::{Explorer, NOW};
use crate::controllers::connector_deployment::decide::tests::build::{self, identity, intent, visible};
use crate::controllers::connector_deployment::decide::{
    Call, CallKind, Case, Deletion, Intent, Step, Verdict, Wanted, decide,
};
use crate::controllers::connector_deployment::ledger::{Ledger, Look, Phase, Seen};

/// What one look leads to; the same question always has the same answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decided {
    pub(super) ledger: u32,
    pub(super) memory: u32,
    pub(super) told: Told,
    pub(super) step: Verb,
    pub(super) release: bool,
    pub(super) first: bool,
    pub(super) extra: bool,
    pub(super) version: u8,
    pub(super) gone: u8,
}

/// Everything that a decision depends on here.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Question {
    pub(super) resource: Resource,
    pub(super) memory: u32,
    pub(super) secret: u8,
    /// What the look finds by id or key, and another id under the key.
    pub(super) found: Deployment,
    pub(super) other: u8,
}

pub(super) fn name(id: u8) -> String {
    format!("id-{id}")
}

pub(super) fn number(id: &str) -> u8 {
    id.strip_prefix("id-").and_then(|digits| digits.parse().ok()).expect("ids here are made by name()")
}

pub(super) fn wanted(visible: u8, secret: u8) -> Wanted {
    build::wanted(&visible.to_string(), &secret.to_string())
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

impl Explorer {
    fn seen(&self, found: &Deployment) -> Seen {
        let old = self.settings.late_values && (found.pending > 0 || found.status == Status::Busy);
        let value = if old { found.visible_before } else { found.visible };
        let mut seen = build::seen(phase(found.status));
        seen.id = name(found.id);
        seen.version = found.version.into();
        seen.build = Some(format!("build-{}", found.build));
        seen.values = visible(&[("A", &value.to_string())]);
        seen
    }

    fn intent(&self, question: &Question) -> Intent {
        let resource = question.resource;
        Intent {
            generation: resource.generation.into(),
            identity: identity(),
            remote_id: (resource.annotation != 0).then(|| name(resource.annotation)),
            redeploy_request: (resource.request != 0).then(|| resource.request.to_string()),
            deletion: resource.deleting.then_some(if resource.orphan { Deletion::LetGo } else { Deletion::Undeploy }),
            adopt: self.settings.adopt,
            ..intent()
        }
    }

    pub(super) fn ask(&mut self, question: Question) -> Decided {
        if let Some(decided) = self.decisions.get(&question) {
            return *decided;
        }
        let ledger = self.ledgers.get(question.resource.ledger).clone();
        let look = if question.found.id == 0 {
            Look::Absent { key_held_by: (question.other != 0).then(|| name(question.other)) }
        } else {
            Look::Present(self.seen(&question.found))
        };
        let intent = self.intent(&question);
        let wanted = wanted(question.resource.generation, question.secret);
        let memory = self.memories.get(question.memory).clone();
        let decision = decide(&Case {
            ledger: &ledger,
            intent: &intent,
            wanted: Some(&wanted),
            look: &look,
            memory: &memory,
            now: NOW,
        });
        let (step, first, version, gone) = match &decision.step {
            Step::Send(Call { kind: CallKind::Create { gone }, first }) => (Verb::Create, *first, 0, gone.clone()),
            Step::Send(Call { kind: CallKind::Redeploy { version, .. }, first }) => {
                (Verb::Redeploy, *first, u8::try_from(*version).expect("versions here are small"), None)
            }
            Step::Send(Call { kind: CallKind::Undeploy { .. }, first }) => (Verb::Undeploy, *first, 0, None),
            Step::Rest | Step::Release => (Verb::None, true, 0, None),
        };
        let from = |ledger: &Ledger| ledger.operation.as_ref().and_then(|operation| operation.from_version);
        let decided = Decided {
            told: told(decision.verdict, decision.ledger.unverified),
            ledger: self.number_ledger(decision.ledger.clone()),
            memory: self.number_memory(decision.memory.clone()),
            step,
            release: decision.step == Step::Release,
            first,
            extra: step == Verb::Redeploy && !first && from(&ledger) != from(&decision.ledger),
            version,
            gone: gone.as_deref().map_or(0, number),
        };
        self.decisions.insert(question, decided);
        decided
    }
}

fn told(verdict: Verdict, unverified: bool) -> Told {
    match verdict {
        Verdict::Settled { phase: Phase::Deployed, drifted: true } => Told::ReadyDrifted,
        Verdict::Settled { phase: Phase::Deployed, .. } if unverified => Told::ReadyUnverified,
        Verdict::Settled { phase: Phase::Deployed, .. } => Told::Ready,
        Verdict::Settled { phase: Phase::UndeployFailed, .. } => Told::UndeployFailed,
        Verdict::Settled { .. } => Told::Failed,
        Verdict::KeyTaken | Verdict::NotAdoptable => Told::KeyTaken,
        Verdict::Disappeared => Told::Disappeared,
        _ => Told::Unknown,
    }
}
