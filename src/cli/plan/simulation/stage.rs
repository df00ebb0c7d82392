//! The state on which a plan runs the decision table: as if an operation in progress had succeeded. Pure.

use std::collections::BTreeMap;

use clock::later;
use jiff::Timestamp;

use super::Inputs;
use crate::controllers::connector_deployment::decide::{self, Decision, DesiredPayload, Input, Step, TransientState};
use crate::controllers::connector_deployment::desired::Desired;
use crate::controllers::connector_deployment::persisted::{
    Applied, Observation, OperationType, PersistedState, Phase, Sources,
};
use crate::controllers::connector_deployment::state;
use crate::controllers::values::Values;
use crate::controllers::values::digest::{Comparison, DigestKey};
use crate::controllers::values::names::{Names, differences};

/// Maximum number of simulated steps: the longest sequence, proving that a record is gone, takes about twenty.
const ROUNDS: usize = 64;

/// The state on which the table is run.
pub(super) struct Stage {
    pub(super) persisted: PersistedState,
    pub(super) observation: Observation,
    /// The values that were applied last, if they are known.
    pub(super) applied: Option<Values>,
    /// Whether a secured value may have changed that could not be compared.
    pub(super) uncertain: bool,
    pub(super) notes: Vec<String>,
}

impl Stage {
    pub(super) fn of(inputs: &Inputs<'_>, wanted: Option<&DesiredPayload>, observation: Observation) -> Self {
        let mut persisted = state::shown(&inputs.after.status.clone().unwrap_or_default());
        let applied = inputs.earlier.filter(|earlier| was_applied(inputs, earlier, &persisted));
        let mut stage = Self {
            persisted: PersistedState::default(),
            observation,
            applied: None,
            uncertain: false,
            notes: Vec::new(),
        };
        if let (None, Some(wanted)) = (inputs.key, wanted) {
            stage.uncertain = rewrite(&mut persisted, inputs, &stage.observation, applied, wanted);
        }
        stage.applied = applied.map(|applied| applied.values.clone());
        stage.persisted = persisted;
        stage.settle(inputs.now);
        stage
    }

    /// Assumes that an operation in progress succeeds.
    fn settle(&mut self, now: Timestamp) {
        let mut busy = false;
        if let Observation::Present(seen) = &mut self.observation
            && seen.phase.is_busy()
        {
            busy = true;
            seen.phase = Phase::Deployed;
        }
        if let Some(operation) = self.persisted.operation.take() {
            busy = true;
            self.applied = None;
            let payload = operation.payload.as_ref();
            self.persisted.handled_redeploy = operation.redeploy_request.or(self.persisted.handled_redeploy.take());
            self.persisted.applied = payload.map(|payload| Applied {
                generation: operation.generation,
                digest: Some(payload.digest.clone()),
                outcome: Phase::Deployed,
                serves: true,
                from_version: None,
                connector_version: None,
                rollback: None,
                // Nothing is observed yet, so there is nothing to compare with.
                names: None,
                differs: None,
                uncompared: false,
                accepted: None,
                retained: Names::default(),
                sources: payload.sources.clone(),
                at: now,
            });
            if operation.kind == OperationType::Create
                && let Observation::Present(seen) = &self.observation
            {
                self.persisted.id = Some(seen.id.clone());
            }
        }
        if busy {
            self.notes.push("an operation is in progress at the remote; this plan starts after it".to_owned());
        }
    }

    /// Whether a create with these values is already in progress.
    pub(super) fn is_being_created(&self, wanted: Option<&DesiredPayload>) -> bool {
        let begun = self.persisted.applied.as_ref().and_then(|applied| applied.digest.as_ref());
        let same = begun.is_some() && begun == wanted.map(|wanted| &wanted.payload.digest);
        same && self.persisted.id.is_none() && matches!(self.observation, Observation::Absent { .. })
    }

    /// Runs the table until it sends a call, or has nothing more to do.
    pub(super) fn play(
        &self,
        intent: &decide::Intent,
        wanted: Option<&DesiredPayload>,
        digests: &DigestKey,
        now: Timestamp,
    ) -> Decision {
        let (mut persisted, mut transient, mut now) = (self.persisted.clone(), TransientState::default(), now);
        let mut rounds = 0;
        loop {
            let input = Input {
                persisted: &persisted,
                intent,
                wanted,
                observation: &self.observation,
                transient: &transient,
                digests,
                observed_at: now,
                now,
            };
            let decision = decide::decide(&input);
            rounds += 1;
            match (&decision.step, decision.again) {
                (Step::NoOp, Some(pause)) if rounds < ROUNDS => {
                    now = later(now, pause);
                    (persisted, transient) = (decision.persisted, decision.transient);
                }
                _ => return decision,
            }
        }
    }
}

/// Whether the values of the cluster before applying are those that the operator applied last: by their digest, or
/// because nothing has changed since.
fn was_applied(inputs: &Inputs<'_>, earlier: &Desired, persisted: &PersistedState) -> bool {
    let Some(applied) = &persisted.applied else { return false };
    let Some(digest) = &applied.digest else { return false };
    match inputs.key.map(|key| digest.compare(&key.digest(&earlier.values))) {
        Some(Comparison::Same) => true,
        Some(Comparison::Different) => false,
        Some(Comparison::Unknown) | None => {
            let generation = inputs.before.and_then(|before| before.metadata.generation);
            Some(applied.generation) == generation && applied.sources == Sources::of(&earlier.sources)
        }
    }
}

/// Without the operator's key, replaces its digests by digests under another key, as far as the values are known.
/// Returns whether secured values could not be compared.
fn rewrite(
    persisted: &mut PersistedState,
    inputs: &Inputs<'_>,
    observation: &Observation,
    known: Option<&Desired>,
    wanted: &DesiredPayload,
) -> bool {
    let spare = inputs.spare;
    let differences = match observation {
        Observation::Present(seen) => differences(&wanted.values, &seen.values),
        Observation::Absent { .. } => BTreeMap::default(),
    };
    let mut uncertain = false;
    if let Some(applied) = persisted.applied.as_mut().filter(|applied| applied.digest.is_some()) {
        let shows_it = applied.names.as_ref() == Some(&wanted.payload.names) && differences.is_empty();
        uncertain |= known.is_none() && wanted.secured;
        applied.digest = Some(match known {
            Some(known) => spare.digest(&known.values),
            None if shows_it => wanted.payload.digest.clone(),
            None => spare.digest(&Values::default()),
        });
        // What differed when the operation ended differs still, as far as is known.
        for digest in [&mut applied.differs, &mut applied.accepted] {
            *digest = digest.take().and_then(|_| spare.of_differences(&differences));
        }
    }
    if let Some(payload) = persisted.operation.as_mut().and_then(|operation| operation.payload.as_mut()) {
        let same = payload.names == wanted.payload.names;
        uncertain = same && wanted.secured;
        payload.digest = if same { wanted.payload.digest.clone() } else { spare.digest(&Values::default()) };
    }
    uncertain
}
