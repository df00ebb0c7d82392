//! Starts the controllers (`controllers.rs`), with their watches (`watches.rs`) and what passes enqueued objects to them
//! (`dispatch.rs`).
//!
//! A change of a spec, Secret, ConfigMap or project enqueues only the resources that use it. Of Secrets and ConfigMaps
//! only the metadata is watched, and nothing of it is kept here.

pub mod changes;
mod controllers;
mod dispatch;
pub mod event_handlers;
pub mod invalid_objects;
pub mod reconciled;
mod scope;
mod watches;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use futures::future::BoxFuture;
use futures::{FutureExt, future};
use kube::Client;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::oneshot;

use self::dispatch::{Route, dispatch};
use self::scope::Scope;
use crate::controllers::clients::action_factory::ActionFactory;
use crate::controllers::connect_project::copy;
use crate::controllers::context::content_cache::{self, ContentCache};
use crate::controllers::context::event_recorder::EventRecorder;
use crate::controllers::context::{Context, Memory, Settings};
use crate::controllers::initial_lists::{self, InitialLists};
use crate::controllers::key_ownership::KeyOwnership;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::objects::secret;
use crate::controllers::project_access::namespace_permissions::NamespacePermissions;
use crate::controllers::queue::requeue_timers::RequeueTimers;
use crate::controllers::references::References;
use crate::controllers::remote::{ConnectFactory, Remotes};
use crate::controllers::values::digest::DigestKey;
use crate::crd::DeletionPolicy;
use crate::leader::Scope as Works;
use crate::metrics::Metrics;

/// Time after which a reconcile is given up, as at a crash. Each of its waits has a limit of its own, and ends long before:
/// a request to the API server takes 65 s at most, a call of a remote 30 s.
pub const TIME_LIMIT: Duration = Duration::from_mins(15);
/// Time limit for reconciles in progress at shutdown. A call takes 30 s at most (`connect_api::http`), and its result
/// is written after it.
const LONGEST_RECONCILES: Duration = Duration::from_secs(40);
/// Time limit for Events that are written after them. The chart gives a pod 60 s for both.
const LONGEST_REPORTS: Duration = Duration::from_secs(10);

/// The settings of the controllers.
pub struct Options {
    /// Client of the cluster.
    pub client: Client,
    /// Namespaces and labels that this install selects, and whether it works with `ClusterConnectProject`s.
    pub scope: Works,
    /// Maximum number of concurrent reconciles that use the same remote project.
    pub concurrency: usize,
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
    /// The metrics of the process.
    pub metrics: Arc<Metrics>,
    /// Learns which lists are complete.
    pub lists: Arc<InitialLists>,
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
        Arc::clone(&options.metrics),
    );
    Arc::new(Context {
        client: options.client.clone(),
        clock: clock.clone(),
        settings: Settings {
            operator_namespace: options.operator_namespace.clone(),
            default_deletion_policy: options.default_deletion_policy,
            secrets: options.secrets.clone(),
            scope: options.scope.clone(),
            digest_key: options.digest_key.clone(),
            actions: Arc::clone(&options.actions),
        },
        metrics: Arc::clone(&options.metrics),
        recorder: EventRecorder::default(),
        remotes,
        references: References::default(),
        contents: ContentCache::default(),
        // Each scope has a list of deployments and one of staged connectors.
        keys: KeyOwnership::new(2 * scopes, enqueue.clone()),
        permissions: NamespacePermissions::new(shares),
        memory: Memory::default(),
        requeue_timers: Arc::new(RequeueTimers::new(clock.clone(), enqueue.clone())),
    })
}

/// Runs the controllers until `shutdown`; then waits for reconciles in progress, 40 s at most, and for their Events, 10 s at
/// most.
pub async fn run(options: Options, shutdown: impl Future<Output = ()>) {
    let namespaces = options.scope.namespaces();
    let scopes: Vec<Option<String>> =
        if namespaces.is_empty() { vec![None] } else { namespaces.iter().cloned().map(Some).collect() };
    let (enqueue, enqueued) = mpsc::unbounded_channel();
    let (done, ended) = mpsc::unbounded_channel();
    let context = context(&options, scopes.len(), &enqueue);
    let clock = options.clock.clone();
    let (requeue_timers, lists) = (Arc::clone(&context.requeue_timers), &options.lists);
    let shares = options.scope.has_cluster_projects();
    lists.start(initial_lists::initial(&scopes, shares));
    let sweep = copy::sweep(Arc::clone(&context), scopes.iter().flatten().cloned().collect());
    let wipe = wipe(Arc::clone(&context));
    let (stop, _) = tokio::sync::watch::channel(false);
    let mut routes = BTreeMap::new();
    let mut running: Vec<BoxFuture<'static, ()>> = Vec::new();
    let scope = |namespace: Option<String>| Scope {
        context: Arc::clone(&context),
        lists: Arc::clone(lists),
        namespace,
        selector: options.scope.selector().to_string(),
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
            running.push(scope(operators).run_own_namespace());
        }
    }
    for namespace in scopes {
        let scope = scope(namespace);
        let mut route = Route::new();
        running.push(scope.run(&mut route).boxed());
        routes.insert(scope.namespace, route);
    }
    let mut running = Box::pin(future::join_all(running));
    let mut dispatch = pin!(dispatch(lists, enqueued, ended, routes));
    let (last_reconcile, is_over) = oneshot::channel::<Infallible>();
    let events = context.recorder.publish(options.client.clone(), clock.clone(), is_over.map(|_| ()));
    let mut events = pin!(events);
    tokio::select! {
        _ = &mut running => return,
        () = &mut dispatch => {}
        // These futures are passed by value: they are dropped after the `select!`, so they hold nothing that a last
        // reconcile waits for, such as a connection that is being opened.
        () = requeue_timers.enqueue_due() => {}
        () = sweep => {}
        () = wipe => {}
        () = &mut events => {}
        () = shutdown => {}
    }
    // There is no receiver if all controllers have ended.
    let _ = stop.send(true);
    let reconciles = async {
        tokio::select! {
            _ = &mut running => {}
            () = &mut dispatch => {}
            () = clock.sleep(LONGEST_RECONCILES) => {
                tracing::warn!(
                    "reconciles in progress are abandoned; the next process resumes them from the persisted status"
                );
            }
        }
    };
    future::select(pin!(reconciles), &mut events).await;
    // An abandoned reconcile holds back no Event, as one whose write is in progress does.
    drop(running);
    drop(last_reconcile);
    tokio::select! {
        () = events => {}
        () = clock.sleep(LONGEST_REPORTS) => {
            tracing::warn!("the API server takes too long: what is not reported yet is lost with this process");
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
