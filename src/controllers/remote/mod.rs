//! Everything that the controllers share for one remote project.
//!
//! A run never polls and never waits for a look: it takes a fresh [`Sighting`] out of the view, or says that it wants
//! one and ends. One task for each remote, the looker, reads what is wanted or due, few by id and many by LIST, and
//! sends into a channel whose run is to be done again. Nothing here knows of Kubernetes, nor of HTTP.
//!
//! - `settings`: how to reach it, and who makes the client;
//! - `registry` ([`Remotes`]): which projects share which remote;
//! - `gate`: whether calls go out at all, after failures and inside `Retry-After`;
//! - `turns`: how many runs at once, and who is next;
//! - `view`: what is watched and what was seen; `plan` what to read next (both pure);
//! - `looker`: does what `plan` says;
//! - `door`: the client as everyone gets it, which asks the gate before each call and reports to it after.

mod settings;

pub use settings::{ConnectFactory, DeploymentPaths, Settings};

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;

use super::subject::Subject;
use crate::clock::Clock;
use crate::connect::model::Deployment;
use crate::connect::{ApiError, ConnectApi};

/// Every remote project that a `ConnectProject` names, once each.
pub struct Remotes {}

impl Remotes {
    /// None yet. `wake` gets every subject that is to run again; `concurrency` is the number of turns that each
    /// remote gives out at once.
    #[must_use]
    pub fn new(
        clock: Clock,
        factory: Arc<dyn ConnectFactory>,
        wake: UnboundedSender<Subject>,
        concurrency: usize,
    ) -> Arc<Self> {
        unimplemented!()
    }

    /// Says how `project` reaches its remote: makes it, joins it, or updates it. To be called in every run of the
    /// project; settings that are the same change nothing. Needs a tokio runtime, for the looker.
    ///
    /// # Errors
    /// The sentence of [`ConnectFactory::connect`]; the claim is then as it was before.
    pub fn claim(&self, project: &Subject, settings: Settings) -> Result<Arc<Remote>, String> {
        unimplemented!()
    }

    /// Gives up the claim of `project`; the last one ends the looker. What was watched for resources of the
    /// project's namespace is forgotten, and they are woken.
    pub fn release(&self, project: &Subject) {
        unimplemented!()
    }

    /// The remote that `project` claimed.
    #[must_use]
    pub fn of(&self, project: &Subject) -> Option<Arc<Remote>> {
        unimplemented!()
    }
}

/// One remote project.
pub struct Remote {}

impl Remote {
    /// The client. Each call asks the gate first ([`crate::connect::error::Failure::HeldBack`] if it is closed, with
    /// the time left in `retry_after`) and reports to it after, so nobody has to.
    #[must_use]
    pub fn api(self: &Arc<Self>) -> Arc<dyn ConnectApi> {
        unimplemented!()
    }

    /// Asks for a turn. Whoever is refused stands in the queue, once, and is woken when it may try again.
    ///
    /// # Errors
    /// Why not now.
    pub fn enter(self: &Arc<Self>, subject: &Subject) -> Result<Turn, NotNow> {
        unimplemented!()
    }

    /// How the remote is. Each change wakes the projects that claim it.
    #[must_use]
    pub fn health(&self) -> Health {
        unimplemented!()
    }

    /// Takes what was seen of `id` by a request that left at `newer_than` or later. If there is no such sighting, one
    /// is wanted from now on (or from `newer_than`, if that is still to come), and `subject` is woken once it is there.
    pub fn sighting(&self, subject: &Subject, id: &str, newer_than: Timestamp) -> Option<Sighting> {
        unimplemented!()
    }

    /// Looks at `id` at this pace from now on, until [`Remote::forget`]. `subject` is woken when what is seen differs
    /// from what was seen before, and only then. One id for each subject: another one takes its place.
    pub fn watch(&self, subject: &Subject, id: &str, pace: Pace) {
        unimplemented!()
    }

    /// Ends all that is kept for `subject`: watch, wish and place in the queue.
    pub fn forget(&self, subject: &Subject) {
        unimplemented!()
    }

    /// Number of deployments in the project, as the last LIST said; each change wakes the projects that claim it.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        unimplemented!()
    }
}

/// What a look saw.
#[derive(Clone, Debug)]
pub struct Sighting {
    /// When the request left (never later).
    pub at: Timestamp,
    /// The record; `None` if the service itself answered that there is none (404 to a GET by id).
    pub found: Option<Arc<Deployment>>,
}

/// How often to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Something moves, since then: every 3 s at first, then with pauses of a fifth of its age, up to 30 s.
    Busy {
        /// Start of the operation.
        since: Timestamp,
    },
    /// Nothing moves: after each interval, and up to a tenth of it later.
    Settled(Duration),
}

/// A run's right to work with the remote; dropping it lets the next one in.
#[must_use]
pub struct Turn {}

/// Why a run does not get a turn. It is woken when it may ask again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotNow {
    /// As many as may run do so.
    Queued,
    /// The remote is not to be called.
    Closed(Trouble),
}

/// How a remote is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Not looked at yet.
    Unknown,
    /// It answers.
    Good {
        /// When the last request left whose answer was good.
        last_look: Timestamp,
    },
    /// It cannot be worked with.
    Failing(Trouble),
}

/// Why a remote cannot be worked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Who has to act.
    pub kind: TroubleKind,
    /// The error that said so last.
    pub error: ApiError,
    /// Since when, over all attempts.
    pub since: Timestamp,
    /// Nothing is sent before that.
    pub until: Timestamp,
}

/// Who has to act for a remote to work again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TroubleKind {
    /// Nobody: it does not answer, or answers that it is broken.
    Unavailable,
    /// Nobody: it asked to be left alone for a while.
    Throttled,
    /// A person: client id or secret are wrong.
    CredentialsRejected,
    /// A person: the API client may not see deployments.
    PermissionMissing,
}
