//! The in-memory state of each mirror: when it read the registry last, and the known version of each object. Losing it
//! costs one read of the registry, and no write.
//!
//! An event with a newer version than the known one was caused by another writer, or by a write whose answer is still
//! pending; the next reconcile of the mirror determines which. Versions are compared as numbers, as the API server
//! issues them.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::time::Duration;

use clock::{between, later};
use jiff::Timestamp;

use crate::controllers::object_ref::ObjectRef;
use crate::controllers::remote::Login;
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::crd::RegistryMirror;
use crate::mutex::Mutex;

/// Shortest pause between two checks for changes by other writers.
const BETWEEN_CHECKS: Duration = Duration::from_secs(10);

/// The inputs of a read of the registry; other inputs cause a new read at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The filter, the interval and the limit.
    pub filter: RegistryMirror,
    /// The credentials.
    pub login: Option<Login>,
    /// The annotation by which users request a read now.
    pub requested: Option<String>,
}

/// Why a mirror is reconciled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The registry has to be read.
    Read,
    /// Another writer may have changed objects.
    Check,
    /// There is nothing to do for this time, or until an event.
    Rest(Option<Duration>),
}

/// The result of a read, or why there was none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorReport {
    /// The condition `RegistryMirrored`.
    pub condition: ConditionUpdate,
    /// Number of connectors that match the filter, and of existing objects; `None`: unchanged.
    pub size: Option<(u32, u32)>,
}

impl MirrorReport {
    /// Returns the state of a mirror that does not follow the registry now; its objects stay.
    #[must_use]
    pub fn stopped(condition: ConditionUpdate) -> Self {
        Self { condition, size: None }
    }
}

/// The outcome of a mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is requested, and this is its state.
    MirrorReport(MirrorReport),
    /// It is not requested, and all its objects are removed.
    Cleared,
}

/// Every mirror.
#[derive(Debug, Default)]
pub struct Mirrors(Mutex<BTreeMap<ObjectRef, Mirror>>);

#[derive(Debug, Default)]
struct Mirror {
    /// Whether it has listed its objects; until then it knows none.
    begun: bool,
    asked: Option<Asked>,
    /// When to read the registry again.
    next: Option<Timestamp>,
    failures: u32,
    /// Reconciles in a row that failed because of the API server.
    refusals: u32,
    outcome: Option<Outcome>,
    /// The version of each object after the last write or list.
    versions: BTreeMap<String, u64>,
    /// Objects with an event whose version is not the known one, and that version.
    touched: BTreeMap<String, u64>,
    checked: Option<Timestamp>,
}

impl Mirrors {
    /// Returns what to do now.
    #[must_use]
    pub fn cause(&self, object_ref: &ObjectRef, asked: &Asked, now: Timestamp) -> Trigger {
        self.change(object_ref, |mirror| {
            if mirror.asked.as_ref() != Some(asked) || mirror.next.is_none_or(|next| next <= now) {
                return Trigger::Read;
            }
            let Mirror { versions, touched, .. } = mirror;
            touched.retain(|name, version| versions.get(name).is_none_or(|known| known < version));
            let check = mirror.checked.map_or(now, |checked| later(checked, BETWEEN_CHECKS));
            match (mirror.touched.is_empty(), mirror.next) {
                (false, _) if check <= now => Trigger::Check,
                (false, next) => Trigger::Rest(next.into_iter().chain([check]).min().map(|at| between(now, at))),
                (true, next) => Trigger::Rest(next.map(|next| between(now, next))),
            }
        })
    }

    /// Records the start of a reconcile that lists every object: earlier events are covered by it.
    pub fn begin(&self, object_ref: &ObjectRef, cause: Trigger, now: Timestamp) {
        self.change(object_ref, |mirror| {
            mirror.begun = true;
            mirror.touched.clear();
            mirror.outcome.take_if(|outcome| *outcome == Outcome::Cleared);
            if cause == Trigger::Check {
                mirror.checked = Some(now);
            }
        });
    }

    /// Records the existing objects. Returns the names of those that were known.
    pub fn listed(&self, object_ref: &ObjectRef, versions: BTreeMap<String, u64>) -> BTreeSet<String> {
        self.change(object_ref, |mirror| mem::replace(&mut mirror.versions, versions)).into_keys().collect()
    }

    /// Records that an object was written.
    pub fn wrote(&self, object_ref: &ObjectRef, name: &str, version: u64) {
        self.change(object_ref, |mirror| mirror.versions.insert(name.to_owned(), version));
    }

    /// Records that an object is about to be removed.
    pub fn removing(&self, object_ref: &ObjectRef, name: &str) {
        self.change(object_ref, |mirror| mirror.versions.remove(name));
    }

    /// Records an event. Returns whether the mirror has to be reconciled.
    pub fn event(&self, object_ref: &ObjectRef, name: &str, version: u64, gone: bool) -> bool {
        let mut mirrors = self.0.lock();
        // Before its first read it knows no object, and will list them all.
        let Some(mirror) = mirrors.get_mut(object_ref).filter(|mirror| mirror.begun) else { return false };
        let is_new = match mirror.versions.get(name) {
            Some(known) => *known < version,
            None => !gone,
        };
        if is_new {
            mirror.touched.insert(name.to_owned(), version);
        }
        is_new
    }

    /// Records a complete list of the objects of a namespace, or of all. Returns the mirrors that know an object which it
    /// lacks: it was deleted while no watch was open, which no event reports. `listed`: namespaces and names; `operator`:
    /// the namespace of the operator, in which the objects of cluster-scoped projects are.
    pub fn relisted(
        &self,
        namespace: Option<&str>,
        operator: &str,
        listed: &BTreeSet<(String, String)>,
    ) -> Vec<ObjectRef> {
        let mut lacking = Vec::new();
        for (object_ref, Mirror { versions, touched, .. }) in self.0.lock().iter_mut() {
            let own = if object_ref.namespace.is_empty() { operator } else { &object_ref.namespace };
            if namespace.is_some_and(|namespace| namespace != own) {
                continue;
            }
            let is_missing = |name: &String| !listed.contains(&(own.to_owned(), name.clone()));
            let missing: Vec<_> = versions.iter().filter(|(name, _)| is_missing(name)).collect();
            if !missing.is_empty() {
                lacking.push(object_ref.clone());
            }
            // A newer version is one that the mirror has written since, so it exists.
            touched.extend(missing.into_iter().map(|(name, version)| (name.clone(), version.saturating_add(1))));
        }
        lacking
    }

    /// Records a reconcile that failed because of the API server: the next one begins from the start. Returns how many
    /// did so in a row.
    pub fn refused(&self, object_ref: &ObjectRef) -> u32 {
        self.change(object_ref, |mirror| {
            mirror.next = None;
            mirror.refusals = mirror.refusals.saturating_add(1);
            mirror.refusals
        })
    }

    /// Records a completed read. Returns whether the outcome is new.
    pub fn done(&self, object_ref: &ObjectRef, asked: Asked, report: MirrorReport, next: Timestamp) -> bool {
        self.change(object_ref, |mirror| {
            mirror.failures = 0;
            mirror.end(asked, report, next)
        })
    }

    /// Records a failed read. Returns whether the outcome is new.
    pub fn failed(&self, object_ref: &ObjectRef, asked: Asked, report: MirrorReport, next: Timestamp) -> bool {
        self.change(object_ref, |mirror| {
            mirror.failures = mirror.failures.saturating_add(1);
            mirror.end(asked, report, next)
        })
    }

    /// Records that there was no read; the next one is due as soon as it is possible. Returns whether the outcome is new.
    pub fn stopped(&self, object_ref: &ObjectRef, report: MirrorReport) -> bool {
        self.change(object_ref, |mirror| {
            mirror.next = None;
            mirror.record(Outcome::MirrorReport(report))
        })
    }

    /// Records that the registry is about to be read: until that has ended, the next reconcile reads it too.
    pub fn reading(&self, object_ref: &ObjectRef) {
        self.change(object_ref, |mirror| mirror.next = None);
    }

    /// Records that all objects are removed and none is requested. Returns whether the outcome is new.
    pub fn cleared(&self, object_ref: &ObjectRef) -> bool {
        self.change(object_ref, |mirror| {
            let outcome = mirror.outcome.take();
            *mirror = Mirror { outcome, ..Mirror::default() };
            mirror.record(Outcome::Cleared)
        })
    }

    /// Returns whether a reconcile of this process has listed its objects.
    #[must_use]
    pub fn has_begun(&self, object_ref: &ObjectRef) -> bool {
        self.0.lock().get(object_ref).is_some_and(|mirror| mirror.begun)
    }

    /// Returns the number of failed reads in a row.
    #[must_use]
    pub fn failures(&self, object_ref: &ObjectRef) -> u32 {
        self.0.lock().get(object_ref).map_or(0, |mirror| mirror.failures)
    }

    /// Returns the outcome of the mirror; `None`: unknown in this process.
    #[must_use]
    pub fn outcome(&self, object_ref: &ObjectRef) -> Option<Outcome> {
        self.0.lock().get(object_ref).and_then(|mirror| mirror.outcome.clone())
    }

    /// Removes the mirror of a deleted project.
    pub fn forget(&self, object_ref: &ObjectRef) {
        self.0.lock().remove(object_ref);
    }

    /// Returns every mirror.
    #[must_use]
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        self.0.lock().keys().cloned().collect()
    }

    fn change<T>(&self, object_ref: &ObjectRef, change: impl FnOnce(&mut Mirror) -> T) -> T {
        change(self.0.lock().entry(object_ref.clone()).or_default())
    }
}

impl Mirror {
    fn end(&mut self, asked: Asked, report: MirrorReport, next: Timestamp) -> bool {
        self.asked = Some(asked);
        self.next = Some(next);
        self.refusals = 0;
        self.record(Outcome::MirrorReport(report))
    }

    fn record(&mut self, outcome: Outcome) -> bool {
        let is_new = self.outcome.as_ref() != Some(&outcome);
        self.outcome = Some(outcome);
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::reporting::conditions::ConditionUpdate;
    use crate::controllers::reporting::reason::Reason;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time in range")
    }

    fn mirror(namespace: &str, project: &str) -> ObjectRef {
        ObjectRef::mirror_of(&ObjectRef::project(namespace, project))
    }

    fn asked() -> Asked {
        Asked { filter: RegistryMirror::default(), login: None, requested: None }
    }

    fn report() -> MirrorReport {
        MirrorReport { condition: ConditionUpdate::new(Reason::Mirrored, "a message"), size: Some((1, 1)) }
    }

    /// A mirror that read at second 0, reads again at second 600, and knows one object in version 5.
    fn looked() -> (Mirrors, ObjectRef) {
        let (mirrors, object_ref) = (Mirrors::default(), mirror("here", "shop"));
        mirrors.begin(&object_ref, Trigger::Read, at(0));
        assert!(mirrors.listed(&object_ref, [("shop.a".to_owned(), 5)].into()).is_empty());
        assert!(mirrors.done(&object_ref, asked(), report(), at(600)));
        (mirrors, object_ref)
    }

    fn rest(seconds: u64) -> Trigger {
        Trigger::Rest(Some(Duration::from_secs(seconds)))
    }

    #[test]
    fn the_registry_is_read_when_due_or_when_its_inputs_change() {
        let (mirrors, object_ref) = looked();
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(10)), rest(590));
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(600)), Trigger::Read);
        let other = Asked { requested: Some("now".into()), ..asked() };
        assert_eq!(mirrors.cause(&object_ref, &other, at(10)), Trigger::Read);
        assert_eq!(mirrors.cause(&mirror("here", "new"), &asked(), at(10)), Trigger::Read);
        assert!(!mirrors.done(&object_ref, asked(), report(), at(700)), "the same outcome is not new");
    }

    #[test]
    fn a_read_that_did_not_end_or_was_not_possible_is_due_at_once() {
        let (mirrors, object_ref) = looked();
        mirrors.reading(&object_ref);
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(10)), Trigger::Read);
        let (mirrors, object_ref) = looked();
        let condition = ConditionUpdate::new(Reason::ProjectNotReady, "a message");
        assert!(mirrors.stopped(&object_ref, MirrorReport::stopped(condition)));
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(10)), Trigger::Read);
    }

    #[test]
    fn only_events_of_other_writers_cause_a_check() {
        for (case, name, version, gone, expected) in [
            ("the operator's own write", "shop.a", 5, false, rest(590)),
            ("an older one", "shop.a", 4, false, rest(590)),
            ("a newer one", "shop.a", 6, false, Trigger::Check),
            ("it was deleted", "shop.a", 7, true, Trigger::Check),
            ("an unknown object", "shop.b", 7, false, Trigger::Check),
            ("an unknown object was deleted", "shop.b", 7, true, rest(590)),
        ] {
            let (mirrors, object_ref) = looked();
            let is_new = mirrors.event(&object_ref, name, version, gone);
            assert_eq!(mirrors.cause(&object_ref, &asked(), at(10)), expected, "{case}");
            assert_eq!(is_new, expected == Trigger::Check, "{case}");
        }
        let (mirrors, object_ref) = looked();
        assert!(mirrors.event(&object_ref, "shop.a", 6, false), "before the answer to the operator's write");
        mirrors.wrote(&object_ref, "shop.a", 6);
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(10)), rest(590));
        mirrors.removing(&object_ref, "shop.a");
        assert!(!mirrors.event(&object_ref, "shop.a", 9, true), "the operator removed it");
        assert!(!mirrors.event(&mirror("here", "new"), "new.a", 1, false), "it has not read the registry yet");
    }

    #[test]
    fn an_object_that_a_list_lacks_was_deleted_while_no_watch_was_open() {
        let listed = |objects: &[(&str, &str)]| {
            objects.iter().map(|(namespace, name)| ((*namespace).to_owned(), (*name).to_owned())).collect()
        };
        for (case, namespace, objects, expected) in [
            ("it has the object", None, listed(&[("here", "shop.a")]), rest(590)),
            ("it lacks it", None, listed(&[]), Trigger::Check),
            ("it has one of that name elsewhere", None, listed(&[("there", "shop.a")]), Trigger::Check),
            ("a list of its namespace", Some("here"), listed(&[]), Trigger::Check),
            ("a list of another namespace", Some("there"), listed(&[]), rest(590)),
        ] {
            let (mirrors, object_ref) = looked();
            let lacking = mirrors.relisted(namespace, "op", &objects);
            assert_eq!(mirrors.cause(&object_ref, &asked(), at(10)), expected, "{case}");
            let enqueued = if expected == Trigger::Check { vec![object_ref] } else { Vec::new() };
            assert_eq!(lacking, enqueued, "{case}");
        }
        let (mirrors, object_ref) = looked();
        assert_eq!(mirrors.relisted(None, "op", &BTreeSet::new()), std::slice::from_ref(&object_ref));
        mirrors.wrote(&object_ref, "shop.a", 9);
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(10)), rest(590), "the mirror has written it since");
        mirrors.removing(&object_ref, "shop.a");
        assert!(mirrors.relisted(None, "op", &BTreeSet::new()).is_empty(), "the mirror has removed it");
    }

    #[test]
    fn events_during_the_first_read_count() {
        let (mirrors, object_ref) = (Mirrors::default(), mirror("here", "shop"));
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(0)), Trigger::Read);
        assert!(!mirrors.event(&object_ref, "shop.a", 5, false), "the list that follows shows it");
        mirrors.begin(&object_ref, Trigger::Read, at(0));
        mirrors.listed(&object_ref, [("shop.a".to_owned(), 5)].into());
        assert!(mirrors.event(&object_ref, "shop.a", 7, true));
        mirrors.done(&object_ref, asked(), report(), at(600));
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(10)), Trigger::Check);
    }

    #[test]
    fn a_reconcile_that_the_api_server_refused_begins_again() {
        let (mirrors, object_ref) = looked();
        mirrors.event(&object_ref, "shop.a", 6, false);
        mirrors.begin(&object_ref, Trigger::Check, at(100));
        assert_eq!((mirrors.refused(&object_ref), mirrors.refused(&object_ref)), (1, 2));
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(101)), Trigger::Read, "what the event reported is not lost");
        mirrors.done(&object_ref, asked(), report(), at(600));
        assert_eq!(mirrors.refused(&object_ref), 1, "in a row");
    }

    #[test]
    fn checks_for_changes_by_other_writers_are_limited() {
        let (mirrors, object_ref) = looked();
        mirrors.event(&object_ref, "shop.a", 6, false);
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(100)), Trigger::Check);
        mirrors.begin(&object_ref, Trigger::Check, at(100));
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(100)), rest(500));
        mirrors.event(&object_ref, "shop.a", 7, false);
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(103)), rest(7));
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(110)), Trigger::Check);
    }

    #[test]
    fn a_mirror_that_is_removed_starts_from_scratch() {
        let (mirrors, object_ref) = looked();
        assert!(mirrors.cleared(&object_ref) && !mirrors.cleared(&object_ref));
        assert_eq!(mirrors.outcome(&object_ref), Some(Outcome::Cleared));
        mirrors.begin(&object_ref, Trigger::Read, at(10));
        assert_eq!(mirrors.outcome(&object_ref), None, "not cleared as soon as there may be objects again");
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(10)), Trigger::Read);
        mirrors.forget(&object_ref);
        assert!(mirrors.object_refs().is_empty());
    }
}
