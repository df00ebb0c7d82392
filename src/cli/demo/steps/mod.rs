//! The steps of the demo, one method for each: each waits until its result is observed, with a timeout, and prints how
//! long it took. Calls are counted at the dev server.
//!
//! The steps wait for the state of `follow.rs`, and never sleep. Next: `quickstart.rs` for a published connector,
//! `publishing.rs` for a staged one.

mod publishing;
mod quickstart;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use dev_server::DevServer;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::sync::watch;

pub(super) use self::quickstart::CONNECTOR;
use super::Error;
use super::cluster::DemoCluster;
use super::display::Display;
use super::manifests::{self, Manifests};
use super::observed::ObservedObjects;
use crate::crd::ConnectorDeployment;
use crate::names;
use crate::operator::deployment::state;

/// Maximum duration of a step. A machine with two busy cores needs some seconds.
const WITHIN: Duration = Duration::from_mins(2);

/// Project of the dev server into which everything is deployed.
const REMOTE_PROJECT: &str = "demo";

/// The cluster, the dev server and the latest state, with the manifests in their current version.
pub(super) struct Demo<'a> {
    place: &'a DemoCluster,
    remote: Arc<DevServer>,
    seen: watch::Receiver<ObservedObjects>,
    display: Display,
    quickstart: Manifests,
    staged: Manifests,
    pinned: Manifests,
}

impl<'a> Demo<'a> {
    /// Reads the manifests; does nothing else yet.
    pub(super) fn new(
        place: &'a DemoCluster,
        remote: Arc<DevServer>,
        seen: watch::Receiver<ObservedObjects>,
        display: Display,
    ) -> Result<Self, Error> {
        let read = |file| Manifests::read(file, &remote.url());
        let [quickstart, staged, pinned] =
            [read(manifests::QUICKSTART)?, read(manifests::STAGED)?, read(manifests::PINNED)?];
        Ok(Self { place, remote, seen, display, quickstart, staged, pinned })
    }

    /// Returns the address of the console of the dev server.
    pub(super) fn console(&self) -> String {
        format!("{}/", self.remote.url())
    }

    async fn apply(&self, manifests: &Manifests) -> Result<(), Error> {
        manifests.apply(&self.place.client, &self.place.namespace, |line| self.display.detail(line)).await
    }

    /// Makes the operator read the remote and reconcile once more, as a user does with the annotation.
    async fn look_again(&self, name: &str) -> Result<(), Error> {
        let request = uuid::Uuid::new_v4().to_string();
        let patch = json!({"metadata": {"annotations": {names::RECONCILE_REQUESTED_AT: request}}});
        self.deployments().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        let handled = |status: &crate::crd::ConnectorDeploymentStatus| {
            status.handled_reconcile_request.as_ref() == Some(&request)
        };
        self.until(|seen| {
            live(seen, name).and_then(|live| live.status.as_ref()).filter(|status| handled(status)).map(drop)
        })
        .await
    }

    fn deployments(&self) -> Api<ConnectorDeployment> {
        Api::namespaced(self.place.client.clone(), &self.place.namespace)
    }

    /// Returns the id of a deployment that was live.
    fn id(&self, name: &str) -> Result<String, Error> {
        let seen = self.seen.borrow();
        let id = seen.deployment(name).and_then(|one| one.status.as_ref()?.id.clone());
        id.ok_or_else(|| Error(format!("the live deployment {name} has no id")))
    }

    /// Checks that the dev server received this number of calls of an operation, by id or by key.
    fn sent(&self, operation: &str, times: u64) -> Result<(), Error> {
        let counts = self.remote.counts();
        let count = counts.iter().filter(|(name, _)| name.starts_with(operation)).map(|(_, count)| count).sum();
        as_often(operation, count, times)
    }

    /// Checks the same for the calls about one deployment.
    fn sent_about(&self, name: &str, operation: &str, times: u64) -> Result<(), Error> {
        let path = format!("/{}", self.id(name)?);
        let calls = self.remote.calls();
        let about = calls.iter().filter(|call| call.operation.starts_with(operation) && call.path.ends_with(&path));
        as_often(&format!("{operation} about {name}"), u64::try_from(about.count()).unwrap_or(u64::MAX), times)
    }

    /// Waits until `pick` returns a value.
    async fn until<T>(&self, pick: impl Fn(&ObservedObjects) -> Option<T>) -> Result<T, Error> {
        let mut seen = self.seen.clone();
        loop {
            if let Some(found) = pick(&seen.borrow_and_update()) {
                return Ok(found);
            }
            seen.changed().await.map_err(|_| Error("the watches of the cluster have ended".to_owned()))?;
        }
    }

    /// Runs a step with a timeout, then prints its result and how long it took.
    async fn step(&self, what: &'static str, work: impl Future<Output = Result<String, Error>>) -> Result<(), Error> {
        let clock = Clock::system();
        let busy = self.display.busy(&format!("waiting until {what}"));
        let failed = |why: String| Error(format!("the demo did not observe that {what}: {why}"));
        let done = tokio::time::timeout(WITHIN, work).await;
        let done = done.unwrap_or_else(|_| Err(Error(format!("not within {} s", WITHIN.as_secs()))));
        let done = done.map_err(|error| failed(error.0))?;
        drop(busy);
        self.display.done(&done, clock.elapsed());
        Ok(())
    }
}

fn as_often(what: &str, count: u64, times: u64) -> Result<(), Error> {
    if count == times {
        return Ok(());
    }
    Err(Error(format!("the dev server got {count} calls of {what} instead of {times}")))
}

/// Returns the deployment of this name, if its newest generation is live and no operation is in progress.
fn live<'a>(seen: &'a ObservedObjects, name: &str) -> Option<&'a ConnectorDeployment> {
    settled(seen, name).filter(|deployment| {
        deployment.status.as_ref().and_then(|status| status.deployment_status.as_deref()) == Some("Deployed")
            && seen.is(name, names::READY)
    })
}

/// Returns the deployment of this name, if its status is about its newest generation and no operation is in progress.
fn settled<'a>(seen: &'a ObservedObjects, name: &str) -> Option<&'a ConnectorDeployment> {
    seen.deployment(name).filter(|deployment| {
        deployment.status.as_ref().is_some_and(|status| {
            Some(status.observed_generation) == deployment.metadata.generation
                && state::shown(status).operation.is_none()
        })
    })
}
