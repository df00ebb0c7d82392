//! No operation runs: creating, taking over, settling, and beginning a redeploy (rules 1, 2, 5, 7 to 13, 15 to 17, 20).

use std::time::Duration;

use clock::between;

use super::super::persisted::{
    Applied, Observation, ObservedDeployment, OperationType, PersistedState, Phase, Sources,
};
use super::creating::create;
use super::debounce::gather;
use super::input::serve;
use super::{CallKind, Decision, DesiredPayload, Input, LAG, LIMIT, Outcome, TOO_LONG};
use super::{recreating, retained};
use crate::controllers::driver::operations::{Gone, left, pace};
use crate::controllers::values::digest::Comparison;
use crate::controllers::values::tags::{FOREIGN, Item, Tags};

pub(super) fn decide(input: &Input<'_>) -> Decision {
    match (&input.persisted.id, input.observation) {
        (None, Observation::Absent { .. }) => create(input),
        (None, Observation::Present(observed)) => found(input, observed),
        (Some(_), Observation::Absent { key_held_by }) => absent(input, key_held_by.as_deref()),
        (Some(_), Observation::Present(observed)) => present(input, observed),
    }
}

/// Rule 20: observes and reports, but sends and claims nothing.
pub(super) fn observe(input: &Input<'_>) -> Decision {
    match input.observation {
        // Its deployment is gone, and the key belongs to another one.
        Observation::Absent { key_held_by: Some(_) } => input.no_op(Outcome::KeyTaken, None),
        Observation::Absent { key_held_by: None } => input.no_op(Outcome::NothingToObserve, None),
        Observation::Present(observed) if observed.phase.is_busy() => {
            let (since, age) = input.busy();
            let mut decision = input.no_op(Outcome::Observed(observed.phase), Some(pace(age)));
            decision.transient.busy_since = Some(since);
            decision
        }
        Observation::Present(observed) => {
            let mut decision = input.no_op(Outcome::Observed(observed.phase), None);
            decision.transient.busy_since = None;
            decision
        }
    }
}

/// Rules 2, 3 and 13: the key exists, and the persisted state does not say that this resource created the deployment.
fn found(input: &Input<'_>, observed: &ObservedDeployment) -> Decision {
    if !(input.intent.adopt || input.intent.remote_id.as_ref() == Some(&observed.id)) {
        return input.no_op(Outcome::KeyTaken, None);
    }
    if !input.intent.identity.fits(observed) {
        return input.no_op(Outcome::NotAdoptable, None);
    }
    if observed.phase.is_busy() {
        let (since, age) = input.busy();
        let mut decision = input.no_op(Outcome::TakingOver, Some(pace(age)));
        decision.transient.busy_since = Some(since);
        return decision;
    }
    let resting = input.resting(observed, true);
    let quiet = between(resting.since, input.now);
    let waits = match input.wanted {
        _ if quiet < LAG => (Outcome::TakingOver, Some(left(quiet, LAG))),
        None => (Outcome::ValuesUnknown, None),
        Some(wanted) => return take_over(input, observed, wanted),
    };
    let mut decision = input.no_op(waits.0, waits.1);
    decision.transient.resting = Some(resting);
    decision.transient.busy_since = None;
    decision
}

fn take_over(input: &Input<'_>, observed: &ObservedDeployment, wanted: &DesiredPayload) -> Decision {
    let mut persisted = PersistedState { id: Some(observed.id.clone()), ..PersistedState::default() };
    serve(&mut persisted, input.intent.redeploy_request.as_ref());
    let tags = &wanted.payload.tags;
    let same = tags.fits(&observed.values)
        && !tags.has_hidden_retry_policy(&observed.values)
        && version(input, observed) != Ok(true);
    persisted.unverified = wanted.secured;
    persisted.applied = Some(Applied {
        generation: input.intent.generation,
        // Without a digest one redeploy is due: if visible values differ, or for a higher version. Otherwise nothing is
        // sent.
        digest: same.then(|| wanted.payload.digest.clone()),
        outcome: observed.phase,
        serves: observed.phase == Phase::Deployed,
        from_version: None,
        connector_version: Some(observed.connector_version),
        rollback: observed.rollback.clone(),
        sent: same.then(|| wanted.payload.tags.clone()),
        shown: Tags::default(),
        accepted: Tags::default(),
        retained: Tags::default(),
        sources: Sources::default(),
        at: input.now,
    });
    input.re_evaluate(persisted)
}

/// Rule 5: the deployment of this resource was not found.
fn absent(input: &Input<'_>, key_held_by: Option<&str>) -> Decision {
    match input.gone(LAG + LIMIT) {
        Gone::NotYet { since } => input.missing(since),
        Gone::Proven if key_held_by.is_some() => input.no_op(Outcome::KeyTaken, None),
        Gone::Proven if input.intent.correct_drift => create(input),
        // The proof holds as long as every read answers 404.
        Gone::Proven => input.no_op(Outcome::Disappeared, None),
    }
}

fn present(input: &Input<'_>, observed: &ObservedDeployment) -> Decision {
    if observed.phase.is_busy() {
        let (since, age) = input.busy();
        let outcome = if age >= TOO_LONG { Outcome::TakesTooLong } else { Outcome::Busy };
        let mut decision = input.no_op(outcome, Some(pace(age)));
        decision.transient.busy_since = Some(since);
        return decision;
    }
    // A read with the version from before the last write, or an older one, is stale (rule 17).
    if let Some(applied) = &input.persisted.applied
        && applied.from_version.is_some_and(|from| observed.version <= from)
        && input.since_write() < LAG + LIMIT
    {
        return input.no_op(Outcome::Running(OperationType::Redeploy), Some(Duration::from_secs(5)));
    }
    let mut decision = match input.wanted {
        Some(wanted) => compare(input, observed, wanted),
        None => input.no_op(Outcome::ValuesUnknown, None),
    };
    decision.transient.busy_since = None;
    decision
}

/// Rule 7: compares the desired values with those that were applied.
fn compare(input: &Input<'_>, observed: &ObservedDeployment, wanted: &DesiredPayload) -> Decision {
    let applied = input.persisted.applied.as_ref();
    let known = applied.and_then(|applied| applied.digest.as_ref());
    let (differs, removed) = match known.map(|digest| digest.compare(&wanted.payload.digest)) {
        Some(Comparison::Same) => (false, false),
        Some(Comparison::Different) => {
            // A redeploy does not remove values, so one that only leaves values out would change nothing.
            let leaves_out = applied.is_some_and(|applied| retained::is_all_there(applied, wanted, observed));
            (!leaves_out, leaves_out)
        }
        None => (true, false),
        Some(Comparison::Unknown) => match rehash(input, observed, wanted) {
            Some(persisted) => return input.re_evaluate(persisted),
            None => (true, false),
        },
    };
    let requested =
        input.intent.redeploy_request.is_some() && input.intent.redeploy_request != input.persisted.handled_redeploy;
    let update = match version(input, observed) {
        Ok(update) => update,
        Err(outcome) => return input.no_op(outcome, None),
    };
    // Retained values are reported even if nothing is sent yet, or for a long time.
    if (input.intent.suspended || input.intent.recreate)
        && let Some(persisted) = noted(input, observed, wanted, removed && input.intent.suspended)
    {
        return input.re_evaluate(persisted);
    }
    if input.intent.recreate
        && applied.is_some_and(|applied| retained::has_own(applied, &wanted.payload.tags, observed))
    {
        return recreating::begin(input, observed, wanted);
    }
    let drift = drift(applied, observed, wanted);
    let rolled_back = is_rolled_back(input, observed);
    // Values that a redeploy does not restore are left as they are: sending them again and again would not help.
    let rolled_back_values = rolled_back && observed.rollback.is_some();
    let corrects = input.intent.correct_drift && (drift.can_be_corrected() || rolled_back_values);
    if differs || requested || update || corrects {
        // The first redeploy after a rollback moves to the latest version again.
        let version = &input.intent.version;
        let resumes = rolled_back && version.follow && version.latest > Some(observed.connector_version);
        return redeploy(input, observed, wanted, update || resumes);
    }
    if let Some(persisted) = noted(input, observed, wanted, removed) {
        return input.re_evaluate(persisted);
    }
    if rolled_back && wanted.secured && !input.persisted.unverified {
        // The secured values of that revision are in force, and cannot be read.
        return input.re_evaluate(PersistedState { unverified: true, ..input.persisted.clone() });
    }
    let drifted = !drift.by_others.is_empty() || rolled_back;
    // The last operation failed, and another client has deployed other values since.
    let failed = applied.is_some_and(|applied| applied.outcome == Phase::Failed);
    let outcome = match observed.phase {
        Phase::Deployed if failed && drifted => Outcome::Settled { phase: Phase::Failed, drifted },
        Phase::Deployed if drift.is_not_applied() => Outcome::NotApplied { drifted },
        phase => Outcome::Settled { phase, drifted },
    };
    let mut decision = input.no_op(outcome, None);
    decision.transient.change = None;
    decision.transient.refused = None;
    decision.transient.pause = None;
    decision
}

/// Returns what to persist without sending anything: the desired values if some were only `removed`, and the retained
/// ones.
fn noted(
    input: &Input<'_>,
    observed: &ObservedDeployment,
    wanted: &DesiredPayload,
    removed: bool,
) -> Option<PersistedState> {
    let before = input.persisted.applied.as_ref()?;
    before.sent.as_ref()?;
    let payload = &wanted.payload;
    let mut applied = Applied { retained: retained::retained(before, &payload.tags, observed), ..before.clone() };
    if removed {
        applied.generation = input.intent.generation;
        applied.digest = Some(payload.digest.clone());
        applied.sources.clone_from(&payload.sources);
        applied.shown.retain(|item, _| payload.tags.has(item));
        applied.accepted.retain(|item, _| payload.tags.has(item));
        applied.sent = Some(payload.tags.clone());
    } else if let Some(sent) = &mut applied.sent {
        // A retained value that is desired again counts as sent, because it is there: while nothing is sent, it may be
        // removed once more.
        let again = before.retained.iter().filter(|(item, tag)| *tag != FOREIGN && payload.tags.has(item));
        for (item, tag) in again {
            if !sent.has(item) {
                sent.set(item.clone(), tag);
            }
        }
        if before.digest.as_ref().is_some_and(|digest| digest.compare(&payload.digest) == Comparison::Same) {
            sent.retain(|item, _| !applied.retained.has(item));
        }
    }
    (applied != *before).then(|| PersistedState { applied: Some(applied), ..input.persisted.clone() })
}

/// Rule 7: the digest was computed with another key, so it cannot be compared. The same sources in the same versions
/// contain the same values; without sources rule 13 applies. Returns the state with the new digest; `None`: the values
/// may have changed.
fn rehash(input: &Input<'_>, observed: &ObservedDeployment, wanted: &DesiredPayload) -> Option<PersistedState> {
    let applied = input.persisted.applied.as_ref()?;
    let unknown = applied.sources.is_empty();
    let same = if unknown {
        wanted.payload.tags.fits(&observed.values)
    } else {
        applied.generation == input.intent.generation && applied.sources == wanted.payload.sources
    };
    if !same {
        return None;
    }
    let mut persisted = input.persisted.clone();
    persisted.unverified |= unknown && wanted.secured;
    if let Some(applied) = &mut persisted.applied {
        applied.digest = Some(wanted.payload.digest.clone());
        applied.retained = retained::retained(applied, &wanted.payload.tags, observed);
        applied.sent = applied.sent.as_ref().map(|_| wanted.payload.tags.clone());
    }
    Some(persisted)
}

/// The visible values that differ from those that were sent (rule 16). Values that were never sent do not count.
#[derive(Default)]
struct Drift {
    /// Another client changed them.
    by_others: Vec<Item>,
    /// The remote showed something else already when the last operation of this resource ended.
    at_once: Vec<Item>,
    /// It showed the same again after they were sent once more, so sending them again would not help.
    normalised: Vec<Item>,
}

impl Drift {
    fn can_be_corrected(&self) -> bool {
        !(self.by_others.is_empty() && self.at_once.is_empty())
    }

    fn is_not_applied(&self) -> bool {
        !(self.at_once.is_empty() && self.normalised.is_empty())
    }
}

fn drift(applied: Option<&Applied>, observed: &ObservedDeployment, wanted: &DesiredPayload) -> Drift {
    let mut drift = Drift::default();
    let Some(applied) = applied.filter(|applied| applied.sent.is_some()) else { return drift };
    for (item, now) in wanted.payload.tags.differences(&observed.values).iter() {
        let kind = if applied.accepted.get(item) == Some(now) {
            &mut drift.normalised
        } else if applied.shown.get(item) == Some(now) {
            &mut drift.at_once
        } else {
            &mut drift.by_others
        };
        kind.push(item.clone());
    }
    drift
}

/// Returns the values that another client changed since the last operation of this resource ended.
#[must_use]
pub fn changed_by_others(
    applied: Option<&Applied>,
    observed: &ObservedDeployment,
    wanted: &DesiredPayload,
) -> Vec<Item> {
    drift(applied, observed, wanted).by_others
}

/// Returns the values that the remote showed differently already when the last operation of this resource ended.
#[must_use]
pub fn not_applied(applied: Option<&Applied>, observed: &ObservedDeployment, wanted: &DesiredPayload) -> Vec<Item> {
    let Drift { by_others: _, at_once, normalised } = drift(applied, observed, wanted);
    at_once.into_iter().chain(normalised).collect()
}

/// Whether somebody rolled the deployment back since the last operation of this resource ended (contract section 6.1):
/// the record names a revision, or an older version of the connector runs.
fn is_rolled_back(input: &Input<'_>, observed: &ObservedDeployment) -> bool {
    let Some(applied) = &input.persisted.applied else { return false };
    let named = observed.rollback.is_some() && observed.rollback != applied.rollback;
    named || applied.connector_version.is_some_and(|applied| observed.connector_version < applied)
}

/// Rule 15, as far as the registry was read: a redeploy can only move to the latest version. A deployment that somebody
/// rolled back is left as it is until a newer version is published, or if drift is to be corrected. Returns whether to move;
/// the error is why that is impossible.
fn version(input: &Input<'_>, observed: &ObservedDeployment) -> Result<bool, Outcome> {
    let running = observed.connector_version;
    let version = &input.intent.version;
    let before = input.persisted.applied.as_ref().and_then(|applied| applied.connector_version);
    if input.intent.correct_drift && version.restores(running, before) {
        return Ok(true);
    }
    if version.follow {
        return Ok(version.rises(running, before) && input.transient.followed != version.latest);
    }
    let Some(wanted) = version.wanted.filter(|wanted| *wanted != running) else { return Ok(false) };
    let applied = input.persisted.applied.as_ref().filter(|applied| applied.digest.is_some());
    let tried = applied.is_some_and(|applied| applied.generation == input.intent.generation);
    if wanted < running || (tried && version.latest == Some(wanted)) {
        return Err(Outcome::VersionMismatch { wanted, running });
    }
    if version.latest == Some(wanted) {
        return Ok(true);
    }
    Err(Outcome::VersionUnavailable { wanted, latest: version.latest })
}

/// Rule 9: sends the changes within [`GATHER`] as one redeploy. Rule 8: it carries every value and the version that was
/// read.
fn redeploy(
    input: &Input<'_>,
    observed: &ObservedDeployment,
    wanted: &DesiredPayload,
    update_connector: bool,
) -> Decision {
    if let Some(waits) = gather(input, wanted) {
        return waits;
    }
    let mut operation = input.operation(OperationType::Redeploy, Some(wanted));
    operation.from_version = Some(observed.version);
    operation.from_build.clone_from(&observed.build);
    operation.changes_visible = !wanted.payload.tags.fits(&observed.values);
    let call = CallKind::Redeploy { id: observed.id.clone(), version: observed.version, update_connector };
    let mut persisted = input.persisted.clone();
    if let Some(applied) = &mut persisted.applied {
        // The starting point: otherwise values that another client left would be attributed to this redeploy, or
        // corrected twice.
        applied.shown = applied.sent.as_ref().map(|sent| sent.shown_otherwise(&observed.values)).unwrap_or_default();
    }
    let mut decision = input.send(persisted, operation, call, true);
    if update_connector {
        decision.transient.followed = input.intent.version.latest;
    }
    decision
}
