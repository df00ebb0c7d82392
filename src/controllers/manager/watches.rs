//! What is watched: objects of our kinds, the objects of mirrors, and the names of Secrets and ConfigMaps.
//!
//! Whatever a watch shows enqueues by name, through the same channel as everything else. Nothing is awaited between the
//! API server and the store: one object must hold up no other.

use futures::FutureExt;
use futures::future::{self, BoxFuture};
use futures::stream::{BoxStream, StreamExt};
use kube::core::PartialObjectMeta;
use kube::core::error_boundary::InvalidObject;
use kube::runtime::reflector::{self, Store};
use kube::runtime::{WatchStreamExt, watcher};
use tokio::sync::mpsc::{self, Receiver};

use super::Scope;
use crate::controllers::changes::Changes;
use crate::controllers::events::{self, KnownObjects};
use crate::controllers::lists::{List, PAGE};
use crate::controllers::managed_kind::{ManagedKind, strip};
use crate::controllers::object::Object;
use crate::controllers::object_ref::Kind;
use crate::controllers::readable::{self, Guarded, only_readable};
use crate::controllers::references::Named;
use crate::controllers::refusal;
use crate::controllers::sources::Sources;
use crate::crd::Connector;

/// The watch of one of our kinds.
pub(super) struct Watched<K: Object> {
    /// Has to be polled, and yields nothing: what it sees enqueues by name, and its errors are logged. An error that came
    /// out of it would make kube's controller pause, and hold up what others enqueue.
    pub(super) stream: BoxStream<'static, watcher::Result<K>>,
    /// What it has seen, without what nobody needs.
    pub(super) store: Store<K>,
    /// What cannot be read, for people.
    pub(super) unreadable: Receiver<InvalidObject>,
}

/// How everything is watched: listed in pages that memory can hold, whatever people write into their objects. A page is read
/// from etcd as it is now, since the API server gives the whole list at once where its cache may answer.
pub(super) fn config() -> watcher::Config {
    watcher::Config::default().page_size(PAGE)
}

impl Scope {
    /// Watches one of our kinds.
    pub(super) fn objects<K>(&self) -> Watched<K>
    where
        K: Object + ManagedKind,
    {
        let (store, writer) = reflector::store();
        let (unreadable_sender, unreadable) = mpsc::channel(readable::WAITING);
        // Projects are read by whatever names them, whoever speaks for them.
        let config = match K::KIND {
            Kind::Project => config(),
            Kind::Deployment | Kind::Staged | Kind::Check | Kind::Mirror => config().labels(&self.selector),
        };
        let watcher = watcher(self.api::<Guarded<K>>(), config).default_backoff();
        let events = watcher.modify(strip).inspect(self.note_known_objects::<K>());
        let stream =
            only_readable(events, store.clone(), unreadable_sender).reflect(writer).filter_map(self.enqueue_changes());
        Watched { stream: stream.boxed(), store, unreadable }
    }

    /// Notes what exists and what is gone, and how the first list stands.
    fn note_known_objects<K>(&self) -> impl FnMut(&watcher::Result<watcher::Event<Guarded<K>>>) + Send + use<K>
    where
        K: Object + ManagedKind,
    {
        let context = self.context.clone();
        let mut known_objects = KnownObjects::new(self.namespace.clone());
        let list = List { kind: K::KIND, namespace: self.namespace.clone() };
        let mut refused = false;
        move |event| match event {
            Ok(event) => {
                if matches!(event, watcher::Event::InitDone) && context.tracker.listed(&list) && refused {
                    tracing::info!(%list, "the API server lists these again");
                }
                for object_ref in known_objects.note(&context, event) {
                    events::ended(&context, &object_ref);
                }
            }
            Err(watcher::Error::InitialListFailed(error @ kube::Error::Api(status)))
                if refusal::cannot_be_seen(error) =>
            {
                known_objects.refused::<K>(&context);
                if context.tracker.list_refused(&list) {
                    refused = true;
                    tracing::warn!(
                        %list, why = status.message,
                        "the API server refuses to list these, so they are left alone until it does; all others go on"
                    );
                }
            }
            Err(_) => {}
        }
    }

    /// Enqueues what people changed, from what is in the store already.
    fn enqueue_changes<K>(
        &self,
    ) -> impl FnMut(watcher::Result<watcher::Event<K>>) -> future::Ready<Option<watcher::Result<K>>> + Send + use<K>
    where
        K: Object + ManagedKind,
    {
        let context = self.context.clone();
        let watched = self.namespace.clone().unwrap_or_else(|| "all".to_owned());
        let mut changes = Changes::default();
        move |event| {
            match event {
                Ok(event) => {
                    for object_ref in changes.note(&event) {
                        context.tracker.changed(&object_ref);
                        // From here on, so that the resync does not take it for missed.
                        context.tracker.event(&object_ref);
                        context.enqueue(object_ref);
                    }
                }
                Err(error) => {
                    let kind = K::KIND.as_str();
                    context.tracker.watch_interrupted(kind);
                    tracing::warn!(%error, kind, namespace = %watched, "watching is interrupted");
                }
            }
            future::ready(None)
        }
    }

    /// Wakes the mirror whose object was changed by somebody else. Nothing of the objects is kept.
    pub(super) fn mirrored(&self) -> BoxFuture<'static, ()> {
        let context = self.context.clone();
        watcher(self.api::<PartialObjectMeta<Connector>>(), config())
            .default_backoff()
            .take_until(self.stopped())
            .for_each(move |event| {
                match event {
                    Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) => {
                        events::mirrored(&context, &object.metadata, false);
                    }
                    Ok(watcher::Event::Delete(object)) => events::mirrored(&context, &object.metadata, true),
                    Ok(watcher::Event::Init | watcher::Event::InitDone) => {}
                    Err(error) => {
                        context.tracker.watch_interrupted(Kind::Mirror.as_str());
                        tracing::warn!(%error, "watching Connector objects is interrupted");
                    }
                }
                future::ready(())
            })
            .boxed()
    }

    /// Wakes whoever names an object that changed, or that is gone.
    pub(super) fn sources<K>(&self, kind: Named, config: watcher::Config) -> BoxFuture<'static, ()>
    where
        K: Object,
    {
        let context = self.context.clone();
        let mut sources = Sources::new(kind, self.namespace.clone());
        watcher(self.api::<PartialObjectMeta<K>>(), config)
            .default_backoff()
            .take_until(self.stopped())
            .for_each(move |event| {
                match event {
                    Ok(event) => events::sourced(&context, sources.note(&context.references, &event)),
                    Err(error) => {
                        context.tracker.watch_interrupted(if kind == Named::Secret { "Secret" } else { "ConfigMap" });
                        tracing::warn!(?kind, %error, "watching is interrupted");
                    }
                }
                future::ready(())
            })
            .boxed()
    }
}
