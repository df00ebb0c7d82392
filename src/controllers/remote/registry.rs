//! Which projects share which remote: those that say how to reach it in the same words, the secret included.
//!
//! An API client's id is no secret. If it were enough to name it, a project of another namespace could work with
//! credentials that it does not know (`docs/security.md`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use clock::Clock;
use connect_api::CommerceApi;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;

use super::settings::{ConnectFactory, Connection, Settings};
use super::state::Remote;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::work::Work;

/// Every remote project that a `ConnectProject` names, once for each way in: one for each address, project key and set
/// of credentials, however many projects hold them.
pub struct Remotes {
    clock: Clock,
    factory: Arc<dyn ConnectFactory>,
    enqueue: UnboundedSender<ObjectRef>,
    concurrency: usize,
    jitter_seed: u64,
    work: Arc<Work>,
    registry: Mutex<Registry>,
}

#[derive(Default)]
struct Registry {
    remotes: Vec<(Arc<Remote>, Poller)>,
    by_project: HashMap<ObjectRef, Arc<Remote>>,
    /// Clients of HTTP APIs that are in use, and what each was made of: one for each address and set of credentials.
    commerce: Vec<(String, Settings, Weak<dyn CommerceApi>)>,
    /// How many there were, so that no two have the same chance.
    opened: u64,
}

impl Registry {
    /// The client of the HTTP API at `url` with these settings, if one is in use.
    fn commerce(&mut self, settings: &Settings, url: &str) -> Option<Arc<dyn CommerceApi>> {
        self.commerce.retain(|(.., client)| client.strong_count() > 0);
        let known = self.commerce.iter().find(|(at, made_of, _)| at == url && made_of == settings);
        known.and_then(|(.., client)| client.upgrade())
    }
}

/// The task of a remote; ends with its place in the registry.
struct Poller(AbortHandle);

impl Drop for Poller {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Remotes {
    /// None yet. `enqueue` gets every subject that is to run again; `concurrency` is the number of turns that each
    /// remote gives out at once, `jitter_seed` the start of its chance; `work` hears of good answers, and watches the looks.
    #[must_use]
    pub fn new(
        clock: Clock,
        factory: Arc<dyn ConnectFactory>,
        enqueue: UnboundedSender<ObjectRef>,
        concurrency: usize,
        jitter_seed: u64,
        work: Arc<Work>,
    ) -> Arc<Self> {
        Arc::new(Self { clock, factory, enqueue, concurrency, jitter_seed, work, registry: Mutex::default() })
    }

    /// Says how `project` reaches its remote: makes it, joins it, or updates it. To be called in every run of the
    /// project; settings that are the same change nothing. A project that has its remote for itself keeps it when its
    /// credentials change: the client is made anew, the gate opens, and what is watched stays. Otherwise the others
    /// stay with what they have. Needs a tokio runtime, for the looker.
    ///
    /// # Errors
    /// The sentence of [`ConnectFactory::connect`]; everything is then as it was before.
    pub fn claim(&self, project: &ObjectRef, settings: &Settings) -> Result<Arc<Remote>, String> {
        let mut made = None;
        loop {
            if let Some(remote) = self.try_claim(project, settings, made.take()) {
                return Ok(remote);
            }
            // Without a lock: certificates are read, and everybody else goes on meanwhile.
            made = Some(self.factory.connect(settings)?);
        }
    }

    /// The same with a client of these settings, if one is needed; `None`: one is, and nothing has changed.
    fn try_claim(
        &self,
        project: &ObjectRef,
        settings: &Settings,
        made: Option<Arc<dyn Connection>>,
    ) -> Option<Arc<Remote>> {
        let mut registry = self.lock();
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

    /// Gives up the claim of `project`; the last one ends the looker. What was watched for resources of the
    /// project's namespace is forgotten, and they are woken.
    pub fn release(&self, project: &ObjectRef) {
        let mut registry = self.lock();
        if let Some(remote) = registry.by_project.remove(project) {
            Self::leave(&mut registry, project, &remote);
        }
    }

    /// The remote that `project` claimed.
    #[must_use]
    pub fn of(&self, project: &ObjectRef) -> Option<Arc<Remote>> {
        self.lock().by_project.get(project).cloned()
    }

    /// The client of the HTTP API at `url`, shared by all who reach it with the same settings, as long as one keeps it.
    ///
    /// # Errors
    /// The sentence of [`ConnectFactory::commerce`].
    pub fn commerce(&self, settings: &Settings, url: &str) -> Result<Arc<dyn CommerceApi>, String> {
        if let Some(client) = self.lock().commerce(settings, url) {
            return Ok(client);
        }
        // Without a lock, as above; of two who make one at once, both use the first.
        let client = self.factory.commerce(settings, url)?;
        let mut registry = self.lock();
        if let Some(first) = registry.commerce(settings, url) {
            return Ok(first);
        }
        registry.commerce.push((url.to_owned(), settings.clone(), Arc::downgrade(&client)));
        Ok(client)
    }

    /// Ends all that is kept for a resource, at whichever remote it was.
    pub fn forget(&self, object_ref: &ObjectRef) {
        for (remote, _) in &self.lock().remotes {
            remote.forget(object_ref);
        }
    }

    /// Every subject that something is kept for, at whichever remote, and every project that claims one.
    #[must_use]
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        let registry = self.lock();
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
            Arc::clone(&self.work),
        );
        let remote = Arc::new(remote);
        remote.join(project, settings, None);
        let tasks = futures::future::join(Arc::clone(&remote).look(), Arc::clone(&remote).verify());
        let poller = Poller(tokio::spawn(tasks).abort_handle());
        registry.remotes.push((Arc::clone(&remote), poller));
        remote
    }

    fn leave(registry: &mut Registry, project: &ObjectRef, remote: &Arc<Remote>) {
        if remote.part(project) {
            registry.remotes.retain(|(other, _)| !Arc::ptr_eq(other, remote));
            remote.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
