//! The steps of the demo, one method for each: each waits until its result is observed, with a timeout, and prints how
//! long it took. Calls are counted at the dev server.
//!
//! The steps watch the objects that they wait for, and never sleep. Next: `quickstart.rs` for a published connector,
//! `publishing.rs` for a staged one.

mod publishing;
mod quickstart;

use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use dev_server::DevServer;
use k8s_openapi::NamespaceResourceScope;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use serde_json::json;

pub(super) use self::quickstart::CONNECTOR;
use super::cluster::DemoCluster;
use super::display::{detail, done};
use super::manifests::{self, Manifests};
use super::{Error, NAMESPACE};
use crate::crd::ConnectorDeployment;
use crate::names;
use crate::operator::deployment::state;
use crate::operator::reporting::conditions::{is_ready, is_true};

/// Maximum duration of a step. A machine with two busy cores needs some seconds.
const WITHIN: Duration = Duration::from_mins(2);

/// Project of the dev server into which everything is deployed.
const REMOTE_PROJECT: &str = "demo";

/// `ConnectorDeployment` of the quickstart.
pub(super) const DEPLOYMENT: &str = "tax";
/// `ConnectorStaged` that is published.
pub(super) const STAGED: &str = "my-connector";
/// `ConnectorDeployment` that is a preview of [`STAGED`].
const PREVIEW: &str = "my-preview";
/// `ConnectorDeployment` of the published connector.
pub(super) const LIVE: &str = "my-live";
/// `ActionCheck`s that write and read.
const CHECKS: [&str; 2] = ["add-to-cart", "get-cart"];

/// The cluster and the dev server, with the manifests in their current version.
pub(super) struct Demo<'a> {
    place: &'a DemoCluster,
    remote: Arc<DevServer>,
    quickstart: Manifests,
    staged: Manifests,
    pinned: Manifests,
}

impl<'a> Demo<'a> {
    /// Reads the manifests; does nothing else yet.
    pub(super) fn new(place: &'a DemoCluster, remote: Arc<DevServer>) -> Result<Self, Error> {
        let read = |file| Manifests::read(file, &remote.url());
        let [quickstart, staged, pinned] =
            [read(manifests::QUICKSTART)?, read(manifests::STAGED)?, read(manifests::PINNED)?];
        Ok(Self { place, remote, quickstart, staged, pinned })
    }

    /// Returns the address of the console of the dev server.
    pub(super) fn console(&self) -> String {
        format!("{}/", self.remote.url())
    }

    async fn apply(&self, manifests: &Manifests) -> Result<(), Error> {
        manifests.apply(&self.place.client).await
    }

    /// Makes the operator read the remote and reconcile once more, as a user does with the annotation. Returns the live
    /// deployment after that.
    async fn look_again(&self, name: &str) -> Result<ConnectorDeployment, Error> {
        let request = uuid::Uuid::new_v4().to_string();
        let patch = json!({"metadata": {"annotations": {names::RECONCILE_REQUESTED_AT: request}}});
        self.api::<ConnectorDeployment>().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        let handled = |it: &ConnectorDeployment| {
            it.status.as_ref().and_then(|status| status.handled_reconcile_request.as_ref()) == Some(&request)
        };
        self.until(name, |it| is_live(it) && handled(it)).await
    }

    fn api<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(&self) -> Api<K> {
        Api::namespaced(self.place.client.clone(), NAMESPACE)
    }

    /// Waits until an object is as described.
    async fn until<K>(&self, name: &str, is: impl Fn(&K) -> bool) -> Result<K, Error>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + Send
            + DeserializeOwned
            + 'static,
    {
        let found = Box::pin(await_condition(self.api(), name, |it: Option<&K>| it.is_some_and(&is))).await?;
        found.ok_or_else(|| Error(format!("{name} does not exist")))
    }

    /// Checks that the dev server received this number of calls of an operation, by id or by key.
    fn sent(&self, operation: &str, times: u64) -> Result<(), Error> {
        let counts = self.remote.counts();
        let count = counts.iter().filter(|(name, _)| name.starts_with(operation)).map(|(_, count)| count).sum();
        as_often(operation, count, times)
    }

    /// Checks the same for the calls about one deployment.
    fn sent_about(&self, deployment: &ConnectorDeployment, operation: &str, times: u64) -> Result<(), Error> {
        let path = format!("/{}", id(deployment));
        let calls = self.remote.calls();
        let about = calls.iter().filter(|call| call.operation.starts_with(operation) && call.path.ends_with(&path));
        as_often(&format!("{operation} about {path}"), u64::try_from(about.count()).unwrap_or(u64::MAX), times)
    }

    /// Runs a step with a timeout, then prints its result and how long it took.
    async fn step(&self, what: &'static str, work: impl Future<Output = Result<String, Error>>) -> Result<(), Error> {
        let clock = Clock::system();
        detail(&format!("waiting until {what}"));
        let failed = |why: String| Error(format!("the demo did not observe that {what}: {why}"));
        let ended = tokio::time::timeout(WITHIN, Box::pin(work)).await;
        let ended = ended.unwrap_or_else(|_| Err(Error(format!("not within {} s", WITHIN.as_secs()))));
        done(&ended.map_err(|error| failed(error.0))?, clock.elapsed());
        Ok(())
    }
}

fn as_often(what: &str, count: u64, times: u64) -> Result<(), Error> {
    if count == times {
        return Ok(());
    }
    Err(Error(format!("the dev server got {count} calls of {what} instead of {times}")))
}

/// Returns the id of a deployment that was live.
fn id(deployment: &ConnectorDeployment) -> &str {
    deployment.status.as_ref().and_then(|status| status.id.as_deref()).unwrap_or_default()
}

/// Whether the newest generation is live and no operation is in progress.
fn is_live(deployment: &ConnectorDeployment) -> bool {
    is_settled(deployment, "Deployed") && deployment.status.as_ref().is_some_and(|status| is_ready(&status.conditions))
}

/// Whether a condition is true.
fn has(deployment: &ConnectorDeployment, condition: &str) -> bool {
    deployment.status.as_ref().is_some_and(|status| is_true(&status.conditions, condition))
}

/// Whether the status is about the newest generation, has this state of the remote, and no operation is in progress.
fn is_settled(deployment: &ConnectorDeployment, remote: &str) -> bool {
    deployment.status.as_ref().is_some_and(|status| {
        Some(status.observed_generation) == deployment.metadata.generation
            && status.remote_state() == Some(remote)
            && state::shown(status).operation.is_none()
    })
}
