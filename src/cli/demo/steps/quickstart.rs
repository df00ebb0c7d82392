//! The main job, with a published connector: it is found, deployed, checked, changed, broken, repaired and undeployed.

use connect_api::Selector;
use kube::api::DeleteParams;
use kube::runtime::wait::await_condition;

use super::{CHECKS, DEPLOYMENT, Demo, LIVE, PREVIEW, REMOTE_PROJECT, id, is_live, is_settled};
use crate::cli::commands;
use crate::cli::demo::Error;
use crate::cli::demo::display::detail;
use crate::cli::demo::manifests::{self, LOG_LEVEL, Manifests, TOKEN};
use crate::cli::resources::findings;
use crate::crd::{ActionCheck, ConnectorDeployment, ConnectorDeploymentStatus};
use crate::operator::reporting::conditions::is_ready;

/// The connector to deploy, and the search text for it.
pub(in crate::cli::demo) const CONNECTOR: &str = "demo-connector";
const WORDS: &str = "demo";

impl Demo<'_> {
    /// Searches the registry, as `connectors search` does.
    pub(in crate::cli::demo) async fn search(&self) -> Result<(), Error> {
        self.step("the registry is searched", async {
            let variable = |name: &str| self.variable(name);
            let table = commands::search(variable, WORDS).await.map_err(|error| Error(error.to_string()))?;
            table.lines().for_each(detail);
            let rows = table.lines().skip(1);
            if !rows.clone().any(|row| row.split_whitespace().next() == Some(CONNECTOR)) {
                return Err(Error(format!("{CONNECTOR} is not in the registry")));
            }
            Ok(format!("`connectors search --text {WORDS}` finds {} connectors, {CONNECTOR} among them", rows.count()))
        })
        .await
    }

    /// The environment of a user who calls this project.
    pub(in crate::cli::demo) fn variables(&self) -> Vec<(&'static str, String)> {
        let names = ["CTP_PROJECT_KEY", "CTP_CLIENT_ID", "CTP_CLIENT_SECRET", "CTP_API_URL", "CTP_AUTH_URL"];
        names.into_iter().filter_map(|name| Some((name, self.variable(name)?))).collect()
    }

    fn variable(&self, name: &str) -> Option<String> {
        match name {
            "CTP_PROJECT_KEY" => Some(REMOTE_PROJECT.to_owned()),
            "CTP_CLIENT_ID" => self.quickstart.text("/stringData/clientId").map(str::to_owned),
            "CTP_CLIENT_SECRET" => self.quickstart.text("/stringData/clientSecret").map(str::to_owned),
            "CTP_API_URL" | "CTP_AUTH_URL" => Some(self.remote.url()),
            _ => None,
        }
    }

    /// Applies the quickstart, and waits until it is live.
    pub(in crate::cli::demo) async fn deploy(&self) -> Result<(), Error> {
        self.step("examples/quickstart.yaml is applied", async {
            self.apply(&self.quickstart).await?;
            Ok("examples/quickstart.yaml is applied".to_owned())
        })
        .await?;
        self.step("the ConnectorDeployment is Deployed", async {
            let live: ConnectorDeployment = self.until(DEPLOYMENT, is_live).await?;
            self.sent("createDeployment", 1)?;
            let url = live.status.iter().flat_map(|status| &status.applications).find_map(|one| one.url.clone());
            let url = url.ok_or_else(|| Error("the live deployment has no URL".to_owned()))?;
            Ok(format!("Deployed: {url}"))
        })
        .await
    }

    /// Calls actions of the frontend.
    pub(in crate::cli::demo) async fn check(&self) -> Result<(), Error> {
        self.step("the actions are checked", async {
            self.apply(&Manifests::read(manifests::CHECK, &self.remote.url())?).await?;
            for check in CHECKS {
                let passed = |it: &ActionCheck| it.status.as_ref().is_some_and(|status| is_ready(&status.conditions));
                self.until(check, passed).await?;
            }
            self.sent("writeFrontasticActionPost", 1)?;
            Ok("The actions addToCart and getCart answer as they should: CheckPassed".to_owned())
        })
        .await
    }

    /// Changes the token in the Secret, and checks that exactly one redeploy follows.
    pub(in crate::cli::demo) async fn rotate(&mut self) -> Result<(), Error> {
        let token = format!("token-{}", uuid::Uuid::new_v4().simple());
        let changes = self.quickstart.edit(TOKEN, &token);
        self.step("the changed Secret is redeployed", async {
            self.apply(&changes).await?;
            let version =
                |it: &ConnectorDeployment| it.status.as_ref().and_then(ConnectorDeploymentStatus::remote_version);
            self.until(DEPLOYMENT, |it| is_live(it) && version(it) == Some(2)).await?;
            // A second redeploy would be sent before the operator handles this request.
            self.look_again(DEPLOYMENT).await?;
            self.sent("updateDeployment", 1)?;
            Ok("The Secret was changed: exactly one redeploy, version 2 is Deployed".to_owned())
        })
        .await
    }

    /// Sets a value that the connector rejects, and waits until the status reports why.
    pub(in crate::cli::demo) async fn fail(&mut self) -> Result<(), Error> {
        let changes = self.quickstart.edit(LOG_LEVEL, "loud");
        self.step("the rejected value is reported", async {
            self.apply(&changes).await?;
            let failed = self.until(DEPLOYMENT, |it| is_settled(it, "Failed") && !report(it).is_empty()).await?;
            Ok(format!("LOG_LEVEL was set to loud: Failed, with its report: {}", report(&failed).join("; ")))
        })
        .await
    }

    /// Repairs the value, and waits until the deployment is live again.
    pub(in crate::cli::demo) async fn repair(&mut self) -> Result<(), Error> {
        let changes = self.quickstart.edit(LOG_LEVEL, "debug");
        self.step("the repaired value is Deployed", async {
            self.apply(&changes).await?;
            self.until(DEPLOYMENT, is_live).await?;
            Ok("LOG_LEVEL was set to debug: Deployed again".to_owned())
        })
        .await
    }

    /// Deletes every deployment, and checks that they are gone in the cluster and at the remote.
    pub(in crate::cli::demo) async fn delete(&self) -> Result<(), Error> {
        self.step("the deleted deployments are gone", async {
            let deployments = self.api::<ConnectorDeployment>();
            self.sent_about(&deployments.get(DEPLOYMENT).await?, "updateDeployment", 3)?;
            for name in [DEPLOYMENT, PREVIEW, LIVE] {
                let live = deployments.get(name).await?;
                deployments.delete(name, &DeleteParams::default()).await?;
                let is_gone = |it: Option<&ConnectorDeployment>| it.is_none();
                Box::pin(await_condition(deployments.clone(), name, is_gone)).await?;
                let selector = Selector::Id(id(&live).to_owned());
                if self.remote.world().read(REMOTE_PROJECT, &selector, self.remote.now()).is_ok() {
                    return Err(Error("a remote deployment outlived its resource".to_owned()));
                }
            }
            for operation in ["createDeployment", "deleteDeployment"] {
                self.sent(operation, 3)?;
            }
            Ok("The ConnectorDeployments were deleted: the remote deployments are gone too".to_owned())
        })
        .await
    }
}

/// Returns the report in the status of the deployment, one text per finding.
fn report(deployment: &ConnectorDeployment) -> Vec<String> {
    deployment.status.iter().flat_map(|status| findings(&status.report)).collect()
}
