//! Random histories of one staged connector: its users, other clients, faults, and every reading of what the contract
//! leaves open.

use dev_server::{Normalise, Variant};
use proptest::prelude::*;

use super::{FOLLOWER, Plan, StagedChange};
use crate::Replay;
use crate::history::outage;
use crate::prelude::*;

/// What the contract leaves open about staged connectors, besides its friendliest reading.
pub(crate) const CHOICES: [&str; 13] = [
    "read-lag=20s",
    "key-held=30s",
    "versions=status",
    "certification=by-hand",
    "certified-again=never",
    "new-tag=resets-preview",
    "new-tag=keeps-preview",
    "repository-check=later",
    "publishing-code=preview-request",
    "publishing-code=invalid",
    "staged-updates=one-by-one",
    "delete-not-found=empty",
    "redeploy-shows-old=20s",
];

/// A pause that is longer than the poll interval of settled resources.
const POLL_PAUSE: Duration = Duration::from_mins(6);

/// One step. Do not rename variants: the text of a step seeds the choices that follow it.
#[derive(Clone, Debug)]
enum StagedStep {
    Plan(Plan),
    Drop,
    Again,
    Look,
    /// Another client changes the connector; the name of this variant is kept because it seeds choices.
    Elsewhere(StagedChange),
    Common(Step),
}

/// A history of a staged connector.
#[derive(Clone, Debug)]
pub(crate) struct StagedHistory {
    order: u64,
    /// Indexes in [`CHOICES`].
    choices: Vec<usize>,
    skew: i8,
    /// Whether a deployment follows the connector.
    followed: bool,
    first: Option<Plan>,
    steps: Vec<StagedStep>,
}

impl Simulation {
    /// Sets how the remote interprets the contract: choices of `--variant` of the dev server, and otherwise the friendliest
    /// reading.
    pub(crate) fn choose<'a>(&mut self, choices: impl IntoIterator<Item = &'a str>) {
        let mut variant = Variant::default();
        for choice in choices {
            variant.set(choice).expect(choice);
        }
        self.checker.truth.lag = variant.read_lag + variant.redeploy_shows_old;
        self.checker.truth.trims = variant.normalise == Normalise::Trim;
        lock(&self.reach.remote).world.variant = variant;
    }

    /// Settles everything, and again after the next poll, which must not change anything.
    pub(super) async fn quiet_for_long(&mut self) -> Result<(), String> {
        self.quiet().await?;
        self.pass(POLL_PAUSE).await;
        self.settle(Duration::ZERO, 0).await
    }

    async fn staged_step(&mut self, step: &StagedStep, number: usize) {
        match step {
            StagedStep::Plan(plan) => self.plan(*plan),
            StagedStep::Drop => self.drop_plan(),
            StagedStep::Again => self.ask_again(names::RETRY_REQUESTED_AT, number),
            StagedStep::Look => self.ask_again(names::RECONCILE_REQUESTED_AT, number),
            StagedStep::Elsewhere(act) => self.change_staged_elsewhere(*act, number),
            StagedStep::Common(step) => self.step(step, number).await,
        }
    }
}

impl Replay for StagedHistory {
    fn replay(&self, logging: bool) -> (Simulation, Result<(), String>) {
        simulate(self.order, Reading::default(), async |simulation| {
            simulation.logging = logging;
            simulation.choose(self.choices.iter().map(|choice| CHOICES[choice % CHOICES.len()]));
            simulation.skew(self.skew);
            simulation.start(0, 0);
            if let Some(plan) = self.first {
                simulation.plan(plan);
                simulation.quiet().await?;
            }
            if self.followed {
                simulation.follow();
            }
            for (number, step) in self.steps.iter().enumerate() {
                let text = format!("── {step:?}");
                simulation.reorder(self.order, &text);
                simulation.log(|| text);
                simulation.staged_step(step, number).await;
                simulation.verdict()?;
            }
            simulation.log(|| "── quiet".to_owned());
            simulation.quiet_for_long().await?;
            simulation.drop_plan();
            simulation.delete(FOLLOWER);
            simulation.log(|| "── the end".to_owned());
            simulation.quiet().await
        })
    }

    fn description(&self) -> String {
        let steps: Vec<String> = self.steps.iter().map(|step| format!("    {step:?}")).collect();
        let choices: Vec<_> = self.choices.iter().map(|choice| CHOICES[*choice % CHOICES.len()]).collect();
        let Self { order, skew, followed, first, .. } = self;
        let steps = steps.join("\n");
        format!("order {order}, {choices:?}, skew {skew}, followed {followed}, first {first:?}\n{steps}")
    }
}

fn plan() -> impl Strategy<Value = Plan> {
    let tag = prop_oneof![6 => 0..2_u8, 2 => 2..5_u8];
    let rare = || prop::bool::weighted(0.15);
    let first = (tag, 0..3_u8, prop::bool::weighted(0.6));
    let publish = prop_oneof![2 => Just(0_u8), 4 => Just(1_u8), 2 => Just(2_u8)];
    (first, publish, rare(), prop::bool::weighted(0.7), prop::bool::weighted(0.05)).prop_map(
        |((tag, words, previewable), publish, adopt, delete, suspend)| Plan {
            tag,
            words,
            previewable,
            publish,
            adopt,
            delete,
            suspend,
        },
    )
}

fn staged_change() -> impl Strategy<Value = StagedChange> {
    prop_oneof![
        2 => Just(StagedChange::Rename),
        2 => Just(StagedChange::Retag),
        1 => Just(StagedChange::Preview),
        2 => Just(StagedChange::Publish),
        1 => Just(StagedChange::Bump),
        1 => Just(StagedChange::Remove),
        1 => Just(StagedChange::Create),
        1 => Just(StagedChange::Finish),
        2 => Just(StagedChange::Fail),
    ]
}

fn staged_step() -> impl Strategy<Value = StagedStep> {
    let number = || prop_oneof![2 => Just(0_u8), 1 => Just(1_u8)];
    let common = |step: Step| StagedStep::Common(step);
    prop_oneof![
        12 => plan().prop_map(StagedStep::Plan),
        3 => Just(StagedStep::Drop),
        4 => Just(StagedStep::Again),
        2 => Just(StagedStep::Look),
        6 => staged_change().prop_map(StagedStep::Elsewhere),
        8 => outage().prop_map(move |armed| common(Step::Trouble(armed))),
        1 => number().prop_map(move |number| common(Step::Stop(number))),
        4 => (number(), 0..6_u8).prop_map(move |(number, behind)| common(Step::Start(number, behind))),
        1 => number().prop_map(move |number| common(Step::Cut(number))),
        1 => number().prop_map(move |number| common(Step::Relist(number))),
        12 => prop_oneof![2 => 1..12_u16, 4 => 12..70_u16, 2 => 70..400_u16]
            .prop_map(move |seconds| common(Step::Pass(seconds))),
        2 => prop_oneof![3 => 1..12_u8, 1 => 12..150_u8].prop_map(move |seconds| common(Step::Freeze(seconds))),
        6 => (1..20_u8).prop_map(move |count| common(Step::Run(count))),
        6 => Just(common(Step::Rest)),
    ]
}

/// Returns all histories of a staged connector.
pub(crate) fn staged_histories() -> impl Strategy<Value = StagedHistory> {
    let order = prop_oneof![1 => Just(0), 3 => any::<u64>()];
    let choices = prop::collection::vec(0..CHOICES.len(), 0..4);
    let skew = prop_oneof![1 => Just(0), 1 => -30..=30_i8];
    let first = prop::option::weighted(0.7, plan());
    let steps = prop::collection::vec(staged_step(), 1..30);
    (order, choices, skew, prop::bool::weighted(0.3), first, steps).prop_map(
        |(order, choices, skew, followed, first, steps)| StagedHistory { order, choices, skew, followed, first, steps },
    )
}
