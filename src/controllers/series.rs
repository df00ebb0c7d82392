//! Groups Events into series: consecutive Events of the same object with the same reason and the same note.
//!
//! The recorder groups Events of the same object, reason and type within some minutes into one series, whatever their
//! notes are, and keeps the first note. It treats an object with another resourceVersion as another object, which is
//! how a new note becomes a separate Event. This module only keeps the state; `context.rs` reports the Events.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;

/// Time after its last Event at which a series ends, because the recorder forgets it then.
const CONTINUES_WITHIN: Duration = Duration::from_mins(6);

/// Pause between two sweeps of ended series: thousands of objects may report Events at once.
const SWEPT_AGAIN: Duration = Duration::from_mins(1);

/// The last Event of each object, by uid and reason.
#[derive(Default)]
pub struct Series(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    last: BTreeMap<(String, String), LastEvent>,
    swept: Timestamp,
}

struct LastEvent {
    note: String,
    /// The resourceVersion of the object in the first Event of the series.
    version: Option<String>,
    at: Timestamp,
}

impl Series {
    /// Returns the object for an Event that is about to be reported. If the Event continues a series, the object has
    /// the resourceVersion of the first Event in it; otherwise it has `version`.
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
        let Kept { last, swept } = &mut *kept;
        let continues = |event: &LastEvent| now.duration_since(event.at).unsigned_abs() <= CONTINUES_WITHIN;
        if now.duration_since(*swept).unsigned_abs() > SWEPT_AGAIN {
            last.retain(|_, event| continues(event));
            *swept = now;
        }
        let key = (object.uid.clone().unwrap_or_default(), reason.to_owned());
        let before = last.get(&key).filter(|event| event.note == note && continues(event));
        let version = before.map_or(version, |event| event.version.clone());
        last.insert(key, LastEvent { note: note.to_owned(), version: version.clone(), at: now });
        ObjectReference { resource_version: version, ..object }
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn a_repeated_note_keeps_the_resource_version_of_its_first_event() {
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
        assert_eq!(series.0.lock().expect("no panic").last.len(), 1, "ended series are forgotten");
    }
}
