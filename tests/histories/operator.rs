//! One operator process: the real runs, views and alarms, on watches and a queue that the driver owns.
//!
//! As kube's controller does it, a subject runs at most once at a time; what is woken during its run runs once more.
//! Stopping an operator drops all of its futures and all of its memory at the call at which it is stopped.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clock::{Clock, later};
use connect_api::ClientContext;
use connect_api::hosts::AllowedHosts;
use connect_operator::controllers::action_factory::HttpActionFactory;
use connect_operator::controllers::context::Context;
use connect_operator::controllers::digest::DigestKey;
use connect_operator::controllers::manager::{self, Options};
use connect_operator::controllers::object_ref::{Kind as Subjects, ObjectRef};
use connect_operator::controllers::project_quota::ProjectLimits;
use connect_operator::controllers::references::Named;
use connect_operator::controllers::tracker::ReconcileTracker;
use connect_operator::controllers::{connect_project, driver, events, resync, secret};
use connect_operator::crd::{ConnectProject, ConnectorDeployment, ConnectorStaged};
use connect_operator::leader::Scope;
use connect_operator::metrics::Metrics;
use futures::FutureExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kube::runtime::controller::Action;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinHandle;

use crate::cluster::{Cluster, Kind};
use crate::gate::{Gate, lock};
use crate::informer::{Informer, Names};
use crate::remote::{Line, RUN, Remote};
use crate::service::Service;

/// What every operator reaches.
#[derive(Clone)]
pub(crate) struct Reach {
    pub(crate) gate: Gate,
    pub(crate) cluster: Arc<Mutex<Cluster>>,
    pub(crate) remote: Arc<Mutex<Remote>>,
    /// The time as it is; an operator may have another one.
    pub(crate) clock: Clock,
}

/// What an operator has of its own.
pub(crate) struct Own {
    /// Its clock.
    pub(crate) clock: Clock,
    /// What the key of its digests is made of.
    pub(crate) digest_key: u8,
}

/// A run that is under way.
struct Running {
    task: JoinHandle<Action>,
    began: Timestamp,
    /// Woken meanwhile.
    again: bool,
}

/// An operator.
pub(crate) struct Operator {
    pub(crate) context: Arc<Context>,
    reach: Reach,
    enqueued: UnboundedReceiver<ObjectRef>,
    ringing: JoinHandle<()>,
    deployments: Informer<ConnectorDeployment>,
    staged: Informer<ConnectorStaged>,
    projects: Informer<ConnectProject>,
    secrets: Names<Secret>,
    config_maps: Names<ConfigMap>,
    /// Who is to run, in the order in which they were woken.
    queue: Vec<ObjectRef>,
    running: BTreeMap<ObjectRef, Running>,
    timers: BTreeMap<ObjectRef, Timestamp>,
}

/// One thing that may happen next inside an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    Run(ObjectRef),
    Deliver(Kind),
}

impl Operator {
    /// Starts one that lists what was there at `version`. `number`: which one it is; `start`: how many were started before;
    /// `own`: what is its own.
    pub(crate) fn start(number: usize, start: u64, reach: &Reach, own: &Own, version: u64) -> Self {
        let service = Service {
            operator: number,
            gate: reach.gate.clone(),
            cluster: Arc::clone(&reach.cluster),
            clock: reach.clock.clone(),
        };
        let line = Line {
            operator: number,
            gate: reach.gate.clone(),
            remote: Arc::clone(&reach.remote),
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
            actions: Arc::new(HttpActionFactory {
                allowed_hosts: AllowedHosts::parse([]).expect("none at all"),
                around: ClientContext::plain(own.clock.clone()),
                extra_ca_pem: None,
            }),
            tracker: ReconcileTracker::new(own.clock.clone(), Metrics::new(own.clock.now())),
            default_deletion_policy: None,
            jitter_seed: start,
        };
        let (enqueue, enqueued) = mpsc::unbounded_channel();
        let context = manager::context(&options, 1, &enqueue);
        let requeue_timers = Arc::clone(&context.requeue_timers);
        let mut operator = Self {
            context,
            reach: reach.clone(),
            enqueued,
            ringing: tokio::spawn(async move { requeue_timers.ring().await }),
            deployments: Informer::new(Kind::Deployment),
            staged: Informer::new(Kind::Staged),
            projects: Informer::new(Kind::Project),
            secrets: Names::new(Kind::Secret, Named::Secret),
            config_maps: Names::new(Kind::ConfigMap, Named::ConfigMap),
            queue: Vec::new(),
            running: BTreeMap::new(),
            timers: BTreeMap::new(),
        };
        operator.list(version);
        operator
    }

    /// Every watch begins to list anew, as of a version.
    pub(crate) fn list(&mut self, version: u64) {
        let cluster = Arc::clone(&self.reach.cluster);
        let cluster = lock(&cluster);
        self.projects.list(&self.context, &cluster, version);
        self.deployments.list(&self.context, &cluster, version);
        self.staged.list(&self.context, &cluster, version);
        self.secrets.list(&self.context, &cluster, version);
        self.config_maps.list(&self.context, &cluster, version);
    }

    /// No event arrives any more until it lists again.
    pub(crate) fn cut(&mut self) {
        self.deployments.cut();
        self.staged.cut();
        self.projects.cut();
        self.secrets.cut = true;
        self.config_maps.cut = true;
    }

    /// Takes in what happened; to be called whenever everything is idle.
    pub(crate) fn settle(&mut self) {
        let finished: Vec<ObjectRef> = self
            .running
            .iter()
            .filter(|(_, running)| running.task.is_finished())
            .map(|(object_ref, _)| object_ref.clone())
            .collect();
        for object_ref in finished {
            let Some(Running { task, again, .. }) = self.running.remove(&object_ref) else { continue };
            let action = task.now_or_never().expect("it is finished").expect("a run does not panic");
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
        // Whoever waits for the clock is woken by it in any order, so what came of that is put into one.
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

    /// What may happen next.
    pub(crate) fn moves(&self) -> Vec<Move> {
        let cluster = lock(&self.reach.cluster);
        let ready = |object_ref: &&ObjectRef| match object_ref.kind {
            Subjects::Deployment => self.deployments.is_ready(),
            Subjects::Staged => self.staged.is_ready(),
            Subjects::Project => self.projects.is_ready(),
            Subjects::Check | Subjects::Mirror => true,
        };
        let mut moves: Vec<Move> = self.queue.iter().filter(ready).cloned().map(Move::Run).collect();
        for (kind, waits) in [
            (Kind::Project, self.projects.waits(&cluster)),
            (Kind::Deployment, self.deployments.waits(&cluster)),
            (Kind::Staged, self.staged.waits(&cluster)),
            (Kind::Secret, self.secrets.waits(&cluster)),
            (Kind::ConfigMap, self.config_maps.waits(&cluster)),
        ] {
            if waits {
                moves.push(Move::Deliver(kind));
            }
        }
        moves
    }

    /// Does it.
    pub(crate) fn make(&mut self, next: Move) {
        match next {
            Move::Run(object_ref) => self.run(object_ref),
            Move::Deliver(kind) => self.deliver(kind),
        }
    }

    fn deliver(&mut self, kind: Kind) {
        let cluster = Arc::clone(&self.reach.cluster);
        let cluster = lock(&cluster);
        let run = match kind {
            Kind::Project => self.projects.deliver(&self.context, &cluster),
            Kind::Deployment => self.deployments.deliver(&self.context, &cluster),
            Kind::Staged => self.staged.deliver(&self.context, &cluster),
            Kind::Secret => {
                self.secrets.deliver(&self.context, &cluster);
                Vec::new()
            }
            Kind::ConfigMap | Kind::Namespace => {
                self.config_maps.deliver(&self.context, &cluster);
                Vec::new()
            }
        };
        for object_ref in run {
            self.enqueue(object_ref);
        }
    }

    fn run(&mut self, object_ref: ObjectRef) {
        self.queue.retain(|queued| *queued != object_ref);
        self.timers.remove(&object_ref);
        let context = Arc::clone(&self.context);
        let task = match object_ref.kind {
            Subjects::Deployment => self.deployments.get(&object_ref).map(|object| {
                let run = (object_ref.clone(), object.uid().unwrap_or_default());
                resync::note(&context.given, &*object);
                tokio::spawn(RUN.scope(run, driver::reconcile(object, context).map(|(action, _)| action)))
            }),
            Subjects::Staged => self.staged.get(&object_ref).map(|object| {
                let run = (object_ref.clone(), object.uid().unwrap_or_default());
                resync::note(&context.given, &*object);
                tokio::spawn(RUN.scope(run, driver::reconcile(object, context).map(|(action, _)| action)))
            }),
            Subjects::Project => self.projects.get(&object_ref).map(|object| {
                let run = (object_ref.clone(), object.uid().unwrap_or_default());
                resync::note(&context.given, &*object);
                tokio::spawn(RUN.scope(run, connect_project::reconcile(object, context).map(|(action, _)| action)))
            }),
            // The histories have no checks and no mirrors.
            Subjects::Check | Subjects::Mirror => None,
        };
        match task {
            Some(task) => {
                let began = self.reach.clock.now();
                self.running.insert(object_ref, Running { task, began, again: false });
            }
            // What kube's controller says of it, and the manager does then.
            None => events::gone(&self.context, &object_ref),
        }
    }

    /// Who changed since the last run of theirs began, of those whose watches lack nothing; what is queued runs yet.
    pub(crate) fn outdated(&self) -> Vec<ObjectRef> {
        let given = &self.context.given;
        let mut outdated = resync::outdated(given, &self.deployments.state());
        outdated.extend(resync::outdated(given, &self.staged.state()));
        outdated.extend(resync::outdated(given, &self.projects.state()));
        outdated.retain(|object_ref| !self.queue.contains(object_ref));
        outdated
    }

    /// The runs that are under way, and when they began.
    pub(crate) fn began(&self) -> impl Iterator<Item = (&ObjectRef, Timestamp)> {
        self.running.iter().map(|(object_ref, running)| (object_ref, running.began))
    }

    /// Whether runs are under way.
    pub(crate) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Who waits to run, or has a time at which it does.
    pub(crate) fn queued(&self) -> impl Iterator<Item = &ObjectRef> {
        self.queue.iter().chain(self.timers.keys())
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.ringing.abort();
        for running in self.running.values() {
            running.task.abort();
        }
    }
}

/// When to run again by itself.
fn pause(action: &Action) -> Option<Duration> {
    // An action does not show what it is, so it is compared with what it may be.
    if *action == Action::await_change() {
        return None;
    }
    let candidates = [Duration::from_millis(200), Duration::from_secs(5), Duration::from_secs(10)];
    let known = candidates.into_iter().find(|pause| *action == Action::requeue(*pause));
    Some(known.unwrap_or_else(|| panic!("a run asks for a pause that is not known here: {action:?}")))
}
