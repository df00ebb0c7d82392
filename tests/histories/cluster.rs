//! An API server without a network: objects, resource versions and every change so far. Pure.
//!
//! It implements what the operator relies on (Kubernetes API conventions): a resource version that grows with each
//! change and that a write may require (409 otherwise), a generation that grows with the spec, a status subresource,
//! finalizers, and a new uid for each object, even under a name that existed before. A write that changes nothing makes
//! no new version.

use crate::prelude::*;

/// A kind that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Project,
    Deployment,
    Staged,
    Check,
    ClusterProject,
    Secret,
    ConfigMap,
    Namespace,
}

impl Kind {
    pub(crate) const ALL: [Self; 8] = [
        Self::Project,
        Self::Deployment,
        Self::Staged,
        Self::Check,
        Self::ClusterProject,
        Self::Secret,
        Self::ConfigMap,
        Self::Namespace,
    ];

    /// Returns its name in a path.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Project => "connectprojects",
            Self::Deployment => "connectordeployments",
            Self::Staged => "connectorstageds",
            Self::Check => "actionchecks",
            Self::ClusterProject => "clusterconnectprojects",
            Self::Secret => "secrets",
            Self::ConfigMap => "configmaps",
            Self::Namespace => "namespaces",
        }
    }

    fn header(self) -> (&'static str, &'static str) {
        match self {
            Self::Project => ("connect-operator.io/v1alpha1", "ConnectProject"),
            Self::Deployment => ("connect-operator.io/v1alpha1", "ConnectorDeployment"),
            Self::Staged => ("connect-operator.io/v1alpha1", "ConnectorStaged"),
            Self::Check => ("connect-operator.io/v1alpha1", "ActionCheck"),
            Self::ClusterProject => ("connect-operator.io/v1alpha1", "ClusterConnectProject"),
            Self::Secret => ("v1", "Secret"),
            Self::ConfigMap => ("v1", "ConfigMap"),
            Self::Namespace => ("v1", "Namespace"),
        }
    }

    /// Whether the schema gives a new object a status.
    fn has_status(self) -> bool {
        matches!(self, Self::Project | Self::ClusterProject | Self::Deployment | Self::Staged | Self::Check)
    }
}

/// Identifies an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) kind: Kind,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        Self { kind, namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// One change of an object.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) key: Key,
    /// The object after the change, or its last state if it was deleted.
    pub(crate) object: Arc<Value>,
    pub(crate) deleted: bool,
    /// The operator that made it; `None`: a user or a controller of the cluster.
    pub(crate) operator: Option<usize>,
}

/// Why a request was refused: the HTTP status, and the reason that Kubernetes gives for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) u16, pub(crate) &'static str);

const NOT_FOUND: Refusal = Refusal(404, "NotFound");
const CONFLICT: Refusal = Refusal(409, "Conflict");
const EXISTS: Refusal = Refusal(409, "AlreadyExists");
/// Nothing can be created in a namespace that is being deleted.
const TERMINATING: Refusal = Refusal(403, "Forbidden");
const FORBIDDEN: Refusal = Refusal(422, "Invalid");

/// All objects.
#[derive(Default)]
pub(crate) struct Cluster {
    objects: BTreeMap<Key, Arc<Value>>,
    changes: Vec<Change>,
    version: u64,
    uids: u64,
    /// The operator whose request is carried out.
    operator: Option<usize>,
    /// Keys of the objects for which an operator sent a patch that changes nothing.
    needless: Vec<Key>,
}

impl Cluster {
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    pub(crate) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        self.objects.iter().filter(move |(key, _)| key.kind == kind)
    }

    /// Carries out what an operator requested.
    pub(crate) fn requested_by<T>(&mut self, operator: usize, request: impl FnOnce(&mut Self) -> T) -> T {
        self.operator = Some(operator);
        let result = request(self);
        self.operator = None;
        result
    }

    /// Returns the objects for which an operator sent a patch that changes nothing.
    pub(crate) fn needless(&self) -> &[Key] {
        &self.needless
    }

    /// Removes the objects whose owner does not exist any more, as the garbage collector does.
    pub(crate) fn collect_garbage(&mut self, now: Timestamp) {
        let exists = |uid: &Value| self.objects.values().any(|object| object["metadata"]["uid"] == *uid);
        let owner = |object: &Value| object.pointer("/metadata/ownerReferences/0/uid").cloned();
        let orphaned = |object: &Value| owner(object).is_some_and(|uid| !exists(&uid));
        let orphans = self.of_kind(Kind::ConfigMap).filter(|(_, object)| orphaned(object));
        for key in orphans.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            let _ = self.delete(&key, now);
        }
    }

    /// Returns everything in a namespace.
    pub(crate) fn within(&self, namespace: &str) -> Vec<Key> {
        self.objects.keys().filter(|key| key.namespace == namespace).cloned().collect()
    }

    /// Removes the namespaces that are being deleted and are empty, as the namespace controller does.
    pub(crate) fn end_namespaces(&mut self) {
        let going = self.of_kind(Kind::Namespace).filter(|(_, object)| is_going(object)).map(|(key, _)| key.clone());
        for key in going.collect::<Vec<_>>() {
            if self.within(&key.name).is_empty() {
                let _ = self.patch(&key, &json!({"metadata": {"finalizers": null}}), false);
            }
        }
    }

    /// Returns the newest version.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Returns every change after a version, oldest first.
    pub(crate) fn changes_after(&self, version: u64) -> &[Change] {
        &self.changes[self.changes.partition_point(|change| change.version <= version)..]
    }

    /// Returns the objects that existed at a version.
    pub(crate) fn at(&self, kind: Kind, version: u64) -> BTreeMap<Key, Arc<Value>> {
        let mut objects = BTreeMap::new();
        let earlier = self.changes.iter().take_while(|change| change.version <= version);
        for change in earlier.filter(|change| change.key.kind == kind) {
            if change.deleted {
                objects.remove(&change.key);
            } else {
                objects.insert(change.key.clone(), Arc::clone(&change.object));
            }
        }
        objects
    }

    pub(crate) fn create(&mut self, key: &Key, mut object: Value, now: Timestamp) -> Result<Arc<Value>, Refusal> {
        if self.objects.contains_key(key) {
            return Err(EXISTS);
        }
        let namespace = self.objects.get(&Key::new(Kind::Namespace, "", &key.namespace));
        if namespace.is_some_and(|namespace| is_going(namespace)) {
            return Err(TERMINATING);
        }
        let (api_version, kind) = key.kind.header();
        self.uids += 1;
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(kind);
        object["metadata"]["name"] = json!(key.name);
        object["metadata"]["namespace"] = json!(key.namespace);
        object["metadata"]["uid"] = json!(format!("uid-{}", self.uids));
        object["metadata"]["creationTimestamp"] = json!(seconds(now));
        object["metadata"]["generation"] = json!(1);
        if key.kind.has_status() {
            object["status"] = json!({"observedGeneration": -1});
        } else if key.kind.has_status()
            && let Some(members) = object.as_object_mut()
        {
            members.remove("status");
        }
        Ok(self.store(key, object))
    }

    /// Applies a merge patch (RFC 7386) to everything but the status, or to the status alone.
    pub(crate) fn patch(&mut self, key: &Key, patch: &Value, status: bool) -> Result<Arc<Value>, Refusal> {
        let before = self.objects.get(key).ok_or(NOT_FOUND)?;
        let wanted = patch.pointer("/metadata/resourceVersion").filter(|version| !version.is_null());
        if wanted.is_some_and(|wanted| *wanted != before["metadata"]["resourceVersion"]) {
            return Err(CONFLICT);
        }
        let mut after = Value::clone(before);
        for (name, change) in patch.as_object().into_iter().flatten() {
            let applies = match name.as_str() {
                "status" => status,
                "metadata" => !status,
                _ => !(status && key.kind.has_status()),
            };
            if applies {
                merge(&mut after[name], change);
            }
        }
        for fixed in
            ["uid", "name", "namespace", "creationTimestamp", "generation", "resourceVersion", "deletionTimestamp"]
        {
            restore(&mut after["metadata"], &before["metadata"], fixed);
        }
        let deleting = is_going(before);
        let (old, new) = (finalizers(before), finalizers(&after));
        if deleting && new.iter().any(|name| !old.contains(name)) {
            return Err(FORBIDDEN);
        }
        let ends = deleting && new.is_empty();
        if after == **before {
            let before = Arc::clone(before);
            self.needless.extend(self.operator.map(|_| key.clone()));
            return Ok(before);
        }
        if after.get("spec") != before.get("spec") {
            grow(&mut after);
        }
        if ends {
            return Ok(self.remove(key, after));
        }
        Ok(self.store(key, after))
    }

    pub(crate) fn delete(&mut self, key: &Key, now: Timestamp) -> Result<Arc<Value>, Refusal> {
        let before = self.objects.get(key).ok_or(NOT_FOUND)?;
        let mut after = Value::clone(before);
        if finalizers(before).is_empty() {
            return Ok(self.remove(key, after));
        }
        if is_going(before) {
            return Ok(Arc::clone(before));
        }
        after["metadata"]["deletionTimestamp"] = json!(seconds(now));
        grow(&mut after);
        Ok(self.store(key, after))
    }

    fn store(&mut self, key: &Key, object: Value) -> Arc<Value> {
        let object = self.change(key, object, false);
        self.objects.insert(key.clone(), Arc::clone(&object));
        object
    }

    fn remove(&mut self, key: &Key, object: Value) -> Arc<Value> {
        self.objects.remove(key);
        self.change(key, object, true)
    }

    fn change(&mut self, key: &Key, mut object: Value, deleted: bool) -> Arc<Value> {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let object = Arc::new(object);
        let (version, operator) = (self.version, self.operator);
        let change = Change { version, key: key.clone(), object: Arc::clone(&object), deleted, operator };
        self.changes.push(change);
        object
    }
}

/// Whether an object is being deleted.
pub(crate) fn is_going(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some()
}

/// Returns the finalizers of an object.
pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    object
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn grow(object: &mut Value) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
    object["metadata"]["generation"] = json!(generation + 1);
}

fn restore(after: &mut Value, before: &Value, name: &str) {
    match before.get(name) {
        Some(value) => after[name] = value.clone(),
        None => {
            if let Some(members) = after.as_object_mut() {
                members.remove(name);
            }
        }
    }
}

/// Formats a time as Kubernetes does, in whole seconds.
fn seconds(now: Timestamp) -> String {
    Timestamp::from_second(now.as_second()).expect("a time in range").to_string()
}
