//! The watches: objects of the managed kinds, and the metadata of Secrets and ConfigMaps.
//!
//! A watch enqueues what it shows by name, through the same channel as everything else. Nothing is awaited between the
//! API server and the store: one object must not delay any other.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use clock::{Clock, later};
use futures::FutureExt;
use futures::future::{self, BoxFuture};
use futures::stream::{self, BoxStream, StreamExt};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::core::error_boundary::InvalidObject;
use kube::core::{NamespaceResourceScope, PartialObjectMeta};
use kube::runtime::reflector::{self, Store};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::{self, Receiver};

use super::changes::Changes;
use super::event_handlers::{self, KnownObjects};
use super::invalid_objects::{self, only_readable};
use super::scope::Scope;
use crate::controllers::initial_lists::{List, PAGE};
use crate::controllers::kinds::managed_kind::{ManagedKind, Object};
use crate::controllers::object_ref::Kind;
use crate::controllers::objects::guarded::Guarded;
use crate::controllers::objects::seen::Seen;
use crate::controllers::references::Named;
use crate::controllers::references::sources::Sources;
use crate::controllers::reporting::refusal;
use crate::error_text::with_causes;

/// An event of the watch of one kind.
type SeenEvent<K> = watcher::Result<watcher::Event<Seen<K>>>;

/// The watch of one managed kind.
pub(super) struct Watched<K: ManagedKind> {
    /// Has to be polled, and yields nothing: it enqueues by name what it observes, and logs its errors. An error that
    /// it yielded would make kube's controller pause, and delay what others enqueue.
    pub(super) stream: BoxStream<'static, watcher::Result<Seen<K>>>,
    /// What it has observed.
    pub(super) store: Store<Seen<K>>,
    /// Objects that this version cannot deserialize, to be reported to users.
    pub(super) unreadable: Receiver<InvalidObject>,
}

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

impl Scope {
    /// Watches one managed kind through this API.
    pub(super) fn objects<K>(&self, api: Api<Guarded<K>>) -> Watched<K>
    where
        K: ManagedKind,
    {
        let (store, writer) = reflector::store();
        let (unreadable_sender, unreadable) = mpsc::channel(invalid_objects::WAITING);
        // A project may be named by a resource of any install, so the selector does not apply to projects.
        let config = match K::KIND {
            Kind::Project | Kind::ClusterProject => watcher::Config::default(),
            _ => watcher::Config::default().labels(&self.selector),
        };
        let events = watched(api, config, self.context.clock.clone()).inspect(self.note_known_objects::<K>());
        let stream =
            only_readable(events, store.clone(), unreadable_sender).reflect(writer).filter_map(self.enqueue_changes());
        Watched { stream: stream.boxed(), store, unreadable }
    }

    /// Records which objects exist and which were deleted, and the state of the first list.
    fn note_known_objects<K>(&self) -> impl FnMut(&watcher::Result<watcher::Event<Guarded<K>>>) + Send + use<K>
    where
        K: ManagedKind,
    {
        let context = self.context.clone();
        let mut known_objects = KnownObjects::default();
        let list = List { kind: K::KIND.as_str(), namespace: self.namespace.clone() };
        let lists = Arc::clone(&self.lists);
        move |event| match event {
            Ok(event) => {
                if matches!(event, watcher::Event::InitDone) && lists.listed(&list) {
                    tracing::info!(%list, "the API server grants this list again");
                }
                for object_ref in known_objects.note(&context, event) {
                    event_handlers::deleted(&context, &object_ref);
                }
            }
            Err(watcher::Error::InitialListFailed(error @ kube::Error::Api(status)))
                if refusal::cannot_be_seen(error) =>
            {
                known_objects.refused::<K>(&context);
                if lists.refused(&list) {
                    tracing::warn!(
                        %list, why = status.message,
                        "the API server refuses this list; its objects are not reconciled until it is granted"
                    );
                }
            }
            Err(_) => {}
        }
    }

    /// Enqueues what users changed, once it is in the store.
    fn enqueue_changes<K>(
        &self,
    ) -> impl FnMut(SeenEvent<K>) -> future::Ready<Option<watcher::Result<Seen<K>>>> + Send + use<K>
    where
        K: ManagedKind,
    {
        let context = self.context.clone();
        let watched = self.namespace.clone().unwrap_or_else(|| "all".to_owned());
        let mut changes = Changes::default();
        move |event| {
            match event {
                Ok(event) => {
                    for object_ref in changes.note(&event) {
                        context.changed(&object_ref);
                        context.enqueue(object_ref);
                    }
                }
                Err(error) => {
                    let kind = K::KIND.as_str();
                    context.metrics.watch_interrupted(kind);
                    tracing::warn!(error = with_causes(&error), kind, namespace = %watched, "the watch was interrupted and is retried");
                }
            }
            future::ready(None)
        }
    }

    /// Follows the labels of namespaces, on which permissions to use a `ClusterConnectProject` depend.
    pub(super) fn namespaces(&self) -> BoxFuture<'static, ()> {
        let context = self.context.clone();
        let namespaces = Api::<PartialObjectMeta<Namespace>>::all(context.client.clone());
        watched(namespaces, watcher::Config::default(), context.clock.clone())
            .take_until(self.stopped())
            .for_each(move |event| {
                match event {
                    Ok(event) => event_handlers::namespace(&context, &event),
                    Err(error) => {
                        if let watcher::Error::InitialListFailed(refused @ kube::Error::Api(status)) = &error
                            && refusal::cannot_be_seen(refused)
                        {
                            event_handlers::namespaces_refused(&context, &status.message);
                        }
                        context.metrics.watch_interrupted("Namespace");
                        tracing::warn!(
                            error = with_causes(&error),
                            "the watch of namespaces was interrupted and is retried"
                        );
                    }
                }
                future::ready(())
            })
            .boxed()
    }

    /// Enqueues the resources that name an object that was changed or deleted.
    pub(super) fn sources<K>(&self, kind: Named, config: watcher::Config) -> BoxFuture<'static, ()>
    where
        K: Object + Resource<Scope = NamespaceResourceScope>,
    {
        let context = self.context.clone();
        let mut sources = Sources::new(kind, self.namespace.clone());
        let list = List { kind: kind.as_str(), namespace: self.namespace.clone() };
        let lists = Arc::clone(&self.lists);
        watched(self.api::<PartialObjectMeta<K>>(), config, context.clock.clone())
            .take_until(self.stopped())
            .for_each(move |event| {
                match event {
                    Ok(event) => {
                        if matches!(event, watcher::Event::InitDone) && lists.listed(&list) {
                            tracing::info!(%list, "the API server grants this list again");
                        }
                        event_handlers::sourced(&context, &mut sources, &event);
                    }
                    Err(error) => {
                        if let watcher::Error::InitialListFailed(refused @ kube::Error::Api(status)) = &error
                            && refusal::cannot_be_seen(refused)
                            && lists.refused(&list)
                        {
                            tracing::warn!(
                                %list, why = status.message,
                                "the API server refuses this list; changes of its objects are not noticed until it is granted"
                            );
                        }
                        context.contents.interrupted();
                        context.metrics.watch_interrupted(kind.as_str());
                        tracing::warn!(?kind, error = with_causes(&error), "the watch was interrupted and is retried");
                    }
                }
                future::ready(())
            })
            .boxed()
    }
}
