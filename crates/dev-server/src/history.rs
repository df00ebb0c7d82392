//! What happened to deployments, one moment after the other, for tests that judge afterwards: what was accepted, what
//! became of it, and with which values. Secured values are fingerprints here too.

use std::collections::VecDeque;

use jiff::Timestamp;

use super::record::Record;
use super::values::Values;
use connect_api::model::DeploymentStatus;

/// Moments that are kept, the newest ones.
const KEPT: usize = 20_000;

/// What happened to a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// It was made.
    Created,
    /// A redeploy was accepted.
    Redeployed,
    /// Taking it down was begun.
    Undeployed,
    /// Its status moved on; where several were passed since anybody looked, this is the last of them.
    Became(DeploymentStatus),
    /// It is not there any more.
    Gone,
}

/// A moment in the life of a deployment.
#[derive(Clone, Debug)]
pub struct Moment {
    /// When it was.
    pub at: Timestamp,
    /// Project of the deployment.
    pub project: String,
    /// Its id.
    pub id: String,
    /// Its key.
    pub key: Option<String>,
    /// Its version from then on.
    pub version: i64,
    /// What happened.
    pub what: Happened,
    pub(super) values: Values,
}

impl Moment {
    /// The plain value that an application had from then on, if it was sent.
    #[must_use]
    pub fn plain(&self, application: &str, key: &str) -> Option<&str> {
        self.values.application(application)?.values.plain(key)
    }
}

/// The moments so far, those of one deployment in their order.
#[derive(Debug, Default)]
pub(super) struct History(VecDeque<Moment>);

impl History {
    pub(super) fn note(&mut self, at: Timestamp, record: &Record, what: Happened) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(Moment {
            at,
            project: record.project.clone(),
            id: record.id.clone(),
            key: record.key.clone(),
            version: record.version,
            what,
            values: record.values.clone(),
        });
    }

    pub(super) fn moments(&self) -> Vec<Moment> {
        self.0.iter().cloned().collect()
    }
}
