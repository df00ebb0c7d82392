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
    assert_eq!(world.keys.begin(&theirs, &place(), Beginning::Create), Standing::Unknown);
    assert_eq!(world.keys.begin(&mine, &place(), Beginning::TakeOver("1")), Standing::First);
    world.woken();
    // An answer to credentials for another remote project says nothing of this one.
    let evil = Subject::project("evil", "shop");
    world.keys.admitted(&evil, &RemoteIdentity { project_key: "theirs".into(), ..remote.clone() }, true);
    assert_eq!(world.keys.begin(&theirs, &place(), Beginning::Create), Standing::Unknown);

    assert_eq!(world.keys.standing(&theirs), after("two"), "whoever claims nothing is after all who do");

    world.keys.admitted(&evil, &remote, true);
    assert_eq!(world.woken(), ["one", "two"], "who asked too early, and who has a rival now");
    assert_eq!(world.keys.begin(&theirs, &place(), Beginning::Create), after("two"), "it has begun");
    world.keys.admitted(&evil, &remote, false);
    world.woken();
    world.keys.saw(&resource("two", 3, &json!({"spec": {"managementPolicy": "ObserveOnly"}})));
    assert!(world.woken().contains(&"one".to_owned()), "whoever claims nothing waits for the others too");
    world.keys.admitted(&evil, &remote, true);
    // Its credentials are gone, but not what it owns.
    let owner = resource("one", 5, &{
        let mut owning = owning("2");
        owning["metadata"] = json!({"namespace": "evil"});
        owning
    });
    let third = resource("three", 6, &json!({}));
    world.keys.saw(&owner);
    world.keys.saw(&third);
    world.keys.gone(&subject("two"));
    world.keys.admitted(&evil, &remote, false);
    assert!(matches!(world.keys.standing(&third), Standing::After(winner) if winner.namespace == "evil"));
}

#[test]
fn rule_4_an_annotation_decides_only_over_the_deployment_that_it_names() {
    let mut world = World::new();
    let annotated = resource("two", 2, &json!({"metadata": {"annotations": {names::REMOTE_ID: "1"}}}));
    let plain = resource("one", 1, &json!({}));
    world.keys.saw(&plain);
    world.keys.saw(&annotated);
    assert_eq!(world.keys.standing(&annotated), Standing::First, "it may look whether that is there");
    assert_eq!(world.keys.standing(&plain), Standing::First);
    assert_eq!(world.keys.begin(&annotated, &place(), Beginning::Create), after("one"), "it is not");
    assert_eq!(world.keys.begin(&annotated, &place(), Beginning::TakeOver("2")), after("one"), "another one is");
    assert_eq!(world.keys.begin(&plain, &place(), Beginning::TakeOver("1")), after("two"));
    world.woken();
    let without = resource("two", 3, &json!({}));
    world.keys.saw(&without);
    assert!(world.woken().contains(&"one".to_owned()), "who gave way to it");
    assert_eq!(world.keys.begin(&plain, &place(), Beginning::TakeOver("1")), Standing::First);
}
