//! How an operation starts: what is created, and when a change is sent (rules 1, 9, 11, 15).

use clock::{between, later};

use super::super::persisted::OperationType;
use super::input::serve;
use super::{CallKind, Change, Decision, DesiredPayload, GATHER, GATHER_AT_MOST, Input, Outcome};

/// Rule 1. The key was looked up and is free; `act` looks it up once more before the POST.
pub(super) fn create(input: &Input<'_>) -> Decision {
    let Some(wanted) = input.wanted else { return input.no_op(Outcome::ValuesUnknown, None) };
    if let Some(other) = other_version(input) {
        return input.no_op(other, None);
    }
    if let Some(held) = input.held(Some(&input.cause(wanted))) {
        return held;
    }
    let mut persisted = input.persisted.clone();
    // The create also serves a redeploy request that already exists (rule 11).
    serve(&mut persisted, input.intent.redeploy_request.as_ref());
    let gone = persisted.id.clone();
    input.send(persisted, input.operation(OperationType::Create, Some(wanted)), CallKind::Create { gone }, true)
}

/// Rule 15: a create deploys the latest version. Returns an outcome if the spec asks for another one.
pub(super) fn other_version(input: &Input<'_>) -> Option<Outcome> {
    let version = &input.intent.version;
    let (wanted, latest) = version.wanted.zip(version.latest).filter(|(wanted, latest)| wanted != latest)?;
    Some(Outcome::VersionUnavailable { wanted, latest: Some(latest) })
}

/// Returns why a change is not sent yet: it was refused before, or more changes may follow.
pub(super) fn gather(input: &Input<'_>, wanted: &DesiredPayload) -> Option<Decision> {
    let asked = input.cause(wanted);
    if let Some(held) = input.held(Some(&asked)) {
        return Some(held);
    }
    let change = match &input.transient.change {
        Some(change) if change.cause == asked => change.clone(),
        Some(change) => Change { cause: asked, first: change.first, last: input.now },
        None => Change { cause: asked, first: input.now, last: input.now },
    };
    let ready = later(change.last, GATHER).min(later(change.first, GATHER_AT_MOST));
    (input.now < ready).then(|| {
        let mut decision = input.no_op(Outcome::Changing, Some(between(input.now, ready)));
        decision.transient.change = Some(change);
        decision
    })
}
