//! The remote and everybody else: calls arrive, processes end, and users and other clients act.

use super::world::{Broken, Content, Flying, OURS, Phases, Previews, Record, Resource, World, id};
use super::{Explorer, LAG_TICKS, Step};
use crate::controllers::connector_staged::decide::{Call, CallKind, Response};
use crate::controllers::connector_staged::persisted::OperationType;

fn emit(steps: &mut Vec<Step>, label: &str, fair: bool, next: World) {
    steps.push(Step { label: label.to_owned(), fair, next });
}

impl Explorer {
    /// Returns the response to a call of the operator, with the lookup before a create.
    pub(super) fn arrive(&self, world: &mut World, call: &Call, content: Content) -> Response {
        if call.kind == CallKind::Create && world.record.is_some() {
            return if call.first { Response::Duplicate } else { Response::Unknown };
        }
        self.effect(world, &call.kind, content)
    }

    fn effect(&self, world: &mut World, kind: &CallKind, content: Content) -> Response {
        let before = world.record.clone();
        let answer = match kind {
            CallKind::Create => create(world, content),
            CallKind::Delete { id } => delete(world, id),
            CallKind::Update { version, id }
            | CallKind::Preview { version, id }
            | CallKind::Publish { version, id, .. } => self.change(world, kind, (id, *version), content),
        };
        if before != world.record && self.settings.lag {
            (world.before, world.lag) = (before, LAG_TICKS);
        }
        answer
    }

    fn change(&self, world: &mut World, kind: &CallKind, (of, version): (&str, i64), content: Content) -> Response {
        let World { record, asked, answered, published, broken, .. } = world;
        let Some(record) = record.as_mut().filter(|record| id(record.id) == of) else { return Response::NotFound };
        if i64::from(record.version) != version || record.phase == Phases::Processing {
            return Response::Retryable;
        }
        if record.owner != OURS {
            *broken = Some(Broken::Stranger);
        }
        match kind {
            CallKind::Preview { .. } => {
                if record.preview == Previews::Pending {
                    return Response::Retryable;
                }
                let now = (record.visit, content.request);
                if *asked == Some(now) && *answered {
                    *broken = Some(Broken::Twice);
                }
                (*asked, *answered) = (Some(now), false);
                record.preview = Previews::Pending;
                record.version += 1;
            }
            CallKind::Publish { .. } => {
                let now = (record.content, content.request);
                if *published == Some(now) {
                    *broken = Some(Broken::Twice);
                }
                *published = Some(now);
                record.phase = Phases::Processing;
                record.version += 1;
            }
            _ => record.set((content.tag, 0), &self.settings),
        }
        Response::Accepted(record.observed(content.tag))
    }

    /// Processes end, and a late call arrives.
    pub(super) fn remote_moves(&self, world: &World, steps: &mut Vec<Step>) {
        if let Some(Flying { kind, content }) = &world.flying {
            let mut next = World { flying: None, ..world.clone() };
            let _ = self.effect(&mut next, &kind.0, *content);
            // What was given up meanwhile for another tag counts as another client's: nothing is persisted about it.
            let begun = world.resource.as_ref().and_then(|resource| resource.persisted.0.operation.as_ref());
            let publishes = begun.is_some_and(|operation| operation.kind == OperationType::Publish);
            next.published = next.published.filter(|_| publishes);
            emit(steps, "the late call arrives", false, next);
        }
        let Some(record) = world.record.as_ref().filter(|record| record.is_busy()) else { return };
        for fails in [false, true] {
            if fails && world.budget.failures == 0 {
                continue;
            }
            let mut ended = record.clone();
            if record.phase == Phases::Processing {
                ended.phase = if fails { Phases::Failed } else { Phases::Published };
                ended.listed = if fails { record.listed } else { Some((record.tag, record.name)) };
            } else {
                ended.preview = if fails { Previews::Refused } else { Previews::Granted };
            }
            ended.version += u8::from(self.settings.versions_grow);
            let mut next = World { record: Some(ended), ..world.clone() };
            next.budget.failures -= u8::from(fails);
            let label = if fails { "the remote refuses or fails" } else { "the remote grants or publishes" };
            emit(steps, label, !fails, next);
        }
    }

    /// Users edit the resource, and other clients the connector.
    pub(super) fn others_act(&self, world: &World, steps: &mut Vec<Step>) {
        if let Some(resource) = world.resource.as_ref().filter(|resource| !resource.deleting) {
            let generation = resource.generation + 1;
            let mut edit = |label: &str, resource: Resource, spend: &dyn Fn(&mut World)| {
                let mut next = World { resource: Some(resource), ..world.clone() };
                spend(&mut next);
                emit(steps, label, false, next);
            };
            if world.budget.tags > 0 {
                let tag = 3 - resource.tag;
                edit("a user asks for another tag", Resource { tag, generation, ..resource.clone() }, &|next| {
                    next.budget.tags -= 1;
                });
            }
            if world.budget.requests > 0 {
                let request = resource.request + 1;
                edit("a user requests a retry", Resource { request, ..resource.clone() }, &|next| {
                    next.budget.requests -= 1;
                });
            }
            if world.budget.deletions > 0 {
                let deleted = Resource { deleting: true, generation, ..resource.clone() };
                edit("a user deletes the resource", deleted, &|next| next.budget.deletions -= 1);
            }
        }
        if world.budget.foreign > 0 {
            self.strangers_act(world, steps);
        }
    }

    fn strangers_act(&self, world: &World, steps: &mut Vec<Step>) {
        let known = world.resource.as_ref().is_some_and(|resource| resource.persisted.0.id.is_some());
        let mut act = |label: &str, record: Option<Record>| {
            // Reads show their changes at once, so that no stale read of the operator is blamed.
            let mut next = World { record, before: None, lag: 0, ..world.clone() };
            next.budget.foreign -= 1;
            if let Some(record) = &mut next.record {
                record.disguised |= !known && record.owner == OURS;
            }
            emit(steps, &format!("another client {label}"), false, next);
        };
        let Some(record) = &world.record else {
            let mut theirs = new(world.next_id, (2, 1));
            theirs.owner = 0;
            return act("creates a connector with the key", Some(theirs));
        };
        if record.phase == Phases::Processing {
            return;
        }
        act("deletes it", None);
        let mut renamed = record.clone();
        renamed.set((record.tag, 1), &self.settings);
        act("renames it", Some(renamed));
        let mut retagged = record.clone();
        retagged.set((3 - record.tag, record.name), &self.settings);
        act("changes its tag", Some(retagged));
        if record.preview != Previews::Pending {
            let asked = Record { preview: Previews::Pending, version: record.version + 1, ..record.clone() };
            act("requests a preview", Some(asked));
        }
        act("publishes it", Some(Record { phase: Phases::Processing, version: record.version + 1, ..record.clone() }));
    }
}

fn new(id: u8, (tag, name): (u8, u8)) -> Record {
    Record {
        id,
        owner: OURS,
        version: 1,
        tag,
        name,
        phase: Phases::Draft,
        preview: Previews::NeverAsked,
        listed: None,
        visit: 0,
        content: 0,
        disguised: false,
    }
}

fn create(world: &mut World, content: Content) -> Response {
    if world.record.is_some() {
        return Response::Duplicate;
    }
    if world.resource.is_none() {
        world.broken = Some(Broken::Orphan);
    }
    let record = new(world.next_id, (content.tag, 0));
    let observed = record.observed(content.tag);
    world.record = Some(record);
    world.next_id += 1;
    (world.asked, world.answered, world.published) = (None, false, None);
    Response::Accepted(observed)
}

fn delete(world: &mut World, of: &str) -> Response {
    match world.record.as_ref().filter(|record| id(record.id) == of) {
        None => Response::NotFound,
        Some(record) if record.phase == Phases::Processing => Response::Retryable,
        Some(record) => {
            let observed = record.observed(record.tag);
            if record.owner != OURS {
                world.broken = Some(Broken::Stranger);
            }
            world.record = None;
            Response::Accepted(observed)
        }
    }
}
