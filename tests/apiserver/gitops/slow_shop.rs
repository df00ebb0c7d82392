//! A shop whose operations last until a test ends them: the remote's time is stepped, while the operator and the tools that
//! watch it have the time of the machine.

use std::fmt::Debug;

use dev_server::DEPLOY_DURATION;

use super::ownership::only_its_own;
use crate::prelude::*;

/// Files in a repository that contain the project and the deployment.
pub(super) const PROJECT_FILE: &str = "shop/project.yaml";
pub(super) const DEPLOYMENT_FILE: &str = "shop/deployment.yaml";
/// The folder of these files.
pub(super) const FOLDER: &str = "shop";

/// An operator and a remote. The Secrets exist; a tool applies the rest.
pub(super) struct SlowShop {
    pub(super) shop: Shop,
}

impl SlowShop {
    pub(super) async fn open(sandbox: Sandbox) -> Self {
        let mut shop = Shop::on(sandbox, Options::default(), Clock::stepped(Timestamp::now())).await;
        shop.clock = Clock::system();
        shop.start_operator();
        shop.put_credentials("dev-client").await;
        shop.put_token("first-token-of-the-shop").await;
        Self { shop }
    }

    /// The deployment with this value, as a file.
    pub(super) fn deployment(&self, level: &str) -> String {
        self.shop.with_level(level).to_string()
    }

    /// Both files, with this value of the deployment.
    pub(super) fn files(&self, level: &str) -> [(&'static str, String); 2] {
        [(PROJECT_FILE, self.shop.project().to_string()), (DEPLOYMENT_FILE, self.deployment(level))]
    }

    /// Ends the operation that runs at the remote.
    pub(super) fn finish(&self) {
        self.shop.dev.clock().step(DEPLOY_DURATION);
    }

    /// Lets the next operation fail.
    pub(super) async fn plan_failure(&self) {
        let id = self.shop.get().await.status.and_then(|status| status.id).expect("it is deployed");
        let outcome = PlannedOutcome::failure("service", "It did not start", "The port is taken");
        self.shop.dev.world().plan_outcome(&id, outcome, self.shop.dev.now()).unwrap();
    }

    /// Asserts that the deployment is Ready in cluster and remote.
    pub(super) async fn assert_live(&self) -> ConnectorDeployment {
        let object = self.shop.get().await;
        assert_eq!(condition(&json!(object), names::READY).0, "True", "{:#?}", object.status);
        assert_eq!(self.shop.statuses(), [DeploymentStatus::Deployed]);
        object
    }

    /// Asserts that the fields of the tool and of the operator are apart.
    pub(super) async fn assert_fields_apart(&self) {
        only_its_own(&json!(self.shop.get().await));
        only_its_own(&json!(self.shop.api::<ConnectProject>().get(PROJECT).await.unwrap()));
    }

    /// Asserts that the deployment is gone everywhere, and that nothing else is being deleted.
    pub(super) async fn assert_only_the_project_is_left(&self) {
        self.shop.until_gone().await;
        assert_eq!(self.shop.statuses(), Vec::new());
        let project = self.shop.api::<ConnectProject>().get(PROJECT).await.unwrap();
        assert!(project.metadata.deletion_timestamp.is_none());
    }
}

/// The status, reason and message of a condition that belongs to the current generation; empty texts without one.
pub(super) fn condition<'a>(object: &'a Value, type_: &str) -> (&'a str, &'a str, &'a str) {
    let current = |condition: &&Value| {
        condition["type"] == type_ && condition["observedGeneration"] == object["metadata"]["generation"]
    };
    let found = object["status"]["conditions"].as_array().into_iter().flatten().find(current);
    let text = |name: &str| found.and_then(|condition| condition[name].as_str()).unwrap_or_default();
    (text("status"), text("reason"), text("message"))
}

/// Watches an existing object from now on. The result awaits its deletion, and returns the revision of the cluster at
/// that time.
pub(super) async fn deletion_of<K>(api: Api<K>, name: &str) -> impl Future<Output = u64> + use<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut events = watcher::watcher(api, config).boxed();
    let mut is_watched = false;
    while !is_watched {
        is_watched = matches!(in_time(events.next()).await.unwrap().unwrap().unwrap(), watcher::Event::InitDone);
    }
    async move {
        loop {
            if let watcher::Event::Delete(object) = in_time(events.next()).await.unwrap().unwrap().unwrap() {
                return object.resource_version().and_then(|version| version.parse().ok()).expect("a revision");
            }
        }
    }
}
