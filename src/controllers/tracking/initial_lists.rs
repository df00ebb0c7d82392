//! The state of the initial lists: pending, complete, or refused by the API server. Pure.
//!
//! A refused list blocks no other one: if one namespace was deleted or lost its Role, the others must still be
//! reconciled. Next: `tracker/mod.rs`, which keeps this state, and `key_ownership/mod.rs` for why this is safe.

use std::collections::BTreeMap;
use std::fmt;

use crate::controllers::object_ref::{Kind, ObjectRef};
use crate::controllers::references::Named;

/// Number of objects in one page of a list. etcd accepts objects of up to 1.5 MiB as JSON, and the schema of a kind
/// does not bound annotations and labels, so a page has [`LARGEST_PAGE`] bytes at most, of which two
/// copies exist while it is parsed. kube's default of 500 objects would allow 750 MiB.
pub const PAGE: u32 = 25;
/// Maximum size of one page of a list, in bytes: 37.5 MiB.
pub const LARGEST_PAGE: usize = PAGE as usize * LARGEST_OBJECT;
/// Maximum size of one object as JSON, in bytes: `--max-request-bytes` of etcd, 1.5 MiB.
const LARGEST_OBJECT: usize = 3 << 19;

/// A list of one kind, in one namespace or in all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct List {
    /// Kind of the objects.
    pub kind: Kind,
    /// Namespace; `None`: all namespaces.
    pub namespace: Option<String>,
}

impl fmt::Display for List {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(formatter, self.kind.as_str(), self.namespace.as_deref())
    }
}

/// A list of the Secrets or ConfigMaps in one namespace or in all, which resources name. No reconcile waits for it: a
/// resource reads what it names, and without the list, the operator only misses changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceList {
    /// Kind of the objects.
    pub kind: Named,
    /// Namespace; `None`: all namespaces.
    pub namespace: Option<String>,
}

impl fmt::Display for SourceList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(formatter, self.kind.as_str(), self.namespace.as_deref())
    }
}

fn write_list(formatter: &mut fmt::Formatter<'_>, kind: &str, namespace: Option<&str>) -> fmt::Result {
    match namespace {
        Some(namespace) => write!(formatter, "{kind} in namespace {namespace}"),
        None => formatter.write_str(kind),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListState {
    Awaited,
    Refused,
    There,
}

/// The state of each initial list.
#[derive(Debug, Default)]
pub struct Lists(BTreeMap<List, ListState>);

impl Lists {
    /// Creates a state in which these lists are pending.
    #[must_use]
    pub fn awaiting(lists: impl IntoIterator<Item = List>) -> Self {
        Self(lists.into_iter().map(|list| (list, ListState::Awaited)).collect())
    }

    /// Records that a list is complete. Returns whether it was not complete before.
    pub fn there(&mut self, list: &List) -> bool {
        self.0.insert(list.clone(), ListState::There) != Some(ListState::There)
    }

    /// Records that the API server refuses a list. Returns whether it was pending before; a list that was complete once
    /// stays complete, because its objects are still known.
    pub fn refused(&mut self, list: &List) -> bool {
        let awaited = self.0.get_mut(list).filter(|state| **state == ListState::Awaited);
        awaited.map(|state| *state = ListState::Refused).is_some()
    }

    /// Returns the number of complete lists, and of all lists.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        (self.0.values().filter(|state| **state == ListState::There).count(), self.0.len())
    }

    /// Returns whether a list is pending, so that it may complete without user action.
    #[must_use]
    pub fn are_awaited(&self) -> bool {
        self.0.values().any(|state| *state == ListState::Awaited)
    }

    /// Returns the refused lists, in order.
    pub fn refused_lists(&self) -> impl Iterator<Item = &List> {
        self.0.iter().filter(|(_, state)| **state == ListState::Refused).map(|(list, _)| list)
    }

    /// Returns whether the list that contains a resource is complete.
    #[must_use]
    pub fn is_listed(&self, object_ref: &ObjectRef) -> bool {
        let is = |namespace| self.0.get(&List { kind: object_ref.kind, namespace });
        [None, Some(object_ref.namespace.clone())].into_iter().find_map(is) == Some(&ListState::There)
    }

    /// Returns whether the list that contains a resource is refused, so that the resource is not reconciled.
    #[must_use]
    pub fn is_unlisted(&self, object_ref: &ObjectRef) -> bool {
        self.refused_lists().any(|list| {
            list.kind == object_ref.kind
                && list.namespace.as_ref().is_none_or(|namespace| *namespace == object_ref.namespace)
        })
    }
}

/// Returns the initial lists of all watches. `scopes`: the watched namespaces, `None` for all; `shares`: whether the install
/// works with `ClusterConnectProject`s.
#[must_use]
pub fn initial(scopes: &[Option<String>], shares: bool) -> Vec<List> {
    let of_kind = |kind: Kind| -> Vec<List> {
        if kind.is_cluster_scoped() {
            return shares.then_some(List { kind, namespace: None }).into_iter().collect();
        }
        scopes.iter().map(|namespace| List { kind, namespace: namespace.clone() }).collect()
    };
    Kind::ALL.into_iter().flat_map(of_kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_list_is_not_pending_and_a_complete_list_is_not_refused() {
        let list = |namespace: &str| List { kind: Kind::Deployment, namespace: Some(namespace.to_owned()) };
        let mut lists = Lists::awaiting(["shop", "yard"].map(list));
        assert!(lists.are_awaited());
        assert!(lists.refused(&list("yard")) && !lists.refused(&list("yard")), "reported once");
        assert!(lists.are_awaited(), "the other one is pending");
        assert!(lists.there(&list("shop")) && !lists.there(&list("shop")), "reported once");
        assert!(!lists.refused(&list("shop")), "what was listed stays known");
        assert_eq!((lists.are_awaited(), lists.progress()), (false, (1, 2)));
        let unlisted = |kind, namespace: &str| lists.is_unlisted(&ObjectRef::new(kind, namespace, "tax"));
        let listed = |namespace: &str| lists.is_listed(&ObjectRef::deployment(namespace, "tax"));
        assert!(listed("shop") && !listed("yard") && !listed("elsewhere"));
        assert!(unlisted(Kind::Deployment, "yard"));
        assert!(!unlisted(Kind::Deployment, "shop") && !unlisted(Kind::Project, "yard"));
        let refused_names: Vec<_> = lists.refused_lists().map(ToString::to_string).collect();
        assert_eq!(refused_names, ["ConnectorDeployment in namespace yard"]);
        assert!(lists.there(&list("yard")));
        assert_eq!((lists.refused_lists().count(), lists.progress()), (0, (2, 2)));
    }

    #[test]
    fn shared_projects_have_one_list_whatever_is_watched() {
        let scopes = ["shop", "yard"].map(|name| Some(name.to_owned()));
        for (shares, expected) in [(false, 0), (true, 1)] {
            let all = initial(&scopes, shares);
            let shared = all.iter().filter(|list| list.kind == Kind::ClusterProject);
            assert_eq!((shared.count(), all.len()), (expected, 2 * (Kind::ALL.len() - 1) + expected));
            let lists = Lists::awaiting(all);
            assert!(!lists.is_listed(&ObjectRef::cluster_project("demo")));
        }
        let mut lists = Lists::awaiting(initial(&scopes, true));
        assert!(lists.there(&List { kind: Kind::ClusterProject, namespace: None }));
        assert!(lists.is_listed(&ObjectRef::cluster_project("demo")));
        assert!(!lists.is_listed(&ObjectRef::project("shop", "demo")));
    }

    #[test]
    fn a_refused_list_of_all_namespaces_contains_each_of_them() {
        let list = List { kind: Kind::Project, namespace: None };
        let mut lists = Lists::awaiting([list.clone()]);
        assert!(lists.refused(&list));
        assert!(lists.is_unlisted(&ObjectRef::project("shop", "shop")));
        assert_eq!(list.to_string(), "ConnectProject");
    }
}
