//! Which Events are one series: those that say the same of the same object, word by word.
//!
//! The recorder puts Events with the same object, reason and type into one series within some minutes, whatever their
//! notes are, and keeps the first note. An object of another resourceVersion is another one to it: that is how a note that
//! is new becomes an Event of its own. Only remembers; `context.rs` reports.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;

/// How long a series goes on after its last Event; the recorder forgets it then.
const GOES_ON: Duration = Duration::from_mins(6);

/// Pause between two searches for what is over: thousands of objects may have something to say at once.
const SWEPT_AGAIN: Duration = Duration::from_mins(1);

/// What was said last of each object, by uid and reason.
#[derive(Default)]
pub struct Series(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    said: BTreeMap<(String, String), Said>,
    swept: Timestamp,
}

struct Said {
    note: String,
    /// The resourceVersion of the object when this was said first.
    version: Option<String>,
    at: Timestamp,
}

impl Series {
    /// The object of an Event that is about to be reported: as it was when this was said first, if it was said last, too;
    /// else as it is, with `version`.
    #[must_use]
    pub fn of(
        &self,
        object: ObjectReference,
        version: Option<String>,
        reason: &str,
        note: &str,
        now: Timestamp,
    ) -> ObjectReference {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Kept { said, swept } = &mut *kept;
        let goes_on = |said: &Said| now.duration_since(said.at).unsigned_abs() <= GOES_ON;
        if now.duration_since(*swept).unsigned_abs() > SWEPT_AGAIN {
            said.retain(|_, said| goes_on(said));
            *swept = now;
        }
        let key = (object.uid.clone().unwrap_or_default(), reason.to_owned());
        let before = said.get(&key).filter(|said| said.note == note && goes_on(said));
        let version = before.map_or(version, |said| said.version.clone());
        said.insert(key, Said { note: note.to_owned(), version: version.clone(), at: now });
        ObjectReference { resource_version: version, ..object }
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn what_is_repeated_word_by_word_is_about_the_object_as_it_was_first() {
        let series = Series::default();
        for (case, uid, version, reason, note, minute, expected) in [
            ("the first", "a", "1", "Failed", "loud", 0, "1"),
            ("repeated", "a", "2", "Failed", "loud", 1, "1"),
            ("something else", "a", "3", "Failed", "empty", 2, "3"),
            ("the earlier one again", "a", "4", "Failed", "loud", 3, "4"),
            ("of another object", "b", "5", "Failed", "loud", 4, "5"),
            ("for another reason", "a", "6", "Deployed", "loud", 5, "6"),
            ("repeated once more", "a", "7", "Failed", "loud", 6, "4"),
            ("long after", "a", "8", "Failed", "loud", 13, "8"),
        ] {
            let object = ObjectReference { uid: Some(uid.to_owned()), ..ObjectReference::default() };
            let now = Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minute);
            let about = series.of(object, Some(version.to_owned()), reason, note, now);
            assert_eq!(about.resource_version.as_deref(), Some(expected), "{case}");
        }
        assert_eq!(series.0.lock().expect("no panic").said.len(), 1, "what nobody repeats is forgotten");
    }
}
