//! The state on which a plan runs the decision table. Pure.

use std::collections::BTreeMap;

use clock::later;
use jiff::Timestamp;

use super::Inputs;
use crate::operator::deployment::decide::{self, Decision, DesiredPayload, Input, Step, TransientState};
use crate::operator::deployment::desired::Desired;
use crate::operator::deployment::persisted::{Observation, PersistedState, Sources};
use crate::operator::deployment::state;
use crate::operator::reporting::conditions;
use crate::operator::values::Values;
use crate::operator::values::digest::DigestKey;
use crate::operator::values::names::differences;

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
}

impl Stage {
    pub(super) fn of(inputs: &Inputs<'_>, wanted: Option<&DesiredPayload>, observation: Observation) -> Self {
        let persisted = state::shown(&inputs.after.status.clone().unwrap_or_default());
        let applied = inputs.earlier.filter(|earlier| was_applied(inputs, earlier, &persisted));
        let applied = applied.map(|applied| applied.values.clone());
        let mut stage = Self { persisted, observation, applied, uncertain: false };
        if let Some(wanted) = wanted {
            stage.rekey(inputs.key, wanted);
        }
        stage
    }

    /// Whether an operation is in progress at the remote.
    pub(super) fn is_busy(&self) -> bool {
        self.persisted.operation.is_some()
            || matches!(&self.observation, Observation::Present(seen) if seen.phase.is_busy())
    }

    /// Replaces the operator's digests, whose key a plan does not read, by digests under another one, as far as the values
    /// are known.
    fn rekey(&mut self, key: &DigestKey, wanted: &DesiredPayload) {
        let Some(applied) = self.persisted.applied.as_mut().filter(|applied| applied.digest.is_some()) else { return };
        let differences = match &self.observation {
            Observation::Present(seen) => differences(&wanted.values, &seen.values),
            Observation::Absent { .. } => BTreeMap::default(),
        };
        let same_names = applied.names.as_ref() == Some(&wanted.payload.names);
        applied.digest = Some(match &self.applied {
            Some(known) => key.digest(known),
            None if same_names && differences.is_empty() => wanted.payload.digest.clone(),
            None => key.digest(&Values::default()),
        });
        self.uncertain = self.applied.is_none() && wanted.has_secured();
        // What differed when the operation ended differs still, as far as is known.
        for digest in [&mut applied.differs, &mut applied.accepted] {
            *digest = digest.take().and_then(|_| key.of_differences(&differences));
        }
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

/// Whether the values of the cluster before applying are those that the operator applied last: it has nothing to send for
/// the spec, and their Secrets and ConfigMaps have not changed since.
fn was_applied(inputs: &Inputs<'_>, earlier: &Desired, persisted: &PersistedState) -> bool {
    let (Some(applied), Some(before)) = (&persisted.applied, inputs.before) else { return false };
    let generation = before.metadata.generation;
    let has_settled = before.status.as_ref().is_some_and(|status| {
        Some(status.observed_generation) == generation && conditions::is_ready(&status.conditions)
    });
    let is_of_spec = has_settled || Some(applied.generation) == generation;
    is_of_spec && applied.digest.is_some() && applied.sources == Sources::of(&earlier.sources)
}
