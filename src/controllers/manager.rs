//! Starts the controllers, with their watches (`watches.rs`) and what passes enqueued objects to them (`dispatch.rs`).
//!
//! A change of a spec, Secret, ConfigMap or project enqueues only the resources that use it. Of Secrets and ConfigMaps
//! only the metadata is watched, and nothing of it is kept here.

mod dispatch;
mod watches;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, Stream, StreamExt};
use futures::{FutureExt, future};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::NamespaceResourceScope;
use kube::core::error_boundary::InvalidObject;
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::{self, Store};
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, Receiver, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use self::dispatch::{Route, dispatch};
use self::watches::Watched;
use super::action_factory::ActionFactory;
use super::connect_project::copy::{self, Copies};
use super::connector::memory::Mirrors;
use super::connector_deployment::content_cache::{self, ContentCache};
use super::connector_deployment::logs;
use super::context::Context;
use super::digest::DigestKey;
use super::event_recorder::EventRecorder;
use super::events;
use super::foreign_installs::ForeignInstalls;
use super::foreign_leases;
use super::guarded::Guarded;
use super::keys::KeyOwnership;
use super::lists;
use super::managed_kind::{ManagedKind, Stored as _};
use super::namespace_permissions::NamespacePermissions;
use super::object::Object;
use super::object_map::ObjectMap;
use super::object_ref::{Kind, ObjectRef};
use super::own_writes::OwnWrites;
use super::packed::Packed;
use super::project_object::ProjectObject;
use super::project_quota::{ProjectLimits, ProjectQuota};
use super::readable;
use super::reconciled::{self, MirrorOf, Reconciled};
use super::references::{Named, References};
use super::remote::{ConnectFactory, Remotes};
use super::requeue_timers::RequeueTimers;
use super::resync::{self, resync};
use super::secret;
use super::tracker::{ReconcileOutcome, ReconcileTracker};
use crate::crd::{
    ActionCheck, ClusterConnectProject, ConnectProject, ConnectorDeployment, ConnectorStaged, DeletionPolicy,
};
use crate::leader::{LeaseName, Scope as Works};

/// Returns the watch configuration for Secrets whose values may be used.
fn secrets_of_interest() -> watcher::Config {
    let other_installs = secret::REFUSED_TYPES.map(|(type_, _)| format!("type!={type_}"));
    watches::config().fields(&other_installs.join(","))
}

/// Time limit for reconciles in progress at shutdown. A call takes 30 s at most (`connect_api::http`), and its result
/// is written after it; the chart gives a pod 60 s.
const LONGEST_END: Duration = Duration::from_secs(45);

/// The settings of the controllers.
pub struct Options {
    /// Client of the cluster.
    pub client: Client,
    /// Namespaces and labels that this install selects, and whether it works with `ClusterConnectProject`s.
    pub scope: Works,
    /// Lease of this install, with which it claims objects; `None`: it claims nothing.
    pub install: Option<LeaseName>,
    /// Maximum number of concurrent reconciles that use the same remote project.
    pub concurrency: usize,
    /// Maximum numbers of `ConnectProject`s.
    pub project_limits: ProjectLimits,
    /// Clock of all timers.
    pub clock: Clock,
    /// Namespace for the operator's own objects, the copies of credentials (rule 24), and for the credentials of
    /// `ClusterConnectProject`s.
    pub operator_namespace: String,
    /// Deletion policy of `ConnectorDeployment`s that set none; `None`: it depends on their type.
    pub default_deletion_policy: Option<DeletionPolicy>,
    /// Secrets that resources may use.
    pub secrets: secret::Policy,
    /// Key of the digests.
    pub digest_key: DigestKey,
    /// Creates the clients of remote projects.
    pub factory: Arc<dyn ConnectFactory>,
    /// Creates the clients of frontends whose actions are checked.
    pub actions: Arc<dyn ActionFactory>,
    /// Tracks queued and running reconciles.
    pub tracker: Arc<ReconcileTracker>,
    /// Seed of the jitter of polls and pauses.
    pub jitter_seed: u64,
}

/// Creates the empty context of all reconciles. `scopes`: number of lists of each kind; `enqueue` receives every object
/// to reconcile.
#[must_use]
pub fn context(options: &Options, scopes: usize, enqueue: &UnboundedSender<ObjectRef>) -> Arc<Context> {
    let clock = &options.clock;
    let shares = options.scope.has_cluster_projects();
    let remotes = Remotes::new(
        clock.clone(),
        Arc::clone(&options.factory),
        enqueue.clone(),
        options.concurrency,
        options.jitter_seed,
        Arc::clone(&options.tracker),
    );
    Arc::new(Context {
        client: options.client.clone(),
        clock: clock.clone(),
        remotes,
        actions: Arc::clone(&options.actions),
        recorder: EventRecorder::default(),
        default_deletion_policy: options.default_deletion_policy,
        secrets: options.secrets,
        digest_key: options.digest_key.clone(),
        references: References::default(),
        // Each scope has a list of deployments, one of staged connectors and one of projects.
        // With shared projects, there is one list of these, and one of the namespaces that may use them.
        keys: KeyOwnership::new(
            3 * scopes + if shares { 2 } else { 0 },
            enqueue.clone(),
            Some(options.digest_key.clone()),
        ),
        permissions: NamespacePermissions::new(shares),
        project_quota: ProjectQuota::new(options.project_limits, scopes + usize::from(shares), enqueue.clone()),
        projects: ObjectMap::default(),
        own_writes: OwnWrites::default(),
        contents: ContentCache::default(),
        log_readers: Semaphore::new(logs::AT_ONCE),
        copies: Copies::new(options.operator_namespace.clone()),
        deployment_caches: ObjectMap::default(),
        staged_caches: ObjectMap::default(),
        staged: ObjectMap::default(),
        mirrors: Mirrors::default(),
        foreign_installs: ForeignInstalls::new(options.install.as_ref(), options.scope.clone()),
        requeue_timers: Arc::new(RequeueTimers::new(clock.clone(), enqueue.clone())),
        given: ObjectMap::default(),
        panics: ObjectMap::default(),
        tracker: Arc::clone(&options.tracker),
        enqueue: enqueue.clone(),
    })
}

/// Runs the controllers until `shutdown`; then waits for reconciles in progress, 45 s at most.
pub async fn run(options: Options, shutdown: impl Future<Output = ()>) {
    let namespaces = options.scope.namespaces();
    let scopes: Vec<Option<String>> =
        if namespaces.is_empty() { vec![None] } else { namespaces.iter().cloned().map(Some).collect() };
    let (enqueue, enqueued) = mpsc::unbounded_channel();
    let (done, ended) = mpsc::unbounded_channel();
    let context = context(&options, scopes.len(), &enqueue);
    let clock = options.clock.clone();
    let (requeue_timers, tracker) = (Arc::clone(&context.requeue_timers), Arc::clone(&context.tracker));
    let foreign_installs = foreign_leases::follow(Arc::clone(&context));
    let shares = options.scope.has_cluster_projects();
    tracker.start(lists::initial(&scopes, shares));
    let sweep = copy::sweep(Arc::clone(&context), scopes.iter().flatten().cloned().collect());
    let wipe = wipe(Arc::clone(&context));
    let (stop, _) = tokio::sync::watch::channel(false);
    let mut routes = BTreeMap::new();
    let mut running: Vec<BoxFuture<'static, ()>> = Vec::new();
    let scope = |namespace: Option<String>| Scope {
        context: Arc::clone(&context),
        namespace,
        selector: options.scope.selector().to_string(),
        jitter_seed: options.jitter_seed,
        done: done.clone(),
        stop: stop.subscribe(),
    };
    if shares {
        let mut route = Route::new();
        running.push(scope(None).run_cluster_scoped(&mut route).boxed());
        // Resources without a namespace have an empty one.
        routes.insert(Some(String::new()), route);
        let operators = Some(options.operator_namespace.clone());
        if !scopes.iter().any(|watched| watched.is_none() || *watched == operators) {
            let operators = scope(operators);
            running.push(operators.sources::<Secret>(Named::Secret, secrets_of_interest()));
            running.push(operators.mirrored());
        }
    }
    for namespace in scopes {
        let scope = scope(namespace);
        let mut route = Route::new();
        running.push(scope.run(&mut route).boxed());
        routes.insert(scope.namespace, route);
    }
    let mut running = pin!(future::join_all(running));
    let mut dispatch = pin!(dispatch(&tracker, enqueued, ended, routes));
    let (last_reconcile, is_over) = oneshot::channel::<Infallible>();
    let mut events = pin!(context.recorder.publish(options.client.clone(), clock.clone(), is_over.map(|_| ())));
    tokio::select! {
        _ = &mut running => return,
        () = &mut dispatch => {}
        // These futures are passed by value: they are dropped after the `select!`, so they hold nothing that a last
        // reconcile waits for, such as a connection that is being opened.
        () = requeue_timers.ring() => {}
        () = tracker.beat() => {}
        () = sweep => {}
        () = wipe => {}
        () = &mut events => {}
        () = foreign_installs => {}
        () = shutdown => {}
    }
    // There is no receiver if all controllers have ended.
    let _ = stop.send(true);
    let reconciles = async {
        tokio::select! {
            _ = &mut running => {}
            () = &mut dispatch => {}
        }
        drop(last_reconcile);
    };
    tokio::select! {
        _ = future::join(reconciles, events) => {}
        () = clock.sleep(LONGEST_END) => {
            tracing::warn!("reconciles in progress are abandoned; the next process resumes them from the persisted status");
        }
    }
}

/// Wipes the values that were just read once they may not be used any more. Never ends.
async fn wipe(context: Arc<Context>) {
    loop {
        context.clock.sleep(content_cache::LIFETIME).await;
        context.contents.expire(context.clock.now());
    }
}

/// The controllers of one namespace, or of all namespaces.
struct Scope {
    context: Arc<Context>,
    namespace: Option<String>,
    /// Label selector of the objects to reconcile.
    selector: String,
    /// Seed of the jitter of resyncs.
    jitter_seed: u64,
    /// Receives objects whose reconcile has ended.
    done: UnboundedSender<ObjectRef>,
    stop: tokio::sync::watch::Receiver<bool>,
}

impl Scope {
    /// Runs all watches and controllers of the scope. Adds the channel of each controller to `route`.
    fn run(&self, route: &mut Route) -> impl Future<Output = ()> + Send + use<> {
        let controllers = [
            self.controller::<ConnectorDeployment>(self.api(), route),
            self.controller::<ConnectorStaged>(self.api(), route),
            self.project_controllers::<ConnectProject>(self.api(), route),
            self.controller::<ActionCheck>(self.api(), route),
            self.mirrored(),
            self.sources::<Secret>(Named::Secret, secrets_of_interest()),
            self.sources::<ConfigMap>(Named::ConfigMap, watches::config()),
        ];
        future::join_all(controllers).map(|_| ())
    }

    /// Runs the controllers of shared projects, and the watch of the namespaces that may use them.
    fn run_cluster_scoped(&self, route: &mut Route) -> impl Future<Output = ()> + Send + use<> {
        let api = Api::all(self.context.client.clone());
        let controllers = [self.project_controllers::<ClusterConnectProject>(api, route), self.namespaces()];
        future::join_all(controllers).map(|_| ())
    }

    /// Runs the controller of one kind, and the watch of its objects, until it is stopped.
    fn controller<K>(&self, api: Api<Guarded<K>>, route: &mut Route) -> BoxFuture<'static, ()>
    where
        K: Reconciled<Object = K> + Object + ManagedKind + Serialize,
    {
        let Watched { stream, store, unreadable } = self.objects::<K>(api);
        let runs = self.reconciles::<K>(stream, store, route);
        self.with_reports::<K>(runs, unreadable)
    }

    /// Runs the controller of one kind of project and that of the mirrors, on one watch.
    fn project_controllers<P>(&self, api: Api<Guarded<P>>, route: &mut Route) -> BoxFuture<'static, ()>
    where
        P: Reconciled<Object = P> + ProjectObject + Serialize,
    {
        let Watched { stream, store, unreadable } = self.objects::<P>(api);
        let mirrors = self.reconciles::<MirrorOf<P>>(futures::stream::pending().boxed(), store.clone(), route);
        let runs = future::join(mirrors, self.reconciles::<P>(stream, store, route)).map(|_| ());
        self.with_reports::<P>(runs.boxed(), unreadable)
    }

    /// Runs controllers, and reports the objects that cannot be read beside them.
    fn with_reports<K: Object + ManagedKind>(
        &self,
        runs: BoxFuture<'static, ()>,
        unreadable: Receiver<InvalidObject>,
    ) -> BoxFuture<'static, ()> {
        let reports = readable::report::<K>(unreadable, Arc::clone(&self.context));
        // The reports end with the watch, which may end before the last reconcile.
        let reports = reports.then(|()| future::pending::<()>());
        future::select(runs, reports.boxed()).map(|_| ()).boxed()
    }

    /// Reconciles what is enqueued, until it is stopped. `watch` has to be polled; it fills the store.
    fn reconciles<R: Reconciled>(
        &self,
        watch: BoxStream<'static, watcher::Result<Packed<R::Object>>>,
        store: Store<Packed<R::Object>>,
        route: &mut Route,
    ) -> BoxFuture<'static, ()> {
        let (sender, events) = mpsc::unbounded_channel();
        route.insert(R::KIND, sender);
        let unlisted = self.stopped_before_the_first_list(store.clone());
        let seed = self.jitter_seed.wrapping_add(R::KIND as u64);
        let resync = resync(R::KIND, store.clone(), Arc::clone(&self.context), seed);
        let runs = Controller::for_stream(watch, store)
            .reconcile_on(receive(events))
            .graceful_shutdown_on(self.stopped())
            .run(
                |object, context| observed::<R>(object, context).map(Ok::<_, Infallible>),
                |_, never, _| match *never {},
                Arc::clone(&self.context),
            )
            .for_each(self.after_runs(R::KIND));
        let runs = future::select(runs.boxed(), unlisted.boxed());
        future::select(runs, resync.boxed()).map(|_| ()).boxed()
    }

    /// Completes when the controller is stopped before its initial list is complete. Such a controller has begun no
    /// reconcile and would wait for ever for the list, which is no longer fetched. Otherwise it never completes.
    fn stopped_before_the_first_list<K>(&self, store: Store<K>) -> impl Future<Output = ()> + use<K>
    where
        K: Object,
    {
        let stopped = self.stopped();
        async move {
            stopped.await;
            if let Some(Ok(())) = store.wait_until_ready().now_or_never() {
                future::pending::<()>().await;
            }
        }
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

    /// Frees the slot of each reconcile that has ended. An object that did not exist when its reconcile began is
    /// forgotten once more, because an earlier reconcile that was in progress may have recorded it again.
    fn after_runs<K: Resource<DynamicType = ()>>(
        &self,
        kind: Kind,
    ) -> impl FnMut(RunResult<K>) -> future::Ready<()> + Send + use<K> {
        let context = Arc::clone(&self.context);
        let watched = self.namespace.clone().unwrap_or_else(|| "all".to_owned());
        let done = self.done.clone();
        // There is no receiver when the operator ends.
        let free = move |object_ref| drop(done.send(object_ref));
        move |result| {
            match result {
                Ok((object, _)) => {
                    free(ObjectRef::new(kind, &object.namespace.unwrap_or_default(), &object.name));
                }
                Err(kube::runtime::controller::Error::ObjectNotFound(object)) => {
                    let namespace = object.namespace.unwrap_or_default();
                    let object_ref = ObjectRef::new(kind, &namespace, &object.name);
                    events::gone(&context, &object_ref);
                    free(object_ref);
                }
                Err(error) => tracing::warn!(%error, ?kind, namespace = %watched, "the controller reports an error"),
            }
            future::ready(())
        }
    }

    fn stopped(&self) -> impl Future<Output = ()> + Send + Sync + use<> {
        let mut stop = self.stop.clone();
        async move {
            // The sender outlives the controllers; if it did not, they would stop as well.
            let _ = stop.wait_for(|stop| *stop).await;
        }
    }
}

/// Reconciles an object, with metrics and a trace id. The object is recorded before anything else happens, so that a
/// change from here on leads to the next reconcile.
fn observed<R: Reconciled>(
    packed: Arc<Packed<R::Object>>,
    context: Arc<Context>,
) -> impl Future<Output = Action> + Send + use<R> {
    resync::note(&context.given, R::KIND, &*packed);
    let tracker = Arc::clone(&context.tracker);
    let object_ref = packed.reference_as(R::KIND);
    let began = tracker.begin(&object_ref);
    async move { began.run(unpacked::<R>(packed, object_ref, context)).await }
}

/// Reconciles a packed object.
async fn unpacked<R: Reconciled>(
    packed: Arc<Packed<R::Object>>,
    object_ref: ObjectRef,
    context: Arc<Context>,
) -> (Action, ReconcileOutcome) {
    match packed.unpack() {
        Ok(object) => reconciled::contained::<R>(Arc::new(object), object_ref, context).await,
        Err(error) => {
            tracing::error!(%error, "a stored object cannot be read, which is a bug");
            (Action::await_change(), ReconcileOutcome::Panicked)
        }
    }
}

fn receive<K: Object>(
    mut events: UnboundedReceiver<ObjectRef>,
) -> impl Stream<Item = reflector::ObjectRef<K>> + Send + 'static {
    let named = |object_ref: ObjectRef| {
        let named = reflector::ObjectRef::new(&object_ref.name);
        if object_ref.namespace.is_empty() { named } else { named.within(&object_ref.namespace) }
    };
    futures::stream::poll_fn(move |task| events.poll_recv(task)).map(named)
}

type RunResult<K> =
    Result<(reflector::ObjectRef<K>, Action), kube::runtime::controller::Error<Infallible, watcher::Error>>;
