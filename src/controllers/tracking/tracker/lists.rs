//! Which lists are complete, and which ones the API server refuses, for the log, the metrics and the probes.

use super::ReconcileTracker;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::tracking::initial_lists::{List, SourceList};

impl ReconcileTracker {
    /// Records that a list is complete, the initial one or a relist. Returns whether it is the initial one.
    pub fn listed(&self, list: &List) -> bool {
        let now = self.clock.elapsed();
        let mut state = self.state.lock();
        if !state.lists.there(list) {
            return false;
        }
        self.metrics.list_refused(list.kind.as_str(), list.namespace.as_deref(), false);
        for of_kind in state.kinds.values_mut() {
            of_kind.moved = now;
        }
        true
    }

    /// Records that the API server refuses an initial list. Returns whether this was not known before.
    pub fn list_refused(&self, list: &List) -> bool {
        let is_new = self.state.lock().lists.refused(list);
        if is_new {
            self.metrics.list_refused(list.kind.as_str(), list.namespace.as_deref(), true);
        }
        is_new
    }

    /// Returns whether the initial list that contains this resource is complete, so that its controller reconciles it.
    #[must_use]
    pub fn is_listed(&self, object_ref: &ObjectRef) -> bool {
        self.state.lock().lists.is_listed(object_ref)
    }

    /// Records that a list of Secrets or ConfigMaps is complete. Returns whether it was refused before.
    pub fn source_listed(&self, list: &SourceList) -> bool {
        let was_refused = self.state.lock().refused_sources.remove(list);
        if was_refused {
            self.metrics.list_refused(list.kind.as_str(), list.namespace.as_deref(), false);
        }
        was_refused
    }

    /// Records that the API server refuses a list of Secrets or ConfigMaps. Returns whether this was not known before.
    pub fn source_refused(&self, list: &SourceList) -> bool {
        let is_new = self.state.lock().refused_sources.insert(list.clone());
        if is_new {
            self.metrics.list_refused(list.kind.as_str(), list.namespace.as_deref(), true);
        }
        is_new
    }

    /// Returns the lists that the API server refuses, as messages.
    #[must_use]
    pub fn refused_lists(&self) -> Vec<String> {
        let state = self.state.lock();
        let lists = state.lists.refused_lists().map(ToString::to_string);
        lists.chain(state.refused_sources.iter().map(ToString::to_string)).collect()
    }
}
