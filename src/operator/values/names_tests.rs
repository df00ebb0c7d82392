//! Tables of [`super`].

use super::*;
use crate::operator::values::digest::{DigestKey, KEY_LENGTH};

fn visible(standard: &[(&str, &str)], schedule: Option<&str>) -> VisibleValues {
    let standard = standard.iter().map(|(key, value)| (Item::standard("service", key), (*value).to_owned()));
    standard.chain(schedule.map(|schedule| (Item::schedule("service"), schedule.to_owned()))).collect()
}

fn named(sent: &VisibleValues, seen: &VisibleValues) -> Vec<String> {
    differences(sent, seen).keys().map(ToString::to_string).collect()
}

#[test]
fn only_what_was_sent_is_compared() {
    let sent = visible(&[("A", "1"), ("B", "2")], Some("0 5 * * *"));
    let names: Names = sent.keys().cloned().collect();
    let key = DigestKey::new([1; KEY_LENGTH]);
    for (case, seen, differ) in [
        ("the same", visible(&[("A", "1"), ("B", "2")], Some("0 5 * * *")), &[][..]),
        ("a key that was not sent", visible(&[("A", "1"), ("B", "2"), ("C", "3")], Some("0 5 * * *")), &[]),
        ("another value", visible(&[("A", "9"), ("B", "2")], Some("0 5 * * *")), &["service/A"]),
        ("a key is not shown", visible(&[("A", "1")], Some("0 5 * * *")), &["service/B"]),
        ("another schedule", visible(&[("A", "1"), ("B", "2")], Some("@daily")), &["service (schedule)"]),
        ("nothing is shown", VisibleValues::default(), &["service (schedule)", "service/A", "service/B"]),
    ] {
        assert_eq!(named(&sent, &seen), differ, "{case}");
        let same = key.of_visible(&names, &sent) == key.of_visible(&names, &seen);
        assert_eq!(same, differ.is_empty(), "{case}");
        assert_eq!(key.of_differences(&differences(&sent, &seen)).is_none(), differ.is_empty(), "{case}");
    }
    let inherited = visible(&[("A", "1")], None);
    assert!(named(&inherited, &visible(&[("A", "1")], Some("@daily"))).is_empty(), "a schedule that was not sent");
}

#[test]
fn a_difference_is_the_same_only_with_the_same_name_and_both_values() {
    let key = DigestKey::new([1; KEY_LENGTH]);
    let of = |sent: &str, shown: &str| {
        key.of_differences(&differences(&visible(&[("A", sent)], None), &visible(&[("A", shown)], None)))
    };
    let base = of("1", "2");
    assert_eq!(base, of("1", "2"));
    for (case, other) in [("another is shown", of("1", "3")), ("another was sent", of("0", "2"))] {
        assert_ne!(base, other, "{case}");
    }
    let nothing = key.of_differences(&differences(&visible(&[("A", "1")], None), &VisibleValues::default()));
    assert!(base != nothing && nothing.is_some() && nothing != of("1", ""), "nothing is not an empty value");
}

#[test]
fn of_a_retry_policy_only_what_was_sent_and_shows_is_compared() {
    let of = |members: &[(&'static str, &str)]| {
        let member = |(name, value): &(&str, &str)| (Item::retry_policy("service", name), (*value).to_owned());
        members.iter().map(member).collect::<VisibleValues>()
    };
    let backoff = [("strategy", "exponential-backoff"), ("minBackoffSeconds", "10")];
    let sent = of(&backoff);
    let names: Names = sent.keys().cloned().collect();
    for (case, seen, differ, hidden) in [
        ("the same", of(&backoff), &[][..], false),
        ("a member that was not sent", of(&[backoff[0], backoff[1], ("maxAttempts", "5")]), &[], false),
        ("a member is not shown", of(&backoff[..1]), &[], false),
        ("nothing of it is shown", of(&[]), &[], true),
        ("another strategy", of(&[("strategy", "immediate")]), &["service (retryPolicy)"], false),
        (
            "another pause",
            of(&[backoff[0], ("minBackoffSeconds", "11")]),
            &["service (retryPolicy.minBackoffSeconds)"],
            false,
        ),
    ] {
        assert_eq!(named(&sent, &seen), differ, "{case}");
        assert_eq!(names.has_hidden_retry_policy(&seen), hidden, "{case}");
    }
    assert!(!Names::default().has_hidden_retry_policy(&VisibleValues::default()));
}

#[test]
fn rule_7_equal_values_in_two_namespaces_have_different_digests() {
    let key = DigestKey::new([1; KEY_LENGTH]);
    let (one, other) = (key.of_namespace("shop"), key.of_namespace("yard"));
    let values = of_service();
    let names = Names::of(&values);
    assert_ne!(one.digest(&values), other.digest(&values));
    assert_ne!(one.of_visible(&names, &values.visible), other.of_visible(&names, &values.visible));
    assert_eq!(one.digest(&values), key.of_namespace("shop").digest(&values));
}

fn of_service() -> Values {
    Values {
        applications: ["service".to_owned()].into(),
        visible: visible(&[("A", "1")], Some("0 5 * * *")),
        secured: [(Item::secured("service", "T"), "secret".into()), (Item::secured(GLOBAL, "G"), "global".into())]
            .into(),
    }
}

#[test]
fn names_are_stored_without_values_and_read_back() {
    let mut names = Names::of(&of_service());
    names.insert(Item::retry_policy("events", RETRY_STRATEGY));
    let text = serde_json::to_string(&names).expect("JSON");
    assert_eq!(
        text,
        r#"{"":{"secured":["G"]},"events":{"retryPolicy":["strategy"]},"service":{"standard":["A"],"secured":["T"],"schedule":true}}"#
    );
    assert_eq!(serde_json::from_str::<Names>(&text).expect("names"), names);
}

#[test]
fn of_a_retry_policy_messages_list_the_strategy_only() {
    for (item, is_listed) in [
        (Item::standard("service", "A"), true),
        (Item::secured("service", "A"), true),
        (Item::schedule("service"), true),
        (Item::retry_policy("service", RETRY_STRATEGY), true),
        (Item::retry_policy("service", "maxAttempts"), false),
    ] {
        assert_eq!(item.is_listed(), is_listed, "{item}");
    }
}

#[test]
fn a_long_list_of_names_is_cut_and_the_others_are_counted() {
    let item = Item::standard("service", &"A".repeat(NAMES_LENGTH / 2 - "service/".len()));
    for (count, more) in [(1, None), (2, None), (3, Some(" and 1 more")), (5, Some(" and 3 more"))] {
        let text = listed(vec![&item; count].into_iter());
        assert_eq!(text.matches("service/").count(), count.min(2));
        assert_eq!(text.find(" and ").map(|at| &text[at..]), more, "{count}");
    }
}
