//! One resource as its controller handles it, with the real client over real sockets, the circuit breaker of its
//! project, `decide` and `act`, but without a cluster: the persisted state is kept here.

use std::pin::pin;

use clock::between;
use connect_api::CommerceApi;
use connect_api::http::{self, Limits};
use connect_operator::crd::shared::RemoteIdentity;
use connect_operator::metrics::Metrics;
use connect_operator::operator::cluster::queue::backoff;
use connect_operator::operator::cluster::references::Referenced;
use connect_operator::operator::cluster::references::Source;
use connect_operator::operator::context::content_cache::Content;
use connect_operator::operator::deployment::act::{self, Done, PersistedOperation};
use connect_operator::operator::deployment::decide::{
    AppliedResponse, DesiredPayload, Input, Outcome, Response, Step, TransientState, apply_response, decide,
};
use connect_operator::operator::deployment::desired::{self, Contents, Desired};
use connect_operator::operator::deployment::intent::{self, intent, target};
use connect_operator::operator::deployment::observe::{self, RecordRead};
use connect_operator::operator::deployment::persisted::{OperationState, OperationType, PersistedState};
use connect_operator::operator::deployment::state;
use connect_operator::operator::deployment::status::DesiredIdentity;
use connect_operator::operator::object_ref::ObjectRef;
use connect_operator::operator::remote::{ConnectFactory, Connection, Outage, Remote, Remotes, Settings};
use connect_operator::operator::values::digest::DigestKey;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use tokio::sync::mpsc::unbounded_channel;

use super::faults::{Fault, How};
use crate::addresses;
use crate::patience::brief;
use crate::prelude::*;

/// When every test begins.
pub(super) const START: &str = "2026-01-01T00:00:00Z";
/// Duration of a deployment at the dev server.
const DEPLOY_DURATION: Duration = Duration::from_secs(5);
/// Lifetime of a token: shorter than the difference between clocks.
pub(super) const TOKEN_LIFETIME: Duration = Duration::from_mins(30);
/// Poll interval of a settled resource.
pub(super) const INTERVAL: Duration = Duration::from_mins(5);
/// Limit of the reads that a resource needs until it is settled.
const MOST_LOOKS: usize = 200;

/// Returns the limits of requests: the operator's own, which a busy machine keeps, except for faults that last as long
/// as a limit; and sizes that are reached soon.
fn limits(takes_time: bool) -> Limits {
    let (page_body, body, small_body) = (128 << 10, 128 << 10, 32 << 10);
    let usual = Limits { page_body, body, small_body, ..Limits::default() };
    if takes_time { Limits { call: brief(), ..usual } } else { usual }
}

/// Runs a future on a clock that advances only for the rate limiter, which uses it too: otherwise a request would wait
/// for ever.
pub(super) async fn at_a_standstill<T>(clock: &Clock, asked: impl Future<Output = T>) -> T {
    let mut asked = pin!(asked);
    loop {
        tokio::select! {
            biased;
            result = &mut asked => return result,
            () = tokio::time::sleep(Duration::from_millis(20)) => clock.step(Duration::from_micros(100)),
        }
    }
}

/// Provides the one client of a test.
struct Factory(Arc<HttpConnect>);

impl ConnectFactory for Factory {
    fn connect(&self, _: &Settings) -> Result<Arc<dyn Connection>, String> {
        Ok(self.0.clone())
    }

    fn commerce(&self, _: &Settings, _: &str) -> Result<Arc<dyn CommerceApi>, String> {
        Ok(self.0.clone())
    }
}

/// The result of a turn.
pub(super) enum Turn {
    /// Nothing is sent; the next reconcile is after this time.
    Rest(Outcome, Option<Duration>),
    /// A call was sent.
    Sent(Box<(Done, AppliedResponse)>),
    /// The finalizer may be removed.
    Released,
    /// The read failed.
    Blind(ApiError),
}

/// A resource, its remote, and the time.
pub(super) struct Desk {
    pub(super) clock: Clock,
    pub(super) dev: DevServer,
    pub(super) remote: Arc<Remote>,
    /// Bypasses the circuit breaker, for reads whose fate is not part of a test.
    pub(super) client: Arc<HttpConnect>,
    pub(super) identity: DesiredIdentity,
    pub(super) persisted: PersistedState,
    pub(super) options: Options,
    address: SocketAddr,
    object: ConnectorDeployment,
    secret: String,
    digest_key: DigestKey,
    transient: TransientState,
    /// Keeps the poller alive.
    _remotes: Arc<Remotes>,
    /// Keeps the state file.
    _folder: Option<TempDir>,
}

impl Desk {
    /// Creates a project that answers, and a resource without any operation.
    pub(super) async fn new(clock: Clock, fault: &Fault) -> Self {
        // Only a server that is restarted needs a state file.
        let folder = matches!(fault.how, How::Refused).then(|| tempfile::tempdir().unwrap());
        let state_file = folder.as_ref().map(|folder| folder.path().join("state.json"));
        Self { _folder: folder, ..Self::within(limits(fault.takes_time()), state_file, clock.clone(), clock).await }
    }

    /// Creates the same with a remote whose clock is independent.
    pub(super) async fn with_clocks(clock: Clock, theirs: Clock) -> Self {
        Self::within(limits(false), None, clock, theirs).await
    }

    async fn within(limits: Limits, state_file: Option<PathBuf>, clock: Clock, theirs: Clock) -> Self {
        let options = Options {
            deploy_duration: DEPLOY_DURATION,
            token_lifetime: TOKEN_LIFETIME,
            seed: Some(1),
            state_file,
            ..Options::default()
        };
        // Nobody else gets the port while it refuses connections.
        let listener = TcpListener::from_std(addresses::listener()).unwrap();
        let dev = DevServer::start_on(listener, options.clone(), theirs).await.unwrap();
        let settings = http::Settings { limits, ..settings(&dev.url(), &dev.url()) };
        let client = Arc::new(HttpConnect::new(settings, ClientContext::plain(clock.clone())).unwrap());
        let (enqueue, _) = unbounded_channel();
        let metrics = Metrics::new(clock.now());
        let remotes = Remotes::new(clock.clone(), Arc::new(Factory(Arc::clone(&client))), enqueue, 16, 7, metrics);
        let claimed = Settings {
            api_url: dev.url(),
            auth_url: dev.url(),
            project_key: "demo".into(),
            client_id: "dev-client".into(),
            client_secret: "dev-secret".into(),
            scopes: None,
            requests_per_second: Rate::per_second(10_000),
        };
        let remote = remotes.claim(&ObjectRef::project("shop", "shop"), &claimed).unwrap();
        // Nobody enters before the project has answered.
        let permit = remote.enter(&ObjectRef::deployment("shop", "tax")).await;
        assert!(permit.is_ok(), "it answers");
        let (object, address) = (resource(), dev.address());
        let identity = DesiredIdentity {
            key: intent::key(&object),
            kind: object.spec.effective_type(),
            region: "europe-west1.gcp".into(),
            remote: RemoteIdentity { api_url: dev.url(), project_key: "demo".into() },
        };
        Self {
            clock,
            dev,
            remote,
            client,
            identity,
            persisted: PersistedState::default(),
            options,
            address,
            object,
            secret: "first-token-of-the-shop".into(),
            digest_key: DigestKey::new([7; 32]),
            transient: TransientState::default(),
            _remotes: remotes,
            _folder: None,
        }
    }

    /// Creates the same, with a live deployment.
    pub(super) async fn live(clock: Clock, fault: &Fault) -> Self {
        let mut desk = Self::new(clock, fault).await;
        desk.follow_to_the_end().await;
        desk
    }

    /// Rotates the Secret.
    pub(super) fn rotate(&mut self) {
        "second-token-of-the-shop".clone_into(&mut self.secret);
    }

    /// Deletes the resource.
    pub(super) fn delete(&mut self) {
        self.object.metadata.deletion_timestamp = Some(Time(self.clock.now()));
    }

    pub(super) fn id(&self) -> String {
        self.persisted.id.clone().expect("it is live")
    }

    /// Returns the address of the remote, even while it does not listen.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the state of the operation in progress.
    pub(super) fn operation_state(&self) -> Option<OperationState> {
        self.persisted.operation.as_ref().map(|operation| operation.state)
    }

    /// Lets time pass, here and at the remote.
    pub(super) fn pass(&self, time: Duration) {
        let before = self.dev.now();
        self.clock.step(time);
        // The remote has a clock of its own.
        if self.dev.now() == before {
            self.dev.clock().step(time);
        }
    }

    /// Returns why the circuit breaker of the project is open, if it is.
    pub(super) fn closed(&self) -> Option<Outage> {
        self.remote.outage()
    }

    /// Makes one read, and one call at most. `before_the_call` can make it fail.
    pub(super) async fn turn(
        &mut self,
        api: &dyn ConnectApi,
        before_the_call: impl AsyncFnOnce(&mut DevServer),
    ) -> Turn {
        let looked = match self.observation().await {
            Ok(looked) => looked,
            Err(error) => return Turn::Blind(error),
        };
        let desired = self.desired();
        let wanted = self.wanted(&desired);
        let target = target(&self.object, None).expect("the connector is named by its key");
        let intent = intent(&self.object, &self.identity, Some(&target), None);
        let observation = observe::observation(&looked);
        let decision = decide(&Input {
            persisted: &self.persisted,
            intent: &intent,
            wanted: Some(&wanted),
            observation: &observation,
            transient: &self.transient,
            digests: &self.digest_key,
            observed_at: looked.at,
            now: self.clock.now(),
        });
        self.persisted = decision.persisted.clone();
        self.transient = decision.transient.clone();
        let call = match decision.step {
            Step::NoOp => return Turn::Rest(decision.outcome, decision.again),
            Step::RemoveFinalizer => return Turn::Released,
            Step::Send(call) => call,
        };
        before_the_call(&mut self.dev).await;
        let mut stored = self.object.clone();
        state::write(stored.status.get_or_insert_default(), &self.persisted);
        let operation = PersistedOperation::of(&stored).expect("the decision has an operation");
        let done =
            act::send(api, &self.object, &self.identity, Some(&target), call.kind, &desired.values, &operation).await;
        let outcome = apply_response(&self.persisted, &self.transient, &call, &done.response, self.clock.now());
        self.persisted = outcome.persisted.clone();
        self.transient = outcome.transient.clone();
        Turn::Sent(Box::new((done, outcome)))
    }

    /// Reads and calls until the resource is settled or deleted. Returns when the next call was sent, if one was.
    pub(super) async fn follow_to_the_end(&mut self) -> Option<Timestamp> {
        let mut sent = None;
        for _ in 0..MOST_LOOKS {
            let client = Arc::clone(&self.client);
            let pause = match self.turn(&*client, async |_| {}).await {
                Turn::Rest(Outcome::Settled { .. }, _) | Turn::Released => return sent,
                Turn::Rest(_, again) => again.unwrap_or(INTERVAL),
                Turn::Blind(error) => error.retry_after.unwrap_or(Duration::from_secs(1)),
                Turn::Sent(call) => {
                    sent = sent.or(Some(self.clock.now()));
                    if call.1.remove_finalizer {
                        return sent;
                    }
                    self.after(&call)
                }
            };
            self.pass(pause);
        }
        panic!("it does not settle: {:?}, {:?}", self.persisted, self.transient);
    }

    /// Returns how long a reconcile waits after a call: as `deployment/reconcile/execute.rs` does.
    pub(super) fn after(&self, (done, outcome): &(Done, AppliedResponse)) -> Duration {
        let refused = outcome.transient.refused.as_ref().is_some_and(|refused| !refused.is_of_deletion());
        match (&done.response, outcome.transient.pause, &done.error) {
            (Response::Accepted(_), ..) => Duration::from_secs(3),
            _ if outcome.outcome == Outcome::KeyTaken || refused => INTERVAL,
            (_, Some(pause), _) => between(self.clock.now(), pause.until),
            (_, None, Some(error)) => backoff::pause(1).max(error.retry_after.unwrap_or_default()),
            (_, None, None) => Duration::from_secs(5),
        }
    }

    /// Reads as `observe` does, but without the shared view.
    async fn observation(&self) -> Result<RecordRead, ApiError> {
        let creating = self.persisted.operation.as_ref().is_some_and(|operation| {
            operation.kind == OperationType::Create && operation.state == OperationState::Planned
        });
        let selector = match &self.persisted.id {
            Some(id) if !creating => Selector::Id(id.clone()),
            _ => Selector::Key(self.identity.key.clone()),
        };
        let record: Option<Deployment> = self.client.deployment(&selector).await?;
        Ok(RecordRead { at: self.clock.now(), record: record.map(Arc::new), key_held_by: None })
    }

    fn desired(&self) -> Desired {
        let source = Source {
            kind: "Secret".into(),
            name: "tax".into(),
            uid: "uid".into(),
            resource_version: self.secret.len().to_string(),
        };
        let data = BTreeMap::from([("token".to_owned(), SecretSlice::from(self.secret.clone().into_bytes()))]);
        let contents = Contents::from([((Referenced::Secret, "tax".to_owned()), Ok(Content { source, data }))]);
        desired::from_spec(&self.object.spec, &contents, None).expect("nothing is missing")
    }

    fn wanted(&self, desired: &Desired) -> DesiredPayload {
        desired.wanted(&self.digest_key)
    }
}

fn resource() -> ConnectorDeployment {
    let spec = json!({
        "projectRef": {"name": "shop"},
        "connector": {"key": "demo-connector"},
        "configurations": [{
            "applicationName": "service",
            "standardConfiguration": [{"key": "LOG_LEVEL", "value": "info"}],
            "securedConfiguration": [
                {"key": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": "tax", "key": "token"}}},
            ],
        }],
    });
    let mut object = ConnectorDeployment::new("tax", serde_json::from_value(spec).unwrap());
    object.metadata.namespace = Some("shop".to_owned());
    object.metadata.generation = Some(1);
    object
}
