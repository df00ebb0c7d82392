//! What this process remembers of each mirror: when it looked last, and which version of each object it knows. Losing it
//! costs one look, and no write.
//!
//! An event with a newer version than the one that is known was caused by somebody else, or by a write whose answer is
//! still to come; which of the two is judged when the mirror runs next. Versions are compared as numbers, as the cluster
//! makes them.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clock::{between, later};
use jiff::Timestamp;

use super::status::Said;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::remote::Login;
use crate::crd::RegistryMirror;

/// Shortest pause between two checks because objects were changed by somebody else.
const BETWEEN_CHECKS: Duration = Duration::from_secs(10);

/// What a look is made for; another one is made at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Which connectors, how often, and how many.
    pub filter: RegistryMirror,
    /// With which credentials.
    pub login: Option<Login>,
    /// The annotation by which people ask for a look now.
    pub requested: Option<String>,
}

/// Why a mirror runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The registry is to be read.
    Look,
    /// Objects may have been changed by somebody else.
    Check,
    /// Nothing is to be done for so long, or until something happens.
    Rest(Option<Duration>),
}

/// What a mirror came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is wanted, and this is how it is.
    Said(Said),
    /// It is not wanted, and all its objects are gone.
    Cleared,
}

/// Every mirror.
#[derive(Debug, Default)]
pub struct Mirrors(Mutex<BTreeMap<ObjectRef, Mirror>>);

#[derive(Debug, Default)]
struct Mirror {
    asked: Option<Asked>,
    /// When to look again.
    next: Option<Timestamp>,
    failures: u32,
    outcome: Option<Outcome>,
    /// The version of each object after the last write or look.
    versions: BTreeMap<String, u64>,
    /// Objects with an event that does not fit to it, and its version.
    touched: BTreeMap<String, u64>,
    checked: Option<Timestamp>,
}

impl Mirrors {
    /// What is to be done now.
    #[must_use]
    pub fn cause(&self, object_ref: &ObjectRef, asked: &Asked, now: Timestamp) -> Cause {
        self.change(object_ref, |mirror| {
            if mirror.asked.as_ref() != Some(asked) || mirror.next.is_none_or(|next| next <= now) {
                return Cause::Look;
            }
            let Mirror { versions, touched, .. } = mirror;
            touched.retain(|name, version| versions.get(name).is_none_or(|known| known < version));
            let check = mirror.checked.map_or(now, |checked| later(checked, BETWEEN_CHECKS));
            match (mirror.touched.is_empty(), mirror.next) {
                (false, _) if check <= now => Cause::Check,
                (false, next) => Cause::Rest(next.into_iter().chain([check]).min().map(|at| between(now, at))),
                (true, next) => Cause::Rest(next.map(|next| between(now, next))),
            }
        })
    }

    /// A run begins that sees every object: what was noted before is done with.
    pub fn begin(&self, object_ref: &ObjectRef, cause: Cause, now: Timestamp) {
        self.change(object_ref, |mirror| {
            mirror.touched.clear();
            mirror.outcome.take_if(|outcome| *outcome == Outcome::Cleared);
            if cause == Cause::Check {
                mirror.checked = Some(now);
            }
        });
    }

    /// Takes note of the objects that there are. Returns the names of those that were known.
    pub fn listed(&self, object_ref: &ObjectRef, versions: BTreeMap<String, u64>) -> BTreeSet<String> {
        self.change(object_ref, |mirror| mem::replace(&mut mirror.versions, versions)).into_keys().collect()
    }

    /// An object was written.
    pub fn wrote(&self, object_ref: &ObjectRef, name: &str, version: u64) {
        self.change(object_ref, |mirror| mirror.versions.insert(name.to_owned(), version));
    }

    /// An object is about to be removed.
    pub fn removing(&self, object_ref: &ObjectRef, name: &str) {
        self.change(object_ref, |mirror| mirror.versions.remove(name));
    }

    /// Takes note of an event. Returns whether the mirror has to run.
    pub fn event(&self, object_ref: &ObjectRef, name: &str, version: u64, gone: bool) -> bool {
        let mut mirrors = self.lock();
        // Before its first look it knows nothing, and will see everything.
        let Some(mirror) = mirrors.get_mut(object_ref).filter(|mirror| mirror.asked.is_some()) else { return false };
        let news = match mirror.versions.get(name) {
            Some(known) => *known < version,
            None => !gone,
        };
        if news {
            mirror.touched.insert(name.to_owned(), version);
        }
        news
    }

    /// A look came to its end. Returns whether that is news.
    pub fn done(&self, object_ref: &ObjectRef, asked: Asked, said: Said, next: Timestamp) -> bool {
        self.change(object_ref, |mirror| {
            mirror.failures = 0;
            mirror.end(asked, said, next)
        })
    }

    /// A look failed. Returns whether that is news.
    pub fn failed(&self, object_ref: &ObjectRef, asked: Asked, said: Said, next: Timestamp) -> bool {
        self.change(object_ref, |mirror| {
            mirror.failures = mirror.failures.saturating_add(1);
            mirror.end(asked, said, next)
        })
    }

    /// There was no look. Returns whether that is news.
    pub fn stopped(&self, object_ref: &ObjectRef, said: Said) -> bool {
        self.change(object_ref, |mirror| mirror.patch_status(Outcome::Said(said)))
    }

    /// All objects are gone, and none is wanted. Returns whether that is news.
    pub fn cleared(&self, object_ref: &ObjectRef) -> bool {
        self.change(object_ref, |mirror| {
            let outcome = mirror.outcome.take();
            *mirror = Mirror { outcome, ..Mirror::default() };
            mirror.patch_status(Outcome::Cleared)
        })
    }

    /// Looks that failed in a row.
    #[must_use]
    pub fn failures(&self, object_ref: &ObjectRef) -> u32 {
        self.lock().get(object_ref).map_or(0, |mirror| mirror.failures)
    }

    /// What the mirror came to; `None`: it is not known yet in this process.
    #[must_use]
    pub fn outcome(&self, object_ref: &ObjectRef) -> Option<Outcome> {
        self.lock().get(object_ref).and_then(|mirror| mirror.outcome.clone())
    }

    /// Forgets a mirror whose project is gone.
    pub fn forget(&self, object_ref: &ObjectRef) {
        self.lock().remove(object_ref);
    }

    /// Every mirror.
    #[must_use]
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        self.lock().keys().cloned().collect()
    }

    fn change<T>(&self, object_ref: &ObjectRef, change: impl FnOnce(&mut Mirror) -> T) -> T {
        change(self.lock().entry(object_ref.clone()).or_default())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectRef, Mirror>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mirror {
    fn end(&mut self, asked: Asked, said: Said, next: Timestamp) -> bool {
        self.asked = Some(asked);
        self.next = Some(next);
        self.patch_status(Outcome::Said(said))
    }

    fn patch_status(&mut self, outcome: Outcome) -> bool {
        let news = self.outcome.as_ref() != Some(&outcome);
        self.outcome = Some(outcome);
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::conditions::ConditionUpdate;
    use crate::controllers::reason::Reason;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time in range")
    }

    fn asked() -> Asked {
        Asked { filter: RegistryMirror::default(), login: None, requested: None }
    }

    fn said() -> Said {
        Said { condition: ConditionUpdate::new(Reason::Mirrored, "so it is"), size: Some((1, 1)) }
    }

    /// A mirror that looked at second 0, looks again at second 600, and knows one object in version 5.
    fn looked() -> (Mirrors, ObjectRef) {
        let (mirrors, object_ref) = (Mirrors::default(), ObjectRef::mirror("here", "shop"));
        mirrors.begin(&object_ref, Cause::Look, at(0));
        assert!(mirrors.listed(&object_ref, [("shop.a".to_owned(), 5)].into()).is_empty());
        assert!(mirrors.done(&object_ref, asked(), said(), at(600)));
        (mirrors, object_ref)
    }

    fn rest(seconds: u64) -> Cause {
        Cause::Rest(Some(Duration::from_secs(seconds)))
    }

    #[test]
    fn the_registry_is_read_when_it_is_due_or_something_else_is_asked() {
        let (mirrors, object_ref) = looked();
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(10)), rest(590));
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(600)), Cause::Look);
        let other = Asked { requested: Some("now".into()), ..asked() };
        assert_eq!(mirrors.cause(&object_ref, &other, at(10)), Cause::Look);
        assert_eq!(mirrors.cause(&ObjectRef::mirror("here", "new"), &asked(), at(10)), Cause::Look);
        assert!(!mirrors.done(&object_ref, asked(), said(), at(700)), "the same is no news");
    }

    #[test]
    fn only_events_that_others_caused_are_a_reason_to_check() {
        for (case, name, version, gone, expected) in [
            ("our own write", "shop.a", 5, false, rest(590)),
            ("an older one", "shop.a", 4, false, rest(590)),
            ("a newer one", "shop.a", 6, false, Cause::Check),
            ("it was deleted", "shop.a", 7, true, Cause::Check),
            ("an object that nobody knows", "shop.b", 7, false, Cause::Check),
            ("one that nobody knows was deleted", "shop.b", 7, true, rest(590)),
        ] {
            let (mirrors, object_ref) = looked();
            let news = mirrors.event(&object_ref, name, version, gone);
            assert_eq!(mirrors.cause(&object_ref, &asked(), at(10)), expected, "{case}");
            assert_eq!(news, expected == Cause::Check, "{case}");
        }
        let (mirrors, object_ref) = looked();
        assert!(mirrors.event(&object_ref, "shop.a", 6, false), "before the answer to our write");
        mirrors.wrote(&object_ref, "shop.a", 6);
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(10)), rest(590));
        mirrors.removing(&object_ref, "shop.a");
        assert!(!mirrors.event(&object_ref, "shop.a", 9, true), "we removed it");
        assert!(!mirrors.event(&ObjectRef::mirror("here", "new"), "new.a", 1, false), "it has not looked yet");
    }

    #[test]
    fn changes_by_others_are_not_checked_all_the_time() {
        let (mirrors, object_ref) = looked();
        mirrors.event(&object_ref, "shop.a", 6, false);
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(100)), Cause::Check);
        mirrors.begin(&object_ref, Cause::Check, at(100));
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(100)), rest(500));
        mirrors.event(&object_ref, "shop.a", 7, false);
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(103)), rest(7));
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(110)), Cause::Check);
    }

    #[test]
    fn what_is_not_wanted_any_more_starts_afresh() {
        let (mirrors, object_ref) = looked();
        assert!(mirrors.cleared(&object_ref) && !mirrors.cleared(&object_ref));
        assert_eq!(mirrors.outcome(&object_ref), Some(Outcome::Cleared));
        mirrors.begin(&object_ref, Cause::Look, at(10));
        assert_eq!(mirrors.outcome(&object_ref), None, "not cleared as soon as there may be objects again");
        assert_eq!(mirrors.cause(&object_ref, &asked(), at(10)), Cause::Look);
        mirrors.forget(&object_ref);
        assert!(mirrors.object_refs().is_empty());
    }
}
