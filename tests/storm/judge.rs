//! Counts what must not be, from what the remote accepted and what was seen of the resources; nothing of it depends on
//! when anybody looked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use clock::later;
use connect_api::model::DeploymentStatus;
use dev_server::{Happened, Moment, World};
use futures::future::join_all;
use kube::ResourceExt;

use crate::ledger::{Asked, Revision};
use crate::operator::{Operator, last_lines};
use crate::place::Place;
use crate::size;
use crate::watched::{Sight, is_ready, written_at};

/// How much later than the API server's answer a watch may tell what replaced a version that said Ready. One that tells
/// later is believed if the replacement itself was written in time.
const LATE: Duration = Duration::from_secs(10);

/// What must not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Crime {
    DuplicateCreate,
    NeedlessRedeploy,
    StrangerTouched,
    Orphan,
    StuckFinalizer,
    FalseReady,
    WrongValue,
    NotSettled,
}

const CRIMES: [(Crime, &str); 8] = [
    (Crime::DuplicateCreate, "duplicate creates"),
    (Crime::NeedlessRedeploy, "needless redeploys"),
    (Crime::StrangerTouched, "deployments of strangers touched"),
    (Crime::Orphan, "orphans"),
    (Crime::StuckFinalizer, "stuck finalizers"),
    (Crime::FalseReady, "false Ready"),
    (Crime::WrongValue, "wrong values in the end"),
    (Crime::NotSettled, "never at rest"),
];

/// A part that is over.
pub(crate) struct Verdict {
    /// What, of which resource, in words.
    found: BTreeSet<(Crime, String, String)>,
    /// Things done, for the table.
    done: Vec<(String, u64)>,
}

/// A deployment with everything that happened to it.
type Lives<'a> = BTreeMap<&'a str, Vec<&'a Moment>>;

/// Everything about one resource.
struct Case<'a> {
    name: &'a str,
    asked: &'a Asked,
    lives: Lives<'a>,
    sights: &'a [Sight],
    world: &'a World,
}

impl Verdict {
    /// Waits until all is at rest, restarts the operators, which must change nothing, has everything deleted, and says
    /// what it came to. `done`: what the part did, for the table.
    pub(crate) async fn at_the_end(place: &Place, others: &[&Place], operators: Vec<Operator>, done: &[(&str, u64)]) {
        let settled = place.settle().await;
        let operators = join_all(operators.into_iter().map(Operator::restart)).await;
        if settled {
            place.look_again().await;
        }
        let mut verdict = Self::of(place, others);
        if settled {
            place.clear().await;
            verdict = Self::of(place, others).after(verdict);
        }
        join_all(operators.into_iter().map(Operator::kill)).await;
        verdict.unsettled(place);
        verdict.counts(done);
        verdict.pronounce(place, others);
    }

    /// Waits until all is at rest, in time.
    pub(crate) async fn must_settle(place: &Place) {
        if !place.settle().await {
            let mut verdict = Self::of(place, &[]);
            verdict.unsettled(place);
            verdict.pronounce(place, &[]);
        }
    }

    /// Judges everything so far. `others`: other clusters in which the same was seen.
    pub(crate) fn of(place: &Place, others: &[&Place]) -> Self {
        let mut verdict = Self { found: BTreeSet::new(), done: Vec::new() };
        let now = place.dev.now();
        let mut world = place.dev.world();
        let (history, there) = (world.history(now), world.all(now));
        let strangers: BTreeSet<&str> = place.strangers.iter().map(String::as_str).collect();
        verdict.strangers(place, &history, &strangers);
        let asked = place.ledger.all();
        let mut seen = 0;
        for (name, asked) in &asked {
            let mut sights = Vec::new();
            for place in others.iter().chain([&place]) {
                sights.extend(place.watched.sights().remove(name).unwrap_or_default());
            }
            let key = place.key(name);
            let mut lives = Lives::new();
            let ours = |moment: &&Moment| moment.key.as_ref() == Some(&key) && !strangers.contains(moment.id.as_str());
            for moment in history.iter().filter(ours) {
                lives.entry(&moment.id).or_default().push(moment);
            }
            let case = Case { name, asked, lives, sights: &sights, world: &world };
            seen += verdict.judge(&case);
        }
        for deployment in there.iter().filter(|deployment| !strangers.contains(deployment.id.as_str())) {
            let key = deployment.key.as_deref().unwrap_or_default();
            let owner = asked.iter().find(|(name, asked)| place.key(name) == key && asked.wanted && !asked.taken);
            if owner.is_none() {
                let name = asked.keys().find(|name| place.key(name) == key).cloned().unwrap_or_default();
                verdict.add(Crime::Orphan, &name, format!("{} {key} {}", deployment.id, deployment.status));
            }
        }
        let count = |what: &Happened| history.iter().filter(|moment| moment.what == *what).count() as u64;
        verdict.counts(&[
            ("resources", asked.values().map(|asked| u64::from(asked.made)).sum()),
            ("values asked for", asked.values().map(|asked| u64::from(asked.now.token + asked.now.plain)).sum()),
            ("creates", count(&Happened::Created) - place.strangers.len() as u64),
            ("redeploys", count(&Happened::Redeployed)),
            ("undeploys", count(&Happened::Undeployed)),
            ("Ready seen", seen),
            ("calls", place.dev.counts().values().sum()),
        ]);
        verdict
    }

    /// Says how often something was done.
    fn counts(&mut self, done: &[(&str, u64)]) {
        self.done.extend(done.iter().map(|(what, count)| ((*what).to_owned(), *count)));
    }

    /// What was found before this one still counts.
    fn after(mut self, mut earlier: Self) -> Self {
        self.found.append(&mut earlier.found);
        self
    }

    fn add(&mut self, crime: Crime, name: &str, what: String) {
        self.found.insert((crime, name.to_owned(), what));
    }

    fn strangers(&mut self, place: &Place, history: &[Moment], strangers: &BTreeSet<&str>) {
        let touched = history.iter().filter(|moment| {
            strangers.contains(moment.id.as_str()) && !matches!(moment.what, Happened::Created | Happened::Became(_))
        });
        for moment in touched {
            self.add(Crime::StrangerTouched, "", line(moment, None));
        }
        for call in place.dev.calls().iter().filter(|call| call.method != "GET") {
            if strangers.iter().any(|id| call.path.contains(id)) {
                self.add(Crime::StrangerTouched, "", format!("{} {} {}", call.at, call.method, call.path));
            }
        }
    }

    /// Judges one resource; returns how many versions of it said Ready.
    fn judge(&mut self, case: &Case) -> u64 {
        let Case { name, asked, lives, sights, .. } = case;
        if lives.len() > asked.made as usize {
            let text = format!("{} creates for {} resources", lives.len(), asked.made);
            self.add(Crime::DuplicateCreate, name, text);
        }
        for moments in lives.values() {
            self.redeploys(case, moments);
        }
        self.end(case);
        let mut ready = 0;
        for (at, sight) in sights.iter().enumerate() {
            if sight.object.as_ref().is_some_and(|object| is_ready(object)) {
                ready += 1;
                if let Err(why) = case.check_ready(sight, sights.get(at + 1)) {
                    self.add(Crime::FalseReady, name, why);
                }
            }
        }
        ready
    }

    /// Each redeploy has to carry what was asked for later than what was sent before.
    fn redeploys(&mut self, case: &Case, moments: &[&Moment]) {
        let mut before: Option<Revision> = None;
        for moment in moments.iter().filter(|moment| matches!(moment.what, Happened::Created | Happened::Redeployed)) {
            let Some(carried) = case.asked.carried(case.name, case.world, moment) else {
                self.add(Crime::WrongValue, case.name, format!("nobody asked for that: {}", line(moment, None)));
                continue;
            };
            if before.is_some_and(|before| !carried.is_later_than(before)) {
                self.add(Crime::NeedlessRedeploy, case.name, line(moment, Some(carried)));
            }
            before = Some(carried);
        }
    }

    /// In the end the remote has what was asked for last.
    fn end(&mut self, case: &Case) {
        if !case.asked.wanted || case.asked.taken {
            return;
        }
        let last = case.lives.values().filter_map(|moments| moments.last()).max_by_key(|moment| moment.at);
        let carried = last.and_then(|moment| case.asked.carried(case.name, case.world, moment));
        let live = last.is_some_and(|moment| moment.what == Happened::Became(DeploymentStatus::Deployed));
        if !live || carried != Some(case.asked.now) {
            let text = format!("wanted {:?}, there is {carried:?}", case.asked.now);
            self.add(Crime::WrongValue, case.name, text);
        }
    }

    /// What was not as it was asked for when patience was at its end.
    pub(crate) fn unsettled(&mut self, place: &Place) {
        let latest = place.watched.latest();
        for (name, asked) in place.ledger.all() {
            match latest.get(&name) {
                Some(_) if !asked.wanted => self.add(Crime::StuckFinalizer, &name, "it is still there".to_owned()),
                Some(object) if asked.is_met_by(object) => {}
                None if !asked.wanted => {}
                _ => self.add(Crime::NotSettled, &name, "it is not as it was asked for".to_owned()),
            }
        }
    }

    /// How often there was what must not be.
    pub(crate) fn found(&self) -> [(&'static str, usize); CRIMES.len()] {
        CRIMES.map(|(crime, what)| (what, self.found.iter().filter(|(found, ..)| *found == crime).count()))
    }

    /// Prints the table, and fails if anything of it must not be.
    fn pronounce(self, place: &Place, others: &[&Place]) {
        let size = if size::is_full() { "full" } else { "small" };
        let seconds = place.began.elapsed().as_secs();
        let mut table = format!("\n{}: STORM_SEED={}, {size}, {seconds} s\n", place.part, size::seed());
        for (what, count) in &self.done {
            let _ = writeln!(table, "  {what:<34}{count:>8}");
        }
        for (what, count) in self.found() {
            let _ = writeln!(table, "  {what:<34}{count:>8}{}", if count == 0 { "" } else { "  <--" });
        }
        crate::say(&table);
        if self.found.is_empty() {
            return;
        }
        let mut text = table;
        for (crime, name, what) in &self.found {
            let _ = writeln!(text, "{crime:?} {name}: {what}");
        }
        let names: BTreeSet<&str> = self.found.iter().map(|(_, name, _)| name.as_str()).collect();
        for name in names.into_iter().filter(|name| !name.is_empty()).take(5) {
            text += &evidence(place, others, name);
        }
        panic!("{text}");
    }
}

impl Case<'_> {
    /// Whether what a Ready resource claims was so when it was written, and no longer than until it said otherwise.
    fn check_ready(&self, sight: &Sight, next: Option<&Sight>) -> Result<(), String> {
        let object = sight.object.as_ref().expect("it is there");
        let status = object.status.as_ref().expect("it is Ready");
        let version = object.resource_version().unwrap_or_default();
        let told = |what: &str| Err(format!("seen {}, resourceVersion {version}: {what}", sight.at));
        let Some(claimed) = self.asked.claimed_by(object) else { return told("it names what nobody asked for") };
        let Some(moments) = status.id.as_deref().and_then(|id| self.lives.get(id)) else {
            return told("there never was such a deployment");
        };
        let live = moments.iter().rposition(|moment| {
            moment.what == Happened::Became(DeploymentStatus::Deployed)
                && Some(moment.version) == status.version
                && moment.at <= sight.at
                && self.asked.carried(self.name, self.world, moment).is_some_and(|carried| claimed.holds_for(carried))
        });
        let Some(live) = live else { return told(&format!("it was not Deployed with {claimed:?}")) };
        let Some(end) = moments.get(live + 1) else { return Ok(()) };
        // Written in whole seconds, so that it may be later than it says.
        if written_at(object).is_none_or(|written| written > end.at) {
            return told(&format!("written after {}", line(end, None)));
        }
        let replaced = next.is_some_and(|next| {
            let written = next.object.as_ref().and_then(|object| written_at(object));
            next.at <= later(end.at, LATE) || written.is_some_and(|written| written <= end.at)
        });
        if replaced { Ok(()) } else { told(&format!("it stayed after {}", line(end, None))) }
    }
}

fn line(moment: &Moment, carried: Option<Revision>) -> String {
    let Moment { at, id, version, what, .. } = moment;
    let carried = carried.map(|carried| format!(" {carried:?}")).unwrap_or_default();
    format!("{at} {id} version {version} {what:?}{carried}")
}

/// The resource, what happened to its deployment, and what the operator said of it.
fn evidence(place: &Place, others: &[&Place], name: &str) -> String {
    let mut text = format!("\n--- {name}\n");
    if let Some(object) = place.watched.latest().get(name) {
        let mut object = object.as_ref().clone();
        object.metadata.managed_fields = None;
        text += &serde_saphyr::to_string(&object).unwrap_or_default();
    }
    let now = place.dev.now();
    let mut world = place.dev.world();
    let asked = place.ledger.all().remove(name).unwrap_or_default();
    let _ = writeln!(text, "asked for: made {}, wanted {}, {:?}", asked.made, asked.wanted, asked.now);
    for moment in world.history(now).iter().filter(|moment| moment.key.as_ref() == Some(&place.key(name))) {
        let _ = writeln!(text, "{}", line(moment, asked.carried(name, &world, moment)));
    }
    for place in others.iter().chain([&place]) {
        for sight in place.watched.sights().remove(name).unwrap_or_default() {
            let _ = writeln!(text, "seen {}", seen(&sight));
        }
    }
    drop(world);
    text + &last_lines(&place.log(), &format!("{}/{name}", place.part)) + "\n"
}

fn seen(sight: &Sight) -> String {
    let Some(object) = &sight.object else { return format!("{}: gone", sight.at) };
    let status = object.status.clone().unwrap_or_default();
    let ready = crate::watched::ready(object).map(|ready| format!("{} {}", ready.status, ready.reason));
    let operation = status.operation.map(|operation| {
        let (kind, state) = (operation.operation_type, operation.state);
        format!("{kind:?} {state:?} {} seenBusy={}", operation.attempt, operation.seen_busy)
    });
    format!(
        "{}: generation {:?}/{}, version {:?}, {}, {}",
        sight.at,
        object.metadata.generation,
        status.observed_generation,
        status.version,
        ready.unwrap_or_default(),
        operation.unwrap_or_default(),
    )
}
