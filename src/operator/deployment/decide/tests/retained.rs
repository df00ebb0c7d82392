//! Rule 8: a redeploy merges, so a value that is no longer desired stays, and is named.

use super::build::{self, Expected, Fixture, NOW, SETTLED, Stored, check, result, sends, stored, visible, wanting};
use crate::operator::deployment::decide::{DesiredPayload, retained};
use crate::operator::deployment::declared::{Declared, DeclaredKey};
use crate::operator::deployment::persisted::ObservedDeployment;
use crate::operator::deployment::persisted::OperationType::Redeploy;
use crate::operator::deployment::persisted::Phase::Deployed;
use crate::operator::values::RETRY_STRATEGY;
use crate::operator::values::digest::Digest;
use crate::operator::values::names::{GLOBAL, Item, Names, VisibleValues};

const SENT: Expected = sends(Redeploy);

fn all() -> DesiredPayload {
    wanting(&[("A", "1"), ("B", "2")], &[("T", "secret"), ("U", "other")])
}

pub(super) fn without_b() -> DesiredPayload {
    wanting(&[("A", "1")], &[("T", "secret"), ("U", "other")])
}

pub(super) fn without_u() -> DesiredPayload {
    wanting(&[("A", "1"), ("B", "2")], &[("T", "secret")])
}

fn shows(seen: &mut ObservedDeployment, a: &str) {
    seen.values = visible(&[("A", a), ("B", "2")]);
    seen.secured.insert(Item::secured("service", "U"));
}

/// A running deployment with two plain and two secured values; each row sets the desired ones.
pub(super) fn live() -> Fixture {
    let payload = all().payload;
    let fixture = build::live().seeing(|seen| shows(seen, "1")).wanting(all()).gathered();
    fixture.with(|it| (it.applied().digest, it.applied().names) = (Some(payload.digest), Some(payload.names)))
}

pub(super) fn wants(wanted: DesiredPayload) -> Fixture {
    live().wanting(wanted).gathered()
}

/// Returns the names of what the deployment retains.
pub(super) fn names(fixture: &mut Fixture) -> Vec<String> {
    let (seen, wanted) = (fixture.observed().clone(), fixture.payload().names.clone());
    retained(fixture.applied(), &wanted, &seen).iter().map(ToString::to_string).collect()
}

/// Lets a redeploy begin and end that leaves everything visible as it is.
pub(super) fn redeployed(fixture: Fixture) -> Fixture {
    let begun = fixture.decide();
    assert_eq!(result(&begun), SENT, "{begun:#?}");
    let mut running = fixture.after(begun).accepted().aged(100).seen_busy();
    let version = running.operation().from_version.expect("it starts from a version") + 1;
    let running = running.at_version(version);
    let persisted = running.decide().persisted;
    assert_eq!(stored(&persisted), Stored::Nothing, "the operation has ended");
    Fixture { persisted, ..running }.gathered()
}

#[test]
fn rule_8_a_removal_is_a_change_like_any_other() {
    let unknown = live().with(|it| (it.applied().digest, it.applied().names) = (None, None));
    let changed = redeployed(wants(without_b())).corrects_drift();
    let changed = changed.seeing(|seen| seen.values = visible(&[("A", "1"), ("B", "9")]));
    check(vec![
        ("nothing is removed", live(), SETTLED),
        ("a plain value is removed", wants(without_b()), SENT),
        ("a secured value is removed", wants(without_u()), SENT),
        ("everything is removed", wants(wanting(&[], &[])), SENT),
        ("removed, and redeployed", redeployed(wants(without_b())), SETTLED),
        ("desired again as it was", redeployed(wants(without_b())).wanting(all()).gathered(), SENT),
        ("what was sent is not known", unknown, SENT),
        ("somebody changed a retained value: no drift", changed, SETTLED),
    ]);
}

#[test]
fn rule_8_a_retained_value_is_named_as_long_as_it_may_exist_also_after_the_redeploy() {
    type Row = (&'static str, DesiredPayload, fn(&mut ObservedDeployment), &'static [&'static str]);
    let secured = |seen: &mut ObservedDeployment| seen.secured = [Item::secured("service", "T")].into_iter().collect();
    let schedule =
        |seen: &mut ObservedDeployment| _ = seen.values.insert(Item::schedule("service"), "0 5 * * *".into());
    let global = |seen: &mut ObservedDeployment| _ = seen.values.insert(Item::standard(GLOBAL, "G"), "shown".into());
    let rows: [Row; 9] = [
        ("nothing is removed", all(), |_| {}, &[]),
        ("a plain value is removed", without_b(), |_| {}, &["service/B"]),
        ("a secured value is removed", without_u(), |_| {}, &["service/U (secured)"]),
        ("the record no longer shows it", without_b(), |seen| seen.values = visible(&[("A", "1")]), &[]),
        ("the record lists secured keys, and no longer this one", without_u(), secured, &[]),
        ("no secured keys at all", without_u(), |seen| seen.secured = Names::default(), &["service/U (secured)"]),
        ("its application is gone", without_b(), |seen| seen.applications.clear(), &[]),
        ("a schedule that was not sent", all(), schedule, &[]),
        ("a global value that was not sent", all(), global, &[]),
    ];
    for (input, wanted, change, expected) in rows {
        let before = wants(wanted.clone());
        let after = if wanted == all() { live() } else { redeployed(before.clone()) };
        for fixture in [before, after] {
            assert_eq!(names(&mut fixture.seeing(change)), expected, "{input}");
        }
    }
    let mut fixture = live().with(|it| {
        let sent = it.applied().names.as_mut().expect("what was sent is known");
        sent.insert(Item::standard(GLOBAL, "G"));
        sent.insert(Item::schedule("service"));
    });
    assert!(names(&mut fixture).is_empty(), "neither shows");
    assert_eq!(names(&mut fixture.seeing(global).seeing(schedule)), ["service (schedule)", "globalConfiguration/G"]);
}

#[test]
fn rule_8_values_of_other_clients_are_reported_too_but_no_defaults() {
    let standard = ["A", "B", "C", "D", "E"].map(|key| Item::standard("service", key));
    let secured = ["T", "U", "V"].map(|key| Item::secured("service", key));
    let keys = standard.into_iter().chain(secured).map(|item| {
        let default = (item.key == "D").then(|| "default".to_owned());
        (item, DeclaredKey { default, required: false })
    });
    let declared = Some(Declared { keys: keys.collect(), ..Declared::default() });
    let mut fixture = live().seeing(|seen| {
        seen.declared = declared;
        seen.values = visible(&[("A", "1"), ("B", "2"), ("C", "3"), ("D", "default"), ("Z", "not declared")]);
        seen.secured.insert(Item::secured("service", "V"));
    });
    assert_eq!(names(&mut fixture), ["service/V (secured)", "service/C"]);
}

#[test]
fn rule_8_values_that_a_given_up_operation_may_have_sent_are_not_forgotten() {
    let fixture = wants(wanting(&[("A", "2"), ("B", "2"), ("C", "3")], &[("T", "secret"), ("U", "other")]));
    let begun = fixture.decide();
    let shown = visible(&[("A", "7"), ("B", "2"), ("C", "3")]);
    let fixture = fixture.after(begun).aged(120).sees(Deployed).seeing(|seen| (seen.version, seen.values) = (9, shown));
    let given_up = fixture.wanting(all()).decide().persisted;
    assert_eq!(stored(&given_up), Stored::Nothing, "{given_up:#?}");
    let applied = given_up.applied.expect("the applied state is kept");
    assert_eq!(applied.digest, None);
    assert!(applied.retained.has(&Item::standard("service", "C")));
    assert!(!applied.retained.has(&Item::standard("service", "B")), "it was sent before");
}

#[test]
fn rule_8_a_redeploy_for_another_reason_retains_removed_values() {
    let fixture = wants(wanting(&[("A", "9")], &[("T", "secret")]));
    let begun = fixture.decide();
    let mut running = fixture.after(begun).accepted().aged(100).seen_busy();
    assert!(running.operation().changes_visible);
    let running = running.sees(Deployed).at_version(6).seeing(|seen| shows(seen, "9"));
    let ended = running.decide();
    assert_eq!(result(&ended), SETTLED);
    let applied = ended.persisted.applied.as_ref().expect("the operation has ended");
    assert!(applied.retained.has(&Item::standard("service", "B")));
    assert!(applied.retained.has(&Item::secured("service", "U")));
    assert_eq!(applied.at, NOW);
    assert_eq!(result(&running.after(ended).decide()), SETTLED);
}

/// Returns a retry policy with these members beside `A` and `B`, desired and as shown.
fn with_policy(members: &[(&'static str, &str)]) -> (DesiredPayload, VisibleValues) {
    let mut values = visible(&[("A", "1"), ("B", "2")]);
    values.extend(members.iter().map(|(name, value)| (Item::retry_policy("service", name), (*value).to_owned())));
    let mut wanted = DesiredPayload { values: values.clone(), ..all() };
    for (member, _) in members {
        wanted.payload.names.insert(Item::retry_policy("service", member));
    }
    wanted.payload.digest = Digest::parse(&format!("key:{members:?}"));
    (wanted, values)
}

#[test]
fn rule_8_a_retry_policy_is_replaced_as_a_whole_and_stays_when_it_is_removed() {
    const BACKOFF: [(&str, &str); 3] =
        [(RETRY_STRATEGY, "exponential-backoff"), ("minBackoffSeconds", "10"), ("maxAttempts", "5")];
    let (sent, shown) = with_policy(&BACKOFF);
    let hidden = visible(&[("A", "1"), ("B", "2")]);
    for (input, members, values, expected, stays) in [
        ("the same", &BACKOFF[..], &shown, SETTLED, false),
        ("the same, and the record shows none: no drift", &BACKOFF, &hidden, SETTLED, false),
        ("another", &[(RETRY_STRATEGY, "immediate")], &shown, SENT, false),
        ("a member is dropped", &BACKOFF[..2], &shown, SENT, false),
        ("removed", &[], &shown, SENT, true),
        ("removed, and the record shows none", &[], &hidden, SENT, true),
    ] {
        let mut fixture = wants(with_policy(members).0).corrects_drift().seeing(|seen| seen.values.clone_from(values));
        let payload = sent.payload.clone();
        (fixture.applied().digest, fixture.applied().names) = (Some(payload.digest), Some(payload.names));
        assert_eq!(result(&fixture.decide()), expected, "{input}");
        assert_eq!(names(&mut fixture).contains(&"service (retryPolicy)".to_owned()), stays, "{input}");
    }
}
