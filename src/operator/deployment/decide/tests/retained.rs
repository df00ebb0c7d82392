//! Rule 8: a redeploy merges, so a value that is no longer desired stays, and is named.

use super::build::{Does, Fixture, Row, SETTLED, Stored, check, does, gathered, stored, visible, wanting};
use crate::operator::deployment::decide::{DesiredPayload, Outcome, retained};
use crate::operator::deployment::declared::{Declared, DeclaredKey};
use crate::operator::deployment::persisted::{Observation, ObservedDeployment, OperationType, Phase};
use crate::operator::values::RETRY_STRATEGY;
use crate::operator::values::digest::Digest;
use crate::operator::values::names::{GLOBAL, Item, Names, VisibleValues};

const REDEPLOY: OperationType = OperationType::Redeploy;
const SENT: (Does, Stored, Outcome) = (Does::Send(REDEPLOY), Stored::Planned, Outcome::Running(REDEPLOY));

fn b() -> Item {
    Item::standard("service", "B")
}

fn u() -> Item {
    Item::secured("service", "U")
}

fn all() -> DesiredPayload {
    wanting(&[("A", "1"), ("B", "2")], &[("T", "secret"), ("U", "other")])
}

/// A running deployment with two plain and two secured values; each row sets the desired ones.
pub(super) fn live() -> Fixture {
    let mut fixture = Fixture::live();
    fixture.applied().digest = Some(all().payload.digest);
    fixture.applied().names = Some(all().payload.names);
    let observed = fixture.sees(Phase::Deployed);
    observed.values = visible(&[("A", "1"), ("B", "2")]);
    observed.secured.insert(Item::secured("service", "U"));
    wants(&mut fixture, all());
    fixture
}

pub(super) fn wants(fixture: &mut Fixture, wanted: DesiredPayload) {
    fixture.wanted = Some(wanted);
    gathered(fixture);
}

pub(super) fn observed(fixture: &mut Fixture) -> &mut ObservedDeployment {
    let Observation::Present(observed) = &mut fixture.observation else { panic!("the deployment exists") };
    observed
}

pub(super) fn without_b() -> DesiredPayload {
    wanting(&[("A", "1")], &[("T", "secret"), ("U", "other")])
}

pub(super) fn without_u() -> DesiredPayload {
    wanting(&[("A", "1"), ("B", "2")], &[("T", "secret")])
}

/// Returns the names of what the deployment retains.
pub(super) fn names(fixture: &Fixture) -> Vec<String> {
    let Observation::Present(seen) = &fixture.observation else { panic!("the deployment exists") };
    let wanted = fixture.wanted.as_ref().expect("values are desired");
    let applied = fixture.persisted.applied.as_ref().expect("something was applied");
    retained(applied, &wanted.payload.names, seen).iter().map(ToString::to_string).collect()
}

/// Lets a redeploy begin and end that leaves everything visible as it is.
pub(super) fn redeployed(fixture: &mut Fixture) {
    gathered(fixture);
    let begun = fixture.decide();
    assert_eq!(does(&begun), Does::Send(REDEPLOY), "{begun:#?}");
    (fixture.persisted, fixture.transient) = (begun.persisted, begun.transient);
    let operation = fixture.accepted().aged(100).operation();
    operation.seen_busy = true;
    let version = operation.from_version.expect("it starts from a version") + 1;
    observed(fixture).version = version;
    fixture.persisted = fixture.decide().persisted;
    assert_eq!(stored(&fixture.persisted), Stored::Nothing, "the operation has ended");
    gathered(fixture);
}

#[test]
fn rule_8_a_removal_is_a_change_like_any_other() {
    let rows: &[Row] = &[
        ("nothing is removed", |_| {}, SETTLED),
        ("a plain value is removed", |fixture| wants(fixture, without_b()), SENT),
        ("a secured value is removed", |fixture| wants(fixture, without_u()), SENT),
        ("everything is removed", |fixture| wants(fixture, wanting(&[], &[])), SENT),
        (
            "removed, and redeployed",
            |fixture| {
                wants(fixture, without_b());
                redeployed(fixture);
            },
            SETTLED,
        ),
        (
            "desired again as it was",
            |fixture| {
                wants(fixture, without_b());
                redeployed(fixture);
                wants(fixture, all());
            },
            SENT,
        ),
        (
            "what was sent is not known",
            |fixture| {
                fixture.applied().digest = None;
                fixture.applied().names = None;
            },
            SENT,
        ),
        (
            "somebody changed a retained value: no drift",
            |fixture| {
                wants(fixture, without_b());
                redeployed(fixture);
                fixture.intent.correct_drift = true;
                observed(fixture).values = visible(&[("A", "1"), ("B", "9")]);
            },
            SETTLED,
        ),
    ];
    check(live, rows);
}

#[test]
fn rule_8_a_retained_value_is_named_as_long_as_it_may_exist_also_after_the_redeploy() {
    type Input = (&'static str, DesiredPayload, fn(&mut ObservedDeployment), &'static [&'static str]);
    let cases: [Input; 9] = [
        ("nothing is removed", all(), |_| {}, &[]),
        ("a plain value is removed", without_b(), |_| {}, &["service/B"]),
        ("a secured value is removed", without_u(), |_| {}, &["service/U (secured)"]),
        (
            "the record no longer shows a plain value",
            without_b(),
            |observed| observed.values = visible(&[("A", "1")]),
            &[],
        ),
        (
            "the record lists secured keys, and no longer this one",
            without_u(),
            |observed| observed.secured = [Item::secured("service", "T")].into_iter().collect(),
            &[],
        ),
        (
            "the record lists no secured keys at all",
            without_u(),
            |observed| observed.secured = Names::default(),
            &["service/U (secured)"],
        ),
        ("its application is gone", without_b(), |observed| observed.applications.clear(), &[]),
        (
            "a schedule that was not sent",
            all(),
            |observed| _ = observed.values.insert(Item::schedule("service"), "0 5 * * *".into()),
            &[],
        ),
        (
            "a global value that was not sent",
            all(),
            |observed| _ = observed.values.insert(Item::standard(GLOBAL, "G"), "shown".into()),
            &[],
        ),
    ];
    for (input, wanted, change, expected) in cases {
        let mut fixture = live();
        let removes = wanted != all();
        wants(&mut fixture, wanted);
        let mut after = fixture.clone();
        if removes {
            redeployed(&mut after);
        }
        for mut fixture in [fixture, after] {
            change(observed(&mut fixture));
            assert_eq!(names(&fixture), expected, "{input}");
        }
    }
    let mut fixture = live();
    let sent = fixture.applied().names.as_mut().expect("what was sent is known");
    sent.insert(Item::standard(GLOBAL, "G"));
    sent.insert(Item::schedule("service"));
    assert!(names(&fixture).is_empty(), "neither shows");
    let seen = observed(&mut fixture);
    seen.values.insert(Item::standard(GLOBAL, "G"), "shown".into());
    seen.values.insert(Item::schedule("service"), "0 5 * * *".into());
    assert_eq!(names(&fixture), ["service (schedule)", "globalConfiguration/G"]);
}

#[test]
fn rule_8_values_of_other_clients_are_reported_too_but_no_defaults() {
    let mut fixture = live();
    let standard = ["A", "B", "C", "D", "E"].map(|key| Item::standard("service", key));
    let secured = ["T", "U", "V"].map(|key| Item::secured("service", key));
    let keys = standard.into_iter().chain(secured).map(|item| {
        let default = (item.key == "D").then(|| "default".to_owned());
        (item, DeclaredKey { default, required: false })
    });
    let observed = observed(&mut fixture);
    observed.declared = Some(Declared { keys: keys.collect(), ..Declared::default() });
    observed.values = visible(&[("A", "1"), ("B", "2"), ("C", "3"), ("D", "default"), ("Z", "not declared")]);
    observed.secured.insert(Item::secured("service", "V"));
    assert_eq!(names(&fixture), ["service/V (secured)", "service/C"]);
}

#[test]
fn rule_8_values_that_a_given_up_operation_may_have_sent_are_not_forgotten() {
    let mut fixture = live();
    wants(&mut fixture, wanting(&[("A", "2"), ("B", "2"), ("C", "3")], &[("T", "secret"), ("U", "other")]));
    let begun = fixture.decide();
    (fixture.persisted, fixture.transient) = (begun.persisted, begun.transient);
    fixture.aged(120);
    let shown = fixture.sees(Phase::Deployed);
    (shown.version, shown.values) = (9, visible(&[("A", "7"), ("B", "2"), ("C", "3")]));
    fixture.wanted = Some(all());
    let given_up = fixture.decide().persisted;
    assert_eq!(given_up.operation.as_ref().map(|operation| operation.kind), None, "{given_up:#?}");
    let applied = given_up.applied.expect("the applied state is kept");
    assert_eq!(applied.digest, None);
    assert!(applied.retained.has(&Item::standard("service", "C")));
    assert!(!applied.retained.has(&b()), "it was sent before");
}

#[test]
fn rule_8_a_redeploy_for_another_reason_retains_removed_values() {
    let mut fixture = live();
    wants(&mut fixture, wanting(&[("A", "9")], &[("T", "secret")]));
    let begun = fixture.decide();
    (fixture.persisted, fixture.transient) = (begun.persisted, begun.transient);
    let operation = fixture.accepted().aged(100).operation();
    assert!(operation.changes_visible);
    operation.seen_busy = true;
    let observed = fixture.sees(Phase::Deployed);
    (observed.version, observed.values) = (6, visible(&[("A", "9"), ("B", "2")]));
    observed.secured.insert(Item::secured("service", "U"));
    let ended = fixture.decide();
    assert_eq!(ended.outcome, SETTLED.2);
    let applied = ended.persisted.applied.expect("the operation has ended");
    assert!(applied.retained.has(&b()) && applied.retained.has(&u()));
    assert_eq!(applied.at, super::build::NOW);
    fixture.persisted.applied = Some(applied);
    fixture.persisted.operation = None;
    fixture.transient.change = None;
    assert_eq!(fixture.decide_at(super::build::NOW).outcome, SETTLED.2);
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
    type Input =
        (&'static str, &'static [(&'static str, &'static str)], Option<VisibleValues>, (Does, Stored, Outcome), bool);
    let shown = Some(with_policy(&BACKOFF).1);
    let hidden = Some(visible(&[("A", "1"), ("B", "2")]));
    let cases: [Input; 6] = [
        ("the same", &BACKOFF, shown.clone(), SETTLED, false),
        ("the same, and the record shows none: no drift", &BACKOFF, hidden.clone(), SETTLED, false),
        ("another", &[(RETRY_STRATEGY, "immediate")], shown.clone(), SENT, false),
        ("a member is dropped", &[BACKOFF[0], BACKOFF[1]], shown.clone(), SENT, false),
        ("removed", &[], shown, SENT, true),
        ("removed, and the record shows none", &[], hidden, SENT, true),
    ];
    for (input, members, values, expected, stays) in cases {
        let mut fixture = live();
        let (sent, _) = with_policy(&BACKOFF);
        fixture.applied().digest = Some(sent.payload.digest);
        fixture.applied().names = Some(sent.payload.names);
        fixture.intent.correct_drift = true;
        observed(&mut fixture).values = values.expect("the record shows values");
        wants(&mut fixture, with_policy(members).0);
        let decision = fixture.decide();
        assert_eq!((does(&decision), stored(&decision.persisted), decision.outcome), expected, "{input}");
        assert_eq!(names(&fixture).contains(&"service (retryPolicy)".to_owned()), stays, "{input}");
    }
}
