//! The scope of an install: its namespaces and labels, from its flags; and the labels of what it creates. Pure.

use std::collections::BTreeMap;

use kube::core::{Selector, SelectorExt as _};

use super::LeaseName;
use super::selector;
use crate::names;

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

/// The namespaces and labels of the objects that an install works on.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    namespaces: Vec<String>,
    selector: Selector,
    cluster_projects: bool,
    /// Labels of what the install creates, beside those of every install.
    labels: Labels,
}

impl Scope {
    /// Builds the scope from the flags: no namespaces means all of them, an empty selector means every object.
    ///
    /// # Errors
    /// If the selector cannot be parsed.
    pub fn new(namespaces: &[String], selector: &str) -> Result<Self, String> {
        Ok(Self::of(namespaces, selector::parse(selector)?))
    }

    /// Builds the scope from a selector that was parsed already.
    pub fn of(namespaces: &[String], selector: Selector) -> Self {
        let namespaces = namespaces.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
        Self { namespaces: namespaces.map(str::to_owned).collect(), selector, ..Self::default() }
    }

    /// Returns the scope with or without `ClusterConnectProject`s.
    pub fn with_cluster_projects(self, cluster_projects: bool) -> Self {
        Self { cluster_projects, ..self }
    }

    /// Returns the scope of an install that creates objects with these labels, and with its name as long as that can be one.
    pub fn with_labels(self, mut labels: Labels, install: &LeaseName) -> Self {
        let name = format!("{}.{}", install.namespace, install.name);
        if selector::is_word(&name) {
            labels.insert(names::APP_INSTANCE.to_owned(), name);
        }
        Self { labels, ..self }
    }

    /// The labels of every object that the install creates. None of them changes with the version, so that an upgrade writes
    /// nothing. Its own replace those that were given.
    pub fn labels(&self) -> Labels {
        let own = [(names::APP_NAME, env!("CARGO_PKG_NAME")), (names::MANAGED_BY, names::FIELD_MANAGER)];
        let mut labels = self.labels.clone();
        labels.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
        labels
    }

    /// Whether the install works with `ClusterConnectProject`s.
    pub fn has_cluster_projects(&self) -> bool {
        self.cluster_projects
    }

    /// The namespaces; empty means all.
    pub fn namespaces(&self) -> &[String] {
        &self.namespaces
    }

    /// The label selector; it may select everything.
    pub fn selector(&self) -> &Selector {
        &self.selector
    }

    /// Whether the selector matches these labels, whatever the namespace.
    pub fn selects(&self, labels: &Labels) -> bool {
        self.selector.matches(labels)
    }

    /// Whether other installs may work on objects in the same namespaces.
    pub fn is_shard(&self) -> bool {
        !self.selector.selects_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> Labels {
        let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn an_install_works_on_objects_with_its_labels() {
        for (case, selector, has, expected) in [
            ("everything", "", "", true),
            ("its label", "team=tax", "team=tax,tier=1", true),
            ("another label", "team=tax", "team=cart", false),
            ("no label", "team=tax", "", false),
            ("no label, for the rest", "team notin (cart, tax)", "", true),
            ("not for the rest", "team notin (cart, tax)", "team=tax", false),
            ("several", "team in (tax),!legacy", "team=tax", true),
            ("excluded", "team in (tax),!legacy", "team=tax,legacy=", false),
        ] {
            let scope = Scope::new(&[], selector).expect("a selector");
            assert_eq!(scope.selects(&labels(has)), expected, "{case}");
            assert_eq!(scope.is_shard(), !selector.is_empty(), "{case}");
        }
    }

    #[test]
    fn what_an_install_creates_has_its_labels_and_those_that_were_given() {
        let own = "app.kubernetes.io/managed-by=connect-operator,app.kubernetes.io/name=connect-operator";
        let long = "a".repeat(60);
        for (case, given, lease, expected) in [
            ("none", "", "tax", "app.kubernetes.io/instance=system.tax"),
            ("some", "team=tax,z=", "tax", "app.kubernetes.io/instance=system.tax,team=tax,z="),
            (
                "those of the install",
                "app.kubernetes.io/name=a,app.kubernetes.io/managed-by=b,app.kubernetes.io/instance=c",
                "tax",
                "app.kubernetes.io/instance=system.tax",
            ),
            ("a name that is too long for a label", "team=tax", long.as_str(), "team=tax"),
        ] {
            let lease = LeaseName { namespace: "system".to_owned(), name: lease.to_owned() };
            let scope = Scope::default().with_labels(labels(given), &lease);
            assert_eq!(scope.labels(), labels(&format!("{own},{expected}")), "{case}");
        }
        assert_eq!(Scope::default().labels(), labels(own));
    }
}
