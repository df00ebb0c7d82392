//! The watches: objects of the managed kinds, and the metadata of Secrets, ConfigMaps and namespaces.
//!
//! A watch enqueues what it shows by name, through the same channel as everything else. Nothing is awaited between the
//! API server and that channel: one object must not delay any other.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use clock::{Clock, later};
use futures::FutureExt as _;
use futures::future::{self, BoxFuture};
use futures::stream::{self, BoxStream, StreamExt};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::core::{NamespaceResourceScope, PartialObjectMeta};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use super::event_handlers;
use super::known_objects::KnownObjects;
use crate::crd::{ActionCheck, ClusterConnectProject, ConnectProject, ConnectorDeployment, ConnectorStaged};
use crate::error_text::with_causes;
use crate::operator::cluster::initial_lists::{List, PAGE};
use crate::operator::cluster::objects::guarded::Guarded;
use crate::operator::cluster::objects::secret;
use crate::operator::cluster::references::Referenced;
use crate::operator::cluster::references::sources::Sources;
use crate::operator::context::Context;
use crate::operator::kinds::managed_kind::{ManagedKind, Object};
use crate::operator::reporting::refusal;

/// Time after which a watch ends and lists again what exists. A watch alone never makes up for an event that does not come:
/// after etcd was restored to an earlier revision, it waits for one that is far away.
const LISTED_AGAIN: Duration = Duration::from_mins(14);

/// A watch, the size of the pages of its lists, and when it lists again.
type Watch<K> = (BoxStream<'static, watcher::Result<watcher::Event<K>>>, Option<u32>, Timestamp);

/// Watches objects. Lists arrive in pages that bound the memory, whatever users write into their objects. A page is read from
/// etcd, since the API server returns the whole list at once where its cache may answer.
///
/// The API server forgets where a list was after five minutes or so, and a list that takes longer would begin again for
/// ever. So after the first one that was forgotten, lists arrive whole.
fn watched<K>(
    api: Api<K>,
    config: watcher::Config,
    clock: Clock,
) -> BoxStream<'static, watcher::Result<watcher::Event<K>>>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let begin = move |page_size| {
        let config = watcher::Config { page_size, ..config.clone() };
        watcher(api.clone(), config).default_backoff().boxed()
    };
    let first = (begin(Some(PAGE)), Some(PAGE), Timestamp::MAX);
    let next = move |(mut events, mut page, mut until): Watch<K>| {
        let (begin, clock) = (begin.clone(), clock.clone());
        async move {
            let event = loop {
                tokio::select! {
                    biased;
                    event = events.next() => break event?,
                    () = clock.sleep_until(until) => (events, until) = (begin(page), Timestamp::MAX),
                }
            };
            if matches!(event, Ok(watcher::Event::InitDone)) {
                until = later(clock.now(), LISTED_AGAIN);
            }
            if page.is_some() && is_forgotten(&event) {
                page = None;
                events = begin(page);
            }
            Some((event, (events, page, until)))
        }
    };
    stream::unfold(first, next).boxed()
}

/// Whether the API server has forgotten where the list was.
fn is_forgotten<E>(event: &watcher::Result<E>) -> bool {
    matches!(event, Err(watcher::Error::InitialListFailed(kube::Error::Api(status))) if status.code == 410)
}

/// What a watch has shown, or why it is interrupted.
enum Shown<'a, K> {
    Event(&'a watcher::Event<K>),
    /// The API server refuses the list, for this reason.
    Refused(&'a str),
    Interrupted,
}

/// The namespace whose objects are watched.
pub(super) struct Scope {
    pub(super) context: Arc<Context>,
    /// `None`: all namespaces.
    pub(super) namespace: Option<String>,
}

impl Scope {
    /// Returns all watches of the scope. None of them ends.
    pub(super) fn watches(&self) -> Vec<BoxFuture<'static, ()>> {
        vec![
            self.objects::<ConnectorDeployment>(self.api()),
            self.objects::<ConnectorStaged>(self.api()),
            self.objects::<ConnectProject>(self.api()),
            self.objects::<ActionCheck>(self.api()),
            self.secrets(),
            self.sources::<ConfigMap>(Referenced::ConfigMap, watcher::Config::default()),
        ]
    }

    /// Returns the watches of shared projects, and of the namespaces that may use them.
    pub(super) fn cluster_scoped_watches(&self) -> Vec<BoxFuture<'static, ()>> {
        vec![self.objects::<ClusterConnectProject>(Api::all(self.context.client.clone())), self.namespaces()]
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

    /// Watches one managed kind through this API.
    fn objects<K: ManagedKind>(&self, api: Api<Guarded<K>>) -> BoxFuture<'static, ()> {
        // A project may be named by a resource of any install, so the selector does not apply to projects.
        let config = if K::KIND.is_project() {
            watcher::Config::default()
        } else {
            watcher::Config::default().labels(&self.context.settings.scope.selector().to_string())
        };
        self.context.keys.lists.awaits(List { kind: K::KIND.as_str(), namespace: self.namespace.clone() });
        let mut known = KnownObjects::new(self.namespace.clone());
        self.follow(api, config, K::KIND.as_str(), move |context, shown| match shown {
            Shown::Event(event) => known.note(context, event),
            Shown::Refused(_) => context.keys.listed(),
            Shown::Interrupted => {}
        })
    }

    /// Follows the labels of namespaces, on which permissions to use a `ClusterConnectProject` depend.
    fn namespaces(&self) -> BoxFuture<'static, ()> {
        let api = Api::<PartialObjectMeta<Namespace>>::all(self.context.client.clone());
        self.follow(api, watcher::Config::default(), "Namespace", |context, shown| match shown {
            Shown::Event(event) => event_handlers::namespace(context, event),
            Shown::Refused(why) => event_handlers::namespaces_refused(context, why),
            Shown::Interrupted => {}
        })
    }

    /// Watches the Secrets whose values may be used.
    pub(super) fn secrets(&self) -> BoxFuture<'static, ()> {
        let usable_types = secret::REFUSED_TYPES.map(|(type_, _)| format!("type!={type_}"));
        self.sources::<Secret>(Referenced::Secret, watcher::Config::default().fields(&usable_types.join(",")))
    }

    /// Enqueues the resources that name an object that was changed or deleted.
    fn sources<K>(&self, kind: Referenced, config: watcher::Config) -> BoxFuture<'static, ()>
    where
        K: Object + Resource<Scope = NamespaceResourceScope>,
    {
        let mut sources = Sources::new(kind, self.namespace.clone());
        let api = self.api::<PartialObjectMeta<K>>();
        self.follow(api, config, kind.as_str(), move |context, shown| match shown {
            Shown::Event(event) => event_handlers::sourced(context, &mut sources, event),
            Shown::Refused(_) | Shown::Interrupted => context.contents.interrupted(),
        })
    }

    /// Passes on what a watch shows, and reports its interruptions. Never ends.
    fn follow<K>(
        &self,
        api: Api<K>,
        config: watcher::Config,
        kind: &'static str,
        mut note: impl FnMut(&Context, Shown<'_, K>) + Send + 'static,
    ) -> BoxFuture<'static, ()>
    where
        K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let context = Arc::clone(&self.context);
        let list = List { kind, namespace: self.namespace.clone() };
        let handle = move |event: watcher::Result<watcher::Event<K>>| {
            match &event {
                Ok(event) => {
                    if matches!(event, watcher::Event::InitDone) && context.keys.lists.listed(&list) {
                        tracing::info!(%list, "the API server grants this list again");
                    }
                    note(&context, Shown::Event(event));
                }
                Err(error) => {
                    match error {
                        watcher::Error::InitialListFailed(refused @ kube::Error::Api(status))
                            if refusal::cannot_be_seen(refused) =>
                        {
                            if context.keys.lists.refused(&list) {
                                tracing::warn!(
                                    %list, why = status.message,
                                    "the API server refuses this list; its objects are not reconciled, and their changes \
                                     not noticed, until it is granted"
                                );
                            }
                            note(&context, Shown::Refused(&status.message));
                        }
                        _ => note(&context, Shown::Interrupted),
                    }
                    context.metrics.watch_interrupted(kind);
                    tracing::warn!(%list, error = with_causes(error), "the watch was interrupted and is retried");
                }
            }
            future::ready(())
        };
        watched(api, config, self.context.clock.clone()).for_each(handle).boxed()
    }
}
