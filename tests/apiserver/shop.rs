//! A namespace with a complete set-up: a dev server as the remote, an operator that watches this namespace, a
//! ConnectProject, and a ConnectorDeployment with a Secret.

use connect_operator::operator::cluster::objects::secret;
use connect_operator::operator::remote::ConnectFactory;
use connect_operator::operator::values::digest::DigestKey;

use crate::prelude::*;
use crate::reported::is_for_its_generation;
use crate::unreliable;
use connect_operator::operator::deployment::persisted::PersistedState;
use connect_operator::operator::deployment::state::shown;

/// Names that every shop uses.
pub(crate) const PROJECT: &str = "shop";
pub(crate) const CREDENTIALS: &str = "shop-credentials";
pub(crate) const NAME: &str = "tax";
pub(crate) const SECRET: &str = "tax";

pub(crate) struct Shop {
    pub(crate) sandbox: Sandbox,
    pub(crate) dev: DevServer,
    pub(crate) clock: Clock,
    /// Namespaces that the operator watches beside that of the shop, from its next start.
    pub(crate) also_watched: Vec<String>,
    /// Whether it watches all namespaces instead, from its next start.
    pub(crate) everywhere: bool,
    /// Whether it works with `ClusterConnectProject`s, from its next start.
    pub(crate) cluster_projects: bool,
    /// Value of `run --concurrency`, from its next start.
    pub(crate) concurrency: usize,
    /// The namespace of the operator's copies of credentials; all tests share it.
    pub(crate) operator_namespace: String,
    /// Which Secrets the operator may use, from its next start.
    pub(crate) secrets: secret::Policy,
    limits: Limits,
    operator: Option<Running>,
    /// The metrics of the operator that was started last.
    pub(crate) metrics: Option<Arc<Metrics>>,
    /// Its initial lists.
    pub(crate) lists: Option<Arc<InitialLists>>,
    /// Replaces the HTTP clients of remotes, from its next start.
    pub(crate) remotes: Option<Arc<dyn ConnectFactory>>,
    /// Replaces the HTTP clients of frontends, from its next start.
    pub(crate) actions: Option<Arc<dyn ActionFactory>>,
}

/// A clock that starts at the time of the machine and is ten times as fast: pauses, polls and deployments take a tenth of
/// their time. It stands still while the machine is too busy for the test, and ends with its runtime.
pub(crate) fn fast() -> Clock {
    const BEAT: Duration = Duration::from_millis(10);
    let clock = Clock::stepped(Clock::system().now());
    let stepped = clock.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(BEAT).await;
            stepped.step(10 * BEAT);
        }
    });
    clock
}

impl Shop {
    /// A shop with very short deployments, on a fast clock.
    pub(crate) async fn open() -> Self {
        Self::with(Options { deploy_duration: Duration::from_millis(200), ..Options::default() }, fast()).await
    }

    /// A shop with these options of the remote and this clock: credentials and project exist, nothing is deployed.
    pub(crate) async fn with(options: Options, clock: Clock) -> Self {
        Self::within(Limits::default(), options, clock).await
    }

    /// A shop with limits for the operator's calls.
    pub(crate) async fn within(limits: Limits, options: Options, clock: Clock) -> Self {
        let mut shop = Self { limits, ..Self::without_operator(options, clock).await };
        shop.start_operator();
        shop.put_credentials("dev-client").await;
        shop.sandbox.apply(&shop.project()).await.unwrap();
        shop
    }

    /// Stores all that a deployment names: the project with its credentials, and the Secret.
    pub(crate) async fn put_project_and_secrets(&self) {
        self.put_credentials("dev-client").await;
        self.put_token("first-token-of-the-shop").await;
        self.sandbox.apply(&self.project()).await.unwrap();
    }

    /// Stores the credentials of this API client.
    pub(crate) async fn put_credentials(&self, client: &str) {
        self.sandbox.put_credentials(client).await;
    }

    /// Stores the Secret of the deployment with this value.
    pub(crate) async fn put_token(&self, token: &str) {
        self.put_secret(SECRET, &[("token", token)]).await;
    }

    /// A remote, and an empty namespace without an operator.
    pub(crate) async fn without_operator(options: Options, clock: Clock) -> Self {
        Self::on(Sandbox::new().await, options, clock).await
    }

    /// A remote, and an existing namespace without an operator.
    pub(crate) async fn on(sandbox: Sandbox, options: Options, clock: Clock) -> Self {
        let dev = DevServer::start(options, clock.clone()).await.expect("a dev server");
        let (also_watched, operator_namespace) = (Vec::new(), "default".to_owned());
        Self {
            sandbox,
            dev,
            clock,
            also_watched,
            everywhere: false,
            cluster_projects: false,
            concurrency: 16,
            operator_namespace,
            secrets: secret::Policy::default(),
            limits: Limits::default(),
            operator: None,
            metrics: None,
            lists: None,
            remotes: None,
            actions: None,
        }
    }

    /// A shop with a live deployment.
    pub(crate) async fn live() -> Self {
        let shop = Self::open().await;
        shop.put_token("first-token-of-the-shop").await;
        shop.deploy().await;
        shop
    }

    /// Applies the deployment, and returns once it is live.
    pub(crate) async fn deploy(&self) {
        self.sandbox.apply(&self.deployment()).await.unwrap();
        self.until_reason("Deployed").await;
    }

    pub(crate) fn start_operator(&mut self) {
        self.start_operator_with_digest_key([7; 32]);
    }

    pub(crate) fn start_operator_with_digest_key(&mut self, digest_key: [u8; 32]) {
        self.start(self.sandbox.client.clone(), digest_key);
    }

    /// Starts the operator with this client.
    pub(crate) fn start_operator_as(&mut self, client: Client) {
        self.start(client, [7; 32]);
    }

    fn start(&mut self, client: Client, digest_key: [u8; 32]) {
        let watched = [&self.sandbox.namespace].into_iter().chain(&self.also_watched);
        let namespaces: Vec<_> = if self.everywhere { Vec::new() } else { watched.cloned().collect() };
        let scope = Scope::new(&namespaces, "").expect("no selector").with_cluster_projects(self.cluster_projects);
        let client = unreliable::as_slow_as_asked_for(client);
        let mut options = operators::options(client, self.clock.clone(), scope, &self.operator_namespace);
        (self.metrics, self.lists) = (Some(Arc::clone(&options.metrics)), Some(Arc::clone(&options.lists)));
        let around = ClientContext { observer: options.metrics.clone(), ..ClientContext::plain(self.clock.clone()) };
        let http = HttpFactory { limits: self.limits, ..operators::http_factories(around).0 };
        options.factory = self.remotes.clone().unwrap_or_else(|| Arc::new(http));
        options.settings.actions = self.actions.clone().unwrap_or(options.settings.actions);
        options.settings.secrets = self.secrets.clone();
        options.settings.digest_key = DigestKey::new(digest_key);
        options.concurrency = self.concurrency;
        self.operator = Some(Running::start(options));
    }

    /// Stops the operator in an orderly way.
    pub(crate) async fn stop_operator(&mut self) {
        self.operator.take().expect("an operator runs").stop().await;
    }

    pub(crate) fn project(&self) -> Value {
        json!({
            "apiVersion": "connect-operator.io/v1alpha1",
            "kind": "ConnectProject",
            "metadata": {"name": PROJECT},
            "spec": {
                "projectKey": "demo",
                "region": "europe-west1.gcp",
                "apiUrl": self.dev.url(),
                "authUrl": self.dev.url(),
                "httpApi": {"url": self.dev.url()},
                "credentialsSecretRef": {"name": CREDENTIALS},
                "requestsPerSecond": 1000,
            },
        })
    }

    #[allow(clippy::unused_self, reason = "called like `project`")]
    pub(crate) fn deployment(&self) -> Value {
        json!({
            "apiVersion": "connect-operator.io/v1alpha1",
            "kind": "ConnectorDeployment",
            "metadata": {"name": NAME},
            "spec": {
                "projectRef": {"name": PROJECT},
                "connector": {"key": "demo-connector"},
                "configurations": [{
                    "applicationName": "service",
                    "standardConfiguration": [{"key": "LOG_LEVEL", "value": "info"}],
                    "securedConfiguration": [
                        {"key": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "token"}}},
                    ],
                }],
            },
        })
    }

    /// The objects of a kind in this namespace.
    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        self.sandbox.objects()
    }

    /// Changes an object as a user does.
    pub(crate) async fn patch<K>(&self, name: &str, change: &Value) -> K
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
    {
        self.api::<K>().patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap()
    }

    pub(crate) async fn get(&self) -> ConnectorDeployment {
        self.api::<ConnectorDeployment>().get(NAME).await.expect("the resource exists")
    }

    /// Kills the operator at an arbitrary point.
    pub(crate) async fn kill_operator(&mut self) {
        self.operator.take().expect("an operator runs").kill().await;
    }

    /// Notes of the Events with this reason, in the order of their first reports.
    pub(crate) async fn events(&self, reason: &str) -> Vec<String> {
        let events = self.api::<Event>().list(&ListParams::default()).await.unwrap().items;
        let mut events: Vec<_> = events.into_iter().filter(|event| event.reason.as_deref() == Some(reason)).collect();
        events.sort_by_key(|event| event.event_time.clone());
        events.into_iter().filter_map(|event| event.note).collect()
    }

    /// Returns once an Event with this reason exists; it is written after the status that it reports.
    pub(crate) async fn until_event(&self, reason: &str) {
        self.until_events(reason, 1).await;
    }

    /// Returns once this many Events with this reason exist.
    pub(crate) async fn until_events(&self, reason: &str, times: usize) {
        until(&format!("Event {reason}"), async || self.events(reason).await.len() >= times).await;
    }

    /// Creates or replaces a Secret.
    pub(crate) async fn put_secret(&self, name: &str, data: &[(&str, &str)]) {
        self.sandbox.put_secret(name, data).await;
    }

    /// Deletes the project although it is used, as when a user removes its finalizer.
    pub(crate) async fn tear_out_project(&self) {
        self.api::<ConnectProject>().delete(PROJECT, &DeleteParams::default()).await.unwrap();
        let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        match self.api::<ConnectProject>().patch(PROJECT, &PatchParams::default(), &none).await {
            // Nothing used it, and it is deleted already.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            answer => {
                answer.unwrap();
            }
        }
    }

    /// Creates a ConfigMap.
    pub(crate) async fn put_config_map(&self, name: &str, data: &[(&str, &str)]) {
        let config_map = ConfigMap {
            metadata: kube::api::ObjectMeta { name: Some(name.into()), ..Default::default() },
            data: Some(data.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()),
            ..ConfigMap::default()
        };
        self.api::<ConfigMap>().create(&PostParams::default(), &config_map).await.unwrap();
    }

    /// Merges a change into the deployment, as `kubectl patch` does.
    pub(crate) async fn change(&self, change: &Value) {
        self.sandbox.change(&self.deployment(), change).await.unwrap();
    }

    pub(crate) async fn annotate(&self, name: &str, value: &str) {
        self.change(&json!({"metadata": {"annotations": {name: value}}})).await;
    }

    pub(crate) async fn delete(&self) {
        self.api::<ConnectorDeployment>().delete(NAME, &DeleteParams::default()).await.unwrap();
    }

    /// Deletes the deployment, and returns once it is gone.
    pub(crate) async fn delete_wholly(&self) {
        self.delete().await;
        self.until_gone().await;
    }

    /// Returns the deployment once its Ready condition has this reason for its generation.
    pub(crate) async fn until_reason(&self, reason: &str) -> ConnectorDeployment {
        self.until_reason_of(NAME, reason).await
    }

    /// Applies a manifest, and returns the deployment once it reports this reason.
    pub(crate) async fn apply_until(&self, manifest: &Value, reason: &str) -> ConnectorDeployment {
        self.sandbox.apply(manifest).await.unwrap();
        self.until_reason(reason).await
    }

    /// Merges a change into the deployment, and returns it once it reports this reason.
    pub(crate) async fn change_until(&self, change: &Value, reason: &str) -> ConnectorDeployment {
        self.change(change).await;
        self.until_reason(reason).await
    }

    /// Returns an object once its Ready condition has this reason for its generation.
    pub(crate) async fn until_reason_of<K>(&self, name: &str, reason: &str) -> K
    where
        K: Object + Resource<Scope = NamespaceResourceScope> + Serialize,
    {
        self.until_object(name, reason, |object: &K| is_for_its_generation(object, reason)).await
    }

    /// Returns the deployment once it satisfies `is`.
    pub(crate) async fn until(&self, what: &str, is: impl Fn(&ConnectorDeployment) -> bool) -> ConnectorDeployment {
        self.until_object(NAME, what, is).await
    }

    pub(crate) async fn until_project(&self, what: &str, is: impl Fn(&ConnectProject) -> bool) -> ConnectProject {
        self.until_object(PROJECT, what, is).await
    }

    /// Returns once the operator has found that it can use the project. An object has a status before anybody has seen it.
    pub(crate) async fn until_available(&self) {
        self.until_project("available", |project| reason(project) == "Available").await;
    }

    /// Returns an object once it satisfies `is`.
    pub(crate) async fn until_object<K>(&self, name: &str, what: &str, is: impl Fn(&K) -> bool) -> K
    where
        K: Object + Resource<Scope = NamespaceResourceScope>,
    {
        let seen = awaited(self.api::<K>(), name, |object: Option<&K>| object.is_some_and(&is));
        let Ok(found) = in_time(seen).await else {
            let object = self.api::<K>().get_opt(name).await.unwrap();
            panic!("not in time: {what}\n{object:#?}\ncalls: {:?}", self.dev.counts());
        };
        found.expect("a condition on an object")
    }

    /// Returns once the deployment is deleted from the cluster.
    pub(crate) async fn until_gone(&self) {
        let gone =
            awaited(self.api::<ConnectorDeployment>(), NAME, |object: Option<&ConnectorDeployment>| object.is_none());
        let is_gone = in_time(gone).await.is_ok();
        assert!(is_gone, "still exists: {:#?}\ncalls: {:?}", self.get().await, self.dev.counts());
    }

    /// Stops the operator in an orderly way, and starts it again.
    pub(crate) async fn restart_operator(&mut self) {
        self.stop_operator().await;
        self.start_operator();
    }

    /// Kills the operator at an arbitrary point, and starts it again.
    pub(crate) async fn revive_operator(&mut self) {
        self.kill_operator().await;
        self.start_operator();
    }

    /// The deployment with this log level.
    pub(crate) fn with_level(&self, level: &str) -> Value {
        let mut manifest = self.deployment();
        manifest["spec"]["configurations"][0]["standardConfiguration"][0]["value"] = json!(level);
        manifest
    }
}

/// The state of the operator in the status of an object.
pub(crate) fn state(object: &ConnectorDeployment) -> PersistedState {
    object.status.as_ref().map(shown).unwrap_or_default()
}
