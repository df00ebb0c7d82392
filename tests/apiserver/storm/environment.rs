//! A namespace with a project, a remote of its own that also has foreign deployments, and what users do there.

use std::fmt::Debug;

use kube::api::Preconditions;
use local_control_plane::LocalCluster;

use crate::at_the_remote::make_elsewhere;
use crate::cluster;
use crate::prelude::*;
use crate::storm::operator::Start;
use crate::storm::requested::{APPLICATION, PLAIN, RequestedChanges, SECURED, plain, token};
use crate::storm::watched::Watched;

/// Number of foreign deployments under their own keys, and under keys of the operator's resources.
const STRANGERS: usize = 5;
const TAKEN: usize = 2;

/// Names of the project and of the credentials.
const PROJECT: &str = "shop";
const CREDENTIALS: &str = "shop-credentials";

pub(crate) struct Environment {
    /// Name of the part, and of the namespace.
    pub(crate) part: &'static str,
    pub(crate) client: Client,
    pub(crate) dev: DevServer,
    /// Ids of the foreign deployments.
    pub(crate) strangers: Vec<String>,
    pub(crate) requested: RequestedChanges,
    pub(crate) watched: Watched,
    pub(crate) began: Instant,
    cluster: Arc<LocalCluster>,
    folder: TempDir,
}

impl Environment {
    /// Creates an environment in the shared cluster, with project and credentials only.
    pub(crate) async fn open(part: &'static str, options: Options) -> Self {
        crate::storm::print(&format!("{part}: STORM_SEED={}", size::seed()));
        let options = Options { seed: Some(size::seed()), ..options };
        let dev = DevServer::start(options, Clock::system()).await.expect("a dev server");
        let cluster = cluster::shared().await.local.clone();
        let client = cluster.client().unwrap();
        cluster::make_namespace(&client, named(part)).await;
        cluster::make_namespace(&client, named(&home(part))).await;
        let watched = Watched::start(client.clone(), part);
        let mut env = Self {
            part,
            client,
            dev,
            strangers: Vec::new(),
            requested: RequestedChanges::default(),
            watched,
            began: Instant::now(),
            cluster,
            folder: tempfile::tempdir().unwrap(),
        };
        env.put_secret(CREDENTIALS, &json!({"clientId": "dev-client", "clientSecret": "dev-secret"})).await;
        apply::<ConnectProject>(&env.api(), PROJECT, &env.project()).await;
        env.strangers = (0..STRANGERS).map(|number| env.stranger(&format!("stranger-{number}"))).collect();
        env
    }

    fn project(&self) -> Value {
        let url = self.dev.url();
        json!({
            "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectProject", "metadata": {"name": PROJECT},
            "spec": {"projectKey": "demo", "region": "europe-west1.gcp", "apiUrl": url, "authUrl": url,
                "credentialsSecretRef": {"name": CREDENTIALS}, "requestsPerSecond": 1000},
        })
    }

    /// Returns the namespace of the operator's own objects.
    pub(crate) fn home(&self) -> String {
        home(self.part)
    }

    /// Returns how an operator of this environment is started.
    pub(crate) fn operator(&self) -> Start {
        let kubeconfig = self.cluster.kubeconfig_path();
        Start {
            kubeconfig,
            namespace: self.part.to_owned(),
            home: self.home(),
            log: self.log(),
            elects: false,
            clock: None,
            arguments: Vec::new(),
        }
    }

    /// Returns the same for one of several replicas, with a log of its own.
    pub(crate) fn replica(&self, name: &str) -> Start {
        let log = self.folder.path().join(format!("{name}.log"));
        Start { log, elects: true, ..self.operator() }
    }

    /// Returns the log of all operators of this environment that are no replicas.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("operator.log")
    }

    /// Returns the logs of all operators of this environment, in order.
    pub(crate) fn logs(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        let mut logs: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        logs.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
        logs.sort();
        logs
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), self.part)
    }

    async fn put_secret(&self, name: &str, data: &Value) -> Secret {
        apply(&self.api(), name, &secret(name, data)).await
    }

    /// Creates a foreign deployment with this key.
    fn stranger(&self, key: &str) -> String {
        self.deploy(key, "of-a-stranger", "a-token-of-a-stranger")
    }

    /// Creates a live deployment without the operator. Returns its id.
    pub(crate) fn deploy(&self, key: &str, plain: &str, token: &str) -> String {
        make_elsewhere(&self.dev, key, (PLAIN, plain), token)
    }

    /// Creates resources whose keys foreign deployments have: the operator must not change those.
    pub(crate) async fn create_taken(&mut self) {
        for number in 0..TAKEN {
            let name = format!("taken-{number}");
            let id = self.stranger(&self.key(&name));
            self.strangers.push(id);
            self.requested.note(&name, |asked| asked.taken = true);
            self.create(&name).await;
        }
    }

    /// Returns the remote key of a resource.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}_{name}", self.part)
    }

    /// Creates a resource with a new Secret, possibly under a name that was used before.
    pub(crate) async fn create(&self, name: &str) {
        self.rotate(name).await;
        self.requested.note(name, |asked| (asked.made, asked.wanted) = (asked.made + 1, true));
        self.edit(name).await;
    }

    /// Changes the Secret of a resource.
    pub(crate) async fn rotate(&self, name: &str) {
        let number = self.requested.note(name, |asked| {
            asked.now.token += 1;
            asked.now.token
        });
        let secret = self.put_secret(name, &json!({"token": token(name, number)})).await;
        let version = (secret.uid().unwrap_or_default(), secret.resource_version().unwrap_or_default());
        self.requested.note(name, |asked| {
            asked.secrets.insert(version.clone(), number);
            asked.secret = Some(version);
        });
    }

    /// Changes a plain value of a resource.
    pub(crate) async fn edit(&self, name: &str) {
        let number = self.requested.note(name, |asked| {
            asked.now.plain += 1;
            asked.now.plain
        });
        let secured = json!({"key": SECURED, "valueFrom": {"secretKeyRef": {"name": name, "key": "token"}}});
        let manifest = json!({
            "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorDeployment", "metadata": {"name": name},
            "spec": {"projectRef": {"name": PROJECT}, "connector": {"key": "demo-connector"}, "interval": "30s",
                "configurations": [{"applicationName": APPLICATION,
                    "standardConfiguration": [{"key": PLAIN, "value": plain(number)}],
                    "securedConfiguration": [secured]}]},
        });
        let object = apply::<ConnectorDeployment>(&self.api(), name, &manifest).await;
        let written = (object.uid().unwrap_or_default(), object.metadata.generation.unwrap_or_default());
        self.requested.note(name, |asked| {
            asked.generations.insert(written.clone(), number);
            asked.written = Some(written);
        });
    }

    /// Deletes a resource as it is now. Without the precondition the API server may delete an object although it has just
    /// got a finalizer: it does not look again after its DELETE has read the object.
    pub(crate) async fn delete(&self, name: &str) {
        self.requested.note(name, |asked| asked.wanted = false);
        let api = self.api::<ConnectorDeployment>();
        loop {
            let resource_version = api.get(name).await.expect("the resource exists").resource_version();
            let preconditions = Some(Preconditions { resource_version, uid: None });
            match api.delete(name, &DeleteParams { preconditions, ..DeleteParams::default() }).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                answer => {
                    answer.expect("the resource exists");
                    return;
                }
            }
        }
    }

    /// Whether everything became as requested, and nothing else exists, in time.
    pub(crate) async fn settle(&self) -> bool {
        let asked = self.requested.all();
        self.watched
            .until(|latest| {
                asked.iter().all(|(name, asked)| {
                    latest.get(name).map_or(!asked.wanted, |object| asked.wanted && asked.is_met_by(object))
                })
            })
            .await
    }

    /// Requests a reconcile of every resource, and returns once all are handled and settled. Reconciles of one resource
    /// are sequential, so what an operator does by itself at its start is known by then: a redeploy that it wants makes
    /// the resource not Ready from the reconcile that plans it.
    ///
    /// # Panics
    /// If that does not happen in time.
    pub(crate) async fn reconcile_all(&self) {
        static REQUESTS: AtomicU64 = AtomicU64::new(0);
        let request = format!("reconcile-{}", REQUESTS.fetch_add(1, Ordering::Relaxed));
        let names = self.requested.wanted();
        let note = Patch::Merge(json!({"metadata": {"annotations": {names::RECONCILE_REQUESTED_AT: request}}}));
        for name in &names {
            self.api::<ConnectorDeployment>().patch(name, &PatchParams::default(), &note).await.expect("it exists");
        }
        let asked = self.requested.all();
        let reconciled = self.watched.until(|latest| {
            names.iter().all(|name| {
                latest.get(name).is_some_and(|object| {
                    let handled = object.status.as_ref().and_then(|it| it.handled_reconcile_request.as_ref());
                    handled == Some(&request) && asked[name].is_met_by(object)
                })
            })
        });
        assert!(reconciled.await, "{}: an operator reconciles everything and finds it as requested", self.part);
    }

    /// Deletes everything, and waits until nothing exists any more.
    pub(crate) async fn clear(&self) {
        for name in self.requested.wanted() {
            self.delete(&name).await;
        }
        self.settle().await;
    }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

fn home(part: &str) -> String {
    format!("{part}-operator")
}

/// Applies a manifest as a user does.
async fn apply<K: Clone + Debug + DeserializeOwned>(api: &Api<K>, name: &str, manifest: &Value) -> K {
    let parameters = PatchParams::apply("storm").force();
    api.patch(name, &parameters, &Patch::Apply(manifest)).await.expect("the API server accepts it")
}
