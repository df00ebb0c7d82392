//! Runs the decision table forward. Pure.

use std::collections::BTreeMap;

use clock::later;

use super::Inputs;
use crate::operator::deployment::decide::{self, Decision, DesiredPayload, Input, Step, TransientState};
use crate::operator::deployment::persisted::{Observation, PersistedState};
use crate::operator::values::Values;
use crate::operator::values::names::differences;

/// Maximum number of simulated steps: the longest sequence, proving that a record is gone, takes about twenty.
const ROUNDS: usize = 64;

impl Inputs<'_> {
    /// Runs the table until it sends a call, or has nothing more to do.
    pub(super) fn play(
        &self,
        intent: &decide::Intent,
        wanted: Option<&DesiredPayload>,
        observation: &Observation,
    ) -> Decision {
        let mut persisted = wanted.map_or_else(|| self.persisted.clone(), |wanted| self.rekeyed(wanted, observation));
        let (mut transient, mut now) = (TransientState::default(), self.now);
        let mut rounds = 0;
        loop {
            let input = Input {
                persisted: &persisted,
                intent,
                wanted,
                observation,
                transient: &transient,
                digests: self.key,
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

    /// Replaces the operator's digests, whose key a plan does not read, by digests under another one, as far as the values
    /// are known.
    fn rekeyed(&self, wanted: &DesiredPayload, observation: &Observation) -> PersistedState {
        let mut persisted = self.persisted.clone();
        let applied = persisted.applied.as_mut().filter(|applied| applied.digest.is_some());
        let Some(applied) = applied else { return persisted };
        let differences = match observation {
            Observation::Present(seen) => differences(&wanted.values, &seen.values),
            Observation::Absent { .. } => BTreeMap::default(),
        };
        let same_names = applied.names.as_ref() == Some(&wanted.payload.names);
        applied.digest = Some(match &self.applied {
            Some(known) => self.key.digest(known),
            None if same_names && differences.is_empty() => wanted.payload.digest.clone(),
            None => self.key.digest(&Values::default()),
        });
        // What differed when the operation ended differs still, as far as is known.
        for digest in [&mut applied.differs, &mut applied.accepted] {
            *digest = digest.take().and_then(|_| self.key.of_differences(&differences));
        }
        persisted
    }
}
