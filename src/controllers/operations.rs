//! What every kind that changes something at the remote keeps to: how long a call may be under way, when something counts
//! as gone, and how long to wait before anything is sent again. Pure; the tables of each kind are in its `decide`.

use std::time::Duration;

use connect_api::error::Effect;
use connect_api::{ApiError, ErrorCode, Reaction};
use jiff::Timestamp;

use clock::{between, later};

/// L: the time limit of a request. A call is sent only while less than this has passed since `startedAt`.
pub const LIMIT: Duration = Duration::from_secs(30);
/// How long a read after a write may still show what was before.
pub const LAG: Duration = Duration::from_mins(1);
/// After this time nothing of an earlier write can arrive or be hidden any more: 2 L + 60 s.
pub const QUIET_PERIOD: Duration = Duration::from_mins(2);
/// Time between the two 404 that prove absence (rule 5).
pub const ABSENCE: Duration = Duration::from_secs(30);
/// A running operation is said to take too long after this time (rule 18).
pub const TOO_LONG: Duration = Duration::from_mins(30);

/// First pause before a refused write is repeated, if nothing changes before; doubles.
pub const REFUSED_AGAIN: Duration = Duration::from_mins(10);
/// Longest such pause.
pub const REFUSED_AGAIN_AT_MOST: Duration = Duration::from_hours(1);
/// Pause after a refusal that passes by itself: something is busy, or the version was an old one. Doubles.
pub const PASSING: Duration = Duration::from_secs(5);
/// Longest such pause.
pub const PASSING_AT_MOST: Duration = Duration::from_mins(1);

/// What to do: `L` is what is remembered over restarts, `M` what this process has seen, `K` what can be called, `V` what
/// to tell people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<L, M, K, V> {
    /// What is to be remembered: written before the call, if there is one.
    pub persisted: L,
    /// What this process has seen.
    pub transient: M,
    /// What to send.
    pub step: Step<K>,
    /// What to tell people.
    pub outcome: V,
    /// When to look again; `None`: at the interval of the spec; zero: at once, from the same look.
    pub again: Option<Duration>,
}

/// What to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<K> {
    /// Nothing.
    NoOp,
    /// One call.
    Send(Call<K>),
    /// Nothing; the resource may go.
    RemoveFinalizer,
}

/// A call that changes something at the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call<K> {
    /// What to call.
    pub kind: K,
    /// Whether it is the first call of an operation of this run: only then does a refusal prove that nothing happened.
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

/// What came back from a call. `A`: what an accepted call shows; `R`: a record of the API.
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

/// What the answer to a call comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedResponse<L, M> {
    /// What is to be remembered now.
    pub persisted: L,
    /// What this process has seen.
    pub transient: M,
    /// Whether the resource may go.
    pub remove_finalizer: bool,
    /// Whether the key turned out to be somebody else's.
    pub key_taken: bool,
}

/// Nothing is sent for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Nothing is sent before that.
    pub until: Timestamp,
    /// How often in a row.
    pub times: u32,
}

impl Pause {
    /// The pause after a refusal that passes by itself; `before`: the one before it in a row.
    #[must_use]
    pub fn after(before: Option<Self>, now: Timestamp) -> Self {
        let times = before.map_or(1, |before| before.times.saturating_add(1));
        Self { until: later(now, doubled(PASSING, times, PASSING_AT_MOST)), times }
    }
}

/// A definite refusal. `C` is what a call was sent for: the same cause is refused once, not in a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused<C> {
    /// What was refused; `None`: taking it down.
    pub cause: Option<C>,
    /// Not sent again before that.
    pub until: Timestamp,
    /// How often in a row.
    pub times: u32,
}

impl<C: PartialEq> Refused<C> {
    /// A refusal for `cause`; `before`: the last one.
    #[must_use]
    pub fn after(before: Option<&Self>, cause: Option<C>, now: Timestamp) -> Self {
        let before = before.filter(|before| before.cause == cause);
        let times = before.map_or(1, |before| before.times.saturating_add(1));
        Self { cause, until: later(now, doubled(REFUSED_AGAIN, times, REFUSED_AGAIN_AT_MOST)), times }
    }
}

/// A time in the future: the clock was set back, or another leader's clock is ahead. Its age is counted from when this
/// process met it first, which is later than the write, so nothing is concluded too early and nothing waits for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// The time that was written.
    pub stamp: Timestamp,
    /// When it was met.
    pub since: Timestamp,
}

impl Ahead {
    /// What is known at `now` of the time of our last write; `before`: what was known of it until then.
    #[must_use]
    pub fn at(before: Option<Self>, last_write: Option<Timestamp>, now: Timestamp) -> Option<Self> {
        let before = before.map(|ahead| Self { since: now.min(ahead.since), ..ahead });
        before.filter(|ahead| Some(ahead.stamp) == last_write).or_else(|| {
            let stamp = last_write.filter(|stamp| *stamp > now)?;
            Some(Self { stamp, since: now })
        })
    }
}

/// Time since a write of ours.
#[must_use]
pub fn since(stamp: Timestamp, ahead: Option<Ahead>, now: Timestamp) -> Duration {
    let met = ahead.filter(|ahead| ahead.stamp == stamp);
    between(met.map_or(stamp, |ahead| ahead.since.min(stamp)), now)
}

/// What 404s say (rule 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// It is gone.
    Proven,
    /// Not yet known.
    NotYet {
        /// When the first 404 that counts was seen.
        since: Option<Timestamp>,
    },
}

impl Gone {
    /// Gone is what answers 404 twice, [`ABSENCE`] apart, and not while a write of ours may be under way.
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

/// Pause before a call is sent again whose answer was lost: 6 s, doubling to 5 minutes.
#[must_use]
pub fn repeat_after(attempt: u32) -> Duration {
    const FIRST: Duration = Duration::from_secs(6);
    const AT_MOST: Duration = Duration::from_mins(5);
    doubled(FIRST, attempt, AT_MOST)
}

/// When the next look at something is due that runs for `age`: an eighth of it, 1 to 15 seconds.
#[must_use]
pub fn pace(age: Duration) -> Duration {
    (age / 8).clamp(Duration::from_secs(1), Duration::from_secs(15))
}

/// What remains of a time that a row waits for, a second at least.
#[must_use]
pub fn left(age: Duration, wait: Duration) -> Duration {
    wait.saturating_sub(age).max(Duration::from_secs(1))
}

/// `first` for the first time, doubling, at most `at_most`.
fn doubled(first: Duration, times: u32, at_most: Duration) -> Duration {
    first.saturating_mul(1 << times.saturating_sub(1).min(16)).min(at_most)
}
