//! When a change is sent: changes within a few seconds become one redeploy (rule 9). Pure.

use clock::{between, later};

use super::{Change, Decision, DesiredPayload, GATHER, GATHER_AT_MOST, Input, Outcome};

/// Returns why a change is not sent yet: it was refused before, or more changes may follow.
pub(super) fn gather(input: &Input<'_>, wanted: &DesiredPayload) -> Option<Decision> {
    let asked = input.cause(wanted);
    if let Some(held) = input.held(&asked) {
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
