//! Rule 8: a redeploy merges, so a value that is no longer desired stays, is remembered, and causes no redeploy by
//! itself.

use std::collections::BTreeMap;

use super::build::{Does, Fixture, Row, SETTLED, Stored, check, does, gathered, stored, visible, wanting};
use crate::controllers::connector_deployment::decide::{DesiredPayload, Outcome};
use crate::controllers::connector_deployment::declared::{Declared, DeclaredKeys};
use crate::controllers::connector_deployment::persisted::{
    Observation, ObservedDeployment, OperationKind, Payload, Phase,
};
use crate::controllers::digest::Digest;
use crate::controllers::tags::{FOREIGN, GLOBAL, Item, Tags, UNKNOWN};
use crate::controllers::values::{RETRY_STRATEGY, VisibleValues};

const REDEPLOY: OperationKind = OperationKind::Redeploy;
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
    let mut scene = Fixture::live();
    scene.applied().digest = Some(all().payload.digest);
    scene.applied().sent = Some(all().payload.tags);
    let observed = scene.sees(Phase::Deployed);
    observed.values = visible(&[("A", "1"), ("B", "2")]);
    observed.secured.insert(("service".to_owned(), "U".to_owned()));
    wants(&mut scene, all());
    scene
}

pub(super) fn wants(scene: &mut Fixture, wanted: DesiredPayload) {
    scene.wanted = Some(wanted);
    gathered(scene);
}

pub(super) fn observed(scene: &mut Fixture) -> &mut ObservedDeployment {
    let Observation::Present(observed) = &mut scene.observation else { panic!("the deployment exists") };
    observed
}

pub(super) fn without_b() -> DesiredPayload {
    wanting(&[("A", "1")], &[("T", "secret"), ("U", "other")])
}

pub(super) fn without_u() -> DesiredPayload {
    wanting(&[("A", "1"), ("B", "2")], &[("T", "secret")])
}

/// `B` was removed some time ago, and this was noted.
pub(super) fn noted(scene: &mut Fixture) {
    wants(scene, without_b());
    scene.persisted = scene.decide().persisted;
}

fn retained(scene: &Fixture) -> Tags {
    scene.decide().persisted.applied.expect("something was applied").retained
}

#[test]
fn rule_8_only_a_change_that_has_an_effect_at_the_remote_is_sent() {
    let rows: &[Row] = &[
        ("nothing is removed", |_| {}, SETTLED),
        ("a plain value is removed", |scene| wants(scene, without_b()), SETTLED),
        ("a secured value is removed", |scene| wants(scene, without_u()), SETTLED),
        (
            "the values are the same, and what was sent was not",
            |scene| {
                let digest = wanting(&[], &[]).payload.digest;
                wants(scene, DesiredPayload { payload: Payload { digest, ..all().payload }, ..all() });
            },
            SENT,
        ),
        ("everything is removed", |scene| wants(scene, wanting(&[], &[])), SETTLED),
        ("one is removed, and another changes", |scene| wants(scene, wanting(&[("A", "9")], &[("T", "secret")])), SENT),
        ("one is removed, and a secret changes", |scene| wants(scene, wanting(&[("A", "1")], &[("T", "new")])), SENT),
        (
            "one is removed, and it is set to its default",
            |scene| wants(scene, wanting(&[("A", "1"), ("B", "default")], &[("T", "secret"), ("U", "other")])),
            SENT,
        ),
        (
            "one is removed, and a redeploy is requested",
            |scene| {
                scene.intent.redeploy_request = Some("now".into());
                wants(scene, without_b());
            },
            SENT,
        ),
        (
            "after a failure, too",
            |scene| {
                scene.applied().outcome = Phase::Failed;
                wants(scene, without_b());
            },
            SETTLED,
        ),
        (
            "what was sent is not known",
            |scene| {
                scene.applied().sent = None;
                wants(scene, without_b());
            },
            SENT,
        ),
        (
            "desired again as it was",
            |scene| {
                noted(scene);
                wants(scene, all());
            },
            SETTLED,
        ),
        (
            "desired again with another value",
            |scene| {
                noted(scene);
                wants(scene, wanting(&[("A", "1"), ("B", "9")], &[("T", "secret"), ("U", "other")]));
            },
            SENT,
        ),
        (
            "desired again as it was, and somebody changed it meanwhile",
            |scene| {
                noted(scene);
                wants(scene, all());
                observed(scene).values = visible(&[("A", "1"), ("B", "9")]);
            },
            SENT,
        ),
        (
            "somebody changed a retained value: no drift",
            |scene| {
                noted(scene);
                scene.intent.correct_drift = true;
                observed(scene).values = visible(&[("A", "1"), ("B", "9")]);
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
            |scene| {
                scene.applied().sent.as_mut().expect("what was sent is known").set(Item::standard(GLOBAL, "G"), "tag");
                scene.applied().digest = Some(wanting(&[("X", "")], &[]).payload.digest);
                observed(scene).values.global.insert("G".into(), "shown".into());
            },
            &["globalConfiguration/G"],
        ),
        ("a plain value is removed", |scene| wants(scene, without_b()), &["service/B"]),
        ("a secured value is removed", |scene| wants(scene, without_u()), &["service/U (secured)"]),
        (
            "the record no longer shows a plain value",
            |scene| {
                noted(scene);
                observed(scene).values = visible(&[("A", "1")]);
            },
            &[],
        ),
        (
            "the record lists secured keys, and no longer this one",
            |scene| {
                wants(scene, without_u());
                scene.persisted = scene.decide().persisted;
                observed(scene).secured = [("service".to_owned(), "T".to_owned())].into();
            },
            &[],
        ),
        (
            "the record lists no secured keys at all",
            |scene| {
                wants(scene, without_u());
                observed(scene).secured.clear();
            },
            &["service/U (secured)"],
        ),
        (
            "desired again",
            |scene| {
                noted(scene);
                wants(scene, all());
            },
            &[],
        ),
        (
            "its application is gone",
            |scene| {
                noted(scene);
                observed(scene).values.applications.clear();
            },
            &[],
        ),
        (
            "a schedule is removed",
            |scene| {
                let mut with = visible(&[("A", "1"), ("B", "2")]);
                with.applications.get_mut("service").expect("the application exists").schedule =
                    Some("0 5 * * *".into());
                let tag = Tags::visible(&with).get(&Item::schedule("service")).expect("a schedule").to_owned();
                scene.applied().sent.as_mut().expect("what was sent is known").set(Item::schedule("service"), tag);
                observed(scene).values = with;
            },
            &["service (schedule)"],
        ),
    ];
    for (input, change, expected) in cases {
        let mut scene = live();
        change(&mut scene);
        if input == "a schedule is removed" {
            scene.applied().digest = Some(wanting(&[("X", "")], &[]).payload.digest);
        }
        let names: Vec<_> = retained(&scene).iter().map(|(item, _)| item.to_string()).collect();
        assert_eq!(names, expected, "{input}");
        let next = Fixture { persisted: scene.decide().persisted, ..scene.clone() };
        assert_eq!(next.decide().persisted, next.persisted, "{input}: written once");
    }
}

#[test]
fn rule_8_values_of_other_clients_are_reported_too_but_no_defaults() {
    let mut scene = live();
    let keys = DeclaredKeys {
        standard: ["A", "B", "C", "D", "E"].map(str::to_owned).into(),
        secured: ["T", "U", "V"].map(str::to_owned).into(),
        defaults: BTreeMap::from([("D".to_owned(), "default".to_owned())]),
        ..DeclaredKeys::default()
    };
    let observed = observed(&mut scene);
    observed.declared =
        Some(Declared { applications: [("service".to_owned(), keys)].into(), global: DeclaredKeys::default() });
    observed.values = visible(&[("A", "1"), ("B", "2"), ("C", "3"), ("D", "default"), ("Z", "not declared")]);
    observed.secured.insert(("service".to_owned(), "V".to_owned()));
    let found = retained(&scene);
    let names: Vec<_> = found.iter().map(|(item, tag)| (item.to_string(), tag.to_owned())).collect();
    assert_eq!(names, [("service/V (secured)".into(), FOREIGN.into()), ("service/C".to_owned(), FOREIGN.to_owned())]);
}

#[test]
fn rule_8_values_that_a_given_up_operation_may_have_sent_are_not_forgotten() {
    let mut scene = live();
    wants(&mut scene, wanting(&[("A", "2"), ("B", "2"), ("C", "3")], &[("T", "secret"), ("U", "other")]));
    let begun = scene.decide();
    (scene.persisted, scene.transient) = (begun.persisted, begun.transient);
    scene.aged(120);
    let shown = scene.sees(Phase::Deployed);
    (shown.version, shown.values) = (9, visible(&[("A", "7"), ("B", "2"), ("C", "3")]));
    scene.wanted = Some(all());
    let given_up = scene.decide().persisted;
    assert_eq!(given_up.operation.as_ref().map(|operation| operation.kind), None, "{given_up:#?}");
    let applied = given_up.applied.expect("the applied state is kept");
    assert_eq!(applied.digest, None);
    assert_eq!(applied.retained.get(&Item::standard("service", "C")), Some(UNKNOWN));
    assert!(!applied.retained.has(&b()), "it was sent before");
}

#[test]
fn rule_8_a_redeploy_for_another_reason_retains_removed_values() {
    let mut scene = live();
    wants(&mut scene, wanting(&[("A", "9")], &[("T", "secret")]));
    let begun = scene.decide();
    (scene.persisted, scene.transient) = (begun.persisted, begun.transient);
    let operation = scene.accepted().aged(100).operation();
    assert!(operation.changes_visible);
    operation.seen_busy = true;
    let observed = scene.sees(Phase::Deployed);
    (observed.version, observed.values) = (6, visible(&[("A", "9"), ("B", "2")]));
    observed.secured.insert(("service".to_owned(), "U".to_owned()));
    let ended = scene.decide();
    assert_eq!(ended.outcome, SETTLED.2);
    let applied = ended.persisted.applied.expect("the operation has ended");
    assert!(applied.retained.has(&b()) && applied.retained.has(&u()));
    assert_eq!(applied.at, super::build::NOW);
    scene.persisted.applied = Some(applied);
    scene.persisted.operation = None;
    scene.transient.change = None;
    assert_eq!(scene.decide_at(super::build::NOW).outcome, SETTLED.2);
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
        let mut scene = live();
        let (sent, _) = with_policy(&BACKOFF);
        scene.applied().digest = Some(sent.payload.digest);
        scene.applied().sent = Some(sent.payload.tags);
        scene.intent.correct_drift = true;
        observed(&mut scene).values = values.expect("the record shows values");
        wants(&mut scene, with_policy(members).0);
        let decision = scene.decide();
        assert_eq!((does(&decision), stored(&decision.persisted), decision.outcome), expected, "{input}");
        let retained = decision.persisted.applied.expect("something was applied").retained;
        assert_eq!(retained.has(&Item::retry_policy("service", RETRY_STRATEGY)), stays, "{input}");
    }
}

#[test]
fn rule_8_a_retry_policy_that_stays_does_not_turn_a_removed_value_into_a_change() {
    let mut scene = live();
    let (sent, values) = with_policy(&[(RETRY_STRATEGY, "immediate")]);
    scene.applied().digest = Some(sent.payload.digest.clone());
    scene.applied().sent = Some(sent.payload.tags.clone());
    observed(&mut scene).values = values;
    let mut wanted = sent;
    wanted.payload.tags.retain(|item, _| *item != b());
    wanted.payload.digest = Digest::parse("key:without-b");
    wants(&mut scene, wanted);
    let decision = scene.decide();
    assert_eq!((does(&decision), stored(&decision.persisted), decision.outcome), SETTLED);
}

#[test]
fn rule_8_a_value_that_is_desired_again_only_while_suspended_is_retained_afterwards() {
    let another = wanting(&[("A", "9"), ("B", "2")], &[("T", "secret"), ("U", "other")]);
    for (case, meanwhile) in [("as it was", all()), ("and another value changes", another)] {
        let mut scene = live();
        noted(&mut scene);
        assert!(retained(&scene).has(&b()), "{case}");
        scene.intent.suspended = true;
        wants(&mut scene, meanwhile);
        scene.persisted = scene.decide().persisted;
        assert!(!retained(&scene).has(&b()), "{case}: it is desired");
        scene.intent.suspended = false;
        wants(&mut scene, without_b());
        scene.persisted = scene.decide().persisted;
        assert!(retained(&scene).has(&b()), "{case}");
        assert_eq!(scene.decide().outcome, Outcome::Settled { phase: Phase::Deployed, drifted: false }, "{case}");
        wants(&mut scene, all());
        assert_eq!(does(&scene.decide()), Does::Rest, "{case}: it is still there");
    }
}
