//! Which projects share which remote: those with equal connection settings, the secret included.
//!
//! An API client's id is not secret. If naming it were enough, a project of another namespace could use credentials
//! that it does not know (`docs/security.md`).

use std::sync::{Arc, Weak};

use clock::Clock;
use connect_api::CommerceApi;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

use super::Connection;
use super::settings::{ConnectFactory, Settings};
use super::state::Remote;
use crate::metrics::Metrics;
use crate::mutex::Mutex;
use crate::operator::object_ref::ObjectRef;

/// The remotes of all `ConnectProject`s: one for each combination of address, project key and set of credentials,
/// however many projects share it.
pub struct Remotes {
    clock: Clock,
    factory: Arc<dyn ConnectFactory>,
    enqueue: UnboundedSender<ObjectRef>,
    concurrency: usize,
    jitter_seed: u64,
    metrics: Arc<Metrics>,
    registry: Mutex<Registry>,
}

#[derive(Default)]
struct Registry {
    /// The remotes with their tasks, which end when they are removed.
    remotes: Vec<(Arc<Remote>, JoinSet<()>)>,
    /// Clients of HTTP APIs in use, each with its address and settings: one for each address and set of credentials.
    commerce: Vec<(String, Settings, Weak<dyn CommerceApi>)>,
    /// How many remotes were opened so far.
    opened: u64,
}

impl Registry {
    /// Returns the first remote of that kind.
    fn find(&self, is_meant: impl Fn(&Remote) -> bool) -> Option<Arc<Remote>> {
        self.remotes.iter().map(|(remote, _)| remote).find(|remote| is_meant(remote)).cloned()
    }

    fn leave(&mut self, project: &ObjectRef, remote: &Arc<Remote>) {
        if remote.part(project) {
            self.remotes.retain(|(other, _)| !Arc::ptr_eq(other, remote));
            remote.close();
        }
    }
}

impl Remotes {
    /// Creates an empty set. `enqueue` gets every object to reconcile again; `concurrency` is the number of permits of
    /// each remote, `jitter_seed` the seed of its jitter; `metrics` count panics
    /// of its tasks.
    #[must_use]
    pub fn new(
        clock: Clock,
        factory: Arc<dyn ConnectFactory>,
        enqueue: UnboundedSender<ObjectRef>,
        concurrency: usize,
        jitter_seed: u64,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        Arc::new(Self { clock, factory, enqueue, concurrency, jitter_seed, metrics, registry: Mutex::default() })
    }

    /// Claims the remote of `project`: opens or joins it. Call it in every reconcile of the project; unchanged settings
    /// change nothing. With other credentials, the project moves to another remote. Needs a tokio runtime, for the tasks.
    ///
    /// # Errors
    /// The sentence of [`ConnectFactory::connect`]; nothing has changed then.
    pub fn claim(&self, project: &ObjectRef, settings: &Settings) -> Result<Arc<Remote>, String> {
        let is_open = self.registry.lock().find(|remote| remote.is_reached_by(settings)).is_some();
        // Without the lock: this reads certificates, and must not block others.
        let client = if is_open { None } else { Some(self.factory.connect(settings)?) };
        let mut registry = self.registry.lock();
        let before = registry.find(|remote| remote.is_claimed_by(project));
        let remote = if let Some(remote) = registry.find(|remote| remote.is_reached_by(settings)) {
            remote
        } else {
            // There is no client yet if the remote was closed in between.
            let client = client.map_or_else(|| self.factory.connect(settings), Ok)?;
            self.open(&mut registry, settings, client)
        };
        remote.join(project, settings.requests_per_second);
        if let Some(before) = before.filter(|before| !Arc::ptr_eq(before, &remote)) {
            registry.leave(project, &before);
        }
        Ok(remote)
    }

    fn open(&self, registry: &mut Registry, settings: &Settings, client: Arc<dyn Connection>) -> Arc<Remote> {
        registry.opened = registry.opened.wrapping_add(1);
        let remote = Arc::new(Remote::new(
            self.clock.clone(),
            self.enqueue.clone(),
            self.concurrency,
            self.jitter_seed.wrapping_add(registry.opened),
            client,
            settings.clone(),
            Arc::clone(&self.metrics),
        ));
        let mut tasks = JoinSet::new();
        tasks.spawn(Arc::clone(&remote).run());
        registry.remotes.push((Arc::clone(&remote), tasks));
        remote
    }

    /// Gives up the claim of `project`; the last one ends its tasks. Everything kept for resources of the project's
    /// namespace is removed, and they are enqueued.
    pub fn release(&self, project: &ObjectRef) {
        let mut registry = self.registry.lock();
        if let Some(remote) = registry.find(|remote| remote.is_claimed_by(project)) {
            registry.leave(project, &remote);
        }
    }

    /// Returns the remote that `project` claimed.
    #[must_use]
    pub fn of(&self, project: &ObjectRef) -> Option<Arc<Remote>> {
        self.registry.lock().find(|remote| remote.is_claimed_by(project))
    }

    /// Returns the client of the HTTP API at `url`. All callers with the same settings share it, as long as one of them
    /// keeps it.
    ///
    /// # Errors
    /// The sentence of [`ConnectFactory::commerce`].
    pub fn commerce(&self, settings: &Settings, url: &str) -> Result<Arc<dyn CommerceApi>, String> {
        let known = |registry: &Registry| {
            let known = registry.commerce.iter().find(|(at, made_of, _)| at == url && made_of == settings);
            known.and_then(|(.., client)| client.upgrade())
        };
        if let Some(client) = known(&self.registry.lock()) {
            return Ok(client);
        }
        // Without the lock, as above.
        let client = self.factory.commerce(settings, url)?;
        let mut registry = self.registry.lock();
        registry.commerce.retain(|(.., client)| client.strong_count() > 0);
        Ok(known(&registry).unwrap_or_else(|| {
            registry.commerce.push((url.to_owned(), settings.clone(), Arc::downgrade(&client)));
            client
        }))
    }

    /// Removes all that any remote keeps for a resource.
    pub fn forget(&self, object_ref: &ObjectRef) {
        for (remote, _) in &self.registry.lock().remotes {
            remote.forget(object_ref);
        }
    }

    /// Returns every object that any remote keeps something for, and every project that claims a remote.
    #[must_use]
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        let registry = self.registry.lock();
        registry.remotes.iter().flat_map(|(remote, _)| remote.object_refs_and_projects()).collect()
    }
}

#[cfg(test)]
#[path = "remotes_tests.rs"]
mod tests;
