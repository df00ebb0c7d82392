//! A staged connector: from its Git tag to a preview and a publication, and a deployment that reports the next version
//! and then upgrades to it.

use super::{Demo, live};
use crate::cli::demo::Error;
use crate::cli::demo::manifests::{TAG, UPDATE_POLICY};
use crate::cli::demo::observed::{LIVE, ObservedObjects, PREVIEW, STAGED};
use crate::names;

/// The tag that is published second. The first is in the manifest.
const NEXT_TAG: &str = "1.1.0";

impl Demo<'_> {
    /// Publishes a tag, with a preview of it, and deploys the published connector.
    pub(in crate::cli::demo) async fn publish(&self) -> Result<(), Error> {
        self.step("the connector is published", async {
            self.apply(&self.staged).await?;
            let tag = self.staged.text(TAG).unwrap_or_default();
            self.until(|seen| published(seen, tag).and_then(|()| live(seen, PREVIEW)).map(drop)).await?;
            Ok(format!("{STAGED} went from Git tag {tag} to a live preview and to its publication"))
        })
        .await?;
        self.step("the published connector is Deployed", async {
            self.apply(&self.pinned).await?;
            self.until(|seen| live(seen, LIVE).filter(|_| version(seen) == Some(1)).map(drop)).await?;
            Ok(format!("{LIVE} is Deployed with version 1 of {STAGED}, and Pinned to it"))
        })
        .await
    }

    /// Publishes the next tag, which the pinned deployment reports but does not deploy.
    pub(in crate::cli::demo) async fn publish_next(&mut self) -> Result<(), Error> {
        let changes = self.staged.edit(TAG, NEXT_TAG);
        self.step("a newer version is reported", async {
            self.apply(&changes).await?;
            self.until(|seen| published(seen, NEXT_TAG)).await?;
            // Without the request, the deployment would read the registry only at its interval.
            self.look_again(LIVE).await?;
            let is_available =
                |seen: &ObservedObjects| live(seen, LIVE).filter(|_| seen.is(LIVE, names::UPDATE_AVAILABLE)).map(drop);
            self.until(is_available).await?;
            self.sent_about(LIVE, "updateDeployment", 0)?;
            Ok(format!("Git tag {NEXT_TAG} is published as version 2: {LIVE} reports UpdateAvailable"))
        })
        .await
    }

    /// Switches to `updatePolicy: Latest`, and checks that exactly one redeploy follows.
    pub(in crate::cli::demo) async fn follow(&mut self) -> Result<(), Error> {
        let changes = self.pinned.edit(UPDATE_POLICY, "Latest");
        self.step("the newer version is Deployed", async {
            self.apply(&changes).await?;
            self.until(|seen| live(seen, LIVE).filter(|_| version(seen) == Some(2)).map(drop)).await?;
            // A second redeploy would be sent before the operator handles this request.
            self.look_again(LIVE).await?;
            self.sent_about(LIVE, "updateDeployment", 1)?;
            if self.seen.borrow().is(LIVE, names::UPDATE_AVAILABLE) {
                return Err(Error("the latest version runs, but UpdateAvailable is still True".to_owned()));
            }
            Ok("updatePolicy was set to Latest: exactly one redeploy, version 2 is Deployed".to_owned())
        })
        .await
    }
}

/// Whether this tag is published and the resource is ready.
fn published(seen: &ObservedObjects, tag: &str) -> Option<()> {
    let staged = seen.staged(STAGED).filter(|_| seen.is(STAGED, names::READY))?;
    (staged.status.as_ref()?.published_tag.as_deref() == Some(tag)).then_some(())
}

/// Version of the deployed connector.
fn version(seen: &ObservedObjects) -> Option<i64> {
    seen.deployment(LIVE)?.status.as_ref()?.connector.as_ref()?.version
}
