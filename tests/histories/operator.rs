//! One operator process: the real reconcilers, views and requeue timers, on watches and a queue that the driver owns.
//!
//! As in kube's controller, each object is reconciled at most once at a time, and one that is enqueued meanwhile is
//! reconciled once more. Stopping an operator drops all of its futures and memory at the call at which it is stopped.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clock::{Clock, later};
use connect_operator::controllers::connector::project::MirroredProject;
use connect_operator::controllers::context::Context;
use connect_operator::controllers::digest::DigestKey;
use connect_operator::controllers::manager::{self, Options};
use connect_operator::controllers::object_ref::{Kind as ObjectKind, ObjectRef};
use connect_operator::controllers::project_quota::ProjectLimits;
use connect_operator::controllers::references::Named;
use connect_operator::controllers::tracker::ReconcileTracker;
use connect_operator::controllers::{action_check, connect_project, connector, driver, events, resync, secret};
use connect_operator::crd::{ActionCheck, ConnectProject, Connector, ConnectorDeployment, ConnectorStaged};
use connect_operator::leader::Scope;
use connect_operator::metrics::Metrics;
use futures::FutureExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kube::runtime::controller::Action;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinHandle;

use crate::allocations::Allocations;
use crate::cluster::{Cluster, Kind};
use crate::frontend::{ActionLine, CHECKING, Checking, Frontend};
use crate::informer::{Informer, Names};
use crate::interceptor::{Interceptor, lock};
use crate::remote::{CALLER, Line, Remote};
use crate::service::Service;

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
    /// Whether it watches what concerns mirrors.
    pub(crate) mirrors: bool,
}

/// A reconcile in progress.
struct Running {
    task: JoinHandle<Action>,
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
    deployments: Informer<ConnectorDeployment>,
    staged: Informer<ConnectorStaged>,
    checks: Informer<ActionCheck>,
    projects: Informer<ConnectProject>,
    /// The projects once more, for their mirrors; neither these nor the objects of mirrors are watched in other histories.
    mirrors: Informer<MirroredProject>,
    connectors: Names<Connector>,
    has_mirrors: bool,
    secrets: Names<Secret>,
    config_maps: Names<ConfigMap>,
    /// Objects to reconcile, in the order in which they were enqueued.
    queue: Vec<ObjectRef>,
    running: BTreeMap<ObjectRef, Running>,
    timers: BTreeMap<ObjectRef, Timestamp>,
}

/// One step that may happen next inside an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    Reconcile(ObjectRef),
    Deliver(Kind),
    /// Delivers what concerns the mirror of a project.
    DeliverMirror,
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
        let options = Options {
            client: service.client(),
            scope: Scope::default(),
            install: None,
            concurrency: 16,
            project_limits: ProjectLimits::DEFAULT,
            clock: own.clock.clone(),
            operator_namespace: "operator".to_owned(),
            secrets: secret::Policy::default(),
            digest_key: DigestKey::new([own.digest_key; 32]),
            factory: Arc::new(line),
            actions: Arc::new(actions),
            tracker: ReconcileTracker::new(own.clock.clone(), Metrics::new(own.clock.now())),
            default_deletion_policy: None,
            jitter_seed: start,
        };
        let (enqueue, enqueued) = mpsc::unbounded_channel();
        let context = manager::context(&options, 1, &enqueue);
        let requeue_timers = Arc::clone(&context.requeue_timers);
        let mut operator = Self {
            context,
            allocations: Arc::default(),
            reach: reach.clone(),
            enqueued,
            timers_task: tokio::spawn(async move { requeue_timers.ring().await }),
            deployments: Informer::new(Kind::Deployment),
            staged: Informer::new(Kind::Staged),
            checks: Informer::new(Kind::Check),
            projects: Informer::new(Kind::Project),
            mirrors: Informer::new(Kind::Project),
            connectors: Names::new(Kind::Connector, None),
            has_mirrors: own.mirrors,
            secrets: Names::new(Kind::Secret, Some(Named::Secret)),
            config_maps: Names::new(Kind::ConfigMap, Some(Named::ConfigMap)),
            queue: Vec::new(),
            running: BTreeMap::new(),
            timers: BTreeMap::new(),
        };
        operator.list(version);
        operator
    }

    /// Begins a new list on every watch, as of a version.
    pub(crate) fn list(&mut self, version: u64) {
        let cluster = Arc::clone(&self.reach.cluster);
        let cluster = lock(&cluster);
        self.projects.list(&self.context, &cluster, version);
        self.deployments.list(&self.context, &cluster, version);
        self.staged.list(&self.context, &cluster, version);
        self.checks.list(&self.context, &cluster, version);
        self.secrets.list(&self.context, &cluster, version);
        self.config_maps.list(&self.context, &cluster, version);
        if self.has_mirrors {
            self.mirrors.list(&self.context, &cluster, version);
            self.connectors.list(&self.context, &cluster, version);
        }
    }

    /// Disconnects the watches: no event arrives until the next list.
    pub(crate) fn cut(&mut self) {
        self.deployments.cut();
        self.staged.cut();
        self.checks.cut();
        self.projects.cut();
        self.mirrors.cut();
        self.connectors.cut();
        self.secrets.cut();
        self.config_maps.cut();
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
            let action = task.now_or_never().expect("the task is finished").expect("a reconcile does not panic");
            let pause = pause(&action);
            if let Some(pause) = pause {
                let at = later(self.reach.clock.now(), pause);
                let timer = self.timers.entry(object_ref.clone()).or_insert(at);
                *timer = at.min(*timer);
            }
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
        let now = self.reach.clock.now();
        let due: Vec<ObjectRef> =
            self.timers.iter().filter(|(_, at)| **at <= now).map(|(object_ref, _)| object_ref.clone()).collect();
        for object_ref in due {
            self.timers.remove(&object_ref);
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
        let ready = |object_ref: &&ObjectRef| match object_ref.kind {
            ObjectKind::Deployment => self.deployments.is_ready(),
            ObjectKind::Staged => self.staged.is_ready(),
            ObjectKind::Project => self.projects.is_ready(),
            ObjectKind::Check => self.checks.is_ready(),
            ObjectKind::Mirror => self.mirrors.is_ready(),
            ObjectKind::ClusterProject => true,
        };
        let mut moves: Vec<Move> = self.queue.iter().filter(ready).cloned().map(Move::Reconcile).collect();
        for (kind, waits) in [
            (Kind::Project, self.projects.waits(&cluster)),
            (Kind::Deployment, self.deployments.waits(&cluster)),
            (Kind::Staged, self.staged.waits(&cluster)),
            (Kind::Check, self.checks.waits(&cluster)),
            (Kind::Secret, self.secrets.waits(&cluster)),
            (Kind::ConfigMap, self.config_maps.waits(&cluster)),
            (Kind::Connector, self.connectors.waits(&cluster)),
        ] {
            if waits {
                moves.push(Move::Deliver(kind));
            }
        }
        if self.mirrors.waits(&cluster) {
            moves.push(Move::DeliverMirror);
        }
        moves
    }

    /// Executes a step.
    pub(crate) fn execute(&mut self, next: Move) {
        match next {
            Move::Reconcile(object_ref) => self.reconcile(object_ref),
            Move::Deliver(kind) => self.deliver(kind),
            Move::DeliverMirror => {
                let cluster = Arc::clone(&self.reach.cluster);
                let enqueued = self.mirrors.deliver(&self.context, &lock(&cluster));
                for object_ref in enqueued {
                    self.enqueue(object_ref);
                }
            }
        }
    }

    fn deliver(&mut self, kind: Kind) {
        let cluster = Arc::clone(&self.reach.cluster);
        let cluster = lock(&cluster);
        let enqueued = match kind {
            Kind::Project => self.projects.deliver(&self.context, &cluster),
            Kind::Deployment => self.deployments.deliver(&self.context, &cluster),
            Kind::Staged => self.staged.deliver(&self.context, &cluster),
            Kind::Check => self.checks.deliver(&self.context, &cluster),
            Kind::Secret => {
                self.secrets.deliver(&self.context, &cluster);
                Vec::new()
            }
            Kind::Connector => {
                self.connectors.deliver(&self.context, &cluster);
                Vec::new()
            }
            Kind::ConfigMap | Kind::Namespace => {
                self.config_maps.deliver(&self.context, &cluster);
                Vec::new()
            }
        };
        for object_ref in enqueued {
            self.enqueue(object_ref);
        }
    }

    fn reconcile(&mut self, object_ref: ObjectRef) {
        self.queue.retain(|queued| *queued != object_ref);
        self.timers.remove(&object_ref);
        let context = Arc::clone(&self.context);
        let task = match object_ref.kind {
            ObjectKind::Deployment => self.deployments.get(&object_ref).map(|object| {
                let caller = (object_ref.clone(), object.uid().unwrap_or_default());
                resync::note(&context.given, &*object);
                let reconcile = driver::reconcile(object, context).map(|(action, _)| action);
                tokio::spawn(CALLER.scope(caller, Arc::clone(&self.allocations).count(reconcile)))
            }),
            ObjectKind::Staged => self.staged.get(&object_ref).map(|object| {
                let caller = (object_ref.clone(), object.uid().unwrap_or_default());
                resync::note(&context.given, &*object);
                tokio::spawn(CALLER.scope(caller, driver::reconcile(object, context).map(|(action, _)| action)))
            }),
            ObjectKind::Project => self.projects.get(&object_ref).map(|object| {
                let caller = (object_ref.clone(), object.uid().unwrap_or_default());
                resync::note(&context.given, &*object);
                tokio::spawn(
                    CALLER.scope(caller, connect_project::reconcile(object, context).map(|(action, _)| action)),
                )
            }),
            ObjectKind::Check => self.checks.get(&object_ref).map(|object| {
                let version = object.resource_version().and_then(|version| version.parse().ok());
                let checking = Checking {
                    namespace: object_ref.namespace.clone(),
                    uid: object.uid().unwrap_or_default(),
                    version: version.expect("a stored object has a version"),
                    began: self.reach.clock.now(),
                };
                resync::note(&context.given, &*object);
                tokio::spawn(
                    CHECKING.scope(checking, action_check::reconcile(object, context).map(|(action, _)| action)),
                )
            }),
            ObjectKind::Mirror => self.mirrors.get(&object_ref).map(|object| {
                resync::note(&context.given, &*object);
                tokio::spawn(connector::reconcile(object, context).map(|(action, _)| action))
            }),
            // Histories have no shared projects.
            ObjectKind::ClusterProject => None,
        };
        match task {
            Some(task) => {
                let began = self.reach.clock.now();
                self.running.insert(object_ref, Running { task, began, again: false });
            }
            // What the manager does when kube's controller reports that the object is missing.
            None => events::gone(&self.context, &object_ref),
        }
    }

    /// Returns the objects that changed since their last reconcile began, as far as the watches delivered it; without
    /// those that are queued.
    pub(crate) fn outdated(&self) -> Vec<ObjectRef> {
        let given = &self.context.given;
        let mut outdated = resync::outdated(given, &self.deployments.state());
        outdated.extend(resync::outdated(given, &self.staged.state()));
        outdated.extend(resync::outdated(given, &self.projects.state()));
        outdated.extend(resync::outdated(given, &self.checks.state()));
        outdated.extend(resync::outdated(given, &self.mirrors.state()));
        outdated.retain(|object_ref| !self.queue.contains(object_ref));
        outdated
    }

    /// Returns the reconciles in progress, and when they began.
    pub(crate) fn began(&self) -> impl Iterator<Item = (&ObjectRef, Timestamp)> {
        self.running.iter().map(|(object_ref, running)| (object_ref, running.began))
    }

    /// Whether reconciles are in progress that wait for nothing but calls. Those of checks also wait for the clock, before
    /// they try again to write an answer.
    pub(crate) fn awaits_calls(&self) -> bool {
        self.running.keys().any(|object_ref| object_ref.kind != ObjectKind::Check)
    }

    /// Returns the objects that are queued or have a requeue timer.
    pub(crate) fn queued(&self) -> impl Iterator<Item = &ObjectRef> {
        self.queue.iter().chain(self.timers.keys())
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

/// Returns after which time an action requeues.
fn pause(action: &Action) -> Option<Duration> {
    // An `Action` hides its contents, so it is compared with the possible ones.
    if *action == Action::await_change() {
        return None;
    }
    let candidates = [Duration::from_millis(200), Duration::from_secs(5), Duration::from_secs(10)];
    let known = candidates.into_iter().find(|pause| *action == Action::requeue(*pause));
    Some(known.unwrap_or_else(|| panic!("a reconcile asks for an unknown requeue: {action:?}")))
}
