//! The operator in this world: it looks, decides with the real `decide`, writes, calls, takes the answer in with the real
//! `answered`, and may die between any two of these.

use super::world::{Broken, Content, Flying, Kept, OURS, Previews, Record, Resource, Stage, World, id, intent};
use super::{Explorer, NOW, Rule, Step};
use crate::controllers::connector_staged::decide::{
    self, Answer, Call, Case, Decision, Memory, Rest, Verdict, answered, decide,
};
use crate::controllers::connector_staged::ledger::{Ledger, Look, OperationKind, Preview};

fn emit(steps: &mut Vec<Step>, label: &str, fair: bool, next: World) {
    steps.push(Step { label: format!("the operator {label}"), fair, next });
}

impl Explorer {
    /// One step of the operator.
    pub(super) fn operator_steps(&self, world: &World, steps: &mut Vec<Step>) {
        match &world.stage {
            Stage::Idle => {
                if let Some(resource) = &world.resource {
                    self.look(world, resource, (world.record.as_ref(), true), steps);
                    if world.lag > 0 {
                        self.look(world, resource, (world.before.as_ref(), false), steps);
                    }
                }
            }
            Stage::Send(sent, content) => self.send(world, sent, *content, steps),
            Stage::Answered(outcome, release) => emit(steps, "writes the answer", true, {
                let mut next = World { stage: Stage::Idle, ..world.clone() };
                write_answer(&mut next, outcome.clone(), *release);
                next
            }),
        }
        if world.budget.crashes > 0 && (world.stage != Stage::Idle || world.memory != Kept::default()) {
            let mut next = World { stage: Stage::Idle, memory: Kept::default(), ..world.clone() };
            next.budget.crashes -= 1;
            emit(steps, "dies and starts again", false, next);
        }
    }

    /// What the real table makes of a view of the remote.
    pub(super) fn decided(&self, world: &World, resource: &Resource, view: Option<&Record>) -> Decision {
        let mut ledger = resource.ledger.0.clone();
        let mut intent = intent(resource, &self.settings);
        let creating = ledger.operation.as_ref().is_some_and(|operation| operation.kind == OperationKind::Create);
        let by_id = ledger.id.clone().filter(|_| !creating);
        let found = view.filter(|record| by_id.as_ref().is_none_or(|known| *known == id(record.id)));
        let look = found.map_or(Look::Absent, |record| Look::Present(record.seen(resource.tag)));
        if let Some(rule) = self.settings.without {
            break_rule(rule, &mut ledger, &mut intent, &look);
        }
        decide(&Case { ledger: &ledger, intent: &intent, look: &look, memory: &world.memory.0, now: NOW })
    }

    /// `new`: the view is not an old one, which no recovery waits for.
    fn look(&self, world: &World, resource: &Resource, (view, new): (Option<&Record>, bool), steps: &mut Vec<Step>) {
        let decision = self.decided(world, resource, view);
        let mut next = world.clone();
        next.broken = self.wrongly_told(world, resource, decision.verdict);
        let stored =
            matches!(decision.step, decide::Step::Send(_)) && self.settings.without == Some(Rule::OperationFirst);
        if let (Some(resource), false) = (&mut next.resource, stored) {
            resource.ledger = Kept(decision.ledger.clone());
        }
        // A publication that was not answered, and was given up for another tag, is as if somebody else had done it.
        let publishes = |ledger: &Ledger| {
            let operation = ledger.operation.as_ref().filter(|operation| operation.kind == OperationKind::Publish);
            operation.map(|operation| operation.accepted)
        };
        let given_up = publishes(&resource.ledger.0) == Some(false) && publishes(&decision.ledger).is_none();
        if given_up && decision.ledger.publication.is_none() {
            next.published = None;
        }
        next.memory = Kept(decision.memory.clone());
        next.take_over(self.settings.adopt);
        match decision.step {
            decide::Step::Rest => {
                if next != *world {
                    emit(steps, &format!("looks and says {:?}", decision.verdict), new, next);
                }
            }
            decide::Step::Release => {
                next.vanish();
                emit(steps, "looks and lets the resource go", new, next);
            }
            decide::Step::Send(call) => {
                let label = format!("looks and writes {:?}", call.kind);
                // A repeated call serves the request that it was begun for.
                let served = decision.ledger.operation.as_ref().and_then(|operation| operation.request.clone());
                let request = served.and_then(|request| request.parse().ok()).unwrap_or_default();
                let content = Content { tag: resource.tag, request };
                next.stage = Stage::Send(Kept((decision.ledger, decision.memory, call)), content);
                emit(steps, &label, new, next);
            }
        }
    }

    fn wrongly_told(&self, world: &World, resource: &Resource, verdict: Verdict) -> Option<Broken> {
        match verdict {
            Verdict::Settled(rest) if !self.is_so(world, resource, rest) => Some(Broken::ReadyWrong),
            Verdict::KeyTaken | Verdict::Disappeared => {
                let ours = world.record.as_ref().is_some_and(|record| record.owner == OURS && !record.disguised);
                ours.then_some(Broken::Forgotten)
            }
            _ => None,
        }
    }

    /// Whether the connector is as far as is said.
    pub(super) fn is_so(&self, world: &World, resource: &Resource, rest: Rest) -> bool {
        let Some(record) = &world.record else { return false };
        let asked = world.asked.is_some_and(|(visit, _)| visit == record.visit) && world.answered;
        let granted = record.preview == Previews::Granted && asked;
        let published = record.listed.is_some() && !record.is_changed();
        record.owner == OURS
            && (record.tag, record.name) == (resource.tag, 0)
            && (!self.settings.previewable || granted)
            && (rest != Rest::Published || published)
    }

    fn send(&self, world: &World, sent: &Kept<(Ledger, Memory, Call)>, content: Content, steps: &mut Vec<Step>) {
        let (ledger, memory, call) = &sent.0;
        let answer = |mut next: World, answer: &Answer| {
            let outcome = answered(ledger, memory, call, cause(ledger, world), answer, NOW);
            if outcome.key_taken && next.record.as_ref().is_some_and(|record| record.owner == OURS && !record.disguised)
            {
                next.broken = Some(Broken::Forgotten);
            }
            next.stage = Stage::Answered(Kept((outcome.ledger, outcome.memory)), outcome.release);
            next
        };
        let mut next = world.clone();
        let arrived = self.arrive(&mut next, call, content);
        emit(steps, "is answered", true, answer(next.clone(), &arrived));
        if world.budget.lost == 0 {
            return;
        }
        next.budget.lost -= 1;
        emit(steps, "is not answered, and its call arrived", false, answer(next, &Answer::Unknown));
        let mut next = world.clone();
        next.budget.lost -= 1;
        emit(steps, "is not answered, and its call is lost", false, answer(next.clone(), &Answer::Unknown));
        if next.flying.is_none() {
            next.flying = Some(Flying { kind: Kept(call.kind.clone()), content });
            emit(steps, "is not answered, and its call comes late", false, answer(next, &Answer::Unknown));
        }
    }
}

fn cause(ledger: &Ledger, world: &World) -> Option<decide::Cause> {
    let operation = ledger.operation.as_ref().filter(|operation| operation.kind != OperationKind::Delete)?;
    Some(decide::Cause {
        kind: operation.kind,
        digest: operation.digest.clone().unwrap_or_default(),
        generation: operation.generation,
        version: world.record.as_ref().map(|record| record.version.into()),
        request: operation.request.clone(),
    })
}

/// It is written again on the newest version, unless the operation there is another one.
fn write_answer(world: &mut World, Kept((ledger, memory)): Kept<(Ledger, Memory)>, release: bool) {
    world.memory = Kept(memory);
    if release {
        return world.vanish();
    }
    let Some(resource) = &mut world.resource else { return };
    let read = ledger.operation.as_ref().is_some_and(|now| now.kind == OperationKind::Preview && now.accepted);
    world.answered |= read;
    resource.ledger = Kept(ledger);
    world.take_over(false);
}

impl World {
    /// The resource is gone.
    fn vanish(&mut self) {
        self.resource = None;
        self.memory = Kept::default();
        if self.record.as_ref().is_some_and(|record| record.owner == OURS && !record.disguised) {
            self.broken = Some(Broken::Orphan);
        }
    }

    /// Whose id is stored is owned, where that is allowed.
    fn take_over(&mut self, adopts: bool) {
        let known = self.resource.as_ref().and_then(|resource| resource.ledger.0.id.clone());
        let Some(record) = self.record.as_mut().filter(|record| known.as_deref() == Some(&id(record.id))) else {
            return;
        };
        if record.owner != OURS {
            if !adopts {
                self.broken = Some(Broken::Stranger);
            }
            record.owner = OURS;
        }
        record.disguised = false;
    }
}

/// What `decide` is shown instead.
fn break_rule(rule: Rule, ledger: &mut Ledger, intent: &mut decide::Intent, look: &Look) {
    match (rule, &mut ledger.operation, look) {
        (Rule::Calm, Some(operation), _) => operation.started_at = NOW - super::CAP,
        (Rule::Answered, Some(operation), _) => operation.accepted |= operation.kind == OperationKind::Preview,
        (Rule::OneTag, _, Look::Present(seen)) if seen.repository_met && seen.preview == Preview::Granted => {
            ledger.previewed = Some(intent.tag.clone());
        }
        (Rule::Publication, _, _) => ledger.publication = None,
        (Rule::Identity, _, Look::Present(seen)) => intent.remote_id = Some(seen.id.clone()),
        (Rule::OldLooks, _, _) => {
            if let Some(applied) = &mut ledger.applied {
                applied.from_version = None;
            }
        }
        _ => {}
    }
}
