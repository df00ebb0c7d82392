//! `NamespacePermissions` after any events of projects and namespaces, compared with a direct evaluation of names and
//! labels.

use std::collections::{BTreeMap, BTreeSet};

use connect_operator::crd::{AllowedNamespaces, NamespacesFrom};
use connect_operator::operator::cluster::permissions::{Changes, NamespacePermissions, Permission};
use connect_operator::operator::object_ref::ObjectRef;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::api::ObjectMeta;
use kube::runtime::watcher::Event;

use super::bytes::Bytes;

/// Number of events; a list counts as one.
const STEPS: usize = 16;

const PROJECTS: [&str; 2] = ["demo", "live"];
const NAMESPACES: [&str; 3] = ["cart", "shop", "tax"];
const KEYS: [&str; 2] = ["team", "tier"];
const VALUES: [&str; 2] = ["a", "b"];

type Labels = BTreeMap<String, String>;

/// What a project grants, as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Granted {
    Yes,
    No,
    Unknown,
}

/// Whether the labels of all namespaces are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Listed {
    #[default]
    NotYet,
    Refused,
    Once,
}

/// What the events have shown so far.
#[derive(Clone, Debug, Default)]
struct Model {
    projects: BTreeMap<&'static str, AllowedNamespaces>,
    namespaces: BTreeMap<&'static str, Labels>,
    listed: Listed,
}

/// The permissions beside the model.
struct Pair {
    enabled: bool,
    permissions: NamespacePermissions,
    model: Model,
}

pub(crate) fn permissions(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let enabled = !bytes.flag();
    let mut pair = Pair { enabled, permissions: NamespacePermissions::new(enabled), model: Model::default() };
    pair.compare();
    for _ in 0..STEPS {
        match bytes.byte() % 8 {
            0 | 1 => pair.apply_project(bytes.one(&PROJECTS), allowed(&mut bytes)),
            2 => pair.forget_project(bytes.one(&PROJECTS)),
            3 | 4 => pair.apply_namespace(bytes.one(&NAMESPACES), labels(&mut bytes)),
            5 => pair.delete_namespace(bytes.one(&NAMESPACES)),
            6 => pair.list(&mut bytes),
            _ => pair.refuse(),
        }
    }
}

impl Pair {
    fn apply_project(&mut self, name: &'static str, allowed: AllowedNamespaces) {
        let changes = self.permissions.saw_project(name, &allowed);
        let before = self.model.projects.insert(name, allowed.clone());
        assert_eq!(changes, before != Some(allowed));
        self.compare();
    }

    /// A deletion of the project: its reconcile finds that it no longer exists.
    fn forget_project(&mut self, name: &'static str) {
        self.permissions.forget(&ObjectRef::cluster_project(name));
        self.model.projects.remove(name);
        self.compare();
    }

    fn apply_namespace(&mut self, name: &'static str, labels: Labels) {
        let before = self.model.clone();
        let changes = self.permissions.note(&Event::Apply(namespace(name, &labels)));
        self.model.namespaces.insert(name, labels);
        self.check_changes(&before, &changes);
    }

    fn delete_namespace(&mut self, name: &'static str) {
        let before = self.model.clone();
        // The labels of a deleted object are its last ones, which the watch may not have shown before.
        let changes = self.permissions.note(&Event::Delete(namespace(name, &Labels::new())));
        self.model.namespaces.remove(name);
        self.check_changes(&before, &changes);
    }

    /// A list of the namespaces that exist now, whatever changed without an event. It may fail before it is complete; then
    /// the next one begins.
    fn list(&mut self, bytes: &mut Bytes<'_>) {
        assert!(self.permissions.note(&Event::<Namespace>::Init).is_empty(), "the beginning of a list changes nothing");
        let mut shown = BTreeSet::new();
        for name in NAMESPACES {
            if bytes.flag() {
                let (before, labels) = (self.model.clone(), labels(bytes));
                let changes = self.permissions.note(&Event::InitApply(namespace(name, &labels)));
                self.model.namespaces.insert(name, labels);
                self.check_changes(&before, &changes);
                shown.insert(name);
            }
        }
        if bytes.byte() % 4 == 1 {
            return;
        }
        let before = self.model.clone();
        let changes = self.permissions.note(&Event::<Namespace>::InitDone);
        self.model.namespaces.retain(|name, _| shown.contains(name));
        self.model.listed = Listed::Once;
        self.check_changes(&before, &changes);
    }

    /// The API server refuses the list, which matters only if there was none before.
    fn refuse(&mut self) {
        self.permissions.refused("forbidden");
        if self.model.listed != Listed::Once {
            self.model.listed = Listed::Refused;
        }
        self.compare();
    }

    /// Asserts that the event has reported exactly the namespaces that it has allowed or denied.
    fn check_changes(&self, before: &Model, changes: &Changes) {
        let mut expected = Changes::new();
        for project in PROJECTS {
            let (old, new) = (before.allowed_by(project), self.model.allowed_by(project));
            let differing: BTreeSet<String> = old.symmetric_difference(&new).cloned().collect();
            if !differing.is_empty() {
                expected.insert(ObjectRef::cluster_project(project), differing);
            }
        }
        assert_eq!(*changes, expected, "{before:#?} {:#?}", self.model);
        self.compare();
    }

    /// Compares every permission.
    fn compare(&self) {
        assert_eq!(self.permissions.is_listed(), self.model.listed != Listed::NotYet);
        assert_eq!(self.permissions.is_refused(), self.model.listed == Listed::Refused);
        for name in PROJECTS {
            let project = ObjectRef::cluster_project(name);
            for namespace in NAMESPACES {
                let permission = self.permissions.permission(&project, namespace);
                let expected = if self.enabled { self.model.granted(name, namespace) } else { Granted::No };
                let context = || format!("{name} for {namespace}: {permission:?}\n{:#?}", self.model);
                assert_eq!(word(&permission), expected, "{}", context());
                assert_eq!(self.permissions.denies(&project, namespace), expected == Granted::No, "{}", context());
                let own = self.permissions.permission(&ObjectRef::project(namespace, name), "shop");
                assert_eq!(own == Permission::Granted, namespace == "shop", "a ConnectProject is for its namespace");
            }
        }
    }
}

impl Model {
    fn granted(&self, project: &str, namespace: &str) -> Granted {
        let Some(allowed) = self.projects.get(project) else { return Granted::Unknown };
        if self.allowed_by(project).contains(namespace) {
            Granted::Yes
        } else if allowed.from == NamespacesFrom::Selector && self.listed == Listed::NotYet {
            Granted::Unknown
        } else {
            Granted::No
        }
    }

    /// Returns the namespaces that a project allows, if it allows them by their labels by those that are known.
    fn allowed_by(&self, project: &str) -> BTreeSet<String> {
        let Some(AllowedNamespaces { from, names, selector }) = self.projects.get(project) else {
            return BTreeSet::new();
        };
        let selects = |labels: &Labels| selector.as_ref().is_some_and(|selector| selects(selector, labels));
        let selected = self.namespaces.iter().filter(|(_, labels)| selects(labels));
        match from {
            NamespacesFrom::None => BTreeSet::new(),
            NamespacesFrom::All => NAMESPACES.map(str::to_owned).into(),
            NamespacesFrom::Selector => selected.map(|(name, _)| (*name).to_owned()).collect(),
            NamespacesFrom::Names => names.iter().cloned().collect(),
        }
    }
}

/// Whether labels match a selector, as the Kubernetes documentation defines it. A selector without a requirement, and one
/// with a requirement that means nothing, match nothing.
fn selects(selector: &LabelSelector, labels: &Labels) -> bool {
    let LabelSelector { match_labels, match_expressions } = selector;
    let mut equal = match_labels.iter().flatten();
    let mut further = match_expressions.iter().flatten();
    let holds = |requirement: &LabelSelectorRequirement| {
        let value = labels.get(&requirement.key);
        match (requirement.operator.as_str(), &requirement.values) {
            ("In", Some(values)) => value.is_some_and(|value| values.contains(value)),
            ("NotIn", Some(values)) => !value.is_some_and(|value| values.contains(value)),
            ("Exists", _) => value.is_some(),
            ("DoesNotExist", _) => value.is_none(),
            _ => false,
        }
    };
    let is_empty = equal.clone().count() + further.clone().count() == 0;
    !is_empty && equal.all(|(key, value)| labels.get(key) == Some(value)) && further.all(holds)
}

fn word(permission: &Permission) -> Granted {
    match permission {
        Permission::Granted => Granted::Yes,
        Permission::Denied(_) => Granted::No,
        Permission::Unknown => Granted::Unknown,
    }
}

fn namespace(name: &str, labels: &Labels) -> Namespace {
    let metadata = ObjectMeta { name: Some(name.to_owned()), labels: Some(labels.clone()), ..ObjectMeta::default() };
    Namespace { metadata, ..Namespace::default() }
}

fn labels(bytes: &mut Bytes<'_>) -> Labels {
    let mut labels = Labels::new();
    for key in KEYS {
        if bytes.flag() {
            labels.insert(key.to_owned(), bytes.one(&VALUES).to_owned());
        }
    }
    labels
}

fn allowed(bytes: &mut Bytes<'_>) -> AllowedNamespaces {
    let names = NAMESPACES.into_iter().filter(|_| bytes.byte() % 4 == 1).map(str::to_owned).collect();
    let selector = bytes.flag().then(|| LabelSelector {
        match_labels: bytes.flag().then(|| labels(bytes)),
        match_expressions: Some((0..bytes.byte() % 3).map(|_| requirement(bytes)).collect()),
    });
    let from = [NamespacesFrom::None, NamespacesFrom::All, NamespacesFrom::Selector, NamespacesFrom::Names];
    AllowedNamespaces { from: bytes.one(&from), names, selector }
}

/// Any requirement, also one that the schema refuses: without values, with values that mean nothing, or of another kind.
fn requirement(bytes: &mut Bytes<'_>) -> LabelSelectorRequirement {
    let values = VALUES.into_iter().filter(|_| bytes.flag()).map(str::to_owned).collect();
    LabelSelectorRequirement {
        key: bytes.one(&KEYS).to_owned(),
        operator: bytes.one(&["In", "NotIn", "Exists", "DoesNotExist", "Like"]).to_owned(),
        values: bytes.flag().then_some(values),
    }
}
