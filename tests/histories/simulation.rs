//! The whole simulation: operators, cluster, remote, the interceptor of all calls, and one clock.
//!
//! [`Simulation::micro`] does one thing at a time: it decides one waiting call, starts one reconcile, or delivers one
//! event. Numbers from the history choose which, so the same history always happens in the same way.

use std::sync::LazyLock;

use connect_api::ErrorCode;
use dev_server::{Catalogue, Variant};
use jiff::SignedDuration;

use crate::interceptor::{Call, Effect, Fate, Left};
use crate::operator::{Move, Operator, Own, Reach};
use crate::prelude::*;

/// L of the design: the time limit of a request.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);
/// Duration of a build.
const BUILD: Duration = Duration::from_secs(40);

/// Parsed once: parsing takes time.
static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    let own = Catalogue::parse(include_str!("catalogue.yaml")).expect("a catalogue");
    Catalogue::built_in().and(own)
});

/// A fault that waits for a call.
#[derive(Clone, Debug)]
pub(crate) struct Armed {
    pub(crate) place: Callee,
    /// Whether it applies only to calls that may change something.
    pub(crate) changes: bool,
    /// Number of matching calls that pass before.
    pub(crate) skip: u8,
    /// The fault; the name of this field is kept because the text of a step seeds choices.
    pub(crate) trouble: Outage,
}

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outage {
    LostThere,
    LostBack,
    /// The call succeeds, and the answer is 400 `DeploymentConnectorUpdateFailure`, which leaves that open.
    Unclear,
    /// Its caller gives up, and it arrives that many seconds later, less than [`LIMIT`].
    Late(u8),
    /// It succeeds at once, and its answer takes that many seconds, less than [`LIMIT`].
    Slow(u8),
    /// 400 `InvalidJsonInput`.
    Invalid,
    /// 403 `AuthorizationError`.
    Forbidden,
    /// 409 `ConcurrentModification`.
    Conflict,
    /// 400 `DeploymentInvalidStatusTransition`.
    Busy,
    /// 500 before it had an effect.
    Broken,
    /// 503.
    Unavailable,
    /// The operator is killed before the call.
    DieBefore,
    /// The operator is killed after the effect of the call.
    DieAfter,
}

/// Random choices that a history determines.
#[derive(Clone, Debug)]
pub(crate) struct Chooser(u64);

impl Chooser {
    /// With seed 0 it always chooses the first.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Chooses one of that many.
    pub(crate) fn choose(&mut self, of: usize) -> usize {
        if self.0 == 0 || of < 2 {
            return 0;
        }
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15).max(1);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % of as u64).unwrap_or(0)
    }
}

/// The simulation.
pub(crate) struct Simulation {
    pub(crate) reach: Reach,
    pub(crate) operators: [Option<Operator>; 2],
    pub(crate) armed: Vec<Armed>,
    pub(crate) checker: Checker,
    chooser: Chooser,
    /// Effects of calls whose callers gave up, and when they happen.
    late: Vec<(Timestamp, Effect)>,
    /// Answers in transit to an operator, and when they arrive.
    slow: Vec<(Timestamp, usize, Effect)>,
    lives: u64,
    /// The clock of each operator.
    clocks: [Clock; 2],
    /// The seed of the digest key.
    digest_key: u8,
    /// The calls at which faults happen, each counted from the previous fault, and the faults.
    pub(crate) cuts: VecDeque<(usize, Outage)>,
    /// Every call since the last of these faults, and whether it may change something.
    pub(crate) calls: Vec<(String, bool)>,
    /// Whether the deployments use a project that the namespaces share.
    pub(crate) shares: bool,
    /// Whether to log what happens.
    pub(crate) logging: bool,
    /// What happened, for the report.
    pub(crate) log: Vec<String>,
}

enum Next {
    Call(usize),
    Move(usize, Move),
}

impl Simulation {
    pub(crate) fn new(seed: u64, variant: Variant) -> Self {
        let start = Timestamp::from_second(1_800_000_000).expect("a time in range");
        let world = World::new(CATALOGUE.clone(), variant, BUILD, Some(1));
        let reach = Reach {
            interceptor: Interceptor::default(),
            cluster: Arc::new(Mutex::new(Cluster::default())),
            remote: Arc::new(Mutex::new(Remote { world, arrived: Vec::new() })),
            frontend: Arc::default(),
            clock: Clock::stepped(start),
        };
        let checker = Checker::default();
        let chooser = Chooser::new(seed);
        let (late, slow) = (Vec::new(), Vec::new());
        Self {
            reach,
            operators: [None, None],
            armed: Vec::new(),
            checker,
            chooser,
            late,
            slow,
            lives: 0,
            clocks: [0; 2].map(|_| Clock::stepped(start)),
            digest_key: 0,
            cuts: VecDeque::new(),
            calls: Vec::new(),
            shares: false,
            logging: false,
            log: Vec::new(),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.reach.clock.now()
    }

    /// Logs what happens, if `logging`.
    pub(crate) fn log(&mut self, text: impl FnOnce() -> String) {
        if self.logging {
            let now = self.now();
            self.log.push(format!("{now} {}", text()));
        }
    }

    /// Sets the second operator's clock ahead by that many seconds, from its next start on.
    pub(crate) fn skew(&mut self, seconds: i8) {
        self.clocks[1] = Clock::stepped(self.now() + SignedDuration::from_secs(i64::from(seconds)));
        self.checker.skew = Duration::from_secs(u64::from(seconds.unsigned_abs()));
    }

    /// Starts an operator, unless it runs; `behind`: how many changes old its first lists are.
    pub(crate) fn start(&mut self, number: usize, behind: u64) {
        if self.operators[number].is_none() {
            self.lives += 1;
            let version = lock(&self.reach.cluster).version().saturating_sub(behind);
            self.log(|| format!("operator {number} starts, {behind} changes behind"));
            let (clock, digest_key) = (self.clocks[number].clone(), self.digest_key);
            let own = Own { clock, digest_key, shares: self.shares };
            self.operators[number] = Some(Operator::start(number, self.lives, &self.reach, &own, version));
        }
    }

    /// Loses the digest key: all operators stop, and those that start from now on have another one.
    pub(crate) async fn lose_digest_key(&mut self) {
        for number in 0..self.operators.len() {
            self.stop(number).await;
        }
        self.digest_key = self.digest_key.wrapping_add(1);
        self.log(|| "the digest key changes".to_owned());
    }

    /// Stops an operator where it is: its waiting calls never happen, nor do its answers arrive.
    pub(crate) async fn stop(&mut self, number: usize) {
        if self.operators[number].take().is_some() {
            self.log(|| format!("operator {number} is stopped"));
            self.reach.interceptor.parked().retain(|call| call.operator != number);
            self.slow.retain(|(_, operator, _)| *operator != number);
            idle().await;
            // Its tasks may have begun calls while they ended.
            self.reach.interceptor.parked().retain(|call| call.operator != number);
        }
    }

    /// Whether calls are in progress whose callers gave up, or do not exist any more.
    pub(crate) fn awaits_arrivals(&self) -> bool {
        !self.late.is_empty()
    }

    /// Lets time pass. Waiting calls continue to wait.
    pub(crate) async fn pass(&mut self, by: Duration) {
        let until = later(self.now(), by);
        loop {
            idle().await;
            lock(&self.reach.cluster).end_namespaces();
            lock(&self.reach.cluster).collect_garbage(self.now());
            let effects = self.late.iter().map(|(at, _)| *at);
            let next = effects.chain(self.slow.iter().map(|(at, _, _)| *at)).min().filter(|at| *at <= until);
            let now = self.now();
            let by = between(now, next.unwrap_or(until));
            for clock in self.clocks.iter().chain([&self.reach.clock]) {
                clock.step(by);
            }
            let Some(at) = next else { break };
            for (_, effect) in self.late.extract_if(.., |(due, _)| *due <= at) {
                effect();
            }
            for (_, _, answer) in self.slow.extract_if(.., |(due, _, _)| *due <= at) {
                answer();
            }
            self.check();
        }
        self.check();
        idle().await;
    }

    /// Does one thing; returns false if there is nothing to do until time passes.
    pub(crate) async fn micro(&mut self) -> bool {
        idle().await;
        for operator in self.operators.iter_mut().flatten() {
            operator.settle();
        }
        self.reach.interceptor.order();
        let mut next: Vec<Next> = (0..self.reach.interceptor.parked().len()).map(Next::Call).collect();
        for (number, operator) in self.operators.iter().enumerate() {
            next.extend(operator.iter().flat_map(Operator::moves).map(|step| Next::Move(number, step)));
        }
        if next.is_empty() {
            return false;
        }
        let chosen = self.chooser.choose(next.len());
        match next.swap_remove(chosen) {
            Next::Call(index) => {
                let call = self.reach.interceptor.parked().remove(index);
                self.happen(call).await;
            }
            Next::Move(number, step) => {
                self.log(|| format!("{number}: {step:?}"));
                if let Some(operator) = &mut self.operators[number] {
                    operator.execute(step);
                }
            }
        }
        self.check();
        true
    }

    /// Does everything that is possible without time passing.
    pub(crate) async fn rest(&mut self) {
        for _ in 0..5_000 {
            if !self.micro().await {
                return;
            }
        }
        self.checker.wrong("it does not become idle".to_owned());
    }

    async fn happen(&mut self, call: Call) {
        let outage = self.outage(&call);
        let now = self.now();
        self.checker.called(&call.what, call.operator, now);
        let (operator, waited) = (call.operator, between(call.since, self.now()));
        let remote = call.what.place != Callee::Cluster;
        let too_late = call.what.send_before.is_some_and(|before| self.clocks[call.operator].now() >= before);
        self.log(|| format!("{operator}: {} {outage:?}", call.what.name));
        let fate = match outage {
            Some(Outage::DieBefore) => return self.stop(operator).await,
            Some(Outage::DieAfter) => {
                if !too_late {
                    call.happen();
                }
                return self.stop(operator).await;
            }
            _ if too_late => Fate::NotSent,
            // The caller has given up by now.
            _ if remote && waited >= LIMIT => Fate::LostThere,
            None => Fate::Pass,
            Some(Outage::LostThere) => Fate::LostThere,
            Some(Outage::LostBack) => Fate::LostBack,
            Some(Outage::Unclear) => Fate::Unclear,
            Some(Outage::Late(_)) => Fate::Late,
            Some(Outage::Slow(_)) => Fate::Slow,
            Some(Outage::Invalid) => Fate::Refused(400, Some(ErrorCode::InvalidJsonInput)),
            Some(Outage::Forbidden) => Fate::Refused(403, Some(ErrorCode::AuthorizationError)),
            Some(Outage::Conflict) => Fate::Refused(409, Some(ErrorCode::ConcurrentModification)),
            Some(Outage::Busy) => Fate::Refused(400, Some(ErrorCode::DeploymentInvalidStatusTransition)),
            Some(Outage::Broken) => Fate::Refused(500, None),
            Some(Outage::Unavailable) => Fate::Refused(503, None),
        };
        let seconds = if let Some(Outage::Late(seconds) | Outage::Slow(seconds)) = outage { seconds } else { 1 };
        let at = later(self.now(), Duration::from_secs(u64::from(seconds).clamp(1, LIMIT.as_secs() - 1)));
        match call.decide(fate) {
            Left::Nothing => {}
            Left::Answer(answer) => self.slow.push((at, operator, answer)),
            Left::Effect(effect) => self.late.push((at, effect)),
        }
    }

    /// Returns the first fault that applies to this call.
    fn outage(&mut self, call: &Call) -> Option<Outage> {
        let number = self.calls.len();
        self.calls.push((call.what.name.clone(), call.what.changes));
        if let Some((_, outage)) = self.cuts.pop_front_if(|(cut, _)| *cut == number) {
            self.calls.clear();
            return Some(outage);
        }
        let fits = |armed: &Armed| armed.place == call.what.place && (call.what.changes || !armed.changes);
        let index = self.armed.iter().position(fits)?;
        if self.armed[index].skip > 0 {
            self.armed[index].skip -= 1;
            return None;
        }
        let outage = self.armed.remove(index).trouble;
        // Only a change can arrive late; a read just gets no answer.
        Some(if matches!(outage, Outage::Late(_)) && !call.what.changes { Outage::LostThere } else { outage })
    }

    /// Starts a new sequence of choices that does not depend on earlier steps: so shrinking a history keeps the
    /// behavior of the remaining steps.
    pub(crate) fn reorder(&mut self, order: u64, text: &str) {
        // FNV-1a.
        let mixed = text.bytes().fold(order, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        self.chooser = Chooser::new(if order == 0 { 0 } else { mixed });
    }

    /// Lets the checker process what happened since its last call.
    pub(crate) fn check(&mut self) {
        let now = self.now();
        self.checker.began.clear();
        for (object_ref, began) in self.operators.iter().flatten().flat_map(Operator::began) {
            let oldest = self.checker.began.entry(object_ref.clone()).or_insert(began);
            *oldest = began.min(*oldest);
        }
        let mut remote = lock(&self.reach.remote);
        let cluster = lock(&self.reach.cluster);
        self.checker.check_new(&cluster, &mut remote, now);
        let calls = std::mem::take(&mut lock(&self.reach.frontend).calls);
        self.checker.check_calls(calls, now);
    }
}

/// Returns once every task waits for the driver. Tokio's time is paused, so this takes no time.
pub(crate) async fn idle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
