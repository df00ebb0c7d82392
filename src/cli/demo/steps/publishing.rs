//! A staged connector: from its Git tag to a preview and a publication, and a deployment that reports the next version
//! and then upgrades to it.

use super::{Demo, LIVE, PREVIEW, STAGED, has, is_live};
use crate::cli::demo::Error;
use crate::cli::demo::manifests::{TAG, UPDATE_POLICY};
use crate::crd::{ConnectorDeployment, ConnectorStaged};
use crate::names;
use crate::operator::reporting::conditions::is_ready;

/// The tag that is published second. The first is in the manifest.
const NEXT_TAG: &str = "1.1.0";

impl Demo<'_> {
    /// Publishes a tag, with a preview of it, and deploys the published connector.
    pub(in crate::cli::demo) async fn publish(&self) -> Result<(), Error> {
        self.step("the connector is published", async {
            self.apply(&self.staged).await?;
            let tag = self.staged.text(TAG).unwrap_or_default();
            self.until(STAGED, |it| is_published(it, tag)).await?;
            self.until(PREVIEW, is_live).await?;
            Ok(format!("{STAGED} went from Git tag {tag} to a live preview and to its publication"))
        })
        .await?;
        self.step("the published connector is Deployed", async {
            self.apply(&self.pinned).await?;
            self.until(LIVE, |it| is_live(it) && version(it) == Some(1)).await?;
            Ok(format!("{LIVE} is Deployed with version 1 of {STAGED}, and Pinned to it"))
        })
        .await
    }

    /// Publishes the next tag, which the pinned deployment reports but does not deploy.
    pub(in crate::cli::demo) async fn publish_next(&mut self) -> Result<(), Error> {
        let changes = self.staged.edit(TAG, NEXT_TAG);
        self.step("a newer version is reported", async {
            self.apply(&changes).await?;
            self.until(STAGED, |it| is_published(it, NEXT_TAG)).await?;
            // Without the request, the deployment would read the registry only at its interval.
            self.look_again(LIVE).await?;
            let live = self.until(LIVE, |it| is_live(it) && has(it, names::UPDATE_AVAILABLE)).await?;
            self.sent_about(&live, "updateDeployment", 0)?;
            Ok(format!("Git tag {NEXT_TAG} is published as version 2: {LIVE} reports UpdateAvailable"))
        })
        .await
    }

    /// Switches to `updatePolicy: Latest`, and checks that exactly one redeploy follows.
    pub(in crate::cli::demo) async fn follow(&mut self) -> Result<(), Error> {
        let changes = self.pinned.edit(UPDATE_POLICY, "Latest");
        self.step("the newer version is Deployed", async {
            self.apply(&changes).await?;
            self.until(LIVE, |it| is_live(it) && version(it) == Some(2)).await?;
            // A second redeploy would be sent before the operator handles this request.
            let live = self.look_again(LIVE).await?;
            self.sent_about(&live, "updateDeployment", 1)?;
            if has(&live, names::UPDATE_AVAILABLE) {
                return Err(Error("the latest version runs, but UpdateAvailable is still True".to_owned()));
            }
            Ok("updatePolicy was set to Latest: exactly one redeploy, version 2 is Deployed".to_owned())
        })
        .await
    }
}

/// Whether this tag is published and the resource is ready.
fn is_published(staged: &ConnectorStaged, tag: &str) -> bool {
    staged
        .status
        .as_ref()
        .is_some_and(|status| status.published_tag.as_deref() == Some(tag) && is_ready(&status.conditions))
}

/// Version of the deployed connector.
fn version(deployment: &ConnectorDeployment) -> Option<i64> {
    deployment.status.as_ref()?.connector.as_ref()?.version
}
