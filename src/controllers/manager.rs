//! Starts the controllers: what is watched, and what each event wakes.
//!
//! Specs, Secrets, ConfigMaps and projects wake just those that use them. Of Secrets and ConfigMaps only the names are
//! watched; nothing of them is kept here.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt::Debug;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use futures::stream::{BoxStream, Stream, StreamExt};
use futures::{TryStreamExt, future};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::{NamespaceResourceScope, PartialObjectMeta};
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::events::Recorder;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{PredicateConfig, WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use super::alarms::Alarms;
use super::connect_project::copy::{self, Copies};
use super::connector_deployment::memory::Memories;
use super::context::{Context, Projects};
use super::digest::DigestKey;
use super::keys::Keys;
use super::references::{Named, References};
use super::remote::{ConnectFactory, Remotes};
use super::subject::{Kind, Subject};
use super::{connect_project, connector_deployment};
use crate::clock::Clock;
use crate::crd::{ConnectProject, ConnectorDeployment};
use crate::names;

/// Secrets that never hold values of ours: service account tokens and Helm releases.
const SECRETS_OF_INTEREST: &str = "type!=kubernetes.io/service-account-token,type!=helm.sh/release.v1";

/// Runs at once of all remote projects together, so that a thousand resources that change at the same time need no memory
/// for a thousand runs. Most wait for the cluster; of one remote project only [`Options::concurrency`] get further, so a
/// slow one does not hold up the others.
const RUNS_AT_ONCE: u16 = 128;

/// What the controllers are started with.
pub struct Options {
    /// The cluster.
    pub client: Client,
    /// Namespaces to watch; empty: all.
    pub namespaces: Vec<String>,
    /// Runs at once for each remote project.
    pub concurrency: usize,
    /// The time.
    pub clock: Clock,
    /// Namespace of what is the operator's own: the copies of credentials (rule 24).
    pub operator_namespace: String,
    /// Key of the digests.
    pub digest_key: DigestKey,
    /// Makes the clients of remote projects.
    pub factory: Arc<dyn ConnectFactory>,
}

/// Runs the controllers until `shutdown`; then runs that are under way end first.
pub async fn run(options: Options, shutdown: impl Future<Output = ()>) {
    let scopes: Vec<Option<String>> =
        if options.namespaces.is_empty() { vec![None] } else { options.namespaces.into_iter().map(Some).collect() };
    let (wake, woken) = mpsc::unbounded_channel();
    let remotes = Remotes::new(options.clock.clone(), Arc::clone(&options.factory), wake.clone(), options.concurrency);
    let alarms = Arc::new(Alarms::new(options.clock.clone(), wake.clone()));
    // Each scope lists both kinds.
    let keys = Keys::new(2 * scopes.len(), wake.clone());
    let context = Arc::new(Context {
        client: options.client.clone(),
        clock: options.clock,
        remotes,
        recorder: Recorder::new(options.client.clone(), names::EVENT_REPORTER.into()),
        digest_key: options.digest_key,
        references: References::default(),
        keys,
        projects: Projects::default(),
        copies: Copies::new(options.operator_namespace),
        memories: Memories::default(),
        alarms: Arc::clone(&alarms),
        wake,
    });
    let sweep = copy::sweep(Arc::clone(&context), scopes.iter().flatten().cloned().collect());
    let (stop, _) = tokio::sync::watch::channel(false);
    let mut routes = BTreeMap::new();
    let mut running = Vec::new();
    for namespace in scopes {
        let (deployments, deployment_events) = mpsc::unbounded_channel();
        let (projects, project_events) = mpsc::unbounded_channel();
        routes.insert(namespace.clone(), Route { deployments, projects });
        let scope = Scope { context: Arc::clone(&context), namespace, stop: stop.subscribe() };
        running.push(scope.run(deployment_events, project_events));
    }
    let mut running = pin!(future::join_all(running));
    let mut dispatch = pin!(dispatch(woken, routes));
    let mut alarms = pin!(alarms.ring());
    let mut sweep = pin!(sweep);
    let mut shutdown = pin!(shutdown);
    tokio::select! {
        _ = &mut running => return,
        () = &mut dispatch => {}
        () = &mut alarms => {}
        () = &mut sweep => {}
        () = &mut shutdown => {}
    }
    // Nobody listens any more if all have ended.
    let _ = stop.send(true);
    tokio::select! {
        _ = &mut running => {}
        () = &mut dispatch => {}
    }
}

/// Where the events of a namespace go.
struct Route {
    deployments: UnboundedSender<ObjectRef<ConnectorDeployment>>,
    projects: UnboundedSender<ObjectRef<ConnectProject>>,
}

async fn dispatch(mut woken: UnboundedReceiver<Subject>, routes: BTreeMap<Option<String>, Route>) {
    while let Some(subject) = woken.recv().await {
        let Some(route) = routes.get(&None).or_else(|| routes.get(&Some(subject.namespace.clone()))) else { continue };
        // A controller that has ended takes nothing more.
        let _ = match subject.kind {
            Kind::Deployment => {
                route.deployments.send(ObjectRef::new(&subject.name).within(&subject.namespace)).is_ok()
            }
            Kind::Project => route.projects.send(ObjectRef::new(&subject.name).within(&subject.namespace)).is_ok(),
        };
    }
}

/// A kind that can be watched: namespaced, and known when this is compiled.
trait Watched:
    Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> Watched for K where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// One of our kinds: what is seen of it counts for who has which key (rule 4).
trait Ours: Watched {
    const KIND: Kind;

    fn note(&self, keys: &Keys);
}

impl Ours for ConnectorDeployment {
    const KIND: Kind = Kind::Deployment;

    fn note(&self, keys: &Keys) {
        keys.saw(self);
    }
}

impl Ours for ConnectProject {
    const KIND: Kind = Kind::Project;

    fn note(&self, keys: &Keys) {
        keys.saw_project(self);
    }
}

/// The controllers of one namespace, or of all.
struct Scope {
    context: Arc<Context>,
    namespace: Option<String>,
    stop: tokio::sync::watch::Receiver<bool>,
}

impl Scope {
    async fn run(
        self,
        deployment_events: UnboundedReceiver<ObjectRef<ConnectorDeployment>>,
        project_events: UnboundedReceiver<ObjectRef<ConnectProject>>,
    ) {
        let forget = |context: &Context, subject: &Subject| {
            connector_deployment::gone(context, subject);
        };
        let (deployments, store) = self.objects::<ConnectorDeployment>(forget);
        let deployments =
            Controller::for_stream(deployments, store)
                .with_config(Config::default().concurrency(RUNS_AT_ONCE))
                .reconcile_on(receive(deployment_events))
                .graceful_shutdown_on(self.stopped())
                .run(
                    |object, context| async move {
                        Ok::<_, Infallible>(connector_deployment::reconcile(object, context).await)
                    },
                    |_, never, _| match *never {},
                    Arc::clone(&self.context),
                )
                .for_each(self.after_runs(Kind::Deployment, forget));
        let (projects, store) = self.objects::<ConnectProject>(connect_project::gone);
        let projects = Controller::for_stream(projects, store)
            .with_config(Config::default().debounce(std::time::Duration::from_millis(50)))
            .reconcile_on(receive(project_events))
            .graceful_shutdown_on(self.stopped())
            .run(
                |object, context| async move { Ok::<_, Infallible>(connect_project::reconcile(object, context).await) },
                |_, never, _| match *never {},
                Arc::clone(&self.context),
            )
            .for_each(self.after_runs(Kind::Project, connect_project::gone));
        let secrets = self.sources::<Secret>(Named::Secret, watcher::Config::default().fields(SECRETS_OF_INTEREST));
        let config_maps = self.sources::<ConfigMap>(Named::ConfigMap, watcher::Config::default());
        future::join4(deployments, projects, secrets, config_maps).await;
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        match &self.namespace {
            Some(namespace) => Api::namespaced(self.context.client.clone(), namespace),
            None => Api::all(self.context.client.clone()),
        }
    }

    /// What was gone when its run began is forgotten once more: a run that was under way may have remembered it again.
    fn after_runs<K: Resource<DynamicType = ()>, Gone: Fn(&Context, &Subject) + Send + 'static>(
        &self,
        kind: Kind,
        gone: Gone,
    ) -> impl FnMut(RunResult<K>) -> future::Ready<()> + Send + use<K, Gone> {
        let context = Arc::clone(&self.context);
        let watched = self.namespace.clone().unwrap_or_else(|| "all".to_owned());
        move |result| {
            match result {
                Ok(_) => {}
                Err(kube::runtime::controller::Error::ObjectNotFound(object)) => {
                    let namespace = object.namespace.unwrap_or_default();
                    gone(&context, &Subject { kind, namespace, name: object.name });
                }
                Err(error) => tracing::warn!(%error, ?kind, namespace = %watched, "watching is interrupted"),
            }
            future::ready(())
        }
    }

    fn stopped(&self) -> impl Future<Output = ()> + Send + Sync + use<> {
        let mut stop = self.stop.clone();
        async move {
            // The sender outlives the controllers; if not, they stop as well.
            let _ = stop.wait_for(|stop| *stop).await;
        }
    }

    /// Objects of one of our kinds: kept in a store without what nobody needs, and passed on when people changed them.
    fn objects<K>(
        &self,
        gone: impl Fn(&Context, &Subject) + Send + Sync + 'static,
    ) -> (BoxStream<'static, Result<K, watcher::Error>>, Store<K>)
    where
        K: Ours,
    {
        let (reader, writer) = reflector::store();
        let context = Arc::clone(&self.context);
        let mut lifes = Lifes::new(self.namespace.clone());
        let stream = watcher(self.api::<K>(), watcher::Config::default())
            .default_backoff()
            .modify(strip)
            .inspect_ok(move |event| {
                for subject in lifes.note(&context, event) {
                    context.keys.gone(&subject);
                    gone(&context, &subject);
                }
            })
            .reflect(writer)
            .applied_objects()
            .predicate_filter(what_people_change, PredicateConfig::default());
        (stream.boxed(), reader)
    }

    /// Wakes whoever names an object that changed.
    async fn sources<K>(&self, kind: Named, config: watcher::Config)
    where
        K: Watched,
    {
        let mut events = watcher(self.api::<PartialObjectMeta<K>>(), config)
            .default_backoff()
            .touched_objects()
            .take_until(self.stopped())
            .boxed();
        while let Some(event) = events.next().await {
            match event {
                Ok(object) => {
                    self.context.wake_users(kind, &object.namespace().unwrap_or_default(), &object.name_any());
                }
                Err(error) => tracing::warn!(?kind, %error, "watching is interrupted"),
            }
        }
    }
}

fn receive<T: Send + 'static>(mut events: UnboundedReceiver<T>) -> impl Stream<Item = T> + Send + 'static {
    futures::stream::poll_fn(move |task| events.poll_recv(task))
}

/// Removes what no run needs from what is kept: who wrote which field, and kubectl's copy of the manifest.
fn strip<K: Resource>(object: &mut K) {
    object.managed_fields_mut().clear();
    object.annotations_mut().remove("kubectl.kubernetes.io/last-applied-configuration");
}

/// A write of ours changes the status or our own annotation, and is no event; what people change is, and that somebody
/// took our finalizer away.
#[allow(clippy::unnecessary_wraps, reason = "what a predicate returns")]
fn what_people_change<K: Resource>(object: &K) -> Option<u64> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let meta = object.meta();
    let mut hasher = DefaultHasher::new();
    (meta.generation, meta.deletion_timestamp.as_ref().map(|at| at.0.as_second())).hash(&mut hasher);
    meta.finalizers.as_ref().is_some_and(|held| held.iter().any(|name| name == names::FINALIZER)).hash(&mut hasher);
    for name in [names::REDEPLOY_REQUESTED_AT, names::RECONCILE_REQUESTED_AT] {
        meta.annotations.as_ref().and_then(|annotations| annotations.get(name)).hash(&mut hasher);
    }
    Some(hasher.finish())
}

/// Which objects exist, so that those are noticed that went while nobody watched.
struct Lifes {
    namespace: Option<String>,
    listed: Option<BTreeSet<Subject>>,
    /// Whether the first list is complete.
    complete: bool,
}

impl Lifes {
    fn new(namespace: Option<String>) -> Self {
        Self { namespace, listed: None, complete: false }
    }

    /// The objects that this event says are gone. What is there has its claim before any run sees it.
    fn note<K: Ours>(&mut self, context: &Context, event: &watcher::Event<K>) -> Vec<Subject> {
        match event {
            watcher::Event::Init => self.listed = Some(BTreeSet::new()),
            watcher::Event::InitApply(object) => {
                object.note(&context.keys);
                if let Some(listed) = &mut self.listed {
                    listed.insert(subject(object));
                }
            }
            watcher::Event::InitDone => {
                if !std::mem::replace(&mut self.complete, true) {
                    context.keys.listed();
                }
                let listed = self.listed.take().unwrap_or_default();
                let mut known = context.keys.subjects(K::KIND);
                known.extend(match K::KIND {
                    Kind::Deployment => context.memories.subjects(),
                    Kind::Project => context.projects.subjects(),
                });
                let here =
                    |subject: &Subject| self.namespace.as_ref().is_none_or(|namespace| *namespace == subject.namespace);
                return known.into_iter().filter(|subject| here(subject) && !listed.contains(subject)).collect();
            }
            watcher::Event::Delete(object) => return vec![subject(object)],
            watcher::Event::Apply(object) => object.note(&context.keys),
        }
        Vec::new()
    }
}

fn subject<K: Ours>(object: &K) -> Subject {
    Subject { kind: K::KIND, namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
}

type RunResult<K> = Result<(ObjectRef<K>, Action), kube::runtime::controller::Error<Infallible, watcher::Error>>;
