//! Explores everything that can happen to one staged connector with the real `decide` and `apply_response`, breadth
//! first, using `stateright`: lost and late calls, reads that lag, edits, deletions, other clients, and a crash of the
//! operator between any two steps.
//!
//! Time passes in ticks of one request limit (30 s), and in moments, which are short compared with a tick, as in the
//! exploration of deployments. States contain ages before [`NOW`], capped at the longest time that a row waits for.
//!
//! `EXPLORE=full cargo test --release --lib explore -- --nocapture` explores with larger bounds, to the end or to [`MOST`] worlds. Continue
//! with `scenarios`, then `operator` and `remote`; `teeth` breaks one rule after the other.

mod ages;
mod operator;
mod quiet;
mod remote;
mod scenarios;
mod teeth;
mod world;

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;
use stateright::{Checker, HasDiscoveries, Model, Property};
use test_support::reachable::{MOST, Reached, full, reachable};

use self::world::{Broken, World};
use crate::mutex::Mutex;

/// The time of every step; what was before is as many seconds ago.
const NOW: Timestamp = Timestamp::constant(1_000_000, 0);
const TICK: Duration = Duration::from_secs(30);
/// Maximum age, the longest time that a row waits for: a greater age has the same effect.
const CAP: Duration = Duration::from_mins(3);
/// Number of ticks for which a read may show the state before a write of this resource.
const LAG_TICKS: u8 = 2;

/// What may happen, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Budget {
    /// The spec names another tag.
    tags: u8,
    /// A user requests a retry of what failed.
    requests: u8,
    deletions: u8,
    crashes: u8,
    /// A call or its response is lost, or late.
    lost: u8,
    /// The remote refuses a preview, or fails to publish.
    failures: u8,
    /// Another client changes the connector.
    foreign: u8,
}

/// A scenario.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Settings {
    budget: Budget,
    /// The connector exists from the start, as it was sent.
    live: bool,
    /// Another client's connector has the key from the start, and may be adopted.
    adopt: bool,
    previewable: bool,
    publish: bool,
    /// A new tag removes the permission for a preview.
    resets_preview: bool,
    /// Versions also grow with each change of a status.
    versions_grow: bool,
    /// Reads lag.
    lag: bool,
    without: Option<Rule>,
}

/// A rule that is broken, to see that this is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// An operation is persisted before its call.
    OperationFirst,
    /// A create of this resource may still arrive during the quiet period.
    Calm,
    /// Only a permission whose request was answered counts.
    Answered,
    /// A permission is for one tag.
    OneTag,
    /// The same content is published once.
    Publication,
    /// A read may show the version from before the last write.
    OldLooks,
    /// A connector that this resource cannot have created belongs to another client.
    Identity,
}

/// A step and the world after it.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    label: String,
    /// Whether it needs no new event and no fault.
    fair: bool,
    next: World,
}

struct Explorer {
    settings: Settings,
    /// Hashes of quiet worlds that recover in the end: there are too many to keep the worlds themselves.
    recovering: Mutex<HashSet<u64>>,
}

impl Explorer {
    fn new(settings: Settings) -> Self {
        Self { settings, recovering: Mutex::default() }
    }

    fn successors(&self, world: &World) -> Vec<Step> {
        let mut steps = Vec::new();
        if world.broken.is_none() {
            self.operator_steps(world, &mut steps);
            self.remote_moves(world, &mut steps);
            Self::time_passes(world, &mut steps);
            self.others_act(world, &mut steps);
        }
        steps
    }
}

impl Model for Explorer {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::first(&self.settings)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Step>) {
        actions.extend(self.successors(world));
    }

    fn next_state(&self, _: &World, step: Step) -> Option<World> {
        Some(step.next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("STRANGER", |_, world: &World| world.broken != Some(Broken::Stranger)),
            Property::always("READY-WRONG", |_, world: &World| world.broken != Some(Broken::ReadyWrong)),
            Property::always("TWICE", |_, world: &World| world.broken != Some(Broken::Twice)),
            Property::always("ORPHAN", |_, world: &World| world.broken != Some(Broken::Orphan)),
            Property::always("FORGOTTEN", |_, world: &World| world.broken != Some(Broken::Forgotten)),
            Property::always("STUCK", |explorer: &Self, world: &World| explorer.recovers(world)),
        ]
    }
}

/// Returns how many worlds were visited, or the property that breaks and the steps that lead there. Unless [`full`], the
/// search ends after so many steps.
fn explore(settings: Settings, steps: usize) -> Result<Reached, (&'static str, String)> {
    if full()
        && let Some(worlds) = all_worlds(settings)
    {
        return Ok(worlds);
    }
    let mut checker = Explorer::new(settings).checker().finish_when(HasDiscoveries::AnyFailures);
    if !full() {
        checker = checker.target_state_count(steps);
    }
    let checker = checker.spawn_bfs().join();
    let found = checker.discoveries().into_iter().map(|(property, path)| (property, path.into_vec()));
    let Some((property, path)) = found.min_by_key(|(_, path)| path.len()) else {
        assert!(!full(), "a property breaks in some world");
        return Ok(Reached { states: checker.unique_state_count(), complete: checker.unique_state_count() < steps });
    };
    let condition = path.into_iter().enumerate().map(|(number, (world, step))| {
        let step = step.map_or_else(|| "the end".to_owned(), |step| step.label);
        format!("{number:3}. {world}\n     -> {step}\n")
    });
    Err((property, condition.collect()))
}

/// Returns how many worlds were visited, or `None` if a property breaks. The checker would keep a path for each world that
/// it is still to visit, which takes several times the memory.
fn all_worlds(settings: Settings) -> Option<Reached> {
    let explorer = Explorer::new(settings);
    reachable(World::first(&settings), MOST, quiet::hash, |world| {
        let holds = world.broken.is_none() && explorer.recovers(world);
        holds.then(|| explorer.successors(world).into_iter().map(|step| step.next).collect())
    })
}
