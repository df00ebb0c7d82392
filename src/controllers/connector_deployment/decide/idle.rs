//! Nothing runs: creating, taking over, settling, and beginning a redeploy (rules 1, 2, 5, 7 to 13, 15 to 17, 20).

use std::time::Duration;

use clock::{between, later};

use super::super::ledger::{Applied, Ledger, Look, OperationKind, Phase, Seen, Sources};
use super::case::serve;
use super::{CallKind, Case, Change, Decision, GATHER, GATHER_AT_MOST, LAG, LIMIT, TOO_LONG, Verdict, Wanted};
use super::{recreating, retained};
use crate::controllers::digest::Comparison;
use crate::controllers::operations::{Gone, left, pace};
use crate::controllers::tags::{Item, Tags};

pub(super) fn decide(case: &Case<'_>) -> Decision {
    match (&case.ledger.id, case.look) {
        (None, Look::Absent { .. }) => create(case),
        (None, Look::Present(seen)) => found(case, seen),
        (Some(_), Look::Absent { key_held_by }) => absent(case, key_held_by.as_deref()),
        (Some(_), Look::Present(seen)) => present(case, seen),
    }
}

/// Rule 20: looks and tells, sends and claims nothing.
pub(super) fn observe(case: &Case<'_>) -> Decision {
    match case.look {
        Look::Absent { .. } => case.rest(Verdict::NothingToObserve, None),
        Look::Present(seen) if seen.phase.is_busy() => {
            let (since, age) = case.busy();
            let mut decision = case.rest(Verdict::Observed(seen.phase), Some(pace(age)));
            decision.memory.busy_since = Some(since);
            decision
        }
        Look::Present(seen) => {
            let mut decision = case.rest(Verdict::Observed(seen.phase), None);
            decision.memory.busy_since = None;
            decision
        }
    }
}

/// Rule 1. The key was looked up and is free; it is looked up once more before the POST.
pub(super) fn create(case: &Case<'_>) -> Decision {
    let Some(wanted) = case.wanted else { return case.rest(Verdict::ValuesUnknown, None) };
    if let Some(other) = other_version(case) {
        return case.rest(other, None);
    }
    if let Some(held) = case.held(Some(&case.cause(wanted))) {
        return held;
    }
    let mut ledger = case.ledger.clone();
    // A request that is there at creation is served by the creation (rule 11).
    serve(&mut ledger, case.intent.redeploy_request.as_ref());
    let gone = ledger.id.clone();
    case.send(ledger, case.operation(OperationKind::Create, Some(wanted)), CallKind::Create { gone }, true)
}

/// Rule 15: what is created gets the latest version.
pub(super) fn other_version(case: &Case<'_>) -> Option<Verdict> {
    let version = &case.intent.version;
    let (wanted, latest) = version.wanted.zip(version.latest).filter(|(wanted, latest)| wanted != latest)?;
    Some(Verdict::VersionUnavailable { wanted, latest: Some(latest) })
}

/// Rules 2, 3 and 13: the key exists and nothing that is stored says that it is ours.
fn found(case: &Case<'_>, seen: &Seen) -> Decision {
    if !(case.intent.adopt || case.intent.remote_id.as_ref() == Some(&seen.id)) {
        return case.rest(Verdict::KeyTaken, None);
    }
    if !case.intent.identity.fits(seen) {
        return case.rest(Verdict::NotAdoptable, None);
    }
    if seen.phase.is_busy() {
        let (since, age) = case.busy();
        let mut decision = case.rest(Verdict::TakingOver, Some(pace(age)));
        decision.memory.busy_since = Some(since);
        return decision;
    }
    let rest = case.resting(seen, true);
    let quiet = between(rest.since, case.now);
    let waits = match case.wanted {
        _ if quiet < LAG => (Verdict::TakingOver, Some(left(quiet, LAG))),
        None => (Verdict::ValuesUnknown, None),
        Some(wanted) => return take_over(case, seen, wanted),
    };
    let mut decision = case.rest(waits.0, waits.1);
    decision.memory.resting = Some(rest);
    decision.memory.busy_since = None;
    decision
}

fn take_over(case: &Case<'_>, seen: &Seen, wanted: &Wanted) -> Decision {
    let mut ledger = Ledger { id: Some(seen.id.clone()), ..Ledger::default() };
    serve(&mut ledger, case.intent.redeploy_request.as_ref());
    let tags = &wanted.payload.tags;
    let same = tags.fits(&seen.values)
        && !tags.has_hidden_retry_policy(&seen.values)
        && !matches!(version(case, seen), Update::Yes);
    ledger.unverified = wanted.secured;
    ledger.applied = Some(Applied {
        generation: case.intent.generation,
        // Visible values that differ, or a higher version, are one redeploy; if they do not, it stays as it is.
        digest: same.then(|| wanted.payload.digest.clone()),
        outcome: seen.phase,
        serves: seen.phase == Phase::Deployed,
        from_version: None,
        connector_version: Some(seen.connector_version),
        rollback: seen.rollback.clone(),
        sent: same.then(|| wanted.payload.tags.clone()),
        shown: Tags::default(),
        accepted: Tags::default(),
        retained: Tags::default(),
        sources: Sources::default(),
        at: case.now,
    });
    case.anew(ledger)
}

/// Rule 5: it was ours, and does not show.
fn absent(case: &Case<'_>, key_held_by: Option<&str>) -> Decision {
    match case.gone(LAG + LIMIT) {
        Gone::NotYet { since } => case.missing(since),
        Gone::Proven if key_held_by.is_some() => case.rest(Verdict::KeyTaken, None),
        Gone::Proven if case.intent.correct_drift => create(case),
        // The proof stays good for as long as the row of 404 is unbroken.
        Gone::Proven => case.rest(Verdict::Disappeared, None),
    }
}

fn present(case: &Case<'_>, seen: &Seen) -> Decision {
    if seen.phase.is_busy() {
        let (since, age) = case.busy();
        let verdict = if age >= TOO_LONG { Verdict::TakesTooLong } else { Verdict::Busy };
        let mut decision = case.rest(verdict, Some(pace(age)));
        decision.memory.busy_since = Some(since);
        return decision;
    }
    // A read that shows the version from before our last write, or an older one, is an old one (rule 17).
    if let Some(applied) = &case.ledger.applied
        && applied.from_version.is_some_and(|from| seen.version <= from)
        && case.since_write() < LAG + LIMIT
    {
        return case.rest(Verdict::Running(OperationKind::Redeploy), Some(Duration::from_secs(5)));
    }
    let mut decision = match case.wanted {
        Some(wanted) => compare(case, seen, wanted),
        None => case.rest(Verdict::ValuesUnknown, None),
    };
    decision.memory.busy_since = None;
    decision
}

/// Rule 7: what is desired against what was applied.
fn compare(case: &Case<'_>, seen: &Seen, wanted: &Wanted) -> Decision {
    let applied = case.ledger.applied.as_ref();
    let known = applied.and_then(|applied| applied.digest.as_ref());
    let (differs, removed) = match known.map(|digest| digest.compare(&wanted.payload.digest)) {
        Some(Comparison::Same) => (false, false),
        Some(Comparison::Different) => {
            // A redeploy takes nothing away, so one that would only leave something out would change nothing.
            let leaves_out = applied.is_some_and(|applied| retained::is_all_there(applied, wanted, seen));
            (!leaves_out, leaves_out)
        }
        None => (true, false),
        Some(Comparison::Unknown) => match rehash(case, seen, wanted) {
            Rehash::Same(decision) => return *decision,
            Rehash::Changed => (true, false),
        },
    };
    let requested =
        case.intent.redeploy_request.is_some() && case.intent.redeploy_request != case.ledger.handled_redeploy;
    let update = match version(case, seen) {
        Update::No => false,
        Update::Yes => true,
        Update::Cannot(verdict) => return case.rest(verdict, None),
    };
    // What is retained is told although nothing is sent yet, or for long.
    if (case.intent.suspended || case.intent.recreate)
        && let Some(ledger) = noted(case, seen, wanted, false)
    {
        return case.anew(ledger);
    }
    if case.intent.recreate && applied.is_some_and(|applied| retained::has_own(applied, &wanted.payload.tags, seen)) {
        return recreating::begin(case, seen, wanted);
    }
    let drift = drift(applied, seen, wanted);
    let rolled_back = is_rolled_back(case, seen);
    // What cannot be taken back by a redeploy is left so: sending it again and again would not help.
    let rolled_back_values = rolled_back && seen.rollback.is_some();
    let corrects = case.intent.correct_drift && (drift.can_be_corrected() || rolled_back_values);
    if differs || requested || update || corrects {
        // What somebody rolled back follows again with the first redeploy of ours.
        let version = &case.intent.version;
        let resumes = rolled_back && version.follow && version.latest > Some(seen.connector_version);
        return redeploy(case, seen, wanted, update || resumes);
    }
    if let Some(ledger) = noted(case, seen, wanted, removed) {
        return case.anew(ledger);
    }
    if rolled_back && wanted.secured && !case.ledger.unverified {
        // Those of the revision are in force, and cannot be read.
        return case.anew(Ledger { unverified: true, ..case.ledger.clone() });
    }
    let drifted = !drift.elsewhere.is_empty() || rolled_back;
    // Ours failed, and what somebody else deployed since is not what is wanted.
    let failed = applied.is_some_and(|applied| applied.outcome == Phase::Failed);
    let verdict = match seen.phase {
        Phase::Deployed if failed && drifted => Verdict::Settled { phase: Phase::Failed, drifted },
        Phase::Deployed if drift.is_not_applied() => Verdict::NotApplied { drifted },
        phase => Verdict::Settled { phase, drifted },
    };
    let mut decision = case.rest(verdict, None);
    decision.memory.change = None;
    decision.memory.refused = None;
    decision.memory.pause = None;
    decision
}

/// What is to be noted without sending anything: what is wanted now if only something was `removed`, and what is retained.
fn noted(case: &Case<'_>, seen: &Seen, wanted: &Wanted, removed: bool) -> Option<Ledger> {
    let before = case.ledger.applied.as_ref()?;
    before.sent.as_ref()?;
    let payload = &wanted.payload;
    let mut applied = Applied { retained: retained::retained(before, &payload.tags, seen), ..before.clone() };
    if removed {
        applied.generation = case.intent.generation;
        applied.digest = Some(payload.digest.clone());
        applied.sources.clone_from(&payload.sources);
        applied.shown.retain(|item, _| payload.tags.has(item));
        applied.accepted.retain(|item, _| payload.tags.has(item));
        applied.sent = Some(payload.tags.clone());
    }
    (applied != *before).then(|| Ledger { applied: Some(applied), ..case.ledger.clone() })
}

enum Rehash {
    Same(Box<Decision>),
    Changed,
}

/// Rule 7: the digest was made under another key, so it says nothing. The same sources in the same versions hold the
/// same values; without sources it is rule 13.
fn rehash(case: &Case<'_>, seen: &Seen, wanted: &Wanted) -> Rehash {
    let Some(applied) = &case.ledger.applied else { return Rehash::Changed };
    let unknown = applied.sources.is_empty();
    let same = if unknown {
        wanted.payload.tags.fits(&seen.values)
    } else {
        applied.generation == case.intent.generation && applied.sources == wanted.payload.sources
    };
    if !same {
        return Rehash::Changed;
    }
    let mut ledger = case.ledger.clone();
    ledger.unverified |= unknown && wanted.secured;
    if let Some(applied) = &mut ledger.applied {
        applied.digest = Some(wanted.payload.digest.clone());
        applied.retained = retained::retained(applied, &wanted.payload.tags, seen);
        applied.sent = applied.sent.as_ref().map(|_| wanted.payload.tags.clone());
    }
    Rehash::Same(Box::new(case.anew(ledger)))
}

/// The visible values that differ from those that were sent (rule 16), of those that were sent: what else shows is none of
/// ours.
#[derive(Default)]
struct Drift {
    /// Somebody changed them.
    elsewhere: Vec<Item>,
    /// The remote showed others than it was sent when our last operation ended.
    at_once: Vec<Item>,
    /// It did so again when they were sent once more, so sending them again would not help.
    normalised: Vec<Item>,
}

impl Drift {
    fn can_be_corrected(&self) -> bool {
        !(self.elsewhere.is_empty() && self.at_once.is_empty())
    }

    fn is_not_applied(&self) -> bool {
        !(self.at_once.is_empty() && self.normalised.is_empty())
    }
}

fn drift(applied: Option<&Applied>, seen: &Seen, wanted: &Wanted) -> Drift {
    let mut drift = Drift::default();
    let Some(applied) = applied.filter(|applied| applied.sent.is_some()) else { return drift };
    for (item, now) in wanted.payload.tags.differences(&seen.values).iter() {
        let kind = if applied.accepted.get(item) == Some(now) {
            &mut drift.normalised
        } else if applied.shown.get(item) == Some(now) {
            &mut drift.at_once
        } else {
            &mut drift.elsewhere
        };
        kind.push(item.clone());
    }
    drift
}

/// The values of which the remote shows others than those that were sent, since our last operation ended.
#[must_use]
pub fn not_applied(applied: Option<&Applied>, seen: &Seen, wanted: &Wanted) -> Vec<Item> {
    let Drift { elsewhere: _, at_once, normalised } = drift(applied, seen, wanted);
    at_once.into_iter().chain(normalised).collect()
}

enum Update {
    No,
    Yes,
    Cannot(Verdict),
}

/// Somebody rolled the deployment back since our last operation ended (contract section 6.1): the record says so, or an older
/// version of the connector runs.
fn is_rolled_back(case: &Case<'_>, seen: &Seen) -> bool {
    let Some(applied) = &case.ledger.applied else { return false };
    let named = seen.rollback.is_some() && seen.rollback != applied.rollback;
    named || applied.connector_version.is_some_and(|applied| seen.connector_version < applied)
}

/// Rule 15, as far as the registry was read: a redeploy can only move to the latest version. What somebody rolled back is left
/// as it is until there is a version that was not there then, or drift is to be corrected.
fn version(case: &Case<'_>, seen: &Seen) -> Update {
    let running = seen.connector_version;
    let version = &case.intent.version;
    let before = case.ledger.applied.as_ref().and_then(|applied| applied.connector_version);
    if case.intent.correct_drift && version.restores(running, before) {
        return Update::Yes;
    }
    if version.follow {
        let rises = version.rises(running, before) && case.memory.followed != version.latest;
        return if rises { Update::Yes } else { Update::No };
    }
    let Some(wanted) = version.wanted.filter(|wanted| *wanted != running) else { return Update::No };
    let applied = case.ledger.applied.as_ref().filter(|applied| applied.digest.is_some());
    let tried = applied.is_some_and(|applied| applied.generation == case.intent.generation);
    if wanted < running || (tried && version.latest == Some(wanted)) {
        return Update::Cannot(Verdict::VersionMismatch { wanted, running });
    }
    if version.latest == Some(wanted) {
        return Update::Yes;
    }
    Update::Cannot(Verdict::VersionUnavailable { wanted, latest: version.latest })
}

/// Rule 9: what changed within [`GATHER`] becomes one redeploy. Rule 8: it carries every value and the version read.
fn redeploy(case: &Case<'_>, seen: &Seen, wanted: &Wanted, update_connector: bool) -> Decision {
    if let Some(waits) = gather(case, wanted) {
        return waits;
    }
    let mut operation = case.operation(OperationKind::Redeploy, Some(wanted));
    operation.from_version = Some(seen.version);
    operation.from_build.clone_from(&seen.build);
    operation.changes_visible = !wanted.payload.tags.fits(&seen.values);
    let call = CallKind::Redeploy { id: seen.id.clone(), version: seen.version, update_connector };
    let mut ledger = case.ledger.clone();
    if let Some(applied) = &mut ledger.applied {
        // What it starts from: otherwise what somebody else left would be taken for what it brings, or be corrected twice.
        applied.shown = applied.sent.as_ref().map(|sent| sent.shown_otherwise(&seen.values)).unwrap_or_default();
    }
    let mut decision = case.send(ledger, operation, call, true);
    if update_connector {
        decision.memory.followed = case.intent.version.latest;
    }
    decision
}

/// Why a change is not sent yet: it was refused, or more changes may follow.
pub(super) fn gather(case: &Case<'_>, wanted: &Wanted) -> Option<Decision> {
    let asked = case.cause(wanted);
    if let Some(held) = case.held(Some(&asked)) {
        return Some(held);
    }
    let change = match &case.memory.change {
        Some(change) if change.cause == asked => change.clone(),
        Some(change) => Change { cause: asked, first: change.first, last: case.now },
        None => Change { cause: asked, first: case.now, last: case.now },
    };
    let ready = later(change.last, GATHER).min(later(change.first, GATHER_AT_MOST));
    (case.now < ready).then(|| {
        let mut decision = case.rest(Verdict::Changing, Some(between(case.now, ready)));
        decision.memory.change = Some(change);
        decision
    })
}
