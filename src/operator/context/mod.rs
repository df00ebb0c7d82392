//! What every reconcile is given: clients of the cluster and the remotes, the clock, and what this process remembers.
//!
//! Nothing in it must need to survive a restart. Next: the folder of each kind, whose `reconcile` receives it.

pub mod content_cache;
pub mod event_recorder;
pub mod staged_memory;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use jiff::Timestamp;
use kube::runtime::events::EventType;
use kube::{Client, Resource};

use self::content_cache::ContentCache;
use self::event_recorder::{EventRecorder, NewEvent};
pub use self::staged_memory::StagedMemory;
use crate::crd::shared::RemoteIdentity;
use crate::crd::{ConnectorDeployment, ConnectorStaged, DeletionPolicy};
use crate::leader::Scope;
use crate::metrics::Metrics;
use crate::operator::clients::action_factory::ActionFactory;
use crate::operator::cluster::keys::{Begin, ClaimStatus, KeyOwnership};
use crate::operator::cluster::object_map::ObjectMap;
use crate::operator::cluster::objects::secret;
use crate::operator::cluster::permissions::{NamespacePermissions, Permission};
use crate::operator::cluster::queue::requeue_timers::RequeueTimers;
use crate::operator::cluster::references::{Referenced, References};
use crate::operator::kinds::managed_kind::ManagedKind;
use crate::operator::object_ref::{Kind, ObjectRef};
use crate::operator::remote::{self, Remote, Remotes};
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::event_reason::EventReason;
use crate::operator::reporting::reason::ConditionState;
use crate::operator::values::digest::DigestKey;

/// Requeue delay of a resource that depends on one of another shard, whose changes enqueue nothing here.
pub const OTHER_SHARD_AGAIN: Duration = Duration::from_secs(30);

/// Pause in which resources that begin or cease to name a project are gathered.
const COUNTED_WITHIN: Duration = Duration::from_secs(2);

/// What is kept of all resources of a kind; boxed, because nodes of the map have free places, and this is large.
type Memories<K> = ObjectMap<Box<<K as ManagedKind>::Memory>>;

/// What every reconcile is given.
pub struct Context {
    /// Client of the cluster.
    pub client: Client,
    /// The clock.
    pub clock: Clock,
    /// What was set at the start.
    pub settings: Settings,
    /// The metrics of this process.
    pub metrics: Arc<Metrics>,
    /// Publishes Events.
    pub recorder: EventRecorder,
    /// Every remote project.
    pub remotes: Arc<Remotes>,
    /// Which resources name which Secret, ConfigMap, project or deployment.
    pub references: References,
    /// The Secrets and ConfigMaps that were just read.
    pub contents: ContentCache,
    /// Which resources claim which key in which remote project.
    pub keys: KeyOwnership,
    /// Which namespaces may use which `ClusterConnectProject`.
    pub permissions: NamespacePermissions,
    /// What is kept between reconciles.
    pub memory: Memory,
    /// When each resource is reconciled again.
    pub requeue_timers: Arc<RequeueTimers>,
}

/// What was set at the start.
pub struct Settings {
    /// Namespace of the operator's own objects: the copies of credentials, and the credentials of `ClusterConnectProject`s.
    pub operator_namespace: String,
    /// Deletion policy of `ConnectorDeployment`s that name none; `None`: it depends on their type.
    pub default_deletion_policy: Option<DeletionPolicy>,
    /// Which Secrets resources may name.
    pub secrets: secret::Policy,
    /// Which objects this install works on, the labels of what it creates, and whether it works with `ClusterConnectProject`s.
    pub scope: Scope,
    /// Key of the digests.
    pub digest_key: DigestKey,
    /// Makes the clients of frontends.
    pub actions: Arc<dyn ActionFactory>,
}

/// What is kept between reconciles, to save time. Losing it costs no call that changes anything.
#[derive(Default)]
pub struct Memory {
    /// Of each `ConnectorDeployment`.
    pub deployments: Memories<ConnectorDeployment>,
    /// Of each `ConnectorStaged`.
    pub staged: Memories<ConnectorStaged>,
    /// When the last call of each `ActionCheck` was about to be sent.
    pub checks: ObjectMap<Timestamp>,
    /// The last result of each project.
    pub projects: ObjectMap<Project>,
    /// How many reconciles of each resource in a row the API server refused something, or ended by a bug.
    pub failures: ObjectMap<u32>,
    /// The objects that the watches show, each with a hash of what users can change.
    pub shown: ObjectMap<u64>,
}

impl Context {
    /// Enqueues a resource.
    pub fn enqueue(&self, object_ref: ObjectRef) {
        self.requeue_timers.enqueue(object_ref);
    }

    /// Enqueues a resource that a user has changed, as a watch has shown.
    pub fn enqueue_changed(&self, object_ref: &ObjectRef) {
        if object_ref.kind == Kind::Deployment {
            self.contents.resource_changed(&object_ref.namespace);
        }
        self.enqueue(object_ref.clone());
    }

    /// Enqueues the resources that name this object.
    pub fn enqueue_users(&self, kind: Referenced, namespace: &str, name: &str) {
        for user in self.references.users(kind, namespace, name) {
            self.enqueue(user);
        }
    }

    /// Enqueues the resources that name this project.
    pub fn enqueue_users_of_project(&self, project: &ObjectRef) {
        self.references.users_of_project(project).into_iter().for_each(|user| self.enqueue(user));
    }

    /// Rule 4: returns whether a resource may go on, and announces what it `begins` to the others.
    pub fn claim<K: ManagedKind>(&self, object: &K, begins: Option<Begin<'_>>) -> ClaimStatus {
        self.keys.claim(object, begins, &|project, namespace| self.admits(project, namespace))
    }

    /// Returns the remote in which resources of `namespace` claim keys through a project (rules 4 and 29).
    fn admits(&self, project: &ObjectRef, namespace: &str) -> Option<RemoteIdentity> {
        if self.permissions.permission(project, namespace) != Permission::Granted {
            return None;
        }
        let known = self.memory.projects.get(project)?;
        known.remote.is_ok_and(|remote| remote.has_answered()).then_some(known.identity)
    }

    /// Enqueues a project after a resource began or ceased to name it: its status counts them, and one that is being
    /// deleted waits for them. The first and the last one enqueue it at once, many others once in [`COUNTED_WITHIN`].
    pub fn users_changed(&self, project: &ObjectRef) {
        if self.references.has_several_users(project) {
            self.requeue_timers.set_within(project, COUNTED_WITHIN);
        } else {
            self.enqueue(project.clone());
        }
    }

    /// Returns every resource that this process keeps anything for, in order, so that tests can compare it with what
    /// exists.
    pub fn object_refs(&self) -> BTreeSet<ObjectRef> {
        let Memory { deployments, staged, checks, projects, failures, shown } = &self.memory;
        let kept = [deployments.object_refs(), staged.object_refs(), projects.object_refs(), failures.object_refs()];
        let others = [
            shown.object_refs(),
            checks.object_refs(),
            self.references.object_refs(),
            self.remotes.object_refs(),
            self.keys.object_refs(),
        ];
        kept.into_iter().chain(others).chain([self.requeue_timers.object_refs()]).flatten().collect()
    }

    /// Publishes an Event about a condition, and logs it.
    pub fn event<K: Resource<DynamicType = ()>>(&self, object: &K, action: &'static str, condition: &ConditionUpdate) {
        let type_ = match condition.reason.state() {
            ConditionState::Waiting | ConditionState::Stalled | ConditionState::Failing => EventType::Warning,
            ConditionState::Ready | ConditionState::Progressing | ConditionState::Paused => EventType::Normal,
        };
        match type_ {
            EventType::Warning => tracing::warn!(reason = condition.reason.as_str(), "{}", condition.message),
            EventType::Normal => tracing::info!(reason = condition.reason.as_str(), "{}", condition.message),
        }
        self.report(object, type_, condition.reason.into(), action, &condition.message);
    }

    /// Publishes an Event with a reason of its own.
    pub fn report<K: Resource<DynamicType = ()>>(
        &self,
        object: &K,
        type_: EventType,
        reason: EventReason,
        action: &'static str,
        note: &str,
    ) {
        let regarding = object.object_ref(&());
        let event = NewEvent { regarding, type_, reason: reason.as_str(), action, note: note.to_owned() };
        self.recorder.record(event, self.clock.now());
    }
}

/// A project as its controller found it.
#[derive(Clone)]
pub struct Project {
    /// The remote project that it names.
    pub identity: RemoteIdentity,
    /// Its region, the default of its deployments.
    pub region: String,
    /// URL of its HTTP API.
    pub http_api_url: String,
    /// The API client of its HTTP API, or why it cannot be used; `None`: that of the remote.
    pub http_api: Option<Result<remote::Settings, ConditionUpdate>>,
    /// The remote, or the condition that explains why it cannot be used.
    pub remote: Result<Arc<Remote>, ConditionUpdate>,
}

impl Project {
    /// Whether the users of a project need not be enqueued, because nothing differs from `before`.
    pub fn is_same(&self, before: &Self) -> bool {
        before.identity == self.identity
            && before.region == self.region
            && before.http_api_url == self.http_api_url
            && before.http_api == self.http_api
            && match (&before.remote, &self.remote) {
                (Ok(one), Ok(other)) => Arc::ptr_eq(one, other),
                (Err(one), Err(other)) => one == other,
                _ => false,
            }
    }
}
