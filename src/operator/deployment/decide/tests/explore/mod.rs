//! Explores everything that can happen to one resource with the real `decide` and `apply_response`, breadth first,
//! using `stateright`: lost and late calls, reads that lag, an old status after a redeploy, edits, deletions, other
//! clients, restored and recreated resources, two operators, stale views of the cluster, and a crash of an operator
//! between any two steps.
//!
//! Time passes in ticks of one request limit (30 s), and in moments, which are short compared with a tick. A lost call
//! arrives within one tick or never; for two ticks a read may show the state before the last write, and a redeploy the
//! old status. Only ages matter, so worlds contain ages, capped at the longest time that a row waits for.
//!
//! `EXPLORE=full cargo test --release --lib explore -- --nocapture` explores with larger bounds, to the end or to [`MOST`]
//! worlds.
//! Continue with `scenarios`, then `operator` and `remote`; `teeth` breaks one rule after the other.

mod ages;
mod ask;
mod broken_rules;
mod claimants;
mod operator;
mod others;
mod pool;
mod quiet;
mod remote;
mod scenarios;
mod settings;
mod teeth;
mod trace;
mod world;

use std::time::Duration;

use stateright::{Checker, HasDiscoveries, Model, Property};
use test_support::reachable::{MOST, Reached, full, reachable};

use self::ask::{Decided, Question};
use self::pool::{Map, Pool, Quick, Set};
use self::settings::{Second, Settings};
use self::world::{Broken, ConditionUpdate, Deployment, Resource, Status, World};
use super::build::{NOW, applied, visible};
use crate::mutex::Mutex;
use crate::operator::deployment::decide::TransientState;
use crate::operator::deployment::persisted::{Applied, PersistedState};
use crate::operator::values::names::differences;

const TICK: Duration = Duration::from_secs(30);
const LAG_TICKS: u8 = 2;
/// Maximum age, the longest time that a row waits for: a greater age has the same effect.
const CAP: Duration = Duration::from_mins(3);

const OPERATORS: [&str; 2] = ["operator 1", "operator 2"];
const REMOTE: &str = "the remote";
const TIME: &str = "time:";
/// Who edits the resource, and the second resource.
const SOMEBODY: [&str; 2] = ["somebody", "somebody, with the other resource,"];
const STRANGER: &str = "another client";

/// A step and the world after it: most actions have several results.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    who: &'static str,
    label: &'static str,
    /// Whether it needs no new event and no fault.
    fair: bool,
    next: World,
}

struct Explorer {
    settings: Settings,
    persisted_states: Pool<PersistedState>,
    local_caches: Pool<TransientState>,
    decisions: Map<Question, Decided>,
    older: Map<(bool, u32), u32>,
    /// Hashes of quiet worlds that recover in the end: there are too many to keep the worlds themselves.
    recovering: Set<u64>,
    out: Vec<Step>,
}

impl Explorer {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            persisted_states: Pool::new(&PersistedState::default()),
            local_caches: Pool::new(&TransientState::default()),
            decisions: Map::default(),
            older: Map::default(),
            recovering: Set::default(),
            out: Vec::new(),
        }
    }

    fn first(&mut self) -> World {
        let Settings { budget, live, adopt, suspended, observed, contested, .. } = self.settings;
        let second = self.settings.second != Second::None;
        let mut world = World { next_id: 1, budget, ..World::default() };
        world.resources[0] =
            Resource { exists: true, uid: 1, generation: 1, second, suspended, observed, ..Resource::default() };
        if contested {
            world.resources[1] = Resource { exists: true, uid: 2, generation: 1, ..Resource::default() };
            world.operators[1].on = 1;
        }
        if live {
            let wanted = self.wanted((0, second), 0, 0);
            let mut shows = vec![("A", self.shown(0))];
            shows.extend((self.settings.second == Second::Plain).then(|| ("B", "second".to_owned())));
            let shows: Vec<_> = shows.iter().map(|(key, value)| (*key, value.as_str())).collect();
            let shows = visible(&shows);
            let differs = ask::digests(0).of_differences(&differences(&wanted.values, &shows));
            let accepted = differs.clone();
            let applied = Applied { differs, accepted, at: NOW - CAP, ..applied(wanted.payload) };
            let persisted =
                PersistedState { id: Some(ask::name(1)), applied: Some(applied), ..PersistedState::default() };
            let resource = &mut world.resources[0];
            resource.persisted = self.persisted_states.number(&persisted);
            (resource.annotation, resource.condition, resource.reported_generation) = (1, ConditionUpdate::Ready, 1);
            let status = Status::Deployed;
            world.remote =
                Deployment { id: 1, owner: 1, version: 1, build: 1, status, second, ..Deployment::default() };
            (world.next_id, world.created) = (2, 1 << 1);
        }
        if adopt {
            world.remote = others::strange(1);
            (world.next_id, world.allowed) = (2, 1);
        }
        // A value that the remote shows differently is sent once more (rule 16).
        world.allowed += self.settings.corrections();
        world
    }

    fn emit(&mut self, who: &'static str, label: &'static str, fair: bool, mut next: World) {
        let Deployment { id, owner, .. } = next.remote;
        let held = next.resources.iter().any(|resource| self.id(resource.persisted) == id);
        let there = next.resources.iter().any(|resource| resource.exists && resource.uid == owner);
        if next.broken.is_none() && id != 0 && owner != 0 && !there && !held && next.let_go & (1 << owner) == 0 {
            next.broken = Some(Broken::Orphan);
        }
        next.adopted |= self.settings.adopt && owner == 0 && id != 0 && held;
        self.out.push(Step { who, label, fair, next });
    }

    /// Returns the id in a persisted state; 0: none.
    fn id(&self, persisted: u32) -> u8 {
        self.persisted_states.get(persisted).id.as_deref().map_or(0, ask::number)
    }

    fn successors(&mut self, world: &World) -> Vec<Step> {
        if world.broken.is_none() {
            for who in 0..self.settings.operators {
                self.operator_steps(world, who);
            }
            self.remote_moves(world);
            self.time_passes(world);
            self.others_act(world);
        }
        std::mem::take(&mut self.out)
    }
}

/// The explorer as the checker needs it: its tables of large values grow during the search.
struct Exploration(Mutex<Explorer>);

impl Model for Exploration {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![self.0.lock().first()]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Step>) {
        actions.extend(self.0.lock().successors(world));
    }

    fn next_state(&self, _: &World, step: Step) -> Option<World> {
        Some(step.next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("STRANGER", |_, world: &World| world.broken != Some(Broken::Stranger)),
            Property::always("READY-WRONG", |_, world: &World| world.broken != Some(Broken::ReadyWrong)),
            Property::always("TOO-MANY", |_, world: &World| world.broken != Some(Broken::TooMany)),
            Property::always("CREATED-TWICE", |_, world: &World| world.broken != Some(Broken::CreatedTwice)),
            Property::always("ORPHAN", |_, world: &World| world.broken != Some(Broken::Orphan)),
            Property::always("FORGOTTEN", |_, world: &World| world.broken != Some(Broken::Forgotten)),
            Property::always("STUCK", |exploration: &Self, world: &World| exploration.0.lock().recovers(world)),
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
    let exploration = Exploration(Mutex::new(Explorer::new(settings)));
    // A single thread finds the shortest path; the scenarios run in parallel.
    let mut checker = exploration.checker().finish_when(HasDiscoveries::AnyFailures);
    if !full() {
        checker = checker.target_state_count(steps);
    }
    let checker = checker.spawn_bfs().join();
    let found = checker.discoveries().into_iter().map(|(property, path)| (property, path.into_vec()));
    let Some((property, path)) = found.min_by_key(|(_, path)| path.len()) else {
        assert!(!full(), "a property breaks in some world");
        return Ok(Reached { states: checker.unique_state_count(), complete: checker.unique_state_count() < steps });
    };
    let steps: Vec<_> = path.into_iter().filter_map(|(world, step)| Some((world, step?))).collect();
    Err((property, checker.model().0.lock().trace(&steps)))
}

/// Returns how many worlds were visited, or `None` if a property breaks. The checker would keep a path for each world that
/// it is still to visit, which takes several times the memory.
fn all_worlds(settings: Settings) -> Option<Reached> {
    let mut explorer = Explorer::new(settings);
    let first = explorer.first();
    reachable(first, MOST, Quick::hash, |world| {
        let holds = world.broken.is_none() && explorer.recovers(world);
        holds.then(|| explorer.successors(world).into_iter().map(|step| step.next).collect())
    })
}
