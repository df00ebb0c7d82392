//! The crash matrix: each kind of operation, interrupted at each call to the cluster or to the remote.
//!
//! A run without interruption records the calls first, so a new call is covered automatically. The operator is stopped
//! before a call, or after its effect and before its answer; then it starts again: at once or after a quiet period,
//! with current or with outdated lists. With `CRASHES=full` it uses all four combinations, and stops a second time at
//! each call of what follows; for staged connectors this second stop covers only creation, deletion and a new tag, and
//! only at calls that may change something.

mod kinds;
mod staged;
mod unfriendly;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use self::kinds::Kind;
use self::staged::StagedCounts;
use crate::prelude::*;

/// A pause after which no earlier write can still arrive or be hidden from reads.
const QUIET_PERIOD: Duration = Duration::from_secs(150);

/// A pause that is longer than the poll interval of settled resources.
const POLL_PAUSE: Duration = Duration::from_mins(6);

/// How long the operator is down, and how many changes old its first lists are then.
const WAYS: [(Duration, u64); 4] = [(Duration::ZERO, 0), (QUIET_PERIOD, 3), (Duration::ZERO, 3), (QUIET_PERIOD, 0)];

/// Where and how an operator is stopped and started again.
#[derive(Clone, Debug)]
struct Plan {
    /// The calls at which it is stopped, each counted from the previous one, and how.
    cuts: Vec<(usize, Outage)>,
    /// How long it is down.
    pause: Duration,
    /// How old its first lists are, in changes.
    behind: u64,
    /// Seed of the choice between several possible steps; 0: always the first.
    order: u64,
    /// A choice that the contract leaves open, as `--variant` of the dev server takes it; `None`: the friendliest
    /// reading.
    choice: Option<&'static str>,
}

impl Plan {
    const NONE: Self = Self { cuts: Vec::new(), pause: Duration::ZERO, behind: 0, order: 0, choice: None };
}

/// What a run recorded.
struct Recorded {
    /// Its calls since the last stop, and whether each may change something.
    calls: Vec<(String, bool)>,
    /// Redeploys beyond the requested ones that the rules allow.
    extra: u64,
}

fn run(kind: Kind, plan: &Plan, logging: bool) -> Result<Recorded, String> {
    let (simulation, result) = simulate(plan.order, Reading::default(), async |simulation: &mut Simulation| {
        simulation.choose(plan.choice);
        kind.prepare(simulation).await?;
        simulation.logging = logging;
        let before = simulation.checker.counts.clone();
        simulation.calls.clear();
        simulation.cuts.extend(plan.cuts.iter().copied());
        kind.act(simulation).await;
        let mut settled = simulation.settle(plan.pause, plan.behind).await;
        if settled.is_ok() && matches!(kind, Kind::Staged(_) | Kind::Recreate) {
            // A later poll must not start anything but the create whose key was held.
            simulation.pass(POLL_PAUSE).await;
            settled = simulation.settle(plan.pause, plan.behind).await;
        }
        let count = |what: &str| simulation.checker.counted(what) - before.get(what).copied().unwrap_or_default();
        let (creates, redeploys, actions) = (count("creates"), count("redeploys"), count("actions executed"));
        let extra = count("redeploys allowed as GivenUp");
        settled?;
        let expected = kind.expected();
        if creates != expected.creates || redeploys != expected.redeploys + extra {
            return Err(format!(
                "{creates} creates and {redeploys} redeploys, {extra} of them allowed; expected {expected:?}"
            ));
        }
        // A POST that may have been sent is not sent again.
        if actions > expected.actions || (actions < expected.actions && plan.cuts.is_empty()) {
            return Err(format!("{actions} POSTs of checks; expected {expected:?}"));
        }
        let staged = StagedCounts {
            stagings: count("stagings"),
            updates: count("updates"),
            previews: count("previews"),
            publishes: count("publishes"),
            discards: count("discards"),
            there: simulation.staged(),
        };
        if !kind.is_as_expected(staged) {
            return Err(format!("{staged:?}; expected {expected:?}"));
        }
        let there = simulation.deployments();
        if there != expected.there {
            return Err(format!("{there} deployments, expected {expected:?}"));
        }
        let left = simulation.cuts.len();
        if left > 0 {
            return Err(format!("{left} of {} stops were not reached", plan.cuts.len()));
        }
        Ok(Recorded { calls: std::mem::take(&mut simulation.calls), extra })
    });
    result.map_err(|text| format!("{kind:?}, {plan:?}: {text}\n{}", simulation.log.join("\n")))
}

/// What is counted while the matrix runs.
#[derive(Default)]
struct Walked {
    points: AtomicUsize,
    extra: AtomicUsize,
    failed: Mutex<Vec<String>>,
}

impl Walked {
    fn walk(&self, kind: Kind, plan: &Plan) -> Option<Recorded> {
        self.points.fetch_add(1, Ordering::Relaxed);
        if let Ok(seen) = run(kind, plan, false) {
            self.extra.fetch_add(usize::try_from(seen.extra).unwrap_or(0), Ordering::Relaxed);
            return Some(seen);
        }
        let text = run(kind, plan, true).err().unwrap_or_default();
        println!("{text}");
        lock(&self.failed).push(text);
        None
    }

    /// Stops once at each recorded call; with `whole` also a second time, at each call of what follows.
    fn matrix(&self, kind: Kind, whole: bool) {
        let Some(recorded) = self.walk(kind, &Plan::NONE) else { return };
        let ways: &[_] = if whole { &WAYS } else { &WAYS[..2] };
        for (number, cut) in cuts(&recorded).into_iter().enumerate() {
            for (way, (pause, behind)) in ways.iter().enumerate() {
                if !whole && kind.has_parts() && way != number % ways.len() {
                    continue;
                }
                let plan = Plan { cuts: vec![cut], pause: *pause, behind: *behind, ..Plan::NONE };
                let Some(seen) = self.walk(kind, &plan) else { return };
                if whole && *behind == 0 && kind.is_stopped_twice() && !self.again(kind, &plan, &seen) {
                    return;
                }
            }
        }
    }

    fn again(&self, kind: Kind, plan: &Plan, seen: &Recorded) -> bool {
        let cuts = cuts(seen).into_iter();
        // A staged connector is polled often on its way, and the next reconcile decides again from a new observation: a
        // stop at a read adds no case.
        let staged = matches!(kind, Kind::Staged(_));
        let mut cuts = cuts.filter(|(number, _)| !staged || seen.calls[*number].1);
        cuts.all(|cut| {
            let mut plan = plan.clone();
            plan.cuts.push(cut);
            self.walk(kind, &plan).is_some()
        })
    }
}

/// Returns where to stop: before each call, and after each that may change something. A stop after a read differs from
/// a stop before the next call only in memory, which is lost either way.
fn cuts(seen: &Recorded) -> Vec<(usize, Outage)> {
    let calls = seen.calls.iter().enumerate();
    calls
        .flat_map(|(number, (_, changes))| {
            [Some((number, Outage::DieBefore)), changes.then_some((number, Outage::DieAfter))]
        })
        .flatten()
        .collect()
}

#[test]
fn wherever_it_is_stopped_it_does_what_was_requested_and_no_more() {
    let whole = std::env::var_os("CRASHES").is_some_and(|value| value == "full");
    let walked = Walked::default();
    let next = AtomicUsize::new(0);
    let kinds = Kind::all();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from).min(4) {
            scope.spawn(|| {
                while let Some(kind) = kinds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let before = walked.points.load(Ordering::Relaxed);
                    walked.matrix(*kind, whole);
                    walked.unfriendly(*kind, whole);
                    println!("{kind:?} after {before} points");
                }
            });
        }
    });
    let failed = lock(&walked.failed);
    println!("{:?} points, {:?} extra redeploys that the rules allow", walked.points, walked.extra);
    assert!(failed.is_empty(), "{} kinds failed; the first:\n{}", failed.len(), failed[0]);
}
