//! Which namespaces may use which `ClusterConnectProject`: `spec.allowedNamespaces`, compared with the labels of the
//! namespaces. Pure.
//!
//! The watches of projects and namespaces feed it before any reconcile sees a project, so that a permission that is
//! withdrawn holds from the event on, even if the project itself cannot be reconciled. Each change returns what it
//! concerns; `manager/event_handlers.rs` then enqueues these resources.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};

use crate::crd::{AllowedNamespaces, NamespacesFrom};
use crate::mutex::Mutex;
use crate::operator::object_ref::ObjectRef;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;

type Labels = BTreeMap<String, String>;

/// Whether resources of a namespace may use a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// They may.
    Granted,
    /// They may not, for this reason; nothing is read or sent for them.
    Denied(ConditionUpdate),
    /// Not known before the namespaces are listed, and while the watch has not shown the project.
    Unknown,
}

/// The permissions of all namespaces.
#[derive(Debug)]
pub struct NamespacePermissions {
    /// Whether this install works with `ClusterConnectProject`s at all.
    enabled: bool,
    // A panic of a holder leaves it as it was, because each change is one step.
    index: Mutex<Index>,
}

#[derive(Debug, Default)]
struct Index {
    /// Labels of the namespaces that exist.
    labels: BTreeMap<String, Labels>,
    /// The namespaces that the list in progress has shown.
    listing: BTreeSet<String>,
    state: ListState,
    /// Who may use each project.
    projects: BTreeMap<String, AllowedNamespaces>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum ListState {
    #[default]
    Awaited,
    Complete,
    /// The API server refuses the list, with this message.
    Refused(String),
}

/// The changed permissions: for each project the namespaces concerned.
pub type Changes = BTreeMap<ObjectRef, BTreeSet<String>>;

impl NamespacePermissions {
    /// Creates the state before the first event. `enabled`: whether this install works with `ClusterConnectProject`s.
    #[must_use]
    pub fn new(enabled: bool) -> Self {
        Self { enabled, index: Mutex::default() }
    }

    /// Returns whether this install works with `ClusterConnectProject`s.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Returns whether resources of `namespace` may use `project`. A `ConnectProject` serves its own namespace.
    #[must_use]
    pub fn permission(&self, project: &ObjectRef, namespace: &str) -> Permission {
        if !project.kind.is_cluster_scoped() {
            let mine = project.namespace == namespace;
            return if mine { Permission::Granted } else { denied(&format!("{project} is in another namespace")) };
        }
        if !self.enabled {
            return denied("this install of the operator works with no ClusterConnectProjects (--cluster-projects)");
        }
        let index = self.index.lock();
        let Some(allowed) = index.projects.get(&project.name) else { return Permission::Unknown };
        match &index.state {
            _ if allowed.allow(namespace, index.labels.get(namespace)) => Permission::Granted,
            ListState::Awaited if allowed.from == NamespacesFrom::Selector => Permission::Unknown,
            ListState::Refused(why) if allowed.from == NamespacesFrom::Selector => denied(&format!(
                "the labels of namespaces are not known, because the API server refuses to list namespaces ({why})"
            )),
            _ => denied("its spec.allowedNamespaces does not include this namespace"),
        }
    }

    /// Returns whether it is known that resources of `namespace` may not use `project`.
    #[must_use]
    pub fn denies(&self, project: &ObjectRef, namespace: &str) -> bool {
        matches!(self.permission(project, namespace), Permission::Denied(_))
    }

    /// Records a project from a watch; returns whether it may allow other namespaces than before, which need not be known.
    #[must_use]
    pub fn saw_project(&self, name: &str, allowed: &AllowedNamespaces) -> bool {
        let before = self.index.lock().projects.insert(name.to_owned(), allowed.clone());
        before.as_ref() != Some(allowed)
    }

    /// Removes a project that no longer exists.
    pub fn forget(&self, project: &ObjectRef) {
        self.index.lock().projects.remove(&project.name);
    }

    /// Records an event of the watch of namespaces.
    #[must_use]
    pub fn note<K: Resource>(&self, event: &Event<K>) -> Changes {
        let mut index = self.index.lock();
        match event {
            Event::Init => {
                index.listing.clear();
                Changes::new()
            }
            Event::InitApply(namespace) => {
                index.listing.insert(namespace.name_any());
                index.put(&namespace.name_any(), Some(namespace.labels().clone()))
            }
            Event::InitDone => {
                let listed = mem::take(&mut index.listing);
                let gone: Vec<_> = index.labels.keys().filter(|name| !listed.contains(*name)).cloned().collect();
                index.state = ListState::Complete;
                let mut changes = Changes::new();
                for namespace in gone {
                    for (project, namespaces) in index.put(&namespace, None) {
                        changes.entry(project).or_default().extend(namespaces);
                    }
                }
                changes
            }
            Event::Apply(namespace) => index.put(&namespace.name_any(), Some(namespace.labels().clone())),
            Event::Delete(namespace) => index.put(&namespace.name_any(), None),
        }
    }

    /// Records that the API server refuses to list the namespaces. What was listed before stays.
    pub fn refused(&self, why: &str) {
        let mut index = self.index.lock();
        if index.state != ListState::Complete {
            index.state = ListState::Refused(why.to_owned());
        }
    }

    /// Returns whether the API server refuses to list the namespaces.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        matches!(self.index.lock().state, ListState::Refused(_))
    }

    /// Returns whether the namespaces were listed, or the list was refused, at least once.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.index.lock().state != ListState::Awaited
    }
}

impl Index {
    /// Records the labels of a namespace; `None`: it no longer exists.
    fn put(&mut self, namespace: &str, labels: Option<Labels>) -> Changes {
        let before = self.labels.remove(namespace);
        let allows = |allowed: &AllowedNamespaces, labels: &Option<Labels>| allowed.allow(namespace, labels.as_ref());
        let concerned =
            self.projects.iter().filter(|(_, allowed)| allows(allowed, &before) != allows(allowed, &labels));
        let change = |name| (ObjectRef::cluster_project(name), BTreeSet::from([namespace.to_owned()]));
        let changes = concerned.map(|(name, _)| change(name)).collect();
        self.labels.extend(labels.map(|labels| (namespace.to_owned(), labels)));
        changes
    }
}

fn denied(why: &str) -> Permission {
    let message = format!(
        "This namespace may not use the project in spec.projectRef: {why}. Nothing is read or sent for this resource, also \
         if it is deleted, until the namespace is allowed; to delete it and leave what it deployed, set \
         deletionPolicy: Orphan"
    );
    Permission::Denied(ConditionUpdate::new(Reason::ProjectNotAllowed, message))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Namespace;
    use kube::api::ObjectMeta;
    use serde_json::json;

    use super::*;

    fn namespace(name: &str, team: Option<&str>) -> Namespace {
        let labels = team.map(|team| BTreeMap::from([("team".to_owned(), team.to_owned())]));
        let metadata = ObjectMeta { name: Some(name.to_owned()), labels, ..ObjectMeta::default() };
        Namespace { metadata, ..Namespace::default() }
    }

    fn allowed(value: serde_json::Value) -> AllowedNamespaces {
        serde_json::from_value(value).expect("namespaces")
    }

    /// Returns a word for the permission of a namespace.
    fn word(permissions: &NamespacePermissions, namespace: &str) -> &'static str {
        match permissions.permission(&ObjectRef::cluster_project("demo"), namespace) {
            Permission::Granted => "granted",
            Permission::Denied(condition) => {
                assert_eq!(condition.reason, Reason::ProjectNotAllowed);
                "denied"
            }
            Permission::Unknown => "unknown",
        }
    }

    /// Returns the namespaces whose permission has changed.
    fn names(changes: Changes) -> Vec<String> {
        changes.into_values().flatten().collect()
    }

    #[test]
    fn rule_29_a_permission_follows_the_labels_of_a_namespace() {
        let permissions = NamespacePermissions::new(true);
        assert_eq!(word(&permissions, "shop"), "unknown", "the project is not known");
        let team = allowed(json!({"from": "Selector", "selector": {"matchLabels": {"team": "tax"}}}));
        assert!(permissions.saw_project("demo", &team));
        assert_eq!(word(&permissions, "shop"), "unknown");
        let (tax, cart) = (Some("tax"), Some("cart"));
        // The event, the namespaces whose permission it changes, and the permission of `shop` then.
        for (case, event, changed, expected) in [
            ("a list begins", Event::Init, &[][..], "unknown"),
            ("it shows the namespace", Event::InitApply(namespace("shop", tax)), &["shop"], "granted"),
            ("and another", Event::InitApply(namespace("yard", cart)), &[], "granted"),
            ("it is complete", Event::InitDone, &[], "granted"),
            ("nothing changes", Event::Apply(namespace("shop", tax)), &[], "granted"),
            ("the label is removed", Event::Apply(namespace("shop", None)), &["shop"], "denied"),
            ("added", Event::Apply(namespace("shop", tax)), &["shop"], "granted"),
            ("changed", Event::Apply(namespace("shop", cart)), &["shop"], "denied"),
            ("of another namespace", Event::Apply(namespace("yard", tax)), &["yard"], "denied"),
            ("set back", Event::Apply(namespace("shop", tax)), &["shop"], "granted"),
            ("the namespace is deleted", Event::Delete(namespace("shop", tax)), &["shop"], "denied"),
            ("the next list", Event::Init, &[], "denied"),
            ("shows it again", Event::InitApply(namespace("shop", tax)), &["shop"], "granted"),
            ("and not the other one", Event::InitDone, &["yard"], "granted"),
        ] {
            assert_eq!(names(permissions.note(&event)), changed, "{case}");
            assert_eq!(word(&permissions, "shop"), expected, "{case}");
        }
        let project = ObjectRef::cluster_project("demo");
        permissions.forget(&project);
        assert_eq!(word(&permissions, "shop"), "unknown");
    }

    #[test]
    fn rule_29_a_permission_follows_the_spec_of_the_project() {
        let permissions = NamespacePermissions::new(true);
        let _ = permissions.note(&Event::Apply(namespace("shop", Some("tax"))));
        let _ = permissions.note(&Event::<Namespace>::InitDone);
        let _ = permissions.note(&Event::Apply(namespace("shop", Some("tax"))));
        for (case, spec, changes, shop, unlisted) in [
            ("nothing", json!({}), true, "denied", "denied"),
            ("by name", json!({"from": "Names", "names": ["shop"]}), true, "granted", "denied"),
            ("the same", json!({"from": "Names", "names": ["shop"]}), false, "granted", "denied"),
            (
                "by label",
                json!({"from": "Selector", "selector": {"matchLabels": {"team": "tax"}}}),
                true,
                "granted",
                "denied",
            ),
            ("another", json!({"from": "Names", "names": ["yard"]}), true, "denied", "granted"),
            ("every", json!({"from": "All"}), true, "granted", "granted"),
            ("none", json!({"from": "None"}), true, "denied", "denied"),
        ] {
            assert_eq!(permissions.saw_project("demo", &allowed(spec)), changes, "{case}");
            assert_eq!((word(&permissions, "shop"), word(&permissions, "yard")), (shop, unlisted), "{case}");
        }
    }

    #[test]
    fn rule_29_nothing_is_granted_without_the_feature_or_the_labels() {
        let by_label = allowed(json!({"from": "Selector", "selector": {"matchLabels": {"team": "tax"}}}));
        let every = allowed(json!({"from": "All"}));
        let off = NamespacePermissions::new(false);
        let _ = off.saw_project("demo", &every);
        assert_eq!(word(&off, "shop"), "denied");
        let refused = NamespacePermissions::new(true);
        let _ = refused.saw_project("demo", &by_label);
        assert!(!refused.is_listed() && !refused.is_refused());
        refused.refused("namespaces is forbidden");
        assert_eq!(word(&refused, "shop"), "denied");
        assert!(refused.saw_project("demo", &every));
        assert_eq!(word(&refused, "shop"), "granted");
        assert!(refused.is_listed() && refused.is_refused());
    }

    #[test]
    fn rule_29_only_a_denial_that_depends_on_labels_names_a_refused_list() {
        let by_name = json!({"from": "Names", "names": ["named"]});
        let by_label = json!({"from": "Selector", "selector": {"matchLabels": {"team": "tax"}}});
        for (case, allowed_namespaces, is_refused, words) in [
            ("by name, before the list", &by_name, false, "does not include this namespace"),
            ("by name, without the list", &by_name, true, "does not include this namespace"),
            ("by label, without the list", &by_label, true, "refuses to list namespaces (forbidden)"),
        ] {
            let permissions = NamespacePermissions::new(true);
            let _ = permissions.saw_project("demo", &allowed(allowed_namespaces.clone()));
            if is_refused {
                permissions.refused("forbidden");
            }
            let permission = permissions.permission(&ObjectRef::cluster_project("demo"), "shop");
            assert!(
                matches!(&permission, Permission::Denied(why) if why.message.contains(words)),
                "{case}: {permission:?}"
            );
        }
    }

    #[test]
    fn rule_29_a_project_with_a_namespace_serves_that_namespace_only() {
        let permissions = NamespacePermissions::new(false);
        let project = ObjectRef::project("shop", "demo");
        assert!(!permissions.denies(&project, "shop") && permissions.denies(&project, "yard"));
    }
}
