//! The cluster that all tests of this binary share, with the CRDs installed, and a namespace for each test.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;

use local_control_plane::{Assets, LocalCluster, Options};

use crate::patience::{in_time, patience};
use crate::reported;
use crate::watching::awaited;
use connect_operator::crd::{self, ConnectorDeployment};
use connect_operator::names;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::conditions;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::OnceCell;

/// The shared cluster.
pub(crate) struct Cluster {
    pub(crate) local: Arc<LocalCluster>,
    kubectl: PathBuf,
}

/// Starts the cluster for the first test that needs it; it ends with this process.
pub(crate) async fn shared() -> &'static Cluster {
    static SHARED: OnceCell<Cluster> = OnceCell::const_new();
    SHARED.get_or_init(|| start(crd::all())).await
}

async fn start(definitions: Vec<CustomResourceDefinition>) -> Cluster {
    let assets = Assets::find_or_build(|step| eprintln!("{step}")).await.expect("etcd, kube-apiserver and kubectl");
    let kubectl = assets.kubectl.clone();
    let options = Options::new(assets);
    let local = LocalCluster::start(options).await.expect("a local cluster");
    install(&local.client().unwrap(), definitions).await;
    Cluster { local: Arc::new(local), kubectl }
}

async fn install(client: &Client, definitions: Vec<CustomResourceDefinition>) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for crd in definitions {
        let name = crd.name_any();
        let installed = PatchParams::apply(names::FIELD_MANAGER);
        api.patch(&name, &installed, &Patch::Apply(&crd)).await.expect("the API server accepts the CRD");
        awaited(api.clone(), &name, conditions::is_crd_established()).await;
    }
}

/// Creates a namespace. Returns its name.
pub(crate) async fn make_namespace(client: &Client, metadata: ObjectMeta) -> String {
    let namespace = Namespace { metadata, ..Namespace::default() };
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap().name_any()
}

/// A namespace for one test.
#[derive(Clone)]
pub(crate) struct Sandbox {
    cluster: &'static Cluster,
    /// The administrator, on the runtime of this test.
    pub(crate) client: Client,
    /// Its name.
    pub(crate) namespace: String,
}

impl Sandbox {
    /// Creates a namespace in the shared cluster.
    pub(crate) async fn new() -> Self {
        Self::of(shared().await).await
    }

    /// Creates a namespace in a new cluster with these CRDs, which ends with this process.
    pub(crate) async fn with_definitions(definitions: Vec<CustomResourceDefinition>) -> Self {
        Self::of(Box::leak(Box::new(start(definitions).await))).await
    }

    /// Creates another namespace in the same cluster.
    pub(crate) async fn another(&self) -> Self {
        Self::of(self.cluster).await
    }

    /// Installs other CRDs in the cluster of the sandbox.
    pub(crate) async fn install(&self, definitions: Vec<CustomResourceDefinition>) {
        install(&self.client, definitions).await;
    }

    async fn of(cluster: &'static Cluster) -> Self {
        let client = cluster.local.client().unwrap();
        let any_name = ObjectMeta { generate_name: Some("test-".to_owned()), ..ObjectMeta::default() };
        let namespace = make_namespace(&client, any_name).await;
        Self { cluster, client, namespace }
    }

    /// Returns the API of the kind of `manifest`.
    pub(crate) fn api(&self, manifest: &Value) -> Api<DynamicObject> {
        let kind = manifest["kind"].as_str().expect("a manifest has a kind");
        let ours = crd::resources().into_iter().find(|resource| resource.kind == kind);
        let resource = ours.expect("a kind of the operator");
        if kind == "ClusterConnectProject" {
            return Api::all_with(self.client.clone(), &resource);
        }
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    /// Applies `manifest` as `manager`, as `kubectl apply --server-side` does; unknown fields are refused.
    pub(crate) async fn apply_as(&self, manager: &str, manifest: &Value) -> Result<DynamicObject, String> {
        let name = manifest["metadata"]["name"].as_str().expect("a manifest has a name");
        let strict = PatchParams::apply(manager).validation_strict();
        self.api(manifest).patch(name, &strict, &Patch::Apply(manifest)).await.map_err(message)
    }

    /// Applies `manifest`; the error is the message of the API server.
    pub(crate) async fn apply(&self, manifest: &Value) -> Result<DynamicObject, String> {
        self.apply_as("tester", manifest).await
    }

    /// Creates `manifest`; the error is the message of the API server.
    pub(crate) async fn create(&self, manifest: &Value) -> Result<DynamicObject, String> {
        let object: DynamicObject = serde_json::from_value(manifest.clone()).expect("an object");
        self.api(manifest).create(&PostParams::default(), &object).await.map_err(message)
    }

    /// Merges `status` into the status of the object that `manifest` names.
    pub(crate) async fn set_status(&self, manifest: &Value, status: &Value) -> Result<DynamicObject, String> {
        let name = manifest["metadata"]["name"].as_str().expect("a manifest has a name");
        let patch = Patch::Merge(json!({"status": status}));
        self.api(manifest).patch_status(name, &PatchParams::default(), &patch).await.map_err(message)
    }

    /// Merges `change` into the object that `manifest` names, as a user with `kubectl edit` does.
    pub(crate) async fn change(&self, manifest: &Value, change: &Value) -> Result<DynamicObject, String> {
        let name = manifest["metadata"]["name"].as_str().expect("a manifest has a name");
        let strict = PatchParams::default().validation_strict();
        self.api(manifest).patch(name, &strict, &Patch::Merge(change)).await.map_err(message)
    }

    /// The kubeconfig of the cluster, for other processes.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.cluster.local.kubeconfig_path()
    }

    /// Path of kubectl.
    pub(crate) fn kubectl_program(&self) -> &'static Path {
        &self.cluster.kubectl
    }

    /// Returns the output of kubectl, which must succeed.
    pub(crate) async fn succeed(&self, arguments: &[&str], input: &str) -> String {
        let output = self.kubectl(arguments, input).await;
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns once the API server grants what a binding binds: it learns of roles and bindings through watches of its
    /// own, a moment after it has stored them.
    pub(crate) async fn until_granted(&self, binding: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (namespace, role) = (text(&binding["metadata"]["namespace"]), text(&binding["roleRef"]["name"]));
        let rules = if binding["roleRef"]["kind"] == "Role" {
            Api::<Role>::namespaced(self.client.clone(), &namespace).get(&role).await.unwrap().rules
        } else {
            Api::<ClusterRole>::all(self.client.clone()).get(&role).await.unwrap().rules
        };
        let subject = &binding["subjects"][0];
        let mut user = text(&subject["name"]);
        if subject["kind"] == "ServiceAccount" {
            user = format!("system:serviceaccount:{}:{user}", text(&subject["namespace"]));
        }
        let reviews = Api::<SubjectAccessReview>::all(self.client.clone());
        for request in rules.iter().flatten().flat_map(requests) {
            let mut asked = json!({"metadata": {}, "spec": {"user": user, "resourceAttributes": request}});
            asked["spec"]["resourceAttributes"]["namespace"] = json!(namespace);
            let review: SubjectAccessReview = serde_json::from_value(asked).unwrap();
            let granted =
                async { while !is_allowed(&reviews.create(&PostParams::default(), &review).await.unwrap()) {} };
            in_time(granted).await.unwrap_or_else(|_| panic!("not granted in time: {request} to {user}"));
        }
    }

    /// Returns once the Ready condition of a deployment in this namespace has this reason.
    pub(crate) async fn until_reason(&self, name: &str, reason: &str) {
        let api = Api::<ConnectorDeployment>::namespaced(self.client.clone(), &self.namespace);
        let is = |object: Option<&ConnectorDeployment>| object.is_some_and(|object| reported::reason(object) == reason);
        let seen = in_time(awaited(api.clone(), name, is)).await;
        assert!(seen.is_ok(), "not in time: {reason}\n{:#?}", api.get_opt(name).await);
    }

    /// Runs kubectl as the administrator in this namespace, with `input` as its standard input.
    pub(crate) async fn kubectl(&self, arguments: &[&str], input: &str) -> Output {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), input).unwrap();
        Command::new(&self.cluster.kubectl)
            .arg("--kubeconfig")
            .arg(self.cluster.local.kubeconfig_path())
            .args(["--namespace", &self.namespace, "--request-timeout", &format!("{}s", patience().as_secs())])
            .args(arguments)
            .stdin(std::fs::File::open(file.path()).unwrap())
            .kill_on_drop(true)
            .output()
            .await
            .expect("kubectl runs")
    }
}

/// One request for each combination that a rule permits, as the attributes of a review.
fn requests(rule: &PolicyRule) -> Vec<Value> {
    let list = |words: &Option<Vec<String>>| words.clone().unwrap_or_default();
    let name = rule.resource_names.iter().flatten().next();
    let mut requests = Vec::new();
    for group in list(&rule.api_groups) {
        for resource in list(&rule.resources) {
            let (resource, part) = resource.split_once('/').unwrap_or((&resource, ""));
            for verb in &rule.verbs {
                requests.push(json!({
                    "group": group, "resource": resource, "subresource": part, "verb": verb, "name": name,
                }));
            }
        }
    }
    requests
}

fn is_allowed(review: &SubjectAccessReview) -> bool {
    review.status.as_ref().is_some_and(|status| status.allowed)
}

/// The message that the API server returns to users.
fn message(error: kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message,
        error => panic!("not a response of the API server: {error}"),
    }
}
