//! Which objects of a watch people changed since a reconcile was last asked for. Pure.
//!
//! A list that begins anew comes in pages, and the store that reconciles read from shows none of it before the last page
//! is there. So what a list shows enqueues nothing before it is complete: a reconcile that ran earlier would read the
//! object as it was, and nothing would enqueue it again. Next: `manager/watches.rs`, which feeds it after the store, and
//! `resync.rs`, which finds what is missed in spite of this.

use std::collections::BTreeMap;
use std::mem;

use kube::runtime::watcher::Event;

use super::events::{self, what_people_change};
use super::managed_kind::ManagedKind;
use super::object_ref::ObjectRef;

/// What the watch of one kind has shown: a number for each object, no more.
#[derive(Debug, Default)]
pub struct Changes {
    seen: BTreeMap<ObjectRef, u64>,
    /// What the list that is being read has shown so far.
    listed: BTreeMap<ObjectRef, u64>,
}

impl Changes {
    /// Takes an event that is in the store already; returns who is to run for it.
    pub fn note<K: ManagedKind>(&mut self, event: &Event<K>) -> Vec<ObjectRef> {
        match event {
            // Also after a list that failed on its way.
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                self.listed.insert(events::object_ref(object), what_people_change(object));
            }
            Event::InitDone => {
                let before = mem::replace(&mut self.seen, mem::take(&mut self.listed));
                let news = self.seen.iter().filter(|(object_ref, change)| before.get(*object_ref) != Some(*change));
                return news.map(|(object_ref, _)| object_ref.clone()).collect();
            }
            Event::Apply(object) => {
                let (object_ref, change) = (events::object_ref(object), what_people_change(object));
                if self.seen.insert(object_ref.clone(), change) != Some(change) {
                    return vec![object_ref];
                }
            }
            Event::Delete(object) => {
                self.seen.remove(&events::object_ref(object));
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

    /// One with this uid and generation.
    fn object(name: &str, uid: &str, generation: i64) -> ConnectorDeployment {
        let spec = json!({"projectRef": {"name": "shop"}, "connector": {"key": "demo-connector"}});
        let metadata = json!({"name": name, "namespace": "shop", "uid": uid, "generation": generation});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("it can be read")
    }

    fn object_refs(names: &[&str]) -> Vec<ObjectRef> {
        names.iter().map(|name| ObjectRef::deployment("shop", name)).collect()
    }

    #[test]
    fn only_news_enqueues_and_that_of_a_list_once_it_is_complete() {
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
            ("and begins anew", Event::Init, &[]),
            ("the change is still news", Event::InitApply(b(2)), &[]),
            ("what it knows is not", Event::InitApply(a(2)), &[]),
            ("complete", Event::InitDone, &["b"]),
            ("deleted", Event::Delete(a(2)), &[]),
            ("made again as it was", Event::Apply(a(2)), &["a"]),
            ("another one of the same name", Event::Apply(object("a", "3", 2)), &["a"]),
            ("a list", Event::Init, &[]),
            ("that lacks one", Event::InitApply(b(2)), &[]),
            ("forgets that one", Event::InitDone, &[]),
            ("which is news when it comes back", Event::Apply(object("a", "3", 2)), &["a"]),
        ];
        for (case, event, enqueued) in rows {
            assert_eq!(changes.note(&event), object_refs(enqueued), "{case}");
        }
    }
}
