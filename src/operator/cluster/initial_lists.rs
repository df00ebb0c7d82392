//! Which initial lists are complete, for readiness, and which lists the API server refuses.
//!
//! A refused list blocks no other one: if one namespace was deleted or lost its Role, the others must still be
//! reconciled.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::metrics::Metrics;
use crate::mutex::Mutex;
use crate::operator::object_ref::Kind;

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
    /// Kind of the objects: one that is reconciled, `Secret`, `ConfigMap` or `Namespace`.
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
    pub fn new(metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self { metrics, state: Mutex::default() })
    }

    /// Records that a list of a reconciled kind is pending. All of them are recorded before the first one can be complete.
    pub fn awaits(&self, list: List) {
        self.state.lock().awaited.get_or_insert_default().insert(list);
    }

    /// Records that a list is complete. Returns whether it was refused before.
    pub fn listed(&self, list: &List) -> bool {
        let mut state = self.state.lock();
        state.awaited.get_or_insert_default().remove(list);
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

    /// Returns whether a list of the kinds that claim keys (rule 4) is pending, and whether the API server refuses one.
    ///
    /// Nobody waits for a refused one: what cannot be listed cannot be read or written either, so it is not reconciled and
    /// cannot create what another resource creates too. An API server that does not answer is different: it may still show a
    /// stronger claim.
    pub fn of_keys(&self) -> (bool, bool) {
        let state = self.state.lock();
        let is_one = |list: &List| [Kind::Deployment, Kind::Staged].iter().any(|kind| kind.as_str() == list.kind);
        let pending = |awaited: &BTreeSet<List>| awaited.difference(&state.refused).any(is_one);
        (state.awaited.as_ref().is_none_or(pending), state.refused.iter().any(is_one))
    }

    /// Returns the lists that the API server refuses, as messages.
    pub fn refused_lists(&self) -> Vec<String> {
        self.state.lock().refused.iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_list_keeps_no_other_one_waiting() {
        let list = |namespace: &str| List { kind: Kind::Deployment.as_str(), namespace: Some(namespace.to_owned()) };
        let lists = InitialLists::new(Metrics::new(jiff::Timestamp::UNIX_EPOCH));
        assert!(lists.are_complete().is_err(), "nothing has started");
        ["shop", "yard"].map(list).into_iter().for_each(|list| lists.awaits(list));
        assert!(lists.refused(&list("yard")) && !lists.refused(&list("yard")), "reported once");
        assert_eq!(lists.are_complete(), Err("1 lists are not complete".to_owned()));
        assert!(!lists.listed(&list("shop")), "it was not refused");
        assert_eq!(lists.are_complete(), Ok(()));
        assert_eq!(lists.refused_lists(), ["ConnectorDeployment in namespace yard"]);
        let source = List { kind: "Secret", namespace: None };
        assert!(lists.refused(&source) && lists.are_complete().is_ok(), "no reconcile waits for it");
        assert!(lists.listed(&list("yard")), "granted at last");
        assert_eq!(lists.refused_lists(), ["Secret"]);
    }
}
