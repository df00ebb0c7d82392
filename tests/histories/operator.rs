//! One operator process: the real reconcilers, views and requeue timers, on watches and a queue that the driver owns.
//!
//! As in the operator, each object is reconciled at most once at a time, and one that is enqueued meanwhile is
//! reconciled once more. Stopping an operator drops all of its futures and memory at the call at which it is stopped.

use std::cell::RefCell;

use connect_operator::leader::Scope;
use connect_operator::metrics::Metrics;
use connect_operator::operator::cluster::initial_lists::InitialLists;
use connect_operator::operator::cluster::objects::secret;
use connect_operator::operator::context::Settings;
use connect_operator::operator::manager::event_handlers;
use connect_operator::operator::manager::reconciled;
use connect_operator::operator::manager::{self, Options};
use connect_operator::operator::object_ref::Kind as ObjectKind;
use connect_operator::operator::values::digest::DigestKey;
use futures::FutureExt;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinHandle;

use crate::allocations::Allocations;
use crate::frontend::{ActionLine, CHECKING, Checking, Frontend};
use crate::prelude::*;
use crate::remote::{CALLER, DENIED, Line};
use crate::service::Service;
use crate::sharing::HOME;
use crate::watches::{Watch, Watches};

/// What every operator has access to.
#[derive(Clone)]
pub(crate) struct Reach {
    pub(crate) interceptor: Interceptor,
    pub(crate) cluster: Arc<Mutex<Cluster>>,
    pub(crate) remote: Arc<Mutex<Remote>>,
    pub(crate) frontend: Arc<Mutex<Frontend>>,
    /// The real time; the clock of an operator may differ.
    pub(crate) clock: Clock,
}

/// What belongs to one operator.
pub(crate) struct Own {
    /// Its clock.
    pub(crate) clock: Clock,
    /// The seed of its digest key.
    pub(crate) digest_key: u8,
    /// Whether it works with shared projects.
    pub(crate) shares: bool,
}

/// A reconcile in progress.
struct Running {
    task: JoinHandle<()>,
    began: Timestamp,
    /// Whether the object was enqueued meanwhile.
    again: bool,
}

/// An operator.
pub(crate) struct Operator {
    pub(crate) context: Arc<Context>,
    /// Those of reconciles of deployments.
    pub(crate) allocations: Arc<Allocations>,
    reach: Reach,
    enqueued: UnboundedReceiver<ObjectRef>,
    timers_task: JoinHandle<()>,
    watches: Watches,
    /// Objects to reconcile, in the order in which they were enqueued.
    queue: Vec<ObjectRef>,
    running: BTreeMap<ObjectRef, Running>,
    /// What the last reconcile of each object was given, as a hash that changes when users change it.
    given: BTreeMap<ObjectRef, u64>,
}

/// One step that may happen next inside an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    Reconcile(ObjectRef),
    Deliver(Watch),
}

impl Operator {
    /// Starts an operator that lists the objects as of `version`. `number`: its index; `start`: how many were started
    /// before; `own`: what belongs to it alone.
    pub(crate) fn start(number: usize, start: u64, reach: &Reach, own: &Own, version: u64) -> Self {
        let service = Service {
            operator: number,
            interceptor: reach.interceptor.clone(),
            cluster: Arc::clone(&reach.cluster),
            clock: reach.clock.clone(),
        };
        let line = Line {
            operator: number,
            interceptor: reach.interceptor.clone(),
            remote: Arc::clone(&reach.remote),
            clock: reach.clock.clone(),
        };
        let actions = ActionLine {
            operator: number,
            interceptor: reach.interceptor.clone(),
            frontend: Arc::clone(&reach.frontend),
            clock: reach.clock.clone(),
        };
        let metrics = Metrics::new(own.clock.now());
        let options = Options {
            client: service.client(),
            settings: Settings {
                scope: Scope::default().with_cluster_projects(own.shares),
                operator_namespace: HOME.to_owned(),
                secrets: secret::Policy::default(),
                digest_key: DigestKey::new([own.digest_key; 32]),
                actions: Arc::new(actions),
                default_deletion_policy: None,
            },
            concurrency: 16,
            clock: own.clock.clone(),
            factory: Arc::new(line),
            lists: InitialLists::new(Arc::clone(&metrics)),
            metrics,
            jitter_seed: start,
        };
        let (enqueue, enqueued) = mpsc::unbounded_channel();
        let context = manager::context(options, &enqueue);
        let requeue_timers = Arc::clone(&context.requeue_timers);
        let mut operator = Self {
            context,
            allocations: Arc::default(),
            reach: reach.clone(),
            enqueued,
            timers_task: tokio::spawn(async move { requeue_timers.enqueue_due().await }),
            watches: Watches::new(own.shares),
            queue: Vec::new(),
            running: BTreeMap::new(),
            given: BTreeMap::new(),
        };
        operator.list(version);
        operator
    }

    /// Begins a new list on every watch, as of a version.
    pub(crate) fn list(&mut self, version: u64) {
        let cluster = Arc::clone(&self.reach.cluster);
        let cluster = lock(&cluster);
        self.watches.list(&self.context, &cluster, version);
    }

    /// Disconnects the watches: no event arrives until the next list.
    pub(crate) fn cut(&mut self) {
        self.watches.cut();
    }

    /// Processes what finished and what is due; to be called whenever all tasks are idle.
    pub(crate) fn settle(&mut self) {
        let finished: Vec<ObjectRef> = self
            .running
            .iter()
            .filter(|(_, running)| running.task.is_finished())
            .map(|(object_ref, _)| object_ref.clone())
            .collect();
        for object_ref in finished {
            let Some(Running { task, again, .. }) = self.running.remove(&object_ref) else { continue };
            task.now_or_never().expect("the task is finished").expect("a reconcile does not panic");
            if again {
                self.enqueue(object_ref);
            }
        }
        // The clock resumes waiting tasks in any order, so what they enqueued is sorted.
        let mut enqueued: Vec<ObjectRef> = std::iter::from_fn(|| self.enqueued.try_recv().ok()).collect();
        enqueued.sort();
        for object_ref in enqueued {
            self.enqueue(object_ref);
        }
    }

    fn enqueue(&mut self, object_ref: ObjectRef) {
        if let Some(running) = self.running.get_mut(&object_ref) {
            running.again = true;
        } else if !self.queue.contains(&object_ref) {
            self.queue.push(object_ref);
        }
    }

    /// Returns the possible next steps.
    pub(crate) fn moves(&self) -> Vec<Move> {
        let cluster = lock(&self.reach.cluster);
        let ready = |object_ref: &&ObjectRef| self.watches.is_ready(object_ref.kind);
        let queued = self.queue.iter().filter(ready).cloned().map(Move::Reconcile);
        queued.chain(self.watches.waiting(&cluster).map(Move::Deliver)).collect()
    }

    /// Executes a step.
    pub(crate) fn execute(&mut self, next: Move) {
        match next {
            Move::Reconcile(object_ref) => self.reconcile(object_ref),
            Move::Deliver(watch) => self.deliver(watch),
        }
    }

    fn deliver(&mut self, watch: Watch) {
        let cluster = Arc::clone(&self.reach.cluster);
        self.watches.deliver(watch, &self.context, &lock(&cluster));
    }

    fn reconcile(&mut self, object_ref: ObjectRef) {
        self.queue.retain(|queued| *queued != object_ref);
        let context = Arc::clone(&self.context);
        self.given.extend(self.watches.state().filter(|(seen, _)| *seen == object_ref));
        let denied = self.watches.denies(&lock(&self.reach.cluster), &object_ref.namespace);
        let Some((uid, version)) = self.watches.get(&object_ref) else {
            // What the operator does when the API server has no such object.
            return event_handlers::forget(&self.context, &object_ref);
        };
        let caller = (object_ref.clone(), uid.clone());
        let reconcile = {
            let object_ref = object_ref.clone();
            async move {
                let _ = reconciled::fresh(&object_ref, &context).await;
            }
        };
        let task = match object_ref.kind {
            ObjectKind::Deployment => {
                let reconcile = DENIED.scope(denied, reconcile);
                tokio::spawn(CALLER.scope(caller, Arc::clone(&self.allocations).count(reconcile)))
            }
            ObjectKind::Staged | ObjectKind::Project => tokio::spawn(CALLER.scope(caller, reconcile)),
            ObjectKind::Check => {
                let checking = Checking {
                    namespace: object_ref.namespace.clone(),
                    uid,
                    version: version.parse().expect("versions are numbers here"),
                    wrote: false,
                    began: self.reach.clock.now(),
                };
                tokio::spawn(CHECKING.scope(RefCell::new(checking), reconcile))
            }
            ObjectKind::ClusterProject => tokio::spawn(reconcile),
        };
        let began = self.reach.clock.now();
        self.running.insert(object_ref, Running { task, began, again: false });
    }

    /// Returns the objects that changed since their last reconcile began, as far as the watches delivered it; without
    /// those that are queued.
    pub(crate) fn outdated(&self) -> Vec<ObjectRef> {
        let changed = self.watches.state().filter(|(object_ref, change)| self.given.get(object_ref) != Some(change));
        changed.map(|(object_ref, _)| object_ref).filter(|object_ref| !self.queue.contains(object_ref)).collect()
    }

    /// Returns the reconciles in progress, and when they began.
    pub(crate) fn began(&self) -> impl Iterator<Item = (&ObjectRef, Timestamp)> {
        self.running.iter().map(|(object_ref, running)| (object_ref, running.began))
    }

    /// Returns the objects that are queued.
    pub(crate) fn queued(&self) -> impl Iterator<Item = &ObjectRef> {
        self.queue.iter()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.timers_task.abort();
        for running in self.running.values() {
            running.task.abort();
        }
    }
}
