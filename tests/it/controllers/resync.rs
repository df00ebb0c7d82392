//! The resync: it enqueues objects that no event enqueued, and no others, without any API call.

use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use connect_api::ClientContext;
use connect_api::hosts::AllowedHosts;
use connect_api::http::{Authorities, Limits};
use connect_operator::controllers::clients::action_factory::HttpActionFactory;
use connect_operator::controllers::clients::connect_factory::HttpFactory;
use connect_operator::controllers::context::Context;
use connect_operator::controllers::initial_lists::InitialLists;
use connect_operator::controllers::manager::event_handlers;
use connect_operator::controllers::manager::resync::{INTERVAL, note, resync};
use connect_operator::controllers::manager::{self, Options};
use connect_operator::controllers::object_ref::{Kind, ObjectRef};
use connect_operator::controllers::values::digest::DigestKey;
use connect_operator::crd::ConnectorDeployment;
use connect_operator::leader::Scope;
use connect_operator::metrics::Metrics;
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use kube::runtime::reflector;
use kube::runtime::watcher::Event;
use serde_json::json;
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::resource;
use crate::patience::in_time;

/// Returns a context whose cluster must not be called, and the channel of enqueued objects.
pub(super) fn context(clock: &Clock, scope: Scope) -> (Arc<Context>, UnboundedReceiver<ObjectRef>) {
    let asked =
        tower::service_fn(async |_: http::Request<Body>| Err::<http::Response<Body>, _>("the cluster is called"));
    let (allowed_hosts, around) = (AllowedHosts::parse([]).unwrap(), ClientContext::plain(clock.clone()));
    let options = Options {
        client: Client::new(asked, "default"),
        scope,
        concurrency: 1,
        clock: clock.clone(),
        operator_namespace: "operator".to_owned(),
        default_deletion_policy: None,
        digest_key: DigestKey::new([7; 32]),
        secrets: connect_operator::controllers::objects::secret::Policy::default(),
        factory: Arc::new(HttpFactory {
            allowed_hosts: allowed_hosts.clone(),
            around: around.clone(),
            limits: Limits::default(),
            authorities: Authorities::default(),
        }),
        actions: Arc::new(HttpActionFactory { allowed_hosts, around, authorities: Authorities::default() }),
        lists: InitialLists::new(Metrics::new(clock.now())),
        metrics: Metrics::new(clock.now()),
        jitter_seed: 1,
    };
    let (enqueue, enqueued) = mpsc::unbounded_channel();
    (manager::context(&options, 1, &enqueue), enqueued)
}

fn named(name: &str, generation: i64) -> ConnectorDeployment {
    let mut object = resource(&json!({}));
    object.metadata.name = Some(name.to_owned());
    object.metadata.generation = Some(generation);
    object
}

#[tokio::test]
async fn a_change_that_no_event_enqueued_is_found_within_minutes_and_nothing_else_is_enqueued() {
    let clock = Clock::stepped(Timestamp::UNIX_EPOCH);
    let (context, mut enqueued) = context(&clock, Scope::default());
    let (store, mut writer) = reflector::store();
    for name in ["as-it-was", "edited", "never-ran"] {
        let object = named(name, 1);
        if name != "never-ran" {
            note(&context, &object);
        }
        writer.apply_watcher_event(&Event::Apply(object));
    }
    writer.apply_watcher_event(&Event::Apply(named("edited", 2)));
    let resync = tokio::spawn(resync(Kind::Deployment, store, Arc::clone(&context), 1));
    let [edited, never_ran] = ["edited", "never-ran"].map(|name| ObjectRef::deployment("shop", name));

    // The resync draws its first time once it begins to wait.
    let first = async {
        loop {
            tokio::task::yield_now().await;
            clock.step(Duration::from_secs(30));
            if let Ok(object_ref) = enqueued.try_recv() {
                return object_ref;
            }
        }
    };
    assert_eq!(in_time(first).await.unwrap(), edited);
    assert_eq!(enqueued.try_recv(), Ok(never_ran.clone()));
    assert!(enqueued.is_empty());

    // One object was reconciled since, the other one does not exist any more.
    note(&context, &named("edited", 2));
    note(&context, &named("never-ran", 1));
    event_handlers::forget(&context, &never_ran);
    writer.apply_watcher_event(&Event::Delete(named("never-ran", 1)));
    for _ in 0..100 {
        clock.step(INTERVAL);
        tokio::task::yield_now().await;
    }
    // The next enqueued object shows that nothing was enqueued before.
    writer.apply_watcher_event(&Event::Apply(named("edited", 3)));
    let next = async {
        loop {
            tokio::task::yield_now().await;
            clock.step(INTERVAL);
            if let Ok(object_ref) = enqueued.try_recv() {
                return object_ref;
            }
        }
    };
    assert_eq!(in_time(next).await.unwrap(), edited);
    let kept: Vec<_> = context.given.object_refs();
    assert_eq!(kept.len(), 2, "{kept:?}");
    resync.abort();
}
