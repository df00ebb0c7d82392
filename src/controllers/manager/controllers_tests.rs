use std::sync::Mutex;

use clock::Clock;
use connect_api::ClientContext;
use connect_api::hosts::AllowedHosts;
use connect_api::http::{Authorities, Limits};
use http::Method;
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use serde_json::json;

use super::*;
use crate::controllers::clients::action_factory::HttpActionFactory;
use crate::controllers::clients::connect_factory::HttpFactory;
use crate::controllers::manager::{Options, context};
use crate::controllers::objects::compressed::Compressor;
use crate::controllers::tracking::tracker::ReconcileTracker;
use crate::controllers::values::digest::DigestKey;
use crate::leader::Scope as Works;
use crate::metrics::Metrics;

/// Returns the settings of controllers whose cluster answers a write with this object, and nothing else. Records the method of
/// each request.
fn options(written: &ConnectorDeployment, requests: &Arc<Mutex<Vec<Method>>>) -> Options {
    let (written, requests) = (serde_json::to_vec(written).expect("JSON"), Arc::clone(requests));
    let recorded = tower::service_fn(move |request: http::Request<Body>| {
        requests.lock().expect("a lock").push(request.method().clone());
        let is_write = request.method() == Method::PATCH;
        future::ready(is_write.then(|| http::Response::new(Body::from(written.clone()))).ok_or("connection reset"))
    });
    let clock = Clock::stepped(Timestamp::UNIX_EPOCH);
    let (allowed_hosts, around) = (AllowedHosts::parse([]).expect("no hosts"), ClientContext::plain(clock.clone()));
    Options {
        client: Client::new(recorded, "default"),
        scope: Works::default(),
        concurrency: 1,
        operator_namespace: "operator".to_owned(),
        default_deletion_policy: None,
        digest_key: DigestKey::new([7; 32]),
        secrets: secret::Policy::default(),
        factory: Arc::new(HttpFactory {
            allowed_hosts: allowed_hosts.clone(),
            around: around.clone(),
            limits: Limits::default(),
            authorities: Authorities::default(),
        }),
        actions: Arc::new(HttpActionFactory { allowed_hosts, around, authorities: Authorities::default() }),
        tracker: ReconcileTracker::new(clock.clone(), Metrics::new(clock.now())),
        clock,
        jitter_seed: 1,
    }
}

/// The watch shows a write of ours after the store gave the copy from before it to a reconcile, and before that one runs.
#[tokio::test]
async fn a_reconcile_that_was_given_an_old_copy_reads_the_object() {
    let deployment = |version: &str| -> ConnectorDeployment {
        serde_json::from_value(json!({
            "apiVersion": "connect-operator.io/v1alpha1",
            "kind": "ConnectorDeployment",
            "metadata": {"name": "tax", "namespace": "shop", "uid": "1", "resourceVersion": version},
            "spec": {"projectRef": {"name": "shop"}, "connector": {"key": "demo"}},
        }))
        .expect("an object")
    };
    let requests = Arc::default();
    let (enqueue, _enqueued) = mpsc::unbounded_channel();
    let context = context(&options(&deployment("2"), &requests), 1, &enqueue);
    let api = Api::namespaced(context.client.clone(), "shop");
    let written = context.own_writes.patch_metadata(&api, &deployment("1"), json!({})).await;
    assert_eq!(written.expect("an answer").metadata.resource_version.as_deref(), Some("2"));
    let packed = Packed::of(&deployment("1"), &mut Compressor::default()).expect("JSON");
    let reconcile = observed::<ConnectorDeployment>(Arc::new(packed), Arc::clone(&context));
    let _ = context.own_writes.shown(&deployment("2"));
    Box::pin(reconcile).await;
    assert_eq!(requests.lock().expect("a lock").get(1), Some(&Method::GET));
}
