//! Counts violations, from what the remote accepted and from the observed versions of the resources; the result does
//! not depend on when the test looked.

use std::fmt::Write as _;

use dev_server::{Happened, Moment, World};

use crate::prelude::*;
use crate::storm::requested::{Asked, Revision};
use crate::storm::watched::{Observation, written_at};

/// How much later than the API server's answer a watch may deliver what replaced a version that was Ready. If it is
/// delivered later, the time at which the replacement was written counts.
const LATE: Duration = Duration::from_secs(10);

/// A kind of violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Violation {
    DuplicateCreate,
    NeedlessRedeploy,
    StrangerTouched,
    Orphan,
    StuckFinalizer,
    FalseReady,
    WrongValue,
    NotSettled,
}

const VIOLATIONS: [(Violation, &str); 8] = [
    (Violation::DuplicateCreate, "duplicate creates"),
    (Violation::NeedlessRedeploy, "needless redeploys"),
    (Violation::StrangerTouched, "foreign deployments touched"),
    (Violation::Orphan, "orphans"),
    (Violation::StuckFinalizer, "stuck finalizers"),
    (Violation::FalseReady, "false Ready"),
    (Violation::WrongValue, "wrong values at the end"),
    (Violation::NotSettled, "not settled"),
];

/// The result of a part.
pub(crate) struct Report {
    /// Kind, resource and description of each violation.
    found: BTreeSet<(Violation, String, String)>,
    /// What the part did, for the table.
    done: Vec<(String, u64)>,
}

/// Deployments with everything that happened to them.
type Lives<'a> = BTreeMap<&'a str, Vec<&'a Moment>>;

/// Everything about one resource.
struct Evidence<'a> {
    name: &'a str,
    asked: &'a Asked,
    lives: Lives<'a>,
    observations: &'a [Observation],
    world: &'a World,
}

impl Report {
    /// Waits until everything is settled, restarts the operators, which must change nothing, deletes everything, and
    /// reports the result. `done`: what the part did, for the table.
    pub(crate) async fn at_the_end(env: &Environment, operators: Vec<Operator>, done: &[(&str, u64)]) {
        let settled = env.settle().await;
        let operators = join_all(operators.into_iter().map(Operator::restart)).await;
        if settled {
            env.reconcile_all().await;
        }
        let mut report = Self::of(env);
        if settled {
            env.clear().await;
            report = Self::of(env).after(report);
        }
        join_all(operators.into_iter().map(Operator::kill)).await;
        report.unsettled(env);
        report.counts(done);
        report.print_or_panic(env);
    }

    /// Waits until everything is settled, in time.
    pub(crate) async fn must_settle(env: &Environment) {
        if !env.settle().await {
            let mut report = Self::of(env);
            report.unsettled(env);
            report.print_or_panic(env);
        }
    }

    /// Checks everything so far.
    pub(crate) fn of(env: &Environment) -> Self {
        let mut report = Self { found: BTreeSet::new(), done: Vec::new() };
        let now = env.dev.now();
        let mut world = env.dev.world();
        let (history, there) = (world.history(now), world.all(now));
        let strangers: BTreeSet<&str> = env.strangers.iter().map(String::as_str).collect();
        report.strangers(env, &history, &strangers);
        let asked = env.requested.all();
        let mut seen = 0;
        for (name, asked) in &asked {
            let observations = env.watched.observations().remove(name).unwrap_or_default();
            let key = env.key(name);
            let mut lives = Lives::new();
            let own = |moment: &&Moment| moment.key.as_ref() == Some(&key) && !strangers.contains(moment.id.as_str());
            for moment in history.iter().filter(own) {
                lives.entry(&moment.id).or_default().push(moment);
            }
            let case = Evidence { name, asked, lives, observations: &observations, world: &world };
            seen += report.check(&case);
        }
        for deployment in there.iter().filter(|deployment| !strangers.contains(deployment.id.as_str())) {
            let key = deployment.key.as_deref().unwrap_or_default();
            let owner = asked.iter().find(|(name, asked)| env.key(name) == key && asked.wanted && !asked.taken);
            if owner.is_none() {
                let name = asked.keys().find(|name| env.key(name) == key).cloned().unwrap_or_default();
                report.add(Violation::Orphan, &name, format!("{} {key} {}", deployment.id, deployment.status));
            }
        }
        let count = |what: &Happened| history.iter().filter(|moment| moment.what == *what).count() as u64;
        report.counts(&[
            ("resources", asked.values().map(|asked| u64::from(asked.made)).sum()),
            ("values asked for", asked.values().map(|asked| u64::from(asked.now.token + asked.now.plain)).sum()),
            ("creates", count(&Happened::Created) - env.strangers.len() as u64),
            ("redeploys", count(&Happened::Redeployed)),
            ("undeploys", count(&Happened::Undeployed)),
            ("Ready seen", seen),
            ("calls", env.dev.counts().values().sum()),
        ]);
        report
    }

    /// Adds what the part did to the table.
    fn counts(&mut self, done: &[(&str, u64)]) {
        self.done.extend(done.iter().map(|(what, count)| ((*what).to_owned(), *count)));
    }

    /// Adds what an earlier check found.
    fn after(mut self, mut earlier: Self) -> Self {
        self.found.append(&mut earlier.found);
        self
    }

    fn add(&mut self, violation: Violation, name: &str, what: String) {
        self.found.insert((violation, name.to_owned(), what));
    }

    fn strangers(&mut self, env: &Environment, history: &[Moment], strangers: &BTreeSet<&str>) {
        let touched = history.iter().filter(|moment| {
            strangers.contains(moment.id.as_str()) && !matches!(moment.what, Happened::Created | Happened::Became(_))
        });
        for moment in touched {
            self.add(Violation::StrangerTouched, "", line(moment, None));
        }
        for call in env.dev.calls().iter().filter(|call| call.method != "GET") {
            if strangers.iter().any(|id| call.path.contains(id)) {
                self.add(Violation::StrangerTouched, "", format!("{} {} {}", call.at, call.method, call.path));
            }
        }
    }

    /// Checks one resource; returns how many versions of it were Ready.
    fn check(&mut self, case: &Evidence) -> u64 {
        let Evidence { name, asked, lives, observations, .. } = case;
        if lives.len() > asked.made as usize {
            let text = format!("{} creates for {} resources", lives.len(), asked.made);
            self.add(Violation::DuplicateCreate, name, text);
        }
        for moments in lives.values() {
            self.redeploys(case, moments);
        }
        self.end(case);
        let mut ready = 0;
        for (at, observation) in observations.iter().enumerate() {
            if observation.object.as_ref().is_some_and(|object| is(object, "Ready")) {
                ready += 1;
                if let Err(why) = case.check_ready(observation, observations.get(at + 1)) {
                    self.add(Violation::FalseReady, name, why);
                }
            }
        }
        ready
    }

    /// Checks that each redeploy carries a revision that is later than the previous one.
    fn redeploys(&mut self, case: &Evidence, moments: &[&Moment]) {
        let mut before: Option<Revision> = None;
        for moment in moments.iter().filter(|moment| matches!(moment.what, Happened::Created | Happened::Redeployed)) {
            let Some(carried) = case.asked.carried(case.name, case.world, moment) else {
                self.add(Violation::WrongValue, case.name, format!("nothing asked for that: {}", line(moment, None)));
                continue;
            };
            if before.is_some_and(|before| !carried.is_later_than(before)) {
                self.add(Violation::NeedlessRedeploy, case.name, line(moment, Some(carried)));
            }
            before = Some(carried);
        }
    }

    /// Checks that at the end the remote has the last revision.
    fn end(&mut self, case: &Evidence) {
        if !case.asked.wanted || case.asked.taken {
            return;
        }
        let last = case.lives.values().filter_map(|moments| moments.last()).max_by_key(|moment| moment.at);
        let carried = last.and_then(|moment| case.asked.carried(case.name, case.world, moment));
        let live = last.is_some_and(|moment| moment.what == Happened::Became(DeploymentStatus::Deployed));
        if !live || carried != Some(case.asked.now) {
            let text = format!("expected {:?}, the remote has {carried:?}", case.asked.now);
            self.add(Violation::WrongValue, case.name, text);
        }
    }

    /// Adds what was not as requested when the time was over.
    pub(crate) fn unsettled(&mut self, env: &Environment) {
        let latest = env.watched.latest();
        for (name, asked) in env.requested.all() {
            match latest.get(&name) {
                Some(_) if !asked.wanted => self.add(Violation::StuckFinalizer, &name, "it still exists".to_owned()),
                Some(object) if asked.is_met_by(object) => {}
                None if !asked.wanted => {}
                _ => self.add(Violation::NotSettled, &name, "it is not as requested".to_owned()),
            }
        }
    }

    /// Returns the number of violations of each kind.
    pub(crate) fn found(&self) -> [(&'static str, usize); VIOLATIONS.len()] {
        VIOLATIONS.map(|(violation, what)| (what, self.found.iter().filter(|(found, ..)| *found == violation).count()))
    }

    /// Prints the table, and panics if there is a violation.
    fn print_or_panic(self, env: &Environment) {
        let size = if size::is_full() { "full" } else { "small" };
        let seconds = env.began.elapsed().as_secs();
        let mut table = format!("\n{}: STORM_SEED={}, {size}, {seconds} s\n", env.part, size::seed());
        for (what, count) in &self.done {
            let _ = writeln!(table, "  {what:<34}{count:>8}");
        }
        for (what, count) in self.found() {
            let _ = writeln!(table, "  {what:<34}{count:>8}{}", if count == 0 { "" } else { "  <--" });
        }
        crate::storm::print(&table);
        if self.found.is_empty() {
            return;
        }
        let mut text = table;
        for (violation, name, what) in &self.found {
            let _ = writeln!(text, "{violation:?} {name}: {what}");
        }
        let names: BTreeSet<&str> = self.found.iter().map(|(_, name, _)| name.as_str()).collect();
        for name in names.into_iter().filter(|name| !name.is_empty()).take(5) {
            text += &evidence(env, name);
        }
        panic!("{text}");
    }
}

impl Evidence<'_> {
    /// Checks that what a Ready resource claims was true when it was written, and that it was replaced soon after it
    /// became false.
    fn check_ready(&self, observation: &Observation, next: Option<&Observation>) -> Result<(), String> {
        let object = observation.object.as_ref().expect("a Ready version exists");
        let status = object.status.as_ref().expect("a Ready resource has a status");
        let version = object.resource_version().unwrap_or_default();
        let wrong = |what: &str| Err(format!("seen {}, resourceVersion {version}: {what}", observation.at));
        let Some(claimed) = self.asked.claimed_by(object) else { return wrong("it claims what nothing asked for") };
        let Some(moments) = status.id.as_deref().and_then(|id| self.lives.get(id)) else {
            return wrong("its deployment never existed");
        };
        let live = moments.iter().rposition(|moment| {
            moment.what == Happened::Became(DeploymentStatus::Deployed)
                && Some(moment.version) == status.remote_version()
                && moment.at <= observation.at
                && self.asked.carried(self.name, self.world, moment).is_some_and(|carried| claimed.holds_for(carried))
        });
        let Some(live) = live else { return wrong(&format!("it was not Deployed with {claimed:?}")) };
        let Some(end) = moments.get(live + 1) else { return Ok(()) };
        // Times are in whole seconds, so it may have been written later than it states.
        if written_at(object).is_none_or(|written| written > end.at) {
            return wrong(&format!("written after {}", line(end, None)));
        }
        let replaced = next.is_some_and(|next| {
            let written = next.object.as_ref().and_then(|object| written_at(object));
            next.at <= later(end.at, LATE) || written.is_some_and(|written| written <= end.at)
        });
        if replaced { Ok(()) } else { wrong(&format!("it stayed after {}", line(end, None))) }
    }
}

fn line(moment: &Moment, carried: Option<Revision>) -> String {
    let Moment { at, id, version, what, .. } = moment;
    let carried = carried.map(|carried| format!(" {carried:?}")).unwrap_or_default();
    format!("{at} {id} version {version} {what:?}{carried}")
}

/// Returns the resource, what happened to its deployment, and what the operator logged about it.
fn evidence(env: &Environment, name: &str) -> String {
    let mut text = format!("\n--- {name}\n");
    if let Some(object) = env.watched.latest().get(name) {
        let mut object = object.as_ref().clone();
        object.metadata.managed_fields = None;
        text += &serde_saphyr::to_string(&object).unwrap_or_default();
    }
    let now = env.dev.now();
    let mut world = env.dev.world();
    let asked = env.requested.all().remove(name).unwrap_or_default();
    let _ = writeln!(text, "asked for: made {}, wanted {}, {:?}", asked.made, asked.wanted, asked.now);
    for moment in world.history(now).iter().filter(|moment| moment.key.as_ref() == Some(&env.key(name))) {
        let _ = writeln!(text, "{}", line(moment, asked.carried(name, &world, moment)));
    }
    for observation in env.watched.observations().remove(name).unwrap_or_default() {
        let _ = writeln!(text, "seen {}", seen(&observation));
    }
    drop(world);
    for log in env.logs() {
        let lines = last_lines(&log, &format!("{}/{name}", env.part));
        let _ = writeln!(text, "--- {}\n{lines}", log.file_name().unwrap_or_default().display());
    }
    text
}

fn seen(observation: &Observation) -> String {
    let Some(object) = &observation.object else { return format!("{}: gone", observation.at) };
    let status = object.status.clone().unwrap_or_default();
    let ready = condition(object, "Ready").map(|ready| format!("{} {}", ready.status, ready.reason));
    let operation = state(object).operation.map(|operation| {
        let (kind, state) = (operation.kind, operation.state);
        format!("{kind:?} {state:?} {} seenBusy={}", operation.attempt, operation.seen_busy)
    });
    format!(
        "{}: generation {:?}/{}, version {:?}, {}, {}",
        observation.at,
        object.metadata.generation,
        status.observed_generation,
        status.remote_version(),
        ready.unwrap_or_default(),
        operation.unwrap_or_default(),
    )
}
