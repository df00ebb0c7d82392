//! A context whose cluster must not be called.

use std::sync::Arc;

use clock::Clock;
use connect_api::ClientContext;
use connect_api::hosts::AllowedHosts;
use connect_api::http::{Authorities, Limits};
use connect_operator::leader::Scope;
use connect_operator::metrics::Metrics;
use connect_operator::operator::clients::action_factory::HttpActionFactory;
use connect_operator::operator::clients::connect_factory::HttpFactory;
use connect_operator::operator::cluster::initial_lists::InitialLists;
use connect_operator::operator::context::{Context, Settings};
use connect_operator::operator::manager::{self, Options};
use connect_operator::operator::object_ref::ObjectRef;
use connect_operator::operator::values::digest::DigestKey;
use kube::Client;
use kube::client::Body;
use tokio::sync::mpsc::{self, UnboundedReceiver};

/// Returns a context whose cluster must not be called, and the channel of enqueued objects.
pub(super) fn context(clock: &Clock, scope: Scope) -> (Arc<Context>, UnboundedReceiver<ObjectRef>) {
    let asked =
        tower::service_fn(async |_: http::Request<Body>| Err::<http::Response<Body>, _>("the cluster is called"));
    let (allowed_hosts, around) = (AllowedHosts::parse([]).unwrap(), ClientContext::plain(clock.clone()));
    let options = Options {
        client: Client::new(asked, "default"),
        settings: Settings {
            scope,
            operator_namespace: "operator".to_owned(),
            default_deletion_policy: None,
            digest_key: DigestKey::new([7; 32]),
            secrets: connect_operator::operator::cluster::objects::secret::Policy::default(),
            actions: Arc::new(HttpActionFactory {
                allowed_hosts: allowed_hosts.clone(),
                around: around.clone(),
                authorities: Authorities::default(),
            }),
        },
        concurrency: 1,
        clock: clock.clone(),
        factory: Arc::new(HttpFactory {
            allowed_hosts,
            around,
            limits: Limits::default(),
            authorities: Authorities::default(),
        }),
        lists: InitialLists::new(Metrics::new(clock.now())),
        metrics: Metrics::new(clock.now()),
        jitter_seed: 1,
    };
    let (enqueue, enqueued) = mpsc::unbounded_channel();
    (manager::context(options, &enqueue), enqueued)
}
