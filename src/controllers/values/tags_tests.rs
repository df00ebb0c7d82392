//! Tables of [`super`].

use super::*;
use crate::controllers::values::VisibleApplication;
use crate::controllers::values::digest::KEY_LENGTH;

fn visible(standard: &[(&str, &str)], schedule: Option<&str>) -> VisibleValues {
    let application = VisibleApplication {
        standard: standard.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
        schedule: schedule.map(Into::into),
        retry_policy: BTreeMap::new(),
    };
    VisibleValues { applications: [("service".to_owned(), application)].into(), ..VisibleValues::default() }
}

#[test]
fn only_what_was_sent_is_compared() {
    let sent = Tags::visible(&visible(&[("A", "1"), ("B", "2")], Some("0 5 * * *")));
    for (case, seen, differ) in [
        ("the same", visible(&[("A", "1"), ("B", "2")], Some("0 5 * * *")), &[][..]),
        ("a key that was not sent", visible(&[("A", "1"), ("B", "2"), ("C", "3")], Some("0 5 * * *")), &[]),
        ("another value", visible(&[("A", "9"), ("B", "2")], Some("0 5 * * *")), &["service/A"]),
        ("a key is not shown", visible(&[("A", "1")], Some("0 5 * * *")), &["service/B"]),
        ("another schedule", visible(&[("A", "1"), ("B", "2")], Some("@daily")), &["service (schedule)"]),
        ("nothing is shown", VisibleValues::default(), &["service (schedule)", "service/A", "service/B"]),
    ] {
        let found: Vec<_> = sent.differences(&seen).iter().map(|(item, _)| item.to_string()).collect();
        assert_eq!(found, differ, "{case}");
        assert_eq!(sent.fits(&seen), differ.is_empty(), "{case}");
    }
    let values = visible(&[("A", "1")], Some("@daily"));
    for (item, tag) in Tags::visible(&values).iter() {
        assert_eq!(Tags::of(&values, item), tag, "{item}");
    }
    assert_eq!(Tags::of(&values, &Item::standard("service", "B")), NOTHING);
    let inherited = Tags::visible(&visible(&[("A", "1")], None));
    assert!(inherited.fits(&visible(&[("A", "1")], Some("@daily"))), "a schedule that was not sent does not count");
}

#[test]
fn of_a_retry_policy_only_what_was_sent_and_shows_is_compared() {
    let of = |members: &[(&'static str, &str)]| {
        let mut values = visible(&[], None);
        let service = values.applications.get_mut("service").expect("it is there");
        service.retry_policy = members.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        values
    };
    let backoff = [("strategy", "exponential-backoff"), ("minBackoffSeconds", "10")];
    let sent = Tags::visible(&of(&backoff));
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
        let found: Vec<_> = sent.differences(&seen).iter().map(|(item, _)| item.to_string()).collect();
        assert_eq!(found, differ, "{case}");
        assert_eq!(sent.has_hidden_retry_policy(&seen), hidden, "{case}");
    }
    assert!(!Tags::visible(&visible(&[("A", "1")], None)).has_hidden_retry_policy(&VisibleValues::default()));
}

#[test]
fn ignored_values_are_no_differences_but_are_shown_otherwise() {
    let sent = Tags::visible(&visible(&[("A", "1"), ("B", "1")], None));
    let seen = visible(&[("A", "2"), ("B", "1")], None).ignoring([("service".to_owned(), "A".to_owned())].into());
    assert!(sent.fits(&seen));
    assert!(!sent.shown_otherwise(&seen).is_empty());
    let other = visible(&[("A", "2"), ("B", "1")], None).ignoring([("service".to_owned(), "B".to_owned())].into());
    assert!(!sent.fits(&other));
}

#[test]
fn a_tag_depends_on_the_application() {
    let one = Tags::visible(&visible(&[("A", "1")], None));
    let mut global = VisibleValues::default();
    global.global.insert("A".into(), "1".into());
    let other = Tags::visible(&global);
    assert_ne!(one.iter().next().map(|(_, tag)| tag), other.iter().next().map(|(_, tag)| tag));
    assert_eq!(other.iter().next().map(|(item, _)| item.to_string()).as_deref(), Some("globalConfiguration/A"));
}

#[test]
fn the_tag_of_a_secured_value_is_made_under_the_key_and_that_of_a_visible_one_is_not() {
    let (one, other) = (DigestKey::new([1; KEY_LENGTH]), DigestKey::new([2; KEY_LENGTH]));
    let given = of_service("secret");
    let (tags, again) = (Tags::of_values(&given, &one), Tags::of_values(&given, &other));
    for (item, same) in [
        (Item::standard("service", "A"), true),
        (Item::schedule("service"), true),
        (Item::secured("service", "T"), false),
    ] {
        assert!(tags.has(&item), "{item}");
        assert_eq!(tags.get(&item) == again.get(&item), same, "{item}");
    }
    let rotated = Tags::of_values(&of_service("another"), &one);
    assert_ne!(tags.get(&Item::secured("service", "T")), rotated.get(&Item::secured("service", "T")));
}

fn of_service(token: &str) -> Values {
    let service = ApplicationValues {
        standard: [("A".to_owned(), "1".to_owned())].into(),
        secured: [("T".to_owned(), token.to_owned().into())].into(),
        schedule: Some("0 5 * * *".to_owned()),
        ..ApplicationValues::default()
    };
    Values { applications: [("service".to_owned(), service)].into(), ..Values::default() }
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
fn tags_of_secured_values_under_another_key_are_taken_from_others() {
    let (one, other) = (DigestKey::new([1; KEY_LENGTH]), DigestKey::new([2; KEY_LENGTH]));
    let (mut tags, again) =
        (Tags::of_values(&of_service("secret"), &one), Tags::of_values(&of_service("secret"), &other));
    let mut changed = again.clone();
    changed.set(Item::standard("service", "A"), "changed");
    assert!(tags.shows_the_same(&again) && !tags.shows_the_same(&changed));
    tags.take_secured(&changed);
    assert_eq!(tags, again, "those of visible values stay");
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
