//! The rules of the design by number, on a real API server: what users see in the cluster and what reaches the remote.
//!
//! The clock follows the machine's and is stepped by tests, for operator and remote alike, so that nothing waits for
//! minutes. "Nothing happens" is proven by a reconcile that must come after it ([`Leaping::reconcile_again`]).

mod absence;
mod adopting;
mod creating;
mod deleting;
mod drift;
mod ending;
mod keys;
mod merging;
mod operations;
mod policies;
mod projects;
mod readiness;
mod redeploying;
mod rule_03_key_taken;
mod rule_05_times;
mod rule_07_namespaces;
mod rule_15_followed;
mod rule_15_pinned;
mod rule_16_many_values;
mod rule_22_refused;
pub(crate) mod sharing;
mod taking_over;
mod telling;
mod urls;
mod verifying;
mod versions;

use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicBool;

use connect_operator::operator::deployment::persisted::Operation;
use futures::stream::{BoxStream, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{WatchEvent, WatchParams};
use tokio::time::MissedTickBehavior;

use crate::patience::waits_long;
use crate::prelude::*;

/// How long an operation takes at the remote.
pub(crate) const DEPLOYING: Duration = Duration::from_secs(10);
/// Changes within this time become one redeploy (rule 9).
pub(crate) const GATHER: Duration = Duration::from_secs(2);
/// After this time no effect of an earlier call is expected any more.
pub(crate) const QUIET_PERIOD: Duration = Duration::from_mins(2);
/// How long something must be unchanged before it counts as settled.
pub(crate) const QUIET: Duration = Duration::from_mins(1);

/// Interval at which the clock advances by itself.
const TICK: Duration = Duration::from_millis(5);
/// How far it advances in an interval after [`Leaping::slow_down`].
const SLOW_TICK: Duration = Duration::from_micros(200);

/// A shop with a clock that tests step.
pub(crate) struct Leaping {
    shop: Shop,
    ticking: JoinHandle<()>,
    slow: Arc<AtomicBool>,
    looks: AtomicU64,
}

impl Deref for Leaping {
    type Target = Shop;

    fn deref(&self) -> &Shop {
        &self.shop
    }
}

impl DerefMut for Leaping {
    fn deref_mut(&mut self) -> &mut Shop {
        &mut self.shop
    }
}

impl Drop for Leaping {
    fn drop(&mut self) {
        self.ticking.abort();
    }
}

impl Leaping {
    /// A shop with nothing deployed.
    pub(crate) async fn open() -> Self {
        Self::with(Options::default()).await
    }

    /// A shop with nothing deployed, and these options of the remote.
    pub(crate) async fn with(options: Options) -> Self {
        let clock = Clock::stepped("2026-01-01T12:00:00Z".parse().unwrap());
        let slow = Arc::new(AtomicBool::default());
        let ticking = tokio::spawn(tick(clock.clone(), Arc::clone(&slow)));
        let shop = Shop::with(Options { deploy_duration: DEPLOYING, ..options }, clock).await;
        shop.until_available().await;
        Self { shop, ticking, slow, looks: AtomicU64::default() }
    }

    /// A shop with a live deployment.
    pub(crate) async fn live() -> Self {
        Self::live_with(Options::default()).await
    }

    /// A shop with a live deployment, and these options of the remote.
    pub(crate) async fn live_with(options: Options) -> Self {
        let shop = Self::with(options).await;
        shop.apply_deployment(&json!({})).await;
        shop.finish("Deployed").await;
        shop
    }

    /// A shop to which a deployment with these changes to its spec was applied.
    pub(crate) async fn applied(change: &Value) -> Self {
        let shop = Self::open().await;
        shop.apply_deployment(change).await;
        shop
    }

    /// A shop with a live deployment that has these changes to its spec.
    pub(crate) async fn live_as(change: &Value) -> Self {
        let shop = Self::applied(change).await;
        shop.finish("Deployed").await;
        shop
    }

    /// A shop whose key has a live deployment that was created outside the operator; returns the id of that one, too.
    pub(crate) async fn beside(level: &str) -> (Self, String) {
        let shop = Self::open().await;
        let id = shop.make_elsewhere(level);
        (shop, id)
    }

    /// Applies the deployment with changes to its spec, and the Secret that it names.
    pub(crate) async fn apply_deployment(&self, change: &Value) {
        self.put_token("first-token-of-the-shop").await;
        self.sandbox.apply(&with_spec(self.deployment(), change)).await.unwrap();
    }

    /// Makes the operator cache the registry entry, so that nothing waits for it later: a suspended deployment reads it
    /// and sends nothing. It names no Secret, whose event could make it look up its key at any time later.
    pub(crate) async fn know_the_registry(&self) {
        let service = json!([{"applicationName": "service", "securedConfiguration": []}]);
        let held = json!({"suspend": true, "configurations": service});
        let suspended = named(with_spec(self.deployment(), &held), "suspended");
        self.sandbox.apply(&suspended).await.unwrap();
        self.sandbox.until_reason("suspended", "Suspended").await;
    }

    /// From here on the clock advances almost only by steps: it gains little more than a second in the time limit of a
    /// test.
    pub(crate) fn slow_down(&self) {
        self.slow.store(true, Ordering::Relaxed);
    }

    /// Lets time pass, then requests a reconcile, and returns the deployment once it was handled.
    pub(crate) async fn pass(&self, time: Duration) -> ConnectorDeployment {
        self.clock.step(time);
        self.reconcile_again().await
    }

    /// Requests a reconcile with a new read of the remote; returns the deployment once it was handled. Reconciles of
    /// one resource run one after the other, so everything that was due before has happened.
    pub(crate) async fn reconcile_again(&self) -> ConnectorDeployment {
        // An observation is not used twice.
        self.clock.step(TICK);
        let request = format!("look-{}", self.looks.fetch_add(1, Ordering::Relaxed));
        self.annotate(names::RECONCILE_REQUESTED_AT, &request).await;
        self.until("reconciled again", |object| status(object).handled_reconcile_request.as_ref() == Some(&request))
            .await
    }

    /// Lets time pass until a poll has found the deployment as it was, and its id is in the annotation.
    pub(crate) async fn until_annotated(&self) -> ConnectorDeployment {
        let annotated = self.until("annotated", |object| {
            let id = status(object).id;
            id.is_some() && object.annotations().get(names::REMOTE_ID) == id.as_ref()
        });
        meanwhile(&self.clock, COARSE, annotated).await
    }

    /// Deletes the deployment from the cluster without the remote, as when a cluster is lost: a restored backup has no
    /// status. The operator is stopped.
    pub(crate) async fn lose(&mut self) {
        self.stop_operator().await;
        self.change(&json!({"metadata": {"finalizers": null}})).await;
        self.delete_wholly().await;
    }

    /// Lets the operation end at the remote; returns the deployment once Ready has this reason.
    pub(crate) async fn finish(&self, reason: &str) -> ConnectorDeployment {
        self.until("an operation is accepted", is_accepted).await;
        self.pass(DEPLOYING).await;
        self.until_reason(reason).await
    }

    /// After a change: lets the time pass in which changes are gathered.
    pub(crate) async fn gathered(&self) {
        self.until_reason("Redeploying").await;
        // A requested reconcile would be an edit: between the call and the write of its response, it would make the
        // response count as lost.
        self.clock.step(GATHER);
    }

    /// The same, and lets the redeploy end.
    pub(crate) async fn redeployed(&self, reason: &str) -> ConnectorDeployment {
        self.gathered().await;
        self.finish(reason).await
    }

    /// Changes the deployment, and lets the redeploy end that this causes.
    pub(crate) async fn redeploy(&self, change: &Value, reason: &str) -> ConnectorDeployment {
        self.change(change).await;
        self.redeployed(reason).await
    }

    /// Changes the token in the Secret, and lets the redeploy end that this causes.
    pub(crate) async fn rotate(&self, token: &str, reason: &str) -> ConnectorDeployment {
        self.put_token(token).await;
        self.redeployed(reason).await
    }

    /// Lets the minute pass after which a deployment is adopted.
    pub(crate) async fn adopted(&self) {
        self.until_reason("Adopting").await;
        self.pass(QUIET).await;
    }

    /// Lets the deletion that has begun undeploy, and end.
    pub(crate) async fn undeployed(&self) {
        self.until_calls("deleteDeploymentById", 1).await;
        self.clock.step(DEPLOYING);
        self.until_gone().await;
    }

    /// Number of calls that read deployments.
    pub(crate) fn looks(&self) -> u64 {
        ["getDeploymentById", "getDeploymentByKey", "queryDeployments"]
            .map(|operation| self.calls(operation))
            .iter()
            .sum()
    }

    /// Returns once this operation of the remote was answered this many times.
    pub(crate) async fn until_calls(&self, operation: &str, times: u64) {
        self.until_so(operation, || self.calls(operation) >= times).await;
    }

    /// Returns once a condition outside the cluster holds.
    pub(crate) async fn until_so(&self, what: &str, is: impl Fn() -> bool) {
        let so = async {
            while !is() {
                tokio::time::sleep(TICK).await;
            }
        };
        let seen = in_time(so).await;
        assert!(seen.is_ok(), "not in time: {what}\n{:?}", self.dev.counts());
    }

    /// Watches every version of the deployment from now on.
    pub(crate) async fn history(&self) -> History {
        let api = self.api::<ConnectorDeployment>();
        let version = api.list_metadata(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
        let parameters = WatchParams::default().fields(&format!("metadata.name={NAME}"));
        let events = api.watch(&parameters, &version).await.unwrap();
        let versions = events.filter_map(async |event| match event.unwrap() {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => Some(object),
            // It has the object as it was before its last finalizer was removed.
            WatchEvent::Deleted(mut object) => {
                object.metadata.finalizers = None;
                Some(object)
            }
            WatchEvent::Bookmark(_) => None,
            WatchEvent::Error(error) => panic!("{error:?}"),
        });
        History { versions: versions.boxed() }
    }
}

async fn tick(clock: Clock, slow: Arc<AtomicBool>) {
    let mut ticks = tokio::time::interval(TICK);
    // Time that the machine spent elsewhere is not caught up.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut stepped, mut left) = (Instant::now(), clock.now());
    loop {
        ticks.tick().await;
        if clock.now() != left {
            stepped = Instant::now();
        }
        clock.step(match slow.load(Ordering::Relaxed) {
            true => SLOW_TICK,
            // A step that came before the timer which it was for costs time, and the test goes on.
            false if waits_long(stepped) => 5 * TICK,
            false => TICK,
        });
        left = clock.now();
    }
}

/// The versions of the deployment, in the order in which the API server stored them.
pub(crate) struct History {
    versions: BoxStream<'static, ConnectorDeployment>,
}

impl History {
    /// Returns the versions so far, up to the first that satisfies `is`.
    pub(crate) async fn until(&mut self, is: impl Fn(&ConnectorDeployment) -> bool) -> Vec<ConnectorDeployment> {
        let mut seen = Vec::new();
        let all = async {
            while let Some(object) = self.versions.next().await {
                let last = is(&object);
                seen.push(object);
                if last {
                    return;
                }
            }
            panic!("the watch ended");
        };
        let found = in_time(all).await;
        assert!(found.is_ok(), "not in time; versions: {seen:#?}");
        seen
    }
}

pub(crate) fn status(object: &ConnectorDeployment) -> ConnectorDeploymentStatus {
    object.status.clone().unwrap_or_default()
}

pub(crate) fn condition<'a>(object: &'a ConnectorDeployment, name: &str) -> Option<&'a Condition> {
    object.status.iter().flat_map(|status| &status.conditions).find(|condition| condition.type_ == name)
}

/// Whether the condition of this type exists and is true.
pub(crate) fn is(object: &ConnectorDeployment, name: &str) -> bool {
    condition(object, name).is_some_and(|condition| condition.status == "True")
}

/// Status and reason of the Ready condition.
pub(crate) fn ready(object: &ConnectorDeployment) -> (&str, &str) {
    condition(object, "Ready").map_or(("", ""), |ready| (&ready.status, &ready.reason))
}

/// The operation in progress.
pub(crate) fn operation(object: &ConnectorDeployment) -> Option<Operation> {
    state(object).operation
}

pub(crate) fn is_accepted(object: &ConnectorDeployment) -> bool {
    operation(object).is_some_and(|operation| operation.state == OperationState::Accepted)
}

/// The configuration of the only application, with this level and the token of the Secret.
pub(crate) fn level(level: &str) -> Value {
    json!({"configurations": [{
        "applicationName": "service",
        "standardConfiguration": [{"key": "LOG_LEVEL", "value": level}],
        "securedConfiguration": [{"key": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "token"}}}],
    }]})
}
