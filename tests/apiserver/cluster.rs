//! The cluster that all tests of this binary share, with the CRDs installed, and a namespace for each test.

use local_control_plane::{Assets, LocalCluster, Options};

use crate::patience::patience;
use crate::prelude::*;
use crate::reported::is_for_its_generation;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use kube::runtime::conditions;

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
        let name = text(&subject["name"]);
        let who = match subject["kind"].as_str() {
            Some("ServiceAccount") => {
                json!({"user": format!("system:serviceaccount:{}:{name}", text(&subject["namespace"]))})
            }
            Some("Group") => json!({"groups": [name]}),
            _ => json!({"user": name}),
        };
        let reviews = Api::<SubjectAccessReview>::all(self.client.clone());
        for request in rules.iter().flatten().flat_map(requests) {
            let mut asked = json!({"metadata": {}, "spec": who});
            asked["spec"]["resourceAttributes"] = request.clone();
            asked["spec"]["resourceAttributes"]["namespace"] = json!(namespace);
            let review: SubjectAccessReview = serde_json::from_value(asked).unwrap();
            let granted =
                async { while !is_allowed(&reviews.create(&PostParams::default(), &review).await.unwrap()) {} };
            in_time(granted).await.unwrap_or_else(|_| panic!("not granted in time: {request} to {who}"));
        }
    }

    /// The objects of a kind in this namespace.
    pub(crate) fn objects<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Returns an object once it satisfies `is`.
    pub(crate) async fn until_object<K>(&self, name: &str, what: &str, is: impl Fn(&K) -> bool) -> K
    where
        K: Object + Resource<Scope = NamespaceResourceScope>,
    {
        let seen = awaited(self.objects::<K>(), name, |object: Option<&K>| object.is_some_and(&is));
        let Ok(found) = in_time(seen).await else {
            panic!("not in time: {what}\n{:#?}", self.objects::<K>().get_opt(name).await.unwrap());
        };
        found.expect("a condition on an object")
    }

    /// Returns a deployment once its Ready condition has this reason for its generation.
    pub(crate) async fn until_reason(&self, name: &str, reason: &str) -> ConnectorDeployment {
        self.until_object(name, reason, |object| is_for_its_generation(object, reason)).await
    }

    /// Deletes an object, and returns once it is gone.
    pub(crate) async fn delete<K>(&self, name: &str)
    where
        K: Object + Resource<Scope = NamespaceResourceScope>,
    {
        self.objects::<K>().delete(name, &DeleteParams::default()).await.unwrap();
        until_deleted(self.objects::<K>(), name).await;
    }

    /// Creates or replaces a Secret.
    pub(crate) async fn put_secret(&self, name: &str, data: &[(&str, &str)]) {
        let data: serde_json::Map<_, _> = data.iter().map(|(key, value)| ((*key).into(), json!(value))).collect();
        let parameters = PatchParams::apply("tester").force();
        let secret = Patch::Apply(secret(name, &data.into()));
        self.objects::<Secret>().patch(name, &parameters, &secret).await.unwrap();
    }

    /// Stores the credentials of this API client.
    pub(crate) async fn put_credentials(&self, client: &str) {
        self.put_secret(CREDENTIALS, &[("clientId", client), ("clientSecret", "dev-secret")]).await;
    }

    /// Applies a manifest of any kind with kubectl.
    pub(crate) async fn kubectl_apply(&self, manifest: &Value) {
        self.succeed(&["apply", "--filename", "-"], &manifest.to_string()).await;
    }

    /// Applies a manifest of any kind as a dry run in this namespace; unknown and duplicate fields are refused.
    pub(crate) async fn dry_run(&self, mut manifest: Value) -> Result<(), String> {
        if let Some(metadata) = manifest["metadata"].as_object_mut() {
            metadata.remove("namespace");
        }
        let arguments = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "--filename", "-"];
        let output = self.kubectl(&arguments, &manifest.to_string()).await;
        if output.status.success() { Ok(()) } else { Err(String::from_utf8(output.stderr).unwrap()) }
    }

    /// Grants these rights in this namespace to a subject of a binding, and no others.
    pub(crate) async fn grant(&self, subject: &Value, rules: &[Value]) {
        let (group, name) = ("rbac.authorization.k8s.io", &subject["name"]);
        let metadata = json!({"name": name, "namespace": self.namespace});
        let api_version = format!("{group}/v1");
        let role = json!({"apiVersion": api_version, "kind": "Role", "metadata": metadata, "rules": rules});
        let binding = json!({
            "apiVersion": api_version, "kind": "RoleBinding", "metadata": metadata, "subjects": [subject],
            "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
        });
        for manifest in [&role, &binding] {
            self.kubectl_apply(manifest).await;
        }
        self.until_granted(&binding).await;
    }

    /// Makes the API server refuse, with this message, what a rule selects in these namespaces and violates an expression.
    pub(crate) async fn forbid(&self, namespaces: &[&str], rule: &Value, expression: &str, message: &str) {
        let (api_version, name) = ("admissionregistration.k8s.io/v1", &self.namespace);
        let place = json!({"key": "kubernetes.io/metadata.name", "operator": "In", "values": namespaces});
        self.kubectl_apply(&json!({
            "apiVersion": api_version, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
            "spec": {
                "matchConstraints": {
                    "namespaceSelector": {"matchExpressions": [place]}, "resourceRules": [rule],
                },
                "validations": [{"expression": expression, "message": message}],
            },
        }))
        .await;
        self.kubectl_apply(&json!({
            "apiVersion": api_version, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        }))
        .await;
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
