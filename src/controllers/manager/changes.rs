//! Detects which objects of a watch users changed since they were last enqueued. Pure.
//!
//! A relist arrives in pages, and the store that reconciles read from shows none of it before the last page has
//! arrived. So objects of a list are enqueued only once the list is complete: an earlier reconcile would read the old
//! object, and nothing would enqueue it again. Next: `manager/watches.rs`, which passes events on after the store has
//! them.

use std::collections::BTreeMap;
use std::mem;

use kube::runtime::watcher::Event;

use crate::controllers::kinds::managed_kind::Stored;
use crate::controllers::object_ref::ObjectRef;

/// The objects that the watch of one kind has shown, each with a hash of what users can change.
#[derive(Debug, Default)]
pub struct Changes {
    seen: BTreeMap<ObjectRef, u64>,
    /// Objects that the list in progress has shown so far.
    listed: BTreeMap<ObjectRef, u64>,
}

impl Changes {
    /// Records an event that the store has already processed, and returns the objects to enqueue.
    pub fn note<K: Stored>(&mut self, event: &Event<K>) -> Vec<ObjectRef> {
        match event {
            // A list that failed halfway is followed by another `Init`.
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                self.listed.insert(object.reference(), object.user_changes());
            }
            Event::InitDone => {
                let before = mem::replace(&mut self.seen, mem::take(&mut self.listed));
                let changed = self.seen.iter().filter(|(object_ref, change)| before.get(*object_ref) != Some(*change));
                return changed.map(|(object_ref, _)| object_ref.clone()).collect();
            }
            Event::Apply(object) => {
                let (object_ref, change) = (object.reference(), object.user_changes());
                if self.seen.insert(object_ref.clone(), change) != Some(change) {
                    return vec![object_ref];
                }
            }
            Event::Delete(object) => {
                self.seen.remove(&object.reference());
            }
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::crd::ConnectorDeployment;

    /// Returns an object with this uid and generation.
    fn object(name: &str, uid: &str, generation: i64) -> ConnectorDeployment {
        let spec = json!({"projectRef": {"name": "shop"}, "connector": {"key": "demo-connector"}});
        let metadata = json!({"name": name, "namespace": "shop", "uid": uid, "generation": generation});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("it can be read")
    }

    fn object_refs(names: &[&str]) -> Vec<ObjectRef> {
        names.iter().map(|name| ObjectRef::deployment("shop", name)).collect()
    }

    #[test]
    fn only_changes_enqueue_and_those_of_a_list_once_it_is_complete() {
        let (a, b) = (|generation| object("a", "1", generation), |generation| object("b", "2", generation));
        let mut changes = Changes::default();
        let rows: Vec<(&str, Event<ConnectorDeployment>, &[&str])> = vec![
            ("the first list begins", Event::Init, &[]),
            ("an object of it", Event::InitApply(a(1)), &[]),
            ("another one, on a later page", Event::InitApply(b(1)), &[]),
            ("it is complete", Event::InitDone, &["a", "b"]),
            ("as before", Event::Apply(a(1)), &[]),
            ("changed", Event::Apply(a(2)), &["a"]),
            ("a list that fails on its way", Event::Init, &[]),
            ("shows a change", Event::InitApply(b(2)), &[]),
            ("and begins again", Event::Init, &[]),
            ("the change still counts", Event::InitApply(b(2)), &[]),
            ("an unchanged object does not", Event::InitApply(a(2)), &[]),
            ("complete", Event::InitDone, &["b"]),
            ("deleted", Event::Delete(a(2)), &[]),
            ("created again as it was", Event::Apply(a(2)), &["a"]),
            ("another one of the same name", Event::Apply(object("a", "3", 2)), &["a"]),
            ("a list", Event::Init, &[]),
            ("that lacks one", Event::InitApply(b(2)), &[]),
            ("forgets that one", Event::InitDone, &[]),
            ("which is enqueued when it comes back", Event::Apply(object("a", "3", 2)), &["a"]),
        ];
        for (case, event, enqueued) in rows {
            assert_eq!(changes.note(&event), object_refs(enqueued), "{case}");
        }
    }
}
