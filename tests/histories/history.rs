//! The parts of a history: steps of users, of other clients of the remote, of faults and of time. Plain values, so that
//! proptest can shrink and print a failing history.

use dev_server::{BuildIds, DeleteBusy, Normalise, Partial, ValuesShow, Variant, Versions};
use proptest::prelude::*;

use crate::checks;
use crate::prelude::*;

/// How the remote interprets what the contract leaves open, in a form that shrinks to the friendliest interpretation.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is one thing that the contract leaves open")]
pub(crate) struct Reading {
    pub(crate) lag: bool,
    pub(crate) shows_old: bool,
    pub(crate) versions_grow: bool,
    pub(crate) build_ids: u8,
    pub(crate) late_values: bool,
    /// 1: trims blanks; 2: adds defaults.
    pub(crate) normalise: u8,
    pub(crate) replace: bool,
    pub(crate) late_keys: bool,
    pub(crate) refuse_delete: bool,
}

impl Reading {
    /// Returns the longest time for which a read may show an earlier state.
    pub(crate) fn lag(self) -> Duration {
        self.variant().read_lag + self.variant().redeploy_shows_old
    }

    pub(crate) fn variant(self) -> Variant {
        let seconds = |on: bool, seconds| Duration::from_secs(if on { seconds } else { 0 });
        Variant {
            read_lag: seconds(self.lag, 20),
            redeploy_shows_old: seconds(self.shows_old, 20),
            versions: if self.versions_grow { Versions::Status } else { Versions::Update },
            build_ids: [BuildIds::Start, BuildIds::End, BuildIds::Never][usize::from(self.build_ids) % 3],
            values_show: if self.late_values { ValuesShow::End } else { ValuesShow::Start },
            normalise: [Normalise::No, Normalise::Trim, Normalise::Defaults][usize::from(self.normalise) % 3],
            partial: if self.replace { Partial::Replace } else { Partial::Merge },
            key_held: seconds(self.late_keys, 30),
            delete_busy: if self.refuse_delete { DeleteBusy::Refuse } else { DeleteBusy::Accept },
            // The others concern staged connectors.
            ..Variant::default()
        }
    }
}

/// The spec with which a resource is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a field of the spec")]
pub(crate) struct Shape {
    /// `LOG_LEVEL`, see [`crate::users::LEVELS`].
    pub(crate) level: u8,
    /// `FEATURES` comes from the ConfigMap.
    pub(crate) config: bool,
    pub(crate) adopt: bool,
    pub(crate) orphan: bool,
    pub(crate) correct: bool,
    pub(crate) suspend: bool,
    pub(crate) observe: bool,
    /// Version of the connector; 0: any.
    pub(crate) version: u8,
    /// References the whole ConfigMap and Secret instead of their keys.
    pub(crate) whole: bool,
    /// `BATCH_SIZE` of the second application; 0: none.
    pub(crate) batch: u8,
    /// Its retry policy; 0: none.
    pub(crate) retry: u8,
    /// The global value; 0: none.
    pub(crate) shop: u8,
    /// `removedValuesPolicy: Recreate`.
    pub(crate) recreate: bool,
    /// `outputs`.
    pub(crate) outputs: bool,
    /// `updatePolicy: Latest`, instead of a version.
    pub(crate) latest: bool,
}

/// What another client does to the deployment of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// Redeploys it with the same values.
    Redeploy,
    /// Redeploys it with another plain value.
    Visible,
    /// Redeploys it with another secured value.
    Secured,
    /// Removes it at once.
    Remove,
    /// Undeploys it.
    Undeploy,
    /// Creates one with this key.
    Create,
    /// Increments its version.
    Bump,
}

/// One step. Do not rename variants or fields: the text of a step seeds the choices that follow it.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A resource is created, or its spec replaced.
    Write(u8, Shape),
    /// Changes a Secret value; 0: the key is missing.
    Secret(u8),
    /// Changes the value of the ConfigMap; 0: the key is missing.
    Config(u8),
    /// The registry gets the next version of the connector.
    Publish,
    /// Changes other keys of Secret and ConfigMap.
    Unrelated,
    Redeploy(u8),
    Look(u8),
    Delete(u8),
    /// Deletes a project, or creates it again.
    Project(u8),
    /// Deletes a namespace with everything in it; the second number selects the order.
    Namespace(u8, u8),
    /// A user removes the finalizer by hand.
    Unfinalize(u8),
    /// The running or next build fails.
    Fails(u8),
    UndeployFails(u8),
    Foreign(u8, Foreign),
    Trouble(Armed),
    Stop(u8),
    /// Starts an operator with lists that are that many changes old.
    Start(u8, u8),
    /// Stops all operators, and starts one with another digest key.
    LoseDigestKey,
    Cut(u8),
    Relist(u8),
    /// Time passes, in seconds, and everybody does what is due.
    Pass(u16),
    /// Time passes, in seconds, and nobody does anything.
    Freeze(u8),
    /// Executes that many single steps of the simulation.
    Run(u8),
    Rest,
    /// A check is created, or its spec replaced.
    Check(u8, CheckShape),
    /// A user requests another call of a check.
    Rerun(u8),
    DropCheck(u8),
    /// Changes what the frontend answers.
    Reply(u8),
    /// Changes which namespaces may use the shared project: 0: none; 1: those with the label; 2 and 3: one by its name.
    Share(u8),
    /// Adds the label to a namespace, or removes it.
    Label(u8, bool),
}

impl Step {
    /// Returns the text that seeds the choices that follow the step. A field that was added later counts only if it is
    /// set, so that kept seeds keep their meaning.
    pub(crate) fn seed(&self) -> String {
        format!("── {self:?}").replace(", latest: false", "")
    }
}

/// A history.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// Seed of the choice between several possible steps; 0: always the first.
    pub(crate) order: u64,
    pub(crate) reading: Reading,
    /// The second operator's clock is that many seconds ahead, 30 at most.
    pub(crate) skew: i8,
    /// The resource that is live at the beginning.
    pub(crate) live: Option<Shape>,
    pub(crate) steps: Vec<Step>,
}

fn reading() -> impl Strategy<Value = Reading> {
    let chance = || prop::bool::weighted(0.25);
    let first = (chance(), chance(), chance(), 0..3_u8, chance());
    let second = (0..3_u8, chance(), chance(), chance());
    (first, second).prop_map(|(first, second)| {
        let (lag, shows_old, versions_grow, build_ids, late_values) = first;
        let (normalise, replace, late_keys, refuse_delete) = second;
        Reading { lag, shows_old, versions_grow, build_ids, late_values, normalise, replace, late_keys, refuse_delete }
    })
}

fn shape() -> impl Strategy<Value = Shape> {
    let rare = || prop::bool::weighted(0.15);
    let rarer = || prop::bool::weighted(0.05);
    let level = prop_oneof![6 => 0..3_u8, 1 => Just(3_u8), 2 => Just(4_u8)];
    let version = prop_oneof![8 => Just(0_u8), 2 => 1..4_u8];
    let few = || prop_oneof![6 => Just(0_u8), 1 => Just(1_u8), 1 => Just(2_u8)];
    let first = (level, any::<bool>(), rare(), rare(), rare(), rarer(), rarer(), version);
    let second = (rare(), few(), few(), few(), rare(), rarer());
    (first, second).prop_map(|(first, second)| {
        let (level, config, adopt, orphan, correct, suspend, observe, version) = first;
        let (whole, batch, retry, shop, recreate, outputs) = second;
        let first = Shape { level, config, adopt, orphan, correct, suspend, observe, version, ..Shape::default() };
        Shape { whole, batch, retry, shop, recreate, outputs, ..first }
    })
}

/// Returns a fault for a later call.
pub(crate) fn outage() -> impl Strategy<Value = Armed> {
    let remote = prop_oneof![
        3 => Just(Outage::LostThere),
        4 => Just(Outage::LostBack),
        1 => Just(Outage::Unclear),
        4 => (1..30_u8).prop_map(Outage::Late),
        3 => (1..30_u8).prop_map(Outage::Slow),
        1 => Just(Outage::Invalid),
        1 => Just(Outage::Forbidden),
        1 => Just(Outage::Conflict),
        1 => Just(Outage::Busy),
        1 => Just(Outage::Broken),
        1 => Just(Outage::Unavailable),
        3 => Just(Outage::DieBefore),
        4 => Just(Outage::DieAfter),
    ];
    let cluster = prop_oneof![
        2 => Just(Outage::LostThere),
        3 => Just(Outage::LostBack),
        1 => (1..30_u8).prop_map(Outage::Slow),
        1 => Just(Outage::Conflict),
        1 => Just(Outage::Broken),
        3 => Just(Outage::DieBefore),
        3 => Just(Outage::DieAfter),
    ];
    let remote = (remote, prop::bool::weighted(0.7), 0..3_u8);
    let cluster = (cluster, any::<bool>(), 0..6_u8);
    prop_oneof![
        3 => remote.prop_map(|(outage, changes, skip)| Armed { place: Callee::Remote, changes, skip, trouble: outage }),
        2 => cluster.prop_map(|(outage, changes, skip)| Armed { place: Callee::Cluster, changes, skip, trouble: outage }),
    ]
}

fn foreign() -> impl Strategy<Value = Foreign> {
    prop_oneof![
        2 => Just(Foreign::Redeploy),
        2 => Just(Foreign::Visible),
        1 => Just(Foreign::Secured),
        1 => Just(Foreign::Remove),
        1 => Just(Foreign::Undeploy),
        1 => Just(Foreign::Create),
        1 => Just(Foreign::Bump),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let name = || prop_oneof![9 => Just(0_u8), 3 => Just(1_u8), 1 => Just(2_u8), 1 => Just(3_u8)];
    let value = || prop_oneof![6 => 1..4_u8, 1 => Just(0_u8)];
    let number = || prop_oneof![2 => Just(0_u8), 1 => Just(1_u8)];
    prop_oneof![
        10 => (name(), shape()).prop_map(|(name, shape)| Step::Write(name, shape)),
        6 => value().prop_map(Step::Secret),
        4 => value().prop_map(Step::Config),
        1 => Just(Step::Unrelated),
        1 => Just(Step::Publish),
        4 => name().prop_map(Step::Redeploy),
        1 => name().prop_map(Step::Look),
        4 => name().prop_map(Step::Delete),
        1 => number().prop_map(Step::Project),
        1 => (number(), 0..6_u8).prop_map(|(number, order)| Step::Namespace(number, order)),
        1 => name().prop_map(Step::Unfinalize),
        1 => name().prop_map(Step::Fails),
        1 => name().prop_map(Step::UndeployFails),
        3 => (name(), foreign()).prop_map(|(name, foreign)| Step::Foreign(name, foreign)),
        8 => outage().prop_map(Step::Trouble),
        1 => number().prop_map(Step::Stop),
        4 => (number(), 0..6_u8).prop_map(|(number, behind)| Step::Start(number, behind)),
        1 => Just(Step::LoseDigestKey),
        1 => number().prop_map(Step::Cut),
        1 => number().prop_map(Step::Relist),
        12 => prop_oneof![2 => 1..12_u16, 4 => 12..70_u16, 2 => 70..400_u16].prop_map(Step::Pass),
        2 => prop_oneof![3 => 1..12_u8, 1 => 12..150_u8].prop_map(Step::Freeze),
        6 => (1..20_u8).prop_map(Step::Run),
        6 => Just(Step::Rest),
    ]
}

/// Which specs of a history have `updatePolicy: Latest`, the first one included, and where new versions are published.
type Following = (Vec<bool>, Vec<usize>);

/// Lets some resources follow the latest version of the connector.
fn follow(live: &mut Option<Shape>, steps: &mut Vec<Step>, (latest, published): Following) {
    let written = steps.iter_mut().filter_map(|step| match step {
        Step::Write(_, shape) => Some(shape),
        _ => None,
    });
    for (shape, latest) in live.iter_mut().chain(written).zip(latest) {
        shape.latest = latest;
    }
    for at in published {
        steps.insert(at % (steps.len() + 1), Step::Publish);
    }
}

/// Returns all histories.
pub(crate) fn histories() -> impl Strategy<Value = History> {
    let order = prop_oneof![1 => Just(0), 3 => any::<u64>()];
    let live = prop::option::weighted(0.8, shape());
    let skew = prop_oneof![1 => Just(0), 1 => -30..=30_i8];
    let steps = prop::collection::vec(step(), 1..30);
    // Chosen last and inserted afterwards, in the order in which they were added, so that everything else stays as it
    // was before.
    let checks = prop::option::weighted(0.5, prop::collection::vec((any::<usize>(), checks::step()), 1..12));
    // Drawn for nothing, so that kept seeds keep their meaning.
    let unused = prop::option::weighted(0.25, Just(()));
    let published = prop::collection::vec(any::<usize>(), 1..4);
    let latest = prop::option::weighted(0.25, (prop::collection::vec(prop::bool::weighted(0.7), 40), published));
    let shared = prop::option::weighted(0.25, sharing::steps());
    (order, reading(), skew, live, steps, checks, unused, latest, shared).prop_map(
        |(order, reading, skew, mut live, mut steps, checks, _, latest, shared)| {
            for (at, step) in checks.into_iter().flatten() {
                steps.insert(at % (steps.len() + 1), step);
            }
            if let Some(latest) = latest {
                follow(&mut live, &mut steps, latest);
            }
            for (at, step) in shared.into_iter().flatten() {
                steps.insert(at % (steps.len() + 1), step);
            }
            History { order, reading, skew, live, steps }
        },
    )
}
