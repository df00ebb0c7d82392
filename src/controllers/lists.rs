//! The first lists of the cluster: which are awaited, which are there, and which the API server refuses. Pure.
//!
//! What is refused holds nothing up: a namespace that was deleted, or whose Role is gone, is no reason to leave the others
//! alone. Next: `work.rs`, which keeps this, and `keys/mod.rs` for why it is safe.

use std::collections::BTreeMap;
use std::fmt;

use super::object_ref::{Kind, ObjectRef};

/// Objects in one page of a list. etcd takes objects of up to 1.5 MiB as JSON, and people fill annotations and labels as they
/// like where the schema of a kind bounds the rest, so a page is [`LARGEST_PAGE`] at most. The 500 of kube would be 750 MiB.
pub const PAGE: u32 = 50;
/// Most bytes in one page of a list: 75 MiB.
pub const LARGEST_PAGE: usize = PAGE as usize * LARGEST_OBJECT;
/// Most bytes of one object as JSON: `--max-request-bytes` of etcd, 1.5 MiB.
const LARGEST_OBJECT: usize = 3 << 19;

/// A list of one kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct List {
    /// Of what.
    pub kind: Kind,
    /// In which namespace; `None`: in all.
    pub namespace: Option<String>,
}

impl fmt::Display for List {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{} in namespace {namespace}", self.kind.as_str()),
            None => formatter.write_str(self.kind.as_str()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Awaited,
    Refused,
    There,
}

/// How each first list stands.
#[derive(Debug, Default)]
pub struct Lists(BTreeMap<List, Is>);

impl Lists {
    /// These are awaited.
    #[must_use]
    pub fn awaiting(lists: impl IntoIterator<Item = List>) -> Self {
        Self(lists.into_iter().map(|list| (list, Is::Awaited)).collect())
    }

    /// One is there. Returns whether that is news.
    pub fn there(&mut self, list: &List) -> bool {
        self.0.insert(list.clone(), Is::There) != Some(Is::There)
    }

    /// The API server refuses one. Returns whether that is news; once a list was there it is not, since what it showed is
    /// still known.
    pub fn refused(&mut self, list: &List) -> bool {
        let awaited = self.0.get_mut(list).filter(|is| **is == Is::Awaited);
        awaited.map(|is| *is = Is::Refused).is_some()
    }

    /// How many are there, and of how many.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        (self.0.values().filter(|is| **is == Is::There).count(), self.0.len())
    }

    /// Whether one may still come without anybody doing something about it.
    #[must_use]
    pub fn are_awaited(&self) -> bool {
        self.0.values().any(|is| *is == Is::Awaited)
    }

    /// Those that are refused, in order.
    pub fn kubernetes_error_backoff(&self) -> impl Iterator<Item = &List> {
        self.0.iter().filter(|(_, is)| **is == Is::Refused).map(|(list, _)| list)
    }

    /// Whether the list is there that a resource stands in.
    #[must_use]
    pub fn is_listed(&self, object_ref: &ObjectRef) -> bool {
        let is = |namespace| self.0.get(&List { kind: object_ref.kind, namespace });
        [None, Some(object_ref.namespace.clone())].into_iter().find_map(is) == Some(&Is::There)
    }

    /// Whether a resource stands in a list that is refused, so that nothing runs for it.
    #[must_use]
    pub fn is_unlisted(&self, object_ref: &ObjectRef) -> bool {
        self.kubernetes_error_backoff().any(|list| {
            list.kind == object_ref.kind
                && list.namespace.as_ref().is_none_or(|namespace| *namespace == object_ref.namespace)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_ends_the_waiting_and_a_list_that_comes_ends_the_refusal() {
        let list = |namespace: &str| List { kind: Kind::Deployment, namespace: Some(namespace.to_owned()) };
        let mut lists = Lists::awaiting(["shop", "yard"].map(list));
        assert!(lists.are_awaited());
        assert!(lists.refused(&list("yard")) && !lists.refused(&list("yard")), "news once");
        assert!(lists.are_awaited(), "the other one may come");
        assert!(lists.there(&list("shop")) && !lists.there(&list("shop")), "news once");
        assert!(!lists.refused(&list("shop")), "what was listed stays known");
        assert_eq!((lists.are_awaited(), lists.progress()), (false, (1, 2)));
        let unlisted = |kind, namespace: &str| {
            lists.is_unlisted(&ObjectRef { kind, namespace: namespace.to_owned(), name: "tax".to_owned() })
        };
        let listed = |namespace: &str| lists.is_listed(&ObjectRef::deployment(namespace, "tax"));
        assert!(listed("shop") && !listed("yard") && !listed("elsewhere"));
        assert!(unlisted(Kind::Deployment, "yard"));
        assert!(!unlisted(Kind::Deployment, "shop") && !unlisted(Kind::Project, "yard"));
        let condition: Vec<_> = lists.kubernetes_error_backoff().map(ToString::to_string).collect();
        assert_eq!(condition, ["ConnectorDeployment in namespace yard"]);
        assert!(lists.there(&list("yard")));
        assert_eq!((lists.kubernetes_error_backoff().count(), lists.progress()), (0, (2, 2)));
    }

    #[test]
    fn a_refusal_in_all_namespaces_is_about_each() {
        let list = List { kind: Kind::Project, namespace: None };
        let mut lists = Lists::awaiting([list.clone()]);
        assert!(lists.refused(&list));
        assert!(lists.is_unlisted(&ObjectRef::project("shop", "shop")));
        assert_eq!(list.to_string(), "ConnectProject");
    }
}
