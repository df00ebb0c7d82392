//! Builds the cases of the tests, whose results are in `expected`: a running deployment `id-1` at version 5, whose only visible value is `A`.

use std::time::Duration;

use clock::later;
use jiff::Timestamp;

pub(super) use super::expected::{
    Does, Expected, FAILED, SETTLED, Stored, again, check, does, idle, result, runs, sends, stored, waits,
};
use crate::operator::deployment::decide::{
    CallKind, Cause, Change, Decision, DesiredPayload, Input, Intent, Outcome, Refused, Resting, Step, TransientState,
    Version, decide,
};
use crate::operator::deployment::persisted::{
    Applied, ConnectorName, DeletionPolicy, Identity, Observation, ObservedDeployment, Operation, OperationState,
    OperationType, Payload, PersistedState, Phase, Sources,
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

/// Everything that a decision is made from, owned. The functions below return an initial one, its methods change it.
#[derive(Clone, Debug)]
pub(super) struct Fixture {
    pub(super) persisted: PersistedState,
    pub(super) intent: Intent,
    pub(super) wanted: Option<DesiredPayload>,
    pub(super) observation: Observation,
    pub(super) transient: TransientState,
}

/// No deployment was ever created.
pub(super) fn fresh() -> Fixture {
    let (wanted, transient) = (Some(wanted("1", "secret")), TransientState::default());
    Fixture { persisted: PersistedState::default(), intent: intent(), wanted, observation: ABSENT, transient }
}

/// The result of an operation that sent this and succeeded a day ago.
pub(super) fn applied(payload: Payload) -> Applied {
    Applied {
        generation: 1,
        digest: Some(payload.digest),
        outcome: Phase::Deployed,
        serves: true,
        from_version: None,
        connector_version: None,
        rollback: None,
        names: Some(payload.names),
        differs: None,
        uncompared: false,
        accepted: None,
        retained: Names::default(),
        sources: payload.sources,
        at: ago(86_400),
    }
}

/// The deployment runs, and everything was applied.
pub(super) fn live() -> Fixture {
    let applied = applied(wanted("1", "secret").payload);
    let persisted = PersistedState { id: Some("id-1".into()), applied: Some(applied), ..PersistedState::default() };
    Fixture { persisted, ..fresh() }.sees(Phase::Deployed)
}

/// A create was about to be sent.
pub(super) fn creating() -> Fixture {
    fresh().with(|it| {
        it.persisted.operation = Some(operation(OperationType::Create, Some(wanted("1", "secret").payload)));
    })
}

/// A redeploy from `A=1` to `A=2` was about to be sent.
pub(super) fn redeploying() -> Fixture {
    redeploying_to(wanted("2", "secret"))
}

/// A redeploy with another secured value was about to be sent: no visible value changes.
pub(super) fn rotating() -> Fixture {
    redeploying_to(wanted("1", "other"))
}

/// A redeploy to these values was about to be sent.
pub(super) fn redeploying_to(wanted: DesiredPayload) -> Fixture {
    let begun = Operation {
        from_version: Some(5),
        from_build: Some("build-1".into()),
        changes_visible: !observed(Phase::Deployed).shows_as_sent(&wanted.payload, &key()),
        ..operation(OperationType::Redeploy, Some(wanted.payload.clone()))
    };
    Fixture { wanted: Some(wanted), ..live() }.with(|it| it.persisted.operation = Some(begun))
}

impl Fixture {
    pub(super) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(super) fn operation(&mut self) -> &mut Operation {
        self.persisted.operation.as_mut().expect("an operation is persisted")
    }

    pub(super) fn applied(&mut self) -> &mut Applied {
        self.persisted.applied.as_mut().expect("something was applied")
    }

    pub(super) fn observed(&mut self) -> &mut ObservedDeployment {
        let Observation::Present(observed) = &mut self.observation else { panic!("no deployment is observed") };
        observed
    }

    pub(super) fn payload(&mut self) -> &mut Payload {
        &mut self.wanted.as_mut().expect("values are desired").payload
    }

    /// Begins an operation of this type without values.
    pub(super) fn begins(self, kind: OperationType) -> Self {
        self.with(|it| it.persisted.operation = Some(operation(kind, None)))
    }

    /// Sets the seconds since the call was about to be sent.
    pub(super) fn aged(self, seconds: u64) -> Self {
        self.with(|it| it.operation().started_at = ago(seconds))
    }

    pub(super) fn accepted(self) -> Self {
        self.with(|it| it.operation().state = OperationState::Accepted)
    }

    pub(super) fn seen_busy(self) -> Self {
        self.with(|it| it.operation().seen_busy = true)
    }

    pub(super) fn attempt(self, attempt: u32) -> Self {
        self.with(|it| it.operation().attempt = attempt)
    }

    /// Sets the persisted id.
    pub(super) fn id(self, id: &str) -> Self {
        self.with(|it| it.persisted.id = Some(id.into()))
    }

    pub(super) fn wants(self, value: &str, secret: &str) -> Self {
        self.wanting(wanted(value, secret))
    }

    pub(super) fn wanting(self, wanted: DesiredPayload) -> Self {
        Self { wanted: Some(wanted), ..self }
    }

    /// The desired values cannot be known.
    pub(super) fn unknown(self) -> Self {
        Self { wanted: None, ..self }
    }

    /// Makes all desired values plain ones.
    pub(super) fn without_secrets(self) -> Self {
        self.with(|it| {
            let names = &mut it.payload().names;
            *names = names.iter().filter(|item| item.kind != Kind::Secured).cloned().collect();
        })
    }

    /// Notes that the desired values have not changed for longer than changes are collected.
    pub(super) fn gathered(self) -> Self {
        self.with(|it| it.transient.change = Some(Change { cause: cause(it), first: ago(10), last: ago(10) }))
    }

    pub(super) fn corrects_drift(self) -> Self {
        self.with(|it| it.intent.correct_drift = true)
    }

    pub(super) fn observes_only(self) -> Self {
        self.with(|it| it.intent.observe_only = true)
    }

    pub(super) fn suspended(self) -> Self {
        self.with(|it| it.intent.suspended = true)
    }

    pub(super) fn deletion(self, policy: DeletionPolicy) -> Self {
        self.with(|it| it.intent.deletion = Some(policy))
    }

    pub(super) fn generation(self, generation: i64) -> Self {
        self.with(|it| it.intent.generation = generation)
    }

    /// Sets the request for a redeploy.
    pub(super) fn requests(self, request: &str) -> Self {
        self.with(|it| it.intent.redeploy_request = Some(request.into()))
    }

    pub(super) fn version(self, wanted: Option<i64>, latest: Option<i64>) -> Self {
        self.with(|it| it.intent.version = Version { wanted, latest, follow: false })
    }

    pub(super) fn follows(self, latest: Option<i64>) -> Self {
        self.with(|it| it.intent.version = Version { wanted: None, latest, follow: true })
    }

    pub(super) fn absent(self) -> Self {
        Self { observation: ABSENT, ..self }
    }

    /// Observes nothing, as reads have since so many seconds ago.
    pub(super) fn absent_for(self, seconds: u64) -> Self {
        self.absent().with(|it| it.transient.absent_since = Some(ago(seconds)))
    }

    /// Observes that another deployment has the key.
    pub(super) fn key_held(self) -> Self {
        Self { observation: Observation::Absent { key_held_by: Some("id-9".into()) }, ..self }
    }

    /// Observes the deployment as it first was, in this phase.
    pub(super) fn sees(self, phase: Phase) -> Self {
        Self { observation: Observation::Present(observed(phase)), ..self }
    }

    pub(super) fn seeing(self, change: impl FnOnce(&mut ObservedDeployment)) -> Self {
        self.with(|it| change(it.observed()))
    }

    /// Sets what the observed deployment shows as its value `A`.
    pub(super) fn shows(self, value: &str) -> Self {
        self.seeing(|seen| seen.values = visible(&[("A", value)]))
    }

    pub(super) fn at_version(self, version: i64) -> Self {
        self.seeing(|seen| seen.version = version)
    }

    /// Observes an idle deployment at the next version with this value, so many seconds after the call.
    pub(super) fn moved(self, seconds: u64, value: &str) -> Self {
        self.aged(seconds).sees(Phase::Deployed).at_version(6).shows(value)
    }

    /// Notes that the same final state has been read for so many seconds.
    pub(super) fn rests(self, seconds: u64) -> Self {
        self.with(|it| {
            let ObservedDeployment { phase, version, .. } = *it.observed();
            it.transient.resting = Some(Resting { phase, version, since: ago(seconds) });
        })
    }

    pub(super) fn busy_for(self, seconds: u64) -> Self {
        self.with(|it| it.transient.busy_since = Some(ago(seconds)))
    }

    /// The same call was refused, and may be sent again in so many seconds.
    pub(super) fn refused(self, seconds_left: u64) -> Self {
        let until = later(NOW, Duration::from_secs(seconds_left));
        self.with(|it| it.transient.refused = Some(Refused { cause: cause(it), until, times: 1 }))
    }

    /// Goes on from what was decided.
    pub(super) fn after(self, decision: Decision) -> Self {
        Self { persisted: decision.persisted, transient: decision.transient, ..self }
    }

    pub(super) fn decide_at(&self, now: Timestamp) -> Decision {
        self.decide_later(now, now)
    }

    /// Decides at `now` from what was observed earlier.
    pub(super) fn decide_later(&self, observed_at: Timestamp, now: Timestamp) -> Decision {
        self.input(&key(), observed_at, now)
    }

    /// Decides with this digest key.
    pub(super) fn decide_with(&self, digests: &DigestKey) -> Decision {
        self.input(digests, NOW, NOW)
    }

    fn input(&self, digests: &DigestKey, observed_at: Timestamp, now: Timestamp) -> Decision {
        let Self { persisted, intent, wanted, observation, transient } = self;
        let wanted = wanted.as_ref();
        decide(&Input { persisted, intent, wanted, observation, transient, digests, observed_at, now })
    }

    pub(super) fn decide(&self) -> Decision {
        self.decide_at(NOW)
    }

    pub(super) fn outcome(&self) -> Outcome {
        self.decide().outcome
    }

    pub(super) fn does(&self) -> Does {
        does(&self.decide())
    }

    /// Returns the kind of the call that is sent.
    pub(super) fn sent(&self) -> CallKind {
        let Step::Send(call) = self.decide().step else { panic!("nothing is sent: {self:#?}") };
        call.kind
    }

    /// Returns the operation that is persisted after the decision.
    pub(super) fn next_operation(&self) -> Operation {
        self.decide().persisted.operation.expect("an operation is persisted")
    }

    /// Returns what counts as applied after the decision.
    pub(super) fn next_applied(&self) -> Applied {
        self.decide().persisted.applied.expect("something was applied")
    }
}

pub(super) const ABSENT: Observation = Observation::Absent { key_held_by: None };

/// Returns what is asked for as the cause of a call.
pub(super) fn cause(fixture: &Fixture) -> Cause {
    let Intent { deletion, generation, redeploy_request, reconcile_request, version, .. } = fixture.intent.clone();
    if deletion.is_some() {
        return Cause { digest: None, generation, request: reconcile_request, latest: None };
    }
    let digest = Some(fixture.wanted.as_ref().expect("values are desired").payload.digest.clone());
    Cause { digest, generation, request: redeploy_request, latest: version.latest }
}
