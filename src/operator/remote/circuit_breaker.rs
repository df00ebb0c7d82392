//! The circuit breaker of one remote: whether calls go out at all. Pure: time and jitter are arguments.
//!
//! A failure opens it for the whole project, so that a dead service costs few calls. When the pause is over, the poller
//! tries one LIST, and a page closes it for all. An error that the service answered on purpose does not open it: it concerns
//! one resource, and shows that the service works.

use std::sync::Arc;
use std::time::Duration;

use clock::later;
use connect_api::error::Failure;
use connect_api::{ApiError, ErrorCode, Reaction};
use jiff::Timestamp;

use super::jitter::{FIRST_PAUSE, Jitter};
use super::{Health, Outage, OutageKind};

/// Pause while a user has to act at the remote; new credentials end it.
pub(super) const UNTIL_REPAIRED: Duration = Duration::from_mins(5);
/// Pause after one failure of a service that has worked.
const ONE_FAILURE: Duration = Duration::from_millis(125);
/// Failures in a row, the last of them a refused list, after which the project counts as missing, unless the code of an
/// answer states it: a gateway in between may answer anything for some seconds.
const TIMES_NOT_THERE: u32 = 4;
/// A first failure with a shorter pause is not reported: most are over with the next call.
const WORTH_REPORTING: Duration = Duration::from_secs(10);

/// What a call concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallScope {
    /// Listing the deployments of the project. Every project with Connect has this list, even if it is empty: no other
    /// answer shows that the service has the project, so after a pause a list is tried first.
    List,
    /// Reading a deployment, which every decision needs.
    Read,
    /// Anything else: a refusal concerns the caller alone.
    Other,
    /// The registry, which is optional: a failure concerns the caller alone, whatever it is. If the service throttles
    /// or refuses all calls, the next call of another scope shows it.
    Extra,
}

/// Permission to make one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permit {
    round: u64,
    at: Timestamp,
    scope: CallScope,
}

/// The circuit breaker of one remote.
#[derive(Clone, Debug, Default)]
pub(super) struct CircuitBreaker {
    outage: Option<Outage>,
    reported: bool,
    failures: u32,
    /// Counts how often it opened: of the calls that were under way together, one failure counts.
    round: u64,
    good: Option<Timestamp>,
}

impl CircuitBreaker {
    pub(super) fn outage(&self) -> Option<&Outage> {
        self.outage.as_ref()
    }

    /// Returns the permission to call, or the outage that forbids it.
    pub(super) fn admit(&self, now: Timestamp, scope: CallScope) -> Result<Permit, &Outage> {
        match &self.outage {
            Some(outage) if scope != CallScope::List || outage.until > now => Err(outage),
            _ => Ok(Permit { round: self.round, at: now, scope }),
        }
    }

    /// Ends the pause of an outage that only a user can end, and who says so is believed once. A service that is down, or asked
    /// for a pause, is not asked earlier.
    pub(super) fn try_again(&mut self, now: Timestamp) {
        if let Some(outage) = &mut self.outage
            && !matches!(outage.kind, OutageKind::Unavailable | OutageKind::Throttled)
        {
            outage.until = now;
        }
    }

    /// Records a successful answer. An outage ends only with a call that was sent after it began.
    pub(super) fn succeeded(&mut self, permit: Permit) {
        if permit.round == self.round {
            self.outage = None;
            self.failures = 0;
            self.good = self.good.max(Some(permit.at));
        }
    }

    /// Records a failure that arrived at `now`.
    pub(super) fn failed(&mut self, permit: Permit, error: &ApiError, now: Timestamp, jitter: &mut Jitter) {
        let kind = match effect(error, permit.scope) {
            CallEffect::Answered => return self.succeeded(permit),
            CallEffect::Nothing => return,
            CallEffect::NotThere if self.failures + 1 < TIMES_NOT_THERE => OutageKind::Unavailable,
            CallEffect::NotThere => OutageKind::ProjectNotFound,
            CallEffect::Outage(kind) => kind,
        };
        let first = permit.round == self.round;
        let (pause, binding) = match (kind, error.retry_after) {
            (OutageKind::CredentialsRejected | OutageKind::PermissionMissing | OutageKind::ProjectNotFound, _) => {
                (jitter.stretch(UNTIL_REPAIRED), true)
            }
            // Wait exactly as long as the service asked for. Less than a second would be a hot loop if it is repeated,
            // except for the rest of a pause that the client itself keeps.
            (_, Some(asked)) if asked >= FIRST_PAUSE || error.failure == Failure::HeldBack => (asked, true),
            // Most likely the next call works: a service that fails now and then is used almost as fast as a sound one.
            (OutageKind::Unavailable, None) if self.failures == 0 && self.good.is_some() => (ONE_FAILURE, false),
            _ => (jitter.growing(self.failures + 1), false),
        };
        if first {
            self.failures += 1;
            self.round += 1;
        } else if !binding {
            return;
        }
        let until = later(now, pause);
        if self.outage.as_ref().is_some_and(|outage| outage.until >= until) {
            return;
        }
        self.reported = self.good.is_none() || self.failures > 1 || pause >= WORTH_REPORTING;
        self.outage = Some(Outage { kind, error: Arc::new(error.clone()), until });
    }

    /// Returns the health that users see: a single failure that may be over in a second is not reported.
    pub(super) fn health(&self) -> Health {
        match (&self.outage, self.good) {
            (Some(outage), _) if self.reported => Health::Failing(outage.clone()),
            (_, Some(last_poll)) => Health::Good { last_poll },
            (_, None) => Health::Unknown,
        }
    }
}

/// What an error means for the remote.
#[derive(Debug, PartialEq, Eq)]
enum CallEffect {
    /// The remote works and answered on purpose.
    Answered,
    /// The remote is not usable.
    Outage(OutageKind),
    /// The list of the project was refused, which may be temporary.
    NotThere,
    /// Nothing: calls of other scopes show how the remote is.
    Nothing,
}

fn effect(error: &ApiError, scope: CallScope) -> CallEffect {
    match effect_on_remote(error, scope) {
        CallEffect::Answered => CallEffect::Answered,
        // The client itself pauses, whatever it is asked for.
        _ if scope == CallScope::Extra && !error.is_held_back() => CallEffect::Nothing,
        effect => effect,
    }
}

fn effect_on_remote(error: &ApiError, scope: CallScope) -> CallEffect {
    let unavailable = CallEffect::Outage(OutageKind::Unavailable);
    let (status, codes) = match &error.failure {
        Failure::CredentialsRefused => return CallEffect::Outage(OutageKind::CredentialsRejected),
        Failure::HeldBack | Failure::NotSent | Failure::NoAnswer | Failure::Unreadable
            if error.retry_after.is_some() =>
        {
            return CallEffect::Outage(OutageKind::Throttled);
        }
        Failure::HeldBack | Failure::NotSent | Failure::NoAnswer | Failure::Unreadable => return unavailable,
        Failure::Answered { status, codes } => (*status, codes),
    };
    if status == 429 || error.retry_after.is_some() {
        return CallEffect::Outage(OutageKind::Throttled);
    }
    if scope == CallScope::List
        && let Some(effect_on_remote) = effect_on_project(error, status)
    {
        return effect_on_remote;
    }
    let forbidden = status == 403 || codes.contains(&ErrorCode::AuthorizationError);
    match (error.reaction(), scope) {
        (Reaction::Token, _) => CallEffect::Outage(OutageKind::CredentialsRejected),
        (Reaction::Fix, CallScope::Read | CallScope::List) if forbidden => {
            CallEffect::Outage(OutageKind::PermissionMissing)
        }
        (Reaction::Retry, _) | (_, CallScope::Read | CallScope::List) => unavailable,
        (Reaction::Verify, CallScope::Other | CallScope::Extra) if status >= 500 || status == 408 => unavailable,
        (
            Reaction::Verify | Reaction::Refetch | Reaction::Wait | Reaction::Gone | Reaction::Fix,
            CallScope::Other | CallScope::Extra,
        ) => CallEffect::Answered,
    }
}

/// Returns what a refused list means for the project; `None`: nothing. It is unspecified which status and code the
/// service uses for a project that does not exist or has no Connect. The request for the list is the same for every
/// project, so an answer that rejects the request means the project.
fn effect_on_project(error: &ApiError, status: u16) -> Option<CallEffect> {
    match error.code() {
        Some(ErrorCode::ResourceNotFound) => return Some(CallEffect::Outage(OutageKind::ProjectNotFound)),
        // These concern rights, or our query.
        Some(ErrorCode::AuthorizationError | ErrorCode::InvalidQueryParam) => return None,
        _ => {}
    }
    let refused = status == 404 || error.reaction() == Reaction::Fix;
    ((400..500).contains(&status) && status != 403 && refused).then_some(CallEffect::NotThere)
}

#[cfg(test)]
#[path = "circuit_breaker_tests.rs"]
mod tests;
