//! Which initial lists are complete: for readiness, and because no controller reconciles before its list is.
//!
//! A refused list blocks no other one: if one namespace was deleted or lost its Role, the others must still be
//! reconciled. Which lists keys wait for is in `manager/event_handlers.rs` (rule 4).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::controllers::object_ref::{Kind, ObjectRef};
use crate::metrics::Metrics;
use crate::mutex::Mutex;

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
    /// Kind of the objects: one that is reconciled, `Secret` or `ConfigMap`.
    pub kind: &'static str,
    /// Namespace; `None`: all namespaces.
    pub namespace: Option<String>,
}

impl fmt::Display for List {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{} in namespace {namespace}", self.kind),
            None => formatter.write_str(self.kind),
        }
    }
}

/// The initial lists of this process.
#[derive(Debug)]
pub struct InitialLists {
    metrics: Arc<Metrics>,
    // A panic of a holder leaves at worst a wrong set until the next list.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Lists of reconciled kinds that are not complete yet; `None`: the controllers have not started.
    awaited: Option<BTreeSet<List>>,
    /// Lists that the API server refuses.
    refused: BTreeSet<List>,
}

impl InitialLists {
    /// Creates the state before the controllers start.
    #[must_use]
    pub fn new(metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self { metrics, state: Mutex::default() })
    }

    /// Records that the controllers start, and that these lists are pending.
    pub fn start(&self, lists: impl IntoIterator<Item = List>) {
        self.state.lock().awaited = Some(lists.into_iter().collect());
    }

    /// Records that a list is complete. Returns whether it was refused before.
    pub fn listed(&self, list: &List) -> bool {
        let mut state = self.state.lock();
        if let Some(awaited) = &mut state.awaited {
            awaited.remove(list);
        }
        let was_refused = state.refused.remove(list);
        if was_refused {
            self.metrics.list_refused(list.kind, list.namespace.as_deref(), false);
        }
        was_refused
    }

    /// Records that the API server refuses a list. Returns whether this was not known before.
    pub fn refused(&self, list: &List) -> bool {
        let is_new = self.state.lock().refused.insert(list.clone());
        if is_new {
            self.metrics.list_refused(list.kind, list.namespace.as_deref(), true);
        }
        is_new
    }

    /// Returns whether the list that contains this resource is complete, so that its controller reconciles it.
    #[must_use]
    pub fn is_listed(&self, object_ref: &ObjectRef) -> bool {
        let kind = object_ref.kind.as_str();
        let lists = [None, Some(object_ref.namespace.clone())].map(|namespace| List { kind, namespace });
        self.state.lock().awaited.as_ref().is_some_and(|awaited| !lists.iter().any(|list| awaited.contains(list)))
    }

    /// Whether every list that the API server does not refuse is complete.
    ///
    /// # Errors
    /// How many are not, for users.
    pub fn are_complete(&self) -> Result<(), String> {
        let state = self.state.lock();
        let Some(awaited) = &state.awaited else { return Err("the controllers have not started".to_owned()) };
        match awaited.difference(&state.refused).count() {
            0 => Ok(()),
            pending => Err(format!("{pending} lists are not complete")),
        }
    }

    /// Returns the lists that the API server refuses, as messages.
    #[must_use]
    pub fn refused_lists(&self) -> Vec<String> {
        self.state.lock().refused.iter().map(ToString::to_string).collect()
    }
}

/// Returns the lists of the reconciled kinds. `scopes`: the watched namespaces, `None` for all; `shares`: whether the
/// install works with `ClusterConnectProject`s.
#[must_use]
pub fn initial(scopes: &[Option<String>], shares: bool) -> Vec<List> {
    let of_kind = |kind: Kind| -> Vec<List> {
        let namespaces = match (kind.is_cluster_scoped(), shares) {
            (true, true) => &[None],
            (true, false) => &[][..],
            (false, _) => scopes,
        };
        namespaces.iter().map(|namespace| List { kind: kind.as_str(), namespace: namespace.clone() }).collect()
    };
    Kind::ALL.into_iter().flat_map(of_kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_list_keeps_no_other_one_waiting() {
        let list = |namespace: &str| List { kind: Kind::Deployment.as_str(), namespace: Some(namespace.to_owned()) };
        let lists = InitialLists::new(Metrics::new(jiff::Timestamp::UNIX_EPOCH));
        let listed = |namespace: &str| lists.is_listed(&ObjectRef::deployment(namespace, "tax"));
        assert!(lists.are_complete().is_err() && !listed("shop"), "nothing has started");
        lists.start(["shop", "yard"].map(list));
        assert!(lists.refused(&list("yard")) && !lists.refused(&list("yard")), "reported once");
        assert_eq!(lists.are_complete(), Err("1 lists are not complete".to_owned()));
        assert!(!lists.listed(&list("shop")), "it was not refused");
        assert_eq!((lists.are_complete(), listed("shop"), listed("yard")), (Ok(()), true, false));
        assert_eq!(lists.refused_lists(), ["ConnectorDeployment in namespace yard"]);
        let source = List { kind: "Secret", namespace: None };
        assert!(lists.refused(&source) && lists.are_complete().is_ok(), "no reconcile waits for it");
        assert!(lists.listed(&list("yard")) && listed("yard"), "granted at last");
        assert_eq!(lists.refused_lists(), ["Secret"]);
    }

    #[test]
    fn shared_projects_have_one_list_whatever_is_watched() {
        let scopes = ["shop", "yard"].map(|name| Some(name.to_owned()));
        for (shares, expected) in [(false, 0), (true, 1)] {
            let all = initial(&scopes, shares);
            let shared = all.iter().filter(|list| list.kind == Kind::ClusterProject.as_str());
            assert_eq!((shared.count(), all.len()), (expected, 2 * (Kind::ALL.len() - 1) + expected));
        }
        let lists = InitialLists::new(Metrics::new(jiff::Timestamp::UNIX_EPOCH));
        lists.start(initial(&scopes, true));
        assert!(!lists.is_listed(&ObjectRef::cluster_project("demo")));
        lists.listed(&List { kind: Kind::ClusterProject.as_str(), namespace: None });
        assert!(lists.is_listed(&ObjectRef::cluster_project("demo")));
        assert!(!lists.is_listed(&ObjectRef::project("shop", "demo")));
    }
}
