//! The scope of an install: its namespaces and labels, from its flags, and as its Lease announces it to other installs; and
//! the labels of what it creates. Pure.

use std::collections::BTreeMap;

use kube::core::{Selector, SelectorExt as _};

use super::LeaseName;
use super::selector::{self, BadSelector};
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
    pub fn new(namespaces: &[String], selector: &str) -> Result<Self, BadSelector> {
        Ok(Self::of(namespaces, selector::parse(selector)?))
    }

    /// Builds the scope from a selector that was parsed already.
    #[must_use]
    pub fn of(namespaces: &[String], selector: Selector) -> Self {
        let namespaces = namespaces.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
        Self { namespaces: namespaces.map(str::to_owned).collect(), selector, ..Self::default() }
    }

    /// Returns the scope with or without `ClusterConnectProject`s.
    #[must_use]
    pub fn with_cluster_projects(self, cluster_projects: bool) -> Self {
        Self { cluster_projects, ..self }
    }

    /// Returns the scope of an install that creates objects with these labels, and with its name as long as that can be one.
    #[must_use]
    pub fn with_labels(self, mut labels: Labels, install: &LeaseName) -> Self {
        let name = format!("{}.{}", install.namespace, install.name);
        if selector::is_word(&name) {
            labels.insert(names::APP_INSTANCE.to_owned(), name);
        }
        Self { labels, ..self }
    }

    /// The labels of every object that the install creates. None of them changes with the version, so that an upgrade writes
    /// nothing. Its own replace those that were given: leftover copies of credentials are found by them.
    #[must_use]
    pub fn labels(&self) -> Labels {
        let own = [(names::APP_NAME, env!("CARGO_PKG_NAME")), (names::MANAGED_BY, names::FIELD_MANAGER)];
        let mut labels = self.labels.clone();
        labels.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
        labels
    }

    /// Whether the install works with `ClusterConnectProject`s.
    #[must_use]
    pub fn has_cluster_projects(&self) -> bool {
        self.cluster_projects
    }

    /// The namespaces; empty means all.
    #[must_use]
    pub fn namespaces(&self) -> &[String] {
        &self.namespaces
    }

    /// The label selector; it may select everything.
    #[must_use]
    pub fn selector(&self) -> &Selector {
        &self.selector
    }

    /// Whether the selector matches these labels, whatever the namespace.
    #[must_use]
    pub fn selects(&self, labels: &Labels) -> bool {
        self.selector.matches(labels)
    }

    /// Whether an object is in this scope. `namespace`: empty for one that is cluster-scoped.
    #[must_use]
    pub fn works_on(&self, namespace: &str, labels: &Labels) -> bool {
        if namespace.is_empty() {
            return self.cluster_projects && self.selects(labels);
        }
        (self.namespaces.is_empty() || self.namespaces.iter().any(|name| name == namespace)) && self.selects(labels)
    }

    /// The annotations with which its Lease announces the scope to other installs.
    #[must_use]
    pub fn annotations(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            (names::WATCH_NAMESPACES.to_owned(), self.namespaces.join(",")),
            (names::SELECTOR.to_owned(), self.selector.to_string()),
            (names::CLUSTER_PROJECTS.to_owned(), self.cluster_projects.to_string()),
        ])
    }

    /// Reads the scope from the annotations of another Lease. What is absent or cannot be parsed means everything, so
    /// that this install rather leaves too much alone.
    #[must_use]
    pub fn of_annotations(annotations: &BTreeMap<String, String>) -> Self {
        let text = |name: &str| annotations.get(name).map(String::as_str).unwrap_or_default();
        let namespaces: Vec<_> = text(names::WATCH_NAMESPACES).split(',').map(str::to_owned).collect();
        let scope =
            Self::new(&namespaces, text(names::SELECTOR)).or_else(|_| Self::new(&namespaces, "")).unwrap_or_default();
        scope.with_cluster_projects(text(names::CLUSTER_PROJECTS) != "false")
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
    fn an_install_works_on_its_namespaces_and_labels_and_its_lease_announces_them() {
        let names = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        for (case, namespaces, selector, namespace, has, expected) in [
            ("everything", "", "", "a", "", true),
            ("its namespace", "a,b", "", "b", "", true),
            ("another", "a,b", "", "c", "", false),
            ("its label", "", "team=tax", "a", "team=tax,tier=1", true),
            ("another label", "", "team=tax", "a", "team=cart", false),
            ("no label", "", "team=tax", "a", "", false),
            ("no label, for the rest", "", "team notin (cart, tax)", "a", "", true),
            ("not for the rest", "", "team notin (cart, tax)", "a", "team=tax", false),
            ("both", "a", "team in (tax),!legacy", "a", "team=tax", true),
            ("the label alone", "a", "team in (tax),!legacy", "b", "team=tax", false),
            ("excluded", "a", "team in (tax),!legacy", "a", "team=tax,legacy=", false),
        ] {
            let scope = Scope::new(&names(namespaces), selector).expect("a selector");
            assert_eq!(scope.works_on(namespace, &labels(has)), expected, "{case}");
            let read = Scope::of_annotations(&scope.annotations());
            assert_eq!(read.works_on(namespace, &labels(has)), expected, "{case}, read back from its Lease");
            assert_eq!(read.annotations(), scope.annotations(), "{case}");
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

    #[test]
    fn an_object_without_a_namespace_is_in_the_scope_of_installs_with_shared_projects() {
        let names = ["a".to_owned()];
        for (case, shares, selector, has, expected) in [
            ("with shared projects", true, "", "", true),
            ("without", false, "", "", false),
            ("with its label", true, "team=tax", "team=tax", true),
            ("with another label", true, "team=tax", "team=cart", false),
        ] {
            let scope = Scope::new(&names, selector).expect("a selector").with_cluster_projects(shares);
            assert_eq!(scope.works_on("", &labels(has)), expected, "{case}");
            assert_eq!(
                Scope::of_annotations(&scope.annotations()).works_on("", &labels(has)),
                expected,
                "{case}, by its Lease"
            );
        }
    }

    #[test]
    fn a_lease_whose_annotations_cannot_be_parsed_means_everything() {
        assert!(Scope::of_annotations(&BTreeMap::new()).works_on("a", &Labels::new()));
        let strange = BTreeMap::from([
            (names::WATCH_NAMESPACES.to_owned(), "a".to_owned()),
            (names::SELECTOR.to_owned(), "((".to_owned()),
        ]);
        assert!(Scope::of_annotations(&strange).works_on("a", &Labels::new()));
        assert!(!Scope::of_annotations(&strange).works_on("b", &Labels::new()));
    }
}
