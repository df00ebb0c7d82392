//! Rule 8: a redeploy merges, so a value that is no longer desired stays, is remembered, and causes no redeploy by
//! itself.

use std::collections::BTreeMap;

use super::build::{Does, Fixture, Row, SETTLED, Stored, check, does, gathered, stored, visible, wanting};
use crate::controllers::connector_deployment::decide::{DesiredPayload, Outcome};
use crate::controllers::connector_deployment::declared::{Declared, DeclaredKeys};
use crate::controllers::connector_deployment::persisted::{
    Observation, ObservedDeployment, OperationType, Payload, Phase,
};
use crate::controllers::values::digest::Digest;
use crate::controllers::values::tags::{FOREIGN, GLOBAL, Item, Tags, UNKNOWN};
use crate::controllers::values::{RETRY_STRATEGY, VisibleValues};

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
    fixture.applied().sent = Some(all().payload.tags);
    let observed = fixture.sees(Phase::Deployed);
    observed.values = visible(&[("A", "1"), ("B", "2")]);
    observed.secured.insert(("service".to_owned(), "U".to_owned()));
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

/// `B` was removed some time ago, and this was noted.
pub(super) fn noted(fixture: &mut Fixture) {
    wants(fixture, without_b());
    fixture.persisted = fixture.decide().persisted;
}

fn retained(fixture: &Fixture) -> Tags {
    fixture.decide().persisted.applied.expect("something was applied").retained
}

#[test]
fn rule_8_only_a_change_that_has_an_effect_at_the_remote_is_sent() {
    let rows: &[Row] = &[
        ("nothing is removed", |_| {}, SETTLED),
        ("a plain value is removed", |fixture| wants(fixture, without_b()), SETTLED),
        ("a secured value is removed", |fixture| wants(fixture, without_u()), SETTLED),
        (
            "the values are the same, and what was sent was not",
            |fixture| {
                let digest = wanting(&[], &[]).payload.digest;
                wants(fixture, DesiredPayload { payload: Payload { digest, ..all().payload }, ..all() });
            },
            SENT,
        ),
        ("everything is removed", |fixture| wants(fixture, wanting(&[], &[])), SETTLED),
        (
            "one is removed, and another changes",
            |fixture| wants(fixture, wanting(&[("A", "9")], &[("T", "secret")])),
            SENT,
        ),
        (
            "one is removed, and a secret changes",
            |fixture| wants(fixture, wanting(&[("A", "1")], &[("T", "new")])),
            SENT,
        ),
        (
            "one is removed, and it is set to its default",
            |fixture| wants(fixture, wanting(&[("A", "1"), ("B", "default")], &[("T", "secret"), ("U", "other")])),
            SENT,
        ),
        (
            "one is removed, and a redeploy is requested",
            |fixture| {
                fixture.intent.redeploy_request = Some("now".into());
                wants(fixture, without_b());
            },
            SENT,
        ),
        (
            "after a failure, too",
            |fixture| {
                fixture.applied().outcome = Phase::Failed;
                wants(fixture, without_b());
            },
            SETTLED,
        ),
        (
            "what was sent is not known",
            |fixture| {
                fixture.applied().sent = None;
                wants(fixture, without_b());
            },
            SENT,
        ),
        (
            "desired again as it was",
            |fixture| {
                noted(fixture);
                wants(fixture, all());
            },
            SETTLED,
        ),
        (
            "desired again with another value",
            |fixture| {
                noted(fixture);
                wants(fixture, wanting(&[("A", "1"), ("B", "9")], &[("T", "secret"), ("U", "other")]));
            },
            SENT,
        ),
        (
            "desired again as it was, and somebody changed it meanwhile",
            |fixture| {
                noted(fixture);
                wants(fixture, all());
                observed(fixture).values = visible(&[("A", "1"), ("B", "9")]);
            },
            SENT,
        ),
        (
            "somebody changed a retained value: no drift",
            |fixture| {
                noted(fixture);
                fixture.intent.correct_drift = true;
                observed(fixture).values = visible(&[("A", "1"), ("B", "9")]);
            },
            SETTLED,
        ),
    ];
    check(live, rows);
}

#[test]
fn rule_8_a_retained_value_is_remembered_by_name_as_long_as_it_may_exist() {
    type Input = (&'static str, fn(&mut Fixture), &'static [&'static str]);
    let cases: [Input; 10] = [
        ("nothing is removed", |_| {}, &[]),
        (
            "a global value is removed",
            |fixture| {
                fixture
                    .applied()
                    .sent
                    .as_mut()
                    .expect("what was sent is known")
                    .set(Item::standard(GLOBAL, "G"), "tag");
                fixture.applied().digest = Some(wanting(&[("X", "")], &[]).payload.digest);
                observed(fixture).values.global.insert("G".into(), "shown".into());
            },
            &["globalConfiguration/G"],
        ),
        ("a plain value is removed", |fixture| wants(fixture, without_b()), &["service/B"]),
        ("a secured value is removed", |fixture| wants(fixture, without_u()), &["service/U (secured)"]),
        (
            "the record no longer shows a plain value",
            |fixture| {
                noted(fixture);
                observed(fixture).values = visible(&[("A", "1")]);
            },
            &[],
        ),
        (
            "the record lists secured keys, and no longer this one",
            |fixture| {
                wants(fixture, without_u());
                fixture.persisted = fixture.decide().persisted;
                observed(fixture).secured = [("service".to_owned(), "T".to_owned())].into();
            },
            &[],
        ),
        (
            "the record lists no secured keys at all",
            |fixture| {
                wants(fixture, without_u());
                observed(fixture).secured.clear();
            },
            &["service/U (secured)"],
        ),
        (
            "desired again",
            |fixture| {
                noted(fixture);
                wants(fixture, all());
            },
            &[],
        ),
        (
            "its application is gone",
            |fixture| {
                noted(fixture);
                observed(fixture).values.applications.clear();
            },
            &[],
        ),
        (
            "a schedule is removed",
            |fixture| {
                let mut with = visible(&[("A", "1"), ("B", "2")]);
                with.applications.get_mut("service").expect("the application exists").schedule =
                    Some("0 5 * * *".into());
                let tag = Tags::visible(&with).get(&Item::schedule("service")).expect("a schedule").to_owned();
                fixture.applied().sent.as_mut().expect("what was sent is known").set(Item::schedule("service"), tag);
                observed(fixture).values = with;
            },
            &["service (schedule)"],
        ),
    ];
    for (input, change, expected) in cases {
        let mut fixture = live();
        change(&mut fixture);
        if input == "a schedule is removed" {
            fixture.applied().digest = Some(wanting(&[("X", "")], &[]).payload.digest);
        }
        let names: Vec<_> = retained(&fixture).iter().map(|(item, _)| item.to_string()).collect();
        assert_eq!(names, expected, "{input}");
        let next = Fixture { persisted: fixture.decide().persisted, ..fixture.clone() };
        assert_eq!(next.decide().persisted, next.persisted, "{input}: written once");
    }
}

#[test]
fn rule_8_values_of_other_clients_are_reported_too_but_no_defaults() {
    let mut fixture = live();
    let keys = DeclaredKeys {
        standard: ["A", "B", "C", "D", "E"].map(str::to_owned).into(),
        secured: ["T", "U", "V"].map(str::to_owned).into(),
        defaults: BTreeMap::from([("D".to_owned(), "default".to_owned())]),
        ..DeclaredKeys::default()
    };
    let observed = observed(&mut fixture);
    observed.declared =
        Some(Declared { applications: [("service".to_owned(), keys)].into(), global: DeclaredKeys::default() });
    observed.values = visible(&[("A", "1"), ("B", "2"), ("C", "3"), ("D", "default"), ("Z", "not declared")]);
    observed.secured.insert(("service".to_owned(), "V".to_owned()));
    let found = retained(&fixture);
    let names: Vec<_> = found.iter().map(|(item, tag)| (item.to_string(), tag.to_owned())).collect();
    assert_eq!(names, [("service/V (secured)".into(), FOREIGN.into()), ("service/C".to_owned(), FOREIGN.to_owned())]);
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
    assert_eq!(applied.retained.get(&Item::standard("service", "C")), Some(UNKNOWN));
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
    observed.secured.insert(("service".to_owned(), "U".to_owned()));
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
    let service = values.applications.get_mut("service").expect("the application exists");
    service.retry_policy = members.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    let mut wanted = all();
    for (item, tag) in Tags::visible(&values).iter() {
        wanted.payload.tags.set(item.clone(), tag);
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
    let cases: [Input; 7] = [
        ("the same", &BACKOFF, shown.clone(), SETTLED, false),
        ("the same, and the record shows none: no drift", &BACKOFF, hidden.clone(), SETTLED, false),
        ("another", &[(RETRY_STRATEGY, "immediate")], shown.clone(), SENT, false),
        ("a member is dropped", &[BACKOFF[0], BACKOFF[1]], shown.clone(), SENT, false),
        ("removed", &[], shown, SETTLED, true),
        ("removed, and the record shows none", &[], hidden, SETTLED, true),
        (
            "removed, and another policy shows",
            &[],
            Some(with_policy(&[(RETRY_STRATEGY, "immediate")]).1),
            SETTLED,
            false,
        ),
    ];
    for (input, members, values, expected, stays) in cases {
        let mut fixture = live();
        let (sent, _) = with_policy(&BACKOFF);
        fixture.applied().digest = Some(sent.payload.digest);
        fixture.applied().sent = Some(sent.payload.tags);
        fixture.intent.correct_drift = true;
        observed(&mut fixture).values = values.expect("the record shows values");
        wants(&mut fixture, with_policy(members).0);
        let decision = fixture.decide();
        assert_eq!((does(&decision), stored(&decision.persisted), decision.outcome), expected, "{input}");
        let retained = decision.persisted.applied.expect("something was applied").retained;
        assert_eq!(retained.has(&Item::retry_policy("service", RETRY_STRATEGY)), stays, "{input}");
    }
}

#[test]
fn rule_8_a_retry_policy_that_stays_does_not_turn_a_removed_value_into_a_change() {
    let mut fixture = live();
    let (sent, values) = with_policy(&[(RETRY_STRATEGY, "immediate")]);
    fixture.applied().digest = Some(sent.payload.digest.clone());
    fixture.applied().sent = Some(sent.payload.tags.clone());
    observed(&mut fixture).values = values;
    let mut wanted = sent;
    wanted.payload.tags.retain(|item, _| *item != b());
    wanted.payload.digest = Digest::parse("key:without-b");
    wants(&mut fixture, wanted);
    let decision = fixture.decide();
    assert_eq!((does(&decision), stored(&decision.persisted), decision.outcome), SETTLED);
}

#[test]
fn rule_8_a_value_that_is_desired_again_only_while_suspended_is_retained_afterwards() {
    let another = wanting(&[("A", "9"), ("B", "2")], &[("T", "secret"), ("U", "other")]);
    for (case, meanwhile) in [("as it was", all()), ("and another value changes", another)] {
        let mut fixture = live();
        noted(&mut fixture);
        assert!(retained(&fixture).has(&b()), "{case}");
        fixture.intent.suspended = true;
        wants(&mut fixture, meanwhile);
        fixture.persisted = fixture.decide().persisted;
        assert!(!retained(&fixture).has(&b()), "{case}: it is desired");
        fixture.intent.suspended = false;
        wants(&mut fixture, without_b());
        fixture.persisted = fixture.decide().persisted;
        assert!(retained(&fixture).has(&b()), "{case}");
        assert_eq!(fixture.decide().outcome, Outcome::Settled { phase: Phase::Deployed, drifted: false }, "{case}");
        wants(&mut fixture, all());
        assert_eq!(does(&fixture.decide()), Does::Rest, "{case}: it is still there");
    }
}
