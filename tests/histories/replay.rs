//! Plays a history: its steps, then a time without faults until everything is as it should be, then the deletion of all
//! resources.

use dev_server::Normalise;

use crate::Replay;
use crate::checks::{self, CHECKS};
use crate::prelude::*;
use crate::settled;
use crate::users::NAMESPACES;

/// Number of checks whether everything has settled, and the pause between them: first short, then long enough for every
/// pause of the rules (an hour at most).
const PATIENCE: [(usize, Duration); 4] = [
    (24, Duration::from_secs(5)),
    (20, Duration::from_secs(30)),
    (12, Duration::from_mins(5)),
    (12, Duration::from_mins(15)),
];

/// Number of parts into which a step of time is divided; everybody does what is due after each part.
const PARTS: u64 = 6;

/// Plays it; returns the simulation, and the violation, if any. `logging`: whether to log what happens.
pub(crate) fn replay(history: &History, logging: bool) -> (Simulation, Result<(), String>) {
    simulate(history.order, history.reading, async |simulation| {
        simulation.logging = logging;
        whole(simulation, history).await
    })
}

impl Replay for History {
    fn replay(&self, logging: bool) -> (Simulation, Result<(), String>) {
        replay(self, logging)
    }

    fn description(&self) -> String {
        let steps: Vec<String> = self.steps.iter().map(|step| format!("    {step:?}")).collect();
        let Self { order, reading, skew, live, .. } = self;
        format!("order {order}, {reading:?}, skew {skew}, live {live:?}\n{}", steps.join("\n"))
    }
}

/// Plays a closure in a new simulation.
pub(crate) fn simulate<T>(
    order: u64,
    reading: Reading,
    run: impl AsyncFnOnce(&mut Simulation) -> T,
) -> (Simulation, T) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(async {
        let mut simulation = Simulation::new(order, reading.variant());
        simulation.checker.truth.lag = reading.lag();
        simulation.checker.truth.trims = reading.variant().normalise == Normalise::Trim;
        simulation.furnish();
        let result = run(&mut simulation).await;
        for number in 0..simulation.operators.len() {
            simulation.stop(number).await;
        }
        (simulation, result)
    })
}

/// Plays a closure in a new simulation with a log, under this choice of [`Simulation::choose`]; it must end well. Returns the
/// log, too.
pub(crate) fn played(
    choice: Option<&str>,
    run: impl AsyncFnOnce(&mut Simulation) -> Result<(), String>,
) -> (Simulation, String) {
    let (simulation, result) = simulate(0, Reading::default(), async |simulation: &mut Simulation| {
        simulation.logging = true;
        simulation.choose(choice);
        run(simulation).await
    });
    let log = format!("{choice:?}\n{}", simulation.log.join("\n"));
    assert_eq!(result, Ok(()), "{log}");
    (simulation, log)
}

async fn whole(simulation: &mut Simulation, history: &History) -> Result<(), String> {
    simulation.skew(history.skew);
    simulation.shares = history.steps.iter().any(sharing::is_step);
    if simulation.shares {
        simulation.open_shared();
    }
    simulation.start(0, 0);
    if let Some(shape) = history.live {
        simulation.write(RESOURCES[0], shape);
        simulation.quiet().await?;
    }
    for (number, step) in history.steps.iter().enumerate() {
        let text = step.seed();
        simulation.reorder(history.order, &text);
        simulation.log(|| text);
        simulation.step(step, number).await;
        simulation.verdict()?;
    }
    simulation.log(|| "── quiet".to_owned());
    simulation.quiet().await?;
    for resource in RESOURCES {
        simulation.delete(resource);
    }
    for index in 0..CHECKS.len() {
        simulation.delete_check(&checks::stored(u8::try_from(index).unwrap_or_default()));
    }
    simulation.log(|| "── the end".to_owned());
    simulation.quiet().await
}

impl Simulation {
    pub(crate) fn verdict(&self) -> Result<(), String> {
        self.checker.broken.clone().map_or(Ok(()), Err)
    }

    /// Executes one step. `number` makes what it writes different from what other steps wrote.
    pub(crate) async fn step(&mut self, step: &Step, number: usize) {
        let name = |index: &u8| RESOURCES[usize::from(*index) % RESOURCES.len()];
        let namespace = |index: &u8| NAMESPACES[usize::from(*index) % NAMESPACES.len()];
        let operator = |index: &u8| usize::from(*index) % 2;
        match step {
            Step::Write(index, shape) => self.write(name(index), *shape),
            Step::Secret(value) => self.secret(*value),
            Step::Config(value) => self.config(*value),
            Step::Publish => self.publish(),
            Step::Unrelated => self.unrelated(number),
            Step::Redeploy(index) => self.annotate(name(index), names::REDEPLOY_REQUESTED_AT, number),
            Step::Look(index) => self.annotate(name(index), names::RECONCILE_REQUESTED_AT, number),
            Step::Delete(index) => self.delete(name(index)),
            Step::Project(index) => self.project(namespace(index)),
            Step::Namespace(index, order) => self.delete_namespace(namespace(index), usize::from(*order)),
            Step::Unfinalize(index) => self.unfinalize(name(index)),
            Step::Fails(index) => self.fails(name(index)),
            Step::UndeployFails(index) => self.undeploy_fails(name(index)),
            Step::Foreign(index, act) => self.stranger(name(index), *act, number),
            Step::Trouble(armed) => self.armed.push(armed.clone()),
            Step::Stop(index) => self.stop(operator(index)).await,
            Step::Start(index, behind) => self.start(operator(index), u64::from(*behind)),
            Step::LoseDigestKey => {
                self.lose_digest_key().await;
                self.start(0, 0);
            }
            Step::Cut(index) => {
                if let Some(operator) = &mut self.operators[operator(index)] {
                    operator.cut();
                }
            }
            Step::Relist(index) => self.relist(operator(index)),
            Step::Pass(seconds) => {
                let part = Duration::from_secs(u64::from(*seconds).div_ceil(PARTS));
                for _ in 0..PARTS {
                    self.rest().await;
                    self.pass(part).await;
                }
                self.rest().await;
            }
            Step::Freeze(seconds) => self.pass(Duration::from_secs(u64::from(*seconds))).await,
            Step::Run(count) => {
                for _ in 0..*count {
                    if !self.micro().await {
                        break;
                    }
                }
            }
            Step::Rest => self.rest().await,
            Step::Check(index, shape) => self.write_check(&checks::stored(*index), *shape),
            Step::Rerun(index) => self.rerun(&checks::stored(*index), number),
            Step::DropCheck(index) => self.delete_check(&checks::stored(*index)),
            Step::Reply(reply) => self.set_reply(*reply),
            Step::Share(with) => self.share(*with),
            Step::Label(index, has) => self.label(namespace(index), *has),
        }
    }

    fn relist(&mut self, number: usize) {
        let version = crate::interceptor::lock(&self.reach.cluster).version();
        if let Some(operator) = &mut self.operators[number] {
            operator.list(version);
        }
    }

    /// Ends all faults: within a bounded time everything must be as the specs ask.
    pub(crate) async fn quiet(&mut self) -> Result<(), String> {
        self.armed.clear();
        self.reopen();
        self.allow_all();
        self.start(0, 0);
        for number in 0..self.operators.len() {
            self.relist(number);
        }
        self.settle(Duration::ZERO, 0).await
    }

    /// Continues until everything is as the specs ask. An operator that is stopped meanwhile is started after `pause`,
    /// with lists that are `behind` changes old.
    pub(crate) async fn settle(&mut self, pause: Duration, behind: u64) -> Result<(), String> {
        let mut last = String::new();
        for (times, span) in PATIENCE {
            for _ in 0..times {
                // A project whose deletion ended only now is missing to resources that were created meanwhile.
                self.reopen();
                self.rest().await;
                while self.operators[0].is_none() {
                    self.pass(pause).await;
                    self.start(0, behind);
                    self.rest().await;
                }
                self.verdict()?;
                match settled::unsettled(self) {
                    None => return Ok(()),
                    Some(text) => last = text,
                }
                self.pass(span).await;
            }
        }
        Err(format!("it does not settle: {last}"))
    }
}
