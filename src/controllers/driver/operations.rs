//! What all kinds that change the remote share: how long a call may be in flight, when 404s prove absence, and the
//! pauses before another attempt. Pure; the decision table of each kind is in its `decide`.

use std::time::Duration;

use connect_api::error::Effect;
use connect_api::{ApiError, ErrorCode, Reaction};
use jiff::Timestamp;

use clock::{between, later};

/// L: the time limit of a request. A call is sent only while less than this has passed since `startedAt`.
pub const LIMIT: Duration = Duration::from_secs(30);
/// How long a read after a write may still return the state before it.
pub const LAG: Duration = Duration::from_mins(1);
/// After this time no effect of an earlier write can still arrive or be hidden: 2 L + 60 s.
pub const QUIET_PERIOD: Duration = Duration::from_mins(2);
/// Minimum time between the two 404s that prove absence (rule 5).
pub const ABSENCE: Duration = Duration::from_secs(30);
/// A running operation is reported as `TakesTooLong` after this time (rule 18).
pub const TOO_LONG: Duration = Duration::from_mins(30);

/// First pause before a refused write is repeated without any change; doubles.
pub const REFUSED_AGAIN: Duration = Duration::from_mins(10);
/// Longest such pause.
pub const REFUSED_AGAIN_AT_MOST: Duration = Duration::from_hours(1);
/// First pause after a transient refusal: the record is busy, or the version was an old one. Doubles.
pub const PASSING: Duration = Duration::from_secs(5);
/// Longest such pause.
pub const PASSING_AT_MOST: Duration = Duration::from_mins(1);

/// The result of a decision table. `L`: persisted state; `M`: state of this process; `K`: kinds of calls; `V`: the
/// outcome that the condition reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<L, M, K, V> {
    /// State to persist: written before the call, if there is one.
    pub persisted: L,
    /// State that only this process keeps.
    pub transient: M,
    /// What to do at the remote or with the finalizer.
    pub step: Step<K>,
    /// What the condition reports.
    pub outcome: V,
    /// When to reconcile again. `None`: at the interval of the spec; zero: immediately, from the same observation.
    pub again: Option<Duration>,
}

/// What to do at the remote or with the finalizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<K> {
    /// Sends nothing.
    NoOp,
    /// Sends one call.
    Send(Call<K>),
    /// Sends nothing, and removes the finalizer.
    RemoveFinalizer,
}

/// A call that changes something at the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call<K> {
    /// Which call.
    pub kind: K,
    /// Whether it is the first call that this reconcile sends for its operation: only then does a refusal prove that
    /// nothing happened.
    pub first: bool,
}

/// What the response to a call means for the change that was asked for. `A`: the record that an accepted call shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response<A> {
    /// Accepted.
    Accepted(A),
    /// Nothing happened, and the input has to change; of an update with several actions some may have been taken
    /// (contract section 6).
    Refused,
    /// Nothing happened, and the same call may work soon: busy, another version, throttled, not sent.
    Retryable,
    /// Nothing happened: the key exists.
    Duplicate,
    /// The record does not exist.
    NotFound,
    /// The change may have happened.
    Unknown,
}

/// The result of a call. `A`: what an accepted call shows; `R`: a record of the API.
#[derive(Debug)]
pub struct CallResult<A, R> {
    /// What it means.
    pub response: Response<A>,
    /// The record in the response.
    pub record: Option<R>,
    /// The error, if it was one.
    pub error: Option<ApiError>,
}

/// Classifies an error by what it says about the change that was asked for; never as accepted.
#[must_use]
fn classify<A>(error: &ApiError) -> Response<A> {
    if error.effect() == Effect::Unknown {
        return Response::Unknown;
    }
    if error.code() == Some(&ErrorCode::DuplicateField) {
        return Response::Duplicate;
    }
    match error.reaction() {
        Reaction::Fix | Reaction::Token => Response::Refused,
        Reaction::Retry | Reaction::Refetch | Reaction::Wait => Response::Retryable,
        Reaction::Gone => Response::NotFound,
        Reaction::Verify => Response::Unknown,
    }
}

impl<A, R> CallResult<A, R> {
    /// The result of a call that failed. `brings_key`: only a create brings a key along, which may exist.
    #[must_use]
    pub fn failed(error: ApiError, brings_key: bool) -> Self {
        let response = match classify(&error) {
            Response::Duplicate if !brings_key => Response::Refused,
            response => response,
        };
        Self { response, record: None, error: Some(error) }
    }

    /// The result of a call that was answered without a record, or not sent at all.
    #[must_use]
    pub fn without_record(response: Response<A>, error: Option<ApiError>) -> Self {
        Self { response, record: None, error }
    }
}

/// The state after the response to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedResponse<L, M> {
    /// State to persist.
    pub persisted: L,
    /// State that only this process keeps.
    pub transient: M,
    /// Whether the finalizer can be removed.
    pub remove_finalizer: bool,
    /// Whether another resource turned out to own the key.
    pub key_taken: bool,
}

/// A pause in which nothing is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// When it ends.
    pub until: Timestamp,
    /// Number of pauses in a row.
    pub times: u32,
}

impl Pause {
    /// Returns the pause after a transient refusal; `before`: the previous pause in the row.
    #[must_use]
    pub fn after(before: Option<Self>, now: Timestamp) -> Self {
        let times = before.map_or(1, |before| before.times.saturating_add(1));
        Self { until: later(now, doubled(PASSING, times, PASSING_AT_MOST)), times }
    }

    /// Returns how long it lasts from now on; `None`: it is over.
    #[must_use]
    pub fn left(self, now: Timestamp) -> Option<Duration> {
        (now < self.until).then(|| between(now, self.until))
    }
}

/// A definite refusal. `C`: what the call was sent for; the same cause is not sent again before `until`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused<C> {
    /// What was refused; `None`: the undeployment or deletion.
    pub cause: Option<C>,
    /// When the same cause may be sent again.
    pub until: Timestamp,
    /// Number of refusals of this cause in a row.
    pub times: u32,
}

impl<C: PartialEq> Refused<C> {
    /// Returns the refusal for `cause`; `before`: the previous one.
    #[must_use]
    pub fn after(before: Option<&Self>, cause: Option<C>, now: Timestamp) -> Self {
        let before = before.filter(|before| before.cause == cause);
        let times = before.map_or(1, |before| before.times.saturating_add(1));
        Self { cause, until: later(now, doubled(REFUSED_AGAIN, times, REFUSED_AGAIN_AT_MOST)), times }
    }
}

/// A stored time that is in the future: the clock was set back, or the clock of another leader is ahead. Its age counts
/// from when this process first met it. That is later than the write, so nothing is concluded too early, and nothing
/// waits for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// The stored time.
    pub stamp: Timestamp,
    /// When this process first met it.
    pub since: Timestamp,
}

impl Ahead {
    /// Returns what is known at `now` about the time of our last write; `before`: what was known until then.
    #[must_use]
    pub fn at(before: Option<Self>, last_write: Option<Timestamp>, now: Timestamp) -> Option<Self> {
        let before = before.map(|ahead| Self { since: now.min(ahead.since), ..ahead });
        before.filter(|ahead| Some(ahead.stamp) == last_write).or_else(|| {
            let stamp = last_write.filter(|stamp| *stamp > now)?;
            Some(Self { stamp, since: now })
        })
    }
}

/// Returns the time since a write of ours.
#[must_use]
pub fn since(stamp: Timestamp, ahead: Option<Ahead>, now: Timestamp) -> Duration {
    let met = ahead.filter(|ahead| ahead.stamp == stamp);
    between(met.map_or(stamp, |ahead| ahead.since.min(stamp)), now)
}

/// What 404s prove (rule 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// The record does not exist.
    Proven,
    /// Not decided yet.
    NotYet {
        /// When the first 404 that counts arrived.
        since: Option<Timestamp>,
    },
}

impl Gone {
    /// Evaluates a 404. Absence is proven by two 404s at least [`ABSENCE`] apart, while no write of ours may be in
    /// flight.
    /// `absent_since`: the first 404 of an unbroken row.
    #[must_use]
    pub fn evaluate(
        since_write: Duration,
        quiet_after: Duration,
        absent_since: Option<Timestamp>,
        now: Timestamp,
    ) -> Self {
        if since_write < quiet_after {
            return Self::NotYet { since: None };
        }
        match absent_since {
            Some(since) if between(since, now) >= ABSENCE => Self::Proven,
            since => Self::NotYet { since: Some(since.unwrap_or(now)) },
        }
    }
}

/// Returns the pause before a call is sent again whose response was lost: 6 s, doubling to 5 minutes.
#[must_use]
pub fn repeat_after(attempt: u32) -> Duration {
    const FIRST: Duration = Duration::from_secs(6);
    const AT_MOST: Duration = Duration::from_mins(5);
    doubled(FIRST, attempt, AT_MOST)
}

/// Returns the poll interval for an operation that has run for `age`: an eighth of it, 1 to 15 seconds.
#[must_use]
pub fn pace(age: Duration) -> Duration {
    (age / 8).clamp(Duration::from_secs(1), Duration::from_secs(15))
}

/// Returns what remains of `wait` after `age`, at least one second.
#[must_use]
pub fn left(age: Duration, wait: Duration) -> Duration {
    wait.saturating_sub(age).max(Duration::from_secs(1))
}

/// Returns `first` doubled for each time after the first, at most `at_most`.
fn doubled(first: Duration, times: u32, at_most: Duration) -> Duration {
    first.saturating_mul(1 << times.saturating_sub(1).min(16)).min(at_most)
}

#[cfg(test)]
mod tests {
    use connect_api::error::Failure;

    use super::*;

    #[test]
    fn a_pause_after_an_earlier_refusal_is_over() {
        let (first, second) = (Pause::after(None, Timestamp::UNIX_EPOCH), Timestamp::UNIX_EPOCH + PASSING);
        assert_eq!(first.left(Timestamp::UNIX_EPOCH), Some(PASSING));
        assert_eq!(first.left(second), None);
        assert_eq!(Pause::after(Some(first), second).left(second), Some(PASSING * 2));
    }

    #[test]
    fn a_failed_call_is_classified_by_what_it_says_about_the_change() {
        let answered = |status, code: &str| Failure::Answered { status, codes: vec![ErrorCode::from(code)] };
        for (case, failure, brings_key, expected) in [
            ("no answer", Failure::NoAnswer, true, Response::Unknown),
            ("an answer that cannot be read", Failure::Unreadable, true, Response::Unknown),
            ("a gateway gave up", answered(504, ""), true, Response::Unknown),
            ("not sent", Failure::NotSent, true, Response::Retryable),
            ("held back", Failure::HeldBack, true, Response::Retryable),
            ("throttled", answered(429, ""), true, Response::Retryable),
            ("another version", answered(409, "ConcurrentModification"), true, Response::Retryable),
            ("rejected", answered(400, "DeploymentUnknownGlobalConfigurationKey"), true, Response::Refused),
            ("no token", Failure::CredentialsRefused, true, Response::Refused),
            ("gone", answered(404, "ResourceNotFound"), false, Response::NotFound),
            ("a create whose key exists", answered(400, "DuplicateField"), true, Response::Duplicate),
            ("a change without a key", answered(400, "DuplicateField"), false, Response::Refused),
        ] {
            let error =
                ApiError { operation: "any", failure, message: String::new(), correlation_id: None, retry_after: None };
            let result = CallResult::<(), ()>::failed(error.clone(), brings_key);
            assert_eq!((result.response, result.error), (expected, Some(error)), "{case}");
        }
    }
}
