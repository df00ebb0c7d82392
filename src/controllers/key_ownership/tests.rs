//! Who owns a key, over orders of events: resources that appear together, late, again, or move.

use kube::api::ObjectMeta;
use kube::core::error_boundary::InvalidObject;
use serde_json::{Value, json};
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::*;
use crate::controllers::objects::guarded::Guarded;
use crate::crd::{ClusterConnectProject, ConnectProject, ConnectorDeployment, ConnectorStaged};
use crate::names;

mod admission;
mod interleavings;

struct World {
    keys: KeyOwnership,
    enqueued: UnboundedReceiver<ObjectRef>,
}

/// A resource that claims the key `tax-eu`, with `change` merged over it.
fn resource(name: &str, version: u64, change: &Value) -> ConnectorDeployment {
    let mut whole = json!({
        "apiVersion": "connect-operator.io/v1alpha1",
        "kind": "ConnectorDeployment",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": format!("uid-of-{name}"),
            "resourceVersion": version.to_string(),
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"projectRef": {"name": "shop"}, "connector": {"key": "demo"}, "key": "tax-eu"},
    });
    merge(&mut whole, change);
    serde_json::from_value(whole).expect("a resource")
}

fn merge(into: &mut Value, change: &Value) {
    match (into, change) {
        (Value::Object(into), Value::Object(change)) => {
            for (name, value) in change {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, change) => *into = change.clone(),
    }
}

fn project(namespace: &str, name: &str, key: &str) -> ConnectProject {
    serde_json::from_value(json!({
        "apiVersion": "connect-operator.io/v1alpha1",
        "kind": "ConnectProject",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"projectKey": key, "region": "europe-west1.gcp", "credentialsSecretRef": {"name": "shop"}},
    }))
    .expect("a project")
}

fn place() -> RemoteKey {
    let api_url = "https://connect.europe-west1.gcp.commercetools.com".into();
    RemoteKey {
        kind: Kind::Deployment,
        remote: RemoteIdentity { api_url, project_key: "demo".into() },
        key: "tax-eu".into(),
    }
}

fn object_ref(name: &str) -> ObjectRef {
    ObjectRef::deployment("shop", name)
}

fn after(name: &str) -> ClaimStatus {
    ClaimStatus::HeldBy(object_ref(name))
}

fn operating() -> Value {
    let operation = json!({"type": "Create", "state": "Planned", "attempt": 1, "generation": 1,
        "startedAt": "2026-01-01T00:00:01Z"});
    json!({"status": {"observedGeneration": 1, "state": json!({"v": 1, "operation": operation}).to_string()}})
}

fn observed(mut change: Value) -> Value {
    change["spec"] = json!({"managementPolicy": "ObserveOnly"});
    change
}

fn owning(id: &str) -> Value {
    json!({"status": {"observedGeneration": 1, "id": id, "remote": {"apiUrl": place().remote.api_url, "projectKey": "demo"}}})
}

impl World {
    /// All lists are complete, and the project `shop` exists.
    fn new() -> Self {
        let world = Self::empty(0);
        world.admit("shop", "shop", "demo");
        world
    }

    /// A project exists, and its remote has answered.
    fn admit(&self, namespace: &str, name: &str, key: &str) {
        self.keys.saw(&project(namespace, name, key));
        let remote = RemoteIdentity { project_key: key.into(), ..place().remote };
        self.keys.admitted(&ObjectRef::project(namespace, name), &remote, true);
    }

    fn empty(lists: usize) -> Self {
        let (enqueue, enqueued) = mpsc::unbounded_channel();
        Self { keys: KeyOwnership::new(lists, enqueue), enqueued }
    }

    /// A watch shows an object that cannot be deserialized.
    fn saw_unreadable(&self, object_ref: &ObjectRef) {
        let metadata = ObjectMeta {
            namespace: Some(object_ref.namespace.clone()),
            name: Some(object_ref.name.clone()),
            ..ObjectMeta::default()
        };
        let invalid = InvalidObject { error: "no such field".to_owned(), metadata };
        match object_ref.kind {
            Kind::Staged => self.keys.saw(&Guarded::<ConnectorStaged>(Err(invalid))),
            _ => self.keys.saw(&Guarded::<ConnectorDeployment>(Err(invalid))),
        }
    }

    /// Names of the resources enqueued since the last time.
    fn enqueued(&mut self) -> Vec<String> {
        let mut enqueued = BTreeSet::new();
        while let Ok(object_ref) = self.enqueued.try_recv() {
            enqueued.insert(object_ref.name.clone());
        }
        enqueued.into_iter().collect()
    }
}

#[test]
fn rule_4_a_single_claimant_is_the_owner_and_is_not_enqueued_for_it() {
    let mut world = World::new();
    let one = resource("one", 1, &json!({}));
    world.keys.saw(&one);
    assert_eq!(world.keys.claim_status(&one), ClaimStatus::Owner);
    assert_eq!(world.keys.begin(&one, &place(), ClaimReason::Create), ClaimStatus::Owner);
    let written = resource("one", 2, &operating());
    world.keys.wrote(&written);
    world.keys.saw(&written);
    assert_eq!(world.keys.claim_status(&written), ClaimStatus::Owner);
    assert!(world.enqueued().is_empty());
    world.keys.gone(&object_ref("one"));
    world.keys.gone(&ObjectRef::project("shop", "shop"));
    let index = world.keys.index.lock();
    let empty = index.entries.is_empty() && index.places.is_empty() && index.users.is_empty();
    assert!(empty && index.projects.is_empty(), "nothing is kept of deleted objects: {index:?}");
}

/// Any user can create many resources with one key, and the watches wait while each event is recorded.
#[test]
fn many_claims_on_one_key_cost_little_each() {
    const MANY: usize = 400;
    let world = World::new();
    let annotated = |number: usize| json!({"metadata": {"annotations": {names::REMOTE_ID: number.to_string()}}});
    let resources =
        |version| (0..MANY).map(move |number| resource(&format!("tax-{number}"), version, &annotated(number)));
    resources(1).for_each(|object| world.keys.saw(&object));
    let ranked = || claim::RANKED.replace(0);
    ranked();
    resources(2).for_each(|object| world.keys.saw(&object));
    assert_eq!(ranked(), 0, "another version alone changes no claim");
    world.keys.saw(&resource("one-more", 3, &annotated(MANY)));
    let most = 2 * 6 * (MANY + 1);
    let one_more = ranked();
    assert!((MANY..=most).contains(&one_more), "{one_more}");
    // The project is no longer admitted, and admitted again.
    for admits in [false, true] {
        world.keys.admitted(&ObjectRef::project("shop", "shop"), &place().remote, admits);
        let all = ranked();
        assert!((MANY..=most).contains(&all), "{all}");
    }
}

/// One of two lists is complete, and a resource of it has asked for its claim status.
fn half_listed() -> (World, ConnectorDeployment) {
    let world = World::empty(2);
    let one = resource("two", 1, &json!({}));
    world.admit("shop", "shop", "demo");
    world.keys.saw(&one);
    world.keys.listed();
    assert_eq!(world.keys.claim_status(&one), ClaimStatus::Unknown);
    (world, one)
}

#[test]
fn rule_4_a_refused_list_allows_creating_but_not_taking_over() {
    let (mut world, one) = half_listed();
    world.keys.refused();
    assert_eq!((world.enqueued(), world.keys.claim_status(&one)), (vec!["two".to_owned()], ClaimStatus::Owner));
    assert_eq!(world.keys.begin(&one, &place(), ClaimReason::TakeOver("1")), ClaimStatus::Unlisted);
    assert_eq!(world.keys.begin(&one, &place(), ClaimReason::Create), ClaimStatus::Owner);
    world.enqueued();
    world.keys.listed_at_last();
    assert_eq!(world.enqueued(), ["two"], "the one that could not take over");
    assert_eq!(world.keys.begin(&one, &place(), ClaimReason::TakeOver("1")), ClaimStatus::Owner);
}

/// After a rollback: the newer version wrote what this one does not understand.
#[test]
fn rule_4_nothing_is_taken_over_while_a_resource_is_not_understood_that_may_own_it() {
    for (case, recorded, of_kind, end) in [
        ("it is valid again", false, Kind::Deployment, true),
        ("it is deleted", false, Kind::Deployment, false),
        ("its key is known from before", true, Kind::Deployment, true),
        ("another kind", false, Kind::Staged, true),
    ] {
        let mut world = World::new();
        let (one, other) = (resource("two", 1, &json!({})), json!({"spec": {"key": "other"}}));
        world.keys.saw(&one);
        let unreadable = ObjectRef::new(of_kind, &object_ref("one").namespace, "one");
        if recorded {
            world.keys.saw(&resource("one", 2, &other));
        }
        world.saw_unreadable(&unreadable);
        let begin = || world.keys.begin(&one, &place(), ClaimReason::TakeOver("1"));
        if recorded || of_kind == Kind::Staged {
            assert_eq!(begin(), ClaimStatus::Owner, "{case}");
            continue;
        }
        assert_eq!(begin(), ClaimStatus::Unlisted, "{case}");
        world.enqueued();
        // One of another kind stays.
        world.saw_unreadable(&ObjectRef::new(Kind::Staged, &unreadable.namespace, &unreadable.name));
        assert_eq!(world.keys.object_refs(Kind::Deployment), [object_ref("two"), unreadable.clone()], "{case}");
        if end {
            world.keys.saw(&resource("one", 3, &other));
        } else {
            world.keys.gone(&unreadable);
        }
        assert_eq!(world.enqueued(), ["two"], "{case}");
        assert_eq!(world.keys.begin(&one, &place(), ClaimReason::TakeOver("1")), ClaimStatus::Owner, "{case}");
    }
}

#[test]
fn rule_4_there_is_no_owner_before_all_lists_are_complete() {
    let (mut world, one) = half_listed();
    // The other list completes late, and contains a stronger claim.
    world.keys.saw(&resource("one", 2, &json!({})));
    world.enqueued();
    world.keys.listed();
    assert_eq!(world.enqueued(), ["two"], "the one that asked too early");
    assert_eq!(world.keys.claim_status(&one), after("one"));
    world.keys.listed();
    assert!(world.enqueued().is_empty(), "a later list changes nothing");
}

#[test]
fn rule_4_of_two_that_appear_together_one_begins_whatever_the_order() {
    for (case, first, second) in [("the stronger first", "one", "two"), ("the weaker first", "two", "one")] {
        let mut world = World::new();
        let early = resource(first, 1, &json!({}));
        let late = resource(second, 2, &json!({}));
        world.keys.saw(&early);
        assert_eq!(world.keys.claim_status(&early), ClaimStatus::Owner, "{case}");
        assert_eq!(world.keys.begin(&early, &place(), ClaimReason::Create), ClaimStatus::Owner, "{case}");
        // The write is not visible yet, and the other resource appears.
        world.keys.saw(&late);
        assert_eq!(world.keys.claim_status(&late), after(first), "{case}");
        assert_eq!(world.keys.begin(&late, &place(), ClaimReason::Create), after(first), "{case}");
        world.keys.wrote(&resource(first, 3, &operating()));
        assert_eq!(world.keys.begin(&late, &place(), ClaimReason::Create), after(first), "{case}");
        world.keys.wrote(&resource(first, 4, &owning("1")));
        assert_eq!(world.keys.claim_status(&late), after(first), "{case}");
        world.enqueued();
        world.keys.gone(&object_ref(first));
        assert_eq!(world.enqueued(), [second], "{case}: it continues without another event");
        assert_eq!(world.keys.claim_status(&late), ClaimStatus::Owner, "{case}");
    }
}

#[test]
fn rule_4_both_may_have_asked_before_one_begins() {
    let world = World::new();
    let (one, two) = (resource("one", 1, &json!({})), resource("two", 2, &json!({})));
    world.keys.saw(&two);
    assert_eq!(world.keys.claim_status(&two), ClaimStatus::Owner);
    world.keys.saw(&one);
    assert_eq!(world.keys.claim_status(&one), ClaimStatus::Owner);
    assert_eq!(
        world.keys.begin(&two, &place(), ClaimReason::Create),
        after("one"),
        "the check repeats atomically with the announcement"
    );
    assert_eq!(world.keys.begin(&one, &place(), ClaimReason::Create), ClaimStatus::Owner);
}

#[test]
fn rule_4_the_next_reconcile_withdraws_an_announcement_without_a_write() {
    let mut world = World::new();
    let (one, two) = (resource("one", 1, &json!({})), resource("two", 2, &json!({})));
    world.keys.saw(&two);
    assert_eq!(world.keys.begin(&two, &place(), ClaimReason::Create), ClaimStatus::Owner);
    world.keys.saw(&one);
    assert_eq!(world.keys.claim_status(&one), after("two"));
    world.enqueued();
    assert_eq!(world.keys.claim_status(&two), after("one"), "its write failed, so it starts again");
    assert_eq!(world.enqueued(), ["one", "two"]);
    assert_eq!(world.keys.claim_status(&one), ClaimStatus::Owner);
}

#[test]
fn rule_4_an_operation_in_the_status_stays_when_its_announcement_is_withdrawn() {
    let world = World::new();
    let (one, two) = (resource("one", 1, &json!({})), resource("two", 2, &operating()));
    world.keys.saw(&two);
    assert_eq!(world.keys.begin(&two, &place(), ClaimReason::Create), ClaimStatus::Owner);
    world.keys.saw(&one);
    assert_eq!(world.keys.claim_status(&two), ClaimStatus::Owner);
    assert_eq!(world.keys.claim_status(&one), after("two"));
}

#[test]
fn rule_4_what_has_begun_keeps_its_key_where_it_began_whatever_its_project_names_now() {
    let world = World::new();
    world.admit("shop", "elsewhere", "other");
    let remote = owning("1")["status"]["remote"].clone();
    let mut moved = operating();
    merge(&mut moved, &json!({"status": {"remote": remote}, "spec": {"projectRef": {"name": "elsewhere"}}}));
    world.keys.saw(&resource("two", 2, &moved));
    let one = resource("one", 1, &json!({}));
    world.keys.saw(&one);
    assert_eq!(world.keys.claim_status(&one), after("two"), "its create may still arrive");
}

#[test]
fn rule_4_what_a_watch_shows_again_withdraws_no_announcement() {
    let world = World::new();
    let (one, two) = (resource("one", 1, &json!({})), resource("two", 2, &json!({})));
    world.keys.saw(&two);
    assert_eq!(world.keys.begin(&two, &place(), ClaimReason::Create), ClaimStatus::Owner);
    world.keys.saw(&two);
    world.keys.saw(&one);
    assert_eq!(world.keys.begin(&one, &place(), ClaimReason::Create), after("two"));
}

#[test]
fn rule_4_an_outdated_copy_is_ignored() {
    let world = World::new();
    let (one, two) = (resource("one", 1, &json!({})), resource("two", 2, &json!({})));
    world.keys.saw(&one);
    world.keys.saw(&two);
    let owner = resource("two", 9, &owning("1"));
    world.keys.wrote(&owner);
    world.keys.saw(&resource("two", 3, &json!({})));
    assert_eq!(world.keys.claim_status(&one), after("two"), "the watch lags behind the operator's own write");
    world.keys.gone(&object_ref("two"));
    world.keys.wrote(&owner);
    assert_eq!(
        world.keys.claim_status(&one),
        ClaimStatus::Owner,
        "a reconcile that ends late does not bring back a deleted resource"
    );
    assert_eq!(world.keys.claim_status(&owner), ClaimStatus::Unknown);
    // Another resource with the same name.
    let again = resource("two", 12, &json!({"metadata": {"uid": "another"}}));
    world.keys.saw(&again);
    world.keys.wrote(&owner);
    assert_eq!(world.keys.claim_status(&one), ClaimStatus::Owner);
    assert_eq!(world.keys.claim_status(&again), after("one"));
    assert_eq!(world.keys.claim_status(&owner), ClaimStatus::Unknown);
    assert_eq!(world.keys.begin(&owner, &place(), ClaimReason::Create), ClaimStatus::Unknown);
}

#[test]
fn rule_4_which_resources_claim_a_key() {
    let being_deleted = json!({"metadata": {"deletionTimestamp": "2026-01-02T00:00:00Z", "finalizers": ["theirs"]}});
    let mut held = being_deleted.clone();
    held["metadata"]["finalizers"] = json!(["theirs", names::FINALIZER]);
    let mut other_remote = owning("1");
    other_remote["status"]["remote"]["projectKey"] = json!("elsewhere");
    let mut forgotten = other_remote.clone();
    forgotten["status"]["id"] = json!(null);
    let rows = [
        ("the same", json!({}), true),
        ("suspended", json!({"spec": {"suspend": true}}), true),
        ("only observed", json!({"spec": {"managementPolicy": "ObserveOnly"}}), false),
        ("only observed, though what it began to create may still arrive", observed(operating()), true),
        ("only observed, though it owned it", observed(owning("1")), false),
        ("being deleted", held, true),
        ("orphaned, and kept by another finalizer", being_deleted, false),
        ("another key", json!({"spec": {"key": "tax-us"}}), false),
        ("a project that does not exist", json!({"spec": {"projectRef": {"name": "no"}}}), false),
        ("another remote project", json!({"spec": {"projectRef": {"name": "other"}}}), false),
        ("another project with the same remote", json!({"spec": {"projectRef": {"name": "same"}}}), true),
        ("another namespace with the same remote", json!({"metadata": {"namespace": "a"}}), true),
        ("what it owns is in another remote project", other_remote, false),
        ("its status names another remote project, and it owns nothing", forgotten, true),
    ];
    for (case, change, claims) in rows {
        let world = World::new();
        world.admit("shop", "same", "demo");
        world.admit("shop", "other", "another");
        world.admit("a", "shop", "demo");
        let mine = resource("two", 1, &json!({}));
        world.keys.saw(&mine);
        let other = resource("one", 2, &change);
        world.keys.saw(&other);
        assert_eq!(world.keys.claim_status(&mine) != ClaimStatus::Owner, claims, "{case}");
        assert_eq!(world.keys.claim_status(&other), ClaimStatus::Owner, "{case}: no claim is stronger");
    }
}

#[test]
fn rule_4_created_deleted_and_changed_projects_move_the_claims() {
    let mut world = World::empty(0);
    let one = resource("one", 1, &json!({}));
    let two = resource("two", 2, &json!({"spec": {"projectRef": {"name": "other"}}}));
    world.keys.saw(&one);
    world.keys.saw(&two);
    assert_eq!(world.keys.claim_status(&two), ClaimStatus::Owner, "no project is known, so there is nothing to share");
    assert_eq!(world.keys.begin(&two, &place(), ClaimReason::Create), ClaimStatus::Unknown, "and nothing to begin");
    world.admit("shop", "other", "demo");
    assert_eq!(world.keys.claim_status(&two), ClaimStatus::Owner);
    world.admit("shop", "shop", "demo");
    assert_eq!(world.enqueued(), ["one", "two"]);
    assert_eq!(world.keys.claim_status(&two), after("one"));
    // The winner's project is recreated and names another remote.
    world.admit("shop", "shop", "elsewhere");
    assert_eq!(world.enqueued(), ["one", "two"]);
    assert_eq!(world.keys.claim_status(&two), ClaimStatus::Owner);
    assert_eq!(
        world.keys.begin(&one, &place(), ClaimReason::Create),
        ClaimStatus::Unknown,
        "a reconcile that knew the old remote begins nothing"
    );
    world.admit("shop", "shop", "demo");
    world.keys.gone(&ObjectRef::project("shop", "shop"));
    assert_eq!(world.keys.claim_status(&two), ClaimStatus::Owner);
}

#[test]
fn rule_4_changes_of_the_winner_enqueue_the_others() {
    for (case, change, wakes) in [
        ("nothing relevant", json!({"metadata": {"labels": {"team": "tax"}}}), false),
        ("it begins", operating(), false),
        ("it owns it", owning("1"), true),
        ("it only observes", json!({"spec": {"managementPolicy": "ObserveOnly"}}), true),
        ("it moves to another project", json!({"spec": {"projectRef": {"name": "other"}}}), true),
    ] {
        let mut world = World::new();
        let two = resource("two", 1, &json!({}));
        world.keys.saw(&two);
        world.keys.saw(&resource("one", 2, &json!({})));
        world.enqueued();
        world.keys.saw(&resource("one", 3, &change));
        assert_eq!(world.enqueued().contains(&"two".to_owned()), wakes, "{case}");
    }
}
