//! The controllers of one scope: each reconciles what is enqueued for one kind, from the store of a watch.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use connect_api::trace;
use futures::FutureExt;
use futures::future::{self, BoxFuture};
use futures::stream::{BoxStream, Stream, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::NamespaceResourceScope;
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::{self, Store};
use kube::runtime::watcher;
use kube::{Api, Resource};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tracing::Instrument as _;

use super::dispatch::Route;
use super::event_handlers;
use super::invalid_objects;
use super::reconciled::{self, Reconciled};
use super::scope::Scope;
use super::watches::Watched;
use crate::controllers::context::Context;
use crate::controllers::kinds::managed_kind::{Object, Stored as _};
use crate::controllers::object_ref::{Kind, ObjectName, ObjectRef};
use crate::controllers::objects::guarded::Guarded;
use crate::controllers::objects::secret;
use crate::controllers::objects::seen::Seen;
use crate::controllers::references::Named;
use crate::controllers::reporting::reconcile_outcome::ReconcileOutcome;
use crate::controllers::spans;
use crate::crd::{ActionCheck, ClusterConnectProject, ConnectProject, ConnectorDeployment, ConnectorStaged};

/// Returns the watch configuration for Secrets whose values may be used.
fn secrets_of_interest() -> watcher::Config {
    let usable_types = secret::REFUSED_TYPES.map(|(type_, _)| format!("type!={type_}"));
    watcher::Config::default().fields(&usable_types.join(","))
}

impl Scope {
    /// Runs all watches and controllers of the scope. Adds the channel of each controller to `route`.
    pub(super) fn run(&self, route: &mut Route) -> impl Future<Output = ()> + Send + use<> {
        let controllers = [
            self.controller::<ConnectorDeployment>(self.api(), route),
            self.controller::<ConnectorStaged>(self.api(), route),
            self.controller::<ConnectProject>(self.api(), route),
            self.controller::<ActionCheck>(self.api(), route),
            self.sources::<Secret>(Named::Secret, secrets_of_interest()),
            self.sources::<ConfigMap>(Named::ConfigMap, watcher::Config::default()),
        ];
        future::join_all(controllers).map(|_| ())
    }

    /// Runs the controllers of shared projects, and the watch of the namespaces that may use them.
    pub(super) fn run_cluster_scoped(&self, route: &mut Route) -> impl Future<Output = ()> + Send + use<> {
        let api = Api::all(self.context.client.clone());
        let controllers = [self.controller::<ClusterConnectProject>(api, route), self.namespaces()];
        future::join_all(controllers).map(|_| ())
    }

    /// Watches the credentials of shared projects, which are in the operator's own namespace.
    pub(super) fn run_own_namespace(&self) -> BoxFuture<'static, ()> {
        self.sources::<Secret>(Named::Secret, secrets_of_interest())
    }

    /// Runs the controller of one kind and the watch of its objects until it is stopped, and reports the objects that cannot be
    /// read.
    fn controller<K>(&self, api: Api<Guarded<K>>, route: &mut Route) -> BoxFuture<'static, ()>
    where
        K: Reconciled,
    {
        let Watched { stream, store, unreadable } = self.objects::<K>(api);
        let runs = self.reconciles::<K>(stream, store, route);
        let reports = invalid_objects::report::<K>(unreadable, Arc::clone(&self.context));
        // The reports end with the watch, which may end before the last reconcile.
        let reports = reports.then(|()| future::pending::<()>());
        future::select(runs, reports.boxed()).map(|_| ()).boxed()
    }

    /// Reconciles what is enqueued, until it is stopped. `watch` has to be polled; it fills the store.
    fn reconciles<K: Reconciled>(
        &self,
        watch: BoxStream<'static, watcher::Result<Seen<K>>>,
        store: Store<Seen<K>>,
        route: &mut Route,
    ) -> BoxFuture<'static, ()> {
        let (sender, events) = mpsc::unbounded_channel();
        route.insert(K::KIND, sender);
        let unlisted = self.stopped_before_the_first_list(store.clone());
        let runs = Controller::for_stream(watch, store)
            .reconcile_on(receive(events))
            .graceful_shutdown_on(self.stopped())
            .run(
                |seen, context| observed::<K>(&seen, context).map(Ok::<_, Infallible>),
                |_, never, _| match *never {},
                Arc::clone(&self.context),
            )
            .for_each(self.after_runs(K::KIND));
        future::select(runs.boxed(), unlisted.boxed()).map(|_| ()).boxed()
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

    pub(super) fn api<K>(&self) -> Api<K>
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
                    event_handlers::forget(&context, &object_ref);
                    free(object_ref);
                }
                Err(error) => tracing::warn!(%error, ?kind, namespace = %watched, "the controller reports an error"),
            }
            future::ready(())
        }
    }

    pub(super) fn stopped(&self) -> impl Future<Output = ()> + Send + Sync + use<> {
        let mut stop = self.stop.clone();
        async move {
            // The sender outlives the controllers; if it did not, they would stop as well.
            let _ = stop.wait_for(|stop| *stop).await;
        }
    }
}

/// Reconciles an object, with metrics and a trace id. That it was seen is recorded before anything else happens, so that a
/// change from here on leads to the next reconcile.
fn observed<K: Reconciled>(seen: &Seen<K>, context: Arc<Context>) -> impl Future<Output = Action> + Send + use<K> {
    let object_ref = seen.reference();
    traced(object_ref.clone(), Arc::clone(&context), reconciled::bounded::<K>(object_ref, context))
}

/// Runs a reconcile with a new trace id, and measures it.
async fn traced(
    object_ref: ObjectRef,
    context: Arc<Context>,
    run: impl Future<Output = (Action, ReconcileOutcome)>,
) -> Action {
    let (kind, began) = (object_ref.kind.as_str(), context.clock.elapsed());
    let ObjectName { namespace, name, .. } = &*object_ref;
    let trace_id = trace::Id::random();
    let span = tracing::info_span!("reconcile", kind, namespace, name, %trace_id);
    let exported = spans::reconcile(&object_ref);
    let run = async {
        let (action, ended) = run.await;
        let duration = context.clock.elapsed().saturating_sub(began);
        spans::reconciled(&exported, ended);
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(reason = ended.label(), duration_ms, "the reconcile ended");
        context.metrics.reconciled(kind, ended.label(), duration);
        action
    };
    // The exported span begins within the trace, whose id it takes.
    trace::within(trace_id, run.instrument(exported.clone())).instrument(span).await
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
