//! What an event of the cluster ends, and whom it wakes: what every driver of the runs needs, be it [`super::manager`]
//! on a real watch, or a test that delivers the events itself, late, twice or not at all.

use std::collections::BTreeSet;

use jiff::Timestamp;
use kube::api::ObjectMeta;
use kube::runtime::watcher;
use kube::{Resource, ResourceExt};

use super::connector::project::MirroredProject;
use super::context::Context;
use super::inventory::Says;
use super::keys::Keys;
use super::references::Named;
use super::sources::Users;
use super::subject::{Kind, Subject};
use super::{action_check, connect_project, connector, connector_deployment, connector_staged};
use crate::crd::{ActionCheck, ConnectProject, ConnectorDeployment, ConnectorStaged};
use crate::names;

/// Forgets everything about a subject that is gone.
pub fn gone(context: &Context, subject: &Subject) {
    context.elsewhere.forget(subject);
    context.work.gone(subject);
    context.given.forget(subject);
    context.panics.forget(subject);
    match subject.kind {
        Kind::Deployment => {
            connector_deployment::gone(context, subject);
            context.wake_users(Named::Deployment, &subject.namespace, &subject.name);
        }
        Kind::Staged => connector_staged::gone(context, subject),
        Kind::Project => connect_project::gone(context, subject),
        Kind::Check => {
            action_check::gone(context, subject);
            context.wake_users(Named::Check, &subject.namespace, &subject.name);
        }
        Kind::Mirror => connector::gone(context, subject),
    }
}

/// The same for one that an event says is gone: others may have its key from now on (rule 4).
pub fn ended(context: &Context, subject: &Subject) {
    context.keys.gone(subject);
    gone(context, subject);
    // A run that is under way may remember it again; the one after it finds nothing, and forgets it.
    context.wake(subject.clone());
}

/// A Secret or a ConfigMap that these name was written or removed.
pub fn sourced(context: &Context, users: Users) {
    for user in users.changed {
        context.work.changed(&user);
        context.wake(user);
    }
    // Nothing is sent for what is missing, so it is no change that waits to be sent.
    users.missing.into_iter().for_each(|user| context.wake(user));
}

/// A Connector object was written or removed, by us or by somebody else: its mirror runs if it does not know of it.
pub fn mirrored(context: &Context, meta: &ObjectMeta, gone: bool) {
    let (Some(name), Some(project)) = (&meta.name, connector::project_of(meta)) else { return };
    let mirror = Subject::mirror(meta.namespace.as_deref().unwrap_or_default(), project);
    let version = connector::version(meta.resource_version.as_deref());
    if context.mirrors.event(&mirror, name, version, gone) {
        context.wake(mirror);
    }
}

/// One of our kinds: what is seen of it counts for who has which key (rule 4).
pub trait Ours: Resource<DynamicType = ()> {
    /// Which one.
    const KIND: Kind;

    /// Takes note of what is seen.
    fn note(&self, keys: &Keys);

    /// What it says of itself; `None`: there is nothing to count.
    fn says(&self) -> Option<Says>;
}

impl Ours for ConnectorDeployment {
    const KIND: Kind = Kind::Deployment;

    fn note(&self, keys: &Keys) {
        keys.saw(self);
    }

    fn says(&self) -> Option<Says> {
        let Some(status) = &self.status else { return Some(Says::default()) };
        let operation = status.operation.as_ref().map(|operation| operation.started_at.0);
        Some(Says::of(&status.conditions, names::READY, operation))
    }
}

impl Ours for ConnectorStaged {
    const KIND: Kind = Kind::Staged;

    fn note(&self, keys: &Keys) {
        keys.saw(self);
    }

    fn says(&self) -> Option<Says> {
        let Some(status) = &self.status else { return Some(Says::default()) };
        let operation = status.operation.as_ref().map(|operation| operation.started_at.0);
        Some(Says::of(&status.conditions, names::READY, operation))
    }
}

impl Ours for ConnectProject {
    const KIND: Kind = Kind::Project;

    fn note(&self, keys: &Keys) {
        keys.saw_project(self);
    }

    fn says(&self) -> Option<Says> {
        let Some(status) = &self.status else { return Some(Says::default()) };
        Some(Says::of(&status.conditions, names::READY, None))
    }
}

impl Ours for ActionCheck {
    const KIND: Kind = Kind::Check;

    /// A check wants no key.
    fn note(&self, _: &Keys) {}

    fn says(&self) -> Option<Says> {
        let Some(status) = &self.status else { return Some(Says::default()) };
        Some(Says::of(&status.conditions, names::READY, None))
    }
}

impl Ours for MirroredProject {
    const KIND: Kind = Kind::Mirror;

    /// A mirror wants no key.
    fn note(&self, _: &Keys) {}

    /// Only what is mirrored, or was.
    fn says(&self) -> Option<Says> {
        let status = self.status.as_ref().filter(|_| self.spec.registry.is_some() || self.may_have_objects())?;
        Some(Says::of(&status.conditions, names::REGISTRY_MIRRORED, None))
    }
}

/// Removes what no run needs from what is kept: who wrote which field, and kubectl's copy of the manifest.
pub fn strip<K: Resource>(object: &mut K) {
    object.managed_fields_mut().clear();
    object.annotations_mut().remove("kubectl.kubernetes.io/last-applied-configuration");
}

/// A number for what people change of an object, and for the object itself: another one of the same name has another. A
/// write of ours changes the status or our own annotation, and leaves it as it is; that somebody took our finalizer away
/// changes it.
#[must_use]
pub fn what_people_change<K: Resource>(object: &K) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let meta = object.meta();
    let mut hasher = DefaultHasher::new();
    meta.uid.hash(&mut hasher);
    (meta.generation, meta.deletion_timestamp.as_ref().map(|at| at.0.as_second())).hash(&mut hasher);
    let held = object.finalizers().iter().any(|name| name == names::FINALIZER);
    // That we set it ourselves, before there is anything to hold, needs no run of its own.
    (!held && object.annotations().contains_key(names::REMOTE_ID)).hash(&mut hasher);
    for name in [names::REDEPLOY_REQUESTED_AT, names::RECONCILE_REQUESTED_AT, names::RERUN_REQUESTED_AT] {
        meta.annotations.as_ref().and_then(|annotations| annotations.get(name)).hash(&mut hasher);
    }
    hasher.finish()
}

/// Which objects exist, so that those are noticed that went while nobody watched, and those that come back: an object whose
/// labels take it to another install and back again is as it was when it was seen before.
pub struct Lifes {
    namespace: Option<String>,
    listed: Option<BTreeSet<Subject>>,
    /// What is here, if labels say so; otherwise what was once seen stays.
    here: BTreeSet<Subject>,
    /// Who runs once the list that is being read is complete: reconciles read from a store that shows nothing of it before.
    later: Vec<Subject>,
    first: First,
}

/// How the first list stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Awaited,
    Refused,
    There,
}

impl Lifes {
    /// `namespace`: the only one that is watched.
    #[must_use]
    pub fn new(namespace: Option<String>) -> Self {
        Self { namespace, listed: None, here: BTreeSet::new(), later: Vec::new(), first: First::Awaited }
    }

    /// The objects that this event says are gone. What is there has its claim before any run sees it.
    pub fn note<K: Ours>(&mut self, context: &Context, event: &watcher::Event<K>) -> Vec<Subject> {
        match event {
            watcher::Event::Init => self.listed = Some(BTreeSet::new()),
            watcher::Event::InitApply(object) => {
                self.seen(context, object);
                if let Some(listed) = &mut self.listed {
                    listed.insert(subject(object));
                }
            }
            watcher::Event::InitDone => {
                match std::mem::replace(&mut self.first, First::There) {
                    First::Awaited => listed::<K>(context),
                    First::Refused if wants_keys::<K>() => context.keys.listed_at_last(),
                    First::Refused | First::There => {}
                }
                let listed = self.listed.take().unwrap_or_default();
                let mut known = context.keys.subjects(K::KIND);
                known.extend(match K::KIND {
                    Kind::Deployment => context.memories.subjects(),
                    Kind::Staged => context.staged_memories.subjects(),
                    Kind::Project => context.projects.subjects(),
                    Kind::Mirror => context.mirrors.subjects(),
                    Kind::Check => context.references.subjects().into_iter().filter(is_check).collect(),
                });
                // What is counted is one of these too, unless it never ran.
                let counted = context.work.inventory.subjects();
                known.extend(counted.into_iter().filter(|subject| subject.kind == K::KIND));
                let here =
                    |subject: &Subject| self.namespace.as_ref().is_none_or(|namespace| *namespace == subject.namespace);
                self.here.retain(|subject| listed.contains(subject));
                self.later.drain(..).for_each(|subject| context.wake(subject));
                settle::<K>(context);
                return known.into_iter().filter(|subject| here(subject) && !listed.contains(subject)).collect();
            }
            watcher::Event::Delete(object) => {
                self.here.remove(&subject(object));
                return vec![subject(object)];
            }
            watcher::Event::Apply(object) => {
                self.seen(context, object);
                settle::<K>(context);
            }
        }
        Vec::new()
    }
}

impl Lifes {
    /// The API server refuses the list. If it is the first one, nobody waits for it any more.
    pub fn refused<K: Ours>(&mut self, context: &Context) {
        if self.first == First::Awaited {
            self.first = First::Refused;
            if wants_keys::<K>() {
                context.keys.refused();
            }
            if K::KIND == Kind::Project {
                context.project_quota.listed();
            }
        }
    }

    /// Takes note of an object, and enqueues the checks that come after it or take their frontend from it, and the staged
    /// connectors that wait for it: what it has applied, and what passed, is in its status, and a project's frontend is for
    /// checks only, so these changes wake nobody else.
    fn seen<K: Ours>(&mut self, context: &Context, object: &K) {
        object.note(&context.keys);
        let subject = subject(object);
        context.work.inventory.seen(&subject, object.says());
        let named = match K::KIND {
            Kind::Deployment => Some(Named::Deployment),
            Kind::Check => Some(Named::Check),
            Kind::Staged | Kind::Project | Kind::Mirror => None,
        };
        if let Some(named) = named {
            context.wake_users(named, &subject.namespace, &subject.name);
        }
        if K::KIND == Kind::Project {
            let users = context.references.users(Named::Project, &subject.namespace, &subject.name);
            users.into_iter().filter(is_check).for_each(|check| context.wake(check));
            if context.elsewhere.selects(object.labels()) {
                context.project_quota.saw(&subject, created(object));
            }
        }
        let comes = context.elsewhere.is_shard() && self.here.insert(subject.clone());
        if context.elsewhere.relabelled(&subject, object.labels()) || comes {
            if self.listed.is_some() {
                self.later.push(subject);
            } else {
                context.wake(subject);
            }
        }
    }
}

/// A first list is complete, which some wait for.
fn listed<K: Ours>(context: &Context) {
    if wants_keys::<K>() {
        context.keys.listed();
    }
    if K::KIND == Kind::Project {
        context.project_quota.listed();
    }
}

fn settle<K: Ours>(context: &Context) {
    if K::KIND == Kind::Project {
        context.project_quota.settle();
    }
}

/// When the API server stored it first; every object that it shows says so.
#[must_use]
pub fn created<K: Resource>(object: &K) -> Timestamp {
    object.meta().creation_timestamp.as_ref().map_or(Timestamp::MAX, |at| at.0)
}

/// Whether the list of a kind says who wants which key. Checks and mirrors want none, so nobody waits for theirs.
fn wants_keys<K: Ours>() -> bool {
    !matches!(K::KIND, Kind::Check | Kind::Mirror)
}

fn is_check(subject: &Subject) -> bool {
    subject.kind == Kind::Check
}

/// The resource that an object is.
pub fn subject<K: Ours>(object: &K) -> Subject {
    Subject { kind: K::KIND, namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
}
