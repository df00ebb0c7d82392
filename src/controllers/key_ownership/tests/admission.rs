//! Claims without credentials, and invented annotations.

use super::*;

#[test]
fn rule_4_a_project_whose_remote_has_not_answered_claims_nothing() {
    let mut world = World::new();
    world.keys.saw(&project("evil", "shop", "demo"));
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
    world.keys.saw(&project("shop", "shop", "demo"));
    let one = resource("one", 1, &json!({}));
    world.keys.saw(&one);
    assert_eq!(world.keys.begin(&one, &place(), ClaimReason::Create), ClaimStatus::Owner);
}

#[test]
fn rule_4_who_asked_before_the_lists_is_enqueued_once_they_are_complete_and_its_project_is_admitted() {
    for lists_first in [true, false] {
        let mut world = World::empty(1);
        let one = resource("one", 1, &json!({}));
        world.keys.saw(&project("shop", "shop", "demo"));
        world.keys.saw(&one);
        if lists_first {
            world.keys.listed();
        }
        assert_eq!(world.keys.begin(&one, &place(), ClaimReason::Create), ClaimStatus::Unknown, "{lists_first}");
        world.keys.saw(&project("shop", "shop", "other"));
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

#[test]
fn rule_29_a_resource_claims_a_key_through_a_shared_project_only_from_a_namespace_that_may_use_it() {
    let mut world = World::new();
    let project: ClusterConnectProject = serde_json::from_value(json!({
        "apiVersion": "connect-operator.io/v1alpha1",
        "kind": "ClusterConnectProject",
        "metadata": {"name": "shared"},
        "spec": {"projectKey": "demo", "region": "europe-west1.gcp", "credentialsSecretRef": {"name": "shop"}},
    }))
    .expect("a project");
    let shared = ObjectRef::cluster_project("shared");
    world.keys.saw(&project);
    world.keys.admitted(&shared, &place().remote, true);
    let older = json!({"metadata": {"namespace": "team", "creationTimestamp": "2025-01-01T00:00:00Z"},
        "spec": {"projectRef": {"kind": "ClusterConnectProject", "name": "shared"}}});
    let (theirs, mine) = (resource("one", 1, &older), resource("two", 2, &json!({})));
    world.keys.saw(&theirs);
    world.keys.saw(&mine);
    let held_by_theirs = |world: &World| matches!(world.keys.claim_status(&mine), ClaimStatus::HeldBy(winner) if winner.namespace == "team");
    assert_eq!(world.keys.claim_status(&mine), ClaimStatus::Owner, "the older one may not use the project");
    world.enqueued();
    world.keys.allow(&shared, ["team".to_owned()].into());
    assert_eq!(world.enqueued(), ["one", "two"]);
    assert!(held_by_theirs(&world));
    world.keys.allow(&shared, ["another".to_owned()].into());
    assert_eq!(world.enqueued(), ["one", "two"]);
    assert_eq!(world.keys.claim_status(&mine), ClaimStatus::Owner);
    assert!(!world.keys.holds(&theirs_ref()));
    // What it owns stays its own.
    let mut owner = owning("1");
    merge(&mut owner, &older);
    world.keys.saw(&resource("one", 3, &owner));
    assert!(held_by_theirs(&world) && world.keys.holds(&theirs_ref()));
    world.keys.gone(&theirs_ref());
    world.keys.gone(&shared);
    let index = world.keys.index.lock();
    assert!(index.allowed.is_empty() && !index.projects.contains_key(&shared), "nothing is kept: {index:?}");
}

fn theirs_ref() -> ObjectRef {
    ObjectRef::deployment("team", "one")
}

#[test]
fn a_resource_that_is_gone_before_everything_is_listed_is_not_enqueued() {
    let mut world = World::empty(1);
    let one = resource("one", 1, &json!({}));
    world.admit("shop", "shop", "demo");
    world.keys.saw(&one);
    assert_eq!(world.keys.claim_status(&one), ClaimStatus::Unknown);
    world.keys.gone(&object_ref("one"));
    world.keys.listed();
    assert_eq!(world.enqueued(), Vec::<String>::new());
}
