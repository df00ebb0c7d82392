//! The operator in this world: it observes, decides with the real `decide`, writes, calls, applies the response with
//! the real `apply_response`, and may crash between any two of these.

use super::world::{Broken, Content, Flying, Kept, OURS, Previews, Record, Resource, Stage, World, id, intent};
use super::{Explorer, NOW, Rule, Step};
use crate::controllers::connector_staged::decide::{
    self, Call, Decision, Input, Outcome, ReachedStep, Response, TransientState, apply_response, decide,
};
use crate::controllers::connector_staged::persisted::{Observation, OperationType, PersistedState, Preview};

fn emit(steps: &mut Vec<Step>, label: &str, fair: bool, next: World) {
    steps.push(Step { label: format!("the operator {label}"), fair, next });
}

impl Explorer {
    /// One step of the operator.
    pub(super) fn operator_steps(&self, world: &World, steps: &mut Vec<Step>) {
        match &world.stage {
            Stage::Idle => {
                if let Some(resource) = &world.resource {
                    self.observation(world, resource, (world.record.as_ref(), true), steps);
                    if world.lag > 0 {
                        self.observation(world, resource, (world.before.as_ref(), false), steps);
                    }
                }
            }
            Stage::Send(sent, content) => self.send(world, sent, *content, steps),
            Stage::Answered(outcome, remove_finalizer) => emit(steps, "writes the response", true, {
                let mut next = World { stage: Stage::Idle, ..world.clone() };
                write_answer(&mut next, outcome.clone(), *remove_finalizer);
                next
            }),
        }
        if world.budget.crashes > 0 && (world.stage != Stage::Idle || world.transient != Kept::default()) {
            let mut next = World { stage: Stage::Idle, transient: Kept::default(), ..world.clone() };
            next.budget.crashes -= 1;
            emit(steps, "crashes and starts again", false, next);
        }
    }

    /// Returns what the real table decides for a view of the remote.
    pub(super) fn decided(&self, world: &World, resource: &Resource, view: Option<&Record>) -> Decision {
        let mut persisted = resource.persisted.0.clone();
        let mut intent = intent(resource, &self.settings);
        let creating = persisted.operation.as_ref().is_some_and(|operation| operation.kind == OperationType::Create);
        let by_id = persisted.id.clone().filter(|_| !creating);
        let found = view.filter(|record| by_id.as_ref().is_none_or(|known| *known == id(record.id)));
        let observation =
            found.map_or(Observation::Absent, |record| Observation::Present(record.observed(resource.tag)));
        if let Some(rule) = self.settings.without {
            break_rule(rule, &mut persisted, &mut intent, &observation);
        }
        decide(&Input {
            persisted: &persisted,
            intent: &intent,
            observation: &observation,
            transient: &world.transient.0,
            now: NOW,
        })
    }

    /// `new`: the view is current; no recovery waits for a stale one.
    fn observation(
        &self,
        world: &World,
        resource: &Resource,
        (view, new): (Option<&Record>, bool),
        steps: &mut Vec<Step>,
    ) {
        let decision = self.decided(world, resource, view);
        let mut next = world.clone();
        next.broken = self.wrongly_reported(world, resource, decision.outcome);
        let status_conversion =
            matches!(decision.step, decide::Step::Send(_)) && self.settings.without == Some(Rule::OperationFirst);
        if let (Some(resource), false) = (&mut next.resource, status_conversion) {
            resource.persisted = Kept(decision.persisted.clone());
        }
        if is_given_up(&resource.persisted.0, &decision.persisted) {
            next.published = None;
        }
        next.transient = Kept(decision.transient.clone());
        next.take_over(self.settings.adopt);
        match decision.step {
            decide::Step::NoOp => {
                if next != *world {
                    emit(steps, &format!("observes and reports {:?}", decision.outcome), new, next);
                }
            }
            decide::Step::RemoveFinalizer => {
                next.vanish();
                emit(steps, "observes and removes the finalizer", new, next);
            }
            decide::Step::Send(call) => {
                let label = format!("observes and writes {:?}", call.kind);
                // A repeated call serves the request for which it was begun.
                let served = decision.persisted.operation.as_ref().and_then(|operation| operation.request.clone());
                let request = served.and_then(|request| request.parse().ok()).unwrap_or_default();
                let content = Content { tag: resource.tag, request };
                next.stage = Stage::Send(Kept((decision.persisted, decision.transient, call)), content);
                emit(steps, &label, new, next);
            }
        }
    }

    fn wrongly_reported(&self, world: &World, resource: &Resource, outcome: Outcome) -> Option<Broken> {
        match outcome {
            Outcome::Settled(no_op) if !self.is_so(world, resource, no_op) => Some(Broken::ReadyWrong),
            Outcome::KeyTaken | Outcome::Disappeared => {
                let ours = world.record.as_ref().is_some_and(|record| record.owner == OURS && !record.disguised);
                ours.then_some(Broken::Forgotten)
            }
            _ => None,
        }
    }

    /// Whether the connector has reached the step that is reported.
    pub(super) fn is_so(&self, world: &World, resource: &Resource, no_op: ReachedStep) -> bool {
        let Some(record) = &world.record else { return false };
        let asked = world.asked.is_some_and(|(visit, _)| visit == record.visit) && world.answered;
        let granted = record.preview == Previews::Granted && asked;
        let published = record.listed.is_some() && !record.is_changed();
        record.owner == OURS
            && (record.tag, record.name) == (resource.tag, 0)
            && (!self.settings.previewable || granted)
            && (no_op != ReachedStep::Published || published)
    }

    fn send(
        &self,
        world: &World,
        sent: &Kept<(PersistedState, TransientState, Call)>,
        content: Content,
        steps: &mut Vec<Step>,
    ) {
        let (persisted, transient, call) = &sent.0;
        let answer = |mut next: World, answer: &Response| {
            let outcome = apply_response(persisted, transient, call, cause(persisted, world), answer, NOW);
            if outcome.key_taken && next.record.as_ref().is_some_and(|record| record.owner == OURS && !record.disguised)
            {
                next.broken = Some(Broken::Forgotten);
            }
            next.stage = Stage::Answered(Kept((outcome.persisted, outcome.transient)), outcome.remove_finalizer);
            next
        };
        let mut next = world.clone();
        let arrived = self.arrive(&mut next, call, content);
        emit(steps, "gets a response", true, answer(next.clone(), &arrived));
        if world.budget.lost == 0 {
            return;
        }
        next.budget.lost -= 1;
        emit(steps, "gets no response, and its call arrived", false, answer(next, &Response::Unknown));
        let mut next = world.clone();
        next.budget.lost -= 1;
        emit(steps, "gets no response, and its call is lost", false, answer(next.clone(), &Response::Unknown));
        if next.flying.is_none() {
            next.flying = Some(Flying { kind: Kept(call.kind.clone()), content });
            emit(steps, "gets no response, and its call is late", false, answer(next, &Response::Unknown));
        }
    }
}

/// Whether a publication without a response is given up, and nothing is noted about it: another tag is asked for, or the
/// record shows nothing of it. What such a call publishes counts as another client's.
fn is_given_up(before: &PersistedState, after: &PersistedState) -> bool {
    let begun = |persisted: &PersistedState| {
        let operation = persisted.operation.as_ref().filter(|operation| operation.kind == OperationType::Publish);
        operation.map(|operation| (operation.from_version, operation.accepted))
    };
    let given_up =
        begun(before).is_some_and(|(from, accepted)| !accepted && begun(after).is_none_or(|(next, _)| next != from));
    given_up && (after.publication.is_none() || after.publication == before.publication)
}

fn cause(persisted: &PersistedState, world: &World) -> Option<decide::Cause> {
    let operation = persisted.operation.as_ref().filter(|operation| operation.kind != OperationType::Delete)?;
    Some(decide::Cause {
        kind: operation.kind,
        digest: operation.digest.clone().unwrap_or_default(),
        generation: operation.generation,
        version: world.record.as_ref().map(|record| record.version.into()),
        request: operation.request.clone(),
    })
}

/// Writes the response on the newest version, unless the persisted operation is another one.
fn write_answer(
    world: &mut World,
    Kept((persisted, transient)): Kept<(PersistedState, TransientState)>,
    remove_finalizer: bool,
) {
    world.transient = Kept(transient);
    if remove_finalizer {
        return world.vanish();
    }
    let Some(resource) = &mut world.resource else { return };
    let read = persisted.operation.as_ref().is_some_and(|now| now.kind == OperationType::Preview && now.accepted);
    world.answered |= read;
    resource.persisted = Kept(persisted);
    world.take_over(false);
}

impl World {
    /// The resource is gone.
    fn vanish(&mut self) {
        self.resource = None;
        self.transient = Kept::default();
        if self.record.as_ref().is_some_and(|record| record.owner == OURS && !record.disguised) {
            self.broken = Some(Broken::Orphan);
        }
    }

    /// Notes the owner of the connector whose id is persisted, where that is allowed.
    fn take_over(&mut self, adopts: bool) {
        let known = self.resource.as_ref().and_then(|resource| resource.persisted.0.id.clone());
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

/// Changes what `decide` observes.
fn break_rule(rule: Rule, persisted: &mut PersistedState, intent: &mut decide::Intent, observation: &Observation) {
    match (rule, &mut persisted.operation, observation) {
        (Rule::Calm, Some(operation), _) => operation.started_at = NOW - super::CAP,
        (Rule::Answered, Some(operation), _) => operation.accepted |= operation.kind == OperationType::Preview,
        (Rule::OneTag, _, Observation::Present(observed))
            if observed.repository_met && observed.preview == Preview::Granted =>
        {
            persisted.previewed = Some(intent.tag.clone());
        }
        (Rule::Publication, _, _) => persisted.publication = None,
        (Rule::Identity, _, Observation::Present(observed)) => intent.remote_id = Some(observed.id.clone()),
        (Rule::OldLooks, _, _) => {
            if let Some(applied) = &mut persisted.applied {
                applied.from_version = None;
            }
        }
        _ => {}
    }
}
