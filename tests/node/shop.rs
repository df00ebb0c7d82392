//! A shop in the cluster: a namespace with a dev server of the same image, and the quickstart that deploys to it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::node::Node;
use crate::patience::timeout_option;

/// The manifests that users start with.
const DEV_SERVER: &str = include_str!("../../examples/dev-server.yaml");
const QUICKSTART: &str = include_str!("../../examples/quickstart.yaml");

/// The value of the Secret that the quickstart deploys with.
const FIRST_TOKEN: &str = "my-first-token";

/// Names of the shared project and of its credentials.
const SHARED: &str = "shared";
const CREDENTIALS: &str = "shared-credentials";

/// A namespace with a dev server.
pub(crate) struct Shop<'a> {
    node: &'a Node,
    /// Name of the namespace.
    pub(crate) namespace: &'a str,
}

impl<'a> Shop<'a> {
    /// Creates the namespace and starts the dev server in it.
    pub(crate) fn open(node: &'a Node, namespace: &'a str) -> Self {
        node.make_restricted_namespace(namespace);
        let image = format!("image: {}:{}", node.repository, node.tag);
        let published = concat!("image: ghcr.io/connect-operator/connect-operator:", env!("CARGO_PKG_VERSION"));
        assert!(DEV_SERVER.contains(published), "the example names the image of this version");
        node.apply(namespace, &DEV_SERVER.replace(published, &image));
        node.kubectl(&["--namespace", namespace, "rollout", "status", "deployment/dev-server", &timeout_option()]);
        Self { node, namespace }
    }

    /// Host and port of its dev server, for the allowed hosts of an operator.
    pub(crate) fn host(namespace: &str) -> String {
        format!("dev-server.{namespace}.svc.cluster.local:8787")
    }

    /// Applies the quickstart, and waits until its deployment is live.
    pub(crate) fn quickstart(&self) {
        self.node.apply(self.namespace, &self.manifests());
        self.ready();
    }

    /// The quickstart for this dev server.
    pub(crate) fn manifests(&self) -> String {
        QUICKSTART.replace("http://127.0.0.1:8787", &format!("http://{}", Self::host(self.namespace)))
    }

    /// A `ClusterConnectProject` for the project of this dev server, with its credentials in the namespace of the operator.
    pub(crate) fn shared_project(&self, home: &str, label: &str) -> String {
        let url = format!("http://{}", Self::host(self.namespace));
        let (key, value) = label.split_once('=').expect("a key and a value");
        let credentials = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": CREDENTIALS, "namespace": home},
            "stringData": {"clientId": "dev-client", "clientSecret": "dev-secret"},
        });
        let project = json!({
            "apiVersion": "connect-operator.io/v1alpha1", "kind": "ClusterConnectProject", "metadata": {"name": SHARED},
            "spec": {
                "projectKey": "demo", "region": "europe-west1.gcp", "apiUrl": url, "authUrl": url,
                "credentialsSecretRef": {"name": CREDENTIALS},
                "allowedNamespaces": {"from": "Selector", "selector": {"matchLabels": {key: value}}},
            },
        });
        json!({"apiVersion": "v1", "kind": "List", "items": [credentials, project]}).to_string()
    }

    /// Applies the deployment of the quickstart for the shared project, with this log level, and its Secret.
    pub(crate) fn apply_shared_deployment(&self, level: &str) {
        let quickstart = self.manifests();
        let documents: Vec<_> = quickstart.split("\n---\n").collect();
        let [_credentials, _project, secret, deployment] = documents[..] else { panic!("not the quickstart") };
        let shared = format!("projectRef: {{kind: ClusterConnectProject, name: {SHARED}}}");
        let changed = deployment.replace("projectRef: {name: shop}", &shared);
        assert_ne!(changed, deployment);
        let changed = changed.replace("value: info", &format!("value: {level}"));
        self.node.apply(self.namespace, &format!("{secret}\n---\n{changed}"));
    }

    /// Waits until the Ready condition of the deployment has this reason for its current spec.
    pub(crate) fn until_reason(&self, reason: &str) {
        self.node.until(reason, |node| {
            let object = node.get(self.namespace, &["cdep", "tax"]);
            let conditions = object["status"]["conditions"].as_array()?;
            let ready = conditions.iter().find(|condition| condition["type"] == "Ready")?;
            let observed = ready["observedGeneration"] == object["metadata"]["generation"];
            (observed && ready["reason"] == reason).then_some(())
        });
    }

    /// Waits until the deployment is Ready for its current spec.
    pub(crate) fn ready(&self) {
        let arguments = ["--namespace", self.namespace, "wait", "cdep/tax", "--for=condition=Ready", &timeout_option()];
        self.node.kubectl(&arguments);
    }

    /// Applies the Secret of the quickstart with another token, which must cause one redeploy.
    pub(crate) fn rotate(&self, token: &str) {
        let secret = QUICKSTART.split("\n---\n").find(|document| document.contains(FIRST_TOKEN)).expect("a token");
        self.node.apply(self.namespace, &secret.replace(FIRST_TOKEN, token));
    }

    /// Waits until the dev server has received this many redeploys, and the deployment is Ready again.
    pub(crate) fn redeployed(&self, times: u64) {
        self.node.until("redeploy", |_| (self.redeploys() >= times).then_some(()));
        self.ready();
    }

    /// Number of redeploys that the dev server received.
    pub(crate) fn redeploys(&self) -> u64 {
        self.sent("updateDeployment")
    }

    /// Number of creates that the dev server received.
    pub(crate) fn creates(&self) -> u64 {
        self.sent("createDeployment")
    }

    /// Number of calls of the operations whose names have this prefix, whatever the response.
    fn sent(&self, operation: &str) -> u64 {
        let answer: Value = serde_json::from_str(&self.dev("calls")).unwrap();
        let counts: BTreeMap<String, u64> = serde_json::from_value(answer["counts"].clone()).unwrap();
        counts.iter().filter(|(name, _)| name.starts_with(operation)).map(|(_, count)| count).sum()
    }

    /// Number of deployments in the project.
    pub(crate) fn deployments(&self) -> usize {
        let answer: Value = serde_json::from_str(&self.dev("deployments")).unwrap();
        answer.as_array().expect("a list").len()
    }

    /// What the dev server reports about itself, through the proxy of the API server.
    fn dev(&self, page: &str) -> String {
        let service = format!("/api/v1/namespaces/{}/services/dev-server:http/proxy/_dev/{page}", self.namespace);
        self.node.kubectl(&["get", "--raw", &service])
    }
}
