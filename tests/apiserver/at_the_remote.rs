//! What the remote of a shop has: deployments, and the calls that it received.

use connect_api::model::{Deployment, DeploymentDraft};

use crate::prelude::*;

impl Shop {
    /// The deployments of the remote.
    pub(crate) fn there(&self) -> Vec<Deployment> {
        let now = self.dev.now();
        self.dev.world().all(now)
    }

    /// Their statuses.
    pub(crate) fn statuses(&self) -> Vec<DeploymentStatus> {
        self.there().into_iter().map(|deployment| deployment.status).collect()
    }

    /// Keys and values of the only deployment of the remote that are not secured.
    pub(crate) fn plain(&self) -> Vec<(String, String)> {
        let values = self.there().remove(0).applications.into_iter().flat_map(|it| it.standard_configuration);
        values.map(|value| (value.key, value.value)).collect()
    }

    /// The key of the deployment at the remote.
    pub(crate) fn key(&self) -> String {
        format!("{}_{NAME}", self.sandbox.namespace)
    }

    /// Creates a deployment under the same key outside the operator; returns its id.
    pub(crate) fn make_elsewhere(&self, level: &str) -> String {
        self.make_elsewhere_under(&self.key(), level)
    }

    /// Creates a live deployment of the demo connector outside the operator; returns its id.
    pub(crate) fn make_elsewhere_under(&self, key: &str, level: &str) -> String {
        make_elsewhere(&self.dev, key, ("LOG_LEVEL", level), "a-token-of-somebody-else")
    }

    /// Number of creates, redeploys and deletes that were sent.
    pub(crate) fn sent(&self) -> [u64; 3] {
        ["createDeployment", "updateDeploymentById", "deleteDeploymentById"].map(|operation| self.calls(operation))
    }

    /// Number of calls of this operation of the remote.
    pub(crate) fn calls(&self, operation: &str) -> u64 {
        self.dev.counts().get(operation).copied().unwrap_or_default()
    }
}

/// Creates a live deployment of the demo connector with these values; returns its id.
pub(crate) fn make_elsewhere(dev: &DevServer, key: &str, (plain, value): (&str, &str), token: &str) -> String {
    let draft: DeploymentDraft = serde_json::from_value(json!({
        "key": key, "type": "sandbox", "connector": {"key": "demo-connector"}, "region": "europe-west1.gcp",
        "configurations": [{
            "applicationName": "service",
            "standardConfiguration": [{"key": plain, "value": value}],
            "securedConfiguration": [{"key": "API_TOKEN", "value": token}],
        }],
    }))
    .unwrap();
    let now = dev.now();
    let mut world = dev.world();
    let id = world.create("demo", &draft, true, now).expect("the key is free").id;
    world.finish(&id, now).unwrap();
    id
}

/// The usual catalogue with another API client, whose secret is `dev-secret`.
pub(crate) fn with_client(id: &str, scopes: &[&str]) -> Catalogue {
    let client = json!({"clients": [{"id": id, "secret": "dev-secret", "scopes": scopes}]});
    Catalogue::built_in().and(Catalogue::parse(&client.to_string()).unwrap())
}
