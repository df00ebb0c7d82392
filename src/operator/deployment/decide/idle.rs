//! No operation runs: creating, taking over, settling, and beginning a redeploy (rules 1, 2, 5, 7 to 13, 15 to 17, 20).

use std::time::Duration;

use clock::between;

use super::super::persisted::{
    Applied, Observation, ObservedDeployment, OperationType, PersistedState, Phase, Sources,
};
use super::creating::{self, create};
use super::debounce::gather;
use super::input::serve;
use super::timing::{left, pace};
use super::{CallKind, Decision, DesiredPayload, Input, LAG, LIMIT, Outcome, TOO_LONG};
use super::{recreating, retained};
use crate::operator::values::digest::Comparison;
use crate::operator::values::names::{Names, differences};

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
        Observation::Present(observed) => {
            let again = observed.phase.is_busy().then(|| pace(input.busy_for()));
            input.no_op(Outcome::Observed(observed.phase), again)
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
        return input.no_op(Outcome::TakingOver, Some(pace(input.busy_for())));
    }
    let resting = input.resting(observed, true);
    let quiet = between(resting.since, input.observed_at);
    let waits = match input.wanted {
        _ if quiet < LAG => (Outcome::TakingOver, Some(left(quiet, LAG))),
        None => (Outcome::ValuesUnknown, None),
        Some(wanted) => return take_over(input, observed, wanted),
    };
    let mut decision = input.no_op(waits.0, waits.1);
    decision.transient.resting = Some(resting);
    decision
}

fn take_over(input: &Input<'_>, observed: &ObservedDeployment, wanted: &DesiredPayload) -> Decision {
    let mut persisted = PersistedState { id: Some(observed.id.clone()), ..PersistedState::default() };
    serve(&mut persisted, input.intent.redeploy_request.as_ref());
    let names = &wanted.payload.names;
    let same = differences(&wanted.values, &observed.values).is_empty()
        && !names.has_hidden_retry_policy(&observed.values)
        && release(input, observed, false) != Release::Due;
    persisted.unverified = wanted.has_secured();
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
        names: same.then(|| names.clone()),
        differs: None,
        uncompared: false,
        accepted: None,
        retained: Names::default(),
        sources: Sources::default(),
        at: input.now,
    });
    input.re_evaluate(persisted)
}

/// Rule 5: the deployment of this resource was not found.
fn absent(input: &Input<'_>, key_held_by: Option<&str>) -> Decision {
    match input.missing(LAG + LIMIT) {
        Some(waits) => waits,
        None if key_held_by.is_some() => input.no_op(Outcome::KeyTaken, None),
        None if input.intent.correct_drift => create(input),
        // The proof holds as long as every read answers 404.
        None => input.no_op(Outcome::Disappeared, None),
    }
}

fn present(input: &Input<'_>, observed: &ObservedDeployment) -> Decision {
    if observed.phase.is_busy() {
        let age = input.busy_for();
        let outcome = if age >= TOO_LONG { Outcome::TakesTooLong } else { Outcome::Busy };
        return input.no_op(outcome, Some(pace(age)));
    }
    // A read with the version from before the last write, or an older one, is stale (rule 17).
    if let Some(applied) = &input.persisted.applied
        && applied.from_version.is_some_and(|from| observed.version <= from)
        && input.since_write() < LAG + LIMIT
    {
        return input.no_op(Outcome::Running(OperationType::Redeploy), Some(Duration::from_secs(5)));
    }
    match input.wanted {
        Some(wanted) => compare(input, observed, wanted),
        None => input.no_op(Outcome::ValuesUnknown, None),
    }
}

/// Rule 7: compares the desired values with those that were applied.
fn compare(input: &Input<'_>, observed: &ObservedDeployment, wanted: &DesiredPayload) -> Decision {
    let applied = input.persisted.applied.as_ref();
    let known = applied.and_then(|applied| applied.digest.as_ref());
    let differs = match known.map(|digest| digest.compare(&wanted.payload.digest)) {
        Some(Comparison::Same) => false,
        Some(Comparison::Different) | None => true,
        Some(Comparison::Unknown) => match rehash(input, observed, wanted) {
            Some(persisted) => return input.re_evaluate(persisted),
            None => true,
        },
    };
    if let Some(applied) = applied.filter(|applied| applied.uncompared && !differs) {
        let applied = Applied { differs: input.differs(wanted, observed), uncompared: false, ..applied.clone() };
        return input.re_evaluate(PersistedState { applied: Some(applied), ..input.persisted.clone() });
    }
    let requested =
        input.intent.redeploy_request.is_some() && input.intent.redeploy_request != input.persisted.handled_redeploy;
    let (drift, rolled_back) = (drift(input, observed, wanted), is_rolled_back(input, observed));
    let drifted = drift == Drift::ByOthers || rolled_back;
    let release = release(input, observed, drifted);
    if let Release::Awaited(outcome) = release {
        return input.no_op(outcome, None);
    }
    let moves = release == Release::Due;
    // Not while another version is asked for: it may declare less, and a version that failed is not put in place of one
    // that serves.
    let recreates = input.intent.recreate
        && release == Release::Stays
        && applied.is_some_and(|applied| retained::has_own(applied, &wanted.payload.names, observed));
    let other = creating::other_version(input).filter(|_| recreates);
    if recreates && other.is_none() {
        return recreating::begin(input, wanted);
    }
    // Values that a redeploy does not restore are left as they are: sending them again and again would not help.
    let rolled_back_values = rolled_back && observed.rollback.is_some();
    let corrects =
        input.intent.correct_drift && (matches!(drift, Drift::ByOthers | Drift::AtOnce) || rolled_back_values);
    if differs || requested || moves || corrects {
        // The first redeploy after a rollback moves to the latest version again.
        let version = &input.intent.version;
        let resumes = rolled_back && version.follow && version.latest > Some(observed.connector_version);
        return redeploy(input, observed, wanted, moves || resumes);
    }
    if let Some(other) = other {
        return input.no_op(other, None);
    }
    if rolled_back && wanted.has_secured() && !input.persisted.unverified {
        // The secured values of that revision are in force, and cannot be read.
        return input.re_evaluate(PersistedState { unverified: true, ..input.persisted.clone() });
    }
    // The last operation failed, and another client has deployed other values since.
    let failed = applied.is_some_and(|applied| applied.outcome == Phase::Failed);
    let outcome = match (observed.phase, release) {
        (Phase::Deployed, _) if failed && drifted => Outcome::Settled { phase: Phase::Failed, drifted },
        (Phase::Deployed, Release::Wrong(outcome)) => outcome,
        (Phase::Deployed, _) if matches!(drift, Drift::AtOnce | Drift::Accepted) => Outcome::NotApplied { drifted },
        (phase, _) => Outcome::Settled { phase, drifted },
    };
    let mut decision = input.no_op(outcome, None);
    decision.transient.change = None;
    decision.transient.refused = None;
    decision.transient.pause = None;
    decision
}

/// Rule 7: the digest was computed with another key, so it cannot be compared. The same sources in the same versions
/// contain the same values; without sources rule 13 applies. Returns the state with the new digest; `None`: the values
/// may have changed.
fn rehash(input: &Input<'_>, observed: &ObservedDeployment, wanted: &DesiredPayload) -> Option<PersistedState> {
    let applied = input.persisted.applied.as_ref()?;
    let unknown = applied.sources.is_empty();
    let same = if unknown {
        differences(&wanted.values, &observed.values).is_empty()
    } else {
        applied.generation == input.intent.generation && applied.sources == wanted.payload.sources
    };
    if !same {
        return None;
    }
    let mut persisted = input.persisted.clone();
    persisted.unverified |= unknown && wanted.has_secured();
    if let Some(applied) = &mut persisted.applied {
        applied.digest = Some(wanted.payload.digest.clone());
        // What differs now is not known to differ since: sending the values again may not help.
        applied.differs = input.differs(wanted, observed);
        applied.accepted.clone_from(&applied.differs);
    }
    Some(persisted)
}

/// How the visible values that were sent compare with those that the remote shows (rule 16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drift {
    /// They do not differ, or it is not known what was sent.
    None,
    /// Another client changed some.
    ByOthers,
    /// The remote showed the same already when the last operation of this resource ended.
    AtOnce,
    /// It showed the same again after they were sent once more, so sending them again would not help.
    Accepted,
}

fn drift(input: &Input<'_>, observed: &ObservedDeployment, wanted: &DesiredPayload) -> Drift {
    let applied = input.persisted.applied.as_ref().filter(|applied| applied.names.is_some());
    let (Some(applied), differs @ Some(_)) = (applied, input.differs(wanted, observed)) else { return Drift::None };
    if applied.accepted == differs {
        Drift::Accepted
    } else if applied.differs == differs {
        Drift::AtOnce
    } else {
        Drift::ByOthers
    }
}

/// Whether somebody rolled the deployment back since the last operation of this resource ended (contract section 6.1):
/// the record names a revision, or an older version of the connector runs.
fn is_rolled_back(input: &Input<'_>, observed: &ObservedDeployment) -> bool {
    let Some(applied) = &input.persisted.applied else { return false };
    let named = observed.rollback.is_some() && observed.rollback != applied.rollback;
    named || applied.connector_version.is_some_and(|applied| observed.connector_version < applied)
}

/// How the version that runs relates to the one that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Release {
    /// It is the one, or it stays as somebody has left it.
    Stays,
    /// A redeploy moves to the one.
    Due,
    /// It is another one, and no redeploy is known to change that. Changes are sent all the same.
    Wrong(Outcome),
    /// The one is not the latest yet, and what is desired belongs to it: nothing is sent.
    Awaited(Outcome),
}

/// Rule 15, as far as the registry was read: a redeploy can only move to the latest version. A deployment that somebody
/// rolled back stays as it is until a newer version is published, or if drift is to be corrected. `drifted`: whether it
/// differs from what was applied.
fn release(input: &Input<'_>, observed: &ObservedDeployment, drifted: bool) -> Release {
    let running = observed.connector_version;
    let version = &input.intent.version;
    let applied = input.persisted.applied.as_ref();
    let before = applied.and_then(|applied| applied.connector_version);
    if input.intent.correct_drift && version.restores(running, before) {
        return Release::Due;
    }
    if version.follow {
        return match version.latest.filter(|_| version.rises(running, before)) {
            None => Release::Stays,
            Some(latest) if input.persisted.followed == Some(latest) => {
                Release::Wrong(Outcome::NotMoved { latest, running, drifted })
            }
            Some(_) => Release::Due,
        };
    }
    let Some(wanted) = version.wanted.filter(|wanted| *wanted != running) else { return Release::Stays };
    let sent = applied.filter(|applied| applied.digest.is_some());
    let tried = sent.is_some_and(|applied| applied.generation == input.intent.generation);
    if wanted < running || (tried && version.latest == Some(wanted)) {
        return Release::Wrong(Outcome::VersionMismatch { wanted, running, drifted });
    }
    if version.latest == Some(wanted) {
        return Release::Due;
    }
    let unavailable = Outcome::VersionUnavailable { wanted, latest: version.latest, drifted };
    if tried || before >= Some(wanted) { Release::Wrong(unavailable) } else { Release::Awaited(unavailable) }
}

/// Rule 9: sends the changes within [`GATHER`] as one redeploy. Rule 8: it carries every value and the version that was
/// read.
fn redeploy(input: &Input<'_>, observed: &ObservedDeployment, wanted: &DesiredPayload, moves: bool) -> Decision {
    if let Some(waits) = gather(input, wanted) {
        return waits;
    }
    let mut operation = input.operation(OperationType::Redeploy, Some(wanted));
    operation.from_version = Some(observed.version);
    operation.from_build.clone_from(&observed.build);
    operation.changes_visible = !observed.shows_as_sent(&wanted.payload, input.digests);
    let call = if moves { CallKind::Move } else { CallKind::Redeploy };
    let mut persisted = input.persisted.clone();
    if let Some(applied) = &mut persisted.applied {
        // The starting point: otherwise values that another client left would be attributed to this redeploy, or
        // corrected twice.
        applied.differs = input.differs(wanted, observed);
    }
    input.send(persisted, operation, call, input.cause(wanted))
}
