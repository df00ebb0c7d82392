//! Which projects share which remote: those with equal connection settings, the secret included.
//!
//! An API client's id is not secret. If naming it were enough, a project of another namespace could use credentials
//! that it does not know (`docs/security.md`).

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use clock::Clock;
use connect_api::CommerceApi;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

use super::settings::{ConnectFactory, Connection, Settings};
use super::state::Remote;
use crate::controllers::object_ref::ObjectRef;
use crate::metrics::Metrics;
use crate::mutex::Mutex;

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
    by_project: HashMap<ObjectRef, Arc<Remote>>,
    /// Clients of HTTP APIs in use, each with its address and settings: one for each address and set of credentials.
    commerce: Vec<(String, Settings, Weak<dyn CommerceApi>)>,
    /// How many remotes were opened so far, so that each has its own jitter.
    opened: u64,
}

impl Registry {
    /// Returns the client of the HTTP API at `url` with these settings, if one is in use.
    fn commerce(&mut self, settings: &Settings, url: &str) -> Option<Arc<dyn CommerceApi>> {
        self.commerce.retain(|(.., client)| client.strong_count() > 0);
        let known = self.commerce.iter().find(|(at, made_of, _)| at == url && made_of == settings);
        known.and_then(|(.., client)| client.upgrade())
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

    /// Claims the remote of `project`: opens, joins or updates it. Call it in every reconcile of the project; unchanged
    /// settings change nothing. A project that is the only one to claim its remote keeps it when its credentials
    /// change: it gets a new client, the circuit breaker closes, and polling goes on. If others share the remote, they
    /// keep it with their settings. Needs a tokio runtime, for its tasks.
    ///
    /// # Errors
    /// The sentence of [`ConnectFactory::connect`]; nothing has changed then.
    pub fn claim(&self, project: &ObjectRef, settings: &Settings) -> Result<Arc<Remote>, String> {
        let mut made = None;
        loop {
            if let Some(remote) = self.try_claim(project, settings, made.take()) {
                return Ok(remote);
            }
            // Without the lock: this reads certificates, and must not block others.
            made = Some(self.factory.connect(settings)?);
        }
    }

    /// Claims with the client `made` of these settings, if a new one is needed; `None`: one is needed but missing, and
    /// nothing has changed.
    fn try_claim(
        &self,
        project: &ObjectRef,
        settings: &Settings,
        made: Option<Arc<dyn Connection>>,
    ) -> Option<Arc<Remote>> {
        let mut registry = self.registry.lock();
        let before = registry.by_project.get(project).cloned();
        let shared = registry.remotes.iter().map(|(remote, _)| remote).find(|remote| remote.is_reached_by(settings));
        let kept = before.as_ref().filter(|before| before.is_claimed_by(project, settings));
        let remote = match shared.or(kept).cloned() {
            Some(remote) => remote.join(project, settings, made).then_some(remote)?,
            None => self.open(&mut registry, project, settings, made?),
        };
        registry.by_project.insert(project.clone(), Arc::clone(&remote));
        if let Some(before) = before.filter(|before| !Arc::ptr_eq(before, &remote)) {
            Self::leave(&mut registry, project, &before);
        }
        Some(remote)
    }

    /// Gives up the claim of `project`; the last one ends its tasks. Everything kept for resources of the project's
    /// namespace is removed, and they are enqueued.
    pub fn release(&self, project: &ObjectRef) {
        let mut registry = self.registry.lock();
        if let Some(remote) = registry.by_project.remove(project) {
            Self::leave(&mut registry, project, &remote);
        }
    }

    /// Returns the remote that `project` claimed.
    #[must_use]
    pub fn of(&self, project: &ObjectRef) -> Option<Arc<Remote>> {
        self.registry.lock().by_project.get(project).cloned()
    }

    /// Returns the client of the HTTP API at `url`. All callers with the same settings share it, as long as one of them
    /// keeps it.
    ///
    /// # Errors
    /// The sentence of [`ConnectFactory::commerce`].
    pub fn commerce(&self, settings: &Settings, url: &str) -> Result<Arc<dyn CommerceApi>, String> {
        if let Some(client) = self.registry.lock().commerce(settings, url) {
            return Ok(client);
        }
        // Without the lock, as above; if two callers make a client at once, both use the first.
        let client = self.factory.commerce(settings, url)?;
        let mut registry = self.registry.lock();
        if let Some(first) = registry.commerce(settings, url) {
            return Ok(first);
        }
        registry.commerce.push((url.to_owned(), settings.clone(), Arc::downgrade(&client)));
        Ok(client)
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
        let kept = registry.remotes.iter().flat_map(|(remote, _)| remote.object_refs());
        kept.chain(registry.by_project.keys().cloned()).collect()
    }

    fn open(
        &self,
        registry: &mut Registry,
        project: &ObjectRef,
        settings: &Settings,
        client: Arc<dyn Connection>,
    ) -> Arc<Remote> {
        registry.opened = registry.opened.wrapping_add(1);
        let remote = Remote::new(
            self.clock.clone(),
            self.enqueue.clone(),
            self.concurrency,
            self.jitter_seed.wrapping_add(registry.opened),
            client,
            settings.clone(),
            Arc::clone(&self.metrics),
        );
        let remote = Arc::new(remote);
        remote.join(project, settings, None);
        let mut tasks = JoinSet::new();
        tasks.spawn(Arc::clone(&remote).run());
        registry.remotes.push((Arc::clone(&remote), tasks));
        remote
    }

    fn leave(registry: &mut Registry, project: &ObjectRef, remote: &Arc<Remote>) {
        if remote.part(project) {
            registry.remotes.retain(|(other, _)| !Arc::ptr_eq(other, remote));
            remote.close();
        }
    }
}

#[cfg(test)]
#[path = "remotes_tests.rs"]
mod tests;
