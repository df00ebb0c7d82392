//! A remote for tests, with a service, clock and jitter that the test controls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use clock::{Clock, between, later};
use connect_api::api::{Answer, PageRequest};
use connect_api::model::{
    Connector, ConnectorStaged, ConnectorStagedDraft, ConnectorUpdate, Deployment, DeploymentDraft, Paged,
    RedeployAction,
};
use connect_api::registry::StagedApi;
use connect_api::{ApiError, CommerceApi, ConnectApi, Rate, Selector};
use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::state::Common;
use super::tasks::REGISTRY;
use super::{ConnectFactory, Connection, Remote, Settings};
use crate::metrics::Metrics;
use crate::operator::object_ref::ObjectRef;

/// The time at which every test begins.
pub(super) const START: Timestamp = Timestamp::UNIX_EPOCH;

/// Returns the time that many seconds after the start.
pub(super) fn at(seconds: u64) -> Timestamp {
    later(START, Duration::from_secs(seconds))
}

/// Returns the object with that number.
pub(super) fn object_ref(number: usize) -> ObjectRef {
    ObjectRef::deployment("default", &format!("tax-{number}"))
}

/// Returns the id of the remote deployment with that number.
pub(super) fn id(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

/// Returns a record in that version.
pub(super) fn deployment(id: &str, version: i64) -> Deployment {
    let record = json!({"id": id, "key": "tax", "version": version, "status": "Deployed"});
    serde_json::from_value(record).expect("the record has all required members")
}

/// Returns a published connector in that version.
fn connector(id: &str, version: i64) -> Connector {
    let record = json!({"id": id, "key": id, "version": version});
    serde_json::from_value(record).expect("the record has all required members")
}

/// Returns settings of the project `demo`.
pub(super) fn settings(secret: &str, requests_per_second: u32) -> Settings {
    Settings {
        api_url: "http://connect.test".into(),
        auth_url: "http://auth.test".into(),
        project_key: "demo".into(),
        client_id: "client".into(),
        client_secret: secret.into(),
        scopes: None,
        requests_per_second: Rate::per_second(requests_per_second),
    }
}

/// A call, as the service saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Page { offset: u32, limit: u16 },
    Get(String),
    Connector(String),
}

/// How the service answers.
#[derive(Clone, Debug, Default)]
pub(super) enum Mood {
    #[default]
    Works,
    Fails(ApiError),
    ListFails(ApiError),
    GetFails(String, ApiError),
    Hangs,
    RegistryHangs,
    Panics,
}

#[derive(Default)]
pub(super) struct World {
    pub(super) deployments: BTreeMap<String, i64>,
    /// Versions of published connectors.
    pub(super) connectors: BTreeMap<String, i64>,
    /// Ids that lists omit, as happens when pages shift.
    pub(super) hidden: Vec<String>,
    pub(super) mood: Mood,
    /// Time that each call takes.
    pub(super) latency: Duration,
    pub(super) calls: Vec<(Timestamp, Call)>,
}

/// The service behind a remote.
pub(super) struct Service {
    clock: Clock,
    world: Mutex<World>,
}

impl Service {
    pub(super) fn new(clock: &Clock) -> Arc<Self> {
        Arc::new(Self { clock: clock.clone(), world: Mutex::default() })
    }

    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("no test panics while it holds the world")
    }

    /// Returns the calls since the last time.
    pub(super) fn calls(&self) -> Vec<Call> {
        self.world().calls.drain(..).map(|(_, call)| call).collect()
    }

    fn answer<T: Send + 'static>(
        &self,
        call: Call,
        good: impl FnOnce(&World) -> T,
    ) -> BoxFuture<'static, Result<T, ApiError>> {
        let now = self.clock.now();
        let mut world = self.world();
        world.calls.push((now, call.clone()));
        let answer = match (&world.mood, call) {
            (Mood::Fails(error), _) | (Mood::ListFails(error), Call::Page { .. }) => Err(error.clone()),
            (Mood::GetFails(id, error), Call::Get(asked)) if *id == asked => Err(error.clone()),
            (Mood::Hangs, _) | (Mood::RegistryHangs, Call::Connector(_)) => return Box::pin(std::future::pending()),
            (Mood::Panics, _) => return Box::pin(async { panic!("this client panics") }),
            _ => Ok(good(&world)),
        };
        // As over a network, the answer arrives later.
        let (clock, latency) = (self.clock.clone(), world.latency);
        Box::pin(async move {
            tokio::task::yield_now().await;
            clock.step(latency);
            answer
        })
    }
}

impl ConnectApi for Service {
    fn deployments(&self, page: PageRequest) -> Answer<'_, Paged<Arc<Deployment>>> {
        self.answer(Call::Page { offset: page.offset, limit: page.limit }, |world| {
            let shown = world.deployments.iter().skip(page.offset as usize).take(usize::from(page.limit));
            let shown = shown.filter(|(id, _)| !world.hidden.contains(id));
            let results: Vec<_> = shown.map(|(id, version)| Arc::new(deployment(id, *version))).collect();
            let [count, total] = [results.len(), world.deployments.len()].map(|n| i64::try_from(n).expect("few"));
            Paged { limit: page.limit.into(), offset: page.offset.into(), count, total, results }
        })
    }

    fn deployment<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<Deployment>> {
        let (Selector::Id(id) | Selector::Key(id)) = selector;
        self.answer(Call::Get(id.clone()), |world| world.deployments.get(id).map(|version| deployment(id, *version)))
    }

    fn create<'a>(&'a self, _: &'a DeploymentDraft, _: Timestamp) -> Answer<'a, Deployment> {
        unreachable!("no test here creates")
    }

    fn redeploy<'a>(
        &'a self,
        _: &'a Selector,
        _: i64,
        _: &'a RedeployAction,
        _: Timestamp,
    ) -> Answer<'a, Option<Deployment>> {
        unreachable!("no test here redeploys")
    }

    fn undeploy<'a>(&'a self, _: &'a Selector, _: Timestamp) -> Answer<'a, Option<Deployment>> {
        unreachable!("no test here undeploys")
    }

    fn connector<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<Connector>> {
        let (Selector::Id(id) | Selector::Key(id)) = selector;
        self.answer(Call::Connector(id.clone()), |world| {
            world.connectors.get(id).map(|version| connector(id, *version))
        })
    }

    fn staged<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<ConnectorStaged>> {
        let (Selector::Id(id) | Selector::Key(id)) = selector;
        self.answer(Call::Connector(id.clone()), |_| None)
    }
}

impl StagedApi for Service {
    fn stage<'a>(&'a self, _: &'a ConnectorStagedDraft, _: Timestamp) -> Answer<'a, ConnectorStaged> {
        unreachable!("no test here stages")
    }

    fn update<'a>(
        &'a self,
        _: &'a Selector,
        _: &'a ConnectorUpdate,
        _: Timestamp,
    ) -> Answer<'a, Option<ConnectorStaged>> {
        unreachable!("no test here updates staged connectors")
    }

    fn discard<'a>(&'a self, _: &'a Selector, _: Timestamp) -> Answer<'a, Option<ConnectorStaged>> {
        unreachable!("no test here deletes staged connectors")
    }
}

impl Connection for Service {
    fn scopes(&self) -> Option<Vec<String>> {
        None
    }
}

/// Makes clients that all call one service.
pub(super) struct Factory(pub(super) Arc<Service>);

impl ConnectFactory for Factory {
    fn connect(&self, _: &Settings) -> Result<Arc<dyn Connection>, String> {
        Ok(self.0.clone())
    }

    fn commerce(&self, _: &Settings, _: &str) -> Result<Arc<dyn CommerceApi>, String> {
        Err("no test here looks anything up".into())
    }
}

/// Lets the other tasks run until the condition holds.
pub(super) async fn until(mut so: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if so() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the condition never holds");
}

/// A remote without its tasks: the test runs their rounds.
pub(super) struct Bench {
    pub(super) clock: Clock,
    pub(super) service: Arc<Service>,
    pub(super) remote: Arc<Remote>,
    enqueued: UnboundedReceiver<ObjectRef>,
}

/// Returns metrics that no test reads.
pub(super) fn metrics(clock: &Clock) -> Arc<Metrics> {
    Metrics::new(clock.now())
}

impl Bench {
    pub(super) fn new(deployments: usize, concurrency: usize) -> Self {
        let clock = Clock::stepped(START);
        let service = Service::new(&clock);
        service.world().deployments = (0..deployments).map(|number| (id(number), 1)).collect();
        let (enqueue, enqueued) = unbounded_channel();
        let client: Arc<dyn Connection> = service.clone();
        let common = Common { clock: clock.clone(), enqueue, concurrency, metrics: metrics(&clock) };
        let remote = Remote::new(&common, 7, ObjectRef::project("default", "demo"), client, settings("secret", 10));
        Self { clock, service, remote: Arc::new(remote), enqueued }
    }

    /// Lets the poller work until it rests; returns until when.
    pub(super) async fn settle(&self) -> Timestamp {
        for _ in 0..1_000 {
            if let Some(until) = self.remote.round().await {
                return until;
            }
        }
        panic!("the poller does not rest");
    }

    /// Lets time pass, with all rounds in between.
    pub(super) async fn pass(&self, duration: Duration) {
        let end = later(self.clock.now(), duration);
        loop {
            self.remote.refresh_registry().await;
            let registry = later(self.clock.now(), REGISTRY);
            let next = self.settle().await.min(registry).min(end);
            self.clock.step(between(self.clock.now(), next));
            if next >= end {
                return;
            }
        }
    }

    /// Returns the resources enqueued since the last time.
    pub(super) fn enqueued(&mut self) -> Vec<ObjectRef> {
        let all = std::iter::from_fn(|| self.enqueued.try_recv().ok());
        all.filter(|object_ref| !object_ref.kind.is_project()).collect()
    }
}
