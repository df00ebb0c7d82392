//! A namespace with a project, a remote of its own that also holds deployments of strangers, and what people do there.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clock::Clock;
use connect_api::model::DeploymentDraft;
use connect_operator::crd::{ConnectProject, ConnectorDeployment};
use connect_operator::names;
use dev_server::{DevServer, Options};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use local_control_plane::LocalCluster;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster;
use crate::ledger::{APPLICATION, Ledger, PLAIN, SECURED, plain, token};
use crate::operator::Start;
use crate::size;
use crate::watched::Watched;

/// Deployments of strangers under keys of their own, and under keys of resources of ours.
const STRANGERS: usize = 5;
const TAKEN: usize = 2;

/// The Secret with the key of the digests, as the operator calls it by itself.
pub(crate) const DIGEST_KEY: &str = "connect-operator-digest-key";

/// Project and credentials.
pub(crate) const PROJECT: &str = "shop";
const CREDENTIALS: &str = "shop-credentials";

pub(crate) struct Place {
    /// Name of the part, and of the namespace.
    pub(crate) part: &'static str,
    pub(crate) client: Client,
    pub(crate) dev: Arc<DevServer>,
    /// Ids of what is not ours.
    pub(crate) strangers: Vec<String>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) watched: Watched,
    pub(crate) began: Instant,
    cluster: Arc<LocalCluster>,
    folder: Arc<TempDir>,
}

impl Place {
    /// A place in the shared cluster, with project and credentials, and nothing else of ours.
    pub(crate) async fn open(part: &'static str, options: Options) -> Self {
        Self::open_in(cluster::shared().await, part, options).await
    }

    pub(crate) async fn open_in(cluster: Arc<LocalCluster>, part: &'static str, options: Options) -> Self {
        crate::say(&format!("{part}: STORM_SEED={}", size::seed()));
        let options = Options { seed: Some(size::seed()), ..options };
        let dev = Arc::new(DevServer::start(options, Clock::system()).await.expect("a dev server"));
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let mut place = Self::with(cluster, part, dev, Arc::default(), folder).await;
        place.strangers = (0..STRANGERS).map(|number| place.stranger(&format!("stranger-{number}"))).collect();
        place
    }

    async fn with(
        cluster: Arc<LocalCluster>,
        part: &'static str,
        dev: Arc<DevServer>,
        ledger: Arc<Ledger>,
        folder: Arc<TempDir>,
    ) -> Self {
        let client = cluster.client().unwrap();
        cluster::make_namespace(&client, part).await;
        cluster::make_namespace(&client, &home(part)).await;
        let watched = Watched::start(client.clone(), part);
        let place =
            Self { part, client, dev, strangers: Vec::new(), ledger, watched, began: Instant::now(), cluster, folder };
        place.put_secret(CREDENTIALS, json!({"clientId": "dev-client", "clientSecret": "dev-secret"})).await;
        let url = place.dev.url();
        let project = json!({
            "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectProject", "metadata": {"name": PROJECT},
            "spec": {"projectKey": "demo", "region": "europe-west1.gcp", "apiUrl": url, "authUrl": url,
                "credentialsSecretRef": {"name": CREDENTIALS}, "requestsPerSecond": 1000},
        });
        place.apply::<ConnectProject>(PROJECT, project).await;
        place
    }

    /// The same namespace and the same remote, with nothing in it, in another cluster.
    pub(crate) async fn anew_in(&self, cluster: Arc<LocalCluster>) -> Self {
        let (dev, ledger) = (self.dev.clone(), self.ledger.clone());
        let place = Self::with(cluster, self.part, dev, ledger, self.folder.clone()).await;
        Self { strangers: self.strangers.clone(), began: self.began, ..place }
    }

    /// Where the operator keeps what is its own.
    pub(crate) fn home(&self) -> String {
        home(self.part)
    }

    /// How an operator of this place is started.
    pub(crate) fn operator(&self) -> Start {
        let kubeconfig = self.cluster.kubeconfig_path();
        Start {
            kubeconfig,
            namespace: self.part.to_owned(),
            home: self.home(),
            log: self.log(),
            elects: false,
            clock: None,
        }
    }

    /// The same for one of several replicas, with a log of its own.
    pub(crate) fn replica(&self, name: &str) -> Start {
        let log = self.folder.path().join(format!("{name}.log"));
        Start { log, elects: true, ..self.operator() }
    }

    /// What all operators of this place write.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("operator.log")
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), self.part)
    }

    async fn apply<K>(&self, name: &str, manifest: Value) -> K
    where
        K: Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned,
    {
        let parameters = PatchParams::apply("storm").force();
        self.api::<K>().patch(name, &parameters, &Patch::Apply(manifest)).await.expect("the API server takes it")
    }

    pub(crate) async fn put_secret(&self, name: &str, data: Value) -> Secret {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
        self.apply(name, secret).await
    }

    /// A deployment of somebody else, with this key.
    fn stranger(&self, key: &str) -> String {
        self.deploy(key, "of-a-stranger", "a-token-of-a-stranger")
    }

    /// A deployment that was made without the operator and is live. Returns its id.
    pub(crate) fn deploy(&self, key: &str, plain: &str, token: &str) -> String {
        let draft: DeploymentDraft = serde_json::from_value(json!({
            "key": key, "type": "sandbox", "connector": {"key": "demo-connector"}, "region": "europe-west1.gcp",
            "configurations": [{"applicationName": APPLICATION,
                "standardConfiguration": [{"key": PLAIN, "value": plain}],
                "securedConfiguration": [{"key": SECURED, "value": token}]}],
        }))
        .unwrap();
        let now = self.dev.now();
        let mut world = self.dev.world();
        let id = world.create("demo", &draft, true, now).expect("the key is free").id;
        world.finish(&id, now).unwrap();
        id
    }

    /// Resources whose keys strangers have: they must never touch what they find there.
    pub(crate) async fn create_taken(&mut self) {
        for number in 0..TAKEN {
            let name = format!("taken-{number}");
            let id = self.stranger(&self.key(&name));
            self.strangers.push(id);
            self.ledger.note(&name, |asked| asked.taken = true);
            self.create(&name).await;
        }
    }

    /// The remote key of a resource.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}_{name}", self.part)
    }

    /// A new resource with a new Secret, or another one of a name that was used before.
    pub(crate) async fn create(&self, name: &str) {
        self.rotate(name).await;
        self.ledger.note(name, |asked| (asked.made, asked.wanted) = (asked.made + 1, true));
        self.edit(name).await;
    }

    /// Changes the Secret of a resource.
    pub(crate) async fn rotate(&self, name: &str) {
        let number = self.ledger.note(name, |asked| {
            asked.now.token += 1;
            asked.now.token
        });
        let secret = self.put_secret(name, json!({"token": token(name, number)})).await;
        self.remember_secret(name, &secret, number);
    }

    /// Takes note that this Secret has this value.
    pub(crate) fn remember_secret(&self, name: &str, secret: &Secret, number: u32) {
        let version = (secret.uid().unwrap_or_default(), secret.resource_version().unwrap_or_default());
        self.ledger.note(name, |asked| {
            asked.secrets.insert(version.clone(), number);
            asked.secret = Some(version);
        });
    }

    /// Changes a plain value of a resource.
    pub(crate) async fn edit(&self, name: &str) {
        let number = self.ledger.note(name, |asked| {
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
        let object = self.apply::<ConnectorDeployment>(name, manifest).await;
        self.remember(name, &object, number);
    }

    /// Takes note that this version of a resource asks for this value.
    pub(crate) fn remember(&self, name: &str, object: &ConnectorDeployment, number: u32) {
        let written = (object.uid().unwrap_or_default(), object.metadata.generation.unwrap_or_default());
        self.ledger.note(name, |asked| {
            asked.generations.insert(written.clone(), number);
            asked.written = Some(written);
        });
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.ledger.note(name, |asked| asked.wanted = false);
        self.api::<ConnectorDeployment>().delete(name, &DeleteParams::default()).await.expect("it was there");
    }

    /// Whether everything came to be as it was asked for, and nothing else is there, in time.
    pub(crate) async fn settle(&self) -> bool {
        let asked = self.ledger.all();
        self.watched
            .until(|latest| {
                asked.iter().all(|(name, asked)| {
                    latest.get(name).map_or(!asked.wanted, |object| asked.wanted && asked.is_met_by(object))
                })
            })
            .await
    }

    /// Has the operator look at everything that is to be there, and returns once it has, and all is at rest. Runs of one
    /// resource come one after the other, so what an operator does by itself when it starts is known by then: a redeploy
    /// that it wants shows as not Ready from the run that plans it.
    ///
    /// # Panics
    /// If it does not come to that in time.
    pub(crate) async fn look_again(&self) {
        static LOOKS: AtomicU64 = AtomicU64::new(0);
        let request = format!("look-{}", LOOKS.fetch_add(1, Ordering::Relaxed));
        let names = self.ledger.wanted();
        let note = Patch::Merge(json!({"metadata": {"annotations": {names::RECONCILE_REQUESTED_AT: request}}}));
        for name in &names {
            self.api::<ConnectorDeployment>().patch(name, &PatchParams::default(), &note).await.expect("it is there");
        }
        let asked = self.ledger.all();
        let looked = self.watched.until(|latest| {
            names.iter().all(|name| {
                latest.get(name).is_some_and(|object| {
                    let handled = object.status.as_ref().and_then(|it| it.handled_reconcile_request.as_ref());
                    handled == Some(&request) && asked[name].is_met_by(object)
                })
            })
        });
        assert!(looked.await, "{}: an operator looks at everything and finds it as it is to be", self.part);
    }

    /// Deletes everything that is there and waits until it is gone.
    pub(crate) async fn clear(&self) {
        for name in self.ledger.wanted() {
            self.delete(&name).await;
        }
        self.settle().await;
    }
}

fn home(part: &str) -> String {
    format!("{part}-operator")
}
