//! Which projects share which remote.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;

use super::settings::{ConnectFactory, Identity, Settings};
use super::state::Remote;
use crate::clock::Clock;
use crate::controllers::subject::Subject;

/// Every remote project that a `ConnectProject` names, once each, however many name it: one for each API address,
/// project key and client id.
pub struct Remotes {
    clock: Clock,
    factory: Arc<dyn ConnectFactory>,
    wake: UnboundedSender<Subject>,
    concurrency: usize,
    registry: Mutex<Registry>,
}

#[derive(Default)]
struct Registry {
    by_identity: HashMap<Identity, (Arc<Remote>, Looker)>,
    by_project: HashMap<Subject, Identity>,
}

/// The task of a remote; ends with its place in the registry.
struct Looker(AbortHandle);

impl Drop for Looker {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Remotes {
    /// None yet. `wake` gets every subject that is to run again; `concurrency` is the number of turns that each
    /// remote gives out at once.
    #[must_use]
    pub fn new(
        clock: Clock,
        factory: Arc<dyn ConnectFactory>,
        wake: UnboundedSender<Subject>,
        concurrency: usize,
    ) -> Arc<Self> {
        Arc::new(Self { clock, factory, wake, concurrency, registry: Mutex::default() })
    }

    /// Says how `project` reaches its remote: makes it, joins it, or updates it. To be called in every run of the
    /// project; settings that are the same change nothing. With others than before the client is made anew, the gate
    /// opens, and what is watched stays. Needs a tokio runtime, for the looker.
    ///
    /// # Errors
    /// The sentence of [`ConnectFactory::connect`]; everything is then as it was before.
    pub fn claim(&self, project: &Subject, settings: &Settings) -> Result<Arc<Remote>, String> {
        let mut registry = self.lock();
        let identity = settings.identity();
        let remote = if let Some((remote, _)) = registry.by_identity.get(&identity) {
            let remote = Arc::clone(remote);
            remote.join(project, settings, self.factory.as_ref())?;
            remote
        } else {
            self.open(&mut registry, project, settings)?
        };
        let before = registry.by_project.insert(project.clone(), identity.clone());
        if let Some(before) = before.filter(|before| *before != identity) {
            self.leave(&mut registry, project, &before);
        }
        Ok(remote)
    }

    /// Gives up the claim of `project`; the last one ends the looker. What was watched for resources of the
    /// project's namespace is forgotten, and they are woken.
    pub fn release(&self, project: &Subject) {
        let mut registry = self.lock();
        if let Some(identity) = registry.by_project.remove(project) {
            self.leave(&mut registry, project, &identity);
        }
    }

    /// The remote that `project` claimed.
    #[must_use]
    pub fn of(&self, project: &Subject) -> Option<Arc<Remote>> {
        let registry = self.lock();
        let (remote, _) = registry.by_identity.get(registry.by_project.get(project)?)?;
        Some(Arc::clone(remote))
    }

    /// Ends all that is kept for a resource, at whichever remote it was.
    pub fn forget(&self, subject: &Subject) {
        for (remote, _) in self.lock().by_identity.values() {
            remote.forget(subject);
        }
    }

    fn open(&self, registry: &mut Registry, project: &Subject, settings: &Settings) -> Result<Arc<Remote>, String> {
        let client = self.factory.connect(settings)?;
        let remote = Remote::new(
            self.clock.clone(),
            self.wake.clone(),
            self.concurrency,
            rand::random(),
            client,
            settings.clone(),
        );
        let remote = Arc::new(remote);
        remote.join(project, settings, self.factory.as_ref())?;
        let looker = Looker(tokio::spawn(Arc::clone(&remote).look()).abort_handle());
        registry.by_identity.insert(settings.identity(), (Arc::clone(&remote), looker));
        Ok(remote)
    }

    fn leave(&self, registry: &mut Registry, project: &Subject, identity: &Identity) {
        let Some((remote, _)) = registry.by_identity.get(identity) else { return };
        if remote.part(project, self.factory.as_ref()) {
            let remote = Arc::clone(remote);
            registry.by_identity.remove(identity);
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
