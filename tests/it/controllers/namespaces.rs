//! Events of namespaces: which resources of shared projects they enqueue.

use std::collections::BTreeSet;

use clock::Clock;
use connect_operator::crd::AllowedNamespaces;
use connect_operator::leader::Scope;
use connect_operator::operator::cluster::references::Named;
use connect_operator::operator::manager::event_handlers;
use connect_operator::operator::object_ref::ObjectRef;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::runtime::watcher::Event;
use serde_json::json;

use super::context::context;

#[tokio::test]
async fn rule_29_a_resource_reports_anew_when_namespaces_are_listed_that_could_not_be() {
    let scope = Scope::default().with_cluster_projects(true);
    let (context, mut enqueued) = context(&Clock::stepped(Timestamp::UNIX_EPOCH), scope);
    let user = ObjectRef::deployment("shop", "tax");
    let project = BTreeSet::from([(Named::ClusterProject, "shared".to_owned())]);
    context.references.set(&user, project);
    let allowed: AllowedNamespaces = serde_json::from_value(json!({"selector": {"matchLabels": {"a": "b"}}})).unwrap();
    assert!(context.permissions.saw_project("shared", &allowed).is_empty());

    event_handlers::namespaces_refused(&context, "no right");
    assert_eq!(enqueued.try_recv(), Ok(user.clone()), "it has waited for the list");
    event_handlers::namespaces_refused(&context, "no right");
    assert!(enqueued.is_empty(), "it reports that already");
    for event in [Event::<Namespace>::Init, Event::InitDone] {
        event_handlers::namespace(&context, &event);
    }
    assert_eq!(enqueued.try_recv(), Ok(user), "its message still names the list");
    for event in [Event::<Namespace>::Init, Event::InitDone] {
        event_handlers::namespace(&context, &event);
    }
    assert!(enqueued.is_empty(), "nothing has changed");
}
