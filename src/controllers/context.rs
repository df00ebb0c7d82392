//! What every run is given: the cluster, the remotes, the time, and what this process remembers.
//!
//! Nothing in it must survive a restart. Next: the folder of each kind, whose `reconcile` gets it.

use std::collections::BTreeSet;
use std::sync::Arc;

use clock::Clock;
use kube::runtime::events::{Event, EventType, Recorder};
use kube::{Client, Resource};
use tokio::sync::mpsc::UnboundedSender;

use super::action_factory::ActionFactory;
use super::conditions::{ConditionUpdate, cut};
use super::connect_project::copy::Copies;
use super::connector::memory::Mirrors;
use super::connector_deployment;
use super::connector_staged;
use super::digest::DigestKey;
use super::driver::LocalCaches;
use super::foreign_installs::ForeignInstalls;
use super::keys::KeyOwnership;
use super::object_map::ObjectMap;
use super::object_ref::{Kind, ObjectRef};
use super::project_quota::ProjectQuota;
use super::reason::ConditionState;
use super::references::{Named, References};
use super::remote::{Login, Remote, Remotes};
use super::requeue_timers::RequeueTimers;
use super::secret;
use super::series::Series;
use super::staged_connectors::StagedConnector;
use super::tracker::ReconcileTracker;
use crate::crd::DeletionPolicy;
use crate::crd::shared::RemoteIdentity;

/// Longest note of an Event (Kubernetes API: `note` of `events.k8s.io/v1`).
const LONGEST_NOTE: usize = 1024;

/// What every run is given.
pub struct Context {
    /// The cluster.
    pub client: Client,
    /// The time.
    pub clock: Clock,
    /// Every remote project.
    pub remotes: Arc<Remotes>,
    /// Makes the clients of frontends.
    pub actions: Arc<dyn ActionFactory>,
    /// Where Events go.
    pub recorder: Recorder,
    /// Which of them are repetitions.
    pub series: Series,
    /// Deletion policy of `ConnectorDeployment`s that name none; `None`: it depends on their type.
    pub default_deletion_policy: Option<DeletionPolicy>,
    /// Which Secrets resources may name.
    pub secrets: secret::Policy,
    /// Key of the digests.
    pub digest_key: DigestKey,
    /// Who names which Secret, ConfigMap, project or deployment.
    pub references: References,
    /// Who wants which key in which remote project.
    pub keys: KeyOwnership,
    /// Which `ConnectProject`s are worked with.
    pub project_quota: ProjectQuota,
    /// What each `ConnectProject` came to.
    pub projects: ObjectMap<Project>,
    /// Copies of the credentials of each `ConnectProject`.
    pub copies: Copies,
    /// What is remembered between the runs of a `ConnectorDeployment`.
    pub deployment_caches:
        LocalCaches<connector_deployment::decide::TransientState, connector_deployment::cache::Cache>,
    /// What is remembered between the runs of a `ConnectorStaged`.
    pub staged_caches: LocalCaches<connector_staged::decide::TransientState, ()>,
    /// What each `ConnectorStaged` came to.
    pub staged: ObjectMap<StagedConnector>,
    /// What is remembered of each mirror of the registry.
    pub mirrors: Mirrors,
    /// What other installs work on.
    pub foreign_installs: ForeignInstalls,
    /// When to run again.
    pub requeue_timers: Arc<RequeueTimers>,
    /// A hash of the object that the last reconcile of each resource was given (`resync.rs`).
    pub given: ObjectMap<u64>,
    /// Consecutive reconciles of each resource that panicked (`panics.rs`).
    pub panics: ObjectMap<u32>,
    /// What waits and what runs, what exists, and the metrics that come of it.
    pub tracker: Arc<ReconcileTracker>,
    /// Subjects that are to run again.
    pub enqueue: UnboundedSender<ObjectRef>,
}

impl Context {
    /// Has a subject run again.
    pub fn enqueue(&self, object_ref: ObjectRef) {
        // Nobody listens any more when the operator ends.
        let _ = self.enqueue.send(object_ref);
    }

    /// Has everyone run again who names this object.
    pub fn enqueue_users(&self, kind: Named, namespace: &str, name: &str) {
        for user in self.references.users(kind, namespace, name) {
            self.enqueue(user);
        }
    }

    /// Every subject that this process keeps anything for, in order: what exists, and nothing that is gone for good.
    #[must_use]
    pub fn object_refs(&self) -> BTreeSet<ObjectRef> {
        let kept =
            [self.deployment_caches.object_refs(), self.projects.object_refs(), self.requeue_timers.object_refs()];
        let kept = kept.into_iter().chain([
            self.references.object_refs(),
            self.remotes.object_refs(),
            self.mirrors.object_refs(),
        ]);
        let kept = kept.chain([self.staged_caches.object_refs(), self.staged.object_refs()]);
        let kept = kept.chain([Kind::Deployment, Kind::Staged, Kind::Project].map(|kind| self.keys.object_refs(kind)));
        kept.chain([
            self.tracker.object_refs(),
            self.given.object_refs(),
            self.panics.object_refs(),
            self.project_quota.object_refs(),
        ])
        .flatten()
        .collect()
    }

    /// Reports an Event; one that cannot be written is no error, it is for people only.
    pub async fn event<K: Resource<DynamicType = ()>>(&self, object: &K, action: &str, condition: &ConditionUpdate) {
        let type_ = match condition.reason.state() {
            ConditionState::Waiting | ConditionState::Stalled | ConditionState::Failing => EventType::Warning,
            ConditionState::Ready | ConditionState::Running | ConditionState::Paused => EventType::Normal,
        };
        match type_ {
            EventType::Warning => tracing::warn!(reason = condition.reason.as_str(), "{}", condition.message),
            EventType::Normal => tracing::info!(reason = condition.reason.as_str(), "{}", condition.message),
        }
        self.report(object, type_, condition.reason.as_str(), action, &condition.message).await;
    }

    /// Reports an Event with a reason of its own.
    pub async fn report<K: Resource<DynamicType = ()>>(
        &self,
        object: &K,
        type_: EventType,
        reason: &str,
        action: &str,
        note: &str,
    ) {
        let note = cut(note, LONGEST_NOTE);
        let version = object.meta().resource_version.clone();
        let about = self.series.of(object.object_ref(&()), version, reason, &note, self.clock.now());
        let event =
            Event { type_, reason: reason.to_owned(), note: Some(note), action: action.to_owned(), secondary: None };
        if let Err(error) = self.recorder.publish(&event, &about).await {
            tracing::debug!(%error, reason, "the Event could not be written");
        }
    }
}

/// A `ConnectProject` as its controller found it.
#[derive(Clone)]
pub struct Project {
    /// The remote project that it names.
    pub identity: RemoteIdentity,
    /// Its region, the default of its deployments.
    pub region: String,
    /// Address of its HTTP API.
    pub http_api_url: String,
    /// How to reach it, or why that is not possible.
    pub remote: Result<Arc<Remote>, ConditionUpdate>,
    /// The credentials that it is called with.
    pub login: Option<Login>,
}

impl Project {
    /// Whether this tells the users of a project nothing that `before` did not.
    #[must_use]
    pub fn is_same(&self, before: &Self) -> bool {
        before.identity == self.identity
            && before.region == self.region
            && before.http_api_url == self.http_api_url
            && before.login == self.login
            && match (&before.remote, &self.remote) {
                (Ok(one), Ok(other)) => Arc::ptr_eq(one, other),
                (Err(one), Err(other)) => one == other,
                _ => false,
            }
    }
}
