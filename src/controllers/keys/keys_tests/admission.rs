//! Claims without credentials, and invented annotations.

use super::*;

#[test]
fn rule_4_a_project_whose_remote_has_not_answered_claims_nothing() {
    let mut world = World::new();
    world.keys.saw_project(&project("evil", "shop", "demo"));
    let remote = place().remote;
    let theirs =
        resource("one", 1, &json!({"metadata": {"namespace": "evil", "annotations": {names::REMOTE_ID: "1"}}}));
    let mine = resource("two", 2, &json!({}));
    world.keys.saw(&theirs);
    world.keys.saw(&mine);
    assert_eq!(world.keys.begin(&theirs, &place(), ClaimReason::Create), ClaimStatus::Unknown);
    assert_eq!(world.keys.begin(&mine, &place(), ClaimReason::TakeOver("1")), ClaimStatus::Owner);
    world.enqueued();
    // An answer to credentials for another remote project proves nothing about this one.
    let evil = ObjectRef::project("evil", "shop");
    world.keys.admitted(&evil, &RemoteIdentity { project_key: "theirs".into(), ..remote.clone() }, true);
    assert_eq!(world.keys.begin(&theirs, &place(), ClaimReason::Create), ClaimStatus::Unknown);

    assert_eq!(
        world.keys.claim_status(&theirs),
        after("two"),
        "a resource that claims nothing ranks after all that do"
    );

    world.keys.admitted(&evil, &remote, true);
    assert_eq!(world.enqueued(), ["one", "two"], "the one that asked too early, and the one with a new rival");
    assert_eq!(world.keys.begin(&theirs, &place(), ClaimReason::Create), after("two"), "it has begun");
    world.keys.admitted(&evil, &remote, false);
    world.enqueued();
    world.keys.saw(&resource("two", 3, &json!({"spec": {"managementPolicy": "ObserveOnly"}})));
    assert!(world.enqueued().contains(&"one".to_owned()), "a resource that claims nothing waits for the others too");
    world.keys.admitted(&evil, &remote, true);
    // It loses its credentials, but not what it owns.
    let owner = resource("one", 5, &{
        let mut owning = owning("2");
        owning["metadata"] = json!({"namespace": "evil"});
        owning
    });
    let third = resource("three", 6, &json!({}));
    world.keys.saw(&owner);
    world.keys.saw(&third);
    world.keys.gone(&object_ref("two"));
    world.keys.admitted(&evil, &remote, false);
    assert!(matches!(world.keys.claim_status(&third), ClaimStatus::HeldBy(winner) if winner.namespace == "evil"));
}

#[test]
fn rule_4_a_project_that_a_watch_shows_again_stays_admitted() {
    let world = World::new();
    world.keys.saw_project(&project("shop", "shop", "demo"));
    let one = resource("one", 1, &json!({}));
    world.keys.saw(&one);
    assert_eq!(world.keys.begin(&one, &place(), ClaimReason::Create), ClaimStatus::Owner);
}

#[test]
fn rule_4_who_asked_before_the_lists_is_enqueued_once_they_are_complete_and_its_project_is_admitted() {
    for lists_first in [true, false] {
        let mut world = World::empty(1);
        let one = resource("one", 1, &json!({}));
        world.keys.saw_project(&project("shop", "shop", "demo"));
        world.keys.saw(&one);
        if lists_first {
            world.keys.listed();
        }
        assert_eq!(world.keys.begin(&one, &place(), ClaimReason::Create), ClaimStatus::Unknown, "{lists_first}");
        world.keys.saw_project(&project("shop", "shop", "other"));
        assert!(world.enqueued().is_empty(), "{lists_first}: its remote has not answered");
        world.admit("shop", "shop", "demo");
        assert_eq!(world.enqueued().is_empty(), !lists_first, "{lists_first}: the lists may contain a stronger claim");
        world.keys.listed();
        assert_eq!(world.enqueued().is_empty(), lists_first, "{lists_first}: enqueued once");
    }
}

#[test]
fn rule_4_an_annotation_decides_only_over_the_deployment_that_it_names() {
    let mut world = World::new();
    let annotated = resource("two", 2, &json!({"metadata": {"annotations": {names::REMOTE_ID: "1"}}}));
    let plain = resource("one", 1, &json!({}));
    world.keys.saw(&plain);
    world.keys.saw(&annotated);
    assert_eq!(world.keys.claim_status(&annotated), ClaimStatus::Owner, "it may read whether that deployment exists");
    assert_eq!(world.keys.claim_status(&plain), ClaimStatus::Owner);
    assert_eq!(world.keys.begin(&annotated, &place(), ClaimReason::Create), after("one"), "it does not exist");
    assert_eq!(world.keys.begin(&annotated, &place(), ClaimReason::TakeOver("2")), after("one"), "another one exists");
    assert_eq!(world.keys.begin(&plain, &place(), ClaimReason::TakeOver("1")), after("two"));
    world.enqueued();
    let without = resource("two", 3, &json!({}));
    world.keys.saw(&without);
    assert!(world.enqueued().contains(&"one".to_owned()), "the one that yielded to it");
    assert_eq!(world.keys.begin(&plain, &place(), ClaimReason::TakeOver("1")), ClaimStatus::Owner);
}
