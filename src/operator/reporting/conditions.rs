//! Computes conditions as the Kubernetes API conventions require them, and as kstatus reads them. Pure.

use connect_api::text::clean;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::reason::{ConditionState, Reason};
use crate::crd::schema::MOST_CONDITIONS;
use crate::names;

/// Longest message of a condition, in bytes; the API server refuses more than 32 KiB.
pub const LONGEST_MESSAGE: usize = 1024;

/// A reason and a message for the conditions of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionUpdate {
    /// The reason.
    pub reason: Reason,
    /// The message for users.
    pub message: String,
    /// Whether a new reason is reported by an Event.
    pub event: bool,
}

impl ConditionUpdate {
    /// Creates an update with this reason and message.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), event: true }
    }

    /// Returns the same update without an Event, for an operation whose Event is reported when its call was sent.
    pub fn without_event(self) -> Self {
        Self { event: false, ..self }
    }
}

/// A condition beside the main three. It exists only while it is true, as Reconciling and Stalled do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    /// Its type.
    pub type_: &'static str,
    /// Its reason.
    pub reason: String,
    /// Its message.
    pub message: String,
}

impl Extra {
    /// A condition that stays as it was, because this reconcile does not know better.
    pub(in crate::operator) fn unchanged(before: &[Condition], type_: &'static str) -> Option<Self> {
        let earlier = find(before, type_).filter(|condition| condition.status == "True")?;
        Some(Self::new(type_, &earlier.reason, earlier.message.clone()))
    }

    /// Creates a condition of this type.
    pub fn new(type_: &'static str, reason: &str, message: impl Into<String>) -> Self {
        Self { type_, reason: reason.to_owned(), message: message.into() }
    }

    /// Creates the `Suspended` condition. `suspend`: `spec.suspend`.
    pub fn suspended(suspend: bool) -> Option<Self> {
        suspend.then(|| Self::new(names::SUSPENDED, "Suspended", "Nothing is sent while suspend is true"))
    }
}

/// Returns the conditions for `update` and `extra`, and those of `before` that the operator does not own.
/// `lastTransitionTime` changes only with the status.
pub fn conditions(
    before: &[Condition],
    update: &ConditionUpdate,
    extra: impl IntoIterator<Item = Extra>,
    generation: i64,
    now: Timestamp,
) -> Vec<Condition> {
    let condition = |type_: &str, status: &str, reason: &str, message: &str| {
        condition(before, type_, status, (reason, message), generation, now)
    };
    let reason = update.reason.as_str();
    let mut conditions = vec![about(before, names::READY, update, generation, now)];
    match update.reason.state() {
        ConditionState::Progressing | ConditionState::Waiting => {
            conditions.push(condition(names::RECONCILING, "True", reason, &update.message));
        }
        ConditionState::Stalled => conditions.push(condition(names::STALLED, "True", reason, &update.message)),
        ConditionState::Ready | ConditionState::Paused | ConditionState::Failing => {}
    }
    for Extra { type_, reason, message } in extra {
        conditions.push(condition(type_, "True", &reason, &message));
    }
    keep_others(&mut conditions, before);
    conditions
}

/// Replaces the conditions that the operator does not own by those of `before`.
pub fn keep_others(conditions: &mut Vec<Condition>, before: &[Condition]) {
    let is_ours = |condition: &Condition| names::CONDITIONS.contains(&condition.type_.as_str());
    conditions.retain(is_ours);
    let foreign = before.iter().filter(|condition| !is_ours(condition));
    // With more of them the API server would refuse the whole status.
    conditions.extend(foreign.take(MOST_CONDITIONS - names::CONDITIONS.len()).cloned());
}

/// Returns the conditions of `before` with the main three (Ready, Reconciling, Stalled) replaced by those for `update`.
pub fn with_main(before: &[Condition], update: &ConditionUpdate, generation: i64, now: Timestamp) -> Vec<Condition> {
    let is_main = |type_: &str| [names::READY, names::RECONCILING, names::STALLED].contains(&type_);
    let mut after = conditions(before, update, None, generation, now);
    after.retain(|condition| is_main(&condition.type_));
    after.extend(before.iter().filter(|condition| !is_main(&condition.type_)).cloned());
    after
}

/// Returns the condition of this type for `update`; its status follows from the reason. `lastTransitionTime` changes
/// only with the status.
pub fn about(
    before: &[Condition],
    type_: &str,
    update: &ConditionUpdate,
    generation: i64,
    now: Timestamp,
) -> Condition {
    let status = match update.reason.state() {
        ConditionState::Ready => "True",
        ConditionState::Progressing => "Unknown",
        ConditionState::Waiting | ConditionState::Stalled | ConditionState::Paused | ConditionState::Failing => "False",
    };
    condition(before, type_, status, (update.reason.as_str(), &update.message), generation, now)
}

/// Returns a condition whose status does not follow from a [`Reason`]. `lastTransitionTime` changes only with the status.
pub fn condition(
    before: &[Condition],
    type_: &str,
    status: &str,
    (reason, message): (&str, &str),
    generation: i64,
    now: Timestamp,
) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: cut(message, LONGEST_MESSAGE),
        observed_generation: Some(generation),
        last_transition_time: before
            .iter()
            .find(|earlier| earlier.type_ == type_ && earlier.status == status)
            // The API stores whole seconds (RFC 3339 without a fraction).
            .map_or_else(|| Time(whole_seconds(now)), |earlier| earlier.last_transition_time.clone()),
    }
}

/// Whether `Ready` is true.
pub fn is_ready(conditions: &[Condition]) -> bool {
    is_true(conditions, names::READY)
}

/// Whether the condition of this type exists and is true.
pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    find(conditions, type_).is_some_and(|condition| condition.status == "True")
}

/// Returns the reason of `Ready`.
pub fn ready_reason(conditions: &[Condition]) -> Option<&str> {
    reason(conditions, names::READY)
}

/// Returns the message of `Ready`.
pub fn ready_message(conditions: &[Condition]) -> Option<&str> {
    find(conditions, names::READY).map(|condition| condition.message.as_str())
}

/// Returns the reason of the condition of this type.
pub fn reason<'c>(conditions: &'c [Condition], type_: &str) -> Option<&'c str> {
    find(conditions, type_).map(|condition| condition.reason.as_str())
}

fn find<'c>(conditions: &'c [Condition], type_: &str) -> Option<&'c Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Returns a time as the API stores it.
pub fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

const MORE: &str = "…";

/// Returns a text of others as a status or an Event has it: cleaned, and its first `length` bytes, cut at a character
/// boundary. No such text gets there otherwise.
pub fn cut(text: &str, length: usize) -> String {
    let text = clean(text);
    if text.len() <= length {
        return text.into_owned();
    }
    let mut end = length.saturating_sub(MORE.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{MORE}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_19_reconciling_and_stalled_exist_only_while_true_and_never_both() {
        for reason in Reason::ALL {
            let condition = ConditionUpdate::new(*reason, "because");
            let conditions = conditions(&[], &condition, Vec::new(), 3, Timestamp::UNIX_EPOCH);
            let has = |name: &str| conditions.iter().any(|condition| condition.type_ == name);
            assert!(!(has(names::RECONCILING) && has(names::STALLED)), "{reason}");
            assert!(conditions.iter().all(|condition| condition.observed_generation == Some(3)), "{reason}");
            assert_eq!(is_ready(&conditions), reason.state() == ConditionState::Ready, "{reason}");
            if reason.state() == ConditionState::Ready {
                assert!(!has(names::RECONCILING) && !has(names::STALLED), "{reason}");
            }
        }
    }

    #[test]
    fn the_transition_time_moves_only_with_the_status() {
        let at = |second| Timestamp::from_second(second).expect("a time in range");
        let first = conditions(&[], &ConditionUpdate::new(Reason::Creating, "a"), Vec::new(), 1, at(10));
        let second = conditions(&first, &ConditionUpdate::new(Reason::Redeploying, "b"), Vec::new(), 2, at(20));
        assert_eq!(second[0].last_transition_time.0, at(10), "Unknown stays Unknown");
        let third = conditions(&second, &ConditionUpdate::new(Reason::Deployed, "c"), Vec::new(), 2, at(30));
        assert_eq!((third[0].last_transition_time.0, ready_message(&third)), (at(30), Some("c")));
    }

    #[test]
    fn conditions_of_other_owners_are_kept_unchanged_up_to_a_limit() {
        let condition = ConditionUpdate::new(Reason::Deployed, "Live");
        let extra = || Extra::suspended(true);
        let ours = conditions(&[], &condition, extra(), 1, Timestamp::UNIX_EPOCH);
        let theirs = |name: &str| Condition {
            type_: name.to_owned(),
            status: "False".to_owned(),
            reason: "Theirs".to_owned(),
            message: "so they say".to_owned(),
            observed_generation: None,
            last_transition_time: Time(Timestamp::from_second(5).expect("a time in range")),
        };
        let mut before = vec![theirs("example.com/Approved")];
        before.extend(ours.clone());
        let after = conditions(&before, &condition, extra(), 2, Timestamp::from_second(60).expect("a time in range"));
        assert_eq!(after.last(), Some(&theirs("example.com/Approved")));
        assert_eq!(after.len(), ours.len() + 1);
        let again = conditions(&after, &condition, extra(), 2, Timestamp::from_second(90).expect("a time in range"));
        assert_eq!(again, after, "their position is stable after one write");

        let many: Vec<_> = (0..100).map(|number| theirs(&format!("example.com/{number}"))).collect();
        let after = conditions(&many, &condition, extra(), 1, Timestamp::UNIX_EPOCH);
        let kept = after.iter().filter(|condition| condition.reason == "Theirs").count();
        assert_eq!(kept, MOST_CONDITIONS - names::CONDITIONS.len(), "there is room for all of ours");
    }

    #[test]
    fn rule_19_a_condition_beside_the_main_ones_exists_only_while_it_is_true() {
        let update = ConditionUpdate::new(Reason::Deployed, "Live");
        let of = |before: &[Condition], extra| conditions(before, &update, extra, 1, Timestamp::UNIX_EPOCH);
        let held = of(&[], Extra::suspended(true));
        assert!(is_true(&held, names::SUSPENDED));
        assert_eq!(of(&held, Extra::unchanged(&held, names::SUSPENDED)), held, "nothing new is known");
        assert_eq!(of(&held, Extra::suspended(false)).len(), 1, "Ready alone");
        assert_eq!(Extra::unchanged(&[], names::DRIFTED), None);
    }

    #[test]
    fn texts_are_cleaned_and_cut_between_characters() {
        assert_eq!(cut("a\u{1b}[2J\u{202e}\r\nb\tc", 100), "a\u{fffd}[2J\u{fffd}\nb\tc");
        assert_eq!(cut(&"\0".repeat(9), 9), "\u{fffd}\u{fffd}…", "a character that is replaced is longer");
        assert_eq!(cut("äöü", 6), "äöü");
        assert_eq!(cut("äöüä", 7), "äö…");
        assert_eq!(cut("äöüä", 6), "ä…");
    }
}
