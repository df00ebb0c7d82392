//! Mirrors of the registry: which objects an operator may write and remove, and what exists once everything has settled.

use std::collections::{BTreeMap, BTreeSet};

use connect_api::model::Connector;
use connect_operator::controllers::object_ref::ObjectRef;
use connect_operator::controllers::reporting::conditions;
use connect_operator::crd::ConnectProject;
use connect_operator::names;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Checker;
use crate::cluster::{Change, Cluster, Key, Kind, is_going};
use crate::mirror::{Read, in_order, project_of};
use crate::users::PROJECT_NAME;

/// How long a reconcile takes at most whose begin is not known, because its operator was stopped.
const LONGEST_RECONCILE: SignedDuration = SignedDuration::from_mins(10);
/// Complete reads in a row that have to lack a connector before its object is removed.
const READS: u32 = 2;

/// What the checker knows of mirrors.
#[derive(Default)]
pub(crate) struct Mirrors {
    objects: BTreeMap<Key, Value>,
    /// By operator and id of a connector: how many of its complete reads in a row lacked it.
    absent: BTreeMap<(usize, String), u32>,
    /// By operator: id, key and version of every connector that it has read.
    read: BTreeMap<usize, BTreeSet<(String, Option<String>, i64)>>,
    /// The smallest limit that a project has had.
    least: Option<usize>,
    /// When a namespace last had no mirror; until now, if it has none.
    unwanted: BTreeMap<String, Timestamp>,
}

impl Mirrors {
    /// Records the reads of operators.
    fn note(&mut self, reads: Vec<Read>) {
        for Read { operator, found, whole } in reads {
            let identity = |connector: &Connector| (connector.id.clone(), connector.key.clone(), connector.version);
            self.read.entry(operator).or_default().extend(found.iter().map(identity));
            let kept = in_order(found).into_iter().take(self.least.unwrap_or(usize::MAX));
            let kept: BTreeSet<String> = kept.map(|connector| connector.id).collect();
            let mut ids: BTreeSet<String> = self.objects.values().map(id).collect();
            ids.extend(self.absent.keys().map(|(_, id)| id.clone()));
            for id in ids {
                let times = self.absent.entry((operator, id.clone())).or_default();
                *times = if whole && !kept.contains(&id) { *times + 1 } else { 0 };
            }
        }
    }
}

fn id(object: &Value) -> String {
    object["spec"]["id"].as_str().unwrap_or_default().to_owned()
}

/// Returns the limit of the mirror of a project; `None`: it has no mirror.
fn most(project: &Value) -> Option<usize> {
    let registry = project["spec"].get("registry").filter(|registry| !registry.is_null() && !is_going(project))?;
    let most = registry["maxObjects"].as_u64().and_then(|most| usize::try_from(most).ok());
    Some(most.unwrap_or(usize::MAX))
}

impl Checker {
    /// Records reads of the registry.
    pub(super) fn registry_read(&mut self, reads: Vec<Read>) {
        self.mirrors.note(reads);
    }

    /// Records whether a project wants a mirror.
    pub(super) fn mirror_wanted(&mut self, change: &Change, now: Timestamp) {
        match most(&change.object).filter(|_| !change.deleted) {
            Some(most) => {
                self.mirrors.least = Some(self.mirrors.least.map_or(most, |least| least.min(most)));
                // It was not wanted until this change.
                self.mirrors.unwanted.entry(change.key.namespace.clone()).and_modify(|until| *until = now.min(*until));
            }
            None => drop(self.mirrors.unwanted.insert(change.key.namespace.clone(), Timestamp::MAX)),
        }
    }

    /// A Connector object was changed.
    pub(super) fn connector_changed(&mut self, change: &Change, now: Timestamp) {
        let before = self.mirrors.objects.remove(&change.key);
        if let Some(operator) = change.operator
            && let Some(why) = self.wrong_connector(change, before.as_ref(), operator, now)
        {
            self.wrong(format!("{}: {why}: {}", change.key.name, change.object));
        }
        if !change.deleted {
            self.mirrors.objects.insert(change.key.clone(), Value::clone(&change.object));
        }
    }

    fn wrong_connector(
        &mut self,
        change: &Change,
        before: Option<&Value>,
        operator: usize,
        now: Timestamp,
    ) -> Option<String> {
        let after = &*change.object;
        if project_of(before.unwrap_or(after)) != PROJECT_NAME {
            return Some("an object of somebody else was changed".to_owned());
        }
        if change.deleted {
            self.count("Connector objects removed");
            let id = id(after);
            let namespace = &change.key.namespace;
            let absent = self.mirrors.absent.get(&(operator, id.clone())).is_some_and(|times| *times >= READS);
            let twin =
                self.mirrors.objects.iter().any(|(key, other)| key.namespace == *namespace && self::id(other) == id);
            let refs = ObjectRef::project(namespace, PROJECT_NAME).with_mirror();
            let began = refs.filter_map(|object_ref| self.began.get(&object_ref)).min().copied();
            let since = began.unwrap_or_else(|| now.saturating_sub(LONGEST_RECONCILE).unwrap_or(Timestamp::MIN));
            let unwanted = self.mirrors.unwanted.get(namespace).is_some_and(|until| *until >= since);
            return (!(absent || twin || unwanted)).then(|| format!("removed without {READS} reads that lack it"));
        }
        self.count("Connector objects written");
        let none = json!({});
        for field in ["labels", "annotations"] {
            let (old, new) = (before.map_or(&none, |before| &before["metadata"][field]), &after["metadata"][field]);
            let mut old = old.as_object().into_iter().flatten();
            if old.any(|(name, value)| new.get(name) != Some(value)) {
                return Some(format!("the {field} of a user are lost"));
            }
        }
        let status = &after["status"];
        let key = status["key"].as_str().map(str::to_owned);
        let written = (id(after), key, status["version"].as_i64().unwrap_or_default());
        let restored = before.is_some_and(|before| before["status"] == *status);
        let read = self.mirrors.read.get(&operator).is_some_and(|read| read.contains(&written));
        (!(status.is_null() || restored || read)).then(|| "the registry never had this record".to_owned())
    }
}

/// Returns a mirror that is not yet as the registry is. `registry`: its connectors, in the order of the limit.
pub(crate) fn unsettled(cluster: &Cluster, registry: &[Connector]) -> Option<String> {
    for (key, _) in cluster.of_kind(Kind::Namespace) {
        let within = |(object, _): &(&Key, _)| object.namespace == key.name;
        let ours = |(_, object): &(&Key, &std::sync::Arc<Value>)| project_of(object) == PROJECT_NAME;
        let mut objects: Vec<(&Key, &Value)> = cluster
            .of_kind(Kind::Connector)
            .filter(within)
            .filter(ours)
            .map(|(key, object)| (key, &**object))
            .collect();
        let project = cluster.get(&Key::new(Kind::Project, &key.name, PROJECT_NAME));
        let Some(project) = project.filter(|project| !is_going(project)) else { continue };
        // Without a mirror, no read finds what others created for the project.
        if most(project).is_none() {
            objects.retain(|(_, object)| !object["metadata"]["ownerReferences"].is_null());
        }
        let wanted = most(project).map_or(&[][..], |most| &registry[..most.min(registry.len())]);
        if let Some(why) = unequal(project, &objects, wanted) {
            return Some(format!("the mirror in {}: {why}", key.name));
        }
        let project = ConnectProject::deserialize(&**project).expect("a stored object has its kind");
        let status = project.status.unwrap_or_default();
        let reported = conditions::reason(&status.conditions, names::REGISTRY_MIRRORED).unwrap_or_default();
        let due = match project.spec.registry {
            None => "",
            Some(_) if wanted.len() < registry.len() => "RegistryCut",
            Some(_) => "Mirrored",
        };
        let counts = status.registry.as_ref().map(|mirror| (mirror.found, mirror.objects));
        let numbers = (u32::try_from(registry.len()).ok(), u32::try_from(objects.len()).ok());
        if reported != due || counts != project.spec.registry.map(|_| numbers) {
            return Some(format!("the project reports {reported:?} and {counts:?} instead of {due:?} and {numbers:?}"));
        }
    }
    None
}

/// Returns how the objects of a project differ from the connectors that they must show.
fn unequal(project: &Value, objects: &[(&Key, &Value)], wanted: &[Connector]) -> Option<String> {
    let described = |object: &Value| (id(object), object["status"]["key"].clone(), object["status"]["version"].clone());
    let mut shown: Vec<_> = objects.iter().map(|(_, object)| described(object)).collect();
    let of = |connector: &Connector| (connector.id.clone(), json!(connector.key), json!(connector.version));
    let mut due: Vec<_> = wanted.iter().map(of).collect();
    shown.sort_by(|one, other| one.0.cmp(&other.0));
    due.sort_by(|one, other| one.0.cmp(&other.0));
    if shown != due {
        return Some(format!("expected {due:?}, and there is {shown:?}"));
    }
    for (key, object) in objects {
        if object["metadata"]["ownerReferences"][0]["uid"] != project["metadata"]["uid"] {
            return Some(format!("{} has another owner", key.name));
        }
        let same = |connector: &&Connector| json!(connector.key) == object["status"]["key"];
        let label = object["status"]["key"].as_str().filter(|key| !key.contains('_'));
        let alone = wanted.iter().filter(same).count() == 1;
        if let Some(label) = label.filter(|_| alone)
            && key.name != format!("{PROJECT_NAME}.{label}")
        {
            return Some(format!("{} is not named after {label}", key.name));
        }
    }
    None
}
