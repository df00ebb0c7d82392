//! The crash matrix under other variants of the remote and in other orders. Each kind is stopped once at each call
//! under each variant with `CRASHES=full`, and otherwise at a few, which are always the same.

use super::kinds::Kind;
use super::staged::StagedKind;
use super::{Plan, QUIET_PERIOD, Recorded, Walked, cuts};
use crate::prelude::*;
use crate::simulation::Chooser;
use crate::staged::random::CHOICES as STAGED_CHOICES;

/// Choices of the remote that concern deployments, as the dev server's `--variant` names them.
const CHOICES: [&str; 13] = [
    "read-lag=20s",
    "redeploy-shows-old=20s",
    "versions=status",
    "build-ids=end",
    "build-ids=never",
    "values-show=end",
    "key-held=30s",
    "delete-busy=refuse",
    "first-status=queued",
    "new-details=empty",
    "normalise=trim",
    "normalise=defaults",
    "partial=replace",
];
/// Number of variants and of stops for each kind in a plain `cargo test`.
const FEW: usize = 2;
/// Seed of the choice of those.
const SEED: u64 = 7;

/// Returns the choices that concern a kind.
fn choices(kind: Kind) -> BTreeSet<&'static str> {
    match kind {
        Kind::Staged(StagedKind::Follow) => STAGED_CHOICES.into_iter().chain(CHOICES).collect(),
        Kind::Staged(_) => STAGED_CHOICES.into(),
        _ => CHOICES.into(),
    }
}

/// Returns where to stop, and how. Besides stops, the answer may be lost after the effect.
fn all(seen: &Recorded) -> Vec<(usize, Outage)> {
    let changing = seen.calls.iter().enumerate().filter(|(_, (_, changes))| *changes);
    let lost = changing.map(|(number, _)| (number, Outage::LostBack));
    cuts(seen).into_iter().chain(lost).collect()
}

impl Walked {
    /// Stops once at each call, or at a few calls, under each variant or under a few.
    pub(super) fn unfriendly(&self, kind: Kind, whole: bool) {
        let mut chooser = Chooser::new(SEED ^ (kind.number() << 8));
        let choices: Vec<_> = choices(kind).into_iter().collect();
        let remotes = if whole { choices.len() } else { FEW };
        let first = chooser.choose(choices.len());
        for number in 0..remotes {
            let choice = Some(choices[(first + number) % choices.len()]);
            let order = SEED + number as u64 * 1_000;
            let plan = Plan { order, choice, ..Plan::NONE };
            let Some(recorded) = self.walk(kind, &plan) else { return };
            let all = all(&recorded);
            let some = if whole { all } else { (0..FEW).map(|_| all[chooser.choose(all.len())]).collect() };
            for (number, cut) in some.into_iter().enumerate() {
                // Alternates: no pause, or a pause until nothing can arrive late or be hidden.
                let pause = if number % 2 == 0 { Duration::ZERO } else { QUIET_PERIOD };
                if self.walk(kind, &Plan { cuts: vec![cut], pause, ..plan.clone() }).is_none() {
                    return;
                }
            }
        }
    }
}
