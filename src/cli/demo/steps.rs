//! What the demo does, one method for each step: each waits until the step was seen, within a bound, and says how long
//! it took. What is counted is counted at the dev server.
//!
//! Waits on what `follow.rs` sees; nothing sleeps.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use tokio::sync::watch;

use super::Error;
use super::display::Display;
use super::follow::{DEPLOYMENT, Seen, ready, report_lines};
use super::manifest::Quickstart;
use super::place::Place;
use crate::clock::Clock;
use crate::connect::Selector;
use crate::crd::ConnectorDeployment;
use crate::dev_server::DevServer;
use crate::names;

/// How long a step may take. A machine with two busy cores needs some seconds.
const WITHIN: Duration = Duration::from_mins(2);

/// Project of the dev server that the quickstart deploys into.
const REMOTE_PROJECT: &str = "demo";

/// Everything that runs, and the manifests as they stand.
pub(super) struct Demo<'a> {
    pub(super) place: &'a Place,
    pub(super) remote: Arc<DevServer>,
    pub(super) seen: watch::Receiver<Seen>,
    pub(super) display: Display,
    pub(super) manifests: Quickstart,
}

impl Demo<'_> {
    /// Applies the quickstart and sees it live.
    pub(super) async fn deploy(&self) -> Result<(), Error> {
        self.step("examples/quickstart.yaml is applied", async {
            self.apply(&self.manifests).await?;
            Ok("examples/quickstart.yaml is applied".to_owned())
        })
        .await?;
        self.step("the ConnectorDeployment is Deployed", async {
            let live = self.until(|seen| live(seen).cloned()).await?;
            self.sent("createDeployment", 1)?;
            let url = live.status.iter().flat_map(|status| &status.applications).find_map(|one| one.url.clone());
            let url = url.ok_or_else(|| Error::Otherwise("the live deployment has no URL".to_owned()))?;
            Ok(format!("Deployed: {url}"))
        })
        .await
    }

    /// Gives the Secret another token and sees exactly one redeploy.
    pub(super) async fn rotate(&mut self) -> Result<(), Error> {
        let before = Facts::of(&self.seen.borrow());
        let token = format!("token-{}", uuid::Uuid::new_v4().simple());
        let changes = self.edit(|manifests| manifests.with_token(&token));
        self.step("the changed Secret is redeployed", async {
            self.apply(&changes).await?;
            let applied_anew = |facts: &Facts| facts.digest.is_some() && facts.digest != before.digest;
            self.until(|seen| live(seen).filter(|_| applied_anew(&Facts::of(seen))).map(drop)).await?;
            // Whatever is still to come for this Secret comes before the answer to this.
            self.look_again().await?;
            self.sent("updateDeployment", 1)?;
            let after = Facts::of(&self.seen.borrow());
            if after.version != before.version.map(|version| version + 1) {
                let text = format!("one redeploy makes one version, but {before:?} became {after:?}");
                return Err(Error::Otherwise(text));
            }
            let version = after.version.unwrap_or_default();
            Ok(format!("The Secret was changed: exactly one redeploy, version {version} is Deployed"))
        })
        .await
    }

    /// Gives a value that the connector refuses and sees why in the status.
    pub(super) async fn fail(&mut self) -> Result<(), Error> {
        let changes = self.edit(|manifests| manifests.with_log_level("loud"));
        self.step("the refused value is reported", async {
            self.apply(&changes).await?;
            let failed = self.until(|seen| failed(seen).cloned()).await?;
            Ok(format!("LOG_LEVEL was set to loud: Failed, with its {}", report_lines(&failed).join("; ")))
        })
        .await
    }

    /// Puts the value right and sees it live again.
    pub(super) async fn repair(&mut self) -> Result<(), Error> {
        let changes = self.edit(|manifests| manifests.with_log_level("debug"));
        self.step("the repaired value is Deployed", async {
            self.apply(&changes).await?;
            self.until(|seen| live(seen).map(drop)).await?;
            Ok("LOG_LEVEL was set to debug: Deployed again".to_owned())
        })
        .await
    }

    /// Deletes the deployment and sees it gone, here and at the remote.
    pub(super) async fn delete(&self) -> Result<(), Error> {
        let id = self.seen.borrow().deployment.as_ref().and_then(|one| one.status.as_ref()?.id.clone());
        let id = id.ok_or_else(|| Error::Otherwise("the live deployment has no id".to_owned()))?;
        self.step("the deleted deployment is gone", async {
            self.deployments().delete(DEPLOYMENT, &DeleteParams::default()).await?;
            self.until(|seen| seen.deployment.is_none().then_some(())).await?;
            if self.remote.world().read(REMOTE_PROJECT, &Selector::Id(id), self.remote.now()).is_ok() {
                return Err(Error::Otherwise("the resource is gone, but its remote deployment is not".to_owned()));
            }
            for (operation, times) in [("createDeployment", 1), ("updateDeployment", 3), ("deleteDeployment", 1)] {
                self.sent(operation, times)?;
            }
            Ok("The ConnectorDeployment was deleted: the remote deployment is gone too".to_owned())
        })
        .await
    }

    /// Edits the manifests, as a person edits the file, and answers what has to be applied.
    fn edit(&mut self, edit: impl FnOnce(Quickstart) -> Quickstart) -> Quickstart {
        let edited = edit(self.manifests.clone());
        let changes = edited.changed_since(&self.manifests);
        self.manifests = edited;
        changes
    }

    async fn apply(&self, manifests: &Quickstart) -> Result<(), Error> {
        manifests.apply(&self.place.client, &self.place.namespace, |line| self.display.detail(line)).await
    }

    /// Has the operator look at the remote and decide once more, as a person does with the annotation.
    async fn look_again(&self) -> Result<(), Error> {
        let request = uuid::Uuid::new_v4().to_string();
        let patch = json!({"metadata": {"annotations": {names::RECONCILE_REQUESTED_AT: request}}});
        self.deployments().patch(DEPLOYMENT, &PatchParams::default(), &Patch::Merge(patch)).await?;
        let handled = |status: &crate::crd::ConnectorDeploymentStatus| {
            status.handled_reconcile_request.as_ref() == Some(&request)
        };
        self.until(|seen| live(seen).and_then(|live| live.status.as_ref()).filter(|status| handled(status)).map(drop))
            .await
    }

    fn deployments(&self) -> Api<ConnectorDeployment> {
        Api::namespaced(self.place.client.clone(), &self.place.namespace)
    }

    /// The dev server must have got so many calls of this operation, in any of its forms.
    fn sent(&self, operation: &str, times: u64) -> Result<(), Error> {
        let counts = self.remote.counts();
        let count: u64 = counts.iter().filter(|(name, _)| name.starts_with(operation)).map(|(_, count)| count).sum();
        if count == times {
            return Ok(());
        }
        Err(Error::Otherwise(format!("the dev server got {count} calls of {operation} where {times} were right")))
    }

    /// Returns what `pick` finds, once it does.
    async fn until<T>(&self, pick: impl Fn(&Seen) -> Option<T>) -> Result<T, Error> {
        let mut seen = self.seen.clone();
        loop {
            if let Some(found) = pick(&seen.borrow_and_update()) {
                return Ok(found);
            }
            seen.changed().await.map_err(|_| Error::Otherwise("nobody watches the cluster any more".to_owned()))?;
        }
    }

    /// Does a step within its bound, then says what was done and how long it took.
    async fn step(&self, what: &'static str, work: impl Future<Output = Result<String, Error>>) -> Result<(), Error> {
        let clock = Clock::system();
        let busy = self.display.busy(&format!("waiting until {what}"));
        let failed = |why: String| Error::NotSeen { what, why, seen: self.seen.borrow().describe() };
        let done = match tokio::time::timeout(WITHIN, work).await {
            Ok(Ok(done)) => done,
            Ok(Err(Error::Otherwise(why))) => return Err(failed(why)),
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(failed(format!("not within {} s", WITHIN.as_secs()))),
        };
        drop(busy);
        self.display.done(&done, clock.elapsed());
        Ok(())
    }
}

/// What a redeploy changes.
#[derive(Debug)]
struct Facts {
    digest: Option<String>,
    version: Option<i64>,
}

impl Facts {
    fn of(seen: &Seen) -> Self {
        let status = seen.deployment.as_ref().and_then(|deployment| deployment.status.as_ref());
        Self {
            digest: status.and_then(|status| status.applied.as_ref()?.digest.clone()),
            version: status.and_then(|status| status.version),
        }
    }
}

/// The deployment, if its newest generation is live and nothing runs.
fn live(seen: &Seen) -> Option<&ConnectorDeployment> {
    settled(seen).filter(|deployment| {
        deployment.status.as_ref().and_then(|status| status.deployment_status.as_deref()) == Some("Deployed")
            && ready(deployment).is_some_and(|ready| ready.status == "True")
    })
}

/// The deployment, if its newest generation did not work and the status says why.
fn failed(seen: &Seen) -> Option<&ConnectorDeployment> {
    settled(seen).filter(|deployment| {
        deployment.status.as_ref().and_then(|status| status.deployment_status.as_deref()) == Some("Failed")
            && ready(deployment).is_some_and(|ready| ready.status == "False")
            && !report_lines(deployment).is_empty()
    })
}

/// The deployment, if the status speaks about its newest generation and nothing runs.
fn settled(seen: &Seen) -> Option<&ConnectorDeployment> {
    seen.deployment.as_ref().filter(|deployment| {
        deployment.status.as_ref().is_some_and(|status| {
            Some(status.observed_generation) == deployment.metadata.generation && status.operation.is_none()
        })
    })
}
