//! The state of a running server: the world, what is kept beside it, and the file that keeps them across restarts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::actions::Actions;
use super::applications::Applications;
use super::calls::{Answer, Calls};
use super::faults::Faults;
use super::options::Options;
use super::repositories;
use super::staged::Specifications;
use super::state_file::{self, StateError};
use super::tokens::Tokens;
use super::world::World;
use clock::Clock;
use connect_api::model::Repository;

/// State that all requests share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) clock: Clock,
    pub(super) applications: Arc<Applications>,
    pub(super) actions: Actions,
    world: Mutex<World>,
    tokens: Mutex<Tokens>,
    faults: Mutex<Faults>,
    calls: Mutex<Calls>,
    /// Receives a copy of each answer.
    listener: Mutex<Option<UnboundedSender<Answer>>>,
    /// Locked while the state file is written, so that an older state never replaces a newer one.
    saving: tokio::sync::Mutex<()>,
}

/// Locks a mutex, even if another request panicked while it held the lock: no change is visible half-done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Creates the state, with the content of the state file if there is one.
    pub(super) async fn new(options: Options, clock: Clock, applications: Applications) -> Result<Self, StateError> {
        let mut world = options.new_world();
        if let Some(path) = &options.state_file
            && let Some(kept) = state_file::load(path).await?
        {
            world.restore(kept);
        }
        let shared = Self {
            world: Mutex::new(world),
            tokens: Mutex::new(Tokens::new()),
            actions: Actions::new(options.actions.clone(), options.seed),
            faults: Mutex::new(Faults::new(options.seed, options.faults.clone())),
            calls: Mutex::new(Calls::default()),
            listener: Mutex::new(None),
            saving: tokio::sync::Mutex::new(()),
            applications: Arc::new(applications),
            options,
            clock,
        };
        // Saved now, so that a missing folder is an error at startup and not after the first change.
        shared.save().await?;
        Ok(shared)
    }

    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.world)
    }

    pub(super) fn tokens(&self) -> MutexGuard<'_, Tokens> {
        lock(&self.tokens)
    }

    pub(super) fn faults(&self) -> MutexGuard<'_, Faults> {
        lock(&self.faults)
    }

    pub(super) fn calls(&self) -> MutexGuard<'_, Calls> {
        lock(&self.calls)
    }

    /// Returns a receiver of all further answers; it replaces the previous listener.
    pub(super) fn listen(&self) -> UnboundedReceiver<Answer> {
        let (sender, receiver) = unbounded_channel();
        *lock(&self.listener) = Some(sender);
        receiver
    }

    pub(super) fn listener(&self) -> Option<UnboundedSender<Answer>> {
        lock(&self.listener).clone()
    }

    /// Resets deployments, connectors, carts, faults and calls to their initial state; tokens stay.
    pub(super) fn reset(&self) {
        *self.world() = self.options.new_world();
        self.actions.reset();
        self.faults().replace(self.options.faults.clone());
        *self.calls() = Calls::default();
    }

    /// Writes the state file, if one is configured.
    pub(super) async fn save(&self) -> Result<(), StateError> {
        let Some(path) = &self.options.state_file else { return Ok(()) };
        let _turn = self.saving.lock().await;
        let content = serde_json::to_vec(self.world().kept()).expect("the state can be written as JSON");
        state_file::store(path, &content).await
    }

    /// Reads the specifications of these repositories: local ones first, then those of the catalogue.
    pub(super) async fn specifications(&self, named: Vec<Repository>) -> Specifications {
        let mut specifications = Specifications::default();
        for repository in named {
            let local = match &self.options.repositories {
                Some(folder) => repositories::find(folder, &repository).await,
                None => None,
            };
            let found = local.unwrap_or_else(|| self.world().catalogue().tag(&repository));
            specifications.add(repository, found);
        }
        specifications
    }
}
