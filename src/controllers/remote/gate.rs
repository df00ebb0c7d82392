//! Whether calls go out to a remote at all. Pure: time and chance are arguments.
//!
//! A failure closes the gate for the whole project, so that a dead service costs few calls; when the pause is over only
//! the looker may call, one call at a time, until a success opens it for everyone. What one resource did wrong does not
//! close it: an error that the service answered on purpose shows that it works.

use std::sync::Arc;
use std::time::Duration;

use clock::later;
use connect_api::error::Failure;
use connect_api::{ApiError, ErrorCode, Reaction};
use jiff::Timestamp;

use super::jitter::{FIRST_PAUSE, Jitter};
use super::{Health, Trouble, TroubleKind};

/// Pause while a person has to act at the remote; new credentials end it.
pub(super) const UNTIL_REPAIRED: Duration = Duration::from_mins(5);
/// Refused lists in a row before the project is taken for one that the service does not have, if no answer says so by its
/// code: what stands in between may answer anything for some seconds.
const TIMES_NOT_THERE: u32 = 4;
/// A first failure with a shorter pause is not told: most are over with the next call.
const WORTH_TELLING: Duration = Duration::from_secs(10);

/// Who wants to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// A run of a controller.
    Run,
    /// The looker, which also finds out whether the remote works again.
    Looker,
}

/// What a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Concern {
    /// Listing the deployments of the project, which every project with Connect has: none may be there, but the list is.
    List,
    /// Reading a deployment, without which nothing can be done.
    Look,
    /// Anything else: a refusal concerns the caller alone.
    Other,
    /// The registry, which nothing depends on: that it fails concerns the caller alone, whatever the failure. If the
    /// service throttles or refuses everyone, the next call that matters says so.
    Extra,
    /// Logs, whose endpoints the service takes away after 2027-01-31: whatever it answers says nothing about anything else.
    Logs,
}

/// Leave to make one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permit {
    client: u64,
    round: u64,
    at: Timestamp,
    concern: Concern,
}

/// Where the gate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// For everyone.
    Open,
    /// For one call of the looker, after so many failures in a row.
    HalfOpen(u32),
    /// For one LIST of the looker: no other answer shows that the service has the project.
    ForList,
    /// For nobody, until then.
    Closed(Timestamp),
}

/// The gate of one remote.
#[derive(Debug, Default)]
pub(super) struct Gate {
    trouble: Option<Trouble>,
    told: bool,
    failures: u32,
    /// Lists in a row that were refused so.
    not_there: u32,
    /// Counts how often it closed: of the calls that were under way together, one failure counts.
    round: u64,
    /// Counts clients: what calls of a former one say is of no interest.
    client: u64,
    good: Option<Timestamp>,
}

impl Gate {
    /// Number of the client that is in use.
    pub(super) fn client(&self) -> u64 {
        self.client
    }

    /// Opens for a client with new credentials.
    pub(super) fn renew(&mut self) {
        self.client += 1;
        self.round += 1;
        self.failures = 0;
        self.not_there = 0;
        if self.trouble.take().is_some() {
            self.good = None;
        }
    }

    pub(super) fn position(&self, now: Timestamp) -> Position {
        match &self.trouble {
            None => Position::Open,
            Some(trouble) if trouble.until <= now && trouble.kind == TroubleKind::ProjectNotFound => Position::ForList,
            Some(trouble) if trouble.until <= now => Position::HalfOpen(self.failures),
            Some(trouble) => Position::Closed(trouble.until),
        }
    }

    pub(super) fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_ref()
    }

    /// Leave to call with that client, or why not.
    pub(super) fn admit(
        &self,
        now: Timestamp,
        caller: Caller,
        concern: Concern,
        client: u64,
    ) -> Result<Permit, &Trouble> {
        match &self.trouble {
            Some(trouble) if caller == Caller::Run || trouble.until > now => Err(trouble),
            _ => Ok(Permit { client, round: self.round, at: now, concern }),
        }
    }

    /// Takes note of a good answer.
    pub(super) fn succeeded(&mut self, permit: Permit) {
        if permit.client != self.client {
            return;
        }
        // Any good answer shows that the service is up. That it may be called again, or that credentials are right
        // again, is shown only by a call that was sent after it said otherwise; that it has the project, by a list.
        let opens = self.trouble.as_ref().is_none_or(|trouble| match trouble.kind {
            TroubleKind::Unavailable => true,
            TroubleKind::ProjectNotFound => permit.concern == Concern::List && permit.round == self.round,
            TroubleKind::Throttled | TroubleKind::CredentialsRejected | TroubleKind::PermissionMissing => {
                permit.round == self.round
            }
        });
        if permit.concern == Concern::List {
            self.not_there = 0;
        }
        if opens {
            self.trouble = None;
            self.failures = 0;
            self.good = self.good.max(Some(permit.at));
        }
    }

    /// Takes note of a failure that came at `now`.
    pub(super) fn failed(&mut self, permit: Permit, error: &ApiError, now: Timestamp, jitter: &mut Jitter) {
        let kind = match judge(error, permit.concern) {
            Verdict::Answered => return self.succeeded(permit),
            Verdict::Nothing => return,
            Verdict::NotThere => None,
            Verdict::Trouble(kind) => Some(kind),
        };
        if permit.concern == Concern::List && kind.is_some() {
            self.not_there = 0;
        }
        if permit.client != self.client {
            return;
        }
        let kind = kind.unwrap_or_else(|| {
            self.not_there += 1;
            if self.not_there < TIMES_NOT_THERE { TroubleKind::Unavailable } else { TroubleKind::ProjectNotFound }
        });
        let first = permit.round == self.round;
        let (pause, binding) = match (kind, error.retry_after) {
            (TroubleKind::CredentialsRejected | TroubleKind::PermissionMissing | TroubleKind::ProjectNotFound, _) => {
                (jitter.stretch(UNTIL_REPAIRED), true)
            }
            // Exactly what was asked for. Less than a second would be a hot loop if it is repeated, but for what is
            // left of a pause that the client itself keeps.
            (_, Some(asked)) if asked >= FIRST_PAUSE || error.failure == Failure::HeldBack => (asked, true),
            _ => (jitter.growing(self.failures + 1), false),
        };
        if first {
            self.failures += 1;
            self.round += 1;
        } else if !binding {
            return;
        }
        let until = later(now, pause);
        if self.trouble.as_ref().is_some_and(|trouble| trouble.until >= until) {
            return;
        }
        self.told = self.good.is_none() || self.failures > 1 || pause >= WORTH_TELLING;
        let since = self.trouble.as_ref().map_or(now, |trouble| trouble.since);
        self.trouble = Some(Trouble { kind, error: Arc::new(error.clone()), since, until });
    }

    /// How the remote is, for people: a single failure that may be over in a second is passed over.
    pub(super) fn health(&self) -> Health {
        match (&self.trouble, self.good) {
            (Some(trouble), _) if self.told => Health::Failing(trouble.clone()),
            (_, Some(last_look)) => Health::Good { last_look },
            (_, None) => Health::Unknown,
        }
    }
}

/// What an error says about the remote.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It works, and means what it says.
    Answered,
    /// It cannot be worked with.
    Trouble(TroubleKind),
    /// The list of the project is refused, which may pass.
    NotThere,
    /// Nothing: others find out.
    Nothing,
}

fn judge(error: &ApiError, concern: Concern) -> Verdict {
    let verdict = verdict(error, concern);
    let lonely = match concern {
        Concern::Extra => verdict != Verdict::Answered,
        Concern::Logs => true,
        Concern::List | Concern::Look | Concern::Other => false,
    };
    if lonely { Verdict::Nothing } else { verdict }
}

fn verdict(error: &ApiError, concern: Concern) -> Verdict {
    let unavailable = Verdict::Trouble(TroubleKind::Unavailable);
    let (status, codes) = match &error.failure {
        Failure::CredentialsRefused => return Verdict::Trouble(TroubleKind::CredentialsRejected),
        Failure::HeldBack | Failure::NotSent | Failure::NoAnswer | Failure::Unreadable
            if error.retry_after.is_some() =>
        {
            return Verdict::Trouble(TroubleKind::Throttled);
        }
        Failure::HeldBack | Failure::NotSent | Failure::NoAnswer | Failure::Unreadable => return unavailable,
        Failure::Answered { status, codes } => (*status, codes),
    };
    if status == 429 || error.retry_after.is_some() {
        return Verdict::Trouble(TroubleKind::Throttled);
    }
    if concern == Concern::List
        && let Some(verdict) = verdict_on_project(error, status)
    {
        return verdict;
    }
    let forbidden = status == 403 || codes.contains(&ErrorCode::AuthorizationError);
    match (error.reaction(), concern) {
        (Reaction::Token, _) => Verdict::Trouble(TroubleKind::CredentialsRejected),
        (Reaction::Fix, Concern::Look | Concern::List) if forbidden => Verdict::Trouble(TroubleKind::PermissionMissing),
        (Reaction::Retry, _) | (_, Concern::Look | Concern::List) => unavailable,
        (Reaction::Verify, Concern::Other | Concern::Extra | Concern::Logs) if status >= 500 || status == 408 => {
            unavailable
        }
        (
            Reaction::Verify | Reaction::Refetch | Reaction::Wait | Reaction::Gone | Reaction::Fix,
            Concern::Other | Concern::Extra | Concern::Logs,
        ) => Verdict::Answered,
    }
}

/// What a refused list says of the project; `None`: nothing. Which status and code the service has for a project that it does
/// not know, or that has no Connect, is unspecified; our request for the list is the same for every project, so an answer
/// that finds fault with it means the project.
fn verdict_on_project(error: &ApiError, status: u16) -> Option<Verdict> {
    match error.code() {
        Some(ErrorCode::ResourceNotFound) => return Some(Verdict::Trouble(TroubleKind::ProjectNotFound)),
        // That is about rights, or about how we ask.
        Some(ErrorCode::AuthorizationError | ErrorCode::InvalidQueryParam) => return None,
        _ => {}
    }
    let refused = status == 404 || error.reaction() == Reaction::Fix;
    ((400..500).contains(&status) && status != 403 && refused).then_some(Verdict::NotThere)
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
