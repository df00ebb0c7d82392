//! Events of a watch: which objects they enqueue.

use std::collections::BTreeSet;

use clock::Clock;
use connect_operator::crd::ConnectorDeployment;
use connect_operator::leader::Scope;
use connect_operator::operator::manager::known_objects::KnownObjects;
use connect_operator::operator::object_ref::ObjectRef;
use jiff::Timestamp;
use kube::runtime::watcher::Event;
use serde_json::json;

use super::context::context;

/// Returns an object with this uid and generation.
fn object(name: &str, uid: &str, generation: i64) -> ConnectorDeployment {
    let spec = json!({"projectRef": {"name": "shop"}, "connector": {"key": "demo-connector"}});
    let metadata = json!({"name": name, "namespace": "shop", "uid": uid, "generation": generation});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
}

#[tokio::test]
async fn what_users_change_is_enqueued_and_what_a_list_shows_once_it_is_complete() {
    let (a, b) = (|generation| object("a", "1", generation), |generation| object("b", "2", generation));
    let (context, mut enqueued) = context(&Clock::stepped(Timestamp::UNIX_EPOCH), Scope::default());
    let mut known = KnownObjects::default();
    let rows: Vec<(&str, Event<ConnectorDeployment>, &[&str])> = vec![
        ("the first list begins", Event::Init, &[]),
        ("an object of it", Event::InitApply(a(1)), &[]),
        ("another one, on a later page", Event::InitApply(b(1)), &[]),
        ("it is complete", Event::InitDone, &["a", "b"]),
        ("as before", Event::Apply(a(1)), &[]),
        ("changed", Event::Apply(a(2)), &["a"]),
        ("a list that fails on its way", Event::Init, &[]),
        ("shows a change", Event::InitApply(b(2)), &[]),
        ("and begins again", Event::Init, &[]),
        ("the change still counts", Event::InitApply(b(2)), &[]),
        ("an unchanged object does not", Event::InitApply(a(2)), &[]),
        ("complete", Event::InitDone, &["b"]),
        ("deleted, so that it is forgotten", Event::Delete(a(2)), &["a"]),
        ("created again as it was", Event::Apply(a(2)), &["a"]),
        ("another one of the same name", Event::Apply(object("a", "3", 2)), &["a"]),
        ("a list", Event::Init, &[]),
        ("that lacks one", Event::InitApply(b(2)), &[]),
        ("shows that it is deleted", Event::InitDone, &["a"]),
        ("and it is enqueued when it comes back", Event::Apply(object("a", "3", 2)), &["a"]),
    ];
    for (case, event, expected) in rows {
        known.note(&context, &event);
        let enqueued: BTreeSet<ObjectRef> = std::iter::from_fn(|| enqueued.try_recv().ok()).collect();
        assert_eq!(enqueued, expected.iter().map(|name| ObjectRef::deployment("shop", name)).collect(), "{case}");
    }
}
