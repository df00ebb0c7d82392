//! The remote of each project.
//!
//! No project uses the remote of another one, even if both name the same project and the same API client: an API client's id is
//! not secret (`docs/security.md`). Namespaces that are to share limits and calls use a `ClusterConnectProject`.

use std::collections::BTreeMap;
use std::sync::Arc;

use clock::Clock;
use connect_api::CommerceApi;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

use super::settings::{ConnectFactory, Settings};
use super::state::{Common, Remote};
use crate::metrics::Metrics;
use crate::mutex::Mutex;
use crate::operator::object_ref::ObjectRef;

/// The remotes of all `ConnectProject`s and `ClusterConnectProject`s.
pub struct Remotes {
    factory: Arc<dyn ConnectFactory>,
    common: Common,
    jitter_seed: u64,
    registry: Mutex<Registry>,
}

#[derive(Default)]
struct Registry {
    /// The remote of each project with its tasks, which end when it is removed.
    remotes: BTreeMap<ObjectRef, (Arc<Remote>, JoinSet<()>)>,
    /// The client of the HTTP API of each project, with its address and settings. A client keeps its token, and what the
    /// service asked it to wait for.
    commerce: BTreeMap<ObjectRef, (String, Settings, Arc<dyn CommerceApi>)>,
    /// How many remotes were opened so far.
    opened: u64,
}

impl Remotes {
    /// Creates an empty set. `enqueue` gets every object to reconcile again; `concurrency` is the number of permits of
    /// each remote, `jitter_seed` the seed of its jitter; `metrics` count panics
    /// of its tasks.
    pub fn new(
        clock: Clock,
        factory: Arc<dyn ConnectFactory>,
        enqueue: UnboundedSender<ObjectRef>,
        concurrency: usize,
        jitter_seed: u64,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        let common = Common { clock, enqueue, concurrency, metrics };
        Arc::new(Self { factory, common, jitter_seed, registry: Mutex::default() })
    }

    /// Returns the remote of `project`; opens one if it has none with these settings. Call it in every reconcile of the project,
    /// and enqueue the resources that name the project if the remote is another one than before. If only the rate has changed,
    /// it is paused for as long as the one before. Needs a tokio runtime, for the tasks.
    ///
    /// # Errors
    /// The sentence of [`ConnectFactory::connect`]; nothing has changed then.
    pub fn claim(&self, project: &ObjectRef, settings: &Settings) -> Result<Arc<Remote>, String> {
        let before = self.of(project);
        if let Some(remote) = before.as_ref().filter(|remote| remote.settings() == settings) {
            return Ok(Arc::clone(remote));
        }
        // Without the lock: this reads certificates, and must not block others.
        let client = self.factory.connect(settings)?;
        let mut registry = self.registry.lock();
        registry.opened = registry.opened.wrapping_add(1);
        let number = self.jitter_seed.wrapping_add(registry.opened);
        let mut remote = Remote::new(&self.common, number, project.clone(), client, settings.clone());
        if let Some(before) = before.filter(|before| before.settings().is_same_login(settings)) {
            remote.continue_from(&before);
        }
        let remote = Arc::new(remote);
        let mut tasks = JoinSet::new();
        tasks.spawn(Arc::clone(&remote).run());
        if let Some((before, _)) = registry.remotes.insert(project.clone(), (Arc::clone(&remote), tasks)) {
            before.close();
        }
        Ok(remote)
    }

    /// Closes the remote of `project`, and ends its tasks.
    pub fn release(&self, project: &ObjectRef) {
        let mut registry = self.registry.lock();
        registry.commerce.remove(project);
        if let Some((remote, _)) = registry.remotes.remove(project) {
            remote.close();
        }
    }

    /// Returns the remote of `project`.
    pub fn of(&self, project: &ObjectRef) -> Option<Arc<Remote>> {
        self.registry.lock().remotes.get(project).map(|(remote, _)| Arc::clone(remote))
    }

    /// Returns the client of the HTTP API of `project` at `url`, which all its resources share.
    ///
    /// # Errors
    /// The sentence of [`ConnectFactory::commerce`].
    pub fn commerce(
        &self,
        project: &ObjectRef,
        settings: &Settings,
        url: &str,
    ) -> Result<Arc<dyn CommerceApi>, String> {
        if let Some((at, made_of, client)) = self.registry.lock().commerce.get(project)
            && (at.as_str(), made_of) == (url, settings)
        {
            return Ok(Arc::clone(client));
        }
        // Without the lock, as above.
        let client = self.factory.commerce(settings, url)?;
        let mut registry = self.registry.lock();
        // Not for a project that was released meanwhile.
        if registry.remotes.contains_key(project) {
            registry.commerce.insert(project.clone(), (url.to_owned(), settings.clone(), Arc::clone(&client)));
        }
        Ok(client)
    }

    /// Removes all that any remote keeps for a resource.
    pub fn forget(&self, object_ref: &ObjectRef) {
        for (remote, _) in self.registry.lock().remotes.values() {
            remote.forget(object_ref);
        }
    }

    /// Returns every object that any remote keeps something for, and every project that has a remote.
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        let registry = self.registry.lock();
        let kept = registry.remotes.values().flat_map(|(remote, _)| remote.object_refs());
        kept.chain(registry.remotes.keys().cloned()).collect()
    }
}

#[cfg(test)]
#[path = "remotes_tests.rs"]
mod tests;
