//! What one operator knows of one kind from its watch: possibly outdated, with gaps until the next list, and with
//! repeated events.
//!
//! The driver decides when an event arrives. As in kube's watcher and reflector, a list arrives object by object, as of
//! the version at which it began, and anything may happen in between: changes of listed objects, which arrive after the
//! list, and another list, which shows nothing of what was deleted before it. Reconciles see nothing of a list before it is
//! complete. What an event ends and enqueues is the operator's own code (`operator/manager/event_handlers.rs`,
//! `known_objects.rs` and `references/sources.rs`).

use connect_operator::operator::cluster::initial_lists::List;
use connect_operator::operator::cluster::objects::guarded::Guarded;
use connect_operator::operator::cluster::references::Referenced;
use connect_operator::operator::cluster::references::sources::Sources;
use connect_operator::operator::kinds::managed_kind::{ManagedKind, object_ref, user_changes};
use connect_operator::operator::manager::event_handlers;
use connect_operator::operator::manager::known_objects::KnownObjects;
use kube::Resource;
use kube::runtime::watcher::Event;
use serde::de::DeserializeOwned;

use crate::prelude::*;

/// The watch of one of the operator's kinds.
pub(crate) struct Informer<K> {
    kind: Kind,
    known_objects: KnownObjects,
    store: BTreeMap<ObjectRef, K>,
    /// A list that is arriving.
    listing: Option<Listing<K>>,
    /// Whether a list was complete once.
    ready: bool,
    /// Everything up to this version was delivered.
    cursor: u64,
    /// Whether the last list was delivered as a whole.
    whole: bool,
    /// No event arrives until the next list.
    cut: bool,
}

struct Listing<K> {
    /// Objects still to come.
    rest: VecDeque<K>,
    arrived: BTreeMap<ObjectRef, K>,
}

impl<K> Informer<K>
where
    K: ManagedKind + Clone + DeserializeOwned,
{
    pub(crate) fn new(kind: Kind) -> Self {
        let (known_objects, store) = (KnownObjects::default(), BTreeMap::new());
        let (listing, ready, whole) = (None, false, false);
        Self { kind, known_objects, store, listing, ready, cursor: 0, whole, cut: true }
    }

    /// Returns the uid and the version of an object of the store.
    pub(crate) fn get(&self, object_ref: &ObjectRef) -> Option<(String, String)> {
        let object = self.store.get(object_ref)?;
        Some((object.uid().unwrap_or_default(), object.resource_version().unwrap_or_default()))
    }

    /// Returns all objects of the store, each with a hash of what users can change of it.
    pub(crate) fn state(&self) -> impl Iterator<Item = (ObjectRef, u64)> {
        self.store.iter().map(|(object_ref, object)| (object_ref.clone(), user_changes(object)))
    }

    /// Returns the version whose state was delivered; `None`: a list was not, or only in part.
    pub(crate) fn delivered(&self) -> Option<u64> {
        self.whole.then_some(self.cursor)
    }

    /// Whether reconciles of this kind may start.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready
    }

    /// Whether an event waits to be delivered.
    pub(crate) fn waits(&self, cluster: &Cluster) -> bool {
        let changed = || cluster.changes_after(self.cursor).iter().any(|change| change.key.kind == self.kind);
        !self.cut && (self.listing.is_some() || changed())
    }

    /// Disconnects the watch: no event arrives until the next list, and nothing more of the current list.
    pub(crate) fn cut(&mut self) {
        self.cut = true;
        self.listing = None;
    }

    /// Begins to list as of a version, and watches from there.
    pub(crate) fn list(&mut self, context: &Context, cluster: &Cluster, version: u64) {
        (self.cut, self.whole) = (false, false);
        self.cursor = version;
        if !self.ready {
            context.keys.lists.awaits(every::<K>());
        }
        let rest = cluster.at(self.kind, version).into_values().map(|value| parse::<K>(&value)).collect();
        self.listing = Some(Listing { rest, arrived: BTreeMap::new() });
        self.known_objects.note(context, &Event::<K>::Init);
    }

    /// Delivers the next event, or the next object of a list, or its end.
    pub(crate) fn deliver(&mut self, context: &Context, cluster: &Cluster) {
        if self.listing.is_some() {
            return self.continue_list(context);
        }
        let change = cluster.changes_after(self.cursor).iter().find(|change| change.key.kind == self.kind);
        let Some(change) = change else { return };
        self.cursor = change.version;
        let object = parse::<K>(&change.object);
        let object_ref = object_ref(&object);
        if change.deleted {
            self.store.remove(&object_ref);
            self.known_objects.note(context, &Event::Delete(object));
        } else {
            self.store.insert(object_ref, object.clone());
            self.known_objects.note(context, &Event::Apply(object));
        }
    }

    fn continue_list(&mut self, context: &Context) {
        let Some(mut listing) = self.listing.take() else { return };
        let Some(object) = listing.rest.pop_front() else {
            self.store = listing.arrived;
            (self.ready, self.whole) = (true, true);
            context.keys.lists.listed(&every::<K>());
            return self.known_objects.note(context, &Event::<K>::InitDone);
        };
        listing.arrived.insert(object_ref(&object), object.clone());
        self.known_objects.note(context, &Event::InitApply(object));
        self.listing = Some(listing);
    }
}

/// The list of all objects of a kind.
fn every<K: ManagedKind>() -> List {
    List { kind: K::KIND.as_str(), namespace: None }
}

fn parse<K: DeserializeOwned>(value: &Value) -> K {
    let Guarded(object) = Guarded::deserialize(value).expect("it has metadata");
    object.expect("a stored object has its kind")
}

/// What handles the events of a metadata watch.
enum Watched {
    /// Of Secrets or ConfigMaps.
    Sources(Sources),
    Namespaces,
}

/// The metadata watch of Secrets, of ConfigMaps or of namespaces.
pub(crate) struct Names<K> {
    kind: Kind,
    watched: Watched,
    /// Objects still to come of the list that is arriving.
    listing: Option<VecDeque<K>>,
    cursor: u64,
    /// Whether the last list was delivered as a whole.
    whole: bool,
    cut: bool,
}

impl<K> Names<K>
where
    K: Resource + DeserializeOwned,
{
    pub(crate) fn new(kind: Kind) -> Self {
        let watched = match kind {
            Kind::Secret => Watched::Sources(Sources::new(Referenced::Secret, None)),
            Kind::ConfigMap => Watched::Sources(Sources::new(Referenced::ConfigMap, None)),
            _ => Watched::Namespaces,
        };
        Self { kind, watched, listing: None, cursor: 0, whole: false, cut: true }
    }

    /// Returns the version whose state was delivered, as [`Informer::delivered`].
    pub(crate) fn delivered(&self) -> Option<u64> {
        self.whole.then_some(self.cursor)
    }

    pub(crate) fn waits(&self, cluster: &Cluster) -> bool {
        let changed = || cluster.changes_after(self.cursor).iter().any(|change| change.key.kind == self.kind);
        !self.cut && (self.listing.is_some() || changed())
    }

    /// Disconnects the watch, as [`Informer::cut`].
    pub(crate) fn cut(&mut self) {
        self.cut = true;
        self.listing = None;
    }

    /// Begins to list as of a version: every object of the list counts as changed, and at its end the objects that
    /// reference a missing one are enqueued.
    pub(crate) fn list(&mut self, context: &Context, cluster: &Cluster, version: u64) {
        (self.cut, self.whole) = (false, false);
        self.cursor = version;
        self.listing = Some(cluster.at(self.kind, version).into_values().map(|value| parse(&value)).collect());
        self.note(context, &Event::Init);
    }

    pub(crate) fn deliver(&mut self, context: &Context, cluster: &Cluster) {
        if let Some(rest) = &mut self.listing {
            let next = rest.pop_front();
            if next.is_none() {
                self.listing = None;
                self.whole = true;
            }
            return self.note(context, &next.map_or(Event::InitDone, Event::InitApply));
        }
        let change = cluster.changes_after(self.cursor).iter().find(|change| change.key.kind == self.kind);
        let Some(change) = change else { return };
        self.cursor = change.version;
        let object = parse(&change.object);
        self.note(context, &if change.deleted { Event::Delete(object) } else { Event::Apply(object) });
    }

    fn note(&mut self, context: &Context, event: &Event<K>) {
        match &mut self.watched {
            Watched::Sources(sources) => event_handlers::sourced(context, sources, event),
            Watched::Namespaces => event_handlers::namespace(context, event),
        }
    }
}
