//! The history of all deployments, for tests that verify it afterwards: accepted calls, changes of the status, and the
//! values at each moment. Secured values are fingerprints here too.

use std::collections::VecDeque;

use jiff::Timestamp;

use super::record::Record;
use super::values::Values;
use connect_api::model::DeploymentStatus;

/// Maximum number of moments; beyond it, the oldest are removed.
const KEPT: usize = 20_000;

/// A change of a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// It was created.
    Created,
    /// A redeploy was accepted.
    Redeployed,
    /// Undeploying started.
    Undeployed,
    /// Its status changed. If several changes were due at the same time, this is the last status.
    Became(DeploymentStatus),
    /// It no longer exists.
    Gone,
}

/// An event in the history of a deployment.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Time of the event.
    pub at: Timestamp,
    /// Project of the deployment.
    pub project: String,
    /// Id of the deployment.
    pub id: String,
    /// Key of the deployment.
    pub key: Option<String>,
    /// Version of the deployment after the event.
    pub version: i64,
    /// What happened.
    pub what: Happened,
    pub(super) values: Values,
}

impl Moment {
    /// Returns the plain value of an application after the event, if it was sent.
    pub fn plain(&self, application: &str, key: &str) -> Option<&str> {
        self.values.application(application)?.values.plain(key)
    }
}

/// The recorded moments; those of one deployment are in order.
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
