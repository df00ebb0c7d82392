//! Who owns a key, over orders of events: resources that appear together, late, again, or move.

use json_patch::merge;
use kube::api::ObjectMeta;
use kube::core::error_boundary::InvalidObject;
use serde_json::{Value, json};
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::*;
use crate::crd::{ConnectorDeployment, ConnectorStaged};
use crate::metrics::Metrics;
use crate::names;
use crate::operator::cluster::initial_lists::List;
use crate::operator::cluster::objects::guarded::Guarded;

struct World {
    keys: KeyOwnership,
    lists: Arc<InitialLists>,
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
            "resourceVersion": version.to_string(),
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"projectRef": {"name": "shop"}, "connector": {"key": "demo"}, "key": "tax-eu"},
    });
    merge(&mut whole, change);
    serde_json::from_value(whole).expect("a resource")
}

fn remote(project_key: &str) -> RemoteIdentity {
    RemoteIdentity { api_url: "https://api".into(), project_key: project_key.into() }
}

/// The projects have answered, except `silent`; `other` names another remote, and only `shop` may use `shared`.
fn admits(project: &ObjectRef, namespace: &str) -> Option<RemoteIdentity> {
    match project.name.as_str() {
        "silent" => None,
        "shared" if namespace != "shop" => None,
        "other" => Some(remote("another")),
        _ => Some(remote("demo")),
    }
}

/// The list of the deployments of a namespace.
fn list(namespace: &str) -> List {
    List { kind: Kind::Deployment.as_str(), namespace: Some(namespace.into()) }
}

fn after(name: &str) -> ClaimStatus {
    ClaimStatus::HeldBy(ObjectRef::deployment("shop", name))
}

fn operating() -> Value {
    let operation = json!({"type": "Create", "state": "Planned", "attempt": 1, "generation": 1,
        "startedAt": "2026-01-01T00:00:01Z"});
    json!({"status": {"observedGeneration": 1, "remote": remote("demo"),
        "state": json!({"v": 1, "operation": operation}).to_string()}})
}

fn owning(id: &str) -> Value {
    json!({"status": {"observedGeneration": 1, "id": id, "remote": remote("demo")}})
}

fn with(mut one: Value, other: &Value) -> Value {
    merge(&mut one, other);
    one
}

impl World {
    /// These lists are awaited; another one is complete.
    fn new(awaited: &[List]) -> Self {
        let (enqueue, enqueued) = mpsc::unbounded_channel();
        let lists = InitialLists::new(Metrics::new(jiff::Timestamp::UNIX_EPOCH));
        for list in awaited {
            lists.awaits(list.clone());
        }
        lists.awaits(list("complete"));
        lists.listed(&list("complete"));
        Self { keys: KeyOwnership::new(Arc::clone(&lists), enqueue), lists, enqueued }
    }

    /// Whether the resource may go on.
    fn asks(&self, object: &ConnectorDeployment) -> ClaimStatus {
        self.keys.claim(object, None, &admits)
    }

    fn begins(&self, object: &ConnectorDeployment, takes_over: bool) -> ClaimStatus {
        self.keys.claim(object, Some(Begin { remote: &remote("demo"), takes_over }), &admits)
    }

    /// A watch shows an object that cannot be deserialized.
    fn saw_unreadable(&self, kind: Kind, name: &str) {
        let metadata = ObjectMeta { namespace: Some("shop".into()), name: Some(name.into()), ..ObjectMeta::default() };
        let invalid = InvalidObject { error: "no such field".to_owned(), metadata };
        match kind {
            Kind::Staged => self.keys.saw(&Guarded::<ConnectorStaged>(Err(invalid))),
            _ => self.keys.saw(&Guarded::<ConnectorDeployment>(Err(invalid))),
        }
    }

    /// Names of the resources enqueued since the last time.
    fn enqueued(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.enqueued.try_recv().ok()).map(|object_ref| object_ref.name.clone()).collect()
    }
}

#[test]
fn rule_4_which_resources_claim_a_key() {
    let going = json!({"metadata": {"deletionTimestamp": "2026-01-02T00:00:00Z", "finalizers": ["theirs"]}});
    let held = with(going.clone(), &json!({"metadata": {"finalizers": ["theirs", names::FINALIZER]}}));
    let elsewhere = json!({"status": {"observedGeneration": 1, "remote": remote("elsewhere")}});
    let observes = json!({"spec": {"managementPolicy": "ObserveOnly"}});
    let of_project = |name: &str| json!({"spec": {"projectRef": {"name": name}}});
    let shared = json!({"spec": {"projectRef": {"kind": "ClusterConnectProject", "name": "shared"}}});
    let of_namespace = |name: &str| json!({"metadata": {"namespace": name}});
    let invented = json!({"metadata": {"annotations": {names::REMOTE_ID: "1"}}});
    for (case, change, claims) in [
        ("the same", json!({}), true),
        ("suspended", json!({"spec": {"suspend": true}}), true),
        ("only observed", observes.clone(), false),
        ("only observed, though what it began to create may still arrive", with(operating(), &observes), true),
        ("only observed, though it owned it", with(owning("1"), &observes), false),
        ("being deleted", held, true),
        ("orphaned, and kept by another finalizer", going, false),
        ("another key", json!({"spec": {"key": "tax-us"}}), false),
        ("another remote project", of_project("other"), false),
        ("another project with the same remote", of_project("same"), true),
        ("another namespace with the same remote", of_namespace("a"), true),
        ("a project that has not answered", of_project("silent"), false),
        ("that, with an invented annotation", with(of_project("silent"), &invented), false),
        ("that, and it owns it", with(of_project("silent"), &owning("1")), true),
        ("that, and it has begun", with(of_project("silent"), &operating()), true),
        ("a shared project", shared.clone(), true),
        ("a shared project that its namespace may not use", with(of_namespace("a"), &shared), false),
        ("that, and it owns it", with(with(of_namespace("a"), &shared), &owning("1")), true),
        ("what it owns is in another remote project", with(owning("1"), &elsewhere), false),
        ("its project names another one, but not what it owns", with(of_project("other"), &owning("1")), true),
        ("its status names another remote project, and it owns nothing", elsewhere.clone(), true),
    ] {
        let world = World::new(&[]);
        let (mine, other) = (resource("two", 1, &json!({})), resource("one", 2, &change));
        world.keys.saw(&mine);
        world.keys.saw(&other);
        assert_eq!(world.asks(&mine) != ClaimStatus::Owner, claims, "{case}");
        assert_eq!(world.begins(&mine, false) != ClaimStatus::Owner, claims, "{case}");
        assert_eq!(world.asks(&other), ClaimStatus::Owner, "{case}: no claim is stronger");
    }
}

#[test]
fn rule_4_nothing_begins_where_the_project_does_not_admit_or_names_another_remote_by_now() {
    for name in ["silent", "other"] {
        let world = World::new(&[]);
        let one = resource("one", 1, &json!({"spec": {"projectRef": {"name": name}}}));
        world.keys.saw(&one);
        assert_eq!((world.asks(&one), world.begins(&one, false)), (ClaimStatus::Owner, ClaimStatus::Unknown), "{name}");
    }
}

#[test]
fn rule_4_a_waiting_resource_is_enqueued_when_the_owner_does_not_keep_it_from_the_key_any_more() {
    let observes = json!({"spec": {"managementPolicy": "ObserveOnly"}});
    for (case, change, wakes) in [
        ("nothing relevant", Some(json!({"metadata": {"labels": {"team": "tax"}}})), false),
        ("it begins", Some(operating()), false),
        ("it owns it", Some(owning("1")), false),
        ("it only observes", Some(observes), true),
        ("it moves to another project", Some(json!({"spec": {"projectRef": {"name": "other"}}})), true),
        ("it is gone", None, true),
    ] {
        let mut world = World::new(&[]);
        let (one, two) = (resource("one", 1, &json!({})), resource("two", 2, &json!({})));
        world.keys.saw(&one);
        world.keys.saw(&two);
        assert_eq!(world.asks(&two), after("one"), "{case}");
        world.keys.saw(&resource("two", 3, &json!({"metadata": {"labels": {"its": "status"}}})));
        match change {
            Some(change) => world.keys.saw(&resource("one", 4, &change)),
            None => world.keys.gone(&ObjectRef::deployment("shop", "one")),
        }
        assert_eq!(world.enqueued(), if wakes { vec!["two"] } else { vec![] }, "{case}");
    }
}

#[test]
fn rule_4_an_outdated_copy_is_ignored() {
    let world = World::new(&[]);
    let (one, two) = (resource("one", 1, &json!({})), resource("two", 2, &json!({})));
    world.keys.saw(&one);
    world.keys.saw(&two);
    let owner = resource("two", 9, &owning("1"));
    assert_eq!(world.asks(&owner), ClaimStatus::Owner);
    world.keys.saw(&resource("two", 3, &json!({})));
    assert_eq!(world.asks(&one), after("two"), "the watch lags behind what a reconcile has read");
    world.keys.gone(&ObjectRef::deployment("shop", "two"));
    assert_eq!(world.asks(&owner), ClaimStatus::Unknown, "a reconcile does not bring back what is deleted");
    assert_eq!(world.asks(&one), ClaimStatus::Owner);
    world.keys.gone(&ObjectRef::deployment("shop", "one"));
    let index = world.keys.index.lock();
    assert!(index.entries.is_empty() && index.by_key.is_empty(), "nothing is kept: {index:?}");
}

#[test]
fn rule_4_there_is_no_owner_before_all_lists_are_complete_and_a_refused_one_forbids_taking_over() {
    let mut world = World::new(&[list("shop"), list("yard")]);
    let (one, two) = (resource("one", 1, &json!({})), resource("two", 2, &json!({})));
    world.keys.saw(&two);
    world.lists.listed(&list("shop"));
    world.keys.listed();
    assert_eq!((world.asks(&two), world.enqueued()), (ClaimStatus::Unknown, vec![]));
    world.lists.refused(&list("yard"));
    world.keys.listed();
    assert_eq!((world.enqueued(), world.asks(&two)), (vec!["two".to_owned()], ClaimStatus::Owner));
    assert_eq!(world.begins(&two, true), ClaimStatus::Unlisted);
    assert_eq!(world.begins(&two, false), ClaimStatus::Owner, "it may create");
    assert_eq!(world.asks(&two), ClaimStatus::Owner, "and does not");
    // The list is complete at last, and contains a stronger claim.
    world.keys.saw(&one);
    world.lists.listed(&list("yard"));
    world.keys.listed();
    assert_eq!((world.enqueued(), world.begins(&two, true)), (vec!["two".to_owned()], after("one")));
    assert_eq!(world.begins(&one, true), ClaimStatus::Owner);
}

/// After a rollback: the newer version wrote what this one does not understand.
#[test]
fn rule_4_nothing_is_taken_over_while_a_resource_is_not_understood_that_may_own_it() {
    let other = json!({"spec": {"key": "other"}});
    for (case, recorded, kind, forbids) in [
        ("its key is not known", false, Kind::Deployment, true),
        ("its key is known from before", true, Kind::Deployment, false),
        ("another kind", false, Kind::Staged, false),
    ] {
        let mut world = World::new(&[]);
        let two = resource("two", 1, &json!({}));
        world.keys.saw(&two);
        if recorded {
            world.keys.saw(&resource("one", 2, &other));
        }
        world.saw_unreadable(kind, "one");
        assert_eq!(world.begins(&two, true) == ClaimStatus::Unlisted, forbids, "{case}");
        assert_eq!(world.keys.object_refs().len(), 2, "{case}: it exists");
        world.keys.saw(&resource("one", 3, &other));
        assert_eq!(!world.enqueued().is_empty(), forbids, "{case}: it is valid again");
        world.saw_unreadable(Kind::Deployment, "three");
        assert_eq!(world.begins(&two, true), ClaimStatus::Unlisted, "{case}");
        world.keys.gone(&ObjectRef::deployment("shop", "three"));
        assert_eq!((world.enqueued(), world.asks(&two)), (vec!["two".to_owned()], ClaimStatus::Owner), "{case}");
    }
}

/// One of two resources, step by step: the watch shows it, its reconcile asks and announces, and the watch shows it again,
/// with the finalizer, with the operation, and with the id.
struct Actor {
    name: &'static str,
    version: u64,
    step: u8,
    active: bool,
}

const STEPS: u8 = 7;

impl Actor {
    fn copy(&self, writes: u64, change: &Value) -> ConnectorDeployment {
        resource(self.name, self.version + 10 * writes, change)
    }

    /// Takes the next step; a reconcile that yields takes no more.
    fn go(&mut self, world: &World) {
        let mut claim_status = ClaimStatus::Owner;
        let copy = self.copy(0, &json!({}));
        match self.step {
            1 => claim_status = world.asks(&copy),
            2 => {
                claim_status = world.begins(&copy, false);
                self.active = claim_status == ClaimStatus::Owner;
            }
            4 => world.keys.saw(&self.copy(1, &json!({"metadata": {"finalizers": [names::FINALIZER]}}))),
            5 => world.keys.saw(&self.copy(2, &operating())),
            6 => world.keys.saw(&self.copy(3, &owning("1"))),
            // At first, and once more.
            _ => world.keys.saw(&copy),
        }
        self.step = if claim_status == ClaimStatus::Owner { self.step + 1 } else { STEPS };
    }
}

#[test]
fn rule_4_in_every_interleaving_of_two_exactly_one_begins() {
    for bits in (0_u32..1 << (2 * STEPS)).filter(|bits| bits.count_ones() == u32::from(STEPS)) {
        let world = World::new(&[]);
        let mut actors =
            [("one", 1), ("two", 2)].map(|(name, version)| Actor { name, version, step: 0, active: false });
        for turn in 0..2 * STEPS {
            let actor = &mut actors[usize::from(bits >> turn & 1 == 1)];
            if actor.step < STEPS {
                actor.go(&world);
            }
            assert!(!actors.iter().all(|actor| actor.active), "both begin: {bits:b} at {turn}");
        }
        let [aside] = actors.iter().filter(|actor| !actor.active).collect::<Vec<_>>()[..] else {
            panic!("neither begins: {bits:b}")
        };
        assert_ne!(world.asks(&aside.copy(0, &json!({}))), ClaimStatus::Owner, "{bits:b}");
    }
}

#[test]
fn rule_4_the_next_reconcile_withdraws_an_announcement_without_a_write() {
    let world = World::new(&[]);
    let (one, two) = (resource("one", 1, &json!({})), resource("two", 2, &json!({})));
    world.keys.saw(&two);
    assert_eq!(world.begins(&two, false), ClaimStatus::Owner);
    world.keys.saw(&one);
    assert_eq!(world.asks(&one), after("two"));
    assert_eq!(world.asks(&two), after("one"), "its write failed, so it starts again");
    assert_eq!(world.asks(&one), ClaimStatus::Owner);
}
