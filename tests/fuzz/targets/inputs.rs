//! Any input of `decide`: persisted state, desired values, observation and transient state, each from few choices, so
//! that equal ones meet often.

use std::time::Duration;

use clock::later;
use connect_operator::operator::cluster::references::Source;
use connect_operator::operator::deployment::decide::{
    Accepted, Cause, Change, Decision, DesiredPayload, Input, Intent, Pause, Refused, Response, Resting,
    TransientState, Version, decide,
};
use connect_operator::operator::deployment::persisted::{
    Applied, ConnectorName, DeletionPolicy, Identity, Observation, ObservedDeployment, Operation, OperationState,
    OperationType, Payload, PersistedState, Phase, Sources,
};
use connect_operator::operator::values::digest::{Digest, DigestKey, KEY_LENGTH};
use connect_operator::operator::values::names::{Item, Names, VisibleValues, differences};
use jiff::Timestamp;

use super::bytes::Bytes;

/// The seconds that rules use, and those just before and after.
const SPANS: [u64; 20] = [0, 1, 2, 5, 6, 9, 10, 29, 30, 31, 59, 60, 61, 119, 120, 121, 300, 1_800, 86_400, 1 << 40];
const IDS: [&str; 3] = ["id-1", "id-2", ""];
const PHASES: [Phase; 8] = [
    Phase::Deployed,
    Phase::Failed,
    Phase::Draft,
    Phase::UndeployFailed,
    Phase::Queued,
    Phase::Deploying,
    Phase::Undeploying,
    Phase::Other,
];

/// All inputs of a decision, owned.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    pub(crate) persisted: PersistedState,
    pub(crate) intent: Intent,
    pub(crate) wanted: Option<DesiredPayload>,
    pub(crate) observation: Observation,
    pub(crate) transient: TransientState,
    pub(crate) now: Timestamp,
}

/// The key of all digests that are computed here.
pub(crate) fn digests() -> DigestKey {
    DigestKey::new([7; KEY_LENGTH])
}

impl Inputs {
    pub(crate) fn any(bytes: &mut Bytes<'_>) -> Self {
        let now =
            bytes.one(&[Timestamp::constant(1_000_000_000, 0), Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH]);
        let mut generator = Generator { bytes, now };
        let (persisted, intent) = (generator.persisted(), generator.intent());
        Self {
            persisted,
            intent,
            wanted: generator.wanted(),
            observation: generator.observation(),
            transient: generator.transient(),
            now,
        }
    }

    pub(crate) fn decide(&self) -> Decision {
        let Self { persisted, intent, wanted, observation, transient, now } = self;
        decide(&Input {
            persisted,
            intent,
            wanted: wanted.as_ref(),
            observation,
            transient,
            digests: &digests(),
            observed_at: *now,
            now: *now,
        })
    }

    /// Lets time move on, or back, and changes the observation.
    pub(crate) fn move_on(&mut self, bytes: &mut Bytes<'_>) {
        self.now = Generator { bytes, now: self.now }.time(true);
        let mut generator = Generator { bytes, now: self.now };
        self.observation = generator.observation();
        if generator.bytes.flag() {
            self.wanted = generator.wanted();
        }
    }
}

pub(crate) fn answer(bytes: &mut Bytes<'_>) -> Response {
    let id = bytes.one(&IDS).to_owned();
    let phase = bytes.one(&PHASES);
    bytes.one(&[
        Response::Accepted(Accepted { id, phase }),
        Response::Refused,
        Response::Retryable,
        Response::Duplicate,
        Response::NotFound,
        Response::Unknown,
    ])
}

struct Generator<'b, 'a> {
    bytes: &'b mut Bytes<'a>,
    now: Timestamp,
}

impl Generator<'_, '_> {
    /// Returns a time after now, or before it.
    fn time(&mut self, after: bool) -> Timestamp {
        let span = Duration::from_secs(self.bytes.one(&SPANS));
        if self.bytes.flag() == after {
            return self.now.saturating_sub(span).unwrap_or(Timestamp::MIN);
        }
        later(self.now, span)
    }

    fn past(&mut self) -> Timestamp {
        self.time(false)
    }

    fn id(&mut self) -> String {
        self.bytes.one(&IDS).to_owned()
    }

    fn version(&mut self) -> i64 {
        let any = self.bytes.number();
        self.bytes.one(&[1, 2, 3, any])
    }

    fn generation(&mut self) -> i64 {
        self.bytes.one(&[1, 2, i64::MAX])
    }

    fn request(&mut self) -> Option<String> {
        self.bytes.one(&[None, Some("now"), Some("again")]).map(ToOwned::to_owned)
    }

    fn digest(&mut self) -> Digest {
        Digest::parse(self.bytes.one(&["key:one", "key:two", "other:one", "", ":"]))
    }

    fn values(&mut self) -> VisibleValues {
        let value = self.bytes.one(&["1", "2", ""]);
        let schedule = self.bytes.one(&[None, Some("0 5 * * *")]).map(ToOwned::to_owned);
        let standard = self.bytes.flag().then(|| (Item::standard("service", "A"), value.to_owned()));
        standard.into_iter().chain(schedule.map(|schedule| (Item::schedule("service"), schedule))).collect()
    }

    /// Returns the names of some values.
    fn names(&mut self) -> Names {
        let all = [Item::standard("service", "A"), Item::schedule("service"), Item::secured("service", "T")];
        all.into_iter().filter(|_| self.bytes.flag()).collect()
    }

    fn differs(&mut self) -> Option<Digest> {
        let (sent, shown) = (self.values(), self.values());
        digests().of_differences(&differences(&sent, &shown))
    }

    fn payload(&mut self) -> Payload {
        let source = |version: &str| Source {
            kind: "Secret".into(),
            name: "tax".into(),
            uid: "1".into(),
            resource_version: version.into(),
        };
        let sources = self.bytes.one(&[vec![], vec![source("1")], vec![source("2")]]);
        let sources = Sources::of(&sources);
        let (names, values) = (self.names(), self.values());
        Payload { digest: self.digest(), visible: digests().of_visible(&names, &values), names, sources }
    }

    fn wanted(&mut self) -> Option<DesiredPayload> {
        let payload = self.payload();
        let values = self.values();
        (!self.bytes.flag()).then_some(DesiredPayload { payload, values })
    }

    fn operation(&mut self) -> Operation {
        Operation {
            kind: self.bytes.one(&[
                OperationType::Create,
                OperationType::Redeploy,
                OperationType::Undeploy,
                OperationType::Recreate,
            ]),
            state: self.bytes.one(&[OperationState::Planned, OperationState::Accepted]),
            attempt: self.bytes.one(&[1, 2, 7, 40, u32::MAX - 7, 0]),
            generation: self.generation(),
            payload: (!self.bytes.flag()).then(|| self.payload()),
            from_version: (!self.bytes.flag()).then(|| self.version()),
            from_build: self.bytes.one(&[None, Some("build-1"), Some("build-2")]).map(ToOwned::to_owned),
            changes_visible: self.bytes.flag(),
            seen_busy: self.bytes.flag(),
            redeploy_request: self.request(),
            started_at: self.past(),
        }
    }

    fn applied(&mut self) -> Applied {
        Applied {
            generation: self.generation(),
            digest: (!self.bytes.flag()).then(|| self.digest()),
            outcome: self.bytes.one(&PHASES),
            serves: self.bytes.flag(),
            from_version: (!self.bytes.flag()).then(|| self.version()),
            connector_version: self.bytes.flag().then(|| self.version()),
            rollback: self.bytes.one(&[None, Some("revision-1")]).map(ToOwned::to_owned),
            names: (!self.bytes.flag()).then(|| self.names()),
            differs: self.differs(),
            uncompared: self.bytes.flag(),
            accepted: self.differs(),
            retained: self.names(),
            sources: self.payload().sources,
            at: self.past(),
        }
    }

    fn persisted(&mut self) -> PersistedState {
        PersistedState {
            id: self.bytes.flag().then(|| self.id()),
            applied: self.bytes.flag().then(|| self.applied()),
            operation: self.bytes.flag().then(|| self.operation()),
            handled_redeploy: self.request(),
            followed: self.bytes.flag().then(|| self.version()),
            unverified: self.bytes.flag(),
            ..PersistedState::default()
        }
    }

    fn intent(&mut self) -> Intent {
        let flags = self.bytes.byte();
        // Each restriction applies in a quarter of the cases: with all of them at once nothing is ever sent.
        let rarely = |bytes: &mut Bytes<'_>| bytes.byte() % 4 == 1;
        Intent {
            generation: self.generation(),
            identity: Identity {
                connector: self.bytes.one(&[
                    ConnectorName::Key("connector".into()),
                    ConnectorName::Id("connector-id".into()),
                    ConnectorName::Key("another".into()),
                ]),
                region: "region".into(),
                kind: "sandbox".into(),
            },
            remote_id: (flags & 1 == 1).then(|| self.id()),
            redeploy_request: self.request(),
            reconcile_request: self.request(),
            deletion: self.bytes.one(&[None, None, Some(DeletionPolicy::Delete), Some(DeletionPolicy::Orphan)]),
            adopt: flags & 2 == 2,
            observe_only: rarely(self.bytes),
            suspended: rarely(self.bytes),
            correct_drift: flags & 4 == 4,
            recreate: flags & 64 == 64,
            version: Version {
                wanted: (flags & 8 == 8).then(|| self.version()),
                follow: flags & 16 == 16,
                latest: (flags & 32 == 32).then(|| self.version()),
            },
        }
    }

    fn observation(&mut self) -> Observation {
        if self.bytes.flag() {
            return Observation::Absent { key_held_by: self.bytes.flag().then(|| self.id()) };
        }
        Observation::Present(ObservedDeployment {
            id: self.id(),
            version: self.version(),
            phase: self.bytes.one(&PHASES),
            build: self.bytes.one(&[None, Some("build-1"), Some("build-2")]).map(ToOwned::to_owned),
            connector_id: "connector-id".into(),
            connector_key: self.bytes.one(&[None, Some("connector"), Some("another")]).map(ToOwned::to_owned),
            connector_version: self.version(),
            rollback: self.bytes.one(&[None, Some("revision-1"), Some("revision-2")]).map(ToOwned::to_owned),
            region: self.bytes.one(&["region", "region", "elsewhere"]).to_owned(),
            kind: "sandbox".into(),
            values: self.values(),
            applications: ["service".to_owned()].into(),
            secured: self.bytes.flag().then(|| Item::secured("service", "T")).into_iter().collect(),
            declared: None,
        })
    }

    fn any_cause(&mut self) -> Cause {
        Cause { digest: Some(self.digest()), generation: self.generation(), request: self.request(), latest: None }
    }

    fn transient(&mut self) -> TransientState {
        TransientState {
            absent_since: self.bytes.flag().then(|| self.past()),
            resting: self.bytes.flag().then(|| Resting {
                phase: self.bytes.one(&PHASES),
                version: self.version(),
                since: self.past(),
            }),
            change: self.bytes.flag().then(|| Change {
                cause: self.any_cause(),
                first: self.past(),
                last: self.past(),
            }),
            refused: self.bytes.flag().then(|| Refused {
                cause: self.any_cause(),
                until: self.past(),
                times: self.bytes.one(&[1, 2, 40, u32::MAX]),
            }),
            pause: self.bytes.flag().then(|| Pause { until: self.past(), times: self.bytes.one(&[1, 40, u32::MAX]) }),
            busy_since: self.bytes.flag().then(|| self.past()),
        }
    }
}
