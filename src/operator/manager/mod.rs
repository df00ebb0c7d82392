//! Starts the watches (`watches.rs`), and what reconciles the objects that they enqueue (`dispatch.rs`).
//!
//! A change of a spec, Secret, ConfigMap or project enqueues only the resources that use it. Of Secrets and ConfigMaps
//! only the metadata is watched, and nothing of it is kept here.

mod dispatch;
pub mod event_handlers;
pub mod known_objects;
pub mod reconciled;
mod watches;

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
use tokio::task::JoinSet;

use self::dispatch::dispatch;
use self::watches::Scope;
use crate::metrics::Metrics;
use crate::operator::cluster::initial_lists::InitialLists;
use crate::operator::cluster::keys::KeyOwnership;
use crate::operator::cluster::permissions::NamespacePermissions;
use crate::operator::cluster::queue::requeue_timers::RequeueTimers;
use crate::operator::cluster::references::References;
use crate::operator::context::content_cache::{self, ContentCache};
use crate::operator::context::event_recorder::EventRecorder;
use crate::operator::context::{Context, Memory, Settings};
use crate::operator::object_ref::ObjectRef;
use crate::operator::remote::{ConnectFactory, Remotes};

/// Time after which a reconcile is given up, as at a crash. Each of its waits has a limit of its own, and ends long before:
/// a request to the API server takes 65 s at most, a call of a remote 30 s.
pub const TIME_LIMIT: Duration = Duration::from_mins(15);
/// Time limit for reconciles in progress at shutdown. A call takes 30 s at most (`connect_api::http`), and its result
/// is written after it.
const LONGEST_RECONCILES: Duration = Duration::from_secs(40);
/// Time limit for Events that are written after them. The chart gives a pod 60 s for both.
const LONGEST_REPORTS: Duration = Duration::from_secs(10);

/// What the controllers are started with.
pub struct Options {
    /// Client of the cluster.
    pub client: Client,
    /// Clock of all timers.
    pub clock: Clock,
    /// What every reconcile is given.
    pub settings: Settings,
    /// Maximum number of concurrent reconciles that use the same `ConnectProject`.
    pub concurrency: usize,
    /// Creates the clients of remote projects.
    pub factory: Arc<dyn ConnectFactory>,
    /// The metrics of the process.
    pub metrics: Arc<Metrics>,
    /// Learns which lists are complete.
    pub lists: Arc<InitialLists>,
    /// Seed of the jitter of polls and pauses.
    pub jitter_seed: u64,
}

/// Creates the empty context of all reconciles. `enqueue` receives every object to reconcile.
pub fn context(options: Options, enqueue: &UnboundedSender<ObjectRef>) -> Arc<Context> {
    let Options { client, clock, settings, concurrency, factory, metrics, lists, jitter_seed } = options;
    let remotes = Remotes::new(clock.clone(), factory, enqueue.clone(), concurrency, jitter_seed, Arc::clone(&metrics));
    Arc::new(Context {
        client,
        metrics,
        recorder: EventRecorder::default(),
        remotes,
        references: References::default(),
        contents: ContentCache::default(),
        keys: KeyOwnership::new(lists, enqueue.clone()),
        permissions: NamespacePermissions::new(settings.scope.has_cluster_projects()),
        memory: Memory::default(),
        requeue_timers: Arc::new(RequeueTimers::new(clock.clone(), enqueue.clone())),
        clock,
        settings,
    })
}

/// Runs the controllers until `shutdown`; then waits for reconciles in progress, 40 s at most, and for their Events, 10 s at
/// most.
pub async fn run(options: Options, shutdown: impl Future<Output = ()>) {
    let (enqueue, enqueued) = mpsc::unbounded_channel();
    let context = context(options, &enqueue);
    let clock = &context.clock;
    let watches = watches(&context);
    let mut running = JoinSet::new();
    let (last_reconcile, is_over) = oneshot::channel::<Infallible>();
    let labels = context.settings.scope.labels();
    let events = context.recorder.publish(context.client.clone(), labels, is_over.map(|_| ()));
    let mut events = pin!(events);
    tokio::select! {
        _ = future::join_all(watches) => {}
        () = dispatch(&context, enqueued, &mut running) => {}
        () = context.requeue_timers.enqueue_due() => {}
        () = wipe(&context) => {}
        () = &mut events => {}
        () = shutdown => {}
    }
    let reconciles = async {
        tokio::select! {
            () = async { while running.join_next().await.is_some() {} } => {}
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

/// Returns the watches of the namespaces of this install, and those of shared projects.
fn watches(context: &Arc<Context>) -> Vec<BoxFuture<'static, ()>> {
    let namespaces = context.settings.scope.namespaces();
    let scopes: Vec<Option<String>> =
        if namespaces.is_empty() { vec![None] } else { namespaces.iter().cloned().map(Some).collect() };
    let scope = |namespace| Scope { context: Arc::clone(context), namespace };
    let mut watches = Vec::new();
    if context.permissions.is_enabled() {
        watches.extend(scope(None).cluster_scoped_watches());
        // Their credentials are in the operator's own namespace.
        let own = Some(context.settings.operator_namespace.clone());
        if !scopes.iter().any(|watched| watched.is_none() || *watched == own) {
            watches.push(scope(own).secrets());
        }
    }
    watches.extend(scopes.into_iter().flat_map(|namespace| scope(namespace).watches()));
    watches
}

/// Wipes the values that were just read once they may not be used any more. Never ends.
async fn wipe(context: &Context) {
    loop {
        context.clock.sleep(content_cache::LIFETIME).await;
        context.contents.expire(context.clock.now());
    }
}
