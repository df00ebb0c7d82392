//! Nothing runs: creating, taking over, and the way of a tag: update, preview, publish, each when the one before is
//! through.

use std::time::Duration;

use super::super::ledger::{Applied, Deployable, Ledger, Look, OperationKind, Phase, Preview, Seen};
use super::{CallKind, Case, Decision, Rest, Verdict, is_failure};
use crate::controllers::operations::{CALM, Gone, LAG};

/// Pause after a look that may be older than our last write.
const OLD_AGAIN: Duration = Duration::from_secs(3);

pub(super) fn decide(case: &Case<'_>) -> Decision {
    match (&case.ledger.id, case.look) {
        (None, Look::Absent) => create(case),
        (None, Look::Present(seen)) => found(case, seen),
        (Some(_), Look::Absent) if case.since_write() < LAG => {
            case.rest(Verdict::Running(OperationKind::Update), Some(OLD_AGAIN))
        }
        (Some(_), Look::Absent) => match case.gone(CALM) {
            Gone::Proven => case.rest(Verdict::Disappeared, None),
            Gone::NotYet { since } => case.missing(since),
        },
        (Some(_), Look::Present(seen)) => present(case, seen),
    }
}

/// Rule 1. The key was looked up and is free; it is looked up once more before the POST.
fn create(case: &Case<'_>) -> Decision {
    if let Some(held) = case.held(OperationKind::Create) {
        return held;
    }
    let mut ledger = case.ledger.clone();
    // A request that is there at creation is served by the creation (rule 11).
    ledger.handled_request.clone_from(&case.intent.request);
    case.send(ledger, case.operation(OperationKind::Create, None), CallKind::Create, true)
}

/// Rules 2, 3 and 13: the key exists and nothing that is stored says that it is ours.
fn found(case: &Case<'_>, seen: &Seen) -> Decision {
    if !(case.intent.adopt || case.intent.remote_id.as_ref() == Some(&seen.id)) {
        return case.rest(Verdict::KeyTaken, None);
    }
    case.anew(take_over(case, seen))
}

/// Everything shows, so nothing has to be waited for; but not which tag a permission for a preview was given for.
pub(super) fn take_over(case: &Case<'_>, seen: &Seen) -> Ledger {
    let published = seen.repository_met && seen.listed && !seen.changed;
    Ledger {
        id: Some(seen.id.clone()),
        applied: Some(Applied { generation: case.intent.generation, at: case.now, ..Applied::default() }),
        operation: None,
        previewed: None,
        published: published.then(|| case.intent.tag.clone()),
        publication: None,
        deployable: None,
        handled_request: case.intent.request.clone(),
    }
}

fn present(case: &Case<'_>, seen: &Seen) -> Decision {
    if has_other_tag(case, seen) {
        return case.anew(Ledger { previewed: None, ..case.ledger.clone() });
    }
    if seen.is_busy() {
        return case.busy();
    }
    let mut decision = at_rest(case, seen);
    decision.memory.busy_since = None;
    decision
}

fn at_rest(case: &Case<'_>, seen: &Seen) -> Decision {
    if case.is_old(seen) {
        return case.rest(Verdict::Running(OperationKind::Update), Some(OLD_AGAIN));
    }
    if seen.impossible {
        return case.rest(Verdict::CannotChange, None);
    }
    if !seen.met && !case.is_all_there_will_be(seen) {
        return update(case, seen);
    }
    let deployable = case.ledger.deployable.as_ref().filter(|deployable| deployable.source == seen.source);
    if deployable.is_none() && may_be_deployed(case, seen) {
        let deployable = Deployable { source: seen.source.clone(), version: seen.version };
        return case.anew(Ledger { deployable: Some(deployable), ..case.ledger.clone() });
    }
    if case.intent.previewable
        && let Some(decision) = preview(case, seen)
    {
        return decision;
    }
    if case.intent.publish.is_some()
        && let Some(decision) = publish(case, seen)
    {
        return decision;
    }
    if asked(case) {
        // There is nothing to try again.
        return case.anew(Ledger { handled_request: case.intent.request.clone(), ..case.ledger.clone() });
    }
    let rest = if case.intent.publish.is_some() {
        Rest::Published
    } else if case.intent.previewable {
        Rest::Previewable
    } else {
        Rest::Staged
    };
    case.rest(Verdict::Settled(rest), None)
}

/// Whether another tag stands there than the one that permission was asked for: whoever put it there, the permission is
/// asked for again when that one comes back.
fn has_other_tag(case: &Case<'_>, seen: &Seen) -> bool {
    let is_it = case.ledger.previewed.as_ref().map(|previewed| *previewed == case.intent.tag);
    !case.is_old(seen) && is_it.is_some_and(|is_it| is_it != case.has_repository(seen))
}

/// Permission is for one tag: one that was asked for an earlier tag may still show.
fn may_be_deployed(case: &Case<'_>, seen: &Seen) -> bool {
    let asked = !case.intent.previewable || case.ledger.previewed.as_ref() == Some(&case.intent.tag);
    asked && seen.repository_met && seen.preview == Preview::Granted
}

/// Whether a new request to try again is there.
fn asked(case: &Case<'_>) -> bool {
    case.intent.request.is_some() && case.intent.request != case.ledger.handled_request
}

fn update(case: &Case<'_>, seen: &Seen) -> Decision {
    let call = CallKind::Update { id: seen.id.clone(), version: seen.version };
    begin(case, case.ledger.clone(), OperationKind::Update, seen, call)
}

/// `None`: it may be deployed.
fn preview(case: &Case<'_>, seen: &Seen) -> Option<Decision> {
    let tried = case.ledger.previewed.as_ref() == Some(&case.intent.tag);
    if tried && seen.preview == Preview::Granted {
        return None;
    }
    // It was there, and somebody took it away, such as by another tag and back.
    let granted = case.ledger.deployable.as_ref().is_some_and(|deployable| deployable.source == seen.source);
    let lost = seen.preview == Preview::NeverAsked && granted;
    if tried && !lost && !asked(case) {
        return Some(case.rest(Verdict::PreviewRefused, None));
    }
    let call = CallKind::Preview { id: seen.id.clone(), version: seen.version };
    // Asked for once more, not again and again: the next answer says anew since when it can be deployed.
    let ledger = Ledger { deployable: None, previewed: None, ..case.ledger.clone() };
    Some(begin(case, ledger, OperationKind::Preview, seen, call))
}

/// `None`: it is published as it is.
fn publish(case: &Case<'_>, seen: &Seen) -> Option<Decision> {
    if seen.phase == Phase::Certifying {
        return Some(case.rest(Verdict::Certifying, None));
    }
    let certification = case.intent.publish?;
    // Somebody else may have published it without, while it was being certified.
    let uncertified = certification && seen.private;
    if seen.listed && !seen.changed && !uncertified {
        return None;
    }
    let tried =
        case.ledger.publication.as_ref().filter(|tried| Some(&tried.digest) == case.intent.publication.as_ref());
    match tried {
        // The service may call something a change that is none: it is published once.
        Some(_) if !is_failure(seen.phase) && !uncertified => return None,
        Some(_) if !asked(case) => return Some(case.rest(Verdict::PublishingFailed, None)),
        _ => {}
    }
    if !case.intent.proven {
        return Some(case.rest(Verdict::AwaitingProof, None));
    }
    let call = CallKind::Publish { id: seen.id.clone(), version: seen.version, certification };
    Some(begin(case, case.ledger.clone(), OperationKind::Publish, seen, call))
}

fn begin(case: &Case<'_>, ledger: Ledger, kind: OperationKind, seen: &Seen, call: CallKind) -> Decision {
    case.held(kind).unwrap_or_else(|| case.send(ledger, case.operation(kind, Some(seen)), call, true))
}
