//! The registry that a project mirrors, and what users do with the mirror and its objects.

mod named;

use std::collections::{BTreeMap, VecDeque};

use connect_api::api::PageRequest;
use connect_api::model::{Connector, Paged};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cluster::{Key, Kind};
use crate::history::Step;
use crate::interceptor::lock;
use crate::simulation::Simulation;
use crate::users::{PROJECT_NAME, SHOP};

/// Id and key of each connector that the registry may have: one key is no label, and two connectors have the same one.
const ENTRIES: [(&str, Option<&str>); 5] =
    [("r1", Some("avalara-tax")), ("r2", Some("demo")), ("r3", Some("My_Tax")), ("r4", Some("demo")), ("r5", None)];
/// The connectors that the registry has at first.
const FIRST: usize = 3;
/// `spec.registry.maxObjects`, if a project sets it.
const FEW: usize = 2;

/// What is wrong with a read of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gap {
    /// One connector is missing, and nothing shows it.
    Hidden,
    /// One connector is counted, and cannot be read.
    Unreadable,
}

/// A read of the registry.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) operator: usize,
    pub(crate) found: Vec<Connector>,
    pub(crate) whole: bool,
}

/// The registry.
pub(crate) struct Registry {
    /// Its connectors by id.
    connectors: BTreeMap<String, Connector>,
    /// What is wrong with the next reads.
    gaps: VecDeque<Gap>,
    pub(crate) reads: Vec<Read>,
}

impl Default for Registry {
    fn default() -> Self {
        let first = ENTRIES.iter().take(FIRST).map(|entry| (entry.0.to_owned(), connector(*entry)));
        Self { connectors: first.collect(), gaps: VecDeque::new(), reads: Vec::new() }
    }
}

fn connector((id, key): (&str, Option<&str>)) -> Connector {
    serde_json::from_value(json!({"id": id, "key": key, "version": 1, "name": format!("Name of {id}")}))
        .expect("a connector")
}

/// Returns connectors in the order in which a limit keeps them: by key, those without one last.
pub(crate) fn in_order(mut connectors: Vec<Connector>) -> Vec<Connector> {
    connectors.sort_by_key(|connector| (connector.key.is_none(), connector.key.clone(), connector.id.clone()));
    connectors
}

impl Registry {
    /// Returns all connectors.
    pub(crate) fn all(&self) -> Vec<Connector> {
        in_order(self.connectors.values().cloned().collect())
    }

    /// Answers a search of an operator. All connectors fit on one page.
    pub(crate) fn search(&mut self, operator: usize, page: PageRequest) -> Paged<Connector> {
        let mut results: Vec<_> = self.connectors.values().cloned().collect();
        let whole = results.len();
        let gap = self.gaps.pop_front().filter(|_| !results.is_empty());
        if gap.is_some() {
            results.remove(0);
        }
        let count = if gap == Some(Gap::Unreadable) { whole } else { results.len() };
        let total = i64::try_from(count).expect("there are few");
        self.reads.push(Read { operator, found: results.clone(), whole: gap != Some(Gap::Unreadable) });
        Paged { limit: page.limit.into(), offset: page.offset.into(), count: total, total, results }
    }
}

/// A change of a Connector object by a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    Delete,
    Edit,
    Label,
    /// Creates one for the project.
    Pretend,
    /// Creates one of another project.
    Other,
}

/// Whether a step needs the mirror.
pub(crate) fn is_step(step: &Step) -> bool {
    matches!(step, Step::Mirror(_) | Step::Registry(..) | Step::Gap(_) | Step::Touch(..))
}

/// Returns whose mirror an object belongs to: that of its owner, or without one that of its spec.
pub(crate) fn project_of(object: &Value) -> &str {
    let owner = object.pointer("/metadata/ownerReferences/0/name").or(object.pointer("/spec/projectRef/name"));
    owner.and_then(Value::as_str).unwrap_or_default()
}

impl Simulation {
    /// Lets the project mirror the registry, with few objects or with all, or ends the mirror.
    pub(crate) fn mirror(&mut self, most: u8) {
        let registry = match most {
            0 => Value::Null,
            1 => json!({"private": false, "interval": "60s", "maxObjects": null}),
            _ => json!({"private": false, "interval": "60s", "maxObjects": FEW}),
        };
        self.edit(&Key::new(Kind::Project, SHOP, PROJECT_NAME), &json!({"spec": {"registry": registry}}));
    }

    /// Removes a connector from the registry, adds it, or publishes its next version.
    pub(crate) fn registry(&mut self, index: u8, change: u8) {
        let entry = ENTRIES[usize::from(index) % ENTRIES.len()];
        let connectors = &mut lock(&self.reach.remote).registry.connectors;
        if change == 0 {
            connectors.remove(entry.0);
        } else {
            let newer = |connector: &mut Connector| connector.version += i64::from(change) - 1;
            connectors.entry(entry.0.to_owned()).and_modify(newer).or_insert_with(|| connector(entry));
        }
    }

    /// Sets what is wrong with the next read of the registry for which nothing is set.
    pub(crate) fn gap(&mut self, gap: Gap) {
        lock(&self.reach.remote).registry.gaps.push_back(gap);
    }

    /// Lets a user change a Connector object.
    pub(crate) fn touch(&mut self, index: u8, touch: Touch) {
        let now = self.now();
        let named = |name: &str| Key::new(Kind::Connector, SHOP, name);
        let object = |project: &str| json!({"metadata": {}, "spec": {"projectRef": {"kind": "ConnectProject", "name": project}, "id": "strange"}});
        {
            let mut cluster = lock(&self.reach.cluster);
            let keys: Vec<Key> = cluster.of_kind(Kind::Connector).map(|(key, _)| key.clone()).collect();
            let key = keys.get(usize::from(index) % keys.len().max(1)).cloned().unwrap_or_else(|| named("none"));
            let has_status = cluster.get(&key).is_some_and(|object| !object["status"].is_null());
            // A missing object cannot be changed, and an existing one cannot be created.
            let _ = match touch {
                Touch::Delete => cluster.delete(&key, now),
                // The schema refuses a status that has nothing else.
                Touch::Edit if !has_status => return,
                Touch::Edit => cluster.patch(&key, &json!({"status": {"version": 99}}), true),
                Touch::Label => cluster.patch(&key, &json!({"metadata": {"labels": {"team": "mine"}}}), false),
                Touch::Pretend => cluster.create(&named("main.strange"), object(PROJECT_NAME), now),
                Touch::Other => cluster.create(&named("other.thing"), object("other"), now),
            };
        }
        self.check();
    }
}

/// Returns the steps of a mirror, each with a place for it; the first one begins the mirror.
pub(crate) fn steps() -> BoxedStrategy<Vec<(usize, Step)>> {
    let index = || 0..u8::try_from(ENTRIES.len()).expect("there are few");
    let touch = prop_oneof![
        3 => Just(Touch::Delete),
        3 => Just(Touch::Edit),
        2 => Just(Touch::Label),
        1 => Just(Touch::Pretend),
        1 => Just(Touch::Other),
    ];
    let step = prop_oneof![
        2 => (0..3_u8).prop_map(Step::Mirror),
        4 => (index(), 0..3_u8).prop_map(|(index, change)| Step::Registry(index, change)),
        2 => prop_oneof![Just(Gap::Hidden), Just(Gap::Unreadable)].prop_map(Step::Gap),
        3 => (index(), touch).prop_map(|(index, touch)| Step::Touch(index, touch)),
    ];
    let begin = (1..3_u8).prop_map(|most| (0, Step::Mirror(most)));
    (begin, prop::collection::vec((any::<usize>(), step), 1..10))
        .prop_map(|(begin, mut steps)| {
            steps.push(begin);
            steps
        })
        .boxed()
}
