//! Builds the cases of the tests: a running deployment `id-1` at version 5, whose only visible value is `A`.

use std::time::Duration;

use jiff::Timestamp;

use crate::operator::deployment::decide::{
    Cause, Change, Decision, DesiredPayload, Input, Intent, Outcome, Resting, Step, TransientState, Version, decide,
};
use crate::operator::deployment::persisted::{
    Applied, ConnectorName, Identity, Observation, ObservedDeployment, Operation, OperationState, OperationType,
    Payload, PersistedState, Phase, Sources,
};
use crate::operator::values::digest::{Digest, DigestKey, KEY_LENGTH};
use crate::operator::values::names::{Item, Kind, Names, VisibleValues, differences};

/// The time of every observation.
pub(super) const NOW: Timestamp = Timestamp::constant(1_000_000, 0);

pub(super) fn ago(seconds: u64) -> Timestamp {
    NOW - Duration::from_secs(seconds)
}

pub(super) fn identity() -> Identity {
    Identity { connector: ConnectorName::Key("connector".into()), region: "region".into(), kind: "sandbox".into() }
}

pub(super) fn intent() -> Intent {
    Intent {
        generation: 1,
        identity: identity(),
        remote_id: None,
        redeploy_request: None,
        reconcile_request: None,
        deletion: None,
        adopt: false,
        observe_only: false,
        suspended: false,
        correct_drift: false,
        recreate: false,
        version: Version::default(),
    }
}

pub(super) fn visible(values: &[(&str, &str)]) -> VisibleValues {
    values.iter().map(|(key, value)| (Item::standard("service", key), (*value).to_owned())).collect()
}

/// Makes all desired values plain ones.
pub(super) fn without_secrets(fixture: &mut Fixture) {
    let names = &mut fixture.wanted.as_mut().expect("values are desired").payload.names;
    *names = names.iter().filter(|item| item.kind != Kind::Secured).cloned().collect();
}

/// The key of all digests here.
pub(super) fn key() -> DigestKey {
    DigestKey::new([7; KEY_LENGTH])
}

/// Returns the digest of how a deployment with `shown` differs from `sent`.
pub(super) fn differing(sent: &[(&str, &str)], shown: &[(&str, &str)]) -> Option<Digest> {
    key().of_differences(&differences(&visible(sent), &visible(shown)))
}

/// Returns what would be sent with this value of `A` and this secured value.
pub(super) fn wanted(value: &str, secret: &str) -> DesiredPayload {
    wanting(&[("A", value)], &[("T", secret)])
}

/// Returns what would be sent with these plain and these secured values.
pub(super) fn wanting(plain: &[(&str, &str)], secured: &[(&str, &str)]) -> DesiredPayload {
    let standard = plain.iter().map(|(key, _)| Item::standard("service", key));
    let names: Names = standard.chain(secured.iter().map(|(key, _)| Item::secured("service", key))).collect();
    let (digest, values) = (Digest::parse(&format!("key:{plain:?}-{secured:?}")), visible(plain));
    let visible = key().of_visible(&names, &values);
    let payload = Payload { digest, visible, names, sources: Sources::default() };
    DesiredPayload { payload, values }
}

pub(super) fn observed(phase: Phase) -> ObservedDeployment {
    ObservedDeployment {
        id: "id-1".into(),
        version: 5,
        phase,
        build: Some("build-1".into()),
        connector_id: "connector-id".into(),
        connector_key: Some("connector".into()),
        connector_version: 1,
        region: "region".into(),
        kind: "sandbox".into(),
        values: visible(&[("A", "1")]),
        applications: ["service".to_owned()].into(),
        secured: [Item::secured("service", "T")].into_iter().collect(),
        rollback: None,
        declared: None,
    }
}

pub(super) fn operation(kind: OperationType, payload: Option<Payload>) -> Operation {
    Operation {
        kind,
        state: OperationState::Planned,
        attempt: 1,
        generation: 1,
        payload,
        from_version: None,
        from_build: None,
        changes_visible: false,
        seen_busy: false,
        redeploy_request: None,
        started_at: NOW,
    }
}

/// Everything that a decision is made from, owned.
#[derive(Clone, Debug)]
pub(super) struct Fixture {
    pub(super) persisted: PersistedState,
    pub(super) intent: Intent,
    pub(super) wanted: Option<DesiredPayload>,
    pub(super) observation: Observation,
    pub(super) transient: TransientState,
}

pub(super) const ABSENT: Observation = Observation::Absent { key_held_by: None };

impl Fixture {
    /// No deployment was ever created.
    pub(super) fn new() -> Self {
        Self {
            persisted: PersistedState::default(),
            intent: intent(),
            wanted: Some(wanted("1", "secret")),
            observation: ABSENT,
            transient: TransientState::default(),
        }
    }

    /// The deployment runs, and everything was applied a day ago.
    pub(super) fn live() -> Self {
        let applied = Applied {
            generation: 1,
            digest: Some(wanted("1", "secret").payload.digest),
            outcome: Phase::Deployed,
            serves: true,
            from_version: None,
            connector_version: None,
            rollback: None,
            names: Some(wanted("1", "secret").payload.names),
            differs: None,
            uncompared: false,
            accepted: None,
            retained: Names::default(),
            sources: Sources::default(),
            at: ago(86_400),
        };
        let persisted = PersistedState { id: Some("id-1".into()), applied: Some(applied), ..PersistedState::default() };
        Self { persisted, observation: Observation::Present(observed(Phase::Deployed)), ..Self::new() }
    }

    /// A create was about to be sent.
    pub(super) fn creating() -> Self {
        let mut fixture = Self::new();
        fixture.persisted.operation = Some(operation(OperationType::Create, Some(wanted("1", "secret").payload)));
        fixture
    }

    /// A redeploy from `A=1` to `A=2` was about to be sent.
    pub(super) fn redeploying() -> Self {
        Self::redeploying_to(wanted("2", "secret"))
    }

    /// A redeploy with another secured value was about to be sent: no visible value changes.
    pub(super) fn rotating() -> Self {
        Self::redeploying_to(wanted("1", "other"))
    }

    /// A redeploy to these values was about to be sent.
    pub(super) fn redeploying_to(wanted: DesiredPayload) -> Self {
        let mut fixture = Self::live();
        fixture.persisted.operation = Some(Operation {
            from_version: Some(5),
            from_build: Some("build-1".into()),
            changes_visible: !observed(Phase::Deployed).shows_as_sent(&wanted.payload, &key()),
            ..operation(OperationType::Redeploy, Some(wanted.payload.clone()))
        });
        fixture.wanted = Some(wanted);
        fixture
    }

    pub(super) fn operation(&mut self) -> &mut Operation {
        self.persisted.operation.as_mut().expect("an operation is persisted")
    }

    pub(super) fn applied(&mut self) -> &mut Applied {
        self.persisted.applied.as_mut().expect("something was applied")
    }

    /// Sets the seconds since the call was about to be sent.
    pub(super) fn aged(&mut self, seconds: u64) -> &mut Self {
        self.operation().started_at = ago(seconds);
        self
    }

    pub(super) fn accepted(&mut self) -> &mut Self {
        self.operation().state = OperationState::Accepted;
        self
    }

    pub(super) fn sees(&mut self, phase: Phase) -> &mut ObservedDeployment {
        self.observation = Observation::Present(observed(phase));
        let Observation::Present(observed) = &mut self.observation else { unreachable!("just set") };
        observed
    }

    pub(super) fn sees_build(&mut self, build: Option<&str>) {
        let Observation::Present(observed) = &mut self.observation else { panic!("no deployment is observed") };
        observed.build = build.map(ToOwned::to_owned);
    }

    /// Notes that the same final state has been read for so many seconds.
    pub(super) fn rests(&mut self, seconds: u64) -> &mut Self {
        let Observation::Present(observed) = &self.observation else { panic!("no deployment is observed") };
        self.transient.resting =
            Some(Resting { phase: observed.phase, version: observed.version, since: ago(seconds) });
        self
    }

    pub(super) fn decide_at(&self, now: Timestamp) -> Decision {
        self.decide_later(now, now)
    }

    /// Decides at `now` from what was observed earlier.
    pub(super) fn decide_later(&self, observed_at: Timestamp, now: Timestamp) -> Decision {
        let Self { persisted, intent, wanted, observation, transient } = self;
        let (wanted, digests) = (wanted.as_ref(), &key());
        decide(&Input { persisted, intent, wanted, observation, transient, digests, observed_at, now })
    }

    pub(super) fn decide(&self) -> Decision {
        self.decide_at(NOW)
    }
}

/// Returns the desired values as the cause of a call.
pub(super) fn cause(fixture: &Fixture) -> Cause {
    let digest = Some(fixture.wanted.as_ref().expect("values are desired").payload.digest.clone());
    let request = fixture.intent.redeploy_request.clone();
    Cause { digest, generation: fixture.intent.generation, request, latest: fixture.intent.version.latest }
}

/// Notes that the desired values have not changed for longer than changes are collected.
pub(super) fn gathered(fixture: &mut Fixture) {
    fixture.transient.change = Some(Change { cause: cause(fixture), first: ago(10), last: ago(10) });
}

/// Observes an idle deployment at the next version with these values, so many seconds after the call.
pub(super) fn moved(fixture: &mut Fixture, seconds: u64, value: &str) {
    let observed = fixture.aged(seconds).sees(Phase::Deployed);
    observed.version = 6;
    observed.values = visible(&[("A", value)]);
}

/// What a decision does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Rest,
    Send(OperationType),
    SendAgain(OperationType),
    Release,
}

/// What is persisted after a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Nothing,
    Planned,
    Accepted,
}

pub(super) fn does(decision: &Decision) -> Does {
    match (&decision.step, &decision.persisted.operation) {
        (Step::NoOp, _) => Does::Rest,
        (Step::RemoveFinalizer, _) => Does::Release,
        (Step::Send(_), Some(operation)) if operation.is_first() => Does::Send(operation.kind),
        (Step::Send(_), Some(operation)) => Does::SendAgain(operation.kind),
        (Step::Send(_), None) => panic!("a call without an operation"),
    }
}

pub(super) fn stored(persisted: &PersistedState) -> Stored {
    match persisted.operation.as_ref().map(|operation| operation.state) {
        None => Stored::Nothing,
        Some(OperationState::Planned) => Stored::Planned,
        Some(OperationState::Accepted) => Stored::Accepted,
    }
}

/// A row: its name, how it differs from the initial fixture, and the result.
pub(super) type Row = (&'static str, fn(&mut Fixture), (Does, Stored, Outcome));

pub(super) fn check(fixture: fn() -> Fixture, rows: &[Row]) {
    for (name, change, expected) in rows {
        let mut fixture = fixture();
        change(&mut fixture);
        let decision = fixture.decide();
        assert_eq!(
            (does(&decision), stored(&decision.persisted), decision.outcome),
            *expected,
            "{name}: {decision:#?}"
        );
        if does(&decision) != Does::Rest && does(&decision) != Does::Release {
            let operation = decision.persisted.operation.as_ref().expect("the operation is persisted before its call");
            assert_eq!((operation.state, operation.started_at), (OperationState::Planned, NOW), "{name}");
            assert_ne!(
                decision.persisted, fixture.persisted,
                "{name}: the write before a call always changes the status"
            );
        }
    }
}

/// No operation runs, and the deployment is as desired.
pub(super) const SETTLED: (Does, Stored, Outcome) =
    (Does::Rest, Stored::Nothing, Outcome::Settled { phase: Phase::Deployed, drifted: false });
